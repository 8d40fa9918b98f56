"""All collectives of one or more steps on one network at the same time: what is under way together shares links.

Each collective is its schedule, run by the event engine, behind a delay. Where NCCL's model says how long it takes by
itself, the delay is what the links alone do not explain (launch, protocol, copies); where the model is faster than the
links of the schedule (which has fewer channels), its bytes are scaled down. Either way a collective that shares
nothing takes as long as with `network="alone"`. So one that meets no other on any of its links is not written out: it
is a delay, until a run shows that it shares a link. Computing is a delay too; while its GPUs communicate it is slower
by the interference, which is found by running again until nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dtypes import Bools, Floats, Longs
from ...errors import CollsimError
from ...limits import Extent, require_extent
from ...schedule import Schedule
from ...simulate import Launch, OrderedRun, simulate, simulate_ordered
from ...simulate.conditions import Background, parse_conditions
from ..workload.collective_model import CollectiveModel
from ..workload.step_graph import StepTask, TrainingStep
from .isolated_timing import time_alone
from .link_contention import CollectiveId, LinkContention
from .link_footprints import Footprints

#: How long computing takes depends on how long collectives beside it do: at most so many runs, until that moves by
#: less than this part of the time; from a run on the mean of two goes on, for those that swing.
_MAX_ITERATIONS, _TOLERANCE, _DAMP_AFTER = 60, 1e-12, 8
#: Numbers that an entry of a run holds beside its rows (measured: 3 kB).
_ENTRY = 400


@dataclass(frozen=True, eq=False)
class RunningStep:
    """One step of a shared run.

    Attributes:
        step: its tasks and what they wait for.
        seconds: (tasks,) s of each task by itself.
        interference: share of its speed that a GPU loses while it communicates, 0 to 1.
    """

    step: TrainingStep
    seconds: Floats
    interference: float


@dataclass(frozen=True, eq=False)
class SharedTiming:
    """When a step's tasks ran.

    Attributes:
        begin: (tasks,) s.
        end: (tasks,) s.
        link_bytes: (links,) bytes that the step's collectives put on each link.
    """

    begin: Floats
    end: Floats
    link_bytes: Longs


def time_shared(
    parts: Sequence[RunningStep], network: CollectiveModel, background: Background | None = None, eager: bool = False
) -> list[SharedTiming]:
    """Run steps at the same time, under either rule of sending.

    Args:
        parts: The steps, with their seconds by themselves.
        network: Times and schedules of collectives on the network.
        background: Other traffic, as `training_step` takes it.
        eager: Whether a send waits until the bytes before it have left.

    Returns:
        Of each step, when its tasks ran and how many bytes they put on each link.

    Raises:
        CollsimError: Workers are asynchronous and have no common moment, or memory does not hold all collectives that
            meet.
    """
    if any(part.step.staleness for part in parts):
        raise CollsimError("asynchronous workers have no common moment at which they share links; use network='alone'")
    run = _SharedRun(parts, network, background, eager)
    # A fixed point is looked for: the seconds of collectives say how far computing beside them is slowed, and when
    # computing ends says which collectives meet.
    task_seconds, iteration = run.time_alone(), 0
    while iteration < _MAX_ITERATIONS:
        computing = [_compute_slowed_seconds(*both) for both in zip(parts, task_seconds, strict=True)]
        times = run.simulate(computing)
        # Only collectives that meet others are run transfer by transfer, and who they are shows in a run only. None is
        # taken back, so this ends.
        if met := run.meeting.find_overlapping(times) - run.expanded:
            run.expand(met)
            continue
        seen = [_list_run_seconds(part, begin, end) for part, (begin, end) in zip(parts, times, strict=True)]
        moved = max(float(np.abs(new - old).max(initial=0.0)) for new, old in zip(seen, task_seconds, strict=True))
        if moved <= _TOLERANCE * max(float(end.max(initial=0.0)) for _, end in times):
            break
        # Two states may alternate: meeting makes a collective longer, and longer it meets another. Halfway between them
        # it settles.
        if iteration < _DAMP_AFTER:
            task_seconds = seen
        else:
            task_seconds = [(new + old) / 2 for new, old in zip(seen, task_seconds, strict=True)]
        iteration += 1
    return [
        SharedTiming(begin, end, run.footprints.sum_link_bytes(part.step))
        for part, (begin, end) in zip(parts, times, strict=True)
    ]


def _compute_slowed_seconds(part: RunningStep, task_seconds: Floats) -> Floats:
    """Seconds of each task if collectives take so long: computing beside them is slower by the interference."""
    begin, end = time_alone(part.step, task_seconds, part.interference)
    return end - begin


def _list_run_seconds(part: RunningStep, begin: Floats, end: Floats) -> Floats:
    """Seconds of each collective as it ran; of computing by itself."""
    out = part.seconds.copy()
    for i in part.step.collectives:
        out[i] = end[i] - begin[i]
    return out


# ---- collectives ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Entry:
    """A collective as the engine runs it: a delay, then its schedule with so many bytes."""

    delay: float
    schedule: Schedule | None
    nbytes: int


def _fit_entry(group: tuple[int, ...], task: StepTask, seconds: float, network: CollectiveModel) -> _Entry:
    """The delay and the bytes with which a collective takes `seconds` by itself."""
    plan = network.build_schedule(group, task)
    if not len(plan):
        return _Entry(seconds, None, 0)
    if not network.is_predicted(group, task):
        return _Entry(0.0, plan, task.nbytes)

    def time_links(nbytes: int) -> float:
        return simulate(plan, network.topology, nbytes, engine="event", ranks=list(group)).time

    nbytes, delay = _fit_bytes(time_links, task.nbytes, seconds)
    if not nbytes:
        return _Entry(seconds, None, 0)
    return _Entry(delay, plan, nbytes)


def _fit_groups(
    groups: Sequence[tuple[int, ...]], task: StepTask, seconds: float, network: CollectiveModel
) -> _Entries:
    """The delay and the bytes with which all groups of a collective take `seconds` when they run at once."""
    plans = [network.build_schedule(group, task) for group in groups]

    def time_links(nbytes: int) -> float:
        launches = [Launch((), 0.0, plan, nbytes, group) for plan, group in zip(plans, groups, strict=True)]
        return float(max(simulate_ordered(launches, network.topology).end))

    nbytes, delay = _fit_bytes(time_links, task.nbytes, seconds)
    if not nbytes:
        return [(group, _Entry(seconds, None, 0)) for group in groups]
    return [(group, _Entry(delay, plan, nbytes)) for plan, group in zip(plans, groups, strict=True)]


def _fit_bytes(time_links: Callable[[int], float], most: int, seconds: float) -> tuple[int, float]:
    """Bytes, at most so many, that take no longer on the links than `seconds`, and what is left of these; no bytes
    where latency alone takes as long, as there is nothing to share links with."""
    link_seconds, least, nbytes = time_links(most), time_links(0), most
    if seconds <= least:
        return 0, seconds
    # NCCL is faster than its schedule on these links: run as few bytes as take no longer. Time over bytes is not a
    # straight line, hence steps from above, and a delay for what is left.
    while link_seconds > seconds and nbytes:
        nbytes = min(nbytes - 1, int(nbytes * (seconds - least) / (link_seconds - least)))
        link_seconds = time_links(nbytes)
    return nbytes, seconds - link_seconds


# ---- running --------------------------------------------------------------------------------------------------------

#: Of a collective each group, and what it runs.
_Entries = list[tuple[tuple[int, ...], _Entry]]
#: Tasks that are one entry of the run, and for each group the numbers of its launches, one behind another.
_Chain = tuple[list[int], list[list[int]]]


class _SharedRun:
    """What the runs have in common.

    Attributes:
        expanded: collectives that are run transfer by transfer, since they meet another.
    """

    def __init__(
        self, parts: Sequence[RunningStep], network: CollectiveModel, background: Background | None, eager: bool
    ):
        self.parts, self.network, self.background, self.eager = parts, network, background, eager
        steps = [part.step for part in parts]
        self.footprints = Footprints(steps, network)
        self.meeting = LinkContention(steps, self.footprints)
        self.expanded: set[CollectiveId] = set()
        self._entries: list[dict[int, _Entries]] = [{} for _ in parts]
        self._known: dict[Hashable, _Entry] = {}
        self._known_groups: dict[Hashable, _Entries] = {}
        every = set(self.meeting.collectives)
        # With eager sends a collective takes another time than the one that is known of it alone.
        self.expand(every if eager else self.meeting.find_permanent(self._find_background_links()))

    def _find_background_links(self) -> Longs:
        """Links that other traffic crosses."""
        traffic = parse_conditions(self.network.topology, {"background": self.background}).background
        if traffic is None:
            return np.zeros(0, np.int64)
        return self.footprints.find_links(traffic.src, traffic.dst)

    def time_alone(self) -> list[Floats]:
        """Seconds of each task with nothing beside it."""
        out = []
        for part in self.parts:
            seconds, known = part.seconds.copy(), dict[Hashable, float]()
            for i in part.step.collectives:
                task = part.step.tasks[i]
                key = self.network.make_key(part.step, task)
                if key not in known:
                    known[key] = self.network.time_groups(part.step.get_groups(task), task)
                seconds[i] = task.repeats * known[key]
            out.append(seconds)
        return out

    def expand(self, collectives: Iterable[CollectiveId]) -> None:
        """Write these out from now on. Raises CollsimError where memory does not hold all that are."""
        self.expanded |= set(collectives)
        self._require_capacity()
        for s, i in self.expanded:
            if i not in self._entries[s]:
                self._entries[s][i] = self._fit_entries(self.parts[s].step, self.parts[s].step.tasks[i])

    def _require_capacity(self) -> None:
        rows = entries = 0
        for s, i in self.expanded:
            step = self.parts[s].step
            for group in step.get_groups(step.tasks[i]):
                rows += step.tasks[i].repeats * len(self.network.build_schedule(group, step.tasks[i]))
                entries += step.tasks[i].repeats
        require_extent(
            "running at once all collectives that meet on a link",
            Extent(rows=rows, numbers=_ENTRY * entries),
            "use network='alone', or fewer microbatches or GPUs",
        )

    def _fit_entries(self, step: TrainingStep, task: StepTask) -> _Entries:
        """What each group of a collective runs: groups that meet on links take together as long as the collective does
        by itself."""
        groups = step.get_groups(task)
        if not self.footprints.get(step, task).has_overlap or not self.network.is_predicted(groups[0], task):
            return [(group, self._get_entry(group, task)) for group in groups]
        seconds = self.network.time_groups(groups, task)
        key = self.network.make_key(step, task), seconds
        if key not in self._known_groups:
            self._known_groups[key] = _fit_groups(groups, task, seconds, self.network)
        return self._known_groups[key]

    def _get_entry(self, group: tuple[int, ...], task: StepTask) -> _Entry:
        seconds = self.network.time_group(group, task)
        key = self.footprints.make_group_key(group, task), seconds, task.kind, task.nbytes, task.algorithm, task.options
        if key not in self._known:
            self._known[key] = _fit_entry(group, task, seconds, self.network)
        return self._known[key]

    def simulate(self, spent: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
        """Begin and end of every step's tasks, if they take so long by themselves."""
        listed = [time_alone(part.step, seconds, 0.0) for part, seconds in zip(self.parts, spent, strict=True)]
        launches: list[Launch] = []
        chains = [
            _add_step_launches(launches, part.step, seconds, end, entries) if entries else []
            for part, entries, seconds, (_, end) in zip(self.parts, self._entries, spent, listed, strict=True)
        ]
        run = simulate_ordered(launches, self.network.topology, background=self.background, eager=self.eager)
        for (begin, end), seconds, rows in zip(listed, spent, chains, strict=True):
            _set_times(begin, end, seconds, rows, run)
        return listed


