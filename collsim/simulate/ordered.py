"""Collectives that begin when others have ended, and delays that only take time: one run of the event engine over all
of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..dtypes import Floats, Ints, Longs, find_itemsize
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..schedule import Schedule
from ..steps import HelperLocation
from ..topology import Topology
from ..topology.parts.shared_gpus import refuse_shared_gpus
from ..units import DataType, parse_bytes
from .conditions import Background, parse_conditions, parse_moment
from .event import find_spans
from .event_layout import Job, build_delay_job, build_flow_job, build_schedule_job, build_shape

#: Helpers on switches: how many, on which kind, and the ranks that they serve.
_Helpers: TypeAlias = tuple[int, HelperLocation, tuple[int, ...] | None]


@dataclass(frozen=True, eq=False)
class Launch:
    """One entry of an ordered run: a delay, a collective, or a collective behind a delay.

    Attributes:
        after: numbers of entries, all before this one, that must have ended before it begins.
        seconds: of the delay.
        schedule: None for a delay alone.
        nbytes: nccl-tests' size in bytes.
        ranks: of the topology, one for each of the schedule's; the first ones unless given.

    Examples:
        >>> import collsim as cs
        >>> from collsim.simulate import Launch, simulate_ordered
        >>> ring = cs.schedule("allreduce_ring", ranks=4)
        >>> launches = [Launch(seconds=1e-3), Launch(after=(0,), schedule=ring, nbytes=2**20)]
        >>> simulate_ordered(launches, cs.topology.switch(4)).begin.tolist()
        [0.0, 0.001]
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
        begin: (entries,) s.
        end: (entries,) s; an entry's delay is part of its time.
        topology: with the helpers in their places.

    Examples:
        >>> import collsim as cs
        >>> from collsim.simulate import Launch, simulate_ordered
        >>> run = simulate_ordered([Launch(seconds=1e-3), Launch(after=(0,), seconds=2e-3)], cs.topology.switch(4))
        >>> run.end.tolist()
        [0.001, 0.003]
    """

    begin: Floats
    end: Floats
    topology: Topology


@check_arguments
def simulate_ordered(
    launches: Sequence[Launch],
    topology: Topology,
    dtype: DataType = "float32",
    *,
    background: Background | None = None,
    eager: bool = False,
) -> OrderedRun:
    """Run entries on one network with max-min fair links: each begins when those it waits for have ended, and shares
    links with whatever else is under way. Helpers (parameter servers) of the same kind are the same endpoints for all
    entries.

    Args:
        launches: the entries.
        topology: the network that they share.
        dtype: type of an element; chunks are cut between elements.
        background: other traffic: rows (src rank, dst rank, nbytes) or (..., start in s).
        eager: as in `simulate`.

    Returns:
        When each entry began and ended.

    Raises:
        CollsimError: for entries that wait for later ones, and as `simulate`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.simulate import Launch, simulate_ordered
        >>> ring = cs.schedule("allreduce_ring", ranks=4)
        >>> launches = [Launch(schedule=ring, nbytes=2**20), Launch(after=(0,), schedule=ring, nbytes=2**20)]
        >>> run = simulate_ordered(launches, cs.topology.switch(4))
        >>> bool(run.begin[1] == run.end[0])
        True
    """
    if not launches:
        return OrderedRun(np.zeros(0), np.zeros(0), topology)
    ranks = [None if e.schedule is None else _parse_ranks(e, e.schedule, topology) for e in launches]
    placement = HelperPlacement.build(topology, [(e.schedule, e.ranks) for e in launches if e.schedule is not None])
    jobs, first, last = _build_jobs(launches, ranks, placement, find_itemsize(dtype))
    conditions = parse_conditions(placement.topology, {"background": background, "eager": eager})
    other = []
    if conditions.background is not None:
        other = [build_flow_job(conditions.background)]
    start, finish = find_spans([*jobs, *other], placement.topology, replace(conditions, shortcuts=False))
    return OrderedRun(start[first], finish[last], placement.topology)


def _build_jobs(
    launches: Sequence[Launch], ranks: Sequence[Longs | None], placement: HelperPlacement, itemsize: int
) -> tuple[list[Job], list[int], list[int]]:
    """The jobs of all entries, and of each entry the numbers of its first and its last one: a delay, a schedule or
    both. Raises CollsimError."""
    from .run import compute_slot_bytes

    shapes = {id(e.schedule): build_shape(e.schedule) for e in launches if e.schedule is not None}
    known_sizes: dict[tuple[int, int], Longs] = {}  # of slots: most messages of a program have one of a few sizes
    jobs: list[Job] = []
    first: list[int] = []
    last: list[int] = []
    for number, entry in enumerate(launches):
        if any(not 0 <= other < number for other in entry.after):
            message = "entry {number} waits for {after}; entries can only wait for those before them"
            raise CollsimError(message, number=number, after=entry.after)
        seconds = parse_moment("seconds", entry.seconds)
        schedule, after = entry.schedule, tuple(last[other] for other in entry.after)
        if schedule is not None and not shapes[id(schedule)].rows:
            schedule = None  # one without transfers takes no time
        first.append(len(jobs))
        if seconds or schedule is None:
            jobs.append(build_delay_job(seconds, after))
            after = (len(jobs) - 1,)
        if schedule is not None:
            endpoints = np.concatenate([ranks[number], placement.find_helpers(schedule, entry.ranks)])
            size = id(schedule), parse_bytes(entry.nbytes)
            if size not in known_sizes:
                known_sizes[size] = compute_slot_bytes(schedule, size[1], itemsize)
            shape = shapes[id(schedule)]
            jobs.append(build_schedule_job(schedule, known_sizes[size], endpoints, after=after, shape=shape))
        last.append(len(jobs) - 1)
    return jobs, first, last


def _parse_ranks(entry: Launch, schedule: Schedule, topology: Topology) -> Longs:
    """The ranks of the topology that an entry's schedule is on. Raises CollsimError."""
    if entry.ranks is None:
        ranks = np.arange(schedule.ranks)
    else:
        ranks = np.array(entry.ranks, np.int64)
    refuse_shared_gpus(topology, ranks.tolist())
    if len(ranks) != schedule.ranks or not 0 <= ranks.min() <= ranks.max() < topology.ranks:
        message = "ranks={ranks!r} must be {schedule_ranks} different ranks of {name}"
        raise CollsimError(message, ranks=entry.ranks, schedule_ranks=schedule.ranks, name=topology.name)
    return ranks


