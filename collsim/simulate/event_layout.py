"""What the event engine runs on: several schedules and flows laid out as one numbering of endpoints, queues, slots and
routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..dtypes import Floats, Ints, Longs
from ..errors import ScheduleError
from ..schedule import Schedule
from ..steps import Step
from ..topology import Routes, Topology
from .conditions import Conditions, Flows

if TYPE_CHECKING:
    from .kernels.kernel_records import Records


@dataclass(frozen=True, eq=False)
class JobShape:
    """What jobs of one schedule have in common, wherever they are placed and whatever they carry.

    Attributes:
        patterns: The steps of the schedule.
        endpoints: How many endpoints it has.
    """

    patterns: tuple[Step, ...]
    endpoints: int

    @cached_property
    def rows(self) -> int:
        return sum(p.transfers for p in self.patterns)

    @cached_property
    def singles(self) -> tuple[Step, ...]:
        """The patterns with a row for every transfer; those that repeat still do."""
        return tuple(p if p.times > 1 else p.repetition(0) for p in self.patterns)

    @cached_property
    def step_rows(self) -> Longs:
        """First row of each step."""
        if not self.patterns:
            return np.zeros(0, np.int64)
        sizes = np.concatenate([np.full(p.times, len(p) * p.width) for p in self.patterns])
        return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    @cached_property
    def distinct(self) -> tuple[list[Ints], Longs, Longs]:
        """For each pattern the route ids of its rows; and the pairs that the ids stand for."""
        seen: dict[bytes, int] = {}
        keys: list[Longs] = []
        which = []
        for p in self.singles:
            # Steps of one schedule mostly have the same pairs (all of a ring do): each set is looked up once, because
            # sorting the pairs of every step takes longer than a run.
            name = p.src.tobytes() + p.dst.tobytes()
            if name not in seen:
                seen[name] = len(keys)
                keys.append(p.src.astype(np.int64) * self.endpoints + p.dst)
            which.append(seen[name])
        if not keys:
            return [], np.zeros(0, np.int64), np.zeros(0, np.int64)
        pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        parts = np.split(inverse.ravel().astype(np.int32), np.cumsum([len(k) for k in keys])[:-1])
        return [parts[w] for w in which], pairs // self.endpoints, pairs % self.endpoints


@dataclass(frozen=True, eq=False)
class Job:
    """One schedule of a run, or background flows.

    Attributes:
        shape: what it has in common with other jobs of the same schedule.
        slots: slots per endpoint.
        channels: channels per endpoint; transfers of different ones do not wait for each other.
        placement: (endpoints of the job,) the topology's endpoint of each.
        slot_bytes: (slots,) bytes; for flows (rows,).
        begin: s, when it is launched; for flows (endpoints,).
        schedule: what it runs; None for flows and delays.
        after: numbers of jobs of the run, all before this one, that must have ended before it begins.
        delay: s, how long its only row takes, where it is one that only takes time; 0 for all others.
    """

    shape: JobShape
    slots: int
    channels: int
    placement: Longs
    slot_bytes: Longs
    begin: float | Floats = 0.0
    schedule: Schedule | None = None
    after: tuple[int, ...] = ()
    delay: float = 0.0

    @property
    def patterns(self) -> tuple[Step, ...]:
        return self.shape.patterns

    @property
    def endpoints(self) -> int:
        return self.shape.endpoints

    @property
    def rows(self) -> int:
        return self.shape.rows

    @property
    def singles(self) -> tuple[Step, ...]:
        return self.shape.singles

    @property
    def step_rows(self) -> Longs:
        return self.shape.step_rows

    @property
    def slot_stride(self) -> int:
        """From a slot of an endpoint to the same of the next, in the common numbering. Odd: if it were a power of two,
        a step that looks at one slot of each endpoint would find them all in the same few places of the cache."""
        return self.slots | 1


def build_shape(schedule: Schedule) -> JobShape:
    """What jobs of a schedule have in common."""
    return JobShape(schedule.patterns, schedule.endpoints)


def build_schedule_job(
    schedule: Schedule,
    slot_bytes: Longs,
    placement: Longs,
    begin: float = 0.0,
    after: tuple[int, ...] = (),
    shape: JobShape | None = None,
) -> Job:
    """A schedule with its ranks on the endpoints `placement`; `shape`: its own, where that is known."""
    shape = shape or build_shape(schedule)
    return Job(shape, schedule.slots, schedule.channels, placement, slot_bytes, begin, schedule, after)


def build_flow_job(flows: Flows) -> Job:
    """The job that flows make: each has two endpoints of its own, so that none waits for another.

    Args:
        flows: May be empty.
    """
    n = len(flows)
    i = np.arange(n, dtype=np.int32)
    zero = np.zeros(n, np.int32)
    step = Step(i, i + np.int32(n), zero, zero, np.zeros(n, bool), zero)
    placement = np.concatenate([flows.src, flows.dst])
    shape = JobShape((step,) if n else (), 2 * n)
    return Job(shape, 1, 1, placement, flows.nbytes, np.concatenate([flows.start, flows.start]))


@cache
def _build_delay_shape() -> JobShape:
    zero = np.zeros(1, np.int32)
    return JobShape((Step(zero, zero, zero, zero, np.zeros(1, bool), zero),), 1)


def build_delay_job(seconds: float, after: tuple[int, ...] = ()) -> Job:
    """A job of one row that crosses no link and takes so long."""
    nothing = np.zeros(1, np.int64)
    return Job(_build_delay_shape(), 1, 1, nothing, nothing, after=after, delay=seconds)


class Bases(NamedTuple):
    """Where a job's numbers begin in the numbering that all jobs of a run share.

    Attributes:
        row: of its first transfer.
        endpoint: of its first endpoint.
        queue: of the first channel of its first endpoint.
        slot: of the first slot of its first endpoint.
    """

    row: int
    endpoint: int
    queue: int
    slot: int


@dataclass(frozen=True, eq=False)
class NumberedJobs:
    """Jobs with their common numbering.

    Attributes:
        jobs: in the order of their numbers.
        bases: where the numbers of each job begin.
        endpoints: of all jobs together.
        queues: of all jobs together, one for each endpoint and channel.
        slots: of all jobs together, with the unused one that makes the stride odd.
        rows: transfers of all jobs together.
        route_of: for each job and each of its patterns, (rows,) the route of each row.
        src: (routes,) endpoint, in the common numbering, at which the route begins.
        dst: (routes,) endpoint at which it ends.
        placement: (endpoints,) the topology's endpoint of each.
    """

    jobs: Sequence[Job]
    bases: list[Bases]
    endpoints: int
    queues: int
    slots: int
    rows: int
    route_of: list[list[Ints]]
    src: Longs
    dst: Longs
    placement: Longs


def number_jobs(jobs: Sequence[Job]) -> NumberedJobs:
    """Number rows, endpoints, queues and slots through all jobs, and find the distinct pairs of endpoints that ever
    talk.

    Args:
        jobs: In the order of their numbers.
    """
    bases, row, endpoint, queue, slot = [], 0, 0, 0, 0
    route_of: list[list[Ints]] = []
    routes = 0
    sources, goals = [], []
    # Identical pairs of a job are numbered once, because a route is found for each pair only.
    for job in jobs:
        bases.append(Bases(row, endpoint, queue, slot))
        ids, src, dst = job.shape.distinct
        route_of.append([i + np.int32(routes) for i in ids])
        sources.append(src + endpoint)
        goals.append(dst + endpoint)
        routes += len(src)
        row += job.rows
        endpoint += job.endpoints
        queue += job.endpoints * job.channels
        slot += job.endpoints * job.slot_stride
    join = np.concatenate
    empty = [np.zeros(0, np.int64)]
    placement = join([*(j.placement for j in jobs), *empty]).astype(np.int64)
    src, dst = join([*sources, *empty]), join([*goals, *empty])
    return NumberedJobs(jobs, bases, endpoint, queue, slot, row, route_of, src, dst, placement)


@dataclass(frozen=True, eq=False)
class Network:
    """Routes and links as the kernels take them.

    Attributes:
        routes: (routes,) records of type `kernels.kernel_records.ROUTE`.
        route_link: the links of all routes, one route after the other; each record says where its own begin and end.
        links: (links,) records of type `kernels.kernel_records.LINK`; those beyond the topology's are injection limits,
            one per endpoint.
        first_links: number of links that the topology has.
    """

    routes: Records
    route_link: Ints
    links: Records
    first_links: int


def build_network(plan: NumberedJobs, topology: Topology, conditions: Conditions) -> Network:
    """Routes, latencies and rates of a plan's pairs, with injection limits and late ranks in them.

    Args:
        plan: Its pairs of endpoints each get a route.
        topology: Links in nominal alpha (s) and bandwidth (B/s), slow ranks already in them.
        conditions: Injection limit (B/s), overhead (s) and late ranks become part of the routes.
    """
    from .kernels.kernel_records import LINK, ROUTE

    placement = plan.placement
    found_routes, bandwidth, alpha = find_routes(topology, placement[plan.src], placement[plan.dst], conditions)
    start, link, hops = found_routes.start, np.array(found_routes.link), found_routes.hops
    used = hops > 0
    ready_times = _find_ready_times(plan, conditions)
    routes = np.zeros(len(hops), ROUTE)
    routes["first"], routes["last"] = start[:-1], start[1:]
    routes["narrow"], routes["unit"] = np.inf, topology.endpoint_device[placement[plan.dst]]
    routes["ready"] = np.maximum(ready_times[plan.src], ready_times[plan.dst])
    if len(link):
        routes["latency"][used] = np.add.reduceat(alpha[link], start[:-1][used]) + conditions.overhead
        # A route that crosses a link twice (in and out of a device by one cable) gets half of its rate.
        rate = bandwidth[link] / _count_crossings(link, hops, len(bandwidth))
        routes["narrow"][used] = np.minimum.reduceat(rate, start[:-1][used])
    for job, route in zip(plan.jobs, plan.route_of, strict=True):
        # A pause has no links; all that its only row does is to take this long.
        if job.delay:
            routes["latency"][route[0][0]] = job.delay
    table = np.zeros(len(bandwidth), LINK)
    table["bandwidth"], table["alpha"] = bandwidth, alpha
    table["residual"], table["level"] = bandwidth, np.inf
    # Heads of the kernels' linked lists; -1 is the end of a list.
    table["head"] = table["first"] = table["rest"] = table["front"] = table["queued"] = -1
    return Network(routes, link, table, len(topology.links))


def find_routes(topology: Topology, src: Longs, dst: Longs, conditions: Conditions) -> tuple[Routes, Floats, Floats]:
    """Routes between endpoints, and bandwidth and alpha of the links they cross. An injection limit is one more link in
    front of each route that is not empty, its number beyond the topology's links.

    Args:
        topology: Its routes are taken, and its links numbered first.
        src: (pairs,) endpoints of the topology that send.
        dst: (pairs,) endpoints of the topology that receive.
        conditions: `injection` in B/s limits what each endpoint sends; 0 for no limit.
    """
    links, routes = topology.links, topology.routes(src, dst)
    if not conditions.injection:
        return routes, links.bandwidth, links.alpha
    used = routes.hops > 0
    start = np.concatenate([[0], np.cumsum(routes.hops + used)]).astype(np.int64)
    link = np.insert(routes.link, routes.start[:-1][used], len(links) + src[used]).astype(np.int32)
    limits = np.full(topology.endpoints, conditions.injection)
    return Routes(start, link), np.concatenate([links.bandwidth, limits]), np.concatenate([links.alpha, 0 * limits])


def _count_crossings(link: Ints, hops: Longs, links: int) -> Floats:
    """For each hop, how often its route crosses that link in all."""
    key = np.repeat(np.arange(len(hops)), hops) * links + link
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    crossings: Floats = count[inverse.ravel()].astype(np.float64)
    return crossings


def _find_ready_times(plan: NumberedJobs, conditions: Conditions) -> Floats:
    """When each endpoint joins: the launch, its job's begin, and for a late rank its delay."""
    late = {rank: seconds for rank, seconds in conditions.late.items() if seconds}
    out = np.empty(plan.endpoints)
    for job, base in zip(plan.jobs, plan.bases, strict=True):
        part = out[base.endpoint : base.endpoint + job.endpoints]
        part[:] = np.asarray(job.begin)
        if job.schedule is not None:
            for rank, seconds in late.items():
                part[job.placement == rank] += seconds
            part += conditions.launch
    return out


