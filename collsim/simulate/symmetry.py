"""When a barrier costs nothing: the event engine's times are then the lockstep engine's, and steps that
repeat are computed once.

The argument, by induction over the steps. If (1) in each step all transfers last equally long, and (2) each transfer
has a predecessor on its channel (at its source or its destination) in the step before, then all transfers of a step
start together, at the end of the step before. They really last that long without a barrier too: (3) where they share
links, all have the same latency and carry equally many bytes, so that the common rate bytes / (duration - alpha) fits
every link, fills one link of every route, and is thus max-min fair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..steps import Step
from ..topology import Topology
from .conditions import Conditions
from .event_layout import Job
from .lockstep import Timing, run_lockstep
from .paths import Paths, Slots, find_paths, group_by_pairs

#: Part of a time by which equal ones may differ, since their sums were rounded in another order.
_EQUAL = 1e-12


def time_by_symmetry(job: Job, topology: Topology, conditions: Conditions) -> Timing | None:
    """The job's timing if it is provably that of the lockstep engine, else None.

    Args:
        job: Without an explicit schedule there is nothing to prove.
        topology: With its helpers placed.
        conditions: FIFO links, an overhead or an injection limit rule the shortcut out.
    """
    schedule = job.schedule
    if (
        schedule is None
        or schedule.depends is not None
        or conditions.sharing == "fifo"
        or conditions.overhead
        or conditions.injection
    ):
        return None
    # Where all of this holds, a step begins everywhere at once, and barriers change nothing.
    if not all(_has_predecessors(before, pattern, job.channels) for before, pattern in pairwise(schedule.patterns)):
        return None
    if not _has_equal_repetitions(job, schedule.patterns, topology, conditions.sharing):
        return None
    timing = run_lockstep(schedule, topology, job.slot_bytes, job.placement)
    return timing.delay(conditions.launch + float(np.max(job.begin)))._replace(how="symmetry")


def _has_equal_repetitions(job: Job, patterns: Sequence[Step], topology: Topology, sharing: str) -> bool:
    """Does each pattern move the same bytes in every turn, and do all its transfers end together?"""
    slots = Slots(job.slot_bytes)
    for group in group_by_pairs(patterns):
        paths = find_paths(topology, job.placement[patterns[group[0]].src], job.placement[patterns[group[0]].dst])
        for pattern in (patterns[number] for number in group):
            if not (slots.has_equal_repetitions(pattern) and _ends_together(paths, pattern, slots, sharing)):
                return False
    return True


def _has_predecessors(before: Step, step: Step, channels: int) -> bool:
    """Has each transfer of a step a predecessor on its channel in the step before?"""
    # The same array is the usual case (a pattern that goes on), and saves comparing a million rows.
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


def _ends_together(paths: Paths, step: Step, slots: Slots, sharing: str) -> bool:
    """Do all transfers of a step that start together end together, when links are shared as they are?"""
    nbytes = slots.count_bytes(step)
    _, seconds = paths.load(nbytes)
    if np.ptp(seconds) > _EQUAL * seconds.max():
        return False
    if step.width == 1 and not paths.has_shared_links:
        return True
    if step.width > 1 and not slots.is_uniform:
        return False
    # Shared links: condition (3) of the argument above, equal bytes and equal latency.
    return bool(sharing == "fair" and isinstance(nbytes, float) and np.ptp(paths.alpha) <= _EQUAL * paths.alpha.max())
