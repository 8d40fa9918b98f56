"""How fast every rank may send to every other at the same time, on the routes the topology has: the switches are gone.

Trees are packed in a graph of ranks alone. ForestColl (arXiv 2402.06787, section 5.3) removes a switch by splitting off
pairs of its links while no cut that matters gets smaller. Here a transfer takes the one route that the topology has
between its ranks, so what may be split off is whole routes: each pair of ranks gets a rate, all links carry what
crosses them. Rates are weighted max-min fair (Bertsekas & Gallager 1992, section 6.5.2); where the worst cut among
ranks is below what the topology's own cuts allow, pairs across it get more weight (Freund & Schapire 1997) and rates
are shared out again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..cuts import route_rates, worst
from ..errors import Sentence, TopologyError
from ..maxflow import Arcs, arcs, max_flow
from ..topology import Routes, Topology
from ..topology.graph import format_ranks

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
MOST_PAIRS = 300_000
_ROUNDS, _ENOUGH, _PUSH = 40, 0.9985, 1.5


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ordered pairs of ranks that may talk without passing another rank: `src[i]` to `dst[i]` over `routes[i]`."""

    topology: Topology
    ranks: int
    src: Longs
    dst: Longs
    routes: Routes

    def __len__(self) -> int:
        return len(self.src)

    @cached_property
    def pair_of(self) -> Longs:
        """The pair of each entry of `routes.link`."""
        return np.repeat(np.arange(len(self)), self.routes.hops)

    @cached_property
    def alpha(self) -> Floats:
        """(pairs,) s, along the route."""
        alpha = self.topology.links.alpha[self.routes.link]
        return np.bincount(self.pair_of, weights=alpha, minlength=len(self)).astype(np.float64)

    @cached_property
    def reversed(self) -> Pairs:
        """The same pairs seen backwards in time: what was received is sent."""
        return Pairs(self.topology, self.ranks, self.dst, self.src, self.routes)


def pairs_of(topology: Topology, ranks: int) -> Pairs:
    """All pairs whose route passes no other rank; on a network of ranks alone these are its links.

    Raises TopologyError where ranks cannot reach each other, or there are too many pairs.
    """
    links = topology.links
    place = np.full(len(topology.devices), -1, np.int64)
    place[topology.endpoint_device[:ranks]] = np.arange(ranks)
    src, dst = place[links.src], place[links.dst]
    if len(topology.devices) == ranks:  # ranks and nothing else
        routes = Routes(np.arange(len(links) + 1, dtype=np.int64), np.arange(len(links), dtype=np.int32))
        found = Pairs(topology, ranks, src, dst, routes)
    else:
        if ranks * (ranks - 1) > MOST_PAIRS:
            why = "{name}: {ranks} ranks behind switches are {pairs:,} pairs, more than {most:,}; use fewer ranks"
            raise TopologyError(why, name=topology.name, ranks=ranks, pairs=ranks * (ranks - 1), most=MOST_PAIRS)
        a, b = np.divmod(np.flatnonzero(~np.eye(ranks, dtype=bool).ravel()), ranks)
        routes = topology.routes(a, b)
        found = _without_ranks_between(Pairs(topology, ranks, a, b, routes), place)
    _require_connected(found)
    return found


def _without_ranks_between(pairs: Pairs, place: Longs) -> Pairs:
    last = np.zeros(len(pairs.routes.link), bool)
    last[pairs.routes.start[1:] - 1] = True
    between = (place[pairs.topology.links.dst[pairs.routes.link]] >= 0) & ~last
    keep = np.flatnonzero(np.bincount(pairs.pair_of, weights=between, minlength=len(pairs)) == 0)
    start = np.concatenate([[0], np.cumsum(pairs.routes.hops[keep])]).astype(np.int64)
    chosen = np.zeros(len(pairs), bool)
    chosen[keep] = True
    routes = Routes(start, pairs.routes.link[chosen[pairs.pair_of]])
    return Pairs(pairs.topology, pairs.ranks, pairs.src[keep], pairs.dst[keep], routes)


def _require_connected(pairs: Pairs) -> None:
    """Every rank reaches every other, both ways; one-way links are fine as long as there is a way back."""
    for src, dst in ((pairs.src, pairs.dst), (pairs.dst, pairs.src)):
        reached = np.zeros(pairs.ranks, bool)
        reached[0], before = True, 0
        while (now := int(reached.sum())) != before:
            before = now
            reached[dst[reached[src]]] = True
        if not reached.all():
            lost = format_ranks(np.flatnonzero(~reached))
            raise TopologyError(
                "{name}: {lost}; add a link, or leave them out with ranks=",
                name=pairs.topology.name,
                lost=Sentence(
                    "{ranks} cannot be reached from rank 0" if src is pairs.src else "{ranks} cannot reach rank 0",
                    ranks=lost,
                ),
            )


def demand(ranks: int, root: int | None) -> Longs:
    """(ranks,) trees to grow at each rank, in units: one everywhere, or at the root alone."""
    return np.ones(ranks, np.int64) if root is None else (np.arange(ranks) == root).astype(np.int64)


def highest(pairs: Pairs, root: int | None, reverse: bool) -> float:
    """B/s of one unit of demand that no cut and no rank's own routes allow to be exceeded."""
    what = "allgather" if root is None else "flow"
    ratio, _ = worst(what, pairs.topology, pairs.ranks, root=root, reverse=reverse)
    out, into = route_rates(pairs.topology, pairs.ranks)
    ends = (into, out) if reverse else (out, into)
    need = demand(pairs.ranks, root)
    with np.errstate(divide="ignore"):
        limits = [1 / ratio if ratio else np.inf, (ends[0] / need).min(), (ends[1] / (need.sum() - need)).min()]
    return float(min(limits))


