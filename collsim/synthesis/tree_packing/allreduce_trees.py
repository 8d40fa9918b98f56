"""An allreduce in one pass: each piece climbs a tree to its root, and goes down another while the next pieces climb.

The rates come from a linear program (`tree_rates`); whole trees, packing and pieces are those of the other
collectives. Roots have unequal shares, down to none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from ...dtypes import Floats, Longs
from ...steps import Step
from ...topology import Routes
from ..pairs.alltoall_rates import Pairs
from .lane_order import find_parents, run_lanes
from .packing import pack
from .pipelined import Forest, build_forest, pipeline_levels, place_in_steps
from .tree_rates import TreeRates
from .whole_trees import holds_trees, round_rates, search_rate

_LOST = 1e-4  # part of a tree below which a rate is a whole number of trees: the program's answers are rounded
_GROWTH = 1.15  # from one number of trees that is tried to the next, beyond the first few


@dataclass(frozen=True, eq=False)
class _Capacity:
    """How many trees of one rate fit.

    Attributes:
        rate: B/s of each tree.
        need: (ranks,) trees with their root at each rank.
        reducing: (pairs,) trees that cross each pair on their way up.
        broadcasting: (pairs,) trees that cross each pair on their way down.
    """

    rate: float
    need: Longs
    reducing: Longs
    broadcasting: Longs

    @property
    def total(self) -> float:
        """B/s of all trees."""
        return self.rate * int(self.need.sum())


def plan_allreduce_trees(
    pairs: Pairs, rates: TreeRates, most_trees: int, enough: float, report: Callable[[int, int], None] | None
) -> tuple[Forest, Forest]:
    """The trees that reduce and those that broadcast; those of one number have the same root.

    Args:
        pairs: of ranks.
        rates: of the linear program.
        most_trees: of each of the two.
        enough: the part of the highest rate that is enough.
        report: called with (trees finished, in all).
    """
    whole = _find_whole_trees(pairs, rates, most_trees, enough)
    trees = int(whole.need.sum())
    forests = []
    for directed, capacity, reverse in ((pairs.reversed, whole.reducing, True), (pairs, whole.broadcasting, False)):
        packed = pack(pairs.ranks, directed.src, directed.dst, capacity, whole.need, report)
        forests.append(build_forest(packed, trees, whole.rate, directed, reverse))
    return forests[0], forests[1]


def yield_allreduce(up: Forest, down: Forest, pieces: int, nbytes: float, lanes: int) -> Iterator[Step]:
    """The steps of an allreduce in one pass.

    Args:
        up: the trees that reduce.
        down: the trees that broadcast.
        pieces: into which the share of each tree is cut.
        nbytes: of the buffer, for which lanes are ordered.
        lanes: 0 for a pipeline of all trees, else lanes of each pair (`lane_order`).
    """
    src, dst = (np.concatenate(ranks) for ranks in zip(up.ends, down.ends, strict=True))
    unit, reduces = np.concatenate([up.unit, down.unit]), np.arange(len(src)) < len(up.unit)
    if not lanes:
        climb = _find_heights(up)
        level = np.concatenate([climb[up.unit] - up.depth, climb[down.unit] + down.depth - 1])
        yield from pipeline_levels((src, dst), level, unit, reduces, pieces)
        return
    (above, _), (parent, below) = find_parents(up), find_parents(down)
    tail = np.concatenate([up.depth - 1 + _find_heights(down)[up.unit], below])
    both = replace(down, src=src, dst=dst, unit=unit, unshared=np.concatenate([up.unshared, down.unshared]))
    waiting = _find_waiting(up, above, down, parent)
    step, channel = run_lanes(both, waiting, tail, pieces, nbytes, lanes)
    yield from place_in_steps((src, dst), unit, reduces, step, channel)


def _find_heights(forest: Forest) -> Longs:
    """(trees,) the edges on the longest way from the root of each."""
    heights = np.zeros(forest.trees, np.int64)
    np.maximum.at(heights, forest.unit, forest.depth)
    return heights


def _find_waiting(up: Forest, above: Longs, down: Forest, parent: Longs) -> tuple[Longs, Longs]:
    """Edges of both forests, numbered one after the other, and of each an edge that waits for it.

    A rank sends a piece on when all below it have sent theirs, and a root when all have.
    """
    inner, rooted = np.flatnonzero(above >= 0), np.flatnonzero(above < 0)
    first, later = np.flatnonzero(parent < 0), np.flatnonzero(parent >= 0)
    first = first[np.argsort(down.unit[first], kind="stable")]
    low, high = (np.searchsorted(down.unit[first], up.unit[rooted], side) for side in ("left", "right"))
    at_root = np.repeat(np.arange(len(rooted)), high - low)
    begins = np.arange(len(at_root)) - np.repeat(np.cumsum(high - low) - high, high - low)
    shift = len(above)
    before = np.concatenate([inner, rooted[at_root], shift + parent[later]])
    after = np.concatenate([above[inner], shift + first[begins], shift + later])
    return before, after


def _find_whole_trees(pairs: Pairs, rates: TreeRates, most_trees: int, enough: float) -> _Capacity:
    """The fewest trees that reach enough of the rate, or those that come nearest to it."""
    both = _join(pairs.reversed, pairs)
    rate = np.concatenate([rates.reducing, rates.broadcasting])
    best = _Capacity(0.0, np.zeros(pairs.ranks, np.int64), rate[:0].astype(np.int64), rate[:0].astype(np.int64))
    # One tree over each pair that is used at all is always found, so the search goes on until some fit.
    for trees in _iterate_counts(np.append(rate, rates.share) / rates.total, most_trees):
        if trees > most_trees and best.total:
            break
        need = _apportion(rates.share, trees)
        fitting = search_rate(partial(_fit, both, rate, need), rates.total / trees, best.total / trees)
        if fitting is not None:
            best = fitting
        if best.total >= enough * rates.total:
            break
    return best


def _iterate_counts(parts: Floats, most_trees: int) -> Iterator[int]:
    """Numbers of trees to try: the smallest of which nothing is lost, as all parts are whole trees; then 1, 2, 3."""
    counts = range(1, most_trees + 1)
    yield from islice((n for n in counts if np.abs(parts * n - np.rint(parts * n)).max() < _LOST), 1)
    trees = 1
    while True:
        yield trees
        trees = max(trees + 1, int(trees * _GROWTH))


def _join(first: Pairs, second: Pairs) -> Pairs:
    """The pairs of both, which share the links: those of `first`, then those of `second`."""
    start = np.concatenate([first.routes.start, second.routes.start[1:] + first.routes.start[-1]])
    routes = Routes(start, np.concatenate([first.routes.link, second.routes.link]))
    src, dst = np.concatenate([first.src, second.src]), np.concatenate([first.dst, second.dst])
    return Pairs(first.topology, first.ranks, src, dst, routes)


def _apportion(share: Floats, trees: int) -> Longs:
    """(ranks,) trees with their root at each rank: the largest remainders get one more (Hamilton's method)."""
    exact = share / share.sum() * trees
    need: Longs = np.floor(exact + 1e-9).astype(np.int64)
    missing = trees - int(need.sum())
    need[np.argsort(need - exact, kind="stable")[:missing]] += 1
    return need


def _fit(both: Pairs, rate: Floats, need: Longs, unit: float) -> _Capacity | None:
    """The trees that cross each pair at B/s of each tree; None where some cannot be grown."""
    capacity = round_rates(both, rate, unit)
    half = len(both) // 2
    for part in (slice(None, half), slice(half, None)):
        # Their flows need no routes, only who sends to whom.
        ends = Pairs(both.topology, both.ranks, both.src[part], both.dst[part], both.routes)
        if not holds_trees(ends, capacity[part], need):
            return None
    return _Capacity(unit, need, capacity[:half], capacity[half:])
