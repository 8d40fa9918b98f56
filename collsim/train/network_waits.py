"""What the network costs a step: for which collectives GPUs wait, and how much of it is interference."""

from __future__ import annotations

from dataclasses import dataclass

from .step_trace import StepTrace


@dataclass(frozen=True)
class NetworkWait:
    """Collectives of one strategy, kind and size, and how long GPUs wait for them.

    Attributes:
        strategy: tensor, context, expert, pipeline or data.
        seconds: s by which they make the step longer, apart from interference.
        seconds_each: s that one of them takes, the mean.
        tasks: Their numbers.
    """

    strategy: str
    seconds: float
    seconds_each: float
    tasks: tuple[int, ...]


def list_network_waits(trace: StepTrace) -> list[NetworkWait]:
    """List for which collectives of a step GPUs wait.

    Args:
        trace: The step as it ran.

    Returns:
        The collectives by strategy, kind and size, those first that GPUs wait longest for.
    """
    step = trace.step
    tasks_by_kind: dict[tuple[str, str, int], list[int]] = {}
    for i in step.collectives:
        task = step.tasks[i]
        tasks_by_kind.setdefault((task.strategy, task.kind, task.nbytes), []).append(i)
    waits = [_sum_waits(trace, strategy, tasks) for (strategy, _, _), tasks in tasks_by_kind.items()]
    return sorted(waits, key=lambda wait: -wait.seconds)


def list_exposed_parts(trace: StepTrace) -> list[dict[str, object]]:
    """List what the network costs a step.

    Args:
        trace: The step as it ran.

    Returns:
        The rows of `StepTrace.split_exposed`.
    """
    step = trace.step
    tasks_by_kind: dict[tuple[str, str, int, tuple[int, ...]], list[int]] = {}
    for i in step.collectives:
        task = step.tasks[i]
        # Collectives that differ in nothing but their moment are one row: nobody reads 400 buckets.
        tasks_by_kind.setdefault((task.strategy, task.kind, task.nbytes, step.get_ranks(task)), []).append(i)
    rows: list[tuple[float, dict[str, object]]] = []
    for (strategy, kind, nbytes, ranks), tasks in tasks_by_kind.items():
        wait = _sum_waits(trace, strategy, tasks)
        row = {
            "strategy": strategy,
            "kind": kind,
            "nbytes": nbytes,
            "ranks": ranks,
            "groups": len(step.get_groups(step.tasks[tasks[0]])),
            "count": sum(step.tasks[i].repeats for i in tasks),
            "each": wait.seconds_each,
            "exposed": wait.seconds,
        }
        rows.append((wait.seconds, row))
    rows.sort(key=lambda item: -item[0])
    slowed = {"strategy": "interference", "kind": "", "nbytes": 0, "ranks": (), "groups": 0, "count": 0, "each": 0.0}
    return [*(row for _, row in rows), {**slowed, "exposed": trace.interference_time}]


def _sum_waits(trace: StepTrace, strategy: str, tasks: list[int]) -> NetworkWait:
    waits = trace.waits
    duration = sum(float(trace.end[i] - trace.begin[i]) for i in tasks)
    count = sum(trace.step.tasks[i].repeats for i in tasks)
    return NetworkWait(strategy, float(sum(waits[i] for i in tasks)), duration / count, tuple(tasks))