def shared(pairs: Pairs, weight: Floats) -> Floats:
    """(pairs,) B/s: weighted max-min fair rates, all pairs at once."""
    links = pairs.topology.links
    used, link = np.unique(pairs.routes.link, return_inverse=True)
    left, rate = links.bandwidth[used].copy(), np.zeros(len(pairs))
    pair_of, level = pairs.pair_of, 0.0
    growing = weight > 0
    while growing.any():
        load = np.bincount(link, weights=(weight * growing)[pair_of], minlength=len(used))
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(load > 0, left / load, np.inf)
        step = until.min()
        level += step
        rate[growing] = level * weight[growing]
        left = np.maximum(left - step * load, 0.0)
        full = (load > 0) & (until <= step * (1 + 1e-9))
        growing[pair_of[full[link]]] = False
    return rate


def rates(
    pairs: Pairs, root: int | None, reverse: bool = False, told: Callable[[], None] | None = None
) -> tuple[Floats, float]:
    """(pairs,) B/s that all pairs may use at once, and B/s per unit of demand that they allow.

    Args:
        root: trees grow at this rank only; at every rank when None.
        reverse: trees that reduce: their rates are counted towards the root.
        told: called between rounds; whatever it raises ends the search.
    """
    most = highest(pairs, root, reverse)
    toward = pairs.reversed if reverse else pairs
    if (pairs.routes.hops == 1).all() and len(np.unique(pairs.routes.link)) == len(pairs.routes.link):
        rate = pairs.topology.links.bandwidth[pairs.routes.link].copy()
        return rate, reached(toward, rate, root)[0]
    best = (np.zeros(len(pairs)), 0.0)
    for weight in (_aligned(pairs), np.ones(len(pairs))):
        for _ in range(_ROUNDS):
            rate = shared(pairs, weight)
            value, side = reached(toward, rate, root)
            if value > best[1]:
                best = rate, value
            if best[1] >= _ENOUGH * most:
                return best
            crossing = weight * (side[toward.src] & ~side[toward.dst])
            if not crossing.any():
                break
            weight[crossing > 0] *= _PUSH
            weight /= weight.mean()
            if told is not None:
                told()
    return best


def _aligned(pairs: Pairs) -> Floats:
    """(pairs,) 1 for pairs joined by a link of their own, in one group, or in the same place of two groups; else 0.

    Few pairs with much each divide into whole trees better than many with little each. In a group only those pairs
    count that are joined by more than two groups are.
    """
    group = group_of(pairs)
    narrow = np.minimum.reduceat(pairs.topology.links.bandwidth[pairs.routes.link], pairs.routes.start[:-1])
    near = pairs.src // group == pairs.dst // group
    level = narrow[~near].max(initial=0.0)
    far = ~near & ((pairs.dst - pairs.src) % group == 0)
    kept: Floats = ((pairs.routes.hops == 1) | (near & (narrow > level)) | far).astype(np.float64)
    return kept


def group_of(pairs: Pairs) -> int:
    """Ranks per node; where nobody says, those that are joined to rank 0 by more than the narrowest way out of it."""
    told = pairs.topology.facts.get("ranks_per_node")
    if told and pairs.ranks % int(told) == 0:
        return int(told)
    narrow = np.minimum.reduceat(pairs.topology.links.bandwidth[pairs.routes.link], pairs.routes.start[:-1])
    wide = narrow > narrow.min()
    near, before = np.zeros(pairs.ranks, bool), 0
    near[0] = True
    while (now := int(near.sum())) != before:
        before = now
        near[pairs.dst[wide & near[pairs.src]]] = True
    return now if near[:now].all() and pairs.ranks % now == 0 else pairs.ranks


def reached(pairs: Pairs, rate: Floats, root: int | None) -> tuple[float, npt.NDArray[np.bool_]]:
    """B/s per unit of demand that these rates allow, min B+(S) / demand in S, and the ranks inside the narrowest
    cut.
    """
    need = demand(pairs.ranks, root)
    unit = max(1.0, float(rate.sum()) * (pairs.ranks + 1) / 2**61)
    whole = np.floor(rate / unit).astype(np.int64)
    graph, feed = fed(pairs, whole)
    every = np.bincount(pairs.dst, weights=whole, minlength=pairs.ranks).astype(np.int64)
    lacking = need.sum() - need
    rank = int(np.argmin(np.where(lacking > 0, every / np.maximum(lacking, 1), np.inf)))
    side = np.arange(pairs.ranks) != rank
    inside, out = int(lacking[rank]), int(every[rank])
    for sink in np.flatnonzero(lacking > 0):
        while out:
            capacity = graph.capacity * inside
            capacity[feed] = need * out
            _, found = max_flow(graph, capacity, pairs.ranks, int(sink), int(need.sum()) * out)
            if found is None:
                break
            side = found[:-1]
            inside, out = int(need[side].sum()), int(whole[side[pairs.src] & ~side[pairs.dst]].sum())
    return out * unit / inside, side


def fed(pairs: Pairs, whole: Longs) -> tuple[Arcs, Longs]:
    """The graph of ranks with whole rates and a source, node `ranks`, that feeds each rank; and the feeding arcs."""
    n = pairs.ranks
    src, dst = np.concatenate([pairs.src, np.full(n, n)]), np.concatenate([pairs.dst, np.arange(n)])
    graph = arcs(n + 1, src, dst, np.concatenate([whole, np.zeros(n, np.int64)]))
    return graph, graph.arc[len(pairs) :]
