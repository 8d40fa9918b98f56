"""The loops of the maximum flow: numba compiles them where it is there, plain Python runs the same source elsewhere.

Not imported before the first flow: the compiler takes longer to load than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(signature: str | None = None) -> Callable[[Kernel], Kernel]:
    """A kernel as machine code, kept on disk where some directory can be written. With a signature it is made when its
    module is imported, not inside somebody's first flow; without one when it is first called."""

    def make(function: Kernel) -> Kernel:
        try:
            import numba
        except ImportError:  # in a browser
            return function
        try:
            made: Any = numba.njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:  # no directory for the cache
            made = numba.njit(signature, nogil=True)(function)
        return made  # type: ignore[no-any-return]

    return make


@compiled("void(i8[::1], i8[::1], i8[::1], i8[::1], i8, i8[::1], i8[::1])")
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


@compiled("i8(i8[::1], i8[::1], i8[::1], i8[::1], i8, i8, i8, i8[::1])")
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
