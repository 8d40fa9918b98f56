"""Intervals of steps: read from published steps of the kind, and said in both languages."""

import pytest

import collsim as cs
from collsim.train.timing.step_interval import load_step_ratios

MACHINE = cs.machine("dgx-a100")


@pytest.mark.parametrize(
    ("model", "parallel", "kind"),
    [
        ("gpt2", cs.ddp(), "dense"),
        ("gpt2", cs.fsdp(), "fsdp"),
        ("gpt2", cs.pipeline(2) * cs.ddp(), "pipeline"),
        ("resnet18", cs.ddp(), "cnn"),
    ],
)
def test_a_step_has_the_interval_of_its_kind(model, parallel, kind):
    trace = cs.training_step(model, MACHINE, parallel=parallel, batch=64, micro_batch=4)
    ratios = load_step_ratios()[kind]
    assert trace.interval.kind == kind
    assert (trace.interval.low, trace.interval.high) == (trace.time * ratios.low, trace.time * ratios.high)
    assert f"{ratios.rows} published steps" in str(trace.interval.reason)
    assert "五分之四" in trace.interval.sentence.text("zh")


def test_every_kind_has_ratios_on_both_sides_of_a_width_that_says_something():
    ratios = load_step_ratios()
    assert set(ratios) == {"moe", "cnn", "pipeline", "fsdp", "dense"}
    assert all(0.3 < each.low < each.high < 4 for each in ratios.values())
    assert all(each.sources >= 1 for each in ratios.values())
