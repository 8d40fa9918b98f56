"""How far data must travel: the latency of the farthest rank, and the links that every block of an alltoall crosses.

A block for another rank crosses at least as many links as there are on the shortest way to it, and all links together
carry only so much a second. On a torus this says more than any cut: with 8 x 8 ranks a block crosses four links in the
mean. Slow links alone may be counted; the largest of these bounds holds. (By duality, lengths of links bound a
multicommodity flow: Leighton & Rao 1999; here each length is 0 or 1.)
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..collective import Collective
from ..dtypes import Floats, Ints, Longs
from ..topology import Topology
from .cuts import find_usable_bandwidth

_MAX_LINKS = 200_000  # beyond it the farthest rank is not searched for; a smaller latency bound is still a bound
_MAX_WORK = 4_000_000  # ranks times links up to which all distances are searched for, in half a second
_MAX_RATES = 6  # of links, up to which links no faster than each are counted alone

_cached_latencies: WeakKeyDictionary[Topology, dict[tuple[int, bool], dict[int, float]]] = WeakKeyDictionary()
_cached_hops: WeakKeyDictionary[Topology, dict[float, Longs | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Travel:
    """What all links together must carry, as each block crosses some of them.

    Attributes:
        hops: links that a byte crosses at the least, in the mean.
        bandwidth: B/s of the fastest link that is counted.
        time: s that these links need at the least.
    """

    hops: float
    bandwidth: float
    time: float


def find_longest_travel(topology: Topology, amounts: npt.ArrayLike) -> Travel | None:
    """The links that need longest for what must cross them, whichever way it goes.

    Args:
        topology: the network of the ranks that take part.
        amounts: (ranks, ranks) bytes that each rank has for each.

    Returns:
        None where nothing moves, some cannot reach each other, or the network is too large to be searched.
    """
    links, away = topology.links, np.array(amounts, np.float64)
    np.fill_diagonal(away, 0.0)
    usable = find_usable_bandwidth(topology, topology.ranks)
    rates = np.unique(usable[usable > 0])
    if not away.any() or not len(rates) or topology.ranks * len(links) > _MAX_WORK:
        return None
    longest: Travel | None = None
    for rate in rates[np.unique(np.linspace(0, len(rates) - 1, _MAX_RATES).astype(int))].tolist():
        counted = (usable > 0) & (usable <= rate)
        hops = _count_hops(topology, usable, rate)
        if hops is None:
            return None
        crossings = float((away * hops).sum())
        travel = Travel(crossings / float(away.sum()), rate, crossings / float(usable[counted].sum()))
        if longest is None or travel.time > longest.time:
            longest = travel
    return longest


def _count_hops(topology: Topology, usable: Floats, rate: float) -> Longs | None:
    """(ranks, ranks) fewest links no faster than `rate` on a way from each rank to each; None where there is no way."""
    known = _cached_hops.setdefault(topology, {})
    if rate not in known:
        links, devices = topology.links, topology.endpoint_device[: topology.ranks]
        order = np.argsort(links.dst, kind="stable")
        order = order[usable[order] > 0]
        src, length = links.src[order], (usable[order] <= rate).astype(np.int64)
        ends, first = np.unique(links.dst[order], return_index=True)
        far = len(topology.devices) + 1
        hops = np.full((topology.ranks, len(topology.devices)), far, np.int64)
        hops[np.arange(topology.ranks), devices] = 0
        while True:
            # Bellman and Ford's relaxation of all links, from all ranks at once.
            nearer = np.minimum(hops[:, ends], np.minimum.reduceat(hops[:, src] + length, first, axis=1))
            if (nearer == hops[:, ends]).all():
                break
            hops[:, ends] = nearer
        between = hops[:, devices]
        known[rate] = None if (between >= far).any() else between
    return known[rate]


def compute_latency(kind: Collective, topology: Topology, ranks: int, root: int) -> float:
    """Cheapest alphas from one rank to the farthest rank that waits for it (towards the root where the data end there).

    Args:
        kind: the collective.
        topology: the network.
        ranks: the first so many take part.
        root: of the collective, where it has one.

    Returns:
        Seconds.
    """
    links = topology.links
    if len(links) > _MAX_LINKS:
        return float(links.alpha.min(initial=0.0))
    start = int(topology.endpoint_device[root if kind.rooted else 0])
    cached, key = _cached_latencies.setdefault(topology, {}), (start, kind.after == "root")
    if key not in cached:
        src, dst = (links.dst, links.src) if kind.after == "root" else (links.src, links.dst)
        cached[key] = _sum_latencies(src, dst, links.alpha, start)
    distances = cached[key]
    waiting = range(ranks)
    if kind.after == "neighbour":
        waiting = range(1, 2)
    return float(max(distances.get(int(topology.endpoint_device[rank]), 0.0) for rank in waiting))


def _sum_latencies(src: Ints, dst: Ints, alpha: Floats, start: int) -> dict[int, float]:
    """Least sums of alpha from one device to all that it reaches (Dijkstra 1959); networkx would take longer to load
    than to answer."""
    neighbours: dict[int, list[tuple[int, float]]] = {}
    for a, b, seconds in zip(src.tolist(), dst.tolist(), alpha.tolist(), strict=True):
        neighbours.setdefault(a, []).append((b, seconds))
    distances: dict[int, float] = {}
    queue = [(0.0, start)]
    while queue:
        distance, device = heappop(queue)
        if device not in distances:
            distances[device] = distance
            for other, seconds in neighbours.get(device, ()):
                if other not in distances:
                    heappush(queue, (distance + seconds, other))
    return distances
