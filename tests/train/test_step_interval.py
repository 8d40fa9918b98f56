"""Intervals of steps: read from published steps of the kind, and said in both languages."""

import math
from collections import Counter
from pathlib import Path

import pytest

import collsim as cs
from collsim.train import get_gpu_speed
from collsim.train.timing.step_interval import load_step_ratios
from collsim.train.workload import collective_model
from collsim.units import format_time

DOCS = Path(__file__).parents[2] / "docs"
MACHINE = cs.machine("dgx-a100")


@pytest.mark.parametrize(
    ("model", "parallel", "kind"),
    [
        ("gpt2", cs.ddp(), "dense"),
        ("gpt2", cs.fsdp(), "fsdp"),
        ("gpt2", cs.pipeline(2) * cs.ddp(), "pipeline"),
        ("resnet18", cs.ddp(), "cnn"),
        ("vit_b_16", cs.ddp(), "dense"),
    ],
)
def test_a_step_has_the_interval_of_its_kind(model, parallel, kind):
    options = {"compute": get_gpu_speed("A100"), "collectives": "links"}
    trace = cs.training_step(model, MACHINE, parallel=parallel, batch=64, micro_batch=4, **options)
    ratios = load_step_ratios()[kind]
    assert trace.interval.kind == kind
    ends = trace.time * ratios.low, trace.time * ratios.high
    assert (trace.interval.low, trace.interval.high) == pytest.approx(ends)
    assert f"{ratios.rows} published steps" in str(trace.interval.reason)
    assert "五分之四" in trace.interval.sentence.text("zh")


def test_a_step_that_waits_for_its_network_has_the_doubts_of_its_collectives_too():
    """VGG-16 over 10 Gbit/s (horovod/horovod issue 2581); a network that hides behind computing changes nothing."""
    slow = cs.machine("dgx-1v", nodes=2, nic="tcp-10", nics=1)
    trace = cs.training_step("vgg16", slow, parallel=cs.ddp(), micro_batch=32, compute="150ms")
    ratios, interval = load_step_ratios()["cnn"], trace.interval
    allreduce = cs.nccl.predict("allreduce", slow, "500MB")
    collectives_slower = allreduce.high / allreduce.time
    assert collectives_slower > 1.4
    assert 1.3 * trace.time < interval.high < trace.time * ratios.high * collectives_slower
    assert interval.high > 936e-3  # what was measured
    assert interval.low < ratios.low * trace.time
    assert "ends of their intervals" in str(interval.reason)
    assert "各自区间的两端" in interval.sentence.text("zh")
    fast = cs.training_step("vgg16", MACHINE, parallel=cs.ddp(), micro_batch=32, compute="150ms").interval
    assert "ends of their intervals" not in str(fast.reason)


def test_zero_3_may_wait_for_its_gathers():
    """Its upper end joins the doubt of the kind and the same step without overlap; FSDP and stage 1 have no such one."""
    options = {"batch": 16, "micro_batch": 1, "dtype": "bfloat16", "memory": "1TB", "collectives": "links"}
    zero, plain, fsdp = (
        cs.training_step("gpt3-13b", MACHINE, parallel=cs.tensor(2) * strategy, **options)
        for strategy in (cs.zero(3), cs.zero(3, overlap=False, coalesce=False), cs.fsdp())
    )
    slow = plain.time / zero.time
    assert slow > 1.05
    high = load_step_ratios()["fsdp"].high
    joined = math.exp(math.hypot(math.log(high), math.log(slow)))
    assert zero.interval.high / zero.time == pytest.approx(joined)
    assert zero.interval.low / zero.time == pytest.approx(fsdp.interval.low / fsdp.time)
    assert f"it takes {slow:.2f} of that time" in str(zero.interval.reason)
    for other in (plain, fsdp):
        assert other.interval.high / other.time == pytest.approx(high)


