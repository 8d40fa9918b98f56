"""When a barrier costs nothing: the event engine's times are then the lockstep engine's, and repeated steps are worked out once.

The argument, by induction over the steps. If (1) in each step all transfers last equally long, and (2) each transfer has a
predecessor on its channel (at its source or its destination) in the step before, then all transfers of a step start together, at the
end of the step before. They really last that long without a barrier too: (3) where they share links, all have the same latency and
carry equally many bytes, so that the common rate bytes / (duration - alpha) fits every link, fills one link of every route, and is
thus max-min fair.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from ..schedule import Step
from ..topology import Topology
from .conditions import Conditions
from .lockstep import Paths, Timing, alike, lockstep, paths_of
from .plan import Job

_EQUAL = 1e-12


def in_step(job: Job, topology: Topology, given: Conditions) -> Timing | None:
    """The job's timing if it is provably that of the lockstep engine, else None."""
    schedule = job.schedule
    if schedule is None or schedule.depends is not None or given.sharing == "fifo" or given.overhead or given.injection:
        return None
    sizes = job.slot_bytes.astype(np.float64)
    known: OrderedDict[bytes, Paths] = OrderedDict()
    before: Step | None = None
    for pattern in schedule.patterns:
        if before is not None and not _follows(before, pattern, job.channels):
            return None
        if pattern.times > 1 and not alike(pattern, sizes):
            return None
        paths = paths_of(topology, job.place[pattern.src], job.place[pattern.dst], known)
        if not _together(paths, sizes[pattern.chunk], given.sharing):
            return None
        before = pattern
    return lockstep(schedule, topology, job.slot_bytes, job.place).later(given.launch + float(np.max(job.begin)))._replace(how="symmetry")


def _follows(before: Step, step: Step, channels: int) -> bool:
    """Has each transfer of a step a predecessor on its channel in the step before?"""
    if before.src is step.src or (len(before) == len(step) and (before.src == step.src).all() and (before.channel == step.channel).all()):
        return True
    sent = np.isin(step.src.astype(np.int64) * channels + step.channel, before.src.astype(np.int64) * channels + before.channel)
    received = np.isin(step.dst.astype(np.int64) * channels + step.channel, before.dst.astype(np.int64) * channels + before.channel)
    return bool((sent | received).all())


def _together(paths: Paths, nbytes: npt.NDArray[np.float64], sharing: str) -> bool:
    """Do all transfers of a step that start together end together, when links are shared as they are?"""
    _, seconds = paths.load(nbytes)
    if np.ptp(seconds) > _EQUAL * seconds.max():
        return False
    if not len(paths.place) or np.bincount(paths.place).max() == 1:
        return True
    return bool(sharing == "fair" and np.ptp(nbytes) == 0 and np.ptp(paths.alpha) <= _EQUAL * paths.alpha.max())
