"""Several GPUs share one replica: bytes, memory and times that papers and libraries publish."""

from itertools import count

import numpy as np
import pytest

import collsim as cs
from collsim.train import Layer, Model
from collsim.train.parallel.rank_groups import RankGrid
from collsim.train.parallel.sharded_units import (
    LayerPartition,
    build_units,
    count_layer_activation_bytes,
    count_layer_parameters,
)
from collsim.train.workload.transformer import count_activation_bytes

SCHEDULES = ["gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipe-v"]
FREE = cs.topology.switch(4, bandwidth="25GB/s", alpha="0us")
PLENTY = "100TB"


def blocks(h, layers, heads, seq=2048, **more):
    """The blocks of a GPT alone, without embedding and head."""
    return Model("blocks", cs.train.transformer(h, layers, heads, seq=seq, **more).layers[1:-2], seq)


def step_arguments(parallel, ranks, **more):
    """What a step of blocks is asked, on GPUs that stand on one switch."""
    usual = {"dtype": "float16", "compute": "A100", "memory": PLENTY}
    return {"machine": cs.topology.switch(ranks), "parallel": parallel, **usual, **more}


# ---- pipelines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_step_of_a_pipeline_takes_what_its_schedule_takes(schedule):
    """Equal stages, nothing to send: F = 1 and B = 2 a rank; memory is what the schedule holds, 40 B a microbatch."""
    way = cs.pipeline(4, schedule)
    stages = len(way.stage_ranks)
    layers = tuple(Layer(f"h.{i}.x", (1000,), activations=10 / way.interleave) for i in range(stages))
    seconds = [(1 / way.interleave, 2 / way.interleave)] * stages
    step = cs.training_step(Model("m", layers), FREE, parallel=way, batch=8, compute=seconds, optimizer="none")
    timing = way.time_passes(8)
    assert step.time == pytest.approx(timing.time, rel=1e-12)
    assert step.bubble == pytest.approx(timing.idle.mean(), rel=1e-9)
    assert step.memory.peak()["activations"] == pytest.approx(40 * timing.peak_activations.max(), abs=1)


def test_one_microbatch_is_a_model_split_by_layers():
    """One GPU works at a time: as long as on one GPU, and each waits three quarters of it."""
    layers = tuple(Layer(f"h.{i}.x", (1000,)) for i in range(4))
    way = {"parallel": cs.pipeline(4), "batch": 1, "compute": [(1, 2)] * 4, "optimizer": "none"}
    step = cs.training_step(Model("m", layers), FREE, **way)
    assert (step.time, step.bubble) == (12, 9)


def test_a_hop_carries_what_a_layer_hands_on():
    """b·s·h·2 = 50,331,648 B; with sequence parallelism an eighth (Megatron-LM, p2p tensor shape)."""
    for sequence, size in ((False, 50_331_648), (True, 6_291_456)):
        split = cs.tensor(8, sequence=sequence) * cs.pipeline(2)
        step = cs.training_step(blocks(12288, 2, 96), **step_arguments(split, 16, batch=2)).step
        assert {task.nbytes for task in step.tasks if task.kind == "send"} == {size}


def test_with_scatter_a_hop_carries_a_part_of_each_gpu_and_is_gathered_on_arrival():
    """An eighth of 50,331,648 B there and back, and two allgathers of all of it (Narayanan et al. 2021, section 4.1);
    with sequence parallelism there is nothing to scatter."""
    split = cs.tensor(8) * cs.pipeline(2, scatter=True)
    step = cs.training_step(blocks(12288, 2, 96), **step_arguments(split, 16, batch=1)).step
    assert [task.nbytes for task in step.tasks if task.kind == "send"] == [6_291_456] * 2
    assert [task.nbytes for task in step.tasks if task.kind == "allgather"] == [50_331_648] * 2
    cut = cs.tensor(8, sequence=True)
    both = [
        cs.training_step(blocks(12288, 2, 96), **step_arguments(cut * cs.pipeline(2, scatter=scatter), 16, batch=2))
        for scatter in (False, True)
    ]
    assert both[0].time == both[1].time


