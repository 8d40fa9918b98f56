"""How fast every rank may send to every other at the same time, in a graph of ranks without switches.

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

from ...bounds.cuts import compute_route_rates, find_worst_cut
from ...dtypes import Bools, Floats, Longs
from ...errors import Sentence, TopologyError
from ...maxflow import Arcs, build_arcs, max_flow
from ...topology import Routes, Topology
from ...topology.graph import format_ranks

MAX_PAIRS = 300_000
# Rounds at the most, the part of the highest possible rate that ends them, and the factor for pairs across the
# narrowest cut in each.
_ROUNDS, _ENOUGH, _PUSH = 40, 0.9985, 1.5


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ordered pairs of ranks that may talk without passing another rank.

    Attributes:
        topology: where they are.
        ranks: number of them.
        src: (pairs,) rank that sends.
        dst: (pairs,) rank that receives.
        routes: the links between them, a route for each pair.
    """

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


def find_pairs(topology: Topology, ranks: int) -> Pairs:
    """All pairs whose route passes no other rank; on a network of ranks alone these are its links.

    Args:
        topology: Of ranks, with or without switches.
        ranks: The first so many take part.

    Raises:
        TopologyError: Where ranks cannot reach each other, or there are too many pairs.
    """
    links = topology.links
    rank_on = np.full(len(topology.devices), -1, np.int64)
    rank_on[topology.endpoint_device[:ranks]] = np.arange(ranks)
    src, dst = rank_on[links.src], rank_on[links.dst]
    # Without switches each link is a pair with a route of itself alone.
    if len(topology.devices) == ranks:
        routes = Routes(np.arange(len(links) + 1, dtype=np.int64), np.arange(len(links), dtype=np.int32))
        pairs = Pairs(topology, ranks, src, dst, routes)
    else:
        if ranks * (ranks - 1) > MAX_PAIRS:
            message = "{name}: {ranks} ranks behind switches are {pairs:,} pairs, more than {most:,}; use fewer ranks"
            raise TopologyError(message, name=topology.name, ranks=ranks, pairs=ranks * (ranks - 1), most=MAX_PAIRS)
        a, b = np.divmod(np.flatnonzero(~np.eye(ranks, dtype=bool).ravel()), ranks)
        routes = topology.routes(a, b)
        # A pair whose route passes another rank is that rank's business: it relays.
        pairs = _drop_relayed(Pairs(topology, ranks, a, b, routes), rank_on)
    _require_connected(pairs)
    return pairs


def _drop_relayed(pairs: Pairs, rank_on: Longs) -> Pairs:
    # A link that ends at a rank in the middle of a route makes that rank a relay. Two pairs over it are the better
    # description, because the chunk can then be used there.
    last = np.zeros(len(pairs.routes.link), bool)
    last[pairs.routes.start[1:] - 1] = True
    between = (rank_on[pairs.topology.links.dst[pairs.routes.link]] >= 0) & ~last
    direct = np.flatnonzero(np.bincount(pairs.pair_of, weights=between, minlength=len(pairs)) == 0)
    start = np.concatenate([[0], np.cumsum(pairs.routes.hops[direct])]).astype(np.int64)
    is_direct = np.zeros(len(pairs), bool)
    is_direct[direct] = True
    routes = Routes(start, pairs.routes.link[is_direct[pairs.pair_of]])
    return Pairs(pairs.topology, pairs.ranks, pairs.src[direct], pairs.dst[direct], routes)


def _require_connected(pairs: Pairs) -> None:
    """Every rank reaches every other, both ways; one-way links are fine as long as there is a way back."""
    for src, dst in ((pairs.src, pairs.dst), (pairs.dst, pairs.src)):
        reached = np.zeros(pairs.ranks, bool)
        reached[0], before = True, 0
        # Breadth first by whole arrays: each round marks everything one hop further.
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


def build_demand(ranks: int, root: int | None) -> Longs:
    """(ranks,) trees to grow at each rank, in units: one everywhere, or at the root alone."""
    return np.ones(ranks, np.int64) if root is None else (np.arange(ranks) == root).astype(np.int64)


