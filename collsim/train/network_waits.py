"""What GPUs wait for: of the time in which they communicate and do not compute, the collectives that are under way."""

from __future__ import annotations

from dataclasses import dataclass

from .step_trace import StepTrace
from .timing import intersect_spans, measure_spans


@dataclass(frozen=True)
class NetworkWait:
    """Collectives of one way of splitting, kind and size.

    Attributes:
        way: tensor, context, expert, pipeline or data. seconds: that a GPU waits while one of them is under way, the
            mean over GPUs. each: s that one of them takes, the mean. tasks: their numbers.
    """

    strategy: str
    seconds: float
    seconds_each: float
    tasks: tuple[int, ...]


def list_network_waits(trace: StepTrace) -> list[NetworkWait]:
    """The collectives of a step by way of splitting, kind and size, those first that GPUs wait longest for."""
    step = trace.step
    alike: dict[tuple[str, str, int], list[int]] = {}
    for i in step.collectives:
        task = step.tasks[i]
        alike.setdefault((task.strategy, task.kind, task.nbytes), []).append(i)
    out = []
    for (way, _, _), tasks in alike.items():
        seconds = sum(_seconds(trace, i) for i in tasks) / step.ranks
        took = sum(float(trace.end[i] - trace.begin[i]) for i in tasks)
        out.append(NetworkWait(way, seconds, took / sum(step.tasks[i].repeats for i in tasks), tuple(tasks)))
    return sorted(out, key=lambda found: -found.seconds)


def _seconds(trace: StepTrace, number: int) -> float:
    """Seconds that GPUs wait while a collective is under way, all GPUs together."""
    span = [(float(trace.begin[number]), float(trace.end[number]))]
    lanes = trace.step.tasks[number].lanes
    return sum(
        measure_spans(intersect_spans(trace.exposed_spans[lane], span)) * len(trace.step.lanes[lane]) for lane in lanes
    )