def get_repetition(pattern: Step) -> tuple[int, int]:
    """How far each repetition of a pattern goes on, and modulo what; one that stays where it is has all slots for its
    turn.

    Args:
        pattern: A step that stands for `times` repetitions.

    Returns:
        (shift, modulus) in slots.
    """
    if pattern.times == 1 or not pattern.shift:
        return 0, int(np.iinfo(np.int32).max)
    return int(pattern.shift), int(pattern.modulus)


def build_parts(plan: NumberedJobs) -> list[list[Records]]:
    """The patterns of all jobs as records of `kernels.kernel_records.PART`: of each job one array a pattern.

    Args:
        plan: With bases and routes of all jobs.
    """
    # The numbers of a job are those of its shape, which many jobs share, plus where the job's own begin.
    templates: dict[tuple[int, int, int], list[Records]] = {}
    out = []
    for job, base, routes in zip(plan.jobs, plan.bases, plan.route_of, strict=True):
        kind = id(job.shape), job.channels, job.slot_stride
        if kind not in templates:
            templates[kind] = [_build_part(pattern, job) for pattern in job.singles]
        parts = []
        for template, route in zip(templates[kind], routes, strict=True):
            part = template.copy()
            part["route"] = route
            part["send"] += base.queue
            part["receive"] += base.queue
            part["read"] += base.slot
            part["write"] += base.slot
            parts.append(part)
        out.append(parts)
    return out


