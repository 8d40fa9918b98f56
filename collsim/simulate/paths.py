"""Routes of one step's pairs: the bytes that they put on links, and the seconds that they take.

Summed hop by hop and in blocks, so that what is read stays in the processor's cache; a million routes have ten
million hops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..dtypes import Floats, Ints, Longs
from ..steps import Step
from ..topology import Topology
from ..topology.network import Column

#: Entries at a time, so that what is computed between stays in the processor's cache.
_SLICE = 2**15
#: Of the type of what it is added to: for mixed types `np.add.at` takes a slow way.
_ONE = np.int32(1)


class Slots:
    """Bytes of slots, summed over ranges of them."""

    def __init__(self, slot_bytes: Longs):
        """Sizes of slots, prepared for ranges.

        Args:
            slot_bytes: (slots,) bytes.
        """
        self.size = slot_bytes.astype(np.float64)
        self.is_uniform = bool((self.size == self.size[0]).all())

    @cached_property
    def before(self) -> Floats:
        """(slots + 1,) bytes of all slots before each."""
        return np.concatenate([[0.0], np.cumsum(self.size)])

    def count_bytes(self, step: Step) -> Floats | float:
        """Bytes that each row of a step moves; one number where all rows move as many.

        Args:
            step: Its first repetition counts.

        Returns:
            (rows,) bytes, or one number where all rows move as many.
        """
        if self.is_uniform:
            return float(self.size[0] * step.width)
        chunk = step.chunk
        if step.width == 1:
            nbytes: Floats = self.size[chunk]
        else:
            nbytes = self.before[chunk + step.width] - self.before[chunk]
        if (nbytes == nbytes[0]).all():
            return float(nbytes[0])
        return nbytes

    def has_equal_repetitions(self, step: Step) -> bool:
        """Do all repetitions of a step carry the same bytes? They do where all slots that they can reach are of one
        size.

        Args:
            step: Its repetitions shift slots by `step.shift`, modulo `step.modulus`.
        """
        if step.times == 1 or step.shift == 0 or self.is_uniform:
            return True
        groups = np.unique(step.chunk // step.modulus)
        reached = self.size
        if len(self.size) % step.modulus == 0:
            reached = self.size.reshape(-1, step.modulus)[groups]
        return bool((reached == reached.flat[0]).all())

    def iterate_repetitions(self, step: Step) -> Iterator[tuple[Step, int]]:
        """The repetitions of a step, with how many they are: all at once where they move equal bytes.

        Args:
            step: With its number of repetitions.
        """
        if self.has_equal_repetitions(step):
            yield step, step.times
        else:
            for k in range(step.times):
                yield step.repetition(k), 1


@dataclass(frozen=True, eq=False)
class LinearTimes:
    """Times of a step's transfers where all of them carry as many bytes: linear in these bytes.

    Attributes:
        alpha: (pairs,) s without bytes; one value where all pairs are equal.
        per_byte: (pairs,) s per byte of the link that limits each pair; one value likewise.
    """

    alpha: Floats
    per_byte: Floats

    def compute(self, nbytes: float) -> Floats:
        """Compute the seconds of each pair's transfer; one number where all pairs are equal.

        Args:
            nbytes: Of each transfer.
        """
        return self.alpha + self.per_byte * nbytes

    def compute_longest(self, nbytes: float) -> float:
        """Compute the seconds of the longest transfer.

        Args:
            nbytes: Of each transfer.
        """
        return max(alpha + per_byte * nbytes for alpha, per_byte in self._slowest)

    @cached_property
    def _slowest(self) -> list[tuple[float, float]]:
        """Alpha and seconds per byte of the pairs that can be the longest for some size: no other is slower in both."""
        highest = self.alpha.max()
        slope = self.per_byte[self.alpha == highest].max()
        others = np.flatnonzero(self.per_byte > slope)
        others = others[np.lexsort((-self.per_byte[others], -self.alpha[others]))]
        alpha, per_byte = np.r_[highest, self.alpha[others]], np.r_[slope, self.per_byte[others]]
        slower = np.r_[True, per_byte[1:] > np.maximum.accumulate(per_byte)[:-1]]
        return list(zip(alpha[slower].tolist(), per_byte[slower].tolist(), strict=True))

    def shorten(self) -> LinearTimes:
        """One value where all pairs are equal: a pattern of a million transfers then keeps sixteen bytes."""
        if (self.alpha == self.alpha[0]).all() and (self.per_byte == self.per_byte[0]).all():
            return LinearTimes(self.alpha[:1].copy(), self.per_byte[:1].copy())
        return self


@dataclass(frozen=True, eq=False)
class Paths:
    """Routes of one set of pairs, prepared for summing.

    Attributes:
        alpha: s, of each pair's whole route.
        used: the links in use, or all.
        hops: the routes hop by hop; the links are positions in `used`.
        bandwidth: B/s, of the links `used`.
    """

    alpha: Floats
    used: Longs | slice
    hops: list[Column]
    bandwidth: Floats

    def load(self, nbytes: Floats | float) -> tuple[Floats, Floats]:
        """Put bytes on the links of all pairs at once.

        Args:
            nbytes: (pairs,) bytes that each pair sends, or one number for all.

        Returns:
            (used links,) bytes on each link in use, and (pairs,) s that each transfer takes, one where all are equal.
        """
        if isinstance(nbytes, float):
            count, times = self.crossings
            return np.multiply(count, nbytes, dtype=np.float64), times.compute(nbytes)
        load = np.zeros(len(self.bandwidth))
        for pair, link in self.hops:
            for part, links in _split_hop(link):
                np.add.at(load, links, nbytes[part] if pair is None else nbytes[pair[part]])
        return load, self.alpha + self._longest(load / self.bandwidth)

    def count_crossings(self, space: Space | None = None) -> tuple[Ints, LinearTimes]:
        """Count the pairs on each link where every pair sends as many bytes.

        Args:
            space: Memory for the counts, overwritten by the next call with it; None allocates.

        Returns:
            (used links,) pairs that cross each link in use, and what the pairs' transfers take by their bytes.
        """
        count, flow = (space or Space()).get_arrays(len(self.bandwidth))
        count.fill(0)
        for _, link in self.hops:
            for _, links in _split_hop(link):
                np.add.at(count, links, _ONE)
        longest = self._longest(np.divide(count, self.bandwidth, out=flow))
        return count, LinearTimes(self.alpha, longest).shorten()

    @cached_property
    def crossings(self) -> tuple[Ints, LinearTimes]:
        """What `count_crossings` gives, stored: for few routes, which are loaded again and again."""
        return self.count_crossings()

    def count_hops(self) -> int:
        """Count the links that all routes cross together, which is what the paths take in memory."""
        return sum(len(link) for _, link in self.hops)

    @property
    def has_shared_links(self) -> bool:
        """Do two of the pairs cross the same link, or one of them twice?"""
        return bool(self.hops) and bool(self.count_crossings()[0].max(initial=0) > 1)

    def add(self, link_bytes: Floats, count: Ints, nbytes: float) -> None:
        """Add `count` times `nbytes` to the bytes of all links.

        Args:
            link_bytes: (links,) bytes of all links of the topology; changed in place.
            count: (used links,) pairs that cross each link in use.
            nbytes: Bytes of one pair.
        """
        if not isinstance(self.used, slice):
            link_bytes[self.used] += count * nbytes
            return
        for first in range(0, len(count), _SLICE):
            part = slice(first, first + _SLICE)
            link_bytes[part] += count[part] * nbytes

    def _longest(self, flow: Floats) -> Floats:
        """For each pair the largest `flow` of the links that it crosses."""
        longest = np.zeros(len(self.alpha))
        for pair, link in self.hops:
            for part, links in _split_hop(link):
                rows = part if pair is None else pair[part]
                longest[rows] = np.maximum(longest[rows], flow[links])
        return longest


class Space:
    """Memory for one count and one float per link, used again and again: fresh pages cost more than what is written to
    them."""

    def __init__(self) -> None:
        self._count, self._flow = np.empty(0, np.int32), np.empty(0)

    def get_arrays(self, links: int) -> tuple[Ints, Floats]:
        """Both, for so many links, with anything in them."""
        if len(self._count) < links:
            self._count, self._flow = np.empty(links, np.int32), np.empty(links)
        return self._count[:links], self._flow[:links]


def _split_hop(link: npt.NDArray[np.integer]) -> Iterator[tuple[slice, npt.NDArray[np.intp]]]:
    """Parts of a hop, with links as numpy takes them without copying once more."""
    for first in range(0, len(link), _SLICE):
        part = slice(first, first + _SLICE)
        yield part, link[part].astype(np.intp)


def group_by_pairs(steps: Iterable[Step]) -> list[list[int]]:
    """Numbers of the steps that have the same pairs in the same order: their routes are found once.

    Args:
        steps: In any order; only their `src` and `dst` count.

    Returns:
        Groups in order of their first step.
    """
    from hashlib import blake2b  # loads OpenSSL

    groups: dict[bytes, list[int]] = {}
    for number, step in enumerate(steps):
        key = blake2b(step.src.tobytes())
        key.update(step.dst.tobytes())
        groups.setdefault(key.digest(), []).append(number)
    return list(groups.values())


def find_paths(topology: Topology, src: Longs, dst: Longs) -> Paths:
    """Routes of a step's pairs.

    Args:
        topology: the network.
        src: endpoints that send.
        dst: endpoints that receive, one for each.

    Raises:
        TopologyError: Where two cannot reach each other.
    """
    columns = topology.columns(src, dst)
    alpha = np.zeros(len(src))
    for pair, link in columns:
        for part, links in _split_hop(link):
            alpha[part if pair is None else pair[part]] += topology.links.alpha[links]
    used, hops = _find_used_links(columns, len(topology.links))
    return Paths(alpha, used, hops, topology.links.bandwidth[used])


def _find_used_links(columns: list[Column], count: int) -> tuple[Longs | slice, list[Column]]:
    """Which of `count` links are used, in their order, and the hops with positions among them; all, where a good part
    of them is."""
    total = sum(len(link) for _, link in columns)
    # Numbering the used links costs a pass over all hops; it pays where few of many links are used.
    if not columns or 4 * total >= count:
        return slice(0, count), columns
    # A mark for each link is the fastest way to find them, but where hops are far fewer than links, sorting the hops
    # is faster than going through all marks.
    used = np.zeros(count if 64 * total >= count else 0, bool)
    if not len(used):
        links = np.unique(np.concatenate([link for _, link in columns]))
        return links.astype(np.int64), [
            Column(pair, np.searchsorted(links, link).astype(np.int32)) for pair, link in columns
        ]
    for _, link in columns:
        used[link] = True
    links = np.flatnonzero(used)
    number = np.empty(count, np.int32)
    number[links] = np.arange(len(links), dtype=np.int32)
    return links.astype(np.int64, copy=False), [Column(pair, number[link]) for pair, link in columns]
