"""The page Train: its figures are those of `cs.training_step` and of `collsim train`, everything is in the address, and
what cannot be gets a sentence."""

import io
import json
import re
import shlex
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from catalogs import pair_page_texts
from streamlit.testing.v1 import AppTest
from test_pages import address, fine, messages, unfolded
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages.train import growth, rivals, step_scenarios, stepfile
from collsim.app.pages.train import train as page
from collsim.app.pages.train.code import build_command, build_script
from collsim.app.pages.train.training_choice import ADDRESS, CHANGES, PLAIN, TrainingChoice
from collsim.app.scenario.choice import Choice
from collsim.app.shell import results
from collsim.cli import app as commands
from collsim.locale import LANGUAGES
from collsim.train.workload import collective_model
from collsim.units import format_time

TEXTS = pair_page_texts("train")


def train() -> None:
    from collsim.app.main import main

    main(first="train")


def opened(**query):
    at = AppTest.from_function(train, default_timeout=90)
    for name, text in query.items():
        at.query_params[name] = text
    at.run()
    assert not at.exception
    return at


def sent(at, name="collsim_step"):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith(name)]
    return json.loads(one.proto.json)


def figures(at):
    """The four figures and the sentence, as text."""
    (body,) = [e.proto.body for e in at.get("html") if 'class="cs-head"' in e.proto.body]
    return re.sub(r"\s+", " ", re.sub("<.*?>", " ", body)).replace("\N{NO-BREAK SPACE}", " ")


SMALL = {"model": "resnet18", "machine": "dgx-a100", "nodes": "1", "samples": "8"}
A_FEW = [
    {},
    SMALL,
    {**SMALL, "parallel": "data_parallel"},
    {**SMALL, "parallel": "data_parallel", "nccl": "off"},
    {**SMALL, "parallel": "parameter_server", "servers": "2", "bucket": "4MiB"},
    {**SMALL, "parallel": "parameter_server", "servers_on": "rank", "servers": "8", "optimizer": "sgd"},
    {**SMALL, "bucket": "1MiB", "bucket_view": "on", "find_unused": "on", "dtype": "float32", "interference": "0"},
    {"model": "bert-base", "network": "switch", "ranks": "4", "gpu": "V100", "dtype": "float16"},
    {**SMALL, "machine": "pcie-8gpu", "timing": "shared", "samples": "4"},
    {**SMALL, "model": "gpt2", "samples": "1", "attention": "eager", "narrow_weights": "on"},
    {**SMALL, "machine": "dgx-h100", "compile": "default", "host_launch": "31us"},
]


def test_a_step_whose_collectives_run_on_the_links_is_priced_before_it_runs(monkeypatch):
    """Without P2P and GPUDirect, no model of NCCL knows NVL72 racks: the event engine runs 3 million transfers for each
    size of a bucket, minutes in all, and the page must not begin that on the spot."""
    far = TrainingChoice(machine="gb200-nvl72", nodes=2, p2p=False, gdr=False)
    for module in (collective_model, step_scenarios.cs):
        monkeypatch.setattr(module, "simulate", pytest.fail)
    assert step_scenarios.needs_engine(far)
    assert step_scenarios.estimate_step(far) > 120
    assert min(step_scenarios.estimate_collective(far, 0), growth.estimate_growth(far)) > results.ON_THE_SPOT
    assert not step_scenarios.needs_engine(PLAIN)
    assert max(step_scenarios.estimate_step(PLAIN), step_scenarios.estimate_collective(PLAIN, 0)) < results.ON_THE_SPOT


def test_a_race_of_many_ranks_is_not_run_on_the_spot():
    assert rivals.estimate_race(rivals.build_common_choice(TrainingChoice(machine="gb200-nvl72"))) > results.ON_THE_SPOT
    assert rivals.estimate_race(rivals.build_common_choice(PLAIN)) < results.ON_THE_SPOT


