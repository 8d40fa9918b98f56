"""Any collective of chunks between ranks on any network: greedy matching of pairs and chunks, as TACOS does.

Pairs of ranks that share links behind switches get the rates of `rates`; in a network of ranks alone each link is a
pair. A reduction is the same matching on the reversed network, played backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..collective import Collective, get_collective
from ..errors import CollsimError
from ..schedule import Schedule, freeze
from ..steps import Step
from ..topology import Topology
from .alltoall_rates import Pairs, find_pairs, find_rates, share_rates
from .matching import Network, Queue, match
from .personalized import PERSONALIZED, SEARCHED_AS, assign_slots, copy_own_blocks, place_chunks
from .tree_packing.pipelined import color_pairs

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
MAX_CELLS = 300_000_000  # ranks times chunks
MAX_TIMED = 300_000  # transfers: larger ones are taken as they are
#: Transfers between two looks at the progress bar, and at Ctrl-C, which compiled code does not see.
_SLICE = 100_000


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
    goal, distance = np.full(chunks, -1), np.zeros((1, 1))
    usable = np.flatnonzero(rate > 0)
    src, dst, alpha = pairs.src[usable], pairs.dst[usable], pairs.alpha[usable]
    seconds = chunk_bytes / rate[usable]
    if (final_chunks.sum(axis=0) <= 1).all():  # each chunk for one rank: gather, scatter, alltoall
        goal, distance = final_chunks.argmax(axis=0), compute_distances(n, src, dst, alpha + seconds)
    goal = goal.astype(np.int64)
    network = _build_network(n, src, dst, alpha, seconds)
    holding = initial_chunks.copy()
    queue = _build_queue(len(src), seed)
    total = int((final_chunks & ~initial_chunks).sum())
    if (goal >= 0).any():
        total = _count_hops(n, src, dst, initial_chunks, goal)
    holders, state = holding.sum(axis=0).astype(np.int64), queue[1]
    if distance.size > 1:  # what has farthest to go moves first
        holders[:] = -np.rint(distance[initial_chunks.argmax(axis=0), goal] / distance.max() * 1e6)
    chunk_state = (
        holding,
        initial_chunks.copy(),
        final_chunks,
        goal,
        distance,
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


def _require_brought(pairs: Pairs, lacking: npt.NDArray[np.bool_]) -> None:
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


def compute_distances(n: int, src: Longs, dst: Longs, cost: Floats) -> Floats:
    """(ranks, ranks) the least sum of costs from one rank to another, by relaxing all pairs at once.

    Args:
        n: Ranks.
        src: (pairs,) ranks.
        dst: (pairs,) ranks.
        cost: (pairs,) s from one to the other.

    Returns:
        inf where there is no way.
    """
    distance = np.full((n, n), np.inf)
    np.fill_diagonal(distance, 0.0)
    while True:
        before = distance.copy()
        np.minimum.at(distance, src, cost[:, None] + distance[dst])
        if np.array_equal(distance, before):
            return distance


def _count_hops(n: int, src: Longs, dst: Longs, initial_chunks: npt.NDArray[np.bool_], goal: Longs) -> int:
    hops = compute_distances(n, src, dst, np.ones(len(src)))
    home = initial_chunks.argmax(axis=0)
    return int(np.nan_to_num(hops[home, goal], posinf=0).sum())


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
) -> Schedule:
    """A schedule by greedy matching.

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
    total = chunks * (ranks if kind.name in PERSONALIZED else 1)
    # Memory grows with ranks times chunks, and is checked before anything is allocated.
    if ranks * total > MAX_CELLS:
        message = "{ranks} ranks with {chunks:,} chunks are too many to match; use fewer chunks or ranks"
        raise CollsimError(message, ranks=ranks, chunks=total)
    matchings: list[tuple[Matching, bool]] = []
    # An allreduce is a reduce_scatter and an allgather; each is matched for itself.
    for name, reverse in SEARCHED_AS[kind.name]:
        if reverse:
            directed = pairs.reversed
        else:
            directed = pairs
        if name == "allgather":
            tree_root = None
        else:
            tree_root = root
        rate = _compute_rates(pairs, name, tree_root, reverse)
        size = nbytes / chunks
        matchings.append(
            (match_chunks(directed, rate, get_collective(name), root, chunks, size, seed, report), reverse)
        )
    return _freeze_matchings(kind, pairs, matchings, ranks, root, chunks, options)


def _compute_rates(pairs: Pairs, name: str, root: int | None, reverse: bool) -> Floats:
    """(pairs,) B/s: those of trees; in an alltoall every pair has something to carry at the same time."""
    if name in PERSONALIZED:
        return share_rates(pairs, np.ones(len(pairs)))
    return find_rates(pairs, root if name == "broadcast" else None, reverse)[0]


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
