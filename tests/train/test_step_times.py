"""Times of a step of data parallelism, by closed form."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collsim as cs
from collsim.train import Layer
from collsim.train import step_trace as trace_module
from collsim.train.timing.isolated_timing import time_alone
from collsim.train.timing.time_spans import intersect_spans, merge_spans, subtract_spans

RESNET = cs.model("resnet50")
FREE = {layer.name: (0, 0) for layer in RESNET.layers}  # computing takes no time
SWITCH = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")


def equal_layers(many, nbytes=100_000_000):
    return cs.train.Model("equal", tuple(Layer(f"l{i}", (nbytes // 4,)) for i in range(many)))


def two_ranks(nbytes, seconds):
    """A network on which an allreduce of so many bytes takes so long: a ring of two sends each byte once, and there is
    no latency."""
    return cs.topology.switch(2, bandwidth=nbytes / seconds, alpha=0)


@pytest.mark.parametrize(("c", "time", "exposed"), [(15e-3, 135e-3, 15e-3), (30e-3, 180e-3, 60e-3)])
def test_equal_buckets_overlap_as_the_closed_form_says(c, time, exposed):
    """F + b + (K−1)·max(b, c) + c with F = 40, K = 4, b = 20 ms."""
    model = equal_layers(4)
    t = cs.training_step(model, two_ranks(100e6, c), parallel=cs.ddp(), batch=2, compute=[(10e-3, 20e-3)] * 4)
    assert t.time == pytest.approx(time, rel=1e-12)
    assert t.exposed == pytest.approx(exposed, rel=1e-9)
    assert t.overlapped == pytest.approx((4 * c - exposed) / (4 * c), rel=1e-9)


@pytest.mark.parametrize(("c", "time"), [(15e-3, 180e-3), (30e-3, 240e-3)])
def test_without_overlap_all_allreduces_come_after_the_backward_pass(c, time):
    """F + K·b + K·c."""
    t = cs.training_step(
        equal_layers(4), two_ranks(100e6, c), parallel=cs.ddp(), batch=2, compute=[(10e-3, 20e-3)] * 4
    ).what_if(overlap=False)
    assert t.time == pytest.approx(time, rel=1e-12)
    assert t.overlapped == 0


@settings(max_examples=60, deadline=None)
@given(
    k=st.integers(1, 12),
    forward=st.floats(0, 1),
    b=st.floats(1e-3, 1),
    c=st.floats(1e-3, 1),
    accumulate=st.integers(1, 4),
)
def test_any_number_of_equal_buckets_and_microbatches(k, forward, b, c, accumulate):
    model, compute = equal_layers(k), [(forward / k, b)] * k
    t = cs.training_step(
        model, two_ranks(100e6, c), parallel=cs.ddp(accumulate=accumulate), batch=2 * accumulate, compute=compute
    )
    before = (accumulate - 1) * (forward + k * b)
    assert t.time == pytest.approx(before + forward + b + (k - 1) * max(b, c) + c, rel=1e-9)
    assert t.computing + t.exposed + t.bubble == pytest.approx(t.time, rel=1e-9)


@pytest.mark.parametrize(
    ("parallel", "buckets"),
    [
        (cs.ddp(bucket="1TB"), 1),
        (cs.ddp(), 5),
        (cs.ddp(bucket=1), 161),
        (cs.ddp(hook="fp16"), 5),
        (cs.ddp(bucket="1MiB"), 35),
    ],
)
def test_resnet50_on_a_switch_of_eight(parallel, buckets):
    """N rings of 8: N · 14 steps · 2 us + 1.75 · P / 25 GB/s; a hook halves P and leaves the latencies. Every chunk is
    rounded up to whole elements, so a bucket that 8 ranks cannot share evenly takes a little longer."""
    t = cs.training_step(RESNET, SWITCH, parallel=parallel, batch=8, compute=FREE)
    took = sum(t.end[i] - t.begin[i] for i, task in enumerate(t.step.tasks) if task.kind == "allreduce")
    nbytes = RESNET.nbytes / (2 if parallel.hook else 1)
    assert took == pytest.approx(buckets * 28e-6 + 1.75 * nbytes / 25e9, rel=1e-5)


def test_the_known_answers_of_resnet50_to_the_nanosecond():
    for parallel, known in (
        (cs.ddp(bucket="1TB"), 7.183969e-3),
        (cs.ddp(), 7.295969e-3),
        (cs.ddp(bucket=1), 11.663969e-3),
    ):
        t = cs.training_step(RESNET, SWITCH, parallel=parallel, batch=8, compute=FREE)
        took = sum(t.end[i] - t.begin[i] for i, task in enumerate(t.step.tasks) if task.kind == "allreduce")
        assert took == pytest.approx(known, abs=2e-9)


def test_the_first_step_has_one_bucket_and_no_overlap():
    t = cs.training_step(RESNET, SWITCH, parallel=cs.ddp(), batch=8 * 32, compute="100ms")
    first = t.what_if(first_step=True)
    tasks = first.tasks
    assert list(tasks[tasks.kind == "allreduce"].nbytes) == [102_228_128]
    assert first.overlapped == 0
    assert first.time > t.time
    assert "one bucket" in first.explain()


def test_accumulation_sends_once_for_all_microbatches_unless_no_sync_is_forgotten():
    t = cs.training_step(RESNET, SWITCH, parallel=cs.ddp(), batch=8 * 32, compute="100ms")
    once, always = t.what_if(accumulate=4), t.what_if(accumulate=4, no_sync=False)
    sent = lambda trace: trace.tasks.query("kind == 'allreduce'").nbytes.sum()  # noqa: E731
    assert sent(once) == sent(t) == RESNET.nbytes
    assert sent(always) == 4 * sent(t)
    assert once.step.samples == 4 * t.step.samples
    assert once.exposed == pytest.approx(t.exposed, rel=1e-9)
    assert always.exposed == pytest.approx(4 * t.exposed, rel=1e-9)
    assert list(t.tasks.query("kind == 'broadcast'").nbytes) == [RESNET.buffer_bytes]
    assert len(once.tasks.query("kind == 'broadcast'")) == 1  # buffers go before the first microbatch only
    assert len(always.tasks.query("kind == 'broadcast'")) == 4


def test_find_unused_reduces_a_map_of_the_parameters_too():
    """4 bytes for each of 161 tensors (torch reducer.hpp, local_used_map_)."""
    t = cs.training_step(RESNET, SWITCH, parallel=cs.ddp(find_unused=True), batch=8, compute=FREE)
    assert list(t.tasks.query("kind == 'allreduce'").nbytes)[-1] == 161 * 4


def test_buckets_are_launched_in_order_and_the_optimizer_waits_for_all():
    t = cs.training_step(RESNET, "dgx-a100", parallel=cs.ddp(), batch=8 * 64)
    tasks = t.tasks
    sends = tasks[tasks.kind == "allreduce"]
    assert list(sends.bucket) == sorted(sends.bucket)
    assert (sends.begin.values[1:] >= sends.end.values[:-1] - 1e-15).all()
    assert tasks[tasks.kind == "optimizer"].begin.min() >= sends.end.max()


def test_interference_makes_computing_longer_by_as_much_as_it_overlaps():
    """With the share i, overlapping seconds of the network cost i of themselves; with i = 1 overlap gains nothing."""
    model, compute = equal_layers(4), [(10e-3, 20e-3)] * 4
    for i in (0.25, 0.5, 1.0):
        t = cs.training_step(
            model, two_ranks(100e6, 15e-3), parallel=cs.ddp(), batch=2, compute=compute, interference=i
        )
        overlapped = t.communication * t.overlapped
        assert t.interference_time == pytest.approx(i * overlapped, rel=1e-9)
        # backward runs 15 ms at 1 − i and the rest at full speed, three times; then the last allreduce
        assert t.time == pytest.approx(40e-3 + 20e-3 + 3 * (20e-3 + 15e-3 * i) + 15e-3, rel=1e-9)
    off = cs.training_step(model, two_ranks(100e6, 15e-3), parallel=cs.ddp(overlap=False), batch=2, compute=compute)
    assert t.time == pytest.approx(off.time, rel=1e-9)


def test_a_faster_network_is_never_slower_and_a_view_saves_the_copies():
    t = cs.training_step(RESNET, cs.machine("dgx-1v", nodes=2), parallel=cs.ddp(), batch=16 * 32)
    assert t.what_if(network=2).time <= t.time
    assert t.what_if(view=True).time < t.time
    assert t.what_if(view=True).memory.max() < t.memory.max()
    assert t.what_if(network=2).previous is t


@pytest.mark.parametrize(
    ("machine", "nodes", "parallel", "known"),
    [
        ("pcie-8gpu", 1, cs.ddp(), (0.5, 2)),  # through host memory; PCIe at 1.5 is of no generation
        ("pcie-8gpu", 1, cs.zero(2), (0.5, 2)),
        ("mi300x-8gpu", 2, cs.zero(3), (0.5, 2)),
        ("hgx-b200", 2, cs.tensor(2) * cs.zero(1), ()),  # groups that are no even part of a changed machine
        ("pcie-8gpu", 2, cs.pipeline(2, interleave=2) * cs.ddp(), ()),  # the first group is one, others are not
    ],
    ids=str,
)
def test_a_slower_network_makes_no_step_faster(machine, nodes, parallel, known):
    """Links at a factor that NCCL's model does not know are timed without it on both sides, and the sentence says so."""
    model = cs.train.transformer(1024, 4, 16, seq=512)
    t = cs.training_step(
        model,
        cs.machine(machine, nodes=nodes),
        parallel=parallel,
        batch=128,
        micro_batch=4,
        compute="20ms",
        memory="1TB",
    )
    for factor in (0.25, 0.5, 1 / 1.5, 1.5, 2, 4):
        changed = t.what_if(network=factor)
        was = changed.previous
        assert (changed.time - was.time) * (1 - factor) > 0, factor
        assert changed.notes == was.notes
        on_links = "what the links alone take" in was.notes[0]
        assert (f"does not know {changed.topology.name}" in changed.explain()) == on_links
        assert on_links or was is t
        assert not (on_links and factor in known)


