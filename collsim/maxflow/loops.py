"""The loops of the maximum flow, as plain Python that numba can compile."""

from __future__ import annotations

from typing import Any

#: An array of int64 where numba runs it, else a list.
Longs = Any


def augment(
    start: Longs,
    order: Longs,
    head: Longs,
    capacity: Longs,
    source: int,
    sink: int,
    limit: int,
    level: Longs,
    path: Longs,
    queue: Longs,
) -> int:
    """Push up to `limit` from source to sink; leaves residual capacities, and in `level` the distances to the sink.

    `level`, `path` and `queue` have room for every node.

    Args:
        start: (nodes + 1,) where the arcs of each node begin in `order`.
        order: (arcs,) arcs by their tail.
        head: (arcs,) node that each arc leads to; arc `a ^ 1` is the opposite one.
        capacity: (arcs,) residual; changed in place.
        source: Node.
        sink: Node.
        limit: Flow at which to stop.
        level: (nodes,) written: the distance to the sink, -1 where it cannot be reached.
        path: (nodes,) scratch.
        queue: (nodes,) scratch.

    Returns:
        The flow that was pushed.
    """
    flow = 0
    while flow < limit:
        measure(start, order, head, capacity, sink, level, queue)
        if level[source] < 0:
            break
        flow += push(start, order, head, capacity, source, sink, limit - flow, level, path)
    return flow


def measure(start: Longs, order: Longs, head: Longs, capacity: Longs, sink: int, level: Longs, queue: Longs) -> None:
    """Distances to the sink over arcs with capacity left; -1 for nodes that cannot reach it.

    Args:
        start: As in `augment`.
        order: As in `augment`.
        head: As in `augment`.
        capacity: As in `augment`.
        sink: Node.
        level: (nodes,) written.
        queue: (nodes,) scratch.
    """
    for v in range(len(level)):
        level[v] = -1
    level[sink], queue[0] = 0, sink
    first, last = 0, 1
    while first < last:
        v = queue[first]
        first += 1
        for i in range(start[v], start[v + 1]):
            # Searched against the arcs: `back` leads from v to u, and its twin, u to v, has the number `back ^ 1`.
            back = order[i]
            u = head[back]
            if level[u] < 0 and capacity[back ^ 1] > 0:
                level[u] = level[v] + 1
                queue[last] = u
                last += 1


def push(
    start: Longs,
    order: Longs,
    head: Longs,
    capacity: Longs,
    source: int,
    sink: int,
    limit: int,
    level: Longs,
    path: Longs,
) -> int:
    """Push up to `limit` along arcs that lead a level nearer to the sink, until none of their ways is left.

    Args:
        start: As in `augment`.
        order: As in `augment`.
        head: As in `augment`.
        capacity: As in `augment`.
        source: As in `augment`.
        sink: As in `augment`.
        limit: As in `augment`.
        level: (nodes,) distances to the sink, of `measure`.
        path: (nodes,) scratch.

    Returns:
        The flow that was pushed.
    """
    nodes = len(start) - 1
    current = start[:-1].copy()
    flow, length, here = 0, 0, source
    while True:
        if here == sink:
            least, keep = push_path(capacity, path, length, limit - flow)
            flow += least
            if flow >= limit:
                return flow
            # Go on at the tail of the first full arc: the path before it still has capacity.
            here, length = head[path[keep] ^ 1], keep
        # An arc that did not lead nearer to the sink never will in this phase (the current-arc rule), so that a phase
        # looks at each arc once.
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
            return flow
        else:
            level[here] = nodes  # a dead end
            length -= 1
            here = head[path[length] ^ 1]
            current[here] += 1


def push_path(capacity: Longs, path: Longs, length: int, limit: int) -> tuple[int, int]:
    """Push along one path what its narrowest arc takes.

    Args:
        capacity: As in `augment`.
        path: Arcs; the first `length` of them are the path.
        length: At least 1.
        limit: At most so much.

    Returns:
        The flow that was pushed, and the position of the first arc that is full; -1 where none is.
    """
    least, full = limit, -1
    for i in range(length):
        least = min(least, capacity[path[i]])
    for i in range(length):
        capacity[path[i]] -= least
        capacity[path[i] ^ 1] += least
        if full < 0 and capacity[path[i]] == 0:
            full = i
    return least, full