def _build_part(pattern: Step, job: Job) -> Records:
    """A pattern of a job whose queues and slots begin at 0."""
    from .kernels.kernel_records import PART

    part = np.empty(len(pattern), PART)
    part["send"] = pattern.src * job.channels + pattern.channel
    part["receive"] = pattern.dst * job.channels + pattern.channel
    # A repetition shifts chunks within blocks of `modulus`: the kernel adds the shift to the offset and wraps it.
    modulus = get_repetition(pattern)[1]
    part["read_offset"], part["write_offset"] = pattern.chunk % modulus, pattern.into % modulus
    part["reduce"] = pattern.reduce
    part["block"] = pattern.chunk - part["read_offset"]
    part["read"] = pattern.src.astype(np.int64) * job.slot_stride + part["block"]
    part["write"] = pattern.dst.astype(np.int64) * job.slot_stride + (pattern.into - part["write_offset"])
    return part


class Edges(NamedTuple):
    """Explicit dependencies: row i waits for `row[start[i]:start[i+1]]`; empty arrays where a schedule has none."""

    start: Longs
    row: Ints


def build_edges(plan: NumberedJobs) -> Edges:
    """Explicit dependencies of all jobs over the common rows.

    Schedules without any keep the rules of channels; the two kinds do not mix in one run.

    Args:
        plan: Jobs without a schedule (pauses, flows) go with either kind.

    Raises:
        ScheduleError: Some schedules have explicit dependencies and others have none.
    """
    dependencies = [job.schedule.depends if job.schedule is not None else None for job in plan.jobs]
    if all(d is None for d in dependencies):
        return Edges(np.zeros(0, np.int64), np.zeros(0, np.int32))
    if any(d is None and job.schedule is not None for d, job in zip(dependencies, plan.jobs, strict=True)):
        raise ScheduleError("schedules with and without explicit dependencies cannot run together")
    # Starts run over all rows, so that a job without dependencies (a pause) adds rows without entries.
    starts, rows = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for d, job, base in zip(dependencies, plan.jobs, plan.bases, strict=True):
        if d is None:
            starts.append(np.full(job.rows, starts[-1][-1]))
            continue
        first, listed = _check_dependencies(d, job)
        starts.append(starts[-1][-1] + first[1:])
        rows.append((listed + base.row).astype(np.int32))
    return Edges(np.concatenate(starts), np.concatenate(rows))