def test_every_second_block_computed_again_is_half_of_all_computed_again():
    """Four blocks: twice as many FLOPs again in full; activations kept are the mean of none and full."""
    found = {
        what: cs.training_step(blocks(1024, 4, 16), **step_arguments(cs.fsdp(), 8, batch=8, recompute=what))
        for what in ("none", "alternate", "full")
    }
    assert found["full"].step.recomputed_flops == 2 * found["alternate"].step.recomputed_flops > 0
    assert found["none"].time < found["alternate"].time < found["full"].time
    kept = {what: count_activation_bytes(1024, 16, 2048, recompute=what) for what in found}
    assert kept["alternate"] == (kept["none"] + kept["full"]) / 2


# ---- tensor, sequence, context, expert ------------------------------------------------------------------------------


@pytest.mark.parametrize("sequence", [False, True])
def test_tensor_parallelism_sends_four_allreduces_a_layer(sequence):
    """GPT-3, 8 GPUs: 4 · 2 · 7/8 · 50,331,648 B = 352,321,536 B a layer, 33.822867456 GB in 96; the same with sequence
    parallelism, and half more where everything is computed again."""
    step = cs.training_step(blocks(12288, 96, 96), **step_arguments(cs.tensor(8, sequence=sequence), 8, batch=1))
    assert set(step.sent_bytes.values()) == {33_822_867_456}
    assert set(step.what_if(recompute="full").sent_bytes.values()) == {33_822_867_456 * 3 // 2}


@pytest.mark.parametrize(
    ("shape", "micro", "batch", "split", "gib"),
    [
        ((6144, 48, 64), 4, 4, cs.tensor(8), 59.25),
        ((12288, 96, 96), 1, 16, cs.tensor(8) * cs.pipeline(8, interleave=3), 66.84375),
        ((25600, 128, 160), 1, 64, cs.tensor(8) * cs.pipeline(64), 131.25),
    ],
)
def test_the_first_stage_holds_what_korthikanti_measured(shape, micro, batch, split, gib):
    """Figure 1 of arXiv 2205.05198, no recomputation, as stored in calculon's validation: GiB of activations."""
    ranks = 8 * (split.find_part(type(cs.pipeline(2))).size if hasattr(split, "find_part") else 1)
    step = cs.training_step(blocks(*shape), **step_arguments(split, ranks, batch=batch, micro_batch=micro))
    _, sizes = step.memory.trace_bytes(0)
    assert sizes[:, step.memory.list_kinds(0).index("activations")].max() == gib * 2**30


def test_activations_under_recomputation():
    """One block, 8 GPUs: sequence parallelism divides all by 8; selective keeps 34·sbh/8, full its input."""
    s, b, h = 2048, 1, 12288
    for recompute, size in (("none", 34 + 5 * 96 * s / h), ("selective", 34)):
        ask = step_arguments(cs.tensor(8, sequence=True), 8, batch=1, recompute=recompute)
        step = cs.training_step(blocks(h, 1, 96), **ask)
        assert max(n for _, kind, n, *_ in step.step.allocations if kind == "activations") == s * b * h * size / 8
    ask = step_arguments(cs.tensor(8, sequence=True), 8, batch=1, recompute="full")
    alive = sorted(
        n for _, kind, n, *_ in cs.training_step(blocks(h, 1, 96), **ask).step.allocations if kind == "activations"
    )
    assert alive[0] == 2 * s * b * h / 8  # its input, which is the first of what is there while it is computed again
    # In the fullest moment the MLP has its gradients, and its activations are free: 19·sbh, and 2 of its norm.
    assert sum(alive) == (34 - 21 + 5 * 96 * s / h) * s * b * h / 8


def test_full_recomputation_costs_the_flops_of_the_paper():
    """96·B·s·L·h²(1 + s/6h + V/16Lh) (arXiv 2104.04473, equation 3): a forward pass more of all but the head; biases
    aside."""
    h, layers, s, v, batch = 2304, 24, 2048, 51200, 4
    model = cs.train.transformer(h, layers, 24, seq=s, vocab=v)
    way = step_arguments(cs.tensor(2) * cs.ddp(), 4, batch=batch, recompute="full")
    step = cs.training_step(model, **way)
    assert step.step.flops + step.step.recomputed_flops == pytest.approx(
        96 * batch * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h)), rel=1e-9
    )
    assert step.hfu > step.mfu
    done = sum(t.flops * len(step.step.lanes[t.lanes[0]]) for t in step.step.tasks if t.is_compute)
    assert done == pytest.approx(step.step.flops + step.step.recomputed_flops, rel=1e-9)