@dataclass(frozen=True, eq=False)
class HelperPlacement:
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
    def build(cls, topology: Topology, schedules: Sequence[tuple[Schedule, tuple[int, ...] | None]]) -> HelperPlacement:
        """Choose where the helpers of schedules sit.

        Args:
            topology: Without helpers.
            schedules: Each with the ranks of the topology that it runs on; None stands for the first ones.

        Raises:
            TopologyError: A helper has no place: no host, or no switch that reduces.
        """
        hosts, served = 0, dict[_Helpers, Ints]()
        for schedule, ranks in schedules:
            many = schedule.endpoints - schedule.ranks
            if many and schedule.helpers_on != "host":
                # Schedules with equal needs share their switches: a switch reduces for many groups.
                key: _Helpers = many, schedule.helpers_on, ranks
                if key not in served:
                    listed = np.arange(schedule.ranks) if ranks is None else ranks
                    wide = topology.with_helpers(many, schedule.helpers_on, listed)
                    served[key] = wide.endpoint_device[topology.ranks :][:many]
            else:
                # Host helpers of schedules do not run at the same place: the largest number of them is enough.
                hosts = max(hosts, many)
        wide, first = topology.with_helpers(hosts), topology.ranks + hosts
        devices, switches, known = [wide.endpoint_device[:first]], dict[_Helpers, int](), dict[bytes, int]()
        # Different requests may get the same devices; these stand once in the list.
        for key, devices_of_key in served.items():
            if devices_of_key.tobytes() not in known:
                known[devices_of_key.tobytes()] = first
                devices.append(devices_of_key)
                first += len(devices_of_key)
            switches[key] = known[devices_of_key.tobytes()]
        return cls(replace(wide, endpoint_device=np.concatenate(devices).astype(np.int32)), topology.ranks, switches)

    def find_helpers(self, schedule: Schedule, ranks: tuple[int, ...] | None) -> Longs:
        """(helpers,) endpoints of a schedule's helpers.

        Args:
            schedule: One of those that `build` was called with.
            ranks: Those it runs on, as they were given to `build`.

        Returns:
            (helpers,) numbers of endpoints of the placement's topology.
        """
        many = schedule.endpoints - schedule.ranks
        first = self.hosts
        if many and schedule.helpers_on != "host":
            first = self.switches[many, schedule.helpers_on, ranks]
        return np.arange(first, first + many)