def test_the_critical_chain_reaches_from_the_start_to_the_end_without_a_gap():
    t = cs.training_step(RESNET, cs.machine("dgx-1v", nodes=2), parallel=cs.ddp(), batch=16 * 32)
    chain = list(t.critical_path)
    assert t.begin[chain[0]] == 0
    assert t.end[chain[-1]] == t.time
    assert all(t.begin[b] == pytest.approx(t.end[a], abs=1e-12) for a, b in pairwise(chain))
    assert sum(t.end[i] - t.begin[i] for i in chain) == pytest.approx(t.time, rel=1e-9)


def test_utilisation_is_the_flops_of_three_passes_over_what_the_gpus_could_do():
    t = cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(), batch=8 * 8, dtype="bfloat16")
    by_hand = 3 * cs.model("gpt2").flops * 64 / (t.time * 8 * 312e12)
    assert t.mfu == pytest.approx(by_hand, rel=1e-12)
    assert t.hfu == t.mfu
    assert t.tokens_per_second == pytest.approx(64 * 1024 / t.time)
    images = cs.training_step(RESNET, "dgx-a100", parallel=cs.ddp(), batch=8 * 8)
    assert images.peak_flops == 156e12  # torch computes convolutions of float32 in TF32
    assert math.isnan(images.tokens_per_second)