def test_the_price_counts_the_runs_on_the_links(monkeypatch):
    choice, runs, simulate = TrainingChoice(machine="ring", ranks=3), [], collective_model.simulate
    monkeypatch.setattr(
        collective_model, "simulate", lambda *args, **keys: runs.append(args) or simulate(*args, **keys)
    )
    monkeypatch.setattr(step_scenarios, "expected_cost", lambda *args, **keys: Mock(seconds=1.0))
    step_scenarios.compute_step(choice)
    assert len(runs) / 1.5 < step_scenarios.estimate_step(choice) < 1.5 * len(runs)


PLAIN_MODEL = {"attention": "", "narrow_weights": False}


@pytest.mark.parametrize("query", A_FEW, ids=lambda q: "-".join(q.values()) or "first")
def test_the_page_and_the_command_line_give_the_figures_of_training_step(query, monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    choice = ADDRESS.read(query)[0]
    trace = step_scenarios.time_step(choice)
    at = opened(**query)
    assert messages(at) == []
    assert sent(at)["step"]["time"] == trace.time
    shown = figures(at)
    for said in (cs.format_time(trace.time), cs.format_time(trace.exposed), cs.format_bytes(trace.memory.max())):
        assert said in shown
    assert f"{100 * trace.overlapped:.3g} %" in shown
    line = shlex.split(build_command(choice))[1:]
    found = CliRunner().invoke(commands, [*line, "--json"])
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    for name in ("time", "exposed", "overlapped", "memory"):
        assert record[name] == pytest.approx(getattr(trace, name) if name != "memory" else trace.memory.max())


def test_the_script_on_the_page_prints_the_same_figures(capsys):
    choice = replace(PLAIN, changes=("network", "accumulate"), bucket="4MiB", interference="0.3")
    exec(compile(build_script(choice), "page", "exec"), {})
    trace = step_scenarios.apply_switches(choice, step_scenarios.time_step(replace(choice, changes=())))
    assert capsys.readouterr().out == f"{trace}\n{trace.explain()}\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_prints_the_pytorch_script_and_the_lines_that_start_it(language):
    at = unfolded(opened(lang=language, **SMALL), "code")
    trace = cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), micro_batch=8, dtype="bfloat16")
    shown = [code.value for code in at.code]
    assert [code for code in shown if "DistributedDataParallel" in code and compile(code, "page", "exec")]
    assert trace.launch_lines() in shown
    assert trace.launch_lines("tcp://") in shown
    assert any("torch.cuda.nccl.version()" in code for code in shown)


