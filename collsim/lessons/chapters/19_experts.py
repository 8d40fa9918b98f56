"""Mixtures of experts: tokens go to the GPUs that have their experts and come back; which GPUs share them; what crosses
once to a node; what a popular expert costs; what can be computed meanwhile."""

from __future__ import annotations

from functools import cache

from ...collective import count_token_visits
from ...simulate import Trace
from ...topology import Topology, machine
from ...train import ExpertParallel, Layer, StepTrace, expert, model, training_step, zero
from ...units import format_bytes, format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_algorithm

_MODEL, _NODES, _BATCH = "qwen3-30b-a3b", 2, 64
#: GPUs that share the experts of a layer: a part of a node, all of a node, both nodes.
_SHARES = (4, 8, 16)
_INSIDE, _ACROSS = _SHARES[1:]


@cache
def _build_machine(nodes: int) -> Topology:
    return machine("dgx-h100", nodes=nodes)


#: How unevenly tokens choose experts: none, by Zipf's law with an exponent of a half, and of 1; then with a capacity.
_ROUTINGS = (
    expert(_INSIDE),
    expert(_INSIDE, imbalance=0.5),
    expert(_INSIDE, imbalance="zipf"),
    expert(_INSIDE, imbalance="zipf", capacity_factor=1.25),
)
#: What computes while tokens travel between nodes.
_OVERLAPS = (
    expert(_ACROSS),
    expert(_ACROSS, overlap_with="experts"),
    expert(_ACROSS, overlap_with="batch"),
    expert(_ACROSS, per_node=_INSIDE, overlap_with="batch"),
)


@cache
def _simulate_split(experts: ExpertParallel) -> StepTrace:
    split = experts * zero(1)
    return training_step(_MODEL, _build_machine(_NODES), parallel=split, batch=_BATCH, micro_batch=1, dtype="bfloat16")


def _simulate_step(share: int) -> StepTrace:
    """Of the mixture whose experts so many GPUs share."""
    return _simulate_split(expert(share))


def _count_dispatch_bytes() -> int:
    """Bytes that one layer's tokens have on a GPU on their way to the experts."""
    tasks = _simulate_step(_INSIDE).step.tasks
    return next(task.nbytes for task in tasks if task.kind == "alltoall")


def _simulate_dispatch(nodes: int, name: str = "alltoall_direct") -> Trace:
    """As many bytes over all GPUs of so many nodes."""
    return simulate_algorithm(name, _build_machine(nodes), f"{_count_dispatch_bytes()}B")


def _simulate_uneven_dispatch(nodes: int, load: str) -> Trace:
    """As many bytes a GPU on average, in an alltoallv, which counts those of all GPUs."""
    topology = _build_machine(nodes)
    return simulate_algorithm("alltoallv_direct", topology, f"{_count_dispatch_bytes() * topology.ranks}B", load=load)


def _simulate_node_dispatch() -> Trace:
    """The same tokens over both nodes; each crosses once."""
    topology, layer = _build_machine(_NODES), _find_expert_layers()[0]
    size = f"{_count_dispatch_bytes() * topology.ranks}B"
    experts = layer.experts // topology.ranks
    return simulate_algorithm("dispatch_hierarchical", topology, size, local_experts=experts, top_k=layer.top_k)


def _find_expert_layers() -> list[Layer]:
    return [layer for layer in model(_MODEL).layers if layer.experts]


def _count_card_bytes(trace: Trace) -> int:
    """Bytes that the busiest card sends to the other node."""
    links, node = trace.topology.links, trace.topology.devices.node
    leaves = (node[links.src] >= 0) & (node[links.dst] < 0)  # the switch between them is in no node
    return int(trace.link_bytes[leaves].max())


def _build_dispatch_facts() -> LessonFacts:
    alltoall, ring = _simulate_dispatch(1), _simulate_dispatch(1, "allreduce_ring")
    layers = _find_expert_layers()
    tasks = [task for task in _simulate_step(_INSIDE).step.tasks if task.kind == "alltoall" and 0 in task.lanes]
    blocks = {layer.name.partition(".mlp")[0] for layer in layers}
    microbatches = _BATCH // _simulate_step(_INSIDE).step.ranks
    return build_facts(
        alltoall,
        alltoall=alltoall,
        ring=ring,
        model=_MODEL,
        experts=layers[0].experts,
        top_k=layers[0].top_k,
        ranks=alltoall.schedule.ranks,
        others=alltoall.schedule.ranks - 1,
        layers=len(blocks),
        each=sum(task.repeats for task in tasks) // len(blocks) // microbatches,
        ratio=format_ratio(ring, alltoall),
        answer_step=alltoall.schedule.steps,
    )


