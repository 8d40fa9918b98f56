"""DataParallel: GPU 0 is the hub, and nothing of what it sends is hidden."""

from __future__ import annotations

from ...topology import machine
from ...train import ParallelStrategy, StepTrace, data_parallel, ddp, training_step
from ...units import format_bytes, format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, build_switch, format_ratio, simulate_algorithm


def _simulate_step(parallel: ParallelStrategy) -> StepTrace:
    return training_step("resnet50", machine("dgx-1v"), parallel=parallel, micro_batch=32)


def _build_parallel_facts() -> LessonFacts:
    hub = _simulate_step(data_parallel())
    copies = _simulate_step(data_parallel(nccl=False))
    ring = _simulate_step(ddp())
    through, around = (
        simulate_algorithm(name, build_switch()) for name in ("allreduce_data_parallel", "allreduce_ring")
    )
    return build_facts(
        through,
        through=through,
        around=around,
        slower=format_ratio(through, around),
        gpus=hub.step.ranks,
        hub=format_time(hub.time),
        copies=format_time(copies.time),
        ring=format_time(ring.time),
        waits=format_time(hub.exposed),
        waits_ring=format_time(ring.exposed),
        sent=format_bytes(hub.sent_bytes[1]),
        sent_ring=format_bytes(ring.sent_bytes[1]),
        sent_copies=format_bytes(copies.sent_bytes[0]),
        full=format_bytes(sum(hub.memory.peak(0).values())),
        less=format_bytes(sum(hub.memory.peak(1).values())),
    )


LESSON = Lesson(
    notebook="12-data-parallel",
    exercises=("hub-bytes", "hub-is-enough"),
    sources={"0": "of GPU 0: its number", "1": "of DGX-1 and GPU 1: a name, a number"},
    sections=(Section("hub", _build_parallel_facts, right=1, view="logical"),),
)
