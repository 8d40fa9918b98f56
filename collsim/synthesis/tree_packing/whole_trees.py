"""From rates to whole numbers: how many trees of one rate cross each pair of ranks.

With k trees of rate u for each unit of demand, a pair carries floor(rate / u) trees. ForestColl (arXiv 2402.06787,
section 5.2) takes the k for which nothing is lost; where that is too many, the smallest k that loses next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import TypeVar

import numpy as np

from ...dtypes import Floats, Longs
from ...maxflow import max_flow
from ..pairs.alltoall_rates import Pairs, build_demand, build_fed_graph, find_nodes

Fitting = TypeVar("Fitting")
_LEAST = 0.75  # part of the highest rate for which more trees are taken than were asked for
_STEPS = 12  # of the search for the rate of a tree: to 1 part in 4096 of the gap that is left


@dataclass(frozen=True, eq=False)
class WholeTrees:
    """How many trees of one rate fit.

    Attributes:
        trees: per unit of demand.
        rate: B/s of each.
        capacity: (pairs,) how many trees may cross each pair.
    """

    trees: int
    rate: float
    capacity: Longs


def find_whole_trees(
    pairs: Pairs, rate: Floats, value: float, root: int | None, most_trees: int, enough: float
) -> WholeTrees:
    """The fewest trees that reach a rate, or those that come nearest to it.

    Args:
        pairs: of ranks.
        rate: (pairs,) B/s.
        value: B/s per unit of demand that these rates allow.
        root: trees grow at this rank only; at every rank when None.
        most_trees: per unit of demand; more where so few carry little.
        enough: the part of `value` that is enough.
    """
    best = WholeTrees(0, 0.0, np.zeros(len(pairs), np.int64))
    exact = find_lossless_count(rate, value)
    counts = sorted({*range(1, most_trees + 1), *([exact] if exact and exact <= 4 * most_trees else [])})
    while best.trees * best.rate < _LEAST * value:
        for trees in counts:
            fit = partial(_fit_whole_trees, pairs, rate, root, trees)
            trees_found = search_rate(fit, value / trees, best.trees * best.rate / trees)
            if trees_found is not None and trees_found.trees * trees_found.rate > best.trees * best.rate * (1 + 1e-6):
                best = trees_found
            if best.trees * best.rate >= enough * value:
                break
        # Rates that are spread over many pairs hold few trees of a high rate, or none; more trees have lower rates.
        counts = [2 * counts[-1]]
    return best


def _fit_whole_trees(pairs: Pairs, rate: Floats, root: int | None, trees: int, unit: float) -> WholeTrees | None:
    capacity = fit_trees(pairs, rate, unit, root, trees)
    if capacity is None:
        return None
    return WholeTrees(trees, unit, capacity)


def find_lossless_count(rate: Floats, value: float) -> int | None:
    """k for which every rate is a whole number of trees of rate value / k, where rates are whole B/s; else None.

    Args:
        rate: (pairs,) B/s.
        value: B/s, the optimum for each rank.
    """
    inside = int(max(1, round(float(rate.max()) / value))) * 64
    for parts in range(1, min(inside, 512) + 1):
        # `value` may be a fraction: times a small whole number it is a whole number of B/s again.
        total = value * parts
        if abs(total - round(total)) < 1e-6 * parts and (np.abs(rate - np.rint(rate)) < 1e-6).all():
            common = int(np.gcd.reduce(np.rint(rate).astype(np.int64)))
            return round(total) // gcd(common * parts, round(total))
    return None


def search_rate(fit: Callable[[float], Fitting | None], high: float, least: float) -> Fitting | None:
    """What fits at the largest rate of a tree above `least`; None where nothing does.

    Args:
        fit: what fits at a rate, B/s, or None.
        high: B/s that no tree can exceed; the search goes down from there.
        least: B/s; less is of no use.
    """
    if least:
        low = max(least, 0.7 * high)
    else:
        low = 0.3 * high
    if (fitting := fit(high)) is not None:
        return fitting
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if (tried := fit(middle)) is None:
            high = middle
            # Nothing above `least` is left to find.
            if high <= least * 1.001:
                break
        else:
            low, fitting = middle, tried
    return fitting


def fit_trees(pairs: Pairs, rate: Floats, unit: float, root: int | None, trees: int) -> Longs | None:
    """How many trees cross each pair, if every rank can be reached by all trees that do not begin at it; else None.

    Args:
        pairs: All of them.
        rate: (pairs,) B/s.
        unit: B/s of one tree.
        root: Where all trees begin; None for as many at every rank.
        trees: That begin at each root.

    Returns:
        (pairs,) trees, or None.
    """
    capacity = round_rates(pairs, rate, unit)
    if holds_trees(pairs, capacity, build_demand(pairs.ranks, root) * trees):
        return capacity
    return None


def holds_trees(pairs: Pairs, capacity: Longs, need: Longs) -> bool:
    """Can every rank be reached by all trees that do not begin at it?

    Args:
        pairs: All of them.
        capacity: (pairs,) trees that may cross each.
        need: (ranks,) trees that begin at each.
    """
    lacking = need.sum() - need
    # Cheap and often decisive: what comes into a rank must hold every tree that does not begin there.
    if (np.bincount(pairs.dst, weights=capacity, minlength=pairs.ranks) < lacking).any():
        return False
    total = int(need.sum())
    graph, feed = build_fed_graph(pairs, np.minimum(capacity, total))
    graph.capacity[feed] = need
    # By Edmonds' theorem (1973) the trees exist exactly if each rank alone can be reached by all of them, so one
    # maximum flow a rank decides it and no tree has to be built.
    return all(
        max_flow(graph, graph.capacity.copy(), pairs.ranks, int(sink), total)[1] is None
        for sink in np.flatnonzero(lacking > 0)
    )


def round_rates(pairs: Pairs, rate: Floats, unit: float) -> Longs:
    """Whole trees per pair: what fits of its rate, then one more for those that lack least, while links have room.

    Args:
        pairs: All of them.
        rate: (pairs,) B/s.
        unit: B/s of one tree.

    Returns:
        (pairs,) trees.
    """
    # A rate that is a whole number of trees but for rounding must not lose one.
    exact = rate / unit * (1 + 1e-9)
    trees = np.floor(exact).astype(np.int64)
    if (pairs.routes.hops == 1).all() and len(np.unique(pairs.routes.link)) == len(pairs):
        return trees
    links = pairs.topology.links
    room = np.floor(links.bandwidth / unit * (1 + 1e-9)).astype(np.int64)
    room -= np.bincount(pairs.routes.link, weights=trees[pairs.pair_of], minlength=len(links)).astype(np.int64)
    node, _, number = find_nodes(pairs)
    away = (number[pairs.dst] - number[pairs.src]) % pairs.ranks
    group = int(np.bincount(node).max())
    # Of pairs that lack equally little, those in the same position of two groups first, so that rails stay rails.
    order = np.lexsort((away, away % group, -np.round(exact - trees, 6)))
    start, link = pairs.routes.start, pairs.routes.link
    for pair in order.tolist():
        crossed = link[start[pair] : start[pair + 1]]
        more = int(room[crossed].min())
        if more > 0 and rate[pair] > 0:
            room[crossed] -= 1
            trees[pair] += 1
    return trees
