"""The loop of the greedy matching, compiled where numba is: links and chunks on a clock.

Whenever a pair of ranks is free it takes a chunk that its source holds and its destination lacks, the one that fewest
ranks hold among a few looked at (TACOS, Won et al., arXiv 2304.05301, algorithm 1, matches at random). A pair with
nothing to do wakes when its source receives something.
"""

from __future__ import annotations

from ...dtypes import Bools, Floats, Longs
from ...maxflow.kernels import compile_kernel

Flags = Bools
Network = tuple[Longs, Longs, Floats, Floats, Longs, Longs]
Chunks = tuple[Flags, Flags, Flags, Longs, Longs]
Queue = tuple[Longs, Longs, Floats, Longs, Longs, Longs]
# Chunks that a link chooses from, for speed; and what stands for a link that carries none.
LOOKED_AT, IDLE = 12, -2


@compile_kernel()
def push(heap: Longs, size: int, item: int, key: Floats) -> None:
    """Put an item into a heap of `size` items, the least key first.

    Args:
        heap: Room for all items; the first `size` are in use.
        size: Before the item is in.
        item: Index into `key`.
        key: By item; that of an item in the heap must not change.
    """
    position = size
    while position > 0:
        parent = (position - 1) // 2
        if key[heap[parent]] <= key[item]:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = item


@compile_kernel()
def pop(heap: Longs, size: int, key: Floats) -> int:
    """Take the item of least key out of a heap of `size` items.

    Args:
        heap: At least one item in it.
        size: Before the item is out.
        key: By item.
    """
    first = heap[0]
    last = heap[size - 1]
    size -= 1
    position = 0
    # The last item sinks from the top until both children have larger keys.
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= key[last]:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = last
    return int(first)


@compile_kernel()
def choose(u: int, v: int, stored: Flags, coming: Flags, final: Flags, holders: Longs, begin: int) -> int:
    """The chunk that the pair u, v should carry now, or -1.

    Of those that v lacks and wants, the one that fewest ranks hold.

    Args:
        u: Rank that sends.
        v: Rank that receives.
        stored: (ranks, chunks) who has each chunk.
        coming: (ranks, chunks) who has it or is being sent it.
        final: (ranks, chunks) who wants it in the end.
        holders: (chunks,) how many have it.
        begin: Chunk at which to begin looking, so that equals are not always taken in one order.
    """
    chunks = stored.shape[1]
    best, looked_at = -1, 0
    for i in range(chunks):
        c = begin + i
        if c >= chunks:
            c -= chunks
        if not stored[u, c] or coming[v, c] or not final[v, c]:
            continue
        if best < 0 or holders[c] < holders[best]:
            best = c
        looked_at += 1
        # Looking at all chunks would make each choice linear; a bounded look finds a rare one nearly always.
        if looked_at >= LOOKED_AT:
            break
    return best


@compile_kernel()
def draw_number(seed: int) -> int:
    """The next number of a linear congruential generator modulo 2^63 (Knuth, MMIX)."""
    return (seed * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF


@compile_kernel()
def shuffle(items: Longs, number: int, seed: int) -> int:
    """Put the first `number` items into a random order; the seed after that.

    Args:
        items: The first `number` are shuffled in place.
        number: How many.
        seed: State of the generator.
    """
    for i in range(number):
        seed = draw_number(seed)
        j = i + (seed >> 33) % (number - i)
        items[i], items[j] = items[j], items[i]
    return seed


@compile_kernel()
def send(e: int, c: int, row: int, pairs: Network, chunks: Chunks, queue: Queue, table: Longs, finish: Floats) -> None:
    """Pair e carries chunk c from now on: row `row` of the table.

    Args:
        e: Number of the pair.
        c: Chunk.
        row: First that is free.
        pairs: Ends, alpha and s per chunk.
        chunks: Who holds and who wants what; changed in place.
        queue: When pairs are done; changed in place.
        table: (rows, 3) pair, chunk and step of each transfer.
        finish: (rows,) s.
    """
    src, dst, alpha, seconds, _, _ = pairs
    _, coming, _, holders, ready = chunks
    _, _, key, _, carried, last_step = queue
    u, v = src[e], dst[e]
    coming[v, c] = True
    holders[c] += 1
    last_step[e] = max(ready[u, c], last_step[e]) + 1
    table[row, 0], table[row, 1], table[row, 2] = e, c, last_step[e]
    carried[e] = row
    # The key of a pair is the moment at which it is free again, which orders the heap.
    key[e] += alpha[e] + seconds[e]
    finish[row] = key[e]


@compile_kernel()
def receive(e: int, now: float, number: int, pairs: Network, chunks: Chunks, queue: Queue, table: Longs) -> int:
    """What pair e carried has arrived: the pair is awake, and so are the idle pairs out of its destination.

    Args:
        e: Number of the pair.
        now: s.
        number: Pairs that are awake already.
        pairs: As in `send`.
        chunks: As in `send`.
        queue: As in `send`.
        table: As in `send`.

    Returns:
        How many pairs are awake.
    """
    _, dst, _, _, out_start, out = pairs
    stored, ready = chunks[0], chunks[4]
    awake, _, key, _, carried, _ = queue
    row = carried[e]
    v, c = dst[e], table[row, 1]
    stored[v, c] = True
    ready[v, c] = table[row, 2]
    carried[e] = -1
    awake[number] = e
    number += 1
    # Pairs out of this rank that had nothing to carry may carry the new chunk.
    for i in range(out_start[v], out_start[v + 1]):
        f = out[i]
        if carried[f] == IDLE:
            carried[f] = -1
            key[f] = now
            awake[number] = f
            number += 1
    return number


@compile_kernel()
def match(pairs: Network, chunks: Chunks, queue: Queue, table: Longs, finish: Floats, most: int) -> int:
    """Match until `most` rows (pair, chunk, step) are in the table, or nothing is left to do: then the answer is 1.

    Args:
        pairs: source, destination, alpha (s), s per chunk; and the pairs that leave each rank.
        chunks: (ranks, chunks) stored, coming, wanted; holders; step in which each came.
        queue: pairs awake; rows written, heap size, pairs awake, seed; s at which each pair is free; the heap; the row
            that each carries (or IDLE); its last step.
        table: (rows, 3) pair, chunk, step of each transfer; written from the first free row on.
        finish: (rows,) s at which each transfer ends; written.
        most: rows of the table at which to stop, to be called again.
    """
    src, dst, _, _, _, _ = pairs
    stored, coming, final, holders, _ = chunks
    awake, state, key, heap, carried, _ = queue
    row, size, number, seed = state[0], state[1], state[2], state[3]
    ended = 0
    while row < most:
        seed = shuffle(awake, number, seed)
        for i in range(number):
            e = awake[i]
            seed = draw_number(seed)
            # The low bits of such a generator have short periods.
            begin = (seed >> 33) % stored.shape[1]
            c = choose(src[e], dst[e], stored, coming, final, holders, begin)
            if c < 0:
                carried[e] = IDLE
                continue
            send(e, c, row, pairs, chunks, queue, table, finish)
            row += 1
            push(heap, size, e, key)
            size += 1
        number = 0
        if size == 0:
            ended = 1
            break
        now = key[heap[0]]
        # Arrivals that differ by rounding are one moment, so that all of them can be matched together.
        while size > 0 and key[heap[0]] <= now * (1 + 1e-12):
            e = pop(heap, size, key)
            size -= 1
            number = receive(e, now, number, pairs, chunks, queue, table)
    state[0], state[1], state[2], state[3] = row, size, number, seed
    return ended
