"""Rank orders: which rank sits where, and the search for a better one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..topology import Topology

#: Ranks up to which all pairs are priced for a tour, and the bytes of a message in that price.
_MOST_PRICED, _MESSAGE = 1024, 2**20


def reordered(topology: Topology, order: Sequence[int]) -> Topology:
    """The topology with rank r where its rank order[r] was; rings that the topology knew no longer hold."""
    device = topology.endpoint_device.copy()
    device[: topology.ranks] = device[np.asarray(order)]
    return replace(topology, endpoint_device=device, orders=None)


def improved(
    topology: Topology, time: Callable[[tuple[int, ...]], float], tries: int, best: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Each rank order tried and its time: a tour from neighbour to nearest neighbour, then random exchanges of the best
    so far.

    Args:
        time: seconds of an order.
        best: seconds of the order as it is.
    """
    n = topology.ranks
    kept, draw = tuple(range(n)), np.random.default_rng(0)
    for number in range(tries if n > 1 else 0):
        order = _tour(topology) if number == 0 and n <= _MOST_PRICED else _exchanged(kept, draw)
        took = time(order)
        yield order, took
        if took <= best:
            kept, best = order, took


def _tour(topology: Topology) -> tuple[int, ...]:
    """From rank 0 always on to the nearest rank not visited yet."""
    n = topology.ranks
    left, order = np.ones(n, bool), [0]
    price = _prices(topology)
    for _ in range(n - 1):
        left[order[-1]] = False
        order.append(int(np.where(left, price[order[-1]], np.inf).argmin()))
    return tuple(order)


def _prices(topology: Topology) -> npt.NDArray[np.float64]:
    """(ranks, ranks): seconds of a message over every link of the route, one link after another."""
    n, links = topology.ranks, topology.links
    src, dst = np.divmod(np.arange(n * n), n)
    routes = topology.routes(src, dst)
    each = links.alpha[routes.link] + _MESSAGE / links.bandwidth[routes.link]
    total: npt.NDArray[np.float64] = np.bincount(
        np.repeat(np.arange(n * n), routes.hops), weights=each, minlength=n * n
    ).astype(float)
    return total.reshape(n, n)


def _exchanged(order: tuple[int, ...], draw: np.random.Generator) -> tuple[int, ...]:
    """Two ranks change places, or a stretch is turned round."""
    a, b = sorted(int(x) for x in draw.choice(len(order), 2, replace=False))
    if draw.random() < 0.5:
        return (*order[:a], *order[a : b + 1][::-1], *order[b + 1 :])
    return (*order[:a], order[b], *order[a + 1 : b], order[a], *order[b + 1 :])
