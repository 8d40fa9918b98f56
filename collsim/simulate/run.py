"""The entry point of the engines: check the arguments, size the chunks, run, and wrap the outcome in a Trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple, Unpack, overload

import numpy as np

from ..collective import get_collective
from ..display.progress import open_progress, require_progress
from ..dtypes import Floats, Longs, find_dtype_name, find_itemsize
from ..errors import CollsimError, Sentence, TopologyError, require_word
from ..errors.arguments import check_arguments
from ..errors.keywords import require_keywords
from ..schedule import Schedule
from ..topology import Topology
from ..topology.parts.rank_selection import read_rank_numbers, select_ranks
from ..topology.parts.shared_gpus import share_gpus
from ..topology_names import TopologyLike, resolve_topology
from ..units import Bandwidth, ByteSize, DataType, Duration, RankSelection, parse_bytes, parse_count
from .concurrent_results import ConcurrentTrace, FlowTrace
from .conditions import (
    ENGINES,
    Background,
    Conditions,
    Engine,
    EventOptions,
    FlowOptions,
    Flows,
    ManyRunOptions,
    Progress,
    Sharing,
    build_flows,
    parse_conditions,
    parse_moment,
    slow_down,
)
from .cost import estimate_effort
from .event import run_events
from .event_layout import Job, build_flow_job, build_schedule_job
from .lockstep import Timing, run_lockstep
from .paths import Slots
from .symmetry import time_by_symmetry
from .trace import Trace
from .waiting import COUNTED, report_waiting

_MAX_RUNS = 1_000_000
_OF_COLLECTIVES = {"gamma", "launch", "late", "background"}
#: Event engine: s of a transfer in program order; how many times that takes a transfer through the queue, a route, and
#: one link of one flow in a visit (benchmarks/test_cost.py prints how near this comes); without the compiler; bytes per
#: transfer.
_SECONDS_TRANSFER, _QUEUED, _ROUTED, _CROSSED, _PLAIN, _BYTES = 5e-8, 8.0, 6.0, 0.32, 400.0, 100.0
_SECONDS_RUN = 1e-3  # of a run that does next to nothing
#: What a run of the lockstep engine takes: s for each step, s for each row, and bytes for each row of the longest step,
#: whose routes are in memory.
_SECONDS_STEP, _SECONDS_ROW, _BYTES_ROW = (1e-4, 5e-7, 200.0)


@overload
def simulate(
    schedule: Schedule,
    topology: TopologyLike,
    nbytes: ByteSize,
    dtype: DataType = "float32",
    engine: Engine | None = None,
    *,
    ranks: RankSelection | None = None,
    begin: Duration = 0.0,
    progress: Progress | bool | None = None,
    **options: Unpack[EventOptions],
) -> Trace: ...


@overload
def simulate(
    schedule: Sequence[Schedule],
    topology: TopologyLike,
    nbytes: ByteSize | Sequence[ByteSize],
    dtype: DataType = "float32",
    engine: Engine | None = None,
    *,
    ranks: Sequence[RankSelection | None] | RankSelection | None = None,
    begin: Duration | Sequence[Duration] = 0.0,
    progress: Progress | bool | None = None,
    **options: Unpack[EventOptions],
) -> ConcurrentTrace: ...


@check_arguments
def simulate(
    schedule: Schedule | Sequence[Schedule],
    topology: TopologyLike,
    nbytes: ByteSize | Sequence[ByteSize],
    dtype: DataType = "float32",
    engine: Engine | None = None,
    *,
    ranks: Sequence[RankSelection | None] | RankSelection | None = None,
    begin: Duration | Sequence[Duration] = 0.0,
    progress: Progress | bool | None = None,
    sharing: Sharing | None = None,
    gamma: Bandwidth | None = None,
    launch: Duration | None = None,
    overhead: Duration | None = None,
    injection: Bandwidth | None = None,
    jitter: Duration | None = None,
    seed: int | None = None,
    late: Mapping[int, Duration] | None = None,
    slow: Mapping[int, float] | None = None,
    background: Background | None = None,
    eager: bool | None = None,
    shortcuts: bool | None = None,
) -> Trace | ConcurrentTrace:
    """Time a schedule on a topology, or several schedules that run at the same time.

    Args:
        schedule: from `cs.schedule(...)` or an algorithm called with n. Its rank r is the topology's rank r unless
            `ranks` says otherwise; one with fewer ranks than the topology takes as many GPUs of each node, the first of
            them (`collsim.topology.parts.rank_selection`). Several schedules run at the same time (engine `event`).
        topology: at least as many ranks as the schedule. Helpers get devices of their own where it has none for them.
        nbytes: nccl-tests' size in bytes, or text such as `"64MiB"`; for allgather and reduce_scatter the whole array.
            For several schedules one size, or one for each.
        dtype: type of an element, as in `collsim.dtypes.find_dtype_name`; chunks are cut between elements.
        engine: `"lockstep"` (a barrier after each step; the default) or `"event"` (no barrier; the default for several
            schedules). All options below except `ranks` and `progress` are of engine `event`
            (`collsim.simulate.event` has its semantics).
        ranks: the topology's ranks that the schedule's ranks are, in its order; for several schedules one selection for
            each.
        begin: seconds at which it is launched; for several schedules one time, or one for each. `time` and the other
            moments of a Trace count from 0 s, its rates and shares from the launch.
        progress: True for a bar, also where `bottleneck` runs it again; or a function that is called with (transfers
            done, in all). What the function raises ends the run, and so does Ctrl-C.
        sharing: `"fair"` (max-min fair rates; the default), `"fifo"` (store and forward), or `"none"`: links carry more
            than they can, so the time may be below the bound of the network, and the gap below 1.
        gamma: rate at which a device reduces what has arrived, B/s or text such as `"200GB/s"`. It is a bandwidth, not
            the seconds per byte that the alpha-beta-gamma model calls gamma. Without it reducing takes no time.
        launch: time before a collective's first transfer, s or text such as `"5us"`; 0 unless given. (`nccl.predict`
            has a `launch` of another kind: who launches the kernels.)
        overhead: time that each transfer takes in addition, s or text; 0 unless given.
        injection: rate at which one endpoint can send over all its links, B/s or text such as `"25GB/s"`; no limit
            unless given.
        jitter: mean of an exponentially distributed extra delay of each transfer, s or text; 0 unless given.
        seed: start of the random numbers of `jitter`; 0 unless given.
        late: time by which a rank joins later, by rank, s or text: `{3: "50us"}`; none unless given.
        slow: factor by which all cables of a rank's device are slower, by rank: `{3: 2}` halves their bandwidth; a
            factor below 1 makes them faster. The Trace's topology has those rates. (In `training_step` `slow` is a
            factor on computing.)
        background: other traffic: `Flows`, or rows (src rank, dst rank, nbytes) or (src rank, dst rank, nbytes, start
            in s); none unless given.
        eager: True: a send waits until the bytes before it have left, not until they have arrived, and not for its
            receiver, as in the eager protocol of MPI; False unless given. Not with `sharing="fifo"` or `gamma`.
        shortcuts: False disables the fast paths, for testing: the times are the same.

    Returns:
        A `Trace` for one schedule, a `ConcurrentTrace` for several.

    Raises:
        CollsimError: for a bad size, dtype, engine or option.
        TopologyError: where the ranks do not fit or cannot reach one another.
        ScheduleError: for explicit dependencies that form a cycle.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.schedule("allreduce_ring", ranks=4)
        >>> network = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
        >>> f"{cs.simulate(ring, network, nbytes='1MB').time * 1e6:.0f} us"  # 6 steps of 250 kB / 25 GB/s + 2 us
        '72 us'
    """
    options = {
        "sharing": sharing,
        "gamma": gamma,
        "launch": launch,
        "overhead": overhead,
        "injection": injection,
        "jitter": jitter,
        "seed": seed,
        "late": late,
        "slow": slow,
        "background": background,
        "eager": eager,
        "shortcuts": shortcuts,
    }
    # Only options that were given are passed on: the lockstep engine refuses any, and defaults belong to the engine.
    options = {name: value for name, value in options.items() if value is not None}
    require_progress(progress, *COUNTED)
    work = _parse_request("simulate", schedule, topology, nbytes, dtype, engine, ranks, begin, options)
    if work.conditions is None:
        return _run_lockstep(work, progress)
    if not isinstance(schedule, Schedule):
        return _run_together(work, progress)
    traces, flows_behind = _run_event(work, progress)
    return replace(traces[0], background=flows_behind)


def _parse_request(
    caller: str,
    schedule: Schedule | Sequence[Schedule],
    topology: TopologyLike,
    nbytes: object,
    dtype: DataType,
    engine: str | None,
    ranks: object,
    begin: object,
    options: Mapping[str, object],
) -> _Work:
    """What `caller` was asked to run, slow ranks already slow."""
    topology = resolve_topology(topology, caller)
    many = isinstance(schedule, (list, tuple))
    schedules: list[Schedule] = list(schedule) if many else [schedule]  # type: ignore[list-item, arg-type]
    for entry in schedules:
        if not isinstance(entry, Schedule):
            message = "{who} wants a schedule, got {one!r}; make one with schedule('allreduce_ring', ranks=8)"
            raise CollsimError(message, who=caller, one=entry)
    if engine is None:
        engine = "lockstep"
        # A barrier after each step across all schedules would couple collectives that are independent.
        if many:
            engine = "event"
    else:
        engine = require_word("engine", engine, ENGINES)
    if not schedules:
        raise CollsimError("{who} got an empty list; give at least one schedule", who=caller)
    if many and engine == "lockstep":
        raise CollsimError(
            "several schedules at once need engine='event': a barrier after each step would tie them together"
        )
    work = _place_schedules(schedules, topology, nbytes, dtype, ranks if many else [ranks], begin if many else [begin])
    if engine == "lockstep":
        if options or work.begin[0]:
            message = "engine 'lockstep' has no option {name!r}; it is one of engine='event'"
            raise CollsimError(message, name=next(iter(options), "begin"))
        return work
    conditions = parse_conditions(topology, options)
    return replace(work, topology=slow_down(work.topology, conditions), conditions=conditions)


@dataclass(frozen=True, eq=False)
class _Work:
    """Several schedules placed on one topology, helpers included; without conditions for the lockstep engine."""

    schedules: list[Schedule]
    topology: Topology
    nbytes: list[int]
    slot_bytes: list[Longs]
    ranks: list[Longs]
    placement: list[Longs]
    begin: list[float]
    dtype: str
    conditions: Conditions | None = None

    def on_links_of(self, topology: Topology, no_bytes: bool) -> _Work:
        """The same with the links of another topology; without bytes nothing else flows either."""
        topology = replace(self.topology, name=topology.name, links=topology.links)
        if not no_bytes:
            return replace(self, topology=topology)
        nothing = [compute_slot_bytes(s, 0, find_itemsize(self.dtype)) for s in self.schedules]
        without = replace(self._without_traffic(), nbytes=[0] * len(self.nbytes), slot_bytes=nothing)
        return replace(without, topology=topology)

    def select(self, number: int) -> _Work:
        """One of the schedules with nothing beside it."""
        lists: dict[str, Any] = {name: [value[number]] for name, value in vars(self).items() if isinstance(value, list)}
        return replace(self._without_traffic(), **lists)

    def _without_traffic(self) -> _Work:
        assert self.conditions is not None  # other traffic is of the event engine
        return replace(self, conditions=replace(self.conditions, background=None))


def _place_schedules(
    schedules: list[Schedule], topology: Topology, nbytes: object, dtype: DataType, ranks: object, begin: object
) -> _Work:
    n = len(schedules)
    sizes = [parse_bytes(size) for size in _spread("nbytes", nbytes, n)]
    begins = [parse_moment("begin", b) for b in _spread("begin", begin, n)]
    groups = [_select_ranks(s, topology, r) for s, r in zip(schedules, _spread("ranks", ranks, n), strict=True)]
    for group in groups:
        topology = share_gpus(topology, group)
    helpers = [s.endpoints - s.ranks for s in schedules]
    extended = _with_helpers(topology, schedules, helpers, groups)
    first = extended.ranks + np.concatenate([[0], np.cumsum(helpers)])
    placement = [
        np.concatenate([g, first[i] + np.arange(h)]) for i, (g, h) in enumerate(zip(groups, helpers, strict=True))
    ]
    name = find_dtype_name(dtype)
    slots = [compute_slot_bytes(s, size, find_itemsize(name)) for s, size in zip(schedules, sizes, strict=True)]
    return _Work(schedules, extended, sizes, slots, groups, placement, begins, name)


def _with_helpers(topology: Topology, schedules: list[Schedule], helpers: list[int], groups: list[Longs]) -> Topology:
    """The topology with places for the helpers of all schedules, in their order: hosts of their own, but a switch may
    reduce for many."""
    # One schedule asks once; several need host helpers side by side and may share switches.
    if len(schedules) == 1:
        return topology.with_helpers(helpers[0], schedules[0].helpers_on, groups[0])
    switches = {
        i: topology.with_helpers(helpers[i], s.helpers_on, groups[i])
        for i, s in enumerate(schedules)
        if s.helpers_on != "host"
    }
    extended = topology.with_helpers(sum(h for i, h in enumerate(helpers) if i not in switches))
    n, hosts = topology.ranks, iter(extended.endpoint_device[topology.ranks :])
    devices = [
        switches[i].endpoint_device[n : n + h] if i in switches else [next(hosts) for _ in range(h)]
        for i, h in enumerate(helpers)
    ]
    return replace(extended, endpoint_device=np.concatenate([extended.endpoint_device[:n], *devices]).astype(np.int32))


def _spread(name: str, value: object, n: int) -> list[object]:
    """One value for each schedule."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise CollsimError(
            "{name} has {entries} entries for {schedules}; give one each",
            name=name,
            entries=len(value),
            schedules=Sentence("{count} schedules" if n != 1 else "{count} schedule", count=n),
        )
    return list(value)


