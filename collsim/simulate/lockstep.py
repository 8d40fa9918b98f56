"""The discrete-step engine: everybody waits until the slowest transfer of a step has arrived.

Assumptions:
- Steps are separated by a barrier that costs nothing; a step lasts as long as its slowest transfer.
- In a step, a transfer takes the sum of alpha over its route, plus the largest (bytes of that link in that step / bandwidth) over
  the links of its route: the transfers of a step share a link fairly and end together, and data flow through (cut-through), they
  are not stored at every hop.
- Links are full duplex: each direction is a link of its own. Devices forward at line rate; reducing costs nothing.
- A transfer without bytes (fewer elements than chunks) still costs its alphas; a local copy costs nothing.

Exact against the closed forms of Thakur, Rabenseifner & Gropp 2005 and Chan et al. 2007 on networks where no link is shared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..schedule import Schedule, Step
from ..topology import Topology
from .conditions import Progress

Floats = npt.NDArray[np.float64]
_KEPT_ROUTES, _KEPT_BYTES = 64, 128 * 2**20
_LARGE = _KEPT_BYTES // _KEPT_ROUTES


class Timing(NamedTuple):
    """What an engine returns.

    step_start, step_end: s, the first start and the last arrival of each step. link_bytes: over each link.
    transfers: (start, finish) in s of every transfer, worked out on demand. how: the way it was computed.
    flows: the times and rates at which bytes flow, on demand; None where they follow from start and finish (see `usage`).
    """

    step_start: Floats
    step_end: Floats
    link_bytes: Floats
    transfers: Callable[[], tuple[Floats, Floats]]
    how: str = "lockstep"
    flows: Callable[[], Segments] | None = None

    def later(self, seconds: float) -> Timing:
        """The same, launched later."""
        if not seconds:
            return self
        return self._replace(
            step_start=self.step_start + seconds,
            step_end=self.step_end + seconds,
            transfers=partial(_later, self.transfers, seconds),
        )


class Segments(NamedTuple):
    """Bytes that flow at one rate for a while: row of the transfer, link (-1: all links of its route), s, s, B/s."""

    row: npt.NDArray[np.int64]
    link: npt.NDArray[np.int64]
    begin: Floats
    end: Floats
    rate: Floats


def _later(transfers: Callable[[], tuple[Floats, Floats]], seconds: float) -> tuple[Floats, Floats]:
    start, finish = transfers()
    return start + seconds, finish + seconds


@dataclass(frozen=True, eq=False)
class Paths:
    """Routes of one set of pairs, prepared for summing.

    Attributes:
        alpha: s, of each pair's whole route.
        here: the links in use, or all.
        place: for each hop its link, as a position in `here`: first hops of all pairs, then second ones ...
        hops: the pairs that make each hop (None: all).
        bandwidth: B/s, of the links `here`.
    """

    alpha: Floats
    here: npt.NDArray[np.int64] | slice
    place: npt.NDArray[np.intp]
    hops: list[npt.NDArray[np.int64] | None]
    bandwidth: Floats

    @property
    def memory(self) -> int:
        """Bytes that they take, and the pairs by which they are found again."""
        own = 2 * self.alpha.nbytes + self.alpha.nbytes + self.place.nbytes + sum(pair.nbytes for pair in self.hops if pair is not None)
        return own if isinstance(self.here, slice) else own + self.here.nbytes + self.bandwidth.nbytes

    def load(self, nbytes: Floats) -> tuple[Floats, Floats]:
        """Bytes on each link in use, and the seconds that each transfer takes."""
        load = self._carried(nbytes)
        seconds = self.alpha.copy()
        if len(self.place):
            flow, longest, end = load / self.bandwidth, np.zeros(len(seconds)), 0
            for pair in self.hops:
                end += len(seconds) if pair is None else len(pair)
                if pair is None:
                    np.maximum(longest, flow[self.place[end - len(seconds) : end]], out=longest)
                else:
                    longest[pair] = np.maximum(longest[pair], flow[self.place[end - len(pair) : end]])
            seconds += longest
        return load, seconds

    def _carried(self, nbytes: Floats) -> Floats:
        if len(nbytes) and (nbytes == nbytes[0]).all():
            even: Floats = np.multiply(np.bincount(self.place, minlength=len(self.bandwidth)), nbytes[0])
            return even
        weights = [nbytes if pair is None else nbytes[pair] for pair in self.hops]
        load = np.bincount(self.place, weights=np.concatenate(weights) if weights else None, minlength=len(self.bandwidth))
        return load.astype(np.float64, copy=False)


def lockstep(
    schedule: Schedule,
    topology: Topology,
    slot_bytes: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    progress: Progress | None = None,
) -> Timing:
    """Run a schedule step by step.

    Args:
        slot_bytes: bytes of each slot.
        place: the topology's endpoint for each endpoint of the schedule.
        progress: called with (transfers done, in all) after each step that is worked out.
    """
    done, total = 0, len(schedule)
    sizes = slot_bytes.astype(np.float64)
    link_bytes = np.zeros(len(topology.links))
    lengths: list[Floats] = []
    turned: list[Paths | Floats] = []
    known: OrderedDict[bytes, Paths] = OrderedDict()
    for pattern in schedule.patterns:
        paths = paths_of(topology, place[pattern.src], place[pattern.dst], known)
        turns = 1 if pattern.times == 1 or alike(pattern, sizes) else pattern.times
        for k in range(turns):
            load, seconds = paths.load(sizes[pattern.at(k).chunk])
            link_bytes[paths.here] += load if turns == pattern.times else load * pattern.times
            lengths.append(np.full(pattern.times // turns, seconds.max()))
            if progress is not None:
                done += len(pattern) * (pattern.times // turns)
                progress(done, total)
        turned.append(seconds if turns == 1 else paths)
    length = np.concatenate(lengths) if lengths else np.zeros(0)
    end = np.cumsum(length)
    start = np.concatenate([[0.0], end[:-1]]) if len(end) else end
    return Timing(start, end, link_bytes, partial(_transfer_times, schedule, sizes, start, turned))


def alike(pattern: Step, sizes: Floats) -> bool:
    """Do all repetitions of a pattern carry the same bytes? They do where all slots that they can reach are of one size."""
    if pattern.shift == 0:
        return True
    groups = np.unique(pattern.chunk // pattern.modulus)
    slots = sizes.reshape(-1, pattern.modulus)[groups] if len(sizes) % pattern.modulus == 0 else sizes
    return bool((slots == slots.flat[0]).all())


def paths_of(topology: Topology, src: npt.NDArray[np.int64], dst: npt.NDArray[np.int64], known: OrderedDict[bytes, Paths]) -> Paths:
    """Routes of a step's pairs; steps mostly use the pairs of a step before."""
    key = src.tobytes() + dst.tobytes()
    if key in known:
        known.move_to_end(key)
        return known[key]
    columns = topology.columns(src, dst)
    alpha = np.zeros(len(src))
    for pair, link in columns:
        alpha[slice(None) if pair is None else pair] += topology.links.alpha[link]
    here, place = _used([link for _, link in columns], len(topology.links))
    paths = Paths(alpha, here, place, [pair for pair, _ in columns], topology.links.bandwidth[here])
    known[key] = paths
    if len(known) > _KEPT_ROUTES:
        known.popitem(last=False)
    if paths.memory > _LARGE:
        while sum(p.memory for p in known.values()) > _KEPT_BYTES:
            known.popitem(last=False)
    return paths


