"""The discrete-step engine: everybody waits until the slowest transfer of a step has arrived.

Assumptions:
- Steps are separated by a barrier that costs nothing; a step lasts as long as its slowest transfer.
- In a step, a transfer takes the sum of alpha over its route, plus the largest (bytes of that link in that step /
  bandwidth) over the links of its route: the transfers of a step share a link fairly and end together, and data flow
  through (cut-through), they are not stored at every hop.
- Links are full duplex: each direction is a link of its own. Devices forward at line rate; reducing costs nothing.
- A transfer without bytes (fewer elements than chunks) still costs its alphas; a local copy costs nothing.

Exact against the closed forms of Thakur, Rabenseifner & Gropp 2005 and Chan et al. 2007 on networks where no link is
shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple
from weakref import ref

import numpy as np

from ..dtypes import Floats, Longs
from ..schedule import Schedule
from ..topology import Topology
from .conditions import Progress
from .paths import LinearTimes, Paths, Slots, Space, find_paths, group_by_pairs

#: Links crossed by all routes of a schedule; more take too much memory to be stored between runs (8 bytes each).
_MAX_STORED_HOPS = 2**20


class _LinearSteps(NamedTuple):
    """The steps of one schedule at one placement on one topology where all slots have one size: their times and the
    bytes on links are linear in this size.

    Attributes:
        times: of all steps with the same pairs and as many chunks a row, and these chunks.
        number: (steps as given,) which of these times each has.
        repetitions: (steps as given,) of each.
        crossings: (links,) chunks that cross each link.
    """

    times: list[tuple[LinearTimes, int]]
    number: Longs
    repetitions: Longs
    crossings: Floats


@dataclass(eq=False)
class _StoredPaths:
    """The paths of one schedule at one placement on one topology, and its steps once a run has needed them."""

    schedule: ref[Schedule]
    topology: ref[Topology]
    placement: bytes
    groups: list[tuple[list[int], Paths]]
    linear: _LinearSteps | None = None

    def is_for(self, schedule: Schedule, topology: Topology, placement: bytes) -> bool:
        return self.schedule() is schedule and self.topology() is topology and self.placement == placement


_last_paths: _StoredPaths | None = None


class Timing(NamedTuple):
    """What an engine returns.

    Attributes:
        step_start: (steps,) s, the first start of a transfer of each step.
        step_end: (steps,) s, the last arrival of a transfer of each step.
        link_bytes: (links,) bytes over each link.
        transfers: gives start and finish in s of every transfer, computed on demand.
        how: the way it was computed: `lockstep`, or the event engine's route.
        flows: gives the times and rates at which bytes flow, on demand; None where they follow from start and finish
            (see `usage`).
        crossing: the same link by link, as every link of a route has its own stretch, on demand; None where nothing
            runs at the same time.
        visits: flows and links that were looked at when rates were computed anew.
    """

    step_start: Floats
    step_end: Floats
    link_bytes: Floats
    transfers: Callable[[], tuple[Floats, Floats]]
    how: str = "lockstep"
    flows: Callable[[], Segments] | None = None
    crossing: Callable[[], Segments] | None = None
    visits: int = 0

    def delay(self, seconds: float) -> Timing:
        """The same, launched later."""
        if not seconds:
            return self
        return self._replace(
            step_start=self.step_start + seconds,
            step_end=self.step_end + seconds,
            transfers=partial(_delay_times, self.transfers, seconds),
        )


class Segments(NamedTuple):
    """Bytes that flow at one rate for a while, a row each.

    Attributes:
        row: (segments,) row of the transfer.
        link: (segments,) link that they cross; -1: all links of the transfer's route.
        begin: (segments,) s.
        end: (segments,) s.
        rate: (segments,) B/s.
    """

    row: Longs
    link: Longs
    begin: Floats
    end: Floats
    rate: Floats

    def select(self, which: Longs) -> Segments:
        """Some of them, in the order given; any of them several times."""
        return Segments(self.row[which], self.link[which], self.begin[which], self.end[which], self.rate[which])


def build_no_segments() -> Segments:
    """Where nothing moves."""
    rows, seconds = np.zeros(0, np.int64), np.zeros(0)
    return Segments(rows, rows, seconds, seconds, seconds)


def _delay_times(transfers: Callable[[], tuple[Floats, Floats]], seconds: float) -> tuple[Floats, Floats]:
    start, finish = transfers()
    return start + seconds, finish + seconds


def run_lockstep(
    schedule: Schedule, topology: Topology, slot_bytes: Longs, placement: Longs, progress: Progress | None = None
) -> Timing:
    """Run a schedule step by step. Steps with the same pairs are timed together, whatever is between them.

    Args:
        schedule: what runs.
        topology: where it runs.
        slot_bytes: bytes of each slot.
        placement: the topology's endpoint for each endpoint of the schedule.
        progress: called with (transfers done, in all) when some are timed.
    """
    slots = Slots(slot_bytes)
    rows: _LinearSteps | list[Floats | Paths]
    if slots.is_uniform:
        rows, size = _find_linear_steps(schedule, topology, placement, progress), float(slots.size[0])
        longest = np.array([times.compute_longest(size * width) for times, width in rows.times])
        durations = np.repeat(longest[rows.number], rows.repetitions)
        link_bytes = rows.crossings * size
    else:
        durations, link_bytes, rows = _time_steps(schedule, topology, placement, slots, progress)
    end = np.cumsum(durations)
    start = np.concatenate([np.zeros(min(len(end), 1)), end[:-1]])
    return Timing(start, end, link_bytes, partial(_transfer_times, schedule, slots, start, rows))


def _find_linear_steps(
    schedule: Schedule, topology: Topology, placement: Longs, progress: Progress | None
) -> _LinearSteps:
    """Route all steps and count their links, unless that is stored."""
    stored, placed = _last_paths, placement.tobytes()
    if stored is not None and stored.linear is not None and stored.is_for(schedule, topology, placed):
        if progress is not None:
            progress(len(schedule), len(schedule))
        return stored.linear
    space, crossings, done = Space(), np.zeros(len(topology.links)), 0
    times: list[tuple[LinearTimes, int]] = []
    numbers = np.zeros(len(schedule.patterns), np.int64)
    for group, paths in iterate_paths(schedule, topology, placement):
        count, linear = paths.count_crossings(space)
        steps = [schedule.patterns[number] for number in group]
        paths.add(crossings, count, float(sum(step.times * step.width for step in steps)))
        widths = list(dict.fromkeys(step.width for step in steps))
        numbers[group] = [len(times) + widths.index(step.width) for step in steps]
        times += [(linear, width) for width in widths]
        if progress is not None:
            done += sum(step.transfers for step in steps)
            progress(done, len(schedule))
    repetitions = np.array([step.times for step in schedule.patterns], np.int64)
    result = _LinearSteps(times, numbers, repetitions, crossings)
    stored = _last_paths  # another thread may replace it at any moment
    if stored is not None and stored.is_for(schedule, topology, placed):
        stored.linear = result
    return result


def _time_steps(
    schedule: Schedule, topology: Topology, placement: Longs, slots: Slots, progress: Progress | None
) -> tuple[Floats, Floats, list[Floats | Paths]]:
    """Seconds of each step and bytes on each link where slots differ in size, and the seconds of each pattern's rows;
    the paths where rows differ between repetitions, because all of their seconds could fill the memory."""
    patterns, link_bytes, done = schedule.patterns, np.zeros(len(topology.links)), 0
    durations = np.empty(schedule.steps)
    rows: list[Floats | Paths] = [durations] * len(patterns)
    first = [0, *accumulate(step.times for step in patterns)]
    # Steps are independent: each begins when the one before has ended, and shares links with no other. So they can be
    # timed in any order, and steps with the same pairs need their routes once.
    for group, paths in iterate_paths(schedule, topology, placement):
        for number in group:
            position = first[number]
            for step, times in slots.iterate_repetitions(patterns[number]):
                load, seconds = paths.load(slots.count_bytes(step))
                link_bytes[paths.used] += load * times
                durations[position : position + times] = seconds.max()
                position += times
                if progress is not None:
                    done += step.transfers
                    progress(done, len(schedule))
            rows[number] = seconds if slots.has_equal_repetitions(patterns[number]) else paths
    return durations, link_bytes, rows


def iterate_paths(schedule: Schedule, topology: Topology, placement: Longs) -> Iterator[tuple[list[int], Paths]]:
    """Find the paths of all steps; those of the last schedule are stored where they are few, because sweeps run one
    schedule with many sizes.

    Args:
        schedule: what runs.
        topology: where it runs.
        placement: the topology's endpoint for each endpoint of the schedule.

    Yields:
        Numbers of the steps that have the same pairs, and their paths.
    """
    global _last_paths
    placed = placement.tobytes()
    stored = _last_paths
    if stored is not None and stored.is_for(schedule, topology, placed):
        yield from stored.groups
        return
    groups: list[tuple[list[int], Paths]] = []
    hops = 0
    for group in group_by_pairs(schedule.patterns):
        first = schedule.patterns[group[0]]
        paths = find_paths(topology, placement[first.src], placement[first.dst])
        hops += paths.count_hops()
        if hops <= _MAX_STORED_HOPS:
            groups.append((group, paths))
        yield group, paths
    if hops <= _MAX_STORED_HOPS:
        _last_paths = _StoredPaths(ref(schedule), ref(topology), placed, groups)


def _transfer_times(
    schedule: Schedule, slots: Slots, step_start: Floats, rows: _LinearSteps | list[Floats | Paths]
) -> tuple[Floats, Floats]:
    """(start, finish) of every transfer, in the order of `schedule.transfers`."""
    start, finish = np.empty(len(schedule)), np.empty(len(schedule))
    row = step = 0
    for number, pattern in enumerate(schedule.patterns):
        m = len(pattern) * pattern.width
        if isinstance(rows, _LinearSteps):
            times, width = rows.times[rows.number[number]]
            seconds: Floats | Paths = times.compute(float(slots.size[0] * width))
        else:
            seconds = rows[number]
        for k in range(pattern.times):
            if isinstance(seconds, Paths):
                durations = seconds.load(slots.count_bytes(pattern.repetition(k)))[1]
            else:
                durations = seconds
            start[row : row + m] = step_start[step]
            finish[row : row + m] = step_start[step] + (
                durations if len(durations) == 1 else np.repeat(durations, pattern.width)
            )
            row, step = row + m, step + 1
    return start, finish
