"""What is said of a step, sentence by sentence, and the line that says why a change does what it does."""

import pytest

import collsim as cs
from collsim.training.explain import reason, sentences

NET = cs.topology.switch(8, bandwidth="2GB/s", alpha="1us")


@pytest.fixture(scope="module")
def trace():
    return cs.training_step("resnet50", NET, parallel=cs.ddp(), micro_batch=8, compute="60ms", interference=0)


def test_the_sentences_together_are_the_explanation(trace):
    said = sentences(trace.what_if(network=2))
    assert list(said) == ["change", "network", "overlap", "memory"]
    for at, (lang, comma) in enumerate((("en", " "), ("zh", ""))):
        assert comma.join(pair[at] for pair in said.values()) == trace.what_if(network=2).explain(lang)
    assert "change" not in sentences(trace)


@pytest.mark.parametrize(
    ("change", "en", "zh"),
    [
        ({"overlap": False}, "overlap is off", "未开启重叠"),
        ({"first_step": True}, "in the first step all gradients", "第一步中所有梯度"),
        ({"accumulate": 4}, "per old batch", "按原批量计"),
        ({"compute": "120ms"}, "Computing: ", "计算：原"),
    ],
)
def test_the_reason_of_a_change_holds_the_part_before_and_now(trace, change, en, zh):
    new = trace.what_if(**change)
    said = reason(new)
    assert en in said[0]
    assert zh in said[1]
    name = "computing" if "compute" in change else "exposed"
    scale = trace.step.samples / new.step.samples
    for value in (getattr(trace, name), scale * getattr(new, name)):
        assert all(cs.format_time(value) in one for one in said)


def test_a_change_that_changes_nothing_says_so(trace):
    assert reason(trace) == reason(trace.what_if(bucket=None))
    assert "No part of the step changes" in reason(trace)[0]


def test_the_same_faster_network_is_asked_for_twice_and_made_once(trace):
    assert trace.what_if(network=2).topology is trace.what_if(network=2, hook="fp16").topology
    assert trace.what_if(network=3).topology is not trace.what_if(network=2).topology
