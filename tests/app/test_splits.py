"""The pages on pipelines, sharding and splits: their figures are those of Python and of the command line."""

import html
import json
import shlex

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import messages, unfolded
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages import pipeline, sharding
from collsim.app.pages.split import searched
from collsim.app.pages.split import split as page
from collsim.app.pages.train import training_choice
from collsim.app.shell import results
from collsim.cli import app as commands
from collsim.train.step_explanation import describe_waits
from collsim.viz.splits import split_document


def opened(name, **query):
    def whole(first: str) -> None:
        from collsim.app.main import main

        main(first=first)

    at = AppTest.from_function(whole, default_timeout=120, kwargs={"first": name})
    for key, text in query.items():
        at.query_params[key] = text
    at.run()
    assert not at.exception
    return at


def sent(at, name):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith(name)]
    return json.loads(one.proto.json)


@pytest.mark.parametrize("query", [{}, {"stages": "8", "microbatches": "16", "hop": "0.1"}])
def test_a_pipeline_on_the_page_is_the_one_of_python_and_of_the_command_line(query):
    at = opened("pipeline", **query)
    assert messages(at) == []
    choice = pipeline.ADDRESS.read(query)[0]
    found = CliRunner().invoke(commands, [*shlex.split(pipeline.build_command(choice))[1:], "--json"])
    assert found.exit_code == 0, found.output
    rows = {row["schedule"]: row for row in json.loads(found.stdout)}
    for run in sent(at, "collsim_lanes")["runners"]:
        timing = cs.train.time_schedules(
            choice.stages, choice.microbatches, 1, float(choice.ratio), float(choice.hop), schedules=[run["variant"]]
        )[run["variant"]]
        assert run["time"] == timing[1].time == rows[run["variant"]]["time"]
        assert (
            [row["activations"] for row in run["rows"]]
            == timing[1].peak_activations.tolist()
            == rows[run["variant"]]["peak_activations"]
        )


def test_the_page_draws_the_textbook_pipelines():
    """4 GPUs, 8 microbatches, B = 2 F: 33, 33, 28.5, 25.5; every figure is its formula's."""
    runs = {run["variant"]: run for run in sent(opened("pipeline"), "collsim_lanes")["runners"]}
    assert {name: run["time"] for name, run in runs.items()} == {
        "gpipe": 33, "1f1b": 33, "interleaved": 28.5, "zero-bubble": 25.5,
    }  # fmt: skip
    for run in runs.values():
        assert all(row["value"] == pytest.approx(row["drawn"]) for row in run["figures"])


def test_a_schedule_that_cannot_be_has_a_sentence_and_the_others_are_drawn():
    at = opened("pipeline", stages="4", microbatches="4", schedules="1f1b,dualpipe-v")
    assert any("needs at least 8 microbatches" in text for text in messages(at))
    assert [run["variant"] for run in sent(at, "collsim_lanes")["runners"]] == ["1f1b"]


def test_what_an_address_asks_for_in_vain_is_said():
    assert len(messages(opened("pipeline", stages="99", ratio="x"))) == 1
    assert len(messages(opened("split", split="open(1)", model="bert-base", nodes="1", batch="64"))) >= 1


@pytest.mark.parametrize("page_of", [sharding, searched], ids=["sharding", "split"])
@pytest.mark.parametrize(
    "name", ["deepseek-v3", "kimi-k2", "qwen3-30b-a3b", "qwen3-235b-a22b", "gpt-oss-20b", "bert-base"]
)
def test_every_family_of_transformers_is_taken(page_of, name):
    choice, complaints = page_of.ADDRESS.read({"model": name})
    assert (choice.model, complaints) == (name, [])
    assert cs.model(name).has_blocks
    assert cs.model(name).has_partitions


def test_models_without_partitions_are_for_sharding_only():
    assert set(sharding.list_models()) - set(searched.list_models()) == {
        name for name in cs.models() if name.startswith(("resnet", "resnext", "mobilenet"))
    }
    assert searched.ADDRESS.read({"model": "resnet50"})[1]
    assert sharding.ADDRESS.read({"model": "vgg16"})[1], "nothing in it is a block"


