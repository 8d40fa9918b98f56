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

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from ..schedule import Schedule
from ..steps import Step
from ..topology import Topology
from .conditions import Progress
from .paths import Paths, Slots, Space, find_paths, group_by_pairs

Floats = npt.NDArray[np.float64]
#: Links crossed by all routes of a schedule; more take too much memory to be stored between runs (8 bytes each).
_MAX_STORED_HOPS = 2**20
#: So few crossed links that counting anew costs more than keeping the counts.
_FEW_HOPS = 2**12


class _StoredPaths(NamedTuple):
    """The paths of one schedule at one placement on one topology."""

    schedule: ref[Schedule]
    topology: ref[Topology]
    placement: bytes
    groups: list[tuple[list[int], Paths]]


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

    row: npt.NDArray[np.int64]
    link: npt.NDArray[np.int64]
    begin: Floats
    end: Floats
    rate: Floats

    def select(self, which: npt.NDArray[np.int64]) -> Segments:
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
    schedule: Schedule,
    topology: Topology,
    slot_bytes: npt.NDArray[np.int64],
    placement: npt.NDArray[np.int64],
    progress: Progress | None = None,
) -> Timing:
    """Run a schedule step by step. Steps with the same pairs are timed together, whatever is between them.

    Args:
        schedule: what runs.
        topology: where it runs.
        slot_bytes: bytes of each slot.
        placement: the topology's endpoint for each endpoint of the schedule.
        progress: called with (transfers done, in all) after each step that is timed.
    """
    patterns, slots, space = schedule.patterns, Slots(slot_bytes), Space()
    link_bytes, done = np.zeros(len(topology.links)), 0
    lengths: list[list[Floats]] = [[] for _ in patterns]
    seconds: list[Floats | Paths] = [np.zeros(0)] * len(patterns)
    # Steps are independent: each begins when the one before has ended, and shares links with no other. So they can be
    # timed in any order, and steps with the same pairs need their routes once.
    for group, paths in iterate_paths(schedule, topology, placement):
        for number, durations, row_seconds in _time_steps(group, patterns, paths, slots, space, link_bytes):
            lengths[number].append(durations)
            seconds[number] = row_seconds
            if progress is not None:
                done += patterns[number].transfers // patterns[number].times * len(durations)
                progress(done, len(schedule))
    if lengths:
        end = np.cumsum(np.concatenate([durations for parts in lengths for durations in parts]))
    else:
        end = np.zeros(0)
    if len(end):
        start = np.concatenate([[0.0], end[:-1]])
    else:
        start = end
    return Timing(start, end, link_bytes, partial(_transfer_times, schedule, slots, start, seconds))


def iterate_paths(
    schedule: Schedule, topology: Topology, placement: npt.NDArray[np.int64]
) -> Iterator[tuple[list[int], Paths]]:
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
    if (
        stored is not None
        and stored.schedule() is schedule
        and stored.topology() is topology
        and stored.placement == placed
    ):
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


def _time_steps(
    group: Iterable[int], patterns: tuple[Step, ...], paths: Paths, slots: Slots, space: Space, link_bytes: Floats
) -> Iterator[tuple[int, Floats, Floats | Paths]]:
    """For steps with the same pairs, or for each repetition that differs: its number, the seconds of each of its
    repetitions, and the seconds of each row; the paths where rows differ between repetitions, because all of their
    seconds could fill the memory."""
    crossings, equal_bytes = None, 0.0
    timed: dict[float, tuple[float, Floats]] = {}
    for number in group:
        step = patterns[number]
        if not slots.has_equal_repetitions(step):
            for k in range(step.times):
                load, seconds = paths.load(slots.count_bytes(step.repetition(k)))
                link_bytes[paths.used] += load
                yield number, seconds.max(keepdims=True), paths
            continue
        nbytes = slots.count_bytes(step)
        # Rows of equal bytes differ from step to step by a factor only, so their links are counted once for the group,
        # and steps of as many bytes are timed once.
        if isinstance(nbytes, float):
            if crossings is None and paths.count_hops() <= _FEW_HOPS:
                crossings = paths.crossings
            elif crossings is None:
                crossings = paths.count_crossings(space)
            equal_bytes += nbytes * step.times
            if nbytes not in timed:
                seconds = paths.alpha + crossings[1] * nbytes
                timed[nbytes] = float(seconds.max()), _shorten(seconds)
            longest, seconds = timed[nbytes]
        else:
            load, seconds = paths.load(nbytes)
            link_bytes[paths.used] += load * step.times
            longest, seconds = float(seconds.max()), _shorten(seconds)
        yield number, np.full(step.times, longest), seconds
    if crossings is not None:
        paths.add(link_bytes, crossings[0], equal_bytes)


def _shorten(seconds: Floats) -> Floats:
    """One number for rows that are equal: a pattern of a million transfers then keeps eight bytes."""
    if (seconds == seconds[0]).all():
        return seconds[:1].copy()
    return seconds


def _transfer_times(
    schedule: Schedule, slots: Slots, step_start: Floats, row_seconds: list[Floats | Paths]
) -> tuple[Floats, Floats]:
    """(start, finish) of every transfer, in the order of `schedule.transfers`."""
    start, finish = np.empty(len(schedule)), np.empty(len(schedule))
    row = number = 0
    for pattern, seconds in zip(schedule.patterns, row_seconds, strict=True):
        m = len(pattern) * pattern.width
        for k in range(pattern.times):
            if isinstance(seconds, Paths):
                durations = seconds.load(slots.count_bytes(pattern.repetition(k)))[1]
            else:
                durations = seconds
            start[row : row + m] = step_start[number]
            finish[row : row + m] = step_start[number] + (
                durations if len(durations) == 1 else np.repeat(durations, pattern.width)
            )
            row, number = row + m, number + 1
    return start, finish
