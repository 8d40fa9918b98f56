"""Sweeps and comparisons take a step of training as they take a collective: the same step, the same figures."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.app.pages.train import rivals
from collsim.app.pages.train.training_choice import TrainingChoice
from collsim.cli import app
from collsim.sweep import read_plan

BOX = cs.machine("dgx-a100")
PLAN = """\
model: [resnet18, vgg16]
parallel:
  - {name: ddp, bucket: [1MiB, 25MiB]}
  - data_parallel
topology:
  - {machine: dgx-a100, nodes: [1, 2]}
batch: [256, 512]
dtype: float16
"""


def step(model, machine, parallel, **options):
    return cs.training_step(model, machine, parallel=parallel, **options)


def test_a_row_for_every_step_in_order_and_each_is_the_step_itself():
    """On the links, which time a parameter server and DDP alike: one table, one model."""
    ways = [cs.ddp(bucket="1MiB"), cs.parameter_server()]
    frame = cs.sweep(model=["resnet18", "vgg16"], topology=BOX, parallel=ways, batch=[256, 512])
    assert list(frame.model) == ["resnet18"] * 4 + ["vgg16"] * 4
    assert list(frame.parallel) == [ways[0].label] * 2 + [ways[1].label] * 2 + [ways[0].label] * 2 + [ways[1].label] * 2
    assert list(frame.batch) == [256, 512] * 4
    for row in frame.itertuples():
        assert row.collectives == "links"
        trace = step(row.model, BOX, ways[row.parallel == ways[1].label], batch=row.batch, collectives="links")
        assert (row.time, row.exposed, row.memory) == (trace.time, trace.exposed, trace.memory.max())


def test_a_plan_is_the_call_written_down(tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN)
    frame = cs.sweep(**read_plan(tmp_path / "plan.yaml"))
    assert len(frame) == 2 * 2 * 3 * 2  # models, machines, ways, batches
    assert set(frame.dtype) == {"float16"}
    two = frame[(frame.parallel == "data_parallel()") & (frame.topology == "dgx-a100(nodes=2)")]
    assert two.error.str.contains("one node").all()
    assert frame.error.isna().sum() == len(frame) - len(two)


def test_results_on_disk_are_not_computed_again_unless_something_differs(tmp_path):
    def sweep(**more):
        told = []
        given = {"model": "resnet18", "topology": BOX, "batch": [256, 512], "out": tmp_path / "a.sqlite"} | more
        frame = cs.sweep(**given, progress=lambda done, total, _: told.append(done))
        return told[0], frame

    assert sweep()[0] == 0
    again, frame = sweep()
    assert again == 2
    assert list(frame.batch) == [256, 512]
    assert sweep(compute="100ms")[0] == 0
    assert sweep(parallel=cs.ddp(view=True))[0] == 0
    other = cs.train.Model("resnet18", cs.model("resnet18").layers[1:])  # the same name
    assert sweep(model=other)[0] == 0


def test_numbers_of_gpus_and_lists_of_them():
    frame = cs.sweep(
        model="resnet18", topology=BOX, micro_batch=32, ranks=[2, 4, [0, 1, 2]], where=lambda r: r["ranks"] > 2
    )
    assert list(frame.ranks) == [4, 3]
    assert list(frame.batch) == [128, 96]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": "resnet5"}, "did you mean 'resnet50'"),
        ({"model": []}, "at least one model"),
        ({"model": "resnet18", "parallel": "dpp"}, "did you mean 'ddp'"),
        ({"model": "resnet18", "parallel": [("ddp", {"buckets": 3})]}, "did you mean 'bucket'"),
        ({"model": "resnet18", "parallel": [("ddp", {"bucket": 0})]}, "bucket of 0 bytes"),
        ({"model": "resnet18", "parallel": []}, "at least one parallel"),
        ({"model": "resnet18", "batchs": 3}, "did you mean 'batch'"),
        ({"model": "resnet18", "batch": []}, "at least one batch"),
        ({"model": "resnet18", "batch": None}, "how many samples"),
        ({"model": "resnet18", "nbytes": "1MiB"}, "of a sweep over collectives"),
        ({"parallel": "ddp"}, "which model"),
        ({}, "which model"),  # a batch without a model
    ],
)
def test_mistakes_are_told_before_anything_runs(given, sentence):
    with pytest.raises(cs.CollsimError, match=sentence):
        cs.sweep(**{"topology": BOX, "batch": 256, **given})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model: resnet18\ntopology: dgx-a100\nnbytes: 1KiB\n", "line 3: unknown key 'nbytes'"),
        ("topology: dgx-a100\nmodel:\n  - resnet18\n  - resnet5\n", "line 4: unknown model 'resnet5'"),
        ("model: resnet18\ntopology: dgx-a100\nparallel:\n  - {name: ddp, hook: fp8}\n", "line 4: .*fp8"),
        ("topology: dgx-a100\nbatch: 3\n", "line 2: unknown key 'batch'"),
    ],
)
def test_mistakes_in_a_plan_name_the_line(tmp_path, text, sentence):
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(cs.FormatError, match=sentence):
        read_plan(tmp_path / "plan.yaml")


# ---- comparing -----------------------------------------------------------------------------------------------------


def test_every_way_is_the_fastest_of_all_that_the_table_says_was_tried():
    table = cs.compare("vgg16", BOX, batch=256)
    names = table.parallel.str.partition("(")[0]
    assert set(names) == {"ddp", "parameter_server", "data_parallel"}
    assert table.samples_per_second.is_monotonic_decreasing
    calls = [f"cs.{call.removesuffix(')')})" for call in table.attrs["search"].split("), ")]
    tried = [eval(call, {"cs": cs}) for call in calls]
    assert len(tried) == table.tried.sum()
    for row in table.itertuples():
        own = [way for way in tried if way.label.partition("(")[0] == row.parallel.partition("(")[0]]
        assert row.tried == len(own)
        assert row.time == min(step("vgg16", BOX, way, batch=256, collectives="links").time for way in own)


def test_two_steps_differ_by_what_moved():
    a, b = (step("vgg16", BOX, cs.ddp(overlap=overlap), batch=256) for overlap in (True, False))
    found = cs.train.compare_steps(a, b)
    assert found.speedup == a.time / b.time < 1
    assert found.parts.difference.sum() == pytest.approx(b.time - a.time, rel=1e-9)
    assert found.parts.difference.idxmax() == "exposed"
    assert "waiting for the network" in str(found)
    assert "等待" in found.explain("zh") or "通信" in found.explain("zh")
    assert found.frame.loc["time"].tolist() == [a.time, b.time]


def test_a_step_that_trains_on_more_samples_is_judged_per_sample():
    a = step("vgg16", BOX, cs.ddp(), batch=256)
    b = a.what_if(accumulate=2)
    assert b.time > a.time
    assert cs.train.compare_steps(a, b).speedup == (a.time / 256) / (b.time / 512) > 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cs.compare("resnet5", BOX, batch=256), "did you mean 'resnet50'"),
        (lambda: cs.compare("resnet18", BOX), "how many samples"),
        (lambda: cs.compare("allreduce", BOX, batch=256), "batch= is for the ways"),
        (lambda: cs.compare("resnet18", BOX, batch=[256, 512]), "one value of each option"),
        (lambda: cs.train.compare_steps(step("resnet18", BOX, cs.ddp(), batch=8), 3), "two StepTraces"),
    ],
)
def test_mistakes_of_a_comparison_are_sentences(call, sentence):
    with pytest.raises(cs.CollsimError, match=sentence):
        call()


def test_recomputation_is_swept_over_products_as_text():
    table = cs.sweep(
        model="gpt2",
        topology=BOX,
        parallel=["tensor(2) * pipeline(2) * zero(1)", cs.fsdp()],
        batch=16,
        recompute=["none", "full"],
        slow={0: 2},
    )
    assert list(table.recompute) == ["none", "full"] * 2
    assert set(table.parallel) == {"tensor(2) * pipeline(2) * zero(1)", "fsdp()"}
    for none, full in zip(table[::2].itertuples(), table[1::2].itertuples(), strict=True):
        assert full.time > none.time
        assert full.memory < none.memory
    one = cs.training_step("gpt2", BOX, parallel=cs.fsdp(), batch=16, recompute="full", slow={0: 2})
    assert table.time[3] == one.time


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"model": {}}, "unknown model"),
        ({"model": [[1]]}, "unknown model"),
        ({"where": 5}, "must be a function"),
        ({"nbytes": np.array([1, 2])}, "is of a sweep over collectives"),
        ({"parallel": "tensor(2) * x()"}, "unknown way of splitting 'x'"),
        ({"parallel": "tensor(2"}, "no way of splitting"),
    ],
)
def test_what_a_sweep_over_steps_cannot_take_is_a_sentence(asked, says):
    with pytest.raises(cs.CollsimError, match=says):
        cs.sweep(**{"model": "resnet18", "topology": BOX, "batch": 64, **asked})


def test_ranks_that_are_none_are_a_row_with_its_reason():
    table = cs.sweep(model="resnet18", topology=BOX, micro_batch=1, ranks=[1.5, np.int64(4), 4])
    assert "must be a list of ranks" in table.error[0]
    assert table.time[1] == table.time[2] > 0


def test_splits_are_compared_by_one_model_with_all_of_their_work():
    """NCCL's model knows no parameter server, so the links time all of them; servers update the weights, and workers copy
    gradients into messages and weights out of them, as DDP does with its buckets."""
    box = cs.machine("pcie-8gpu")
    table = cs.compare("resnet50", box, batch=256)
    asked = {"batch": 256, "collectives": "links"}
    times = {
        "parameter_server(servers=8)": step("resnet50", box, cs.parameter_server(8), **asked).time,
        "data_parallel()": step("resnet50", box, cs.data_parallel(), **asked).time,
    }
    for row in table.itertuples():
        if row.parallel in times:
            assert row.time == times[row.parallel]
    tasks = {
        name: step("resnet50", box, split, **asked).tasks
        for name, split in (("ddp", cs.ddp()), ("ps", cs.parameter_server()))
    }
    work = {name: frame[frame.kind == "optimizer"].memory_bytes.sum() for name, frame in tasks.items()}
    assert work["ps"] == work["ddp"] > 0
    assert table.parallel[0].startswith("ddp"), "a server that does the same work over a longer way is not the fastest"
    predicted = cs.compare("resnet50", box, batch=256, parallel=["ddp", "data_parallel"])
    assert (table.attrs["collectives"], predicted.attrs["collectives"]) == ("links", "nccl")
    assert predicted.time[0] == step("resnet50", box, cs.ddp(), batch=256).time


def test_the_ways_of_a_comparison_take_the_same_in_python_on_the_command_line_and_in_the_app():
    """DDP, DataParallel and a parameter server on one clock, whoever asks."""
    choice = rivals.build_common_choice(TrainingChoice(model="resnet18", samples=32, dtype="float32"))
    raced = {runner.strategy: runner.time for runner in rivals.race_strategies(choice).runners}
    ways = {
        "ddp": cs.ddp(),
        "data_parallel": cs.data_parallel(),
        "copies": cs.data_parallel(nccl=False),
        "parameter_server": cs.parameter_server(),
    }
    options = {"micro_batch": 32}
    table = cs.sweep(model="resnet18", topology=choice.machine, parallel=list(ways.values()), **options)
    assert raced == dict(zip(ways, table.time, strict=True))
    base = step("resnet18", choice.machine, ways["ddp"], **options)
    for name in ("copies", "parameter_server"):
        other = step("resnet18", choice.machine, ways[name], **options)
        for comparison in (
            cs.train.compare_steps(base, other),
            cs.train.compare_steps(base, base.what_if(parallel=ways[name])),
        ):
            assert (comparison.a.time, comparison.b.time) == (raced["ddp"], raced[name])
        assert "The links alone time both" in comparison.explain()
        assert "两者都只按链路计时" in comparison.explain("zh")
    both_known = cs.train.compare_steps(base, step("resnet18", choice.machine, ways["data_parallel"], **options))
    assert both_known.a is base
    assert "links alone" not in both_known.explain()
    words = f"train resnet18 --machine {choice.machine} --micro-batch 32 --what-if parallel=parameter_server --json"
    run = CliRunner().invoke(app, words.split())
    assert json.loads(run.stdout)["what_if"]["parallel=parameter_server"]["time"] == raced["parameter_server"]


def test_an_algorithm_is_compared_with_nccls_choice_on_the_links():
    base = step("resnet18", BOX, cs.ddp(), batch=256)
    ring = base.what_if(algorithm="allreduce_ring")
    assert ring.previous.time == step("resnet18", BOX, cs.ddp(), batch=256, collectives="links").time
    frame = cs.sweep(model="resnet18", topology=BOX, algorithm=[None, "allreduce_ring"], batch=256)
    assert list(frame.time) == [ring.previous.time, ring.time]
    models = cs.train.compare_steps(base, base.what_if(collectives="links"))  # who names both compares the models
    assert models.a is base


def test_shards_of_a_server_are_updated_side_by_side():
    one, eight = (step("resnet50", BOX, cs.parameter_server(n), batch=256).tasks for n in (1, 8))
    update = [float(frame[frame.kind == "optimizer"].memory_bytes.iloc[0]) for frame in (one, eight)]
    assert update[0] == 8 * update[1] > 0