def test_a_mixture_of_experts_is_sharded_and_split_on_the_pages(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    at = opened("sharding", model="gpt-oss-20b", machine="dgx-h100", nodes="8")
    assert len(sent(at, "collsim_lanes")["runners"]) == 3
    at = opened("split", model="qwen3-30b-a3b", nodes="2", batch="64", split="tensor(2) * fsdp()")
    assert messages(at) == []
    assert sent(at, "collsim_splits")["step"]["time"] > 0


def test_sharding_shows_the_steps_of_python(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    query = {"model": "gpt2", "machine": "dgx-a100", "nodes": "1"}
    made = sharding.simulate_steps(sharding.ADDRESS.read(query)[0])
    data = sent(opened("sharding", **query), "collsim_lanes")
    assert {run["variant"]: run["time"] for run in data["runners"]} == {name: t.time for name, t in made.items()}
    assert data["weight_bytes"] == 2 * cs.model("gpt2").parameters


SMALL = {"model": "gpt2", "machine": "dgx-a100", "nodes": "1", "batch": "16", "split": "tensor(2) * ddp()", "micro": "2",
         "recompute": "none"}  # fmt: skip


def test_the_split_that_is_open_is_training_step_and_the_table_is_best_parallel(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    choice = searched.ADDRESS.read(SMALL)[0]
    at = opened("split", **SMALL)
    assert messages(at) == []
    data, t = sent(at, "collsim_splits"), searched.request_step(choice)
    said = describe_waits(t)[0]
    written = html.unescape(" ".join(e.proto.body for e in at.get("html"))).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{said[:1].upper()}{said[1:]}." in written, "the headline says what GPUs wait for"
    assert data["step"]["time"] == t.time
    assert data["step"]["memory"]["total"] == t.memory.max()
    frame = cs.best_parallel("gpt2", cs.machine("dgx-a100"), batch=16, top=searched.TOP, every=True)
    assert data["table"]["time"] == frame["time"].tolist()
    assert data["table"]["parallel"] == frame["parallel"].tolist()
    row = data["open"]
    assert row == page.find_open_row(choice, data["table"])
    line = shlex.split(page.build_command(choice).splitlines()[0])[1:]
    found = CliRunner().invoke(commands, [*line, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["time"] == pytest.approx(t.time)


def test_a_split_that_does_not_fit_is_shown_with_the_reason_as_if_it_did(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    query = {**SMALL, "memory": "2GB"}
    choice = searched.ADDRESS.read(query)[0]
    with pytest.raises(cs.CollsimError, match="does not fit"):
        searched.request_step(choice)
    at = opened("split", **query)
    assert any("does not fit" in text and "had GPUs the memory" in text for text in messages(at))
    memory = sent(at, "collsim_splits")["step"]["memory"]
    assert (
        memory["room"] == 2e9 < memory["total"] == searched.request_step(searched.ADDRESS.read(SMALL)[0]).memory.max()
    )


def test_a_limit_of_memory_is_what_the_figures_are_of():
    document = searched.show_step(searched.ADDRESS.read({**SMALL, "memory": "24GB"})[0]).document
    assert document["memory"]["room"] == 24e9
    assert searched.show_step(searched.ADDRESS.read(SMALL)[0]).document["memory"]["room"] == 80e9


def test_nothing_is_said_to_stand_below_where_nothing_was_run_before(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    at = opened("split", **{**SMALL, "split": "tensor(3) * ddp()"})
    assert any("tensor" in text for text in messages(at))
    assert not any("last run that worked" in text for text in messages(at))


@pytest.mark.parametrize(
    "split", ["tensor(2) * pipeline(2) * ddp()", "pipeline(4, schedule='interleaved', interleave=3) * zero(1)"]
)
def test_lanes_of_the_document_are_the_stages_that_the_map_counts(split):
    """A click on a GPU shows what a GPU of its stage sends."""
    choice = searched.ADDRESS.read({**SMALL, "split": split, "micro": "1"})[0]
    trace = searched.request_step(choice)
    document = searched.show_step(choice).document
    frame = trace.count_crossing_bytes()
    at = [axis for axis, _ in document["axes"]].index("pp")
    below = 1
    for _, size in document["axes"][:at]:
        below *= size
    for lane, ranks in enumerate(trace.step.lanes):
        assert {rank // below % document["axes"][at][1] for rank in ranks} == {lane}
        rows = {(row["strategy"], row["nbytes"], row["time"]) for row in document["sends"][lane]}
        own = frame[frame["lane"] == lane]
        assert rows == set(zip(own["strategy"], own["nbytes"], own["time"], strict=True))
    assert {link for lane in document["sends"] for row in lane for link in row["link"]} == {"NVLink"}


def test_the_first_and_the_last_stage_are_drawn_as_they_run(monkeypatch):
    """Passes, collectives and memory are those of the step; of a long one the middle is cut."""
    choice = searched.ADDRESS.read({**SMALL, "split": "tensor(2) * pipeline(2) * ddp()", "micro": "1"})[0]
    trace, drawn = searched.request_step(choice), searched.show_step(choice).document["drawn"]
    assert drawn["cut"] is None
    assert [row["stage"] for row in drawn["rows"]] == [0, 1]
    for row, lane in zip(drawn["rows"], (0, 1), strict=True):
        busy = sum(b - a for a, b, *_ in row["boxes"])
        tasks = [k for k, task in enumerate(trace.step.tasks) if task.is_compute and lane in task.lanes]
        assert busy == pytest.approx(sum(trace.end[k] - trace.begin[k] for k in tasks))
        assert {strategy for *_, strategy in row["network"]} == {"tensor", "pipeline", "data"}
        totals = [sum(sizes) for _, *sizes in row["memory"]]
        assert max(totals) == pytest.approx(row["most"])
        assert row["most"] == sum(trace.memory.peak(trace.step.lanes[lane][0]).values())
    monkeypatch.setattr(split_document, "MAX_PASSES", 3)
    cut = searched.show_step(choice).document["drawn"]
    low, high = cut["cut"]
    assert 0 < low < high < trace.time
    for row, whole in zip(cut["rows"], drawn["rows"], strict=True):
        assert row["boxes"] == [box for box in whole["boxes"] if box[0] < low or box[1] > high]
        assert len(row["boxes"]) < len(whole["boxes"])
        assert row["most"] == whole["most"]


def test_the_open_split_is_a_row_with_the_figures_of_its_run():
    choice = searched.ADDRESS.read(
        {**SMALL, "split": "tensor(2) * pipeline(2, schedule='interleaved', interleave=3) * zero(2)"}
    )[0]
    made = searched.show_step(choice)
    row = searched.build_opened_row(choice, made)
    assert row == {
        "tp": 2, "cp": 1, "pp": 2, "dp": 2, "ep": 1, "interleave": 3, "micro_batch": 2, "data": "zero(2)", "recompute": "none",
        "time": made.figures["time"], "memory": made.figures["memory"], "fits": True,
    }  # fmt: skip


def test_the_scripts_on_the_pages_run(capsys):
    exec(compile(pipeline.build_script(pipeline.PipelineChoice()), "page", "exec"), {})
    assert "zero-bubble 25.5" in capsys.readouterr().out
    small = sharding.ADDRESS.read({"model": "gpt2", "machine": "dgx-a100", "nodes": "1"})[0]
    exec(compile(sharding.build_script(small), "page", "exec"), {})
    assert capsys.readouterr().out.count("fsdp(") == 3


def code(at, *parts):
    """The code on a page in which all of these are."""
    return [block.value for block in at.code if all(part in block.value for part in parts)]


def test_the_pages_hand_over_scripts_of_pytorch_and_the_line_of_megatron(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 600.0)
    at = unfolded(opened("pipeline"), "code")
    (script,) = code(at, "torch.distributed.pipelining")
    compile(script, "pipelines.py", "exec")
    assert all(name in script for name in ("ScheduleGPipe", "Schedule1F1B", "ScheduleInterleavedZeroBubble"))
    at = unfolded(opened("sharding", model="gpt2", machine="dgx-a100", nodes="1"), "code")
    step = cs.training_step("gpt2", "dgx-a100", parallel=cs.fsdp(), micro_batch=1, dtype="bfloat16")
    assert code(at, "fully_shard") == [step.script().rstrip()]
    (line,) = code(at, "pretrain_gpt.py")
    assert "--num-layers 12 " in line
    assert "optim_grads_params" in line  # GPT-2's head is tied, which torch's module is not taken with
    at = unfolded(opened("split", **SMALL | {"split": "pipeline(4, schedule='zbv') * ddp()"}), "code")
    assert code(at, "ScheduleZBVZeroBubble")
    assert not code(at, "pretrain_gpt.py")
    said = " ".join([*(e.proto.body for e in at.get("html")), *(e.value for e in (*at.markdown, *at.caption))])
    assert "Megatron-LM has no pipeline(4, schedule='zbv')" in html.unescape(said)


@pytest.mark.parametrize(("text", "other"), [("expert(8) * zero(1)", "thousand GPUs"), ("zero(1)", "water level")])
def test_the_page_of_one_step_names_the_page_that_has_a_split(text, other):
    complaints = training_choice.ADDRESS.read({"parallel": text})[1]
    assert other in str(complaints[0].reason)


def test_routing_of_experts_is_chosen_on_the_page():
    """A word picked becomes a part of the split, of the address and of the step; without experts there is no control."""
    place = {"model": "mixtral-8x7b", "nodes": "2", "batch": "64"}
    at = opened("split", split="expert(8) * zero(1)", **place)
    names = [box.label for box in at.selectbox]
    assert {"Tokens to experts", "Capacity of an expert", "Dispatch overlaps with"} <= set(names)
    assert "Buffers" not in names
    even = sent(at, "collsim_splits")["step"]["time"]
    for label, value in (("Tokens to experts", "'zipf'"), ("Capacity of an expert", "1.25")):
        next(box for box in at.selectbox if box.label == label).select(value).run()
        assert not at.exception
    expected = "expert(8, imbalance='zipf', capacity_factor=1.25) * zero(1)"
    assert at.query_params["split"] == [expected] or at.query_params["split"] == expected
    step = cs.training_step(
        "mixtral-8x7b", cs.machine("dgx-h100", nodes=2), parallel=cs.train.parse_strategy(expected), batch=64,
        micro_batch=1, dtype="bfloat16", recompute="selective", memory="1TB",
    )  # fmt: skip
    assert sent(at, "collsim_splits")["step"]["time"] == pytest.approx(step.time) != pytest.approx(even)
    assert not {"A token crosses", "Nodes of a token"} & set(names)  # the experts are within a node
    assert "Buffers" in [box.label for box in at.selectbox]
    assert "Tokens to experts" not in [box.label for box in opened("split").selectbox]


def test_a_token_crosses_once_to_a_node_where_experts_fill_several():
    """Two nodes of two GPUs that share a layer each: four GPUs of a node for the experts; all of it goes back, too."""
    at = opened("split", split="tensor(2) * expert(8) * zero(1)", model="mixtral-8x7b", nodes="2", batch="64")
    splits = []
    for label, value in (("A token crosses", "4"), ("Nodes of a token", "1"), ("A token crosses", "0")):
        next(box for box in at.selectbox if box.label == label).select(value).run()
        assert not at.exception
        splits.append(str(at.query_params["split"]))
    assert ["per_node=4" in text for text in splits] == [True, True, False]
    assert ["max_nodes=1" in text for text in splits] == [False, True, False]
    assert "Nodes of a token" not in [box.label for box in at.selectbox]