def test_one_gpu_sends_nothing_but_copies_gradients():
    t = cs.training_step(RESNET, cs.machine("dgx-a100"), parallel=cs.ddp(), batch=32, ranks=[0])
    assert t.step.ranks == 1
    assert "explain" not in t.explain()
    plain = cs.training_step(RESNET, cs.machine("dgx-a100"), parallel=cs.ddp(view=True), batch=32, ranks=[0])
    assert plain.time < t.time


def test_what_is_asked_twice_is_told_twice_the_same():
    one, two = (cs.training_step(RESNET, "dgx-a100", parallel=cs.ddp(), batch=512) for _ in range(2))
    assert one.row() == {**two.row(), "tokens_per_second": one.row()["tokens_per_second"]}
    assert one.explain("zh") == two.explain("zh")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch": 100}, "cannot be shared evenly.*104"),
        ({"batch": 0}, "batch"),
        ({"batch": None}, "say how many samples"),
        ({"micro_batch": 3}, "micro_batch=3"),
        ({"ranks": 9}, "ranks=9: .* has 8 ranks; give 1 to 8"),
        ({"ranks": [0, 0]}, "different ranks"),
        ({"ranks": [0, 9]}, "0 to 7"),
        ({"ranks": "all"}, "list of ranks"),
        ({"network": "slow"}, "network"),
        ({"dtype": "float12"}, "dtype"),
        ({"optimizer": "lion"}, "optimizer"),
        ({"interference": 2}, "interference"),
        ({"parallel": "zero1"}, "way of splitting 'zero1'.*zero"),
        ({"parallel": 8}, r"parallel=8 is no ParallelStrategy; make one with ddp\(\)"),
        ({"model": "resnet51"}, "did you mean 'resnet50'"),
        ({"machine": "dgx-a10"}, "did you mean"),
        ({"algorithm": "broadcast_flat"}, "no allreduce"),
        ({"background": [(0, 1, 5)]}, "network='shared'"),
        ({"step": 0}, "step"),
        ({"batch": 8 * 4096}, "does not fit.*micro_batch=\\d+ would fit"),
        ({"model": "llama3-70b", "batch": 8}, "does not fit.*split over GPUs"),
        ({"memory": "1MB"}, "does not fit"),
    ],
)
def test_what_cannot_be_gets_a_sentence(change, said):
    asked = {"model": "resnet50", "machine": "dgx-a100", "parallel": cs.ddp(), "batch": 256} | change
    with pytest.raises(cs.CollsimError, match=said):
        cs.training_step(asked.pop("model"), asked.pop("machine"), **asked)