def _select_ranks(schedule: Schedule, topology: Topology, ranks: object) -> Longs:
    if schedule.ranks > topology.ranks:
        message = "{label} has {ranks} ranks, {name} only {topology_ranks}; use fewer ranks or more nodes"
        raise TopologyError(
            message, label=schedule.label, ranks=schedule.ranks, name=topology.name, topology_ranks=topology.ranks
        )
    is_count = isinstance(ranks, int | np.integer) and not isinstance(ranks, bool)
    if ranks is None or (is_count and ranks == schedule.ranks):
        return select_ranks(topology, schedule.ranks)
    group = read_rank_numbers(ranks)
    if len(group) != schedule.ranks:
        message = "ranks={ranks!r} must be {schedule_ranks} ranks of {name}, one for each rank of {label}"
        raise CollsimError(
            message, ranks=ranks, schedule_ranks=schedule.ranks, name=topology.name, label=schedule.label
        )
    if group.min() < 0 or group.max() >= topology.ranks:
        message = "ranks={ranks!r}: {name} has ranks 0 to {last}"
        raise TopologyError(message, ranks=ranks, name=topology.name, last=topology.ranks - 1)
    return group


def _view_topology(topology: Topology, schedule: Schedule, ranks: Longs, placement: Longs) -> tuple[Topology, Longs]:
    """The topology as a schedule's ranks see it, whose rank r is the schedule's; and the place of its endpoints
    there."""
    if np.array_equal(ranks, np.arange(topology.ranks)):
        return topology, placement
    if np.array_equal(placement, np.arange(len(placement))) and np.array_equal(
        ranks, select_ranks(topology, len(ranks))
    ):
        return topology, placement
    view = replace(
        topology,
        ranks=schedule.ranks,
        endpoint_device=topology.endpoint_device[placement].astype(np.int32),
        orders=None,
    )
    return view, np.arange(len(placement))


