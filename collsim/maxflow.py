"""Maximum flows and minimum cuts of directed graphs with whole capacities, by Dinic's algorithm (Dinitz 1970).

Levels are distances to the sink, so that no path runs into a dead end that a level would have shown. numba compiles
the loop where it is there; the same source runs as plain Python where it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])
ENDLESS = np.int64(2**62)


def compiled(function: Kernel) -> Kernel:
    """A kernel as machine code, made when it is first called and kept on disk where some directory can be written."""
    try:
        import numba
    except ImportError:  # in a browser
        return function
    try:
        made: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no directory for the cache
        made = numba.njit(nogil=True)(function)
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Arcs:
    """A directed graph: arcs 2i and 2i+1 join the same two nodes, one each way.

    Attributes:
        start, order: the arcs that leave node v are `order[start[v]:start[v+1]]`.
        head: (arcs,) where each leads. capacity: (arcs,) whole numbers.
        arc: (edges given,) the arc on which each edge lies; parallel edges share one.
    """

    start: Longs
    order: Longs
    head: Longs
    capacity: Longs
    arc: Longs

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.start) - 1


def arcs(nodes: int, src: npt.ArrayLike, dst: npt.ArrayLike, capacity: npt.ArrayLike) -> Arcs:
    """The graph of edges `src[i] -> dst[i]`; parallel ones add, opposite ones become the two arcs of a pair."""
    s, d = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    pair, which = np.unique(np.minimum(s, d) * nodes + np.maximum(s, d), return_inverse=True)
    arc = 2 * which.ravel().astype(np.int64) + (s > d)
    total = np.zeros(2 * len(pair), np.int64)
    np.add.at(total, arc, np.asarray(capacity, np.int64))
    low, high = pair // nodes, pair % nodes
    tail, head = np.stack([low, high], axis=1).ravel(), np.stack([high, low], axis=1).ravel()
    start = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=nodes))]).astype(np.int64)
    return Arcs(start, np.argsort(tail, kind="stable").astype(np.int64), head.astype(np.int64), total, arc)


def max_flow(
    graph: Arcs, capacity: Longs, source: int, sink: int, limit: int = int(ENDLESS)
) -> tuple[int, npt.NDArray[np.bool_] | None]:
    """The value of a maximum flow, and the source's side of a minimum cut: all nodes from which no more can reach the
    sink.

    Args:
        capacity: (arcs,) of this run; what is left of them afterwards.
        limit: enough; where the flow reaches it, the answer is (limit, None).
    """
    level = np.empty(graph.nodes, np.int64)
    value = int(augment(graph.start, graph.order, graph.head, capacity, source, sink, limit, level))
    return (value, None) if value >= limit else (value, level < 0)


@compiled
def measure(start: Longs, order: Longs, head: Longs, capacity: Longs, sink: int, level: Longs, queue: Longs) -> None:
    """Distances to the sink over arcs with capacity left; -1 for nodes that cannot reach it."""
    for v in range(len(level)):
        level[v] = -1
    level[sink] = 0
    queue[0] = sink
    first, last = 0, 1
    while first < last:
        v = queue[first]
        first += 1
        for i in range(start[v], start[v + 1]):
            back = order[i]
            u = head[back]
            if level[u] < 0 and capacity[back ^ 1] > 0:
                level[u] = level[v] + 1
                queue[last] = u
                last += 1


@compiled
def augment(
    start: Longs, order: Longs, head: Longs, capacity: Longs, source: int, sink: int, limit: int, level: Longs
) -> int:
    """Push up to `limit` from source to sink; leaves residual capacities, and in `level` the distances to the sink."""
    nodes = len(start) - 1
    current, path, queue = start[:-1].copy(), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    flow = 0
    while flow < limit:
        measure(start, order, head, capacity, sink, level, queue)
        if level[source] < 0:
            return flow
        current[:] = start[:-1]
        length, here = 0, source
        while True:
            if here == sink:
                least, keep = limit - flow, -1
                for i in range(length):
                    least = min(least, capacity[path[i]])
                for i in range(length):
                    capacity[path[i]] -= least
                    capacity[path[i] ^ 1] += least
                    if keep < 0 and capacity[path[i]] == 0:
                        keep = i
                flow += least
                if flow >= limit:
                    return flow
                here, length = head[path[keep] ^ 1], keep
            while current[here] < start[here + 1]:
                a = order[current[here]]
                if capacity[a] > 0 and level[head[a]] == level[here] - 1:
                    break
                current[here] += 1
            if current[here] < start[here + 1]:
                path[length] = order[current[here]]
                here = head[path[length]]
                length += 1
            elif here == source:
                break
            else:
                level[here] = nodes  # a dead end
                length -= 1
                here = head[path[length] ^ 1]
                current[here] += 1
    return flow
