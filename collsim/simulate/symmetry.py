"""When a barrier costs nothing: the event engine's times are then the lockstep engine's, and repeated steps are worked
out once.

The argument, by induction over the steps. If (1) in each step all transfers last equally long, and (2) each transfer
has a predecessor on its channel (at its source or its destination) in the step before, then all transfers of a step
start together, at the end of the step before. They really last that long without a barrier too: (3) where they share
links, all have the same latency and carry equally many bytes, so that the common rate bytes / (duration - alpha) fits
every link, fills one link of every route, and is thus max-min fair.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..schedule import Step
from ..topology import Topology
from .conditions import Conditions
from .lockstep import Timing, lockstep
from .paths import Paths, Slots, by_pairs, paths_of
from .plan import Job

_EQUAL = 1e-12


def in_step(job: Job, topology: Topology, given: Conditions) -> Timing | None:
    """The job's timing if it is provably that of the lockstep engine, else None."""
    schedule = job.schedule
    if schedule is None or schedule.depends is not None or given.sharing == "fifo" or given.overhead or given.injection:
        return None
    slots, patterns = Slots(job.slot_bytes), schedule.patterns
    for before, pattern in pairwise(patterns):
        if not _follows(before, pattern, job.channels):
            return None
    for group in by_pairs(patterns):
        paths = paths_of(topology, job.place[patterns[group[0]].src], job.place[patterns[group[0]].dst])
        for number in group:
            if not (
                slots.same_in_every_turn(patterns[number]) and _together(paths, patterns[number], slots, given.sharing)
            ):
                return None
    return (
        lockstep(schedule, topology, job.slot_bytes, job.place)
        .later(given.launch + float(np.max(job.begin)))
        ._replace(how="symmetry")
    )


def _follows(before: Step, step: Step, channels: int) -> bool:
    """Has each transfer of a step a predecessor on its channel in the step before?"""
    if before.src is step.src or (
        len(before) == len(step) and (before.src == step.src).all() and (before.channel == step.channel).all()
    ):
        return True
    sent = np.isin(
        step.src.astype(np.int64) * channels + step.channel, before.src.astype(np.int64) * channels + before.channel
    )
    received = np.isin(
        step.dst.astype(np.int64) * channels + step.channel, before.dst.astype(np.int64) * channels + before.channel
    )
    return bool((sent | received).all())


def _together(paths: Paths, step: Step, slots: Slots, sharing: str) -> bool:
    """Do all transfers of a step that start together end together, when links are shared as they are?"""
    nbytes = slots.moved(step)
    _, seconds = paths.load(nbytes)
    if np.ptp(seconds) > _EQUAL * seconds.max():
        return False
    if step.width == 1 and not paths.shared:
        return True
    if step.width > 1 and not slots.alike:
        return False
    return bool(sharing == "fair" and isinstance(nbytes, float) and np.ptp(paths.alpha) <= _EQUAL * paths.alpha.max())
