"""Any collective of chunks between ranks on any network: greedy matching of pairs and chunks, as TACOS does.

Pairs of ranks that share links behind switches get the rates of `alltoall_rates`; in a network of ranks alone each link
is a pair. A reduction is the same matching on the reversed network, played backwards. Chunks for one rank alone take
paths (`block_paths`) instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collective import Collective, get_collective
from ..dtypes import Bools, Floats, Longs
from ..errors import CollsimError, Sentence
from ..schedule import Schedule, freeze
from ..steps import Step
from ..topology import Topology
from . import block_paths
from .pairs.alltoall_rates import Pairs, find_pairs, find_rates, share_rates
from .pairs.matching import Network, Queue, match
from .pairs.pair_channels import color_pairs
from .personalized import PERSONALIZED, SEARCHED_AS, assign_slots, copy_own_blocks, place_chunks

MAX_CELLS = 300_000_000  # ranks times chunks of a matching
MAX_BLOCKS = 1_100_000  # chunks that take a path each: an alltoall of 1,024 ranks
FOR_ONE_RANK = ("alltoall", "scatter")  # each chunk has a single goal
MAX_TIMED = 300_000  # transfers: larger ones are taken as they are
#: Transfers between two looks at the progress bar, and at Ctrl-C, which compiled code does not see.
_SLICE = 100_000
_BY_MATCHING = Sentence(
    "Every pair of ranks took, whenever it was free, a chunk that its source had and its destination lacked."
)


@dataclass(frozen=True, eq=False)
class Matching:
    """Transfers of one matching.

    Attributes:
        pair: (transfers,) row of `Pairs`.
        chunk: (transfers,) which chunk goes.
        step: (transfers,) in which step.
        time: s at which the last has arrived, by the matching's own clock.
    """

    pair: Longs
    chunk: Longs
    step: Longs
    time: float


def match_chunks(
    pairs: Pairs,
    rate: Floats,
    kind: Collective,
    root: int,
    chunks: int,
    chunk_bytes: float,
    seed: int,
    report: Callable[[int, int], None] | None,
) -> Matching:
    """Match until every rank has what the collective promises.

    Args:
        pairs: of ranks that may talk.
        rate: (pairs,) B/s.
        kind: the collective.
        root: its root, where it has one.
        chunks: of the buffer.
        chunk_bytes: of each.
        seed: of the random order in which pairs choose.
        report: called with (chunks moved, in all).

    Raises:
        CollsimError: where a chunk cannot be brought to a rank that wants it.
    """
    n = pairs.ranks
    initial_chunks, final_chunks = place_chunks(kind, n, chunks, root)
    chunks = initial_chunks.shape[1]
    usable = np.flatnonzero(rate > 0)
    src, dst, alpha = pairs.src[usable], pairs.dst[usable], pairs.alpha[usable]
    seconds = chunk_bytes / rate[usable]
    network = _build_network(n, src, dst, alpha, seconds)
    holding = initial_chunks.copy()
    queue = _build_queue(len(src), seed)
    total = int((final_chunks & ~initial_chunks).sum())
    holders, state = holding.sum(axis=0).astype(np.int64), queue[1]
    chunk_state = (
        holding,
        initial_chunks.copy(),
        final_chunks,
        holders,
        np.full((n, chunks), -1, np.int64),
    )
    table, finish = np.empty((_SLICE + len(src), 3), np.int64), np.empty(_SLICE + len(src))
    # The loop is compiled and cannot be interrupted, so it returns after each slice; tables grow between slices.
    done = False
    while not done:
        most = int(state[0]) + _SLICE
        while most + len(src) > len(table):
            table = np.concatenate([table, np.empty_like(table)])
            finish = np.concatenate([finish, np.empty_like(finish)])
        done = bool(match(network, chunk_state, queue, table, finish, most))
        if report is not None:
            report(int(state[0]), total)
    table, finish = table[: state[0]], finish[: state[0]]
    _require_brought(pairs, final_chunks & ~holding)
    return Matching(usable[table[:, 0]], table[:, 1], table[:, 2], float(finish.max(initial=0.0)))


def _require_brought(pairs: Pairs, lacking: Bools) -> None:
    """Refuse a result in which a rank lacks a chunk that it wants."""
    if lacking.any():
        rank, chunk = (int(x) for x in np.argwhere(lacking)[0])
        message = "{name}: chunk {chunk} cannot be brought to rank {rank}"
        raise CollsimError(message, name=pairs.topology.name, chunk=chunk, rank=rank)


def _build_network(n: int, src: Longs, dst: Longs, alpha: Floats, seconds: Floats) -> Network:
    """The pairs as the loop reads them."""
    order = np.argsort(src, kind="stable").astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]).astype(np.int64)
    return src, dst, alpha, seconds, start, order


def _build_queue(pairs: int, seed: int) -> Queue:
    """All pairs awake, nothing carried."""
    # Rows of the table so far, entries of the queue, pairs awake, and the state of the generator (`draw_number`).
    state = np.array([0, 0, pairs, 1 + 7919 * seed], np.int64)
    nothing = np.full(pairs, -1, np.int64)
    return np.arange(pairs), state, np.zeros(pairs), np.zeros(pairs, np.int64), nothing, nothing.copy()


def synthesize_by_matching(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    per_block: int,
    seed: int,
    options: dict[str, Any],
    report: Callable[[int, int], None] | None = None,
) -> tuple[Schedule, Sentence]:
    """A schedule by greedy matching, or by paths where each chunk is for one rank, and how it was found.

    Args:
        kind: the collective.
        topology: the network.
        ranks: so many, the first of the topology.
        root: of the collective, where it has one.
        nbytes: of the operation, for which pairs are matched.
        per_block: chunks of each block (or of a share of the buffer).
        seed: of the random order in which pairs choose.
        options: what the schedule says of itself.
        report: called with (chunks moved, in all).

    Raises:
        CollsimError: for a collective whose result has slots of its own, and where it would need too much memory.
    """
    pairs = find_pairs(topology, ranks)
    chunks = per_block * ranks
    parts = SEARCHED_AS[kind.name]
    total = chunks * (ranks if kind.name in PERSONALIZED else 1)
    # Memory is checked before anything is allocated: a matching knows of every rank whether it has each chunk.
    if parts[0][0] in FOR_ONE_RANK:
        is_too_large = total > MAX_BLOCKS
    else:
        is_too_large = ranks * total > MAX_CELLS
    if is_too_large:
        message = "{ranks} ranks with {chunks:,} chunks are too many to match; use fewer chunks or ranks"
        raise CollsimError(message, ranks=ranks, chunks=total)
    matchings: list[tuple[Matching, bool]] = []
    sentence = _BY_MATCHING
    # An allreduce is a reduce_scatter and an allgather; each is matched for itself.
    for name, reverse in parts:
        if reverse:
            directed = pairs.reversed
        else:
            directed = pairs
        size = nbytes / chunks
        if name in FOR_ONE_RANK:
            matching, sentence = _carry_on_paths(directed, name, root, per_block, size, report)
        else:
            rate, _ = find_rates(pairs, root if name == "broadcast" else None, reverse)
            matching = match_chunks(directed, rate, get_collective(name), root, chunks, size, seed, report)
        matchings.append((matching, reverse))
    return _freeze_matchings(kind, pairs, matchings, ranks, root, chunks, options), sentence


def _carry_on_paths(
    pairs: Pairs, name: str, root: int, pieces: int, piece_bytes: float, report: Callable[[int, int], None] | None
) -> tuple[Matching, Sentence]:
    """Each block takes one path; those of an alltoall from all ranks, those of a scatter from its root."""
    if name in PERSONALIZED:
        sources = np.arange(pairs.ranks)
    else:
        sources = np.array([root])
    chosen = block_paths.choose_paths(pairs, sources, pieces, report)
    # Pairs share their links so that all of them end together.
    rate = share_rates(pairs, chosen.load.astype(np.float64))
    table, time = block_paths.carry_blocks(pairs, chosen, rate, piece_bytes)
    sentence = Sentence(
        "Every block takes a path of its own. The busiest link must carry at least {share} % of what it does, whatever "
        "paths over these pairs of ranks are taken.",
        share=f"{100 * chosen.share:.4g}",
    )
    return Matching(table[:, 0], table[:, 1], table[:, 2], time), sentence


def _freeze_matchings(
    kind: Collective,
    pairs: Pairs,
    matchings: list[tuple[Matching, bool]],
    ranks: int,
    root: int,
    chunks: int,
    options: dict[str, Any],
) -> Schedule:
    """Transfers in steps; each pair of ranks has its own channel, so that no pair waits for another."""
    channel = color_pairs(pairs.src, pairs.dst).astype(np.int32)

    def yield_steps() -> Iterator[Step]:
        for matching, reverse in matchings:
            last = int(matching.step.max(initial=-1))
            # Reversed matchings end with what was matched first: their steps count from the end.
            if reverse:
                moment = last - matching.step
            else:
                moment = matching.step
            ends = pairs.src[matching.pair], pairs.dst[matching.pair]
            read, written = assign_slots(kind, ranks, chunks // ranks, *ends, np.stack([matching.chunk, matching.step]))
            order = np.argsort(moment, kind="stable")
            for number, part in enumerate(np.split(order, np.cumsum(np.bincount(moment, minlength=last + 1))[:-1])):
                pair, reducing = matching.pair[part], np.full(len(part), reverse and kind.reduces)
                step = Step(src[pair], dst[pair], read[part], written[part], reducing, channel[pair])
                yield (
                    step + copy_own_blocks(ranks, chunks // ranks) if kind.has_separate_result and number == 0 else step
                )

    src, dst = pairs.src.astype(np.int32), pairs.dst.astype(np.int32)
    block = 1
    if kind.has_blocks:
        block = ranks
    name = f"synthesized_{kind.name}"
    return freeze(name, kind.name, ranks, yield_steps(), chunks=chunks, block=block, root=root, options=options)