def _add_step_launches(
    launches: list[Launch], step: TrainingStep, seconds: Floats, end: Floats, written: dict[int, _Entries]
) -> list[_Chain]:
    """Add the launches of a step: of what is written out, and of all that waits for it. What comes before ends when it
    ends anyway."""
    # What neither meets another collective nor waits for one that does has a known time, and needs no launch.
    later = np.zeros(len(step.tasks), bool)
    for number, before in enumerate(step.predecessors):
        later[number] = number in written or any(later[b] for b in before)
    out: list[_Chain] = []
    last: dict[int, tuple[int, ...]] = {}  # of each task the launches with which it has ended
    moments: dict[float, int] = {}
    for chain in _list_chains(step, written, later):
        before = step.predecessors[chain[0]]
        after = {n for b in before if later[b] for n in last[b]}
        # Predecessors with known ends are one delay from the start; equal moments share a launch.
        moment = max((float(end[b]) for b in before if not later[b]), default=0.0)
        if moment not in moments:
            launches.append(Launch((), moment))
            moments[moment] = len(launches) - 1
        waits = tuple(sorted(after | {moments[moment]}))
        rows = _add_chain_launches(launches, waits, written.get(chain[0]), step.tasks[chain[0]].repeats, seconds[chain])
        last.update(dict.fromkeys(chain, tuple(row[-1] for row in rows)))
        out.append((chain, rows))
    return out


