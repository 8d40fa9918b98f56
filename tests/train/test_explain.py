"""What is said of a step, sentence by sentence, and the line that says why a change does what it does."""

import pytest

import collsim as cs
from collsim.train.network_waits import list_network_waits
from collsim.train.step_explanation import explain_change, write_sentences

NET = cs.topology.switch(8, bandwidth="2GB/s", alpha="1us")


@pytest.fixture(scope="module")
def trace():
    return cs.training_step("resnet50", NET, parallel=cs.ddp(), micro_batch=8, compute="60ms", interference=0)


def test_the_sentences_together_are_the_explanation(trace):
    said = write_sentences(trace.what_if(network=2))
    assert list(said) == ["change", "network", "overlap", "memory"]
    for at, (language, comma) in enumerate((("en", " "), ("zh", ""))):
        assert comma.join(pair[at] for pair in said.values()) == trace.what_if(network=2).explain(language)
    assert "change" not in write_sentences(trace)


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
    said = explain_change(new)
    assert en in said[0]
    assert zh in said[1]
    name = "computing" if "compute" in change else "exposed"
    scale = trace.step.samples / new.step.samples
    for value in (getattr(trace, name), scale * getattr(new, name)):
        assert all(cs.format_time(value) in one for one in said)


def test_a_change_that_changes_nothing_says_so(trace):
    assert explain_change(trace) == explain_change(trace.what_if(bucket=None))
    assert "No part of the step changes" in explain_change(trace)[0]


def test_the_same_faster_network_is_asked_for_twice_and_made_once(trace):
    assert trace.what_if(network=2).topology is trace.what_if(network=2, hook="fp16").topology
    assert trace.what_if(network=3).topology is not trace.what_if(network=2).topology


@pytest.mark.parametrize(
    ("split", "en", "zh"),
    [
        (cs.tensor(4) * cs.ddp(), "of that for tensor parallelism, above all allreduce of", "其中张量并行占"),
        (cs.tensor(8), "all of that for tensor parallelism", "其中张量并行占全部"),
        (cs.pipeline(2) * cs.fsdp(), "of that for data parallelism, above all", "其中数据并行占"),
        (
            cs.pipeline(8),
            "all of that for sends between stages, above all send of 64 KiB",
            "其中阶段之间的发送占全部",
        ),
    ],
)
def test_a_product_says_for_which_of_its_ways_gpus_wait_most(split, en, zh):
    """Seconds of one way are those of all its collectives, and not of the longest."""
    net = cs.topology.switch(8, bandwidth="2GB/s", alpha="1us")
    model = cs.train.transformer(256, 8, 8, seq=128, vocab=256, tied=False)
    step = cs.training_step(model, net, parallel=split, batch=8, micro_batch=1, compute="8ms", dtype="float16")
    said = write_sentences(step)["network"]
    assert en in said[0]
    assert zh in said[1]
    found = list_network_waits(step)
    assert sum(w.seconds for w in found) > 0.999999 * step.exposed, "two may be under way at the same time"
    largest = max({w.strategy for w in found}, key=lambda way: sum(w.seconds for w in found if w.strategy == way))
    if not said[0].count("all of that"):
        assert cs.format_time(sum(w.seconds for w in found if w.strategy == largest)) in said[0]


def test_where_the_network_is_hidden_nobody_waits_for_it():
    """A ring of keys and values beside attention that takes longer; all else is on each GPU alone."""
    model = cs.train.transformer(64, 2, 2, seq=32, vocab=1000)
    asked = {"parallel": cs.context(2), "micro_batch": 1, "compute": "H100", "dtype": "bfloat16"}
    t = cs.training_step(model, cs.topology.ring(16), ranks=range(2), **asked)
    assert t.interference_time == t.exposed > 0, "computing beside it is slower"
    t = t.what_if(interference=0)
    assert t.exposed == 0 < t.communication
    assert "no GPU waits for the network" in t.explain()
    assert "没有 GPU 在等待网络" in t.explain("zh")


def test_interference_has_a_part_of_its_own_and_hides_no_waiting():
    """Ten gigabits a second between two nodes of V100 (horovod/horovod #2581: 936 ms, of one node 167 ms)."""
    slow = {"nodes": 2, "nic": "tcp-10", "nics": 1}
    asked = {"parallel": cs.ddp(), "micro_batch": 32, "compute": "150ms", "interference": 1.0}
    t = cs.training_step("vgg16", cs.machine("dgx-1v", **slow), **asked)
    assert t.exposed == pytest.approx(t.time - t.free_network_time, rel=1e-12)
    assert t.exposed - t.interference_time > 0.5 * t.time, "it is waiting also where overlap gains nothing"
    assert t.interference_time > 0.05 * t.time
    said = t.explain()
    assert cs.format_time(t.exposed) in said
    assert f"GPUs wait for {cs.format_time(t.exposed - t.interference_time)}" in said
    assert f"{cs.format_time(t.interference_time)} longer (interference 1)" in said
    faster = t.what_if(network=1000)
    assert "most of that is waiting for the network" in faster.explain()
    assert faster.time == pytest.approx(t.free_network_time, rel=0.05)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"recompute": "full"}, True),
        ({"micro_batch": 1}, True),
        ({"dtype": "bfloat16"}, True),
        ({"recompute": "full", "compute": "13ms"}, False),
        ({"network": 2}, False),
    ],
)
@pytest.mark.parametrize("compute", ["10ms", {"forward": "3ms", "backward": "6ms"}, "A100"])
def test_a_microbatch_that_was_measured_before_a_change_is_said_to_be(change, said, compute):
    model = cs.train.transformer(64, 2, 4, seq=32)
    step = cs.training_step(model, "dgx-a100", parallel=cs.fsdp(), micro_batch=2, compute=compute)
    told = step.what_if(**change)
    assert ("measured without this change" in told.explain()) == (said and compute != "A100")
    assert ("此改变之前的实测值" in told.explain("zh")) == (said and compute != "A100")