def test_a_token_goes_to_a_node_once():
    """s 4096, h 7168, 16 bits: 58,720,256 B of tokens. 8 of 64 experts on two nodes of four GPUs: a node has none of
    them in C(32, 8) / C(64, 8) of all choices, a GPU in C(56, 8) / C(64, 8)."""
    model = Model("moe", cs.train.transformer(7168, 2, 56, seq=4096, ffn=2048, experts=64, top_k=8).layers[1:-2], 4096)
    step = cs.training_step(model, **step_arguments(cs.expert(8, per_node=4) * cs.ddp(), 8, batch=8)).step
    sent = {task.groups: task.nbytes for task in step.tasks if task.stream == "expert"}
    rails, nodes = ((0, 4), (1, 5), (2, 6), (3, 7)), ((0, 1, 2, 3), (4, 5, 6, 7))
    assert sent[rails] == round(58_720_256 * 2 * (1 - 10_518_300 / 4_426_165_368))
    assert sent[nodes] == round(58_720_256 * 8 * (1 - 1_420_494_075 / 4_426_165_368))
    with pytest.raises(cs.CollsimError, match="equally many of 8 GPUs"):
        cs.expert(8, per_node=3)


def test_a_dispatch_to_experts_carries_every_token_so_often():
    """s 4096, h 7168, 8 of 64 experts, 16 bits: 469,762,048 B, four times a layer and step (before (e − 1)/e)."""
    model = Model("moe", cs.train.transformer(7168, 2, 56, seq=4096, ffn=2048, experts=64, top_k=8).layers[1:-2], 4096)
    step = cs.training_step(model, **step_arguments(cs.expert(8) * cs.ddp(), 8, batch=8)).step
    sent = [task for task in step.tasks if task.kind == "alltoall"]
    assert {task.nbytes for task in sent} == {469_762_048}
    assert sum(task.repeats for task in sent) == 4 * 2
    whole = cs.training_step(model, **step_arguments(cs.ddp(), 8, batch=8))
    assert step.resident_bytes[0]["optimizer"] < whole.step.resident_bytes[0]["optimizer"] / 4


def test_the_ring_of_keys_hides_behind_attention_until_a_hop_takes_longer():
    """(c − 1) hops of 2·(s/c)·b·h_kv·e."""
    model = blocks(1024, 2, 16, seq=4096)
    for bandwidth, hidden in (("1000GB/s", True), ("1MB/s", False)):
        way = step_arguments(cs.context(4) * cs.ddp(), 4, batch=1, interference=0)
        step = cs.training_step(model, **{**way, "machine": cs.topology.switch(4, bandwidth=bandwidth, alpha=0)})
        hops = [task for task in step.step.tasks if task.stream == "context" and task.name == "context"]
        assert hops[0].nbytes == 2 * (4096 // 4) * 1024 * 2
        assert hops[0].repeats == 2 * 3
        ring = sum(step.end[i] - step.begin[i] for i, t in enumerate(step.step.tasks) if t.stream == "context")
        beside = step.communication - step.exposed
        assert (beside > 0.99 * ring) == hidden


# ---- where ranks stand ----------------------------------------------------------------------------------------------


def test_groups_are_those_of_megatron():
    """16 GPUs, tp 2, pp 4 (Megatron-LM, parallel_state.py, the example in initialize_model_parallel)."""
    grid = RankGrid(tuple(range(16)), tp=2, dp=2, pp=4)
    assert grid.list_groups("tp")[:2] == ((0, 1), (2, 3))
    assert grid.list_groups("dp")[:4] == ((0, 2), (1, 3), (4, 6), (5, 7))
    assert grid.list_groups("pp") == ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
    other = RankGrid(tuple(range(8)), tp=2, dp=2, pp=2, order="tp-cp-ep-pp-dp")
    assert other.list_groups("pp") == ((0, 2), (1, 3), (4, 6), (5, 7))


def test_every_rank_is_in_one_group_along_each_way():
    grid = RankGrid(tuple(range(48)), tp=2, cp=2, dp=4, pp=3, ep=4)
    for groups in (
        grid.list_groups("tp"),
        grid.list_groups("cp"),
        grid.list_groups("cp", "dp"),
        grid.expert_groups,
        grid.expert_replica_groups,
        grid.stage_groups,
    ):
        assert sorted(rank for group in groups for rank in group) == list(range(48))
    assert {len(group) for group in grid.expert_groups} == {4}
    assert {len(group) for group in grid.expert_replica_groups} == {2}


# ---- products -------------------------------------------------------------------------------------------------------


def test_parts_compose_in_any_order_and_say_what_they_are():
    one = cs.tensor(8) * cs.pipeline(4) * cs.ddp()
    assert one.label == "tensor(8) * pipeline(4) * ddp()"
    assert (cs.tensor(8) * (cs.pipeline(4) * cs.ddp())) == one


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cs.tensor(2) * cs.tensor(4), "one part of a kind"),
        (lambda: cs.zero(1) * cs.fsdp(), "one part of a kind"),
        (lambda: cs.tensor(2) * cs.data_parallel(), "no part of a product"),
        (lambda: (cs.tensor(2) * cs.ddp()).with_rank_order("tp-dp"), "once each"),
        (lambda: cs.training_step("gpt2", FREE, parallel=cs.tensor(2), batch=4), r"\* ddp\(\)"),
        (lambda: cs.training_step("gpt2", FREE, parallel=cs.tensor(3), batch=4), "does not divide 4"),
        (lambda: cs.training_step("resnet18", FREE, parallel=cs.tensor(4), batch=4), "how it is cut"),
        (lambda: cs.training_step("gpt2", FREE, parallel=cs.expert(2) * cs.ddp(), batch=4), "no experts"),
        (lambda: cs.training_step("vgg16", FREE, parallel=cs.context(4) * cs.ddp(), batch=4), "keys and values"),
        (lambda: cs.training_step("gpt2", FREE, parallel=cs.pipeline(4, interleave=9), batch=4), "36 stages"),
        (
            lambda: cs.training_step("gpt2", FREE, parallel=cs.data_parallel(), batch=4, recompute="full"),
            "not modelled",
        ),
    ],
)
def test_what_does_not_compose_is_a_sentence(call, says):
    with pytest.raises(cs.CollsimError, match=says):
        call()


