"""What is drawn of a training step is what ran: boxes, waits, chain, buckets and memory against the StepTrace."""

import json
from itertools import pairwise

import pytest

import collsim as cs
from collsim.viz.training.step_document import (
    KINDS,
    build_step_document,
    describe_patterns,
    map_layers_to_buckets,
)


@pytest.fixture(scope="module")
def trace():
    return cs.training_step(
        "resnet50", cs.machine("pcie-8gpu", nodes=2), parallel=cs.ddp(), micro_batch=16, dtype="bfloat16"
    )


@pytest.fixture(scope="module")
def hub():
    net = cs.topology.switch(4, bandwidth="10GB/s", alpha="1us")
    return cs.training_step("resnet18", net, parallel=cs.data_parallel(), micro_batch=8, compute="50ms")


def seconds(document, **wanted):
    return sum(
        box["t1"] - box["t0"] for box in document["boxes"] if all(box[key] == value for key, value in wanted.items())
    )


def test_a_document_is_plain_json_of_a_few_kilobytes(trace, hub):
    for one in (trace, hub):
        assert len(json.dumps(build_step_document(one), allow_nan=False)) < 60_000


def test_boxes_of_each_stream_last_as_long_as_its_tasks(trace, hub):
    for one in (trace, hub):
        document, tasks = build_step_document(one), one.tasks
        for lane in range(len(one.step.lanes)):
            here = tasks[[lane in lanes for lanes in tasks["lanes"]]]
            for stream in ("compute", "network"):
                spent = here.loc[here["stream"] == stream, "time"].sum()
                assert seconds(document, lane=lane, stream=stream) == pytest.approx(spent, rel=1e-9)


def test_backward_boxes_have_the_bucket_whose_gradients_they_make(trace):
    """Two tensors of fc close the first bucket of 1 MiB; conv1 is in the last."""
    of = map_layers_to_buckets(trace)
    names = [layer.name for layer in trace.step.model.layers]
    assert of[names.index("fc")] == 0
    assert of[names.index("conv1")] == 4
    assert sorted(set(of.values())) == [0, 1, 2, 3, 4]
    boxes = [box for box in build_step_document(trace)["boxes"] if box["kind"] == "backward"]
    assert [box["bucket"] for box in boxes] == [0, 1, 2, 3, 4]
    ready = [c["ready"] for c in build_step_document(trace)["collectives"] if c["bucket"] >= 0]
    assert [box["t1"] for box in boxes] == pytest.approx(ready, rel=1e-9)


def test_waits_are_the_exposed_time_and_lie_outside_of_computing(trace):
    document = build_step_document(trace)
    computes = [(box["t0"], box["t1"]) for box in document["boxes"] if box["stream"] == "compute"]
    slowed = sum(t1 - t0 for t0, t1 in computes) - trace.computing
    assert sum(b - a for _, a, b in document["waits"]) + slowed == pytest.approx(trace.exposed, rel=1e-9)
    parts = sum(c["exposed"] for c in document["collectives"])
    assert parts + trace.interference_time == pytest.approx(trace.exposed, rel=1e-9)
    assert all(b <= t0 + 1e-12 or a >= t1 - 1e-12 for _, a, b in document["waits"] for t0, t1 in computes)


def test_the_chain_has_no_gap_from_the_start_to_the_end(trace, hub):
    for one in (trace, hub):
        chain = build_step_document(one)["chain"]
        assert chain[0][2] == 0
        assert chain[-1][3] == one.time
        assert all(a[3] == pytest.approx(b[2], abs=1e-12) for a, b in pairwise(chain))


def test_buckets_are_those_of_torch_with_their_tensors(trace):
    rows = [c for c in build_step_document(trace)["collectives"] if c["bucket"] >= 0]
    assert [c["nbytes"] for c in rows] == cs.ddp().list_bucket_bytes(cs.model("resnet50"))
    assert sum(c["tensors"] for c in rows) == len(cs.model("resnet50").tensors) == 161


def test_memory_reaches_the_peak_of_the_trace_in_its_groups(trace, hub):
    for one in (trace, hub):
        memory = build_step_document(one)["memory"]
        totals = [sum(values) for values in zip(*memory["bytes"], strict=True)]
        assert max(totals) == pytest.approx(one.memory.max(), abs=8)
        assert memory["peak"] == one.memory.max()
        assert memory["kinds"] == list(KINDS)


def test_gpu_0_of_data_parallel_holds_more_and_the_others_are_alike(hub):
    held = build_step_document(hub)["peak_memory"]
    totals = [sum(row[kind] for kind in KINDS) for row in held]
    assert [row["rank"] for row in held] == [0, 1, 2, 3]
    assert totals[0] > totals[1] == totals[2] == totals[3]
    assert totals[0] == hub.memory.max()


def test_patterns_say_who_sends_to_whom(hub, trace):
    found = describe_patterns(hub)
    assert found["scatter inputs"]["pairs"] == [[0, 1], [0, 2], [0, 3]]
    assert found["gather outputs"]["pairs"] == [[1, 0], [2, 0], [3, 0]]
    assert found["broadcast parameters"]["pairs"] == [[0, 1], [1, 2], [2, 3]]  # a chain, as NCCL's
    assert found["reduce gradients"]["adds"]
    assert not found["scatter inputs"]["adds"]
    ring = describe_patterns(trace)["allreduce bucket"]
    assert len(ring["pairs"]) == len({a for a, _ in ring["pairs"]}) == 16
    assert {c["pattern"] for c in build_step_document(hub)["collectives"]} == set(found)


def test_a_parameter_server_stands_behind_the_ranks():
    net = cs.topology.switch(4, bandwidth="10GB/s", alpha="1us")
    one = cs.training_step("resnet18", net, parallel=cs.parameter_server(), micro_batch=8, compute="50ms")
    (found,) = describe_patterns(one).values()
    assert found["servers"] == 1
    assert [[r, 4] for r in range(4)] == [pair for pair in found["pairs"] if pair[1] == 4]


def test_only_the_last_of_several_microbatches_can_be_opened(trace):
    four = trace.what_if(accumulate=4)
    document = build_step_document(four)
    assert [c["name"] for c in document["collectives"]].count("bucket 3") == 1
    assert all(
        box["bucket"] == -1 for box in document["boxes"] if box["kind"] == "backward" and box["micro"] < 3
    )  # no_sync: nothing is sent for them
