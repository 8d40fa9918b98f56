"""ZeRO and FSDP: bytes, collectives and memory as the paper and PyTorch have them."""

from collections import Counter

import numpy as np
import pytest

import collsim as cs

LLAMA = cs.train.transformer(512, 6, 8, seq=256, gated=True, bias=False, tied=False, positions=False, flash=True)
SWITCH = cs.topology.switch(8)


def step(parallel, **more):
    usual = {"micro_batch": 1, "dtype": "bfloat16", "compute": "H100", "memory": "1TB"}
    return cs.training_step(LLAMA, SWITCH, parallel=parallel, **{**usual, **more})


def kinds(trace):
    return Counter(task.kind for task in trace.step.tasks if not task.is_compute)


@pytest.mark.parametrize(("stage", "gigabytes"), [(1, 31.40625), (2, 16.640625), (3, 1.875)])
def test_states_of_the_paper(stage, gigabytes):
    """7.5 billion parameters on 64 GPUs, 120 GB without (Rajbhandari et al. 2020, figure 1)."""
    assert cs.zero(stage).count_state_bytes(7_500_000_000, 64) == gigabytes * 1e9
    assert cs.zero(stage).count_state_bytes(7_500_000_000, 1) == 120e9


@pytest.mark.parametrize(("stage", "times"), [(1, 2), (2, 2), (3, 3)])
def test_bytes_of_the_paper(stage, times):
    """2Ψ, and 3Ψ in stage 3 (section 7), times (n − 1)/n; two bytes an element."""
    assert cs.zero(stage).count_sent_bytes(1_000_000, 8) == times * 2_000_000 * 7 / 8
    assert cs.zero(stage).count_sent_bytes(1_000_000, 8, dtype="float32") == times * 4_000_000 * 7 / 8


@pytest.mark.parametrize("dtype", [np.float16, np.dtype("float16"), "float16", "bfloat16"])
def test_numbers_and_types_may_be_those_of_numpy(dtype):
    assert cs.zero(np.int64(3)).count_sent_bytes(np.int64(100), np.int32(4), dtype) == 3 * 200 * 3 / 4
    assert cs.zero(np.int64(3)) == cs.zero(3.0) == cs.zero(3)
    assert (
        cs.fsdp(reduce_dtype=dtype).label
        == cs.fsdp(reduce_dtype=np.dtype(dtype).name if dtype != "bfloat16" else dtype).label
    )


@pytest.mark.parametrize("stage", [1, 2])
def test_a_step_sends_what_zero_says(stage):
    sent = step(cs.zero(stage)).sent_bytes[0]
    assert sent == pytest.approx(
        cs.zero(stage).count_sent_bytes(LLAMA.parameters, 8), rel=1e-4
    )  # blocks end on elements


def test_fsdp_gathers_blocks_twice_and_the_root_once():
    """L + 1 allgathers forward, L backward, L + 1 reduce-scatters: 6 blocks."""
    assert kinds(step(cs.fsdp())) == {"allgather": 13, "reduce_scatter": 7}
    assert kinds(step(cs.fsdp(reshard_after_forward=False))) == {"allgather": 7, "reduce_scatter": 7}
    assert kinds(step(cs.zero(3))) == kinds(step(cs.fsdp()))


def test_accumulation_gathers_for_every_microbatch():
    one, four = step(cs.fsdp()), step(cs.fsdp(accumulate=4))
    assert kinds(four)["allgather"] == 4 * 12 + 1 * 4
    assert four.sent_bytes[0] == 4 * one.sent_bytes[0]
    assert kinds(step(cs.fsdp(accumulate=4, no_sync=True)))["reduce_scatter"] == 7


@pytest.mark.parametrize(("reduce_dtype", "item"), [(None, 2), ("float32", 4)])
def test_gradients_that_are_not_reduced_yet_stay_whole(reduce_dtype, item):
    """With `no_sync` those of all 25,809,920 parameters are there before the first is reduced, in the type in which
    they are (torch fsdp/_fully_shard/_fsdp_param.py, to_accumulated_grad_if_needed); else those of few blocks."""
    model = cs.train.transformer(512, 8, 8, seq=128, vocab=1024)

    def whole(**options):
        way = cs.fsdp(accumulate=4, reduce_dtype=reduce_dtype, **options)
        t = cs.training_step(model, "dgx-a100", parallel=way, batch=64, dtype="bfloat16")
        return t.memory.to_frame()["whole gradients"].max()

    assert whole(no_sync=True) == item * 25_809_920
    assert whole() < item * 25_809_920 / 3