def test_what_does_not_fit_says_the_nearest_split_that_does():
    box = cs.machine("dgx-a100")
    with pytest.raises(
        cs.CollsimError, match=r"does not fit.*nearest split that fits is (.*) with micro_batch"
    ) as said:
        cs.training_step("llama2-13b", box, parallel=cs.tensor(2) * cs.ddp(), batch=64, dtype="bfloat16")
    assert "tensor(" in str(said.value)


@pytest.mark.parametrize(
    "split", [cs.tensor(8) * cs.pipeline(2), cs.tensor(4) * cs.pipeline(4), cs.tensor(8, sequence=True) * cs.zero(1)]
)
def test_shared_equals_alone_where_groups_share_nothing(split):
    model = cs.train.transformer(256, 4, 8, seq=64)
    box = cs.machine("dgx-a100", nodes=2)
    alone = cs.training_step(model, box, parallel=split, micro_batch=1, batch=4, dtype="float16", interference=0)
    assert alone.what_if(network="shared").time == pytest.approx(alone.time, rel=1e-9)


def test_options_of_parts_can_be_changed_and_the_batch_stays():
    """Half as large microbatches are twice as many."""
    model = cs.train.transformer(256, 8, 8, seq=64)
    split = cs.tensor(2) * cs.pipeline(4) * cs.fsdp()
    step = cs.training_step(model, cs.machine("dgx-a100", nodes=2), parallel=split, micro_batch=2, batch=16)
    finer = step.what_if(micro_batch=1)
    assert (finer.step.samples, finer.request.accumulate) == (16, 2 * step.request.accumulate)
    assert step.what_if(schedule="gpipe").step.label == "tensor(2) * pipeline(4, schedule='gpipe') * fsdp()"
    assert step.what_if(sequence=True, prefetch=False).step.label == (
        "tensor(2, sequence=True) * pipeline(4) * fsdp(prefetch=False)"
    )
    assert step.what_if(recompute="full").step.recomputed_flops > step.step.recomputed_flops == 0


