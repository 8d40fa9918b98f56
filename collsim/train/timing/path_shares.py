"""Which collectives make a step longer than it would be on a network that costs nothing, and by how many seconds each.

With all collectives scaled by a factor from 0 (a network that costs nothing) to 1 (the step as it is), the time of the
step is the largest of many straight lines: of each path through its tasks, the computing on it plus the factor times
the collectives on it. The slope is therefore the collectives on the longest path, and its integral from 0 to 1 is what
the network costs. A collective's share is its part of that integral (the value of Aumann and Shapley 1974), so the
shares add up to the whole.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from ...dtypes import Floats
from ..workload.step_graph import TrainingStep

#: Longest paths that are looked for: at most so many, and so many tasks in all of them. Where the time has more corners
#: than that, the shares still add up; only how neighbouring collectives divide them is less exact.
_MAX_PATHS, _MAX_TASKS = 64, 2_000_000
#: Part of the time by which two lines may differ that meet: rounding.
_ROUNDED = 1e-12


class _PathTime(NamedTuple):
    """The time of a step whose collectives are scaled by `factor`, the collectives on its longest path, and the sum of
    their seconds (unscaled)."""

    factor: float
    time: float
    collectives: list[int]
    slope: float


def share_network_time(step: TrainingStep, seconds: Floats) -> Floats:
    """Seconds by which each collective makes a step longer, if its tasks take so long and nothing slows computing.

    Args:
        step: The tasks and what each waits for.
        seconds: (tasks,) s of each.

    Returns:
        (tasks,) s, 0 for computing; the sum is the time of the step less its time with collectives that take no time.
    """
    shares = np.zeros(len(step.tasks))
    first, last = (_find_longest_path(step, seconds, factor) for factor in (0.0, 1.0))
    paths_left = max(2, min(_MAX_PATHS, _MAX_TASKS // max(1, len(step.tasks))))
    intervals = deque([(first, last)])
    while intervals:
        low, high = intervals.popleft()
        # The time is convex in the factor. If the longest path at the corner of two known lines is on those lines,
        # there is no line above them in between; else it is a new line that splits the interval.
        corner = _find_corner(low, high)
        if paths_left and low.factor < corner < high.factor:
            paths_left -= 1
            middle = _find_longest_path(step, seconds, corner)
            if middle.time > low.time + low.slope * (corner - low.factor) + _ROUNDED * last.time:
                intervals += [(low, middle), (middle, high)]
                continue
        for path, width in ((low, corner - low.factor), (high, high.factor - corner)):
            shares[path.collectives] += width * seconds[path.collectives]
    return shares


def _find_corner(low: _PathTime, high: _PathTime) -> float:
    """The factor at which the line of one path meets the line of another."""
    # Parallel lines are one line: there is no longer path in between.
    if high.slope <= low.slope:
        return high.factor
    corner = (low.time - low.slope * low.factor - high.time + high.slope * high.factor) / (high.slope - low.slope)
    return min(max(corner, low.factor), high.factor)


def _find_longest_path(step: TrainingStep, seconds: Floats, factor: float) -> _PathTime:
    """The path that decides the time where collectives are scaled by a factor."""
    # Dynamic programming over the order of tasks: the latest end of those before a task is when it begins.
    network = np.array([not task.is_compute for task in step.tasks], bool)
    scaled = np.where(network, factor * seconds, seconds).tolist()
    ends: list[float] = []
    latest: list[int] = []
    # Tasks are listed behind those that they wait for, so one pass in their order is enough.
    for before, spent in zip(step.predecessors, scaled, strict=True):
        previous = max(before, key=ends.__getitem__, default=-1)
        latest.append(previous)
        if previous >= 0:
            spent += ends[previous]
        ends.append(spent)
    if not ends:
        return _PathTime(factor, 0.0, [], 0.0)
    collectives: list[int] = []
    # Back from the task that ends last, each time to the task whose end it waited for.
    number = ends.index(max(ends))
    time = ends[number]
    while number >= 0:
        if network[number]:
            collectives.append(number)
        number = latest[number]
    return _PathTime(factor, time, collectives, float(seconds[collectives].sum()))