def _check_dependencies(depends: Any, job: Job) -> tuple[Longs, Longs]:
    start, rows = np.asarray(depends[0], np.int64), np.asarray(depends[1], np.int64)
    label = "flows"
    if job.schedule is not None:
        label = job.schedule.label
    if len(start) != job.rows + 1 or start[0] != 0 or start[-1] != len(rows) or (np.diff(start) < 0).any():
        message = "{label}: depends needs {offsets} rising offsets, from 0 to the number of dependencies ({count})"
        raise ScheduleError(message, label=label, offsets=job.rows + 1, count=len(rows))
    if len(rows) and (rows.min() < 0 or rows.max() >= job.rows):
        message = "{label}: depends names transfer {transfer}; transfers are 0 to {last}"
        raise ScheduleError(message, label=label, transfer=rows.max(), last=job.rows - 1)
    return start, rows


def build_orders(plan: NumberedJobs, waits: Ints) -> tuple[Ints, Ints, Ints]:
    """What jobs wait for, as `kernels.gates.finish_job` takes it; empty where none waits.

    Args:
        plan: A job's `after` lists the jobs that end before it begins.
        waits: (rows,) gates that each row waits for, in units of `ONE_GATE`; changed in place: rows that begin with a
            waiting job get one more, which opens when the jobs before have ended.

    Returns:
        `jobs`, `of_row` and `follows` of `finish_job`.
    """
    if not any(job.after for job in plan.jobs):
        return np.zeros((0, 4), np.int32), np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32)
    from .kernels.kernel_records import ONE_GATE

    jobs = np.array([[job.rows, len(set(job.after)), -1, -1] for job in plan.jobs], np.int32)
    of_row = np.empty((plan.rows, 2), np.int32)
    follows: list[tuple[int, int]] = []
    for number, (job, base) in enumerate(zip(plan.jobs, plan.bases, strict=True)):
        rows_of_job = slice(base.row, base.row + job.rows)
        of_row[rows_of_job] = number, -1
        if not job.after:
            continue
        first = np.flatnonzero(waits[rows_of_job] < ONE_GATE) + base.row
        waits[first] += ONE_GATE
        # Linked lists in arrays, which compiled code can walk: column 2 of a job is the first row that it holds back
        # and column 1 of a row the next one; column 3 is the last entry of `follows` for a job, and each entry names
        # the one before.
        jobs[number, 2], of_row[first[:-1], 1] = first[0], first[1:]
        for before in set(job.after):
            follows.append((number, int(jobs[before, 3])))
            jobs[before, 3] = len(follows) - 1
    return jobs, of_row, np.array(follows, np.int32)