def _used(links: list[npt.NDArray[np.int32]], count: int) -> tuple[npt.NDArray[np.int64] | slice, npt.NDArray[np.intp]]:
    """Which of `count` links are used, in their order, and each hop's position among them."""
    link = np.concatenate(links, dtype=np.intp) if links else np.zeros(0, np.intp)
    if 4 * len(link) >= count:
        return slice(0, count), link
    if 64 * len(link) < count:
        few, place = np.unique(link, return_inverse=True)
        return few.astype(np.int64), place.ravel()
    used = np.zeros(count, bool)
    used[link] = True
    here = np.flatnonzero(used).astype(np.int64, copy=False)
    number = np.empty(count, np.intp)
    number[here] = np.arange(len(here))
    return here, number[link]


def _transfer_times(schedule: Schedule, sizes: Floats, step_start: Floats, turned: list[Paths | Floats]) -> tuple[Floats, Floats]:
    """(start, finish) of every transfer, in the order of `schedule.transfers`. `turned`: for each pattern the durations, or where its
    repetitions differ the paths, to work them out again: all of them could fill the memory of a run that nobody asks for them."""
    start = np.empty(len(schedule))
    finish = np.empty(len(schedule))
    row = step = 0
    for pattern, known in zip(schedule.patterns, turned, strict=True):
        m = len(pattern)
        every, turns = (1, pattern.times) if isinstance(known, Paths) else (pattern.times, 1)
        for k in range(turns):
            seconds = known.load(sizes[pattern.at(k).chunk])[1] if isinstance(known, Paths) else known
            start[row : row + every * m] = np.repeat(step_start[step : step + every], m)
            finish[row : row + every * m] = start[row : row + every * m] + np.tile(seconds, every)
            row, step = row + every * m, step + every
    return start, finish