@pytest.mark.parametrize(
    "way", [cs.ddp(), cs.fsdp(), cs.data_parallel(), cs.parameter_server(), cs.tensor(2) * cs.ddp()]
)
def test_what_if_keeps_the_microbatch_where_batch_and_microbatch_said_how_many_there_are(way):
    step = cs.training_step("gpt2", "dgx-a100", parallel=way, batch=64, micro_batch=2)
    larger, halves = step.what_if(batch=128), step.what_if(micro_batch=1)
    replicas = 4 if isinstance(way, cs.train.Split) else 8
    for other, samples, micro in ((larger, 128, 2), (halves, 64, 1)):
        assert (other.step.samples, other.step.micro_batch) == (samples, micro)
        assert 1 + max(task.microbatch for task in other.step.tasks) == samples // micro // replicas


def test_what_if_lets_the_microbatch_follow_where_there_is_one():
    step = cs.training_step("gpt2", "dgx-a100", parallel=cs.ddp(), batch=64)
    assert (step.step.micro_batch, step.what_if(batch=128).step.micro_batch) == (8, 16)
    assert step.what_if(micro_batch=4).step.samples == 32


def test_what_if_says_what_it_cannot_change():
    t = cs.training_step(RESNET, "dgx-a100", parallel=cs.ddp(), batch=256)
    for change in ({}, {"speed": 2}, {"network": 0}, {"overlap": 3}, {"first_step": 2}):
        with pytest.raises(cs.CollsimError):
            t.what_if(**change)


def test_a_collective_of_a_step_is_a_schedule_that_does_what_it_says():
    for machine in (SWITCH, cs.machine("dgx-a100", nodes=2)):
        t = cs.training_step("resnet18", machine, parallel=cs.ddp(), micro_batch=4, compute="10ms")
        for number in t.step.collectives:
            plan = t.step.build_schedule(number, machine)
            assert plan.collective == t.step.tasks[number].kind
            assert plan.ranks == machine.ranks
            cs.verify(plan)


@settings(max_examples=40, deadline=None)
@given(
    tensors=st.lists(st.integers(0, 10**5), min_size=1, max_size=8),
    n=st.integers(2, 6),
    accumulate=st.integers(1, 3),
    no_sync=st.booleans(),
    hook=st.sampled_from([None, "fp16"]),
    cap=st.integers(1, 10**6),
)
def test_ranks_send_what_the_closed_form_says(tensors, n, accumulate, no_sync, hook, cap):
    """Rings: 2(n − 1) times every bucket over all ranks, once a step or once a microbatch, half of it with a hook."""
    model = cs.train.Model("m", tuple(Layer(f"l{i}", (size,)) for i, size in enumerate(tensors)))
    way = cs.ddp(bucket=cap, accumulate=accumulate, no_sync=no_sync, hook=hook)
    t = cs.training_step(model, cs.topology.switch(n), parallel=way, micro_batch=1, compute=[1e-3] * len(tensors))
    times = 1 if no_sync else accumulate
    on_wire = 2 if hook else 4
    assert sum(t.sent_bytes.values()) == 2 * (n - 1) * on_wire * sum(tensors) * times
    server = cs.training_step(
        model, cs.topology.switch(n), parallel=cs.parameter_server(), micro_batch=1, compute=[1e-3] * len(tensors)
    )
    assert sum(server.sent_bytes.values()) == n * 4 * sum(tensors)  # the server, which is no rank, sends as much back


