"""Mixtures of experts: tokens go to the GPUs that have their experts and come back; which GPUs share them."""

from __future__ import annotations

from functools import cache

from ...simulate import Trace
from ...topology import Topology, machine
from ...train import StepTrace, expert, model, training_step, zero
from ...units import format_bytes, format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_algorithm

_MODEL, _NODES, _BATCH = "qwen3-30b-a3b", 2, 64
#: GPUs that share the experts of a layer: a part of a node, all of a node, both nodes.
_SHARES = (4, 8, 16)
_INSIDE, _ACROSS = _SHARES[1:]


@cache
def _build_machine(nodes: int) -> Topology:
    return machine("dgx-h100", nodes=nodes)


@cache
def _simulate_step(share: int) -> StepTrace:
    """Of the mixture whose experts so many GPUs share."""
    split = expert(share) * zero(1)
    return training_step(_MODEL, _build_machine(_NODES), parallel=split, batch=_BATCH, micro_batch=1, dtype="bfloat16")


def _simulate_dispatch(nodes: int, name: str = "alltoall_direct") -> Trace:
    """As many bytes as one layer's tokens have on their way to the experts, over all GPUs of so many nodes."""
    tasks = _simulate_step(_INSIDE).step.tasks
    nbytes = next(task.nbytes for task in tasks if task.kind == "alltoall")
    return simulate_algorithm(name, _build_machine(nodes), f"{nbytes}B")


def _build_dispatch_facts() -> LessonFacts:
    alltoall, ring = _simulate_dispatch(1), _simulate_dispatch(1, "allreduce_ring")
    layers = [layer for layer in model(_MODEL).layers if layer.experts]
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


LESSON = Lesson(
    notebook="19-mixture-of-experts",
    exercises=("spread-the-experts",),
    sections=(
        Section("dispatch", _build_dispatch_facts, right=0),
        Section("reach", _build_reach_facts, right=2),
    ),
)
