"""When every task of a step runs, where each collective takes as long as by itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..workload.step_graph import COMPUTE, Spans, TrainingStep
from .time_spans import find_slowed_end, insert_span

Floats = npt.NDArray[np.float64]


def time_alone(step: TrainingStep, seconds: Floats, interference: float) -> tuple[Floats, Floats]:
    """Begin and end of each task, s. Each starts when all it waits for have ended; while a lane communicates, it
    computes by `interference` slower.

    Args:
        seconds: (tasks,) of each with nothing beside it.
    """
    begin: list[float] = []
    end: list[float] = []
    busy: list[Spans] = [[] for _ in step.lanes]
    for task, before, spent in zip(step.tasks, step.predecessors, seconds.tolist(), strict=True):
        start = max([end[b] for b in before]) if before else 0.0
        stop = start + spent
        if interference and task.stream == COMPUTE:
            stop = max(find_slowed_end(start, spent, busy[lane], interference) for lane in task.lanes)
        elif interference and task.is_communication and spent:
            for lane in task.lanes:
                insert_span(busy[lane], start, stop)
        begin.append(start)
        end.append(stop)
    return np.array(begin), np.array(end)