def _add_chain_launches(
    launches: list[Launch], after: tuple[int, ...], entry: _Entries | None, times: int, seconds: Floats
) -> list[list[int]]:
    """Launches of a chain of delays, or of a collective: of each group as many as it comes often."""
    if entry is None:
        launches.append(Launch(after, float(seconds.sum())))
        return [[len(launches) - 1]]
    rows = []
    for group, group_entry in entry:
        row: list[int] = []
        for _ in range(times):
            waits = after
            # A collective that repeats runs one after another within its group; groups run side by side.
            if row:
                waits = (row[-1],)
            launches.append(Launch(waits, group_entry.delay, group_entry.schedule, group_entry.nbytes, group))
            row.append(len(launches) - 1)
        rows.append(row)
    return rows


def _list_chains(step: TrainingStep, written: dict[int, _Entries], later: Bools) -> list[list[int]]:
    """The tasks marked in `later`, in entries of the run: delays that nothing comes between are one."""
    waited = np.zeros(len(step.tasks), int)
    for before in step.predecessors:
        for b in before:
            waited[b] += 1
    out: list[list[int]] = []
    last: dict[int, int] = {}
    for number in np.flatnonzero(later).tolist():
        before = step.predecessors[number]
        # A delay joins the chain of its only predecessor where nobody else waits for that one: no moment in between
        # can matter to another task.
        if number not in written and len(before) == 1 and waited[before[0]] == 1 and before[0] not in written:
            out[last[before[0]]].append(number)
            last[number] = last[before[0]]
        else:
            out.append([number])
            last[number] = len(out) - 1
    return out


def _set_times(begin: Floats, end: Floats, seconds: Floats, chains: list[_Chain], run: OrderedRun) -> None:
    """Set begin and end of the tasks that were run."""
    for chain, rows in chains:
        first = min(run.begin[row[0]] for row in rows)
        if len(chain) > 1:
            durations = seconds[chain]
        else:
            durations = np.array([max(run.end[row[-1]] for row in rows) - first])
        ends = first + np.cumsum(durations)
        end[chain], begin[chain] = ends, ends - durations
