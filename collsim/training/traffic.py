"""Bytes that ranks send in a step, by the schedules of its collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..simulate.paths import Slots
from ..simulate.run import chunk_bytes
from .workload.collectives import Collectives
from .workload.step import StepTask, TrainingStep

if TYPE_CHECKING:
    from ..schedule import Schedule
    from ..topology import Topology
    from .run import Request


Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def sent(step: TrainingStep, topology: Topology, request: Request) -> dict[int, int]:
    """Bytes that each rank of the topology sends; a parameter server on a host of its own is no rank."""
    network, out = (
        Collectives(topology, request.collectives, request.algorithm),
        {rank: 0 for lane in step.lanes for rank in lane},
    )
    often: dict[Any, tuple[StepTask, int]] = {}
    for i in step.collectives:
        task = step.tasks[i]
        key = id(task.groups) if task.groups else step.group(task), task.kind, task.nbytes, task.algorithm, task.options
        often[key] = task, task.times + (often[key][1] if key in often else 0)
    for task, times in often.values():
        for group in step.groups(task):
            for rank, nbytes in zip(group, sent_by(network.plan(group, task), task.nbytes), strict=False):
                out[rank] += times * nbytes
    return out


def sent_by(plan: Schedule, nbytes: int, item: int = 4) -> list[int]:
    """Bytes that each endpoint of a schedule sends, of a buffer of so many bytes."""
    src, _, moved = sent_by_pairs(plan, nbytes, item)
    return [round(v) for v in np.bincount(src, weights=moved, minlength=plan.endpoints)]


def sent_by_pairs(plan: Schedule, nbytes: int, item: int = 4) -> tuple[Longs, Longs, Floats]:
    """(pairs,) senders, receivers and bytes: each pair of endpoints once."""
    slots, ends = Slots(chunk_bytes(plan, nbytes, item)), plan.endpoints
    total: dict[int, float] = {}
    for step in plan.each_step():
        away = step.src != step.dst
        moved = np.broadcast_to(slots.moved(step), len(step))[away]
        pairs, place = np.unique(step.src[away].astype(np.int64) * ends + step.dst[away], return_inverse=True)
        for pair, size in zip(pairs.tolist(), np.bincount(place, weights=moved).tolist(), strict=True):
            total[pair] = total.get(pair, 0.0) + size
    listed = np.array(list(total), dtype=np.int64)
    return listed // ends, listed % ends, np.array(list(total.values()))
