"""Collectives that begin when others have ended, and pauses that only take time: one run of the event engine over all
of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..dtypes import find_itemsize
from ..errors import CollsimError
from ..schedule import Schedule
from ..steps import HelperPlace
from ..topology import Topology
from ..units import parse_bytes
from .conditions import conditions, moment
from .event import spans
from .plan import Job, flow_job, pause_job, schedule_job, schedule_shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
#: Helpers on switches: how many, on which kind, and the ranks that they serve.
_Helpers: TypeAlias = tuple[int, HelperPlace, tuple[int, ...] | None]


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
        topology: with the helpers in their places.
    """

    begin: Floats
    end: Floats
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
    from .run import chunk_bytes

    if not launches:
        return OrderedRun(np.zeros(0), np.zeros(0), topology)
    on = [None if e.schedule is None else _ranks(e, e.schedule, topology) for e in launches]
    placed = [(e.schedule, e.ranks) for e in launches if e.schedule is not None]
    places = Places.of(topology, placed)
    shapes = {id(schedule): schedule_shape(schedule) for schedule, _ in placed}
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
            place = np.concatenate([on[number], places.helpers(entry.schedule, entry.ranks)])
            sizes = chunk_bytes(entry.schedule, parse_bytes(entry.nbytes), find_itemsize(dtype))
            made = schedule_job(entry.schedule, sizes, place, shape=shapes[id(entry.schedule)])
            jobs.append(replace(made, after=(pause,)))
            job = len(jobs) - 1
        pieces.append((pause, job))
    given = conditions(places.topology, {"background": background, "eager": eager})
    other = [] if given.background is None else [flow_job(given.background)]
    start, finish = spans([*jobs, *other], places.topology, replace(given, shortcuts=False))
    begin = start[[pause for pause, _ in pieces]]
    end = finish[[pause if job is None else job for pause, job in pieces]]
    return OrderedRun(begin, end, places.topology)


def _ranks(entry: Launch, schedule: Schedule, topology: Topology) -> Longs:
    """The ranks of the topology that an entry's schedule is on. Raises CollsimError."""
    ranks = np.arange(schedule.ranks) if entry.ranks is None else np.array(entry.ranks, np.int64)
    if (
        len(ranks) != schedule.ranks
        or len(np.unique(ranks)) != len(ranks)
        or not 0 <= ranks.min() <= ranks.max() < topology.ranks
    ):
        why = "ranks={ranks!r} must be {schedule_ranks} different ranks of {name}"
        raise CollsimError(why, ranks=entry.ranks, schedule_ranks=schedule.ranks, name=topology.name)
    return ranks


@dataclass(frozen=True, eq=False)
class Places:
    """Where the helpers of several schedules sit that may run at the same time.

    Attributes:
        topology: with all of them.
        hosts: the first endpoint of those on hosts, which all share.
        switches: the first endpoint of those on switches.
    """

    topology: Topology
    hosts: int
    switches: dict[_Helpers, int]

    @classmethod
    def of(cls, topology: Topology, placed: Sequence[tuple[Schedule, tuple[int, ...] | None]]) -> Places:
        """Places for schedules, each on ranks of the topology (its first ones where None). Raises TopologyError where a
        helper has no place."""
        hosts, served = 0, dict[_Helpers, Ints]()
        for schedule, ranks in placed:
            many = schedule.endpoints - schedule.ranks
            if many and schedule.helpers_on != "host":
                key: _Helpers = many, schedule.helpers_on, ranks
                if key not in served:
                    listed = np.arange(schedule.ranks) if ranks is None else ranks
                    wide = topology.with_helpers(many, schedule.helpers_on, listed)
                    served[key] = wide.endpoint_device[topology.ranks :][:many]
            else:
                hosts = max(hosts, many)
        wide, first = topology.with_helpers(hosts), topology.ranks + hosts
        devices, switches, known = [wide.endpoint_device[:first]], dict[_Helpers, int](), dict[bytes, int]()
        for key, own in served.items():
            if own.tobytes() not in known:
                known[own.tobytes()] = first
                devices.append(own)
                first += len(own)
            switches[key] = known[own.tobytes()]
        return cls(replace(wide, endpoint_device=np.concatenate(devices).astype(np.int32)), topology.ranks, switches)

    def helpers(self, schedule: Schedule, ranks: tuple[int, ...] | None) -> Longs:
        """(helpers,) endpoints of a schedule's helpers."""
        many = schedule.endpoints - schedule.ranks
        first = self.hosts
        if many and schedule.helpers_on != "host":
            first = self.switches[many, schedule.helpers_on, ranks]
        return np.arange(first, first + many)