def test_data_parallel_is_started_by_one_line_and_a_parameter_server_has_a_reason():
    hub = [code.value for code in unfolded(opened(**SMALL, parallel="data_parallel"), "code").code]
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 python step.py" in hub
    server = unfolded(opened(**SMALL, parallel="parameter_server"), "code")
    assert not [code for code in server.code if "import torch" in code.value]
    assert any("PyTorch has no module" in e.proto.body for e in server.get("html"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("show", ["step", "race"])
def test_both_views_speak_both_languages(language, show):
    at = opened(lang=language, show=show, **SMALL)
    data = sent(at, "collsim_step" if show == "step" else "collsim_rivals")
    assert data["language"] == language
    said = [row["reason"] for row in data["rows" if show == "step" else "runners"]]
    assert all(bool(re.search("[\u4e00-\u9fff]", one)) == (language == "zh") for one in said)
    assert messages(at) == []


# ---- switches and bucket sizes -------------------------------------------------------------------------------------


def test_every_switch_shows_old_new_and_the_reason_and_is_what_if():
    rows = sent(opened(**SMALL))["rows"]
    plain = step_scenarios.time_step(ADDRESS.read(SMALL)[0])
    assert [row["name"] for row in rows] == list(CHANGES)
    for row in rows:
        new = plain.what_if(**CHANGES[row["name"]])
        assert row["before"] == plain.time
        assert row["after"] == pytest.approx(new.time * plain.step.samples / new.step.samples)
        assert row["reason"].endswith(".")
        assert not row["on"]


def test_switches_that_are_on_are_in_the_step_and_the_old_network_stays_as_a_ghost():
    at = opened(changes="network,first", **SMALL)
    data = sent(at)
    plain = step_scenarios.time_step(ADDRESS.read(SMALL)[0])
    assert data["step"]["time"] == plain.what_if(network=2, first_step=True).time
    assert [row["name"] for row in data["rows"] if row["on"]] == ["network", "first"]
    assert [end for _, end in data["ghost"]] == [
        pytest.approx(end) for task, end in zip(plain.step.tasks, plain.end, strict=True) if task.stream == "network"
    ]
    assert address(at)["changes"] == "network,first"
    assert sent(opened(**SMALL))["ghost"] == []


def test_switches_of_ddp_are_not_offered_to_data_parallel():
    data = sent(opened(parallel="data_parallel", changes="hook,network", **SMALL))
    assert [row["name"] for row in data["rows"]] == ["network", "accumulate"]
    assert data["curve"] == []


def test_the_curve_holds_the_step_at_every_size_and_a_given_size_is_on_it():
    size = "8MiB"
    data = sent(opened(bucket=size, **SMALL))
    curve = dict(map(tuple, data["curve"]))
    assert data["bucket_bytes"] == 8 * 2**20
    assert curve[8 * 2**20] == pytest.approx(data["step"]["time"], rel=1e-12)
    plain = step_scenarios.time_step(ADDRESS.read(SMALL)[0])
    for cap in (2**14, 2**20, 2**29):
        assert curve[cap] == pytest.approx(plain.what_if(bucket=cap).time)


def test_a_slow_network_gives_a_u():
    curve = sent(opened())["curve"]
    times = [seconds for _, seconds in curve]
    assert min(times) < 0.85 * times[0]
    assert min(times) < 0.85 * times[-1]


# ---- what is opened ------------------------------------------------------------------------------------------------


def test_the_bucket_that_gpus_wait_for_longest_is_open_and_plays_the_schedule_of_the_step():
    data = sent(opened())
    rows = data["step"]["collectives"]
    assert data["open"] == max(rows, key=lambda row: row["exposed"])["name"]
    trace = step_scenarios.time_step(PLAIN)
    task = next(row["task"] for row in rows if row["name"] == data["open"])
    plan = trace.step.build_schedule(task, trace.topology)
    assert data["opened"]["label"] == plan.label
    assert data["opened"]["steps"] == plan.steps
    ran = cs.simulate(plan, trace.topology, trace.step.tasks[task].nbytes, engine="event")
    assert data["opened"]["seconds"] == pytest.approx(ran.time)


def test_what_is_opened_is_in_the_address_and_its_link_opens_explore_with_it():
    at = opened(open="bucket 1", **SMALL)
    data = sent(at)
    assert data["open"] == data["opened"]["name"] == "bucket 1"
    assert address(at)["open"] == "bucket 1"
    nbytes = next(row["nbytes"] for row in data["step"]["collectives"] if row["name"] == "bucket 1")
    assert f"nbytes={nbytes}B" in data["opened"]["link"]
    assert "machine=dgx-a100" in data["opened"]["link"]
    assert sent(opened(open="none", **SMALL))["opened"] is None


def test_a_collective_that_the_step_does_not_have_is_told_of():
    (said,) = messages(opened(open="bucket 99", **SMALL))
    assert "bucket 99" in said
    assert "bucket 0" in said


# ---- clicks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "change"),
    [
        ({"what": "open", "name": "bucket 2"}, {"open": "bucket 2"}),
        ({"what": "switch", "name": "hook"}, {"changes": ("hook", "first")}),
        ({"what": "switch", "name": "first"}, {"changes": ()}),
        ({"what": "bucket", "nbytes": 3 * 2**20}, {"bucket": "3MiB"}),
        ({"what": "bucket", "nbytes": 100}, {"bucket": "100B"}),
        ({"what": "default bucket"}, {"bucket": ""}),
        ({"what": "every", "on": True}, {"every": True}),
        ({"what": "switch", "name": "<script>"}, {}),
        ({"what": "bucket", "nbytes": -1}, {}),
        ("nonsense", {}),
    ],
)
def test_a_click_in_the_card_changes_what_the_page_remembers(act, change, monkeypatch):
    before, kept = replace(PLAIN, changes=("first",), bucket="8MiB"), {}
    monkeypatch.setattr(page.st, "session_state", {"step": {"act": act}})
    monkeypatch.setattr(page, "get_remembered", lambda name: before)
    monkeypatch.setattr(page, "remember", kept.__setitem__)
    page._on_act()
    assert kept.get("train", before) == replace(before, **change)


# ---- the address ---------------------------------------------------------------------------------------------------


EVERYTHING = TrainingChoice(
    model="gpt2",
    samples=4,
    dtype="float16",
    optimizer="momentum",
    gpu="H100",
    machine="dgx-h100",
    nodes=4,
    fabric="rail",
    p2p=False,
    gdr=False,
    bucket="3MiB",
    bucket_view=True,
    find_unused=True,
    interference="0.3",
    timing="shared",
    changes=("overlap", "hook"),
    open="bucket 1",
    every=True,
)


@pytest.mark.parametrize(
    "choice",
    [
        PLAIN,
        EVERYTHING,
        replace(PLAIN, machine="dgx-a100"),
        replace(PLAIN, strategy="data_parallel", nccl=False, show="race"),
        replace(PLAIN, strategy="parameter_server", servers=3, servers_on="rank", wait=False),
        replace(PLAIN, machine="switch", ranks=5, bandwidth="10GB/s", alpha="2us"),
        replace(PLAIN, machine="torus", shape="2x4"),
    ],
    ids=lambda c: f"{c.strategy}-{c.machine}",
)
def test_an_address_asks_for_the_same_step_again(choice):
    words = ADDRESS.write(choice)
    assert ADDRESS.read(words) == (choice, [])
    assert (words == {}) == (choice == PLAIN)


def test_a_change_in_the_sidebar_is_in_the_address_and_opens_again():
    at = opened(**SMALL)
    fine(at.selectbox(key="w_train_model").set_value("resnet34").run())
    fine(at.selectbox(key="w_train_bucket").set_value("4MiB").run())
    fine(at.toggle(key="w_train_bucket_view").set_value(True).run())
    asked = address(at)
    assert (asked["model"], asked["bucket"], asked["bucket_view"]) == ("resnet34", "4MiB", "on")
    again = opened(**asked)
    assert sent(again)["id"] == sent(at)["id"]
    assert sent(again)["step"] == sent(at)["step"]


# ---- sentences -----------------------------------------------------------------------------------------------------


def test_a_bucket_of_nothing_and_a_model_that_does_not_fit_get_a_sentence():
    (said,) = messages(opened(bucket="0", **SMALL))
    assert "a bucket of 0 bytes holds nothing" in said
    (said,) = messages(opened(model="llama3-70b", machine="dgx-a100", nodes="1"))
    assert "llama3-70b does not fit" in said
    assert "the model has to be split" in said


def test_data_parallel_on_two_nodes_is_refused_with_a_way_out_and_the_last_good_step_stays():
    at = opened(parallel="data_parallel")
    (said,) = messages(at)
    assert "use nodes=1, or ddp()" in said
    assert sent(at)["step"]["time"] == step_scenarios.time_step(PLAIN).time


def test_an_interference_beyond_all_speed_is_told_of():
    (said,) = messages(opened(interference="2", **SMALL))
    assert "interference=2" in said


# ---- the race ------------------------------------------------------------------------------------------------------


def test_the_race_has_four_ways_on_one_node_all_timed_on_the_links():
    data = sent(opened(show="race"), "collsim_rivals")
    assert [one["strategy"] for one in data["runners"]] == list(rivals.STRATEGIES)
    box = cs.machine("pcie-8gpu")
    for one, parallel in zip(
        data["runners"],
        (cs.ddp(), cs.data_parallel(), cs.data_parallel(nccl=False), cs.parameter_server()),
        strict=True,
    ):
        trace = cs.training_step(
            "resnet50", box, parallel=parallel, micro_batch=16, dtype="bfloat16", collectives="links"
        )
        assert one["time"] == pytest.approx(trace.time)
        assert one["memory"] == trace.memory.max()
        assert one["sent"] == max(trace.sent_bytes.values())


def test_copies_send_seven_times_the_weights_from_gpu_0_and_gpu_0_holds_most():
    """B7 of the known answers: 7P; and the inputs of seven GPUs, and the gradients of their outputs."""
    data = sent(opened(show="race"), "collsim_rivals")
    copies = next(one for one in data["runners"] if one["strategy"] == "copies")
    p = cs.model("resnet50").nbytes
    assert 7 * p < copies["sent"] < 8 * p
    held = [
        sum(row[kind] for kind in ("weights", "other", "gradients", "activations"))
        for row in copies["document"]["peak_memory"]
    ]
    assert held[0] == max(held) > held[1]


def test_a_way_that_cannot_run_is_told_of_and_the_others_race():
    at = opened(show="race", network="switch", ranks="1")
    assert sent(at, "collsim_rivals")["runners"]
    assert all("cannot run here" in said for said in messages(at))


def test_every_text_of_the_page_is_asked_for():
    source = "\n".join(path.read_text() for path in Path(page.__file__).parent.glob("*.py"))
    controls = [entry.name for entry in fields(TrainingChoice) if entry.metadata.get("control") is not None]
    families = ("page.train", "train.file.", *(f"train.{name}" for name in controls))
    families += ("train.scaling.weak", "train.scaling.strong")
    unused = [key for key in TEXTS if f'"{key}"' not in source and not key.startswith(families)]
    assert unused == []


# ---- the step as a file


def test_the_step_can_be_taken_along_in_every_format(tmp_path):
    choice = replace(PLAIN, model="resnet18", nodes=1, samples=8, changes=("fp16",))
    now = step_scenarios.apply_switches(choice, step_scenarios.time_step(step_scenarios.strip_switches(choice)))
    files = {suffix: stepfile.build_file(choice, suffix, "zh") for suffix in stepfile.SUFFIXES}
    assert {name for name, _ in files.values()} >= {"collsim-step.html", "collsim-step.py", "collsim-step.et.zip"}
    assert json.loads(files["json"][1])["time"] == now.time
    assert files["csv"][1].decode().count("\n") == len(now.step.tasks) + 1
    assert files["py"][1].decode() == now.script()
    assert files["png"][1].startswith(b"\x89PNG")
    assert b'"zh"' in files["html"][1]
    with zipfile.ZipFile(io.BytesIO(files["et"][1])) as packed:
        assert len(packed.namelist()) >= now.step.ranks


def test_the_files_of_the_page_are_made_when_asked_for(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 60.0)
    at = opened(**SMALL)
    fine(unfolded(at, "files"))
    menu = at.selectbox(key="w_format")
    assert len(menu.options) == len(stepfile.SUFFIXES)
    fine(menu.set_value("csv").run())
    fine(at.button(key="files_make").click().run())
    assert any("collsim-step.csv" in e.proto.label for e in at.get("download_button"))


# ---- scaling and trouble


def test_scaling_and_losses_are_those_of_the_tables(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 100.0)
    at = fine(opened(**SMALL, show="scaling"))
    assert len(at.get("vega_lite_chart")) == 2
    curves, troubles, runs = (frame.value for frame in at.dataframe)
    choice = TrainingChoice(model="resnet18", machine="dgx-a100", nodes=1, samples=8)
    now = step_scenarios.time_step(step_scenarios.strip_switches(choice))
    asked = now.request
    for kind, held in (
        ("weak", TEXTS["train.scaling.weak"][0]),
        ("strong", TEXTS["train.scaling.strong"][0]),
    ):
        table = cs.train.measure_scaling(
            "resnet18", "dgx-a100", parallel=cs.ddp(), nodes=growth.NODES, batch=64, kind=kind, dtype=asked.dtype,
            optimizer=asked.optimizer, interference=asked.interference, compute=asked.compute,
        )  # fmt: skip
        mine = curves[curves["kind"] == held]
        assert mine["gpus"].tolist() == table["gpus"].tolist()
        for shown in ("node", "gpu"):
            shares = [f"{100 * share:.1f} %" for share in table[f"efficiency_{shown}"]]
            assert [text if text != "–" else "nan %" for text in mine[shown]] == shares
    goodputs = [cs.purchases.estimate_goodput(now, run_gpus=gpus) for gpus in (8, 128, 1024, 16_384)]
    assert runs.iloc[:, 0].tolist() == [f"{run.gpus:,}" for run in goodputs]
    assert runs.iloc[:, -1].tolist() == [f"{run.lost_gpu_hours_per_day:,.0f}" for run in goodputs]
    assert goodputs[0].text() in " ".join(markdown.value for markdown in at.markdown)
    lost = cs.train.time_faults(now)
    assert troubles["lost"].tolist() == [format_time(seconds) for seconds in lost["lost"]]
    assert troubles["own"].tolist()[-1] == "–", "a cable computes nothing"
    above = json.loads(at.get("vega_lite_chart")[1].proto.spec)["layer"]
    assert all(layer["encoding"]["y"]["axis"] is None for layer in above), (
        "no name beside a bar: a telephone has no room"
    )
    assert above[-1]["encoding"]["x"] == {"value": 0}, "but above it"
    assert above[-1]["encoding"]["text"]["field"] == "name"


@pytest.mark.parametrize("language", [0, 1])
def test_a_cable_has_the_name_of_its_kind_and_no_loss_is_called_so(language, monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 100.0)
    monkeypatch.setattr(growth, "NODES", (1,))
    place = {"model": "resnet18", "machine": "pcie-8gpu", "nodes": "2", "samples": "8"}
    at = fine(opened(**place, show="scaling", lang=("en", "zh")[language]))
    table = at.dataframe[1].value
    (row,) = [k for k, name in enumerate(table["name"]) if "InfiniBand" in name]
    choice = TrainingChoice(model="resnet18", machine="pcie-8gpu", nodes=2, samples=8)
    lost = cs.train.time_faults(step_scenarios.time_step(step_scenarios.strip_switches(choice)))
    assert lost["lost"].tolist()[row] == 0
    assert table["lost"].tolist()[row] == TEXTS["train.loss.none"][language]
    assert not any("infiniband" in name or "pcie," in name for name in table["name"])


def test_a_network_without_nodes_has_no_curve_but_losses(monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 100.0)
    at = fine(opened(model="resnet18", network="switch", ranks="4", samples="8", show="scaling", lang="zh"))
    assert len(at.get("vega_lite_chart")) == 1
    assert any(TEXTS["train.scaling.one"][1] in e.proto.body for e in at.get("html"))
    assert TEXTS["train.loss.stops"][1] in at.dataframe[0].value["time"].tolist()
    (why,) = [e.proto.body for e in at.get("html") if "：作业停止。" in e.proto.body]
    assert "rank 0" in why
    assert not re.search("cannot reach|None|without", why)


def test_weights_and_attention_are_chosen_where_the_model_and_the_type_have_a_choice():
    """Without attention, or in float32, the address and the page have no such choice, and nothing changes."""
    at = opened(**SMALL)
    assert {box.key for box in at.toggle} >= {"w_train_narrow_weights"}
    assert "w_train_attention" not in {box.key for box in at.selectbox}
    assert "w_train_narrow_weights" not in {box.key for box in opened(**SMALL, dtype="float32").toggle}
    plain = TrainingChoice(model="resnet18", samples=8)
    for useless in (replace(plain, attention="eager"), replace(plain, dtype="float32", narrow_weights=True)):
        assert {"attention", "narrow_weights"}.isdisjoint(ADDRESS.write(useless))
        assert step_scenarios.time_step(useless).time == step_scenarios.time_step(replace(useless, **PLAIN_MODEL)).time
    gpt = replace(plain, model="gpt2", samples=1)
    stored, narrow = (
        step_scenarios.time_step(replace(gpt, **more)) for more in ({"attention": "eager"}, {"narrow_weights": True})
    )
    usual = step_scenarios.time_step(gpt)
    assert stored.memory.peak()["activations"] > usual.memory.peak()["activations"]
    assert narrow.sent_bytes[0] * 2 == usual.sent_bytes[0]


def test_compiling_and_the_host_are_chosen_of_a_gpu_that_is_known(capsys):
    """Fused kernels have no host to choose: there the address and the page have none, and nothing changes."""
    measured = TrainingChoice(
        model="resnet18", samples=8, machine="dgx-h100", dtype="float32", compile="reduce-overhead"
    )
    boxes = {box.key for box in opened(**ADDRESS.write(measured)).selectbox}
    assert {"w_train_compile", "w_train_host_launch"} <= boxes
    assert "w_train_host_launch" not in {box.key for box in opened(**SMALL).selectbox}
    plain = replace(measured, compile="", host_launch="80us")
    assert "host_launch" not in ADDRESS.write(plain)
    assert step_scenarios.time_step(plain).time == step_scenarios.time_step(replace(plain, host_launch="")).time
    slow = replace(measured, compile="none", host_launch="80us")
    eager, compiled, late = (step_scenarios.time_step(step) for step in (replace(slow, host_launch=""), measured, slow))
    assert compiled.time < eager.time < late.time
    exec(compile(build_script(slow), "page", "exec"), {})
    assert capsys.readouterr().out == f"{late}\n{late.explain()}\n"


def raced(at):
    (one,) = [e for e in at.get("bidi_component") if e.proto.component_name.endswith("collsim_rivals")]
    return json.loads(one.proto.json)["runners"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_pinned_step_and_another_are_played_on_one_clock(language):
    at = fine(opened(lang=language, nodes="2"))
    fine(at.button(key="pin_start").click().run())
    pinned = at.query_params["pin"]
    assert "nodes:2" in str(pinned) or "model:" in str(pinned)
    assert not [button for button in at.button if button.key == "pin_race"], "nothing to compare with yet"
    other = fine(opened(lang=language, nodes="4", pin=pinned[0] if isinstance(pinned, list) else pinned))
    fine(other.button(key="pin_race").click().run())
    first, second = raced(other)
    assert (first["strategy"], second["strategy"]) == ("pinned", "chosen")
    times = [step_scenarios.time_step(replace(PLAIN, nodes=nodes)).time for nodes in (2, 4)]
    assert [first["time"], second["time"]] == pytest.approx(times)
    assert "nodes 2" in first["name"]
    assert "nodes 4" in second["name"]
    fine(other.button(key="pin_end").click().run())
    assert "pin" not in other.query_params
    assert len(raced(other)) > 2, "the race of the strategies again"


def test_a_run_that_is_pinned_on_explore_is_played_with_a_step():
    at = opened(nodes="2")
    session = at.session_state["session"]
    session.panels = replace(session.panels, pinned="algorithm:allreduce_tree;nodes:4")
    fine(at.run())
    fine(at.button(key="pin_run").click().run())
    run, step = raced(at)
    machine = cs.machine("dgx-a100", nodes=4)
    trace = cs.simulate(cs.schedule("allreduce_tree", topology=machine), machine, Choice().nbytes)
    assert run["time"] == pytest.approx(trace.time)
    assert run["sent"] == trace.sent_bytes.max()
    assert run["document"]["boxes"][0]["t1"] == run["time"]
    assert len(run["patterns"]["allreduce"]["pairs"]) > 0
    assert run["name"].startswith("Pinned: allreduce, tree")
    assert step["time"] == pytest.approx(step_scenarios.time_step(replace(PLAIN, nodes=2)).time)
    assert fine(opened(nodes="2", show="race", pin=at.query_params["pin"]))


@pytest.mark.parametrize(
    "pin", ["model:nothing;nodes:x", "run:1;algorithm:nothing;nodes:x", "run:1;", "run:1;x", "run:1;nodes:2;;x"]
)
def test_a_pinned_step_of_a_hostile_address_gets_a_sentence(pin):
    at = opened(show="race", pin=pin)
    assert not at.exception
    assert messages(at)
