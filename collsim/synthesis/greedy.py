"""Any collective of chunks between ranks on any network: greedy matching of pairs and chunks, as TACOS does.

Pairs of ranks that share links behind switches get the rates of `rates`; a network of ranks alone its own links. What
is reduced is the same matching on the network turned round, played backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..collective import Collective, collective
from ..errors import CollsimError
from ..schedule import Schedule, freeze
from ..steps import Step
from ..topology import Topology
from .matching import Network, Queue, match
from .personal import PERSONAL, SEARCHED_AS, asked, own_blocks, slots
from .pipelined import colours
from .rates import Pairs, pairs_of, rates, shared

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
MOST_CELLS = 300_000_000  # ranks times chunks
MOST_TIMED = 300_000  # transfers: larger ones are taken as they are
_SLICE = 100_000


@dataclass(frozen=True, eq=False)
class Matched:
    """Transfers of one matching: pair, chunk and step of each; s at which the last has arrived, by its own clock."""

    pair: Longs
    chunk: Longs
    step: Longs
    time: float


def matched(
    pairs: Pairs,
    rate: Floats,
    kind: Collective,
    root: int,
    chunks: int,
    chunk_bytes: float,
    seed: int,
    told: Callable[[int, int], None] | None,
) -> Matched:
    """Match until every rank has what the collective promises. `told` is called with (chunks moved, in all).

    Raises CollsimError where something cannot be brought where it belongs.
    """
    n = pairs.ranks
    place, wanted = asked(kind, n, chunks, root)
    chunks = place.shape[1]
    goal, far = np.full(chunks, -1), np.zeros((1, 1))
    use = np.flatnonzero(rate > 0)
    src, dst, alpha = pairs.src[use], pairs.dst[use], pairs.alpha[use]
    seconds = chunk_bytes / rate[use]
    if (wanted.sum(axis=0) <= 1).all():  # each chunk for one rank: gather, scatter, alltoall
        goal, far = wanted.argmax(axis=0), distances(n, src, dst, alpha + seconds)
    goal = goal.astype(np.int64)
    network, held, queue = _network(n, src, dst, alpha, seconds), place.copy(), _queue(len(src), seed)
    total = int((wanted & ~place).sum()) if (goal < 0).all() else _hops_needed(n, src, dst, place, goal)
    holders, state = held.sum(axis=0).astype(np.int64), queue[1]
    if far.size > 1:  # what has farthest to go moves first
        holders[:] = -np.rint(far[place.argmax(axis=0), goal] / far.max() * 1e6)
    on = held, place.copy(), wanted, goal, far, holders, np.full((n, chunks), -1, np.int64)
    table, finish = np.empty((_SLICE + len(src), 3), np.int64), np.empty(_SLICE + len(src))
    done = False
    while not done:
        most = int(state[0]) + _SLICE
        while most + len(src) > len(table):
            table = np.concatenate([table, np.empty_like(table)])
            finish = np.concatenate([finish, np.empty_like(finish)])
        done = bool(match(network, on, queue, table, finish, most))
        if told is not None:
            told(int(state[0]), total)
    table, finish = table[: state[0]], finish[: state[0]]
    if (wanted & ~held).any():
        rank, chunk = (int(x) for x in np.argwhere(wanted & ~held)[0])
        why = "{name}: chunk {chunk} cannot be brought to rank {rank}"
        raise CollsimError(why, name=pairs.topology.name, chunk=chunk, rank=rank)
    return Matched(use[table[:, 0]], table[:, 1], table[:, 2], float(finish.max(initial=0.0)))


def _network(n: int, src: Longs, dst: Longs, alpha: Floats, seconds: Floats) -> Network:
    """The pairs as the loop reads them."""
    order = np.argsort(src, kind="stable").astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]).astype(np.int64)
    return src, dst, alpha, seconds, start, order


def _queue(pairs: int, seed: int) -> Queue:
    """All pairs awake, nothing carried."""
    state = np.array([0, 0, pairs, 1 + 7919 * seed], np.int64)
    nothing = np.full(pairs, -1, np.int64)
    return np.arange(pairs), state, np.zeros(pairs), np.zeros(pairs, np.int64), nothing, nothing.copy()


def distances(n: int, src: Longs, dst: Longs, cost: Floats) -> Floats:
    """(ranks, ranks) the least sum of costs from one rank to another, by relaxing all pairs at once."""
    far = np.full((n, n), np.inf)
    np.fill_diagonal(far, 0.0)
    while True:
        before = far.copy()
        np.minimum.at(far, src, cost[:, None] + far[dst])
        if np.array_equal(far, before):
            return far


def _hops_needed(n: int, src: Longs, dst: Longs, place: npt.NDArray[np.bool_], goal: Longs) -> int:
    hops = distances(n, src, dst, np.ones(len(src)))
    home = place.argmax(axis=0)
    return int(np.nan_to_num(hops[home, goal], posinf=0).sum())


def greedy(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    per_block: int,
    seed: int,
    options: dict[str, Any],
    told: Callable[[int, int], None] | None = None,
) -> Schedule:
    """A schedule by greedy matching, blocks (or the buffer) cut into `per_block` chunks.

    Raises CollsimError for a collective whose result lies in slots of its own, and where it would need too much memory.
    """
    pairs = pairs_of(topology, ranks)
    chunks = per_block * ranks
    in_all = chunks * (ranks if kind.name in PERSONAL else 1)
    if ranks * in_all > MOST_CELLS:
        why = "{ranks} ranks with {chunks:,} chunks are too many to match; use fewer chunks or ranks"
        raise CollsimError(why, ranks=ranks, chunks=in_all)
    made: list[tuple[Matched, bool]] = []
    for name, reverse in SEARCHED_AS[kind.name]:
        toward = pairs.reversed if reverse else pairs
        at = None if name == "allgather" else root
        rate = _rates(pairs, name, at, reverse)
        size = nbytes / chunks
        made.append((matched(toward, rate, collective(name), root, chunks, size, seed, told), reverse))
    return _frozen(kind, pairs, made, ranks, root, chunks, options)


def _rates(pairs: Pairs, name: str, root: int | None, reverse: bool) -> Floats:
    """(pairs,) B/s: those of trees; in an alltoall every pair has something to carry at the same time."""
    if name in PERSONAL:
        return shared(pairs, np.ones(len(pairs)))
    return rates(pairs, root if name == "broadcast" else None, reverse)[0]


def _frozen(
    kind: Collective,
    pairs: Pairs,
    made: list[tuple[Matched, bool]],
    ranks: int,
    root: int,
    chunks: int,
    options: dict[str, Any],
) -> Schedule:
    """Transfers in steps; every pair of ranks on a channel of its own, so that none waits for another."""
    channel = colours(pairs.src, pairs.dst).astype(np.int32)

    def steps() -> Iterator[Step]:
        for found, reverse in made:
            last = int(found.step.max(initial=-1))
            late = last - found.step if reverse else found.step
            ends = pairs.src[found.pair], pairs.dst[found.pair]
            read, written = slots(kind, ranks, chunks // ranks, *ends, np.stack([found.chunk, found.step]))
            order = np.argsort(late, kind="stable")
            for number, part in enumerate(np.split(order, np.cumsum(np.bincount(late, minlength=last + 1))[:-1])):
                pair, reducing = found.pair[part], np.full(len(part), reverse and kind.reduces)
                step = Step(src[pair], dst[pair], read[part], written[part], reducing, channel[pair])
                yield step + own_blocks(ranks, chunks // ranks) if kind.apart and number == 0 else step

    src, dst = pairs.src.astype(np.int32), pairs.dst.astype(np.int32)
    block = ranks if kind.blocks else 1
    name = f"synthesized_{kind.name}"
    return freeze(name, kind.name, ranks, steps(), chunks=chunks, block=block, root=root, options=options)
