"""Rank orders: which rank sits where, and the search for a better one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..dtypes import Floats
from ..topology import Topology

#: Ranks up to which all pairs are priced for a tour, and the bytes of a message in that price.
_MAX_PRICED, _MESSAGE = 1024, 2**20


def reorder_ranks(topology: Topology, order: Sequence[int]) -> Topology:
    """Put the ranks of a topology in another order.

    Args:
        topology: The topology.
        order: Rank r sits where rank order[r] was.

    Returns:
        Another Topology, without the ring orders that no longer hold.
    """
    device = topology.endpoint_device.copy()
    device[: topology.ranks] = device[np.asarray(order)]
    return replace(topology, endpoint_device=device, orders=None)


def improve_order(
    topology: Topology, time: Callable[[tuple[int, ...]], float], tries: int, best: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Search a better rank order: a tour from neighbour to nearest neighbour, then random exchanges of the best so far.

    Args:
        topology: Whose ranks are ordered.
        time: Seconds of an order.
        tries: How many orders to time.
        best: Seconds of the order as it is.

    Yields:
        Each order and its seconds.
    """
    n = topology.ranks
    if n < 2:
        return
    best_order, random = tuple(range(n)), np.random.default_rng(0)
    for number in range(tries):
        if number == 0 and n <= _MAX_PRICED:
            order = _build_tour(topology)
        else:
            order = _exchange_ranks(best_order, random)
        seconds = time(order)
        yield order, seconds
        if seconds <= best:
            best_order, best = order, seconds


def _build_tour(topology: Topology) -> tuple[int, ...]:
    """From rank 0 always on to the nearest rank not visited yet."""
    n = topology.ranks
    is_unvisited, order = np.ones(n, bool), [0]
    price = _compute_prices(topology)
    for _ in range(n - 1):
        is_unvisited[order[-1]] = False
        order.append(int(np.where(is_unvisited, price[order[-1]], np.inf).argmin()))
    return tuple(order)


def _compute_prices(topology: Topology) -> Floats:
    """(ranks, ranks): seconds of a message over every link of the route, one link after another."""
    n, links = topology.ranks, topology.links
    src, dst = np.divmod(np.arange(n * n), n)
    routes = topology.routes(src, dst)
    link_seconds = links.alpha[routes.link] + _MESSAGE / links.bandwidth[routes.link]
    total: Floats = np.bincount(np.repeat(np.arange(n * n), routes.hops), weights=link_seconds, minlength=n * n).astype(
        float
    )
    return total.reshape(n, n)


def _exchange_ranks(order: tuple[int, ...], random: np.random.Generator) -> tuple[int, ...]:
    """Two ranks exchanged, or the ranks between them in reverse order."""
    a, b = sorted(int(x) for x in random.choice(len(order), 2, replace=False))
    if random.random() < 0.5:
        return (*order[:a], *order[a : b + 1][::-1], *order[b + 1 :])
    return (*order[:a], order[b], *order[a + 1 : b], order[a], *order[b + 1 :])