def test_the_reason_names_what_gpus_really_wait_for():
    t = cs.training_step(RESNET, SWITCH, parallel=cs.ddp(), batch=8, compute="100ms")
    assert "the last of 5 buckets (9.27" in t.explain()
    assert "buckets queue" in t.what_if(compute="1ms").explain()
    assert "overlap is off" in t.what_if(overlap=False).explain()
    # on V100 copies out of the other buckets hide the last allreduce, and what is left is the broadcast of buffers
    v100 = cs.training_step(RESNET, cs.machine("dgx-1v", nodes=2), parallel=cs.ddp(), batch=16 * 32)
    assert "broadcast of buffers" in v100.explain()
    assert "buffers 广播" in v100.explain("zh")
    alone = cs.training_step(RESNET, SWITCH, parallel=cs.ddp(), batch=1, compute="100ms", ranks=[0])
    assert "nothing is sent" in alone.explain()


def test_spans_in_both_and_in_one_alone_are_those_counted_moment_by_moment():
    random = np.random.default_rng(3)
    for _ in range(300):
        a, b = random.random((2, 40)) < random.random((2, 1))
        one, other, both, alone = (
            merge_spans([(float(i), i + 1.0) for i in np.flatnonzero(seconds)]) for seconds in (a, b, a & b, a & ~b)
        )
        assert merge_spans(intersect_spans(one, other)) == both
        assert merge_spans(subtract_spans(one, other)) == alone


def test_sentences_of_a_step_of_thousands_of_tasks_do_not_ask_when_gpus_wait_for_each_of_them(monkeypatch):
    asked = []
    share = trace_module.share_network_time
    monkeypatch.setattr(trace_module, "share_network_time", lambda *step: asked.append(1) or share(*step))
    step = cs.training_step("llama2-7b", "dgx-a100", parallel=cs.tensor(4) * cs.pipeline(2), batch=4)
    step.explain()
    assert len(asked) == 1


STEPS_WITH_WAITS = {
    "buckets that queue": (RESNET, "dgx-1v", {"parallel": cs.ddp(), "batch": 16 * 32}),
    "a pipeline": ("gpt2", "dgx-a100", {"parallel": cs.pipeline(4) * cs.tensor(2) * cs.zero(1), "batch": 64}),
    "sharded": ("gpt2", "dgx-a100", {"parallel": cs.fsdp(), "batch": 32}),
    "shared links": ("resnet18", "dgx-a100", {"parallel": cs.ddp(), "batch": 64, "network": "shared"}),
    "a straggler": ("resnet18", "dgx-a100", {"parallel": cs.ddp(), "batch": 64, "slow": {0: 1.5}}),
}


@pytest.mark.parametrize("name", STEPS_WITH_WAITS)
def test_the_parts_of_what_the_network_costs_add_up_and_are_an_integral(name):
    """What a collective adds is the integral of its seconds on the longest path while all of them grow from nothing;
    here a sum of small steps, by differences of times."""
    model, machine, asked = STEPS_WITH_WAITS[name]
    t = cs.training_step(model, cs.machine(machine, nodes=2), **asked)
    free = time_alone(t.step, t.costs.seconds, 0.0)[1].max()
    assert t.exposed == pytest.approx(t.time - free, rel=1e-9)
    parts = t.split_exposed()
    assert parts.exposed.sum() == pytest.approx(t.exposed, rel=1e-9)
    assert (parts.exposed >= 0).all()
    assert parts.exposed.iloc[-1] == t.interference_time
    assert t.computing + t.exposed + t.bubble == pytest.approx(t.time, rel=1e-9)
    took = np.where([task.is_compute for task in t.step.tasks], 0.0, t.end - t.begin)
    most = max(t.step.collectives, key=lambda number: t.waits[number])

    def longer(factor, seconds):
        scaled = t.costs.seconds + factor * took
        scaled[most] += seconds
        return time_alone(t.step, scaled, 0.0)[1].max()

    factors, tiny = (np.arange(60) + 0.5) / 60, 1e-9 * t.time
    slopes = [(longer(factor, tiny) - longer(factor, -tiny)) / (2 * tiny) for factor in factors]
    assert t.waits[most] == pytest.approx(took[most] * np.mean(slopes), abs=0.03 * took[most])


def test_a_strategy_may_be_given_as_text():
    by_text = cs.training_step("resnet18", "dgx-a100", parallel="fsdp(prefetch=False)", batch=256)
    by_value = cs.training_step("resnet18", "dgx-a100", parallel=cs.fsdp(prefetch=False), batch=256)
    assert by_text.request.parallel == by_value.request.parallel
    assert by_text.time == by_value.time
    other = by_value.what_if(parallel="ddp")
    assert other.time == cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=256).time
