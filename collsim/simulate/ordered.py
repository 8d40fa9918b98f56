"""Collectives that begin when others have ended, and pauses that only take time: one run of the event engine over all
of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import itemsize
from ..errors import CollsimError
from ..schedule import Schedule
from ..topology import Topology
from ..units import parse_bytes
from .conditions import conditions, moment
from .event import event
from .lockstep import Timing
from .plan import Job, flow_job, pause_job, schedule_job

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Launch:
    """One entry of an ordered run: a pause, a collective, or a collective behind a pause.

    Attributes:
        after: numbers of entries, all before this one, that must have ended before it begins.
        seconds: of the pause. schedule: None for a pause alone.
        nbytes: nccl-tests' size in bytes. ranks: of the topology, one for each of the schedule's; the first ones unless
            given.
    """

    after: tuple[int, ...] = ()
    seconds: float = 0.0
    schedule: Schedule | None = None
    nbytes: int = 0
    ranks: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class OrderedRun:
    """When the entries of an ordered run took place.

    Attributes:
        begin, end: (entries,) s; an entry's pause is part of it.
        timings: of each entry's schedule; None for a pause alone.
        topology: with the helpers in their places.
    """

    begin: Floats
    end: Floats
    timings: list[Timing | None]
    topology: Topology


def simulate_ordered(
    launches: Sequence[Launch],
    topology: Topology,
    dtype: Any = "float32",
    *,
    background: Any = None,
    eager: bool = False,
) -> OrderedRun:
    """Run entries on one network with max-min fair links: each begins when those it waits for have ended, and shares
    links with whatever else is under way. Helpers (parameter servers) of the same kind are the same endpoints for all
    entries.

    Args:
        background: other traffic: rows (src rank, dst rank, nbytes) or (..., start in s). eager: as in `simulate`.

    Raises CollsimError for entries that wait for later ones, and as `simulate`.
    """
    if not launches:
        return OrderedRun(np.zeros(0), np.zeros(0), [], topology)
    wide, hosts, switches = _with_helpers(
        topology, [entry.schedule for entry in launches if entry.schedule is not None]
    )
    jobs: list[Job] = []
    pieces: list[tuple[int, int | None]] = []  # of each entry the numbers of its pause and its schedule
    for number, entry in enumerate(launches):
        if any(not 0 <= other < number for other in entry.after):
            why = "entry {number} waits for {after}; entries can only wait for those before them"
            raise CollsimError(why, number=number, after=entry.after)
        seconds = moment("seconds", entry.seconds)
        jobs.append(pause_job(seconds, tuple(pieces[a][1] or pieces[a][0] for a in entry.after)))
        pause, job = len(jobs) - 1, None
        if entry.schedule is not None and len(entry.schedule):
            first = switches if entry.schedule.helpers_on == "switch" else hosts
            jobs.append(_placed(entry, entry.schedule, topology, first, dtype, pause))
            job = len(jobs) - 1
        pieces.append((pause, job))
    given = conditions(wide, {"background": background, "eager": eager})
    other = [] if given.background is None else [flow_job(given.background)]
    timings = event([*jobs, *other], wide, replace(given, shortcuts=False))
    begin = [timings[pause].step_start[0] for pause, _ in pieces]
    end = [timings[pause if job is None else job].step_end.max() for pause, job in pieces]
    own = [None if job is None else timings[job] for _, job in pieces]
    return OrderedRun(np.array(begin), np.array(end), own, wide)


def _placed(entry: Launch, schedule: Schedule, topology: Topology, helper: int, dtype: Any, pause: int) -> Job:
    """The job of an entry's schedule, behind its pause."""
    from .run import chunk_bytes

    ranks = np.arange(schedule.ranks) if entry.ranks is None else np.array(entry.ranks, np.int64)
    if (
        len(ranks) != schedule.ranks
        or len(np.unique(ranks)) != len(ranks)
        or not 0 <= ranks.min() <= ranks.max() < topology.ranks
    ):
        why = "ranks={ranks!r} must be {schedule_ranks} different ranks of {name}"
        raise CollsimError(why, ranks=entry.ranks, schedule_ranks=schedule.ranks, name=topology.name)
    place = np.concatenate([ranks, helper + np.arange(schedule.endpoints - schedule.ranks)]).astype(np.int64)
    sizes = chunk_bytes(schedule, parse_bytes(entry.nbytes), itemsize(dtype))
    return replace(schedule_job(schedule, sizes, place), after=(pause,))


def _with_helpers(topology: Topology, schedules: Sequence[Schedule]) -> tuple[Topology, int, int]:
    """The topology with as many helpers of each kind as any schedule needs; the first host's endpoint, the first
    switch's."""
    most = {
        on: max((s.endpoints - s.ranks for s in schedules if s.helpers_on == on), default=0)
        for on in ("host", "switch")
    }
    switched = topology.with_helpers(most["switch"], on="switch") if most["switch"] else topology
    if len(switched.devices) > len(topology.devices):  # no switch here that reduces: hosts do it
        return topology.with_helpers(max(most.values())), topology.ranks, topology.ranks
    wide = topology.with_helpers(most["host"])
    first = topology.ranks + most["host"]
    devices = np.concatenate([wide.endpoint_device[:first], switched.endpoint_device[topology.ranks :]])
    return replace(wide, endpoint_device=devices.astype(np.int32)), topology.ranks, first