@pytest.mark.parametrize(
    ("model", "samples", "dtype", "layout"),
    [
        ("gpt2", 32, "bfloat16", "channels_first"),
        ("bert-large", 16, "bfloat16", "channels_first"),
        ("resnet50", 64, "float32", "channels_first"),
        ("mobilenet_v2", 64, "bfloat16", "channels_last"),
    ],
)
def test_replicas_on_measured_gpus_may_be_as_fast_as_one_gpu_alone(model, samples, dtype, layout):
    """Their script runs eager PyTorch and says its time; computing that was measured or said has no such doubt."""
    box = cs.machine("dgx-h100")
    options = {"parallel": cs.ddp(), "micro_batch": samples, "dtype": dtype}
    alone = cs.train.get_eager_speed("H100", dtype, memory_format=layout)
    one, eager = (cs.training_step(model, box, ranks=n, compute=alone, **options) for n in (1, 8))
    many = cs.training_step(model, box, **options)
    assert many.interval.low < one.time <= eager.time < many.interval.high
    assert f"it takes {eager.time / many.time:.2f} of that time" in str(many.interval.reason)
    assert f"{format_time(eager.time)} in eager PyTorch" in many.script()
    assert ("memory_format=torch.channels_last" in many.script()) == (layout == "channels_last")
    assert f"likely {format_time(many.interval.low)} to {format_time(many.interval.high)}" in many.script()
    for compute in ("50ms", "eager", get_gpu_speed("H100", dtype)):
        step = cs.training_step(model, box, compute=compute, **options)
        assert "compute='eager'" not in str(step.interval.reason)


def test_eager_pytorch_on_a_gpu_that_was_not_measured_is_less_certain():
    """By what others measured on A100 and V100, as far as computing decides."""
    options = {"parallel": cs.ddp(), "micro_batch": 32, "compute": "eager"}
    h100, a100 = (cs.training_step("gpt2", name, **options) for name in ("dgx-h100", "dgx-a100"))
    widths = [trace.interval.high / trace.interval.low for trace in (h100, a100)]
    assert widths[1] > 1.2 * widths[0]
    assert "scaled from an H100's it takes 0.77 to 1.20" in str(a100.interval.reason)
    assert "scaled" not in str(h100.interval.reason)


def test_every_kind_has_ratios_on_both_sides_of_a_width_that_says_something():
    ratios = load_step_ratios()
    assert set(ratios) == {"moe", "cnn", "pipeline", "fsdp", "dense"}
    assert all(0.3 < each.low < each.high < 4 for each in ratios.values())
    assert all(each.sources >= 1 for each in ratios.values())


def test_the_documentation_has_the_case_that_nothing_decides():
    """docs/training.md, in both languages: what is predicted of horovod's issue 2581, and of a ring and a tree there."""
    slow = cs.machine("dgx-1v", nodes=2, nic="tcp-10", nics=1)
    trace = cs.training_step("vgg16", slow, parallel=cs.ddp(), micro_batch=32, compute="150ms")
    gradients = 4 * cs.model("vgg16").parameters
    ring, tree = (cs.nccl.predict("allreduce", slow, gradients, NCCL_ALGO=name).time for name in ("Ring", "Tree"))
    assert trace.interval.low < trace.time < trace.time - tree + ring < trace.interval.high
    for page in ("training.md", "training.zh.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        (line,) = [part for part in text.split("\n- ") if "2581" in part]
        for milliseconds in (trace.time, trace.interval.low, trace.interval.high):
            assert f"{1e3 * milliseconds:.0f}" in line
        assert all(f"{seconds:.2f} s" in line for seconds in (ring, tree))


def test_the_documentation_has_the_interval_of_every_kind():
    """docs/training.md, in both languages: kinds in the order of the table, with rows, sources and ends."""
    for page in ("training.md", "training.zh.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        for ratios in load_step_ratios().values():
            assert f"| {ratios.rows} | {ratios.sources} | {ratios.low:.2f} | {ratios.high:.2f} |" in text


def test_the_interval_predicts_no_collective_again(monkeypatch):
    predict, calls = collective_model.predict, Counter()

    def count(*call):
        calls[call] += 1
        return predict(*call)

    monkeypatch.setattr(collective_model, "predict", count)
    topology = cs.machine("dgx-a100", nodes=2, pcie=5)  # one that no other test has timed collectives on
    trace = cs.training_step("resnet18", topology, parallel=cs.ddp(), batch=256)
    assert trace.interval.high > trace.time
    assert set(calls.values()) == {1}