def find_highest_rate(pairs: Pairs, root: int | None, reverse: bool) -> float:
    """B/s of one unit of demand that no cut and no rank's own routes allow to be exceeded.

    Args:
        pairs: of ranks.
        root: trees grow at this rank only; at every rank when None.
        reverse: trees that reduce: data run towards the root.
    """
    what = "flow"
    if root is None:
        what = "allgather"
    ratio, _ = find_worst_cut(what, pairs.topology, pairs.ranks, root=root, reverse=reverse)
    out, into = compute_route_rates(pairs.topology, pairs.ranks)
    if reverse:
        ends = (into, out)
    else:
        ends = (out, into)
    need = build_demand(pairs.ranks, root)
    with np.errstate(divide="ignore"):
        limits = [1 / ratio if ratio else np.inf, (ends[0] / need).min(), (ends[1] / (need.sum() - need)).min()]
    return float(min(limits))


def share_rates(pairs: Pairs, weight: Floats) -> Floats:
    """Weighted max-min fair rates, all pairs at once.

    Args:
        pairs: of ranks.
        weight: (pairs,) of each; 0 for one that sends nothing.

    Returns:
        (pairs,) B/s.
    """
    links = pairs.topology.links
    used, link = np.unique(pairs.routes.link, return_inverse=True)
    left, rate = links.bandwidth[used].copy(), np.zeros(len(pairs))
    pair_of, level = pairs.pair_of, 0.0
    growing = weight > 0
    while growing.any():
        load = np.bincount(link, weights=(weight * growing)[pair_of], minlength=len(used))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Progressive filling (Bertsekas & Gallager 1992, section 6.5.2): all grow until a link is full, whose pairs
            # stop.
            until = np.where(load > 0, left / load, np.inf)
        step = until.min()
        level += step
        rate[growing] = level * weight[growing]
        left = np.maximum(left - step * load, 0.0)
        full = (load > 0) & (until <= step * (1 + 1e-9))
        growing[pair_of[full[link]]] = False
    return rate


def find_rates(
    pairs: Pairs, root: int | None, reverse: bool = False, report: Callable[[], None] | None = None
) -> tuple[Floats, float]:
    """Rates that all pairs may use at once.

    Args:
        pairs: of ranks.
        root: trees grow at this rank only; at every rank when None.
        reverse: trees that reduce: their rates are counted towards the root.
        report: called between rounds; whatever it raises ends the search.

    Returns:
        (pairs,) B/s, and the B/s per unit of demand that they allow.
    """
    highest = find_highest_rate(pairs, root, reverse)
    if reverse:
        directed = pairs.reversed
    else:
        directed = pairs
    # Where no two pairs share a link there is nothing to divide: each has its link's bandwidth.
    if (pairs.routes.hops == 1).all() and len(np.unique(pairs.routes.link)) == len(pairs.routes.link):
        rate = pairs.topology.links.bandwidth[pairs.routes.link].copy()
        return rate, find_narrowest_cut(directed, rate, root)[0]
    best = (np.zeros(len(pairs)), 0.0)
    for weight in (_weigh_aligned(pairs), np.ones(len(pairs))):
        for _ in range(_ROUNDS):
            rate = share_rates(pairs, weight)
            value, side = find_narrowest_cut(directed, rate, root)
            if value > best[1]:
                best = rate, value
            if best[1] >= _ENOUGH * highest:
                return best
            # The narrowest cut is what limits the result: give pairs that cross it more of the links that they share.
            crossing = weight * (side[directed.src] & ~side[directed.dst])
            if not crossing.any():
                break
            weight[crossing > 0] *= _PUSH
            # Only ratios of weights count; the mean of 1 keeps the numbers in range over many rounds.
            weight /= weight.mean()
            if report is not None:
                report()
    return best


def _weigh_aligned(pairs: Pairs) -> Floats:
    """(pairs,) 1 for pairs joined by a link of their own, in one group, or in the same position of two groups; else 0.

    Few pairs with much each divide into whole trees better than many with little each. In a group only those pairs
    count that are joined by more than two groups are. Positions of a larger group start over at the size of a smaller.
    """
    node, position, _ = find_nodes(pairs)
    narrow = _find_narrowest_links(pairs)
    near = node[pairs.src] == node[pairs.dst]
    level = narrow[~near].max(initial=0.0)
    size = np.bincount(node)[node]
    least = np.minimum(size[pairs.src], size[pairs.dst])
    across = ~near & ((position[pairs.dst] - position[pairs.src]) % least == 0)
    weight: Floats = ((pairs.routes.hops == 1) | (near & (narrow > level)) | across).astype(np.float64)
    return weight