def _run_lockstep(work: _Work, progress: Progress | bool | None) -> Trace:
    topology, placement = _view_topology(work.topology, work.schedules[0], work.ranks[0], work.placement[0])
    with report_waiting(progress) as tell:
        timing = run_lockstep(work.schedules[0], topology, work.slot_bytes[0], placement, tell)
    return Trace(
        work.schedules[0], topology, work.nbytes[0], work.dtype, "lockstep", work.slot_bytes[0], placement, timing
    )


def _build_jobs(work: _Work) -> list[Job]:
    job_parts = zip(work.schedules, work.slot_bytes, work.placement, work.begin, strict=True)
    return [build_schedule_job(s, sizes, placement, begin) for s, sizes, placement, begin in job_parts]


def _run_event(work: _Work, progress: Progress | bool | None) -> tuple[list[Trace], FlowTrace | None]:
    conditions = work.conditions
    assert conditions is not None
    jobs, other = _build_jobs(work), conditions.background
    with report_waiting(progress) as tell:
        timings = run_events(
            [*jobs, build_flow_job(other)] if other is not None else jobs, work.topology, conditions, tell
        )
    traces = []
    for i, schedule in enumerate(work.schedules):
        # Each trace sees the network with its own ranks and helpers, although all ran on one.
        view, placement = _view_topology(work.topology, schedule, work.ranks[i], work.placement[i])
        again = partial(_run_trace_again, work, progress is True, i)
        others = tuple(timings[:i] + timings[i + 1 :])
        request = schedule, view, work.nbytes[i], work.dtype
        slots = work.slot_bytes[i]
        traces.append(
            Trace(*request, "event", slots, placement, timings[i], again, conditions, others, begin=work.begin[i])
        )
    background = None
    if other is not None:
        background = _build_flow_trace(other, work.topology, conditions.sharing, timings[-1])
    return traces, background