def test_hybrid_sharding_reduces_inside_a_replica_and_then_across():
    """Reduce-scatter over s = 4, allreduce of P/s over r = 2."""
    trace = step(cs.fsdp(replicate=2))
    tasks = [task for task in trace.step.tasks if task.kind == "reduce_scatter"]
    across = [task for task in trace.step.tasks if task.kind == "allreduce"]
    assert tasks[0].groups == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert across[0].groups == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert across[0].nbytes == -(-tasks[0].nbytes // 4)
    assert across[0].stream != tasks[0].stream


def test_prefetch_gathers_a_block_while_one_computes_and_holds_one_more():
    ahead, not_ahead = step(cs.fsdp()), step(cs.fsdp(prefetch=False))
    block = LLAMA.layers[1:9]
    assert ahead.time < not_ahead.time
    assert not_ahead.overlapped < ahead.overlapped
    size = 2 * sum(layer.parameters for layer in block)
    gathered = [
        t.memory.trace_bytes(0)[1][:, t.memory.list_kinds().index("gathered")].max() for t in (ahead, not_ahead)
    ]
    assert gathered[0] - gathered[1] == size


def test_two_gathers_are_under_way_at_most():
    """A block's gather waits until the block two before it has computed."""
    trace = step(cs.fsdp())
    gathers = [i for i, t in enumerate(trace.step.tasks) if t.name.startswith("gather h.")][:6]
    forward = [i for i, t in enumerate(trace.step.tasks) if t.kind == "forward" and t.name.startswith("h.")]
    for i in range(2, 6):
        assert trace.begin[gathers[i]] >= trace.end[forward[i - 2]]


def test_sharded_gradients_and_states_are_shares_of_those_of_ddp():
    whole, share = step(cs.ddp(view=True)).memory, step(cs.fsdp()).memory
    assert share.peak()["optimizer"] == whole.peak()["optimizer"] / 8
    assert share.peak()["parameters"] == 4 * LLAMA.parameters / 8


def test_a_bucket_of_zero_is_launched_before_it_exceeds_its_cap():
    sizes = [
        task.nbytes // 2 for task in step(cs.zero(1, bucket=5_000_000)).step.tasks if task.kind == "reduce_scatter"
    ]
    largest = max(sum(layer.parameters for layer in LLAMA.layers[1:9]), LLAMA.layers[0].parameters)
    assert len(sizes) > 3
    assert all(size <= max(5_000_000, largest) for size in sizes)
    assert sum(sizes) == LLAMA.parameters


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cs.zero(4), "stage 1 shares"),
        (lambda: cs.zero(True), "stage 1 shares"),
        (lambda: cs.fsdp(prefetch=1), "True or False"),
        (lambda: step(cs.fsdp(replicate=3)), "no such replicas"),
        (lambda: cs.zero(1, reduce_dtype="x"), "dtype"),
        (lambda: cs.zero(np.array([1, 2])), "stage 1 shares"),
        (lambda: cs.zero("1"), "stage 1 shares"),
        (lambda: cs.zero(1).count_sent_bytes(1000, 8, dtype=None), "unknown dtype None"),
        (lambda: cs.zero(1).count_state_bytes(1000, 8, optimizer="lion"), "unknown optimizer 'lion'"),
        (lambda: cs.zero(1).count_state_bytes(1000, 8, optimizer=["adam"]), "unknown optimizer"),
        (lambda: cs.train.count_state_bytes(1000, optimizer="lion"), "unknown optimizer"),
        (lambda: cs.train.count_state_bytes(1000, shards=0), "shards=0 is too small"),
        (lambda: cs.train.count_state_bytes(-5), "parameters=-5 is too small"),
        (lambda: step(cs.zero(1, bucket=1)), "tasks in a step of training"),
        (lambda: step(cs.fsdp(accumulate=10**9)), "tasks in a step of training"),
        (lambda: step(cs.ddp(accumulate=10**9)), "tasks in a step of training"),
    ],
)
def test_what_cannot_be_sharded_is_a_sentence(call, says):
    with pytest.raises(cs.CollsimError, match=says):
        call()


def test_zero_3_may_gather_and_reduce_each_tensor_by_itself():
    """As many bytes, in as many collectives as a block has tensors, which take longer; the estimate says so, too."""
    box, options = (
        cs.machine("dgx-a100", nodes=2),
        {"batch": 16, "micro_batch": 1, "dtype": "bfloat16", "memory": "1TB"},
    )
    whole, single = (
        cs.training_step("gpt3-13b", box, parallel=cs.zero(3, coalesce=coalesces), **options)
        for coalesces in (True, False)
    )
    counts = [
        {t.kind: t.repeats for t in trace.step.tasks if t.name.endswith(("gather h.0", "reduce h.0"))}
        for trace in (whole, single)
    ]
    tensors = sum(len(layer.tensors) for layer in whole.step.model.layers if layer.block == "h.0")
    assert counts == [{"allgather": 1, "reduce_scatter": 1}, {"allgather": tensors, "reduce_scatter": tensors}]
    sent = [sum(t.nbytes * t.repeats for t in trace.step.tasks if not t.is_compute) for trace in (whole, single)]
    assert sent[1] == pytest.approx(sent[0], rel=1e-6)
    assert single.communication > 1.1 * whole.communication
    assert "coalesce" in single.script()
