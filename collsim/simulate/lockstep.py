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

Floats = npt.NDArray[np.float64]
_KEPT_ROUTES = 64


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
    """Routes of one set of pairs, prepared for summing: `here` numbers the links in use, `place` maps each hop to them."""

    alpha: Floats
    hops: npt.NDArray[np.int64]
    here: npt.NDArray[np.int32]
    place: npt.NDArray[np.int64]
    bandwidth: Floats
    first: npt.NDArray[np.int64]
    routed: npt.NDArray[np.bool_]

    def load(self, nbytes: Floats) -> tuple[Floats, Floats]:
        """Bytes on each link in use, and the seconds that each transfer takes."""
        load: Floats = np.bincount(self.place, weights=np.repeat(nbytes, self.hops), minlength=len(self.here)).astype(
            np.float64, copy=False
        )
        seconds = self.alpha.copy()
        if len(self.place):
            flow = (load / self.bandwidth)[self.place]
            seconds[self.routed] += np.maximum.reduceat(flow, self.first)
        return load, seconds


def lockstep(schedule: Schedule, topology: Topology, slot_bytes: npt.NDArray[np.int64], place: npt.NDArray[np.int64]) -> Timing:
    """Run a schedule step by step.

    Args:
        slot_bytes: bytes of each slot.
        place: the topology's endpoint for each endpoint of the schedule.
    """
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
            link_bytes[paths.here] += load * (pattern.times // turns)
            lengths.append(np.full(pattern.times // turns, seconds.max()))
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
    routes = topology.routes(src, dst)
    here, at = np.unique(routes.link, return_inverse=True)
    hops = routes.hops
    routed = hops > 0
    alpha = np.zeros(len(src))
    if len(routes.link):
        alpha[routed] = np.add.reduceat(topology.links.alpha[routes.link], routes.start[:-1][routed])
    paths = Paths(alpha, hops, here, at.ravel(), topology.links.bandwidth[here], routes.start[:-1][routed], routed)
    known[key] = paths
    if len(known) > _KEPT_ROUTES:
        known.popitem(last=False)
    return paths


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
