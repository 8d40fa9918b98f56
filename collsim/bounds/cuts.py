"""What must cross a cut: bandwidth bounds of a whole topology, by maximum flow.

Split the devices in two sides. Whatever one side has and the other needs must cross the links between them, however
clever the schedule, even if switches multicast and reduce. The worst cut gives the bound:

- allgather of n blocks, M bytes in all: `M/n * max |S| / B+(S)` over the cuts S that leave out at least one rank, |S|
  its ranks and B+(S) the bandwidth out of it (Zhao et al., ForestColl, arXiv 2402.06787, theorem 1: trees that reach
  it exist). A reduce_scatter is an allgather with time reversed.
- gather: the same over the cuts that leave out the root; a scatter is its reverse.
- broadcast: M over the smallest maximum flow from the root to a rank (Edmonds 1972); a reduce is its reverse.
- allreduce: every rank's buffer must leave and the sum must enter each side: M over the smallest maximum flow between
  two ranks.
- of any of them: what a rank must send or receive over the links on its routes to and from the other ranks; a cable
  that no route crosses helps nobody, and is no part of a cut either.
- alltoall: `M/n * |S| * (n - |S|) / B+(S)`, of the cuts around single ranks and nodes and of those along the slowest
  waves of the network (Fiedler 1973); and what `distances` says.

The cut of the allgather is found as Dinkelbach (1967) does for ratios: guess the ratio, let a maximum flow find a cut
that is worse, take its ratio, until none is worse: for every rank that the cut may leave out. It is exact up to
`MAX_WORK` (ranks times links); above, the cuts around single ranks and nodes and those that leave out a few of the
ranks are tried, which is still a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..dtypes import Bools, Floats, Longs
from ..errors import TopologyError
from ..maxflow import Arcs, build_arcs, max_flow
from ..topology import Topology
from ..topology.graph import format_ranks
from ..units import format_bandwidth, format_bytes

MAX_WORK = 20_000_000  # ranks times links; about 2 s
#: Links up to which maximum flows are computed; beyond them only the simple cuts are tried, which is a bound still.
MAX_LINKS = 100_000
#: Ranks up to which flows over routes are computed, and for how many of them: a flow takes long on a large topology.
MAX_ROUTED, ROUTE_RANKS = 2048, 16
MAX_CROSSED = 64  # ranks up to which links without a route are left out: the number of routes is their square
#: Devices up to which an alltoall is cut along the waves of the network, and how many waves.
_MAX_SPECTRAL, _WAVES = 256, 4
_GOLDEN = (5**0.5 - 1) / 2
_MAX_RATES = 8  # of links, up to which links wider than each join devices to groups
_MAX_NAMED = 8

Side = Bools


@dataclass(frozen=True)
class Cut:
    """Two sides of a topology and what must cross from one to the other.

    Attributes:
        ranks: the ranks of the smaller side.
        into: the data come into that side (else out of it).
        links: ids of the links that cross, in the direction of the data.
        bandwidth: of these links together, B/s.
        nbytes: bytes that must cross them.
    """

    ranks: tuple[int, ...]
    into: bool
    links: tuple[int, ...]
    bandwidth: float
    nbytes: float

    @property
    def time(self) -> float:
        """Seconds that the links need for what must cross them."""
        if self.bandwidth:
            return self.nbytes / self.bandwidth
        return float("inf")

    def describe(self, topology: Topology) -> str:
        """A sentence: what must cross, which ranks, which cables.

        Args:
            topology: The one that the cut was found on.
        """
        direction = "out of"
        if self.into:
            direction = "into"
        named = [topology.link_name(link) for link in self.links[:_MAX_NAMED]]
        more = ""
        if len(self.links) > len(named):
            more = f" and {len(self.links) - len(named)} more"
        rate = format_bandwidth(self.bandwidth)
        needed = f"{format_bytes(round(self.nbytes))} must get {direction} {format_ranks(self.ranks)}"
        return f"{needed} over {rate}: {', '.join(named)}{more}"


_cached_route_rates: WeakKeyDictionary[Topology, dict[int, tuple[Floats, Floats]]] = WeakKeyDictionary()
_cached_link_rates: WeakKeyDictionary[Topology, dict[int, Floats]] = WeakKeyDictionary()
_cached_cuts: WeakKeyDictionary[Topology, dict[tuple[object, ...], tuple[float, Side | None]]] = WeakKeyDictionary()


def find_worst_cut(
    what: str, topology: Topology, ranks: int | None = None, *, root: int | None = None, reverse: bool = False
) -> tuple[float, Side | None]:
    """The largest ratio of what must cross a cut and its bandwidth, and the cut.

    Args:
        what: Of which ratio. "allgather": ranks inside over bandwidth; "gather": likewise, without the root;
            "alltoall": pairs across, around single ranks and nodes; "waves": the same, along waves; "flow": 1, from the
            root to any other rank.
        topology: Results are cached with it.
        ranks: The first so many take part; None for all.
        root: Of "gather", else None.
        reverse: Links are turned round, and so is the side: it is the one that receives.

    Returns:
        s per byte of a block, and the devices on the sending side of the cut that gives it; None where nothing needs to
            move.
    """
    if ranks is None:
        n = topology.ranks
    else:
        n = ranks
    known = _cached_cuts.setdefault(topology, {})
    key = (what, n, root, reverse)
    if key not in known:
        known[key] = _SEARCHES[what](_Search(topology, n, reverse), root) if n > 1 else (0.0, None)
    return known[key]


def build_cut(topology: Topology, side: Side, ranks: int, nbytes: float, *, reverse: bool = False) -> Cut:
    """The cut of one side, as people see it: the side with fewer ranks, and the links in the direction of the data.

    Args:
        topology: The one that the cut was found on.
        side: (devices,) bool, of `find_worst_cut`.
        ranks: The first so many take part.
        nbytes: That must cross.
        reverse: As in `find_worst_cut`.
    """
    inside = side[topology.endpoint_device[:ranks]]
    src, dst = side[topology.links.src], side[topology.links.dst]
    links = np.flatnonzero(~src & dst if reverse else src & ~dst)
    # Both sides have the same cables between them; a sentence names the side with fewer ranks. Data go into it where it
    # is not the side that sends: the other side was named, or the links were turned round, but not both.
    if 2 * inside.sum() <= ranks:
        smaller = inside
    else:
        smaller = ~inside
    into = (smaller is inside) == reverse
    members = tuple(int(r) for r in np.flatnonzero(smaller))
    rate = find_usable_bandwidth(topology, ranks)
    links = links[rate[links] > 0]
    return Cut(members, into, tuple(int(i) for i in links), float(rate[links].sum()), nbytes)


def find_usable_bandwidth(topology: Topology, ranks: int) -> Floats:
    """(links,) B/s that each link can lend to these ranks and the helpers: nothing where no route between two of them
    crosses it.

    All links count above `MAX_CROSSED` ranks and helpers.

    Args:
        topology: The network.
        ranks: The first so many take part.
    """
    known = _cached_link_rates.setdefault(topology, {})
    if ranks not in known:
        known[ranks] = rate = topology.links.bandwidth.astype(np.float64)
        members = np.append(np.arange(ranks), np.arange(topology.ranks, topology.endpoints))
        if 1 < len(members) <= MAX_CROSSED and len(rate) <= MAX_LINKS:
            src, dst = np.nonzero(~np.eye(len(members), dtype=bool))
            try:
                routes = topology.routes(members[src], members[dst])
            except TopologyError:  # some cannot reach each other: then this says nothing
                return rate
            idle = np.ones(len(rate), bool)
            idle[routes.link] = False
            rate[idle] = 0.0
    return known[ranks]


def find_groups(topology: Topology, ranks: int) -> tuple[int, float]:
    """The groups of ranks that need longest for what an allreduce sends between them all.

    Groups are joined by links that are wider than some rate: nodes by NVLink, racks by the links of their switches. Of
    k groups, each of which must learn from all, at least 2(k - 1) messages go from one to another (gossip by one-way
    calls, Harary & Schwenk 1974); the links out of all groups carry these.

    Args:
        topology: The network.
        ranks: The first so many take part.

    Returns:
        How many groups, and the B/s of the links out of them, or into them, whichever is less; (1, inf) for none.
    """
    links, rate = topology.links, find_usable_bandwidth(topology, ranks)
    best = 1, np.inf
    rates = np.unique(rate[rate > 0])
    if not len(rates) or len(links) > MAX_LINKS:
        return best
    for narrow in rates[np.unique(np.linspace(0, len(rates) - 1, _MAX_RATES).astype(int))].tolist():
        joined = _join_devices(topology, rate > narrow)
        heads = np.unique(joined[topology.endpoint_device[:ranks]])
        if len(heads) > MAX_ROUTED:
            continue
        number = np.full(len(joined), -1)
        number[heads] = np.arange(len(heads))
        src, dst = number[joined[links.src]], number[joined[links.dst]]
        # Links to devices of no group always lead out of one; those between two groups do until the two are one.
        bandwidth = min(float(rate[(src != dst) & (end < 0)].sum()) for end in (src, dst))
        shared = np.zeros((len(heads), len(heads)))
        among = (src != dst) & (src >= 0) & (dst >= 0)
        np.add.at(shared, (src[among], dst[among]), rate[among])
        shared += shared.T
        tie = shared.sum(axis=1)
        # All are one group at first; the one that is tied to the rest by least leaves it next.
        for count in range(2, len(heads) + 1):
            leaving = int(np.argmin(tie))
            bandwidth += float(tie[leaving])
            tie -= shared[leaving]
            tie[leaving] = np.inf
            if bandwidth and (count - 1) * best[1] > (best[0] - 1) * bandwidth:
                best = count, bandwidth
    return best


def _join_devices(topology: Topology, joins: Bools) -> Longs:
    """(devices,) the lowest number of a device that each is joined with by these links."""
    src, dst = topology.links.src[joins], topology.links.dst[joins]
    lowest = np.arange(len(topology.devices))
    while (lowest[src] != lowest[dst]).any():
        np.minimum.at(lowest, dst, lowest[src])
        np.minimum.at(lowest, src, lowest[dst])
    return lowest


def compute_route_rates(topology: Topology, ranks: int) -> tuple[Floats, Floats]:
    """(ranks,) B/s that can leave, and that can reach, each rank over the routes from and to the other ranks.

    They are maximum flows over the links of these routes: links at a device that no route crosses do not count. Found
    for `ROUTE_RANKS` of the ranks; for the others all their links count, which is more.

    Args:
        topology: Results are cached with it.
        ranks: The first so many take part.
    """
    known = _cached_route_rates.setdefault(topology, {})
    if ranks not in known:
        links, devices = topology.links, topology.endpoint_device[:ranks]
        total = len(topology.devices)
        # All links of a rank's device are more than its routes can use: an upper limit that maximum flows only lower.
        out: Floats = np.bincount(links.src, weights=links.bandwidth, minlength=total)[devices].astype(np.float64)
        into: Floats = np.bincount(links.dst, weights=links.bandwidth, minlength=total)[devices].astype(np.float64)
        if 1 < ranks <= MAX_ROUTED and len(links) <= MAX_LINKS:
            for rank in sorted(set(np.linspace(0, ranks - 1, ROUTE_RANKS).astype(int).tolist())):
                out[rank] = min(out[rank], find_routed_cut(topology, ranks, rank, leaving=True)[0])
                into[rank] = min(into[rank], find_routed_cut(topology, ranks, rank, leaving=False)[0])
        known[ranks] = out, into
    return known[ranks]


def find_routed_cut(topology: Topology, ranks: int, rank: int, *, leaving: bool) -> tuple[float, tuple[int, ...]]:
    """B/s that one rank can send to, or receive from, the other ranks on their routes, and the links that limit it.

    Args:
        topology: With its routes.
        ranks: The first so many take part.
        rank: Of them.
        leaving: Whether what it sends counts, or what it receives.
    """
    links, others = topology.links, np.delete(np.arange(ranks), rank)
    sources = np.full(len(others), rank)
    try:
        if leaving:
            routes = topology.routes(sources, others)
        else:
            routes = topology.routes(others, sources)
    except TopologyError:  # some cannot reach each other: then this says nothing
        return np.inf, ()
    # Only links that the routes use count: a wider way that no route takes helps nobody.
    used = np.flatnonzero(np.bincount(routes.link))
    side = _find_cut_side(topology, used, rank, others, leaving)
    if side is None:  # pragma: no cover - the flow is below the endless arcs
        return np.inf, ()
    crossing = used[side[links.src[used]] & ~side[links.dst[used]]]
    return float(links.bandwidth[crossing].sum()), tuple(int(link) for link in crossing)


def _find_cut_side(topology: Topology, used: Longs, rank: int, others: Longs, leaving: bool) -> Side | None:
    """Devices on the near side of the smallest cut, in the links used, between a rank and one point behind all
    others."""
    links, device, point = topology.links, topology.endpoint_device, len(topology.devices)
    rate = np.rint(links.bandwidth[used]).astype(np.int64)
    # A point behind all others makes "to any of them" a flow between two ends. Its arcs are wider than all links
    # together, so that no smallest cut goes through them.
    far, nodes = np.full(len(others), point), device[others]
    src = np.concatenate([links.src[used], nodes if leaving else far])
    dst = np.concatenate([links.dst[used], far if leaving else nodes])
    endless = np.full(len(others), int(rate.sum()) + 1)
    graph = build_arcs(point + 1, src, dst, np.concatenate([rate, endless]))
    ends = (int(device[rank]), point)
    return max_flow(graph, graph.capacity.copy(), *(ends if leaving else ends[::-1]))[1]


class _Search:
    """The graph of a topology in whole units of bandwidth, with a source that reaches every rank."""

    def __init__(self, topology: Topology, n: int, reverse: bool):
        links = topology.links
        self.topology, self.n = topology, n
        self.device = topology.endpoint_device[:n].astype(np.int64)
        self.src, self.dst = (links.dst, links.src) if reverse else (links.src, links.dst)
        self.source = len(topology.devices)
        self.exact = len(links) <= MAX_LINKS and n * len(links) <= MAX_WORK
        self.feasible = len(links) <= MAX_LINKS
        # whole numbers of B/s, coarser only where n times all of them together would not fit
        unit = max(1.0, float(links.bandwidth.sum()) * (n + 1) / 2**61)
        self.bandwidth = find_usable_bandwidth(topology, n)
        self.rate = np.where(self.bandwidth > 0, np.maximum(np.rint(self.bandwidth / unit), 1.0), 0.0).astype(np.int64)

    def graph(self) -> Arcs:
        # Arcs from the source to the ranks begin without capacity: each search gives them what a rank has to send.
        ends = np.concatenate([self.src, np.full(self.n, self.source)]), np.concatenate([self.dst, self.device])
        return build_arcs(self.source + 1, *ends, np.concatenate([self.rate, np.zeros(self.n, np.int64)]))

    def ratio(self, side: Side) -> float:
        """|S| / B+(S) of one side, 0 where it holds all ranks or none."""
        if (inside := int(side[self.device].sum())) in (0, self.n):
            return 0.0
        out = float(self.bandwidth[self.leaving(side)].sum())
        if out:
            return inside / out
        return np.inf

    def leaving(self, side: Side) -> Side:
        crossing: Side = side[self.src] & ~side[self.dst]
        return crossing

    def count(self, side: Side | None) -> tuple[int, int]:
        """Ranks on one side and the rate out of it in whole units; (0, 0) for None."""
        if side is None:
            return (0, 0)
        return (int(side[self.device].sum()), int(self.rate[self.leaving(side)].sum()))

    def without(self, rank: int) -> Side:
        """All devices but that of one rank."""
        side = np.ones(self.source, bool)
        side[self.device[rank]] = False
        return side

    def simple_sides(self) -> Iterable[Side]:
        """All devices but one rank; one node; all but one node."""
        for rank in range(self.n) if self.n <= 1024 else (0, self.n - 1):
            yield self.without(rank)
        node = self.topology.devices.node
        nodes = np.unique(node[self.device])
        if len(nodes) > 1:
            for number in nodes[:64]:
                yield node == number
                yield node != number


def _find_best_side(search: _Search, sides: Iterable[Side]) -> tuple[float, Side | None]:
    return _find_largest((search.ratio(side), side) for side in sides)


def _find_largest(rated: Iterable[tuple[float, Side]]) -> tuple[float, Side | None]:
    """The first side of the largest ratio above 0."""
    best: tuple[float, Side | None] = max(rated, key=lambda side: side[0], default=(0.0, None))
    if best[0] > 0:
        return best
    return (0.0, None)


def _search_allgather(search: _Search, root: int | None) -> tuple[float, Side | None]:
    best = _find_best_side(search, search.simple_sides())
    if search.exact:
        sinks = range(search.n)
    else:
        sinks = range(0, search.n, max(1, search.n // 8))
    return _refine_cut(search, best, list(sinks) if search.feasible else [])


def _search_gather(search: _Search, root: int | None) -> tuple[float, Side | None]:
    rank = root or 0
    best = _find_best_side(search, [search.without(rank)])
    return _refine_cut(search, best, [rank] if search.feasible else [])


def _refine_cut(search: _Search, best: tuple[float, Side | None], sinks: list[int]) -> tuple[float, Side | None]:
    """The worst cut among those that leave out one of these ranks, from a first guess.

    With a source that feeds B into every rank and |S| times their rate in the links, a minimum cut below n * B is a
    worse one. A rank that was passed once stays passed: the ratio only grows.
    """
    graph = search.graph()
    feed = graph.arc[len(search.rate) :]
    inside, out = search.count(best[1])
    for rank in sinks:
        while out:
            capacity = graph.capacity * inside
            np.add.at(capacity, feed, out)
            _, side = max_flow(graph, capacity, search.source, int(search.device[rank]), search.n * out)
            if side is None:
                break
            best = search.ratio(side[:-1]), side[:-1]
            inside, out = search.count(best[1])
    return best


def _search_flow(search: _Search, root: int | None) -> tuple[float, Side | None]:
    """The narrowest cut between the root and a rank; between any two ranks when None: some cut around rank 0, one way
    or the other.
    """
    # Cuts around one rank are cheap to test, and often the narrowest: a good first value makes the flows below stop
    # early.
    start = root or 0
    rank_alone = [search.without(rank) for rank in range(search.n) if search.n <= 1024 and rank != start]
    sides = [*rank_alone, *([] if root is not None else [~side for side in rank_alone])]
    sides.append(~search.without(start))
    if root is None:
        sides.append(search.without(start))
    rates = [int(search.rate[search.leaving(side)].sum()) for side in sides]
    narrow, best = min(rates), sides[int(np.argmin(rates))]
    graph = search.graph()
    capacity = graph.capacity
    if search.exact:
        others = [r for r in range(search.n) if r != start]
    else:
        others = []
    # From any rank to any other goes through rank 0, so that cuts between rank 0 and each other rank, both ways,
    # suffice.
    directions = [(start, r) for r in others] + ([(r, start) for r in others] if root is None else [])
    for a, b in directions:
        if not narrow:
            break
        # A flow that reaches `narrow` cannot improve on it, so the search stops there.
        value, side = max_flow(graph, capacity.copy(), int(search.device[a]), int(search.device[b]), narrow)
        if side is not None:
            narrow, best = value, side[:-1]
    out = float(search.bandwidth[search.leaving(best)].sum())
    return (1 / out if out else np.inf), best


def _search_alltoall(search: _Search, root: int | None) -> tuple[float, Side | None]:
    return _find_most_pairs(search, search.simple_sides())


def _search_waves(search: _Search, root: int | None) -> tuple[float, Side | None]:
    return _find_most_pairs(search, _list_spectral_sides(search))


def _find_most_pairs(search: _Search, sides: Iterable[Side]) -> tuple[float, Side | None]:
    """The side of the most pairs of ranks that it parts, over the bandwidth out of it."""
    return _find_largest((search.ratio(side) * (search.n - int(side[search.device].sum())), side) for side in sides)


def _list_spectral_sides(search: _Search) -> Iterable[Side]:
    """The worst cut along each of the slowest waves of the network: devices on one side of a value (Fiedler 1973).

    A torus or mesh is cut across its longest dimension, a fabric between its groups.
    """
    count = search.source
    if not 2 < count <= _MAX_SPECTRAL:
        return
    joined = np.zeros((count, count))
    np.add.at(joined, (search.src, search.dst), search.bandwidth)
    joined += joined.T
    # Waves along equal dimensions are any mixture of one another. A thousandth more on some links makes them the same
    # on every computer.
    joined *= 1 + 1e-3 * np.modf(np.add.outer(np.arange(count), np.arange(count)) * _GOLDEN)[0]
    _, columns = np.linalg.eigh(np.diag(joined.sum(axis=1)) - joined)
    # The first is constant. Sums of two are waves that begin elsewhere, so that no two halves of a ring are alike.
    waves = columns.T[1 : 1 + _WAVES]
    waves *= np.where(waves[:, :1] < 0, -1, 1)
    for wave in (*waves, *(waves[:-1] + waves[1:] / 2)):
        order = np.argsort(wave)
        position = np.empty(count, np.int64)
        position[order] = np.arange(count)
        inside = np.cumsum(np.isin(order, search.device))[:-1]
        for first, last in ((search.src, search.dst), (search.dst, search.src)):
            out = position[first] < position[last]
            ends = (position[first][out], position[last][out])
            change = [np.bincount(end, weights=search.bandwidth[out], minlength=count) for end in ends]
            crossing = np.cumsum(change[0] - change[1])[:-1]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(crossing > 0, inside * (search.n - inside) / crossing, 0.0)
            side = position <= int(np.argmax(ratio))
            yield side if first is search.src else ~side


_SEARCHES: dict[str, Callable[[_Search, int | None], tuple[float, Side | None]]] = {
    "allgather": _search_allgather,
    "gather": _search_gather,
    "flow": _search_flow,
    "alltoall": _search_alltoall,
    "waves": _search_waves,
}
