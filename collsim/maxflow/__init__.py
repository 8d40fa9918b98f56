"""Maximum flows and minimum cuts of directed graphs with whole capacities, by Dinic's algorithm (Dinitz 1970).

Levels are distances to the sink, so that no path runs into a dead end that a level would have shown. numba compiles
the loop where it is there; the same source runs as plain Python where it is not.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dtypes import Bools, Longs
from . import loops

# Endless capacities of two arcs can be added within int64.
ENDLESS = np.int64(2**62)
#: Arcs up to which the flow is found before the compiler would be loaded (half a second).
_MAX_UNCOMPILED_ARCS = 600


@dataclass(frozen=True, eq=False)
class Arcs:
    """A directed graph: arcs 2i and 2i+1 join the same two nodes, one each way.

    Attributes:
        start: (nodes + 1,) the arcs that leave node v are `order[start[v]:start[v+1]]`.
        order: (arcs,) arcs sorted by the node that they leave.
        head: (arcs,) where each leads.
        capacity: (arcs,) whole numbers.
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


def build_arcs(nodes: int, src: npt.ArrayLike, dst: npt.ArrayLike, capacity: npt.ArrayLike) -> Arcs:
    """The graph of edges `src[i] -> dst[i]`; parallel ones add, opposite ones become the two arcs of a pair.

    Args:
        nodes: Numbers of nodes are 0 to `nodes - 1`.
        src: (edges,) nodes.
        dst: (edges,) nodes.
        capacity: (edges,) whole numbers, or one for all.

    Returns:
        Its `arc` says, for each edge, which arc it became.
    """
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
) -> tuple[int, Bools | None]:
    """The value of a maximum flow, and the source's side of a minimum cut: all nodes from which no more can reach the
    sink.

    Args:
        graph: the arcs.
        capacity: (arcs,) of this run; what is left of them afterwards.
        source: the node where the flow begins.
        sink: the node where it ends.
        limit: enough; where the flow reaches it, the answer is (limit, None).

    Returns:
        The value, and (nodes,) whether each node is on the source's side.
    """
    if len(graph.order) <= _MAX_UNCOMPILED_ARCS and not _is_loaded():
        return _run_uncompiled(graph, capacity, source, sink, limit)
    from .kernels import augment

    level, path, queue = np.empty((3, graph.nodes), np.int64)
    value = int(augment(graph.start, graph.order, graph.head, capacity, source, sink, limit, level, path, queue))
    if value >= limit:
        return (value, None)
    return (value, level < 0)


def _is_loaded() -> bool:
    return "numba" in sys.modules


def _run_uncompiled(graph: Arcs, capacity: Longs, source: int, sink: int, limit: int) -> tuple[int, Bools | None]:
    """The same without the compiler, on lists, which plain Python reads faster than arrays."""
    level, path, queue = ([0] * graph.nodes for _ in range(3))
    residual = capacity.tolist()
    start, order, head = graph.start.tolist(), graph.order.tolist(), graph.head.tolist()
    value = int(loops.augment(start, order, head, residual, source, sink, limit, level, path, queue))
    capacity[:] = residual
    if value >= limit:
        return (value, None)
    return (value, np.array(level) < 0)