def test_streams_of_a_gpu_are_threads_of_a_trace(tmp_path):
    """Slices of one thread do not overlap: gathers and reductions have threads of their own."""
    import json
    from itertools import pairwise

    model = cs.train.transformer(256, 4, 8, seq=64)
    step = cs.training_step(model, cs.machine("dgx-a100"), parallel=cs.fsdp(), micro_batch=2, dtype="bfloat16")
    events = json.loads(step.save(tmp_path / "x.trace.json").read_text())["traceEvents"]
    threads = {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(threads) >= 3
    for spans in threads.values():
        for (_, end), (begin, _) in pairwise(sorted(spans)):
            assert begin >= end - 1e-3


GPT = cs.train.transformer(64, 4, 4, seq=32, vocab=1000)


def step_of(**asked):
    usual = {"parallel": cs.pipeline(2) * cs.tensor(2) * cs.zero(1), "batch": 64, "memory": "1TB"}
    return cs.training_step(GPT, "dgx-a100", **{**usual, **asked})


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"ranks": "12"}, "must be a list of ranks"),
        ({"ranks": [0.5, 1.7]}, "must be a list of ranks"),
        ({"ranks": [True, False]}, "must be a list of ranks"),
        ({"ranks": [float("inf")]}, "must be a list of ranks"),
        ({"ranks": count()}, "must be different ranks"),
        ({"ranks": range(10**9)}, "must be different ranks"),
        ({"slow": np.array([1, 2])}, "must be a dict of ranks"),
        ({"slow": False}, "must be a dict of ranks"),
        ({"slow": {True: 2}}, "name a rank"),
        ({"collectives": []}, "unknown collectives"),
        ({"algorithm": {}}, "unknown algorithm"),
        ({"batch": 2**31, "parallel": cs.fsdp(), "memory": "80GB"}, "nearest split that fits"),
        ({"batch": 10**9}, "fewer microbatches"),
    ],
)
def test_what_was_asked_wrongly_is_a_sentence(asked, says):
    with pytest.raises(cs.CollsimError, match=says):
        step_of(**asked)


def test_ranks_and_factors_may_be_numbers_of_numpy():
    whole = {"parallel": cs.ddp(), "batch": 8}
    assert step_of(ranks=np.int64(4), **whole).time == step_of(ranks=4, **whole).time
    assert step_of(slow={0: np.int64(2)}).time == step_of(slow={0: 2}).time
    assert step_of().what_if(network=np.int64(2)).time == step_of().what_if(network=2).time


@pytest.mark.parametrize("recompute", ["selective", "full", "alternate"])
@pytest.mark.parametrize("way", [cs.fsdp(), cs.pipeline(4) * cs.zero(1), cs.ddp() * cs.tensor(2)])
def test_what_is_computed_again_is_not_held_next_to_itself(way, recompute):
    """The input that a block keeps is the first of what it computes again: one block holds no more than without."""
    model = cs.train.transformer(64, 1, 4, seq=512, vocab=16)
    plain = cs.training_step(model, "dgx-a100", parallel=way, micro_batch=8, batch=8 * 8)
    again = plain.what_if(recompute=recompute)
    assert again.memory.max() <= plain.memory.max()
    assert again.time >= plain.time


# ---- memory of a backward pass --------------------------------------------------------------------------------------


@pytest.mark.parametrize("recompute", ["none", "full"])
@pytest.mark.parametrize(
    ("split", "ranks"),
    [(cs.tensor(2) * cs.ddp(overlap=False), 4), (cs.tensor(2) * cs.ddp(), 4), (cs.tensor(2) * cs.ddp(), 2)],
)
def test_a_pass_in_one_box_is_as_full_as_unit_by_unit(split, ranks, recompute):
    """Of layers with k bytes of activations and g of gradients the fullest moment is when one has its gradients and
    those before it have their activations, not all of both."""
    model = blocks(1024, 6, 16)
    step = cs.training_step(model, **step_arguments(split, ranks, batch=ranks // 2, recompute=recompute))
    units = build_units(model, LayerPartition(2, item_bytes=2, recompute=recompute))
    moments = []
    for i, unit in enumerate(units):
        outside = sum(u.resident_bytes for u in units[:i]) + 4 * sum(u.parameters for u in units[i + 1 :])
        held = [count_layer_activation_bytes(layer, unit.partition) for layer in unit.layers]
        sizes = [count_layer_parameters(layer, unit.partition) for layer in unit.layers]
        moments += [outside + sum(held[: k + 1]) + 4 * sum(sizes[k:]) for k in range(len(held))]
    assert max(moments) < sum(unit.resident_bytes + unit.recomputed_bytes + 4 * unit.parameters for unit in units)
    resident = sum(step.step.resident_bytes[0].values())
    assert step.memory.max() - resident == pytest.approx(max(moments), rel=1e-9)
