"""Sharding: what ZeRO and FSDP keep on a GPU, what they send for it, and when the weights are there."""

from __future__ import annotations

from functools import cache

from ...simulate import Trace
from ...topology import machine
from ...train import ParallelStrategy, StepTrace, fsdp, model, training_step, zero
from ...units import format_bytes, format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, simulate_algorithm

_MODEL, _TYPE, _NODES = "llama2-7b", "bfloat16", 4


@cache
def _simulate_step(parallel: ParallelStrategy) -> StepTrace:
    """On one DGX A100, a sample on each GPU."""
    return training_step(_MODEL, machine("dgx-a100"), parallel=parallel, micro_batch=1, dtype=_TYPE)


@cache
def _simulate_slow_network(parallel: ParallelStrategy) -> StepTrace:
    """On several, whose InfiniBand has an eighth of its bandwidth."""
    boxes = machine("dgx-a100", nodes=_NODES).scaled(kind="infiniband", by=1 / 8)
    return training_step(_MODEL, boxes, parallel=parallel, micro_batch=1, dtype=_TYPE, recompute="full")


def _simulate_gather() -> Trace:
    """The allgather of one block's weights."""
    tasks = _simulate_step(fsdp()).step.tasks
    nbytes = next(task.nbytes for task in tasks if task.kind == "allgather" and task.name != "gather root")
    return simulate_algorithm("allgather_ring", machine("dgx-a100"), f"{nbytes}B")


def _count_sent_bytes(step: StepTrace) -> int:
    return max(step.sent_bytes.values())


def _format_peak(step: StepTrace, kind: str = "") -> str:
    """The most that a GPU holds, of a kind or in all."""
    peak = step.memory.peak()
    return format_bytes(peak[kind] if kind else sum(peak.values()))


def _build_byte_facts() -> LessonFacts:
    strategies = {"zero(1)": zero(1), "zero(2)": zero(2), "fsdp(False)": fsdp(False), "fsdp()": fsdp()}
    steps = [_simulate_step(strategy) for strategy in strategies.values()]
    count, gpus = model(_MODEL).parameters, steps[0].step.ranks
    rows = tuple(
        (name, format_bytes(_count_sent_bytes(s)), _format_peak(s), format_time(s.time))
        for name, s in zip(strategies, steps, strict=True)
    )
    gather = _simulate_gather()
    return build_facts(
        gather,
        rows,
        gather=gather,
        model=_MODEL,
        gpus=gpus,
        each=f"{zero(1).count_state_bytes(count, 1) / count:g}",
        alone=format_bytes(zero(1).count_state_bytes(count, 1)),
        shared=format_bytes(zero(3).count_state_bytes(count, gpus)),
        sent=format_bytes(_count_sent_bytes(steps[-1])),
        allreduce=format_bytes(_count_sent_bytes(steps[0])),
        more=f"{_count_sent_bytes(steps[-1]) / _count_sent_bytes(steps[0]):.3g}",
        most=f"{zero(3).count_sent_bytes(count, gpus) / zero(1).count_sent_bytes(count, gpus):g}",
    )


def _build_level_facts() -> LessonFacts:
    on_, off, keep = (_simulate_step(strategy) for strategy in (fsdp(), fsdp(prefetch=False), fsdp(False)))
    flat, hybrid = (_simulate_slow_network(strategy) for strategy in (fsdp(), fsdp(replicate=_NODES)))
    gather = _simulate_gather()
    return build_facts(
        gather,
        gather=gather,
        model=_MODEL,
        nodes=_NODES,
        on=format_time(on_.time),
        off=format_time(off.time),
        on_level=_format_peak(on_, "gathered"),
        off_level=_format_peak(off, "gathered"),
        keep_level=_format_peak(keep, "gathered"),
        on_waits=format_time(on_.exposed),
        off_waits=format_time(off.exposed),
        flat=format_time(flat.time),
        hybrid=format_time(hybrid.time),
        flat_most=_format_peak(flat),
        hybrid_most=_format_peak(hybrid),
    )


_BYTES = Section("sharding", _build_byte_facts, right=1, view="logical")

_LEVEL = Section("prefetch", _build_level_facts, right=1, view="logical")

LESSON = Lesson(
    notebook="14-sharding",
    exercises=("fsdp-bytes", "how-many-replicas"),
    sections=(_BYTES, _LEVEL),
)
