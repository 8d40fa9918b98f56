"""Chunks that each belong to one pair of ranks: an alltoall, in slots as its collective has them.

Chunk `(i * n + j) * per_block + p` is piece p of what rank i has for rank j. It is read at i from slot
`j * per_block + p` and ends at j in slot `chunks + i * per_block + p`, with `chunks = n * per_block`; a rank on its way
keeps it in a slot of scratch beyond both.
"""

from __future__ import annotations

import numpy as np

from ..collective import Collective
from ..dtypes import Bools, Ints, Longs
from ..steps import Step

Flags = Bools
PERSONALIZED = ("alltoall",)
#: The collectives for which matching and the solver search, one after the other, and whether each is played backwards.
SEARCHED_AS = {
    "allgather": (("allgather", False),),
    "reduce_scatter": (("allgather", True),),
    "allreduce": (("allgather", True), ("allgather", False)),
    "broadcast": (("broadcast", False),),
    "reduce": (("broadcast", True),),
    "scatter": (("scatter", False),),
    "gather": (("scatter", True),),
    "alltoall": (("alltoall", False),),
}


def build_demands(ranks: int, per_block: int) -> tuple[Flags, Flags]:
    """(ranks, ranks^2 * per_block): who has each chunk before, and who wants it; what a rank has for itself is both."""
    every = np.arange(ranks * ranks * per_block) // per_block
    rank = np.arange(ranks)[:, None]
    return every // ranks == rank, every % ranks == rank


def place_chunks(kind: Collective, ranks: int, chunks: int, root: int) -> tuple[Flags, Flags]:
    """(ranks, chunks): who has each chunk before, and who wants it. An alltoall has a chunk for each pair and piece.

    Args:
        kind: The collective.
        ranks: How many.
        chunks: Of the schedule.
        root: Of a rooted collective.

    Returns:
        (ranks, chunks) bool, who has each before, and (ranks, chunks) bool, who wants it.
    """
    if kind.name in PERSONALIZED:
        return build_demands(ranks, chunks // ranks)
    contributor, _ = kind.find_expected_contributions(ranks, chunks, root)
    return kind.mark_initial_slots(ranks, chunks, root), contributor >= 0


def assign_slots(
    kind: Collective, ranks: int, per_block: int, src: Longs, dst: Longs, sent: Longs
) -> tuple[Ints, Ints]:
    """Where each transfer is read and written, in a schedule in which no rank gets a chunk twice.

    Args:
        kind: the collective.
        ranks: of the schedule.
        per_block: chunks of each block.
        src: (transfers,) rank that sends.
        dst: (transfers,) rank that receives.
        sent: (2, transfers) chunk and step.

    Returns:
        (transfers,) the slot that each is read from, and the one that it is written to.
    """
    chunk, step = sent
    if kind.name not in PERSONALIZED:
        return chunk.astype(np.int32), chunk.astype(np.int32)
    pair, piece = np.divmod(chunk, per_block)
    # A chunk's number says from whom and for whom it is, and which piece of that block.
    origin, goal = np.divmod(pair, ranks)
    chunks = ranks * per_block
    written = chunks + origin * per_block + piece
    relayed = np.flatnonzero(dst != goal)
    order = relayed[np.lexsort((step[relayed], dst[relayed]))]
    # A relayed chunk lands in a slot of its own behind the result, numbered by the order of arrival at that rank.
    first = np.searchsorted(dst[order], dst[order])  # where the transfers to the same rank begin
    written[order] = 2 * chunks + np.arange(len(order)) - first
    # The first hop reads the sender's own block; later hops read where the hop before has put the chunk.
    read = goal * per_block + piece
    order = np.lexsort((step, chunk))
    later = np.flatnonzero(src[order] != origin[order])
    read[order[later]] = written[order[later - 1]]
    return read.astype(np.int32), written.astype(np.int32)


def copy_own_blocks(ranks: int, per_block: int) -> Step:
    """Each rank copies what it has for itself into the result.

    Args:
        ranks: How many.
        per_block: Chunks of each block.
    """
    rank = np.repeat(np.arange(ranks), per_block).astype(np.int32)
    piece = np.tile(np.arange(per_block), ranks)
    read = (rank * per_block + piece).astype(np.int32)
    written = (ranks * per_block + read).astype(np.int32)
    return Step(rank, rank, read, written, np.zeros(len(rank), bool), np.zeros(len(rank), np.int32))