def _describe_step(share: int) -> tuple[str, ...]:
    step = _simulate_step(share)
    memory = format_bytes(step.memory.max())
    return str(share), format_time(step.time), format_time(step.exposed), memory


def _build_reach_facts() -> LessonFacts:
    inside, across = _simulate_step(_INSIDE), _simulate_step(_ACROSS)
    dispatch = _simulate_dispatch(_NODES)
    rows = across.count_crossing_bytes()
    sent = rows[(rows["lane"] == 0) & (rows["strategy"] == "expert")].set_index("link")
    rates = sent["bandwidth"]
    return build_facts(
        dispatch,
        tuple(_describe_step(share) for share in _SHARES),
        dispatch=dispatch,
        near=_simulate_dispatch(1),
        model=_MODEL,
        gpus=inside.step.ranks,
        share=_INSIDE,
        time=format_time(inside.time),
        slow=format_time(across.time),
        ratio=f"{across.time / inside.time:.3g}",
        most=format_bytes(inside.memory.max()),
        less=format_bytes(across.memory.max()),
        over_cards=format_bytes(sent["nbytes"]["infiniband"]),
        factor=f"{rates['nvlink'] / rates['infiniband']:.3g}",
    )


def _build_once_facts() -> LessonFacts:
    plain, once = _simulate_uneven_dispatch(_NODES, "even"), _simulate_node_dispatch()
    layer = _find_expert_layers()[0]
    visits = count_token_visits(_NODES, _INSIDE, layer.experts // _ACROSS, layer.top_k)
    sent = [_count_card_bytes(trace) for trace in (plain, once)]
    return build_facts(
        once,
        plain=plain,
        once=once,
        top_k=layer.top_k,
        copies=layer.top_k // _NODES,
        plain_sent=format_bytes(sent[0]),
        once_sent=format_bytes(sent[1]),
        half=format_bytes(sent[0] // 2),
        visits=f"{100 * sum(visits):.3g} %",
    )


def _describe_routing(experts: ExpertParallel) -> tuple[str, ...]:
    step, load = _simulate_split(experts), experts.find_load(model(_MODEL))
    assert load is not None
    dropped = f"{100 * load.dropped:.3g} %"
    memory = format_bytes(step.memory.max())
    return experts.label, f"{load.busiest:.3g}", format_time(step.time), memory, dropped


def _build_skew_facts() -> LessonFacts:
    even, _, uneven, limited = _ROUTINGS
    load, limited_load = (experts.find_load(model(_MODEL)) for experts in (uneven, limited))
    assert load is not None
    assert limited_load is not None
    played, same = (_simulate_uneven_dispatch(1, word) for word in ("zipf", "even"))
    return build_facts(
        played,
        tuple(map(_describe_routing, _ROUTINGS)),
        played=played,
        same=same,
        share=_INSIDE,
        busiest=f"{load.busiest:.3g}",
        time=format_time(_simulate_split(even).time),
        slow=format_time(_simulate_split(uneven).time),
        ratio=f"{_simulate_split(uneven).time / _simulate_split(even).time:.3g}",
        capacity=f"{limited.capacity_factor:g}",
        dropped=f"{100 * limited_load.dropped:.3g} %",
        limited=format_time(_simulate_split(limited).time),
    )


def _describe_overlap(experts: ExpertParallel) -> tuple[str, ...]:
    step = _simulate_split(experts)
    return experts.label, format_time(step.time), format_time(step.exposed)


def _build_hide_facts() -> LessonFacts:
    plain, parts, batch, once = map(_simulate_split, _OVERLAPS)
    played = _simulate_node_dispatch()
    return build_facts(
        played,
        tuple(map(_describe_overlap, _OVERLAPS)),
        played=played,
        direct=_simulate_uneven_dispatch(_NODES, "even"),
        gpus=plain.step.ranks,
        share=_INSIDE,
        microbatches=_BATCH // plain.step.ranks,
        time=format_time(plain.time),
        waited=format_time(plain.exposed),
        parts=format_time(parts.exposed),
        remains=format_time(batch.exposed),
        fast=format_time(batch.time),
        once=format_time(once.exposed),
        best=format_time(once.time),
    )


LESSON = Lesson(
    notebook="19-mixture-of-experts",
    exercises=("spread-the-experts",),
    sections=(
        Section("dispatch", _build_dispatch_facts, right=0),
        Section("reach", _build_reach_facts, right=2),
        Section("once", _build_once_facts, right=2),
        Section("skew", _build_skew_facts, right=1),
        Section("hide", _build_hide_facts, right=1),
    ),
)
