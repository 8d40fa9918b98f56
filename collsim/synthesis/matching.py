"""The loop of the greedy matching, compiled where numba is: links and chunks on a clock.

Whenever a pair of ranks is free it takes a chunk that its source holds and its destination lacks, the one that fewest
ranks hold among a few looked at (TACOS, Won et al., arXiv 2304.05301, algorithm 1, matches at random); chunks for one
rank alone only move where they come nearer to it. A pair with nothing to do wakes when its source receives something.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..maxflow import compiled

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
LOOKED_AT = 12


@compiled
def push(heap: Longs, size: int, item: int, key: Floats) -> None:
    """Put an item into a heap of `size` items, the least key first."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if key[heap[above]] <= key[item]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


@compiled
def pop(heap: Longs, size: int, key: Floats) -> int:
    """Take the item of least key out of a heap of `size` items."""
    first = heap[0]
    last = heap[size - 1]
    size -= 1
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= key[last]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return int(first)


@compiled
def choose(
    u: int, v: int, held: Flags, coming: Flags, wanted: Flags, holders: Longs, goal: Longs, far: Floats, begin: int
) -> int:
    """The chunk that the pair u, v should carry now, or -1."""
    chunks = held.shape[1]
    best, found = -1, 0
    for i in range(chunks):
        c = begin + i
        if c >= chunks:
            c -= chunks
        if not held[u, c] or coming[v, c]:
            continue
        if goal[c] < 0:
            if not wanted[v, c]:
                continue
        elif far[v, goal[c]] >= far[u, goal[c]]:
            continue
        if best < 0 or holders[c] < holders[best]:
            best = c
        found += 1
        if found >= 12:
            break
    return best


@compiled
def match(
    src: Longs,
    dst: Longs,
    alpha: Floats,
    seconds: Floats,
    out_start: Longs,
    out: Longs,
    held: Flags,
    coming: Flags,
    wanted: Flags,
    goal: Longs,
    far: Floats,
    holders: Longs,
    order: Longs,
    table: Longs,
    finish: Floats,
    state: Longs,
    key: Floats,
    heap: Longs,
    carried: Longs,
    ready: Longs,
    last_step: Longs,
    most: int,
) -> int:
    """Match up to `most` chunks with pairs; rows (pair, chunk, step) go to `table`. Returns 1 when nothing is left to
    do.

    state: rows written, heap size, links awake, seed.
    """
    row, size, seed = state[0], state[1], state[3]
    awake = order.copy()
    number = state[2]
    while row < most:
        # choices of all pairs that are awake at this moment
        for i in range(number):
            seed = (seed * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
            j = i + (seed >> 33) % (number - i)
            awake[i], awake[j] = awake[j], awake[i]
        for i in range(number):
            e = awake[i]
            u, v = src[e], dst[e]
            seed = (seed * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
            c = choose(u, v, held, coming, wanted, holders, goal, far, (seed >> 33) % held.shape[1])
            if c < 0:
                carried[e] = -2  # idle
                continue
            coming[v, c] = True
            holders[c] += 1
            if goal[c] >= 0:
                held[u, c] = False
            step = max(ready[u, c], last_step[e]) + 1
            last_step[e] = step
            table[row, 0], table[row, 1], table[row, 2] = e, c, step
            carried[e] = row
            key[e] += alpha[e] + seconds[e]
            finish[row] = key[e]
            row += 1
            push(heap, size, e, key)
            size += 1
        number = 0
        if size == 0:
            state[0], state[1], state[2], state[3] = row, size, 0, seed
            return 1
        now = key[heap[0]]
        while size > 0 and key[heap[0]] <= now * (1 + 1e-12):
            e = pop(heap, size, key)
            size -= 1
            arrived = carried[e]
            v, c = dst[e], table[arrived, 1]
            held[v, c] = True
            ready[v, c] = table[arrived, 2]
            carried[e] = -1
            awake[number] = e
            number += 1
            for i in range(out_start[v], out_start[v + 1]):
                f = out[i]
                if carried[f] == -2:
                    carried[f] = -1
                    key[f] = now
                    awake[number] = f
                    number += 1
    state[0], state[1], state[2], state[3] = row, size, number, seed
    order[:number] = awake[:number]
    return 0