def _run_trace_again(work: _Work, bar: bool, number: int, topology: Topology, no_bytes: bool) -> Trace:
    """Trace `number` of the same run with the links of another topology, or without bytes."""
    return _run_event(work.on_links_of(topology, no_bytes), bar)[0][number]


def _run_together(work: _Work, progress: Progress | bool | None) -> ConcurrentTrace:
    """All schedules side by side."""
    traces, background = _run_event(work, progress)
    alone, again = (
        partial(_run_each_alone, work, progress is True),
        partial(_run_together_again, work, progress is True),
    )
    return ConcurrentTrace(traces, work.topology, work.placement, background, alone, again)


def _run_together_again(work: _Work, bar: bool, topology: Topology, no_bytes: bool) -> ConcurrentTrace:
    """The same with the links of another topology, or without bytes."""
    return _run_together(work.on_links_of(topology, no_bytes), bar)


def _run_each_alone(work: _Work, bar: bool) -> list[Trace]:
    """Each schedule with nothing beside it."""
    return [_run_event(work.select(i), bar)[0][0] for i in range(len(work.schedules))]


def compute_slot_bytes(schedule: Schedule, nbytes: int, item: int) -> Longs:
    """Bytes of each slot: whole elements, as even as they allow; scratch slots are as large as the chunk they stand
    for.

    A size that is not a whole number of elements keeps its last, partial element: no byte vanishes.

    Args:
        schedule: whose slots are sized.
        nbytes: nccl-tests' size.
        item: bytes of an element.

    Returns:
        (slots,) bytes.
    """
    kind = get_collective(schedule.collective)
    elements = -(-nbytes // item)
    sizes = kind.chunk_sizes(elements, schedule.ranks, schedule.chunks, schedule.shares) * item
    if missing := elements * item - nbytes:
        sizes[np.flatnonzero(sizes)[-1]] -= missing
    return np.resize(sizes, schedule.slots)


@check_arguments
def simulate_flows(
    topology: TopologyLike,
    src: RankSelection | int,
    dst: RankSelection | int,
    nbytes: ByteSize | Sequence[ByteSize] | Longs,
    start: Duration | Sequence[Duration] | Floats = 0.0,
    sharing: Sharing = "fair",
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[FlowOptions],
) -> FlowTrace:
    """Time plain flows between ranks: incast, random traffic, cases of other simulators.

    Args:
        topology: the network that they share.
        src: ranks that send, one for each flow; one number stands for all flows.
        dst: ranks that receive, likewise.
        nbytes: bytes of each flow, or one size for all.
        start: seconds at which each flow starts, or one time for all.
        sharing: `"fair"`, `"fifo"` or `"none"`, as in `simulate`.
        progress: as in `simulate`, with flows in place of transfers.
        options: `overhead`, `injection`, `jitter`, `seed`, `slow`, `shortcuts`, as in `simulate`.

    Returns:
        A FlowTrace; `finish` has each flow's end in seconds.

    Raises:
        CollsimError: for bad ranks, sizes or times.
        TopologyError: where two ranks cannot reach each other.

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.switch(3, bandwidth="10GB/s", alpha=0)
        >>> flows = simulate_flows(network, src=[0, 1], dst=2, nbytes="10MB")  # both share rank 2's cable
        >>> f"{flows.finish.max() * 1e3:.0f} ms"
        '2 ms'
    """
    topology = resolve_topology(topology, "simulate_flows")
    require_keywords("simulate_flows", options, EventOptions.__annotations__)
    for name in sorted(_OF_COLLECTIVES & options.keys()):
        raise CollsimError(
            "simulate_flows has no option {name!r}: it is one of collectives; a flow has its own start, and is "
            "traffic itself",
            name=name,
        )
    # A slow rank is a slower network: links of its device are scaled before routes are found.
    conditions = parse_conditions(topology, {**options, "sharing": sharing})
    topology = slow_down(topology, conditions)
    all_flows = build_flows(topology, src, dst, nbytes, start)
    with report_waiting(progress) as tell:
        timings = run_events([build_flow_job(all_flows)], topology, conditions, tell)
    return _build_flow_trace(all_flows, topology, sharing, timings[0])


def _build_flow_trace(flows: Flows, topology: Topology, sharing: str, timing: Timing) -> FlowTrace:
    begin, finish = timing.transfers()
    return FlowTrace(topology, flows.src, flows.dst, flows.nbytes, sharing, begin, finish, timing)


@check_arguments
def simulate_many(
    schedule: Schedule,
    topology: TopologyLike,
    nbytes: ByteSize,
    dtype: DataType = "float32",
    *,
    runs: int = 100,
    jitter: Duration | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
    **options: Unpack[ManyRunOptions],
) -> Floats:
    """Time many runs of the event engine that differ only in their jitter.

    Args:
        schedule: as in `simulate`.
        topology: as in `simulate`.
        nbytes: as in `simulate`.
        dtype: as in `simulate`.
        runs: how many.
        jitter: mean in seconds of each transfer's extra delay.
        seed: run i has the seed `seed + i`.
        progress: True for a bar, or a function that is called with (runs done, in all).
        options: those of `simulate` for the event engine.

    Returns:
        The times in seconds, shape `(runs,)`.

    Raises:
        CollsimError: without `jitter`, and as `simulate`.

    Examples:
        >>> import collsim as cs
        >>> ring, network = cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4)
        >>> cs.simulate_many(ring, network, "1KiB", runs=3, jitter="1us").shape
        (3,)
    """
    if jitter is None:
        raise CollsimError(
            "simulate_many wants jitter=, the mean extra delay of a transfer, such as jitter='1us'; without it all "
            "runs are one"
        )
    first, many = parse_count(seed, "seed", least=0), parse_count(runs, "runs")
    if many > _MAX_RUNS:
        message = "runs={runs!r} is more than {most:,}; a distribution shows long before that"
        raise CollsimError(message, runs=runs, most=_MAX_RUNS)
    times = np.empty(many)
    with open_progress(progress, "runs", "runs done", "in all") as tell:
        # Seeds differ by one, so that run i can be repeated alone with `simulate(seed=seed + i)`.
        for i in range(many):
            times[i] = simulate(
                schedule, topology, nbytes, dtype, "event", jitter=jitter, seed=first + i, **options
            ).time
            if tell is not None:
                tell(i + 1, many)
    return times


class Cost(NamedTuple):
    """What a run is expected to take.

    Attributes:
        transfers: number of transfers of all schedules.
        seconds: s of processor time, within a factor of about three.
        memory: bytes.
        how: how it would be computed: `lockstep`, `symmetry`, `program order or events`, or `events`.
        visits: how often flows and links would be looked at for new rates; 0 without the event engine.

    Examples:
        >>> import collsim as cs
        >>> cost = expected_cost(cs.schedule("allreduce_ring", ranks=8), cs.topology.switch(8), "1MiB")
        >>> cost.transfers, cost.how
        (112, 'lockstep')
    """

    transfers: int
    seconds: float
    memory: float
    how: str
    visits: float = 0.0


@check_arguments
def expected_cost(
    schedule: Schedule | Sequence[Schedule],
    topology: TopologyLike,
    nbytes: ByteSize | Sequence[ByteSize],
    dtype: DataType = "float32",
    engine: Engine | None = None,
    *,
    ranks: Sequence[RankSelection | None] | RankSelection | None = None,
    begin: Duration | Sequence[Duration] = 0.0,
    **options: Unpack[EventOptions],
) -> Cost:
    """Estimate what `simulate` with these arguments would take, before it runs: within a factor of about three
    (docs/performance.md).

    Transfers, routes and flows that share links are counted (`collsim.simulate.cost`). Whether the event engine can use
    symmetry is decided here. The first run in a process also loads the compiler (about 1 s; 10 s when its cache is
    empty).

    Args:
        schedule: as in `simulate`.
        topology: as in `simulate`.
        nbytes: as in `simulate`.
        dtype: as in `simulate`.
        engine: as in `simulate`.
        ranks: as in `simulate`.
        begin: as in `simulate`.
        options: those of `simulate`.

    Returns:
        A Cost: `transfers`, `seconds`, `memory` in bytes, `how` it would be computed, and `visits` of flows and links.

    Raises:
        CollsimError: as `simulate`.

    Examples:
        >>> import collsim as cs
        >>> expected_cost(cs.schedule("allreduce_ring", ranks=4), cs.topology.ring(4), "1MiB").transfers
        24
    """
    require_keywords("expected_cost", options, EventOptions.__annotations__)
    work = _parse_request("expected_cost", schedule, topology, nbytes, dtype, engine, ranks, begin, options)
    conditions = work.conditions
    if conditions is None:
        return _estimate_steps(work, "lockstep")
    jobs = _build_jobs(work)
    if (
        conditions.shortcuts
        and len(jobs) == 1
        and conditions.is_steady
        and time_by_symmetry(jobs[0], work.topology, conditions) is not None
    ):
        return _estimate_steps(work, "symmetry")
    n, effort = sum(len(s) for s in work.schedules), estimate_effort(jobs, work.topology, conditions)
    # Where flows never share a link the queue is not needed, and a transfer costs an eighth.
    queued = effort.shares or not conditions.shortcuts or conditions.eager
    units = n * (_QUEUED if queued else 1.0) + effort.routes * _ROUTED + effort.crossings * _CROSSED
    seconds = _SECONDS_RUN + units * _SECONDS_TRANSFER * (1.0 if find_spec("numba") is not None else _PLAIN)
    return Cost(n, seconds, n * _BYTES, "events" if queued else "program order or events", effort.visits)


def _estimate_steps(work: _Work, how: str) -> Cost:
    """What one schedule takes where it is worked out step by step."""
    schedule, slots = work.schedules[0], Slots(work.slot_bytes[0])
    repetitions = [1 if slots.has_equal_repetitions(p) else p.times for p in schedule.patterns]
    rows = sum(len(p) * k for p, k in zip(schedule.patterns, repetitions, strict=True))
    seconds = _SECONDS_STEP * sum(repetitions) + _SECONDS_ROW * rows + 1e-8 * schedule.steps
    memory = _BYTES_ROW * max((len(p) for p in schedule.patterns), default=0) + 24.0 * (
        len(work.topology.links) + schedule.steps
    )
    return Cost(len(schedule), seconds, memory, how)
