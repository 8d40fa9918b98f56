"""When every task of a step runs, where each collective takes as long as by itself."""

from __future__ import annotations

import numpy as np

from ...dtypes import Floats
from ..workload.step_graph import COMPUTE, Spans, TrainingStep
from .time_spans import find_slowed_end, insert_span


def time_alone(step: TrainingStep, seconds: Floats, interference: float) -> tuple[Floats, Floats]:
    """Time every task of a step where each collective takes as long as by itself. Each task starts when all it waits
    for have ended.

    Args:
        step: The step.
        seconds: (tasks,) s of each with nothing beside it.
        interference: Share of its speed by which a lane computes slower while it communicates, 0 to 1.

    Returns:
        (tasks,) s at which each begins, and ends.
    """
    begin: list[float] = []
    end: list[float] = []
    busy: list[Spans] = [[] for _ in step.lanes]
    boxes = [
        (streams, box.lanes, box.stream == COMPUTE, box.is_communication)
        for streams, box in zip(step.streams, step.tasks.boxes, strict=True)
    ]
    free = [0.0] * (1 + max([stream for streams in step.streams for stream in streams], default=-1))
    tasks = step.tasks
    for number, dependencies, spent in zip(tasks.box, tasks.dependencies, seconds.tolist(), strict=True):
        streams, lanes, computes, communicates = boxes[number]
        start = 0.0
        for stream in streams:
            if free[stream] > start:
                start = free[stream]
        for dependency in dependencies:
            if end[dependency] > start:
                start = end[dependency]
        stop = start + spent
        if interference and spent:
            # Each lane may be slowed by other collectives; the slowest of them ends the task.
            if computes:
                stop = max([find_slowed_end(start, spent, busy[lane], interference) for lane in lanes])
            elif communicates:
                for lane in lanes:
                    insert_span(busy[lane], start, stop)
        for stream in streams:
            free[stream] = stop
        begin.append(start)
        end.append(stop)
    return np.array(begin), np.array(end)
