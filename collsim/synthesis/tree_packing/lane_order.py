"""Which piece a pair of ranks carries next: the trees of a plan put in order on a clock, for the event engine.

`pipelined.pipeline_trees` lets all trees go down a level in every step, and a level takes as long as a piece of all
trees of a pair. Here a pair carries one piece after another, and whenever it is free it takes, of those that its
source has, one with a long way still to go: list scheduling by the longest path (Graham 1969, section 2; Hu 1961). A
level then takes as long as one piece, and deep trees are ahead of shallow ones when the pipeline drains. More lanes for
each pair pay the latency of a piece less often, and take longer for a level.

On a machine of many nodes there is another order, rounds: in each, a node sends to one other node. In
`pipelined.pipeline_trees` a card carries pieces of all other nodes at the same time, so the last pieces of all of them
arrive at once, and are then spread inside the nodes while the cards are idle. In rounds, as in a pairwise exchange
(Thakur, Rabenseifner & Gropp 2005), the edges from a node to the k-th node after it belong to round k: a card carries
one piece at a time, the next level follows a step later, and what is left at the end is one piece of one round.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...dtypes import Floats, Longs
from ...maxflow.kernels import compile_kernel
from ...steps import Step
from ..pairs.matching import pop, push
from ..pairs.pair_channels import color_pairs
from .pipelined import Forest, build_steps

_AHEAD = 3  # pieces that a tree may be ahead for each level that it still has to go


@compile_kernel()
def _choose_edge(edges: Longs, first: int, last: int, sent: Longs, have: Longs, tail: Longs) -> int:
    """The edge of a pair whose next piece is there and has the longest way to go; -1 where there is none."""
    best, least = -1, 0
    for i in range(first, last):
        e = edges[i]
        if sent[e] < have[e] and (best < 0 or sent[e] - tail[e] < least):
            best, least = e, sent[e] - tail[e]
    return best


@compile_kernel()
def _run_clock(
    pairs: tuple[Longs, Longs],
    order: tuple[Longs, Longs, Longs, Longs],
    lanes: tuple[Longs, Longs, Floats],
    step: Longs,
) -> None:
    """Fill in `step`: (edges, pieces, 2) step and lane of each piece.

    Args:
        pairs: edges of pair p are `edges[start[p]:start[p + 1]]`.
        order: those that wait for edge e are `next[begin[e]:begin[e + 1]]`; for how many edges each waits; its
            priority.
        lanes: pair of each lane; the lanes of pair p are `first[p]` to `first[p + 1] - 1`; s per piece of each lane.
    """
    edges, start = pairs
    following, begin, waits, tail = order
    pair, first, seconds = lanes
    total, sent, ready = len(pair), np.zeros(len(tail), np.int64), np.full(step.shape[:2], -1, np.int64)
    have, arrived = np.where(waits == 0, step.shape[1], 0), np.zeros(step.shape[:2], np.int64)
    key, clock, asleep = np.zeros(total), np.zeros(total, np.int64), np.zeros(total, np.bool_)
    heap, carried, ended = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    awake, awakes, size, now = np.arange(total), total, 0, 0.0
    pair_of = np.empty(len(tail), np.int64)
    for p in range(len(start) - 1):
        pair_of[edges[start[p] : start[p + 1]]] = p
    # Event by event: lanes that are free choose an edge; then time moves to the next end.
    while True:
        for i in range(awakes):
            lane = awake[i]
            e = _choose_edge(edges, start[pair[lane]], start[pair[lane] + 1], sent, have, tail)
            asleep[lane] = e < 0
            if e < 0:
                continue
            piece = sent[e]
            sent[e] += 1
            # A piece is ready a step after the edge above carried it, and a lane carries one piece a step.
            clock[lane] = max(clock[lane], ready[e, piece]) + 1
            step[e, piece, 0], step[e, piece, 1] = clock[lane] - 1, lane - first[pair[lane]]
            carried[lane] = e * step.shape[1] + piece
            key[lane] = now + seconds[lane]
            push(heap, size, lane, key)
            size += 1
        if size == 0:
            return
        now, awakes = key[heap[0]], 0
        # Ends at the same moment up to rounding are taken together, or the order of lanes would depend on rounding.
        while size > 0 and key[heap[0]] <= now * (1 + 1e-12):
            ended[awakes] = pop(heap, size, key)
            awake[awakes] = ended[awakes]
            awakes += 1
            size -= 1
        for i in range(awakes):
            e, piece = carried[ended[i]] // step.shape[1], carried[ended[i]] % step.shape[1]
            # Edges that waited for this one alone may carry the piece now; lanes that slept for want of work wake up.
            for f in following[begin[e] : begin[e + 1]]:
                ready[f, piece] = max(ready[f, piece], step[e, piece, 0] + 1)
                arrived[f, piece] += 1
                if arrived[f, piece] < waits[f]:
                    continue
                have[f] += 1
                for lane in range(first[pair_of[f]], first[pair_of[f] + 1]):
                    if asleep[lane]:
                        asleep[lane] = False
                        awake[awakes] = lane
                        awakes += 1


def find_parents(forest: Forest) -> tuple[Longs, Longs]:
    """Of each edge the edge above it in its tree, -1 at the root; and how many levels lie below it.

    Args:
        forest: All of its trees.

    Returns:
        (edges,) numbers of edges, and (edges,) levels.
    """
    n = 1 + int(max(forest.src.max(initial=0), forest.dst.max(initial=0)))
    into = np.full((int(forest.unit.max(initial=0)) + 1) * n, -1, np.int64)
    into[forest.unit * n + forest.dst] = np.arange(len(forest.dst))
    parent = into[forest.unit * n + forest.src]
    tail = np.zeros(len(parent), np.int64)
    for depth in range(forest.height, 1, -1):
        at_depth = np.flatnonzero(forest.depth == depth)
        np.maximum.at(tail, parent[at_depth], tail[at_depth] + 1)
    return parent, tail


def order_by_lane(forest: Forest, pieces: int, share: float, lanes: int) -> Iterator[Step]:
    """The same transfers as `pipelined.pipeline_trees`, those of a pair one after another on each of its lanes.

    Args:
        forest: the trees.
        pieces: into which the share of each tree is cut.
        share: bytes of each unit of demand.
        lanes: at most so many for each pair.
    """
    parent, tail = find_parents(forest)
    below = np.flatnonzero(parent >= 0)
    step, channel = run_lanes(forest, (parent[below], below), tail, pieces, share, lanes)
    yield from build_steps(forest, pieces, step, channel)


def run_lanes(
    forest: Forest, waiting: tuple[Longs, Longs], tail: Longs, pieces: int, share: float, lanes: int
) -> tuple[Longs, Longs]:
    """When each edge carries each piece, and on which channel: each lane of a pair has one of its own.

    Args:
        forest: the edges; a pair is their src and dst.
        waiting: edge `waiting[1][i]` carries a piece only after edge `waiting[0][i]` has.
        tail: (edges,) levels that still follow.
        pieces: into which the share of each tree is cut.
        share: bytes of each unit of demand.
        lanes: at most so many for each pair.

    Returns:
        (edges, pieces) steps, and (edges * pieces,) channels.
    """
    before, after = waiting
    edges = len(tail)
    following = after[np.argsort(before, kind="stable")].astype(np.int64)
    begin = np.concatenate([[0], np.cumsum(np.bincount(before, minlength=edges))]).astype(np.int64)
    waits = np.bincount(after, minlength=edges).astype(np.int64)
    table = np.zeros((edges, pieces, 2), np.int64)
    order = following, begin, waits, _AHEAD * tail
    _run_clock(_sort_edges(forest), order, _assign_lanes(forest, share / (forest.trees * pieces), lanes), table)
    step, lane = table[..., 0], table[..., 1]
    channel: Longs = color_pairs(*forest.ends)[:, None] * (1 + lane.max(initial=0)) + lane
    return step, channel.ravel()


def _number_pairs(forest: Forest) -> tuple[Longs, Longs]:
    """The pair of each edge, and trees across each pair."""
    width = 1 + int(max(forest.src.max(initial=0), forest.dst.max(initial=0)))
    _, pair_of, load = np.unique(forest.src * width + forest.dst, return_inverse=True, return_counts=True)
    return pair_of.ravel().astype(np.int64), load.astype(np.int64)


def _sort_edges(forest: Forest) -> tuple[Longs, Longs]:
    """The edges of each pair p, `edges[start[p]:start[p + 1]]`."""
    pair_of, load = _number_pairs(forest)
    return np.argsort(pair_of, kind="stable").astype(np.int64), np.concatenate([[0], np.cumsum(load)]).astype(np.int64)


def _assign_lanes(forest: Forest, piece: float, most: int) -> tuple[Longs, Longs, Floats]:
    """Of each lane its pair; the lanes of each pair, `first[p]` to `first[p + 1] - 1`; s of each for a piece of bytes.

    A pair with a link of its own has the more lanes, the faster it is, so that a piece takes all pairs about as long;
    flows that share a link get equal rates, so there the lanes are as the trees.
    """
    pair_of, load = _number_pairs(forest)
    alone = np.zeros(len(load), bool)
    alone[pair_of] = forest.unshared
    number = np.where(alone, np.maximum(load // max(1, int(load.min(initial=1))), 1), load)
    number = np.minimum(number, most)
    pair = np.repeat(np.arange(len(load)), number)
    first = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
    return pair, first, (number / load)[pair] * piece / forest.rate + forest.alpha


def has_rounds(forest: Forest) -> bool:
    """Are there three nodes or more, and two ranks or more in one of them?"""
    nodes = 1 + int(forest.node.max())
    return 3 <= nodes < len(forest.node)


def schedule_rounds(forest: Forest, pieces: int) -> Iterator[Step]:
    """The same transfers as `pipelined.pipeline_trees`; what leaves a group is on channel 0, one after another.

    Args:
        forest: Of several nodes.
        pieces: Into which each tree's data is cut.
    """
    first_step = _find_first_steps(forest, pieces)
    between = forest.node[forest.src] != forest.node[forest.dst]
    channel = np.where(between, 0, 1 + color_pairs(*forest.ends))
    yield from build_steps(forest, pieces, first_step[:, None] + np.arange(pieces), np.repeat(channel, pieces))


def _find_first_steps(forest: Forest, pieces: int) -> Longs:
    """(edges,) the step in which each edge carries its first piece, after the edge above it and in its round."""
    nodes = 1 + int(forest.node.max())
    round_of = (forest.node[forest.dst] - forest.node[forest.src]) % nodes
    position = np.maximum(_number_edges(round_of, forest.src), _number_edges(round_of, forest.dst))
    length = np.zeros(nodes, np.int64)
    np.maximum.at(length, round_of, 1 + position)
    length[0] = 0  # inside a node nobody waits for a round
    due = (np.cumsum(length) - length)[round_of] + position
    parent, _ = find_parents(forest)
    begin = np.zeros(len(round_of), np.int64)
    for depth in range(1, forest.height + 1):
        at_depth = np.flatnonzero(forest.depth == depth)
        after_parent = np.where(parent[at_depth] >= 0, begin[parent[at_depth]] + 1, 0)
        begin[at_depth] = np.where(
            round_of[at_depth] > 0, np.maximum(after_parent, due[at_depth] * pieces), after_parent
        )
    return begin


def _number_edges(round_of: Longs, rank: Longs) -> Longs:
    """(edges,) how many edges of the same round and rank come before each."""
    key = round_of * (1 + int(rank.max(initial=0))) + rank
    order = np.argsort(key, kind="stable")
    position = np.empty(len(key), np.int64)
    position[order] = np.arange(len(key)) - np.searchsorted(key[order], key[order])
    return position