def _find_narrowest_links(pairs: Pairs) -> Floats:
    """(pairs,) B/s of the slowest link of each route."""
    return np.minimum.reduceat(pairs.topology.links.bandwidth[pairs.routes.link], pairs.routes.start[:-1])


def find_nodes(pairs: Pairs) -> tuple[Longs, Longs, Longs]:
    """The node of each rank, its position in the node, and its number where nodes are counted one after another.

    Where nobody says which node a device is in, ranks are in one that are joined by more than the narrowest route.

    Args:
        pairs: Of all ranks that take part, in any order.

    Returns:
        (ranks,) of each; one node for all where no equal groups are found.
    """
    device = pairs.topology.endpoint_device[: pairs.ranks]
    node = pairs.topology.devices.node[device].astype(np.int64)
    if node.min() < 0:
        node = _find_wide_groups(pairs)
    node = np.unique(node, return_inverse=True)[1].ravel()
    order = np.lexsort((device, node))
    number = np.argsort(order)
    return node, number - np.searchsorted(node[order], node), number


def _find_wide_groups(pairs: Pairs) -> Longs:
    """(ranks,) the lowest rank that each is joined to by more than the narrowest route; 0 for all if groups differ."""
    narrow = _find_narrowest_links(pairs)
    wide = narrow > narrow.min()
    lowest = np.arange(pairs.ranks)
    while True:
        before = lowest.copy()
        # Each round carries the lowest number one pair further, either way.
        np.minimum.at(lowest, pairs.dst[wide], lowest[pairs.src[wide]])
        np.minimum.at(lowest, pairs.src[wide], lowest[pairs.dst[wide]])
        if np.array_equal(lowest, before):
            break
    if len(np.unique(np.unique(lowest, return_counts=True)[1])) > 1:
        return np.zeros(pairs.ranks, np.int64)
    return lowest


def find_narrowest_cut(pairs: Pairs, rate: Floats, root: int | None) -> tuple[float, Bools]:
    """The cut that limits trees most, min B+(S) / demand in S.

    Args:
        pairs: of ranks.
        rate: (pairs,) B/s.
        root: trees grow at this rank only; at every rank when None.

    Returns:
        B/s per unit of demand that these rates allow, and (ranks,) those inside the narrowest cut.
    """
    need = build_demand(pairs.ranks, root)
    unit = max(1.0, float(rate.sum()) * (pairs.ranks + 1) / 2**61)
    capacities = np.floor(rate / unit).astype(np.int64)
    graph, feed = build_fed_graph(pairs, capacities)
    into = np.bincount(pairs.dst, weights=capacities, minlength=pairs.ranks).astype(np.int64)
    lacking = need.sum() - need
    # Begin with the tightest cut round a single rank: on many networks it is the narrowest, and each flow below then
    # only confirms it.
    rank = int(np.argmin(np.where(lacking > 0, into / np.maximum(lacking, 1), np.inf)))
    side = np.arange(pairs.ranks) != rank
    inside, out = int(lacking[rank]), int(into[rank])
    for sink in np.flatnonzero(lacking > 0):
        while out:
            # Newton's method for a fraction (Dinkelbach 1967): all is multiplied by `inside` so that the rate
            # out / inside stays whole; a cut that is smaller than what is fed has a smaller ratio, and is tried next.
            capacity = graph.capacity * inside
            capacity[feed] = need * out
            _, cut_side = max_flow(graph, capacity, pairs.ranks, int(sink), int(need.sum()) * out)
            if cut_side is None:
                break
            side = cut_side[:-1]
            inside, out = int(need[side].sum()), int(capacities[side[pairs.src] & ~side[pairs.dst]].sum())
    return out * unit / inside, side


def build_fed_graph(pairs: Pairs, capacities: Longs) -> tuple[Arcs, Longs]:
    """The graph of ranks with whole rates and a source, node `ranks`, that feeds each rank; and the feeding arcs.

    Args:
        pairs: Edges of the graph.
        capacities: (pairs,) capacities.

    Returns:
        The graph, its feeding arcs empty, and (ranks,) their numbers.
    """
    n = pairs.ranks
    src, dst = np.concatenate([pairs.src, np.full(n, n)]), np.concatenate([pairs.dst, np.arange(n)])
    graph = build_arcs(n + 1, src, dst, np.concatenate([capacities, np.zeros(n, np.int64)]))
    return graph, graph.arc[len(pairs) :]
