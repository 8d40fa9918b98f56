"""Alltoall, scatter and gather: every block takes one path of pairs, and no link carries much more than it must.

The blocks of one rank take the shortest paths where a link costs the more, the more it carries already (link prices:
Garg & Könemann 2007; Hoefler, Schneider & Lumsdaine 2009 route InfiniBand networks source by source). In later rounds
each rank chooses again with its own former load taken away. Then a clock runs: a free pair takes of its waiting blocks
the one that has farthest to go (Leighton, Maggs & Rao 1994; Graham 1969). Work grows with the ranks times the pairs,
and with the transfers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..dtypes import Bools, Floats, Longs
from ..maxflow.kernels import compile_kernel
from .pairs.alltoall_rates import Pairs
from .pairs.matching import pop, push

Flags = Bools
Graph = tuple[Longs, Longs, Longs, Longs, Longs, Floats, Flags]
_TREES, _DIRECT_TREES = 16, 4  # paths from which each block chooses; the second where all pairs are direct
_BUSY = 0.95, 0.8, 0.0  # parts of the busiest link's use: links of more have a price in a bound
_SWEEPS = 4  # in which all blocks choose
_STEEPNESS = 2.0, 40.0  # exponents of the price of the busiest link: while trees grow, and when blocks choose
_SLICES = 32  # of the ranks; after each the prices are new


@dataclass(frozen=True, eq=False)
class BlockPaths:
    """The path of each block.

    Attributes:
        begin: (blocks + 1,) the pairs of block b are `pair[begin[b]:begin[b + 1]]`; none where it is at its goal.
        pair: in the order in which a block passes them.
        load: (pairs,) blocks that cross each.
        share: what the busiest link must carry on any paths over these pairs, as a part of what it carries.
    """

    begin: Longs
    pair: Longs
    load: Longs
    share: float


@compile_kernel()
def _grow_tree(source: int, graph: Graph, cost: Floats, parent: Longs, loads: Floats) -> float:
    """Cheapest paths from one rank to all others (Dijkstra 1959); each puts one block on its links.

    Args:
        source: rank.
        graph: start of each rank's pairs; dst and src of each pair; start of each pair's links; links; blocks for each
            rank; whether it passes on what is for others.
        cost: (pairs,) of each.
        parent: (ranks,) written: the last pair of the path to each.
        loads: (links,) blocks on each; kept up to date.

    Returns:
        The cost of all of them together.
    """
    start, dst, src, route, links, blocks, relays = graph
    ranks = len(parent)
    far, is_done, order = np.full(ranks, np.inf), np.zeros(ranks, np.bool_), np.empty(ranks, np.int64)
    reached, heap, size = np.empty(len(cost)), np.empty(len(cost), np.int64), 0
    far[source], parent[source], rank, done = 0.0, -1, source, 0
    while True:
        is_done[rank], order[done] = True, rank
        done += 1
        last = start[rank + 1]
        if rank != source and not relays[rank]:
            last = start[rank]
        for pair in range(start[rank], last):
            reached[pair] = far[rank] + cost[pair]
            if reached[pair] < far[dst[pair]]:
                far[dst[pair]] = reached[pair]
                push(heap, size, pair, reached)
                size += 1
        while size > 0 and is_done[dst[heap[0]]]:
            pop(heap, size, reached)
            size -= 1
        if size == 0:
            break
        pair = pop(heap, size, reached)
        size -= 1
        rank = dst[pair]
        parent[rank] = pair
    below = blocks.copy()
    for i in range(done - 1, 0, -1):
        pair = parent[order[i]]
        below[src[pair]] += below[order[i]]
        loads[links[route[pair] : route[pair + 1]]] += below[order[i]]
    return float((far * blocks).sum())


@compile_kernel()
def grow_trees(sources: Longs, graph: Graph, price: Floats, parents: Longs, loads: Floats) -> float:
    """Grow the cheapest tree from each source.

    Args:
        sources: (sources,) ranks.
        graph: as in `_grow_tree`.
        price: (links,) of each.
        parents: (sources, ranks) last pair of the path to each rank; written.
        loads: (links,) blocks on each; kept up to date.

    Returns:
        The cost of all paths together.
    """
    _, _, _, route, links, _, _ = graph
    cost, total = np.empty(len(route) - 1), 0.0
    for pair in range(len(cost)):
        cost[pair] = price[links[route[pair] : route[pair + 1]]].sum()
    for i in range(len(sources)):
        total += _grow_tree(sources[i], graph, cost, parents[i], loads)
    return total


@compile_kernel()
def _put(sign: int, rank: int, parent: Longs, graph: Graph, loads: Longs) -> None:
    """Put the block of a rank on the path to it, or take it away where the sign is -1."""
    _, _, src, route, links, _, _ = graph
    while parent[rank] >= 0:
        pair = parent[rank]
        loads[links[route[pair] : route[pair + 1]]] += sign
        rank = src[pair]


@compile_kernel()
def _choose_paths(
    blocks: Longs, pieces: int, graph: Graph, bandwidth: Floats, parents: Longs, chosen: Longs, loads: Longs
) -> None:
    """Let blocks choose again, one after another, the cheapest of the paths in all trees of their source.

    Args:
        blocks: (choosing,) numbers of blocks, of all `sources * ranks * pieces`.
        pieces: blocks of a source for each rank.
        graph: as in `_grow_tree`.
        bandwidth: (links,) B/s.
        parents: (trees, sources, ranks) last pair of the path to each rank.
        chosen: (blocks,) tree of each; rewritten.
        loads: (links,) blocks on each; kept up to date.
    """
    _, _, src, route, links, _, _ = graph
    trees, _, ranks = parents.shape
    scale = _STEEPNESS[1] / (loads / bandwidth).max()
    for block in blocks:
        source, goal = block // pieces // ranks, block // pieces % ranks
        best, least = chosen[block], np.inf
        _put(-1, goal, parents[best, source], graph, loads)
        for i in range(trees):
            tree = (chosen[block] + i) % trees  # of equals the present one
            parent, rank, cost = parents[tree, source], goal, 0.0
            while parent[rank] >= 0 and cost < least:
                pair = parent[rank]
                for link in links[route[pair] : route[pair + 1]]:
                    cost += np.exp(scale * loads[link] / bandwidth[link]) / bandwidth[link]
                rank = src[pair]
            if cost < least * (1 - 1e-9):
                best, least = tree, cost
        chosen[block] = best
        _put(1, goal, parents[best, source], graph, loads)


def build_graph(pairs: Pairs, blocks: Floats, relays: Flags) -> tuple[Longs, Longs, Graph]:
    """Pairs as the kernels read them.

    Args:
        pairs: edges of the graph.
        blocks: (ranks,) that each tree carries to each rank.
        relays: (ranks,) whether it passes on what is for others.

    Returns:
        The pairs sorted by source, the links that are used, and the graph with these links numbered from 0.
    """
    by_source = np.argsort(pairs.src, kind="stable").astype(np.int64)
    used, link = np.unique(pairs.routes.link.astype(np.int64), return_inverse=True)
    hops = pairs.routes.hops[by_source]
    route = np.concatenate([[0], np.cumsum(hops)]).astype(np.int64)
    first = pairs.routes.start[:-1][by_source]
    links = link.ravel()[np.arange(route[-1]) + np.repeat(first - route[:-1], hops)].astype(np.int64)
    start = np.searchsorted(pairs.src[by_source], np.arange(pairs.ranks + 1)).astype(np.int64)
    return by_source, used, (start, pairs.dst[by_source], pairs.src[by_source], route, links, blocks, relays)


def find_prices(loads: Floats, bandwidth: Floats) -> Floats:
    """(links,) prices while trees grow.

    Args:
        loads: (links,) blocks on each.
        bandwidth: (links,) B/s.
    """
    use = loads / bandwidth
    prices: Floats = np.exp(_STEEPNESS[0] * use / max(float(use.max()), 1e-300)) / bandwidth
    return prices


def choose_paths(
    pairs: Pairs, sources: Longs, pieces: int, report: Callable[[int, int], None] | None = None
) -> BlockPaths:
    """Choose the paths of blocks from some ranks to all others.

    Args:
        pairs: of ranks that may talk.
        sources: (sources,) ranks that have a block for every rank.
        pieces: into which each block is cut; each takes a path of its own.
        report: called with (parts done, in all); whatever it raises ends the search.

    Returns:
        The paths of source after source, goal after goal and piece after piece.
    """
    n, count = pairs.ranks, len(sources)
    by_source, used, graph = build_graph(pairs, np.ones(n), np.ones(n, bool))
    route, links = graph[3], graph[4]
    hops, bandwidth = np.diff(route), pairs.topology.links.bandwidth[used].astype(np.float64)
    trees = _DIRECT_TREES if len(pairs) == n * (n - 1) else _TREES
    parents, loads = np.full((trees, count, n), -1, np.int64), np.zeros(len(used))
    edges = np.unique(np.linspace(0, count, _SLICES + 1).astype(np.int64)).tolist()
    for tree in range(trees):
        for low, high in pairwise(edges):
            grow_trees(sources[low:high], graph, find_prices(loads, bandwidth), parents[tree, low:high], loads)
        if report is not None:
            report(tree, trees + _SWEEPS)
    blocks = np.arange(count * n * pieces)
    chosen = blocks % trees
    _, pair = _list_paths(parents, chosen.reshape(count, n, pieces), graph[2])
    crossed = np.bincount(pair, minlength=len(pairs))
    whole = np.bincount(links, weights=np.repeat(crossed, hops), minlength=len(used)).astype(np.int64)
    for sweep in range(_SWEEPS):
        order = np.random.default_rng(sweep).permutation(blocks)
        _choose_paths(order, pieces, graph, bandwidth, parents, chosen, whole)
        if report is not None:
            report(trees + sweep, trees + _SWEEPS)
    begin, pair = _list_paths(parents, chosen.reshape(count, n, pieces), graph[2])
    load = np.bincount(by_source[pair], minlength=len(pairs))
    least = _find_least_use(sources, graph, bandwidth, whole / bandwidth)
    return BlockPaths(begin, by_source[pair], load, least * pieces / float((whole / bandwidth).max()))


def _find_least_use(sources: Longs, graph: Graph, bandwidth: Floats, use: Floats) -> float:
    """Blocks over B/s that the busiest link has at the least, with one block from each source to each rank.

    With any prices, what all blocks pay on cheapest paths is no more than all links earn when all are as busy as the
    busiest (weak duality of multicommodity flow: Shahrokhi & Matula 1990).
    """
    least, parents = 0.0, np.empty((len(sources), len(graph[0]) - 1), np.int64)
    relative = use / use.max()
    for price in [
        np.exp(_STEEPNESS[1] * (relative - 1)) / bandwidth,
        *((relative > part) / bandwidth for part in _BUSY),
    ]:
        paid = grow_trees(sources, graph, price, parents, np.zeros(len(bandwidth)))
        least = max(least, paid / float((price * bandwidth).sum()))
    return least


def _list_paths(parents: Longs, chosen: Longs, src: Longs) -> tuple[Longs, Longs]:
    """Where the path of each block begins among all pairs, and the pairs; all blocks go up a level at a time."""
    source, rank, _ = (index.ravel() for index in np.indices(chosen.shape))
    tree, levels = chosen.ravel(), list[Longs]()
    while (last := parents[tree, source, rank]).max(initial=-1) >= 0:
        levels.append(last)
        rank = np.where(last >= 0, src[last], rank)
    # From the source to the goal, as many -1 first as a path is shorter than the longest.
    climbed = np.stack([np.full(len(tree), -1), *levels[::-1]], axis=1)
    is_hop = climbed >= 0
    return np.concatenate([[0], np.cumsum(is_hop.sum(axis=1))]).astype(np.int64), climbed[is_hop]


@compile_kernel()
def _carry(
    begin: Longs, hops: Longs, block_of: Longs, to_go: Floats, seconds: Floats, first: Longs, table: Longs
) -> float:
    """Write rows (pair, block, step) in the order in which blocks set out; the moment when the last has arrived.

    Args:
        begin: (blocks + 1,) as in `BlockPaths`.
        hops: (hops,) pair of each hop.
        block_of: (hops,) block of each hop.
        to_go: (hops,) minus the seconds from there to the goal: the least goes first.
        seconds: (pairs,) s for a block.
        first: (pairs + 1,) where the queue of each pair begins.
        table: (hops, 3) written.
    """
    pairs = len(seconds)
    waiting, number = np.empty(len(hops), np.int64), np.zeros(pairs, np.int64)
    carried, step, free_at = np.full(pairs, -1, np.int64), np.zeros(pairs, np.int64), np.zeros(pairs)
    ready, ends = np.zeros(len(begin) - 1, np.int64), np.empty(pairs, np.int64)
    # An arrival wakes its own pair and at most one more.
    awake, awakes, size, row, now = np.arange(2 * pairs), pairs, 0, 0, 0.0
    for block in range(len(begin) - 1):
        if begin[block] < begin[block + 1]:
            pair = hops[begin[block]]
            push(waiting[first[pair] : first[pair + 1]], number[pair], begin[block], to_go)
            number[pair] += 1
    while True:
        for i in range(awakes):
            pair = awake[i]
            if carried[pair] >= 0 or number[pair] == 0:
                continue
            hop = pop(waiting[first[pair] : first[pair + 1]], number[pair], to_go)
            number[pair] -= 1
            step[pair] = max(step[pair], ready[block_of[hop]]) + 1
            table[row, 0], table[row, 1], table[row, 2] = pair, block_of[hop], step[pair]
            row += 1
            carried[pair], free_at[pair] = hop, now + seconds[pair]
            push(ends, size, pair, free_at)
            size += 1
        if size == 0:
            return now
        now, awakes = free_at[ends[0]], 0
        # Arrivals that differ by rounding are one moment: the order of pairs must not depend on rounding.
        while size > 0 and free_at[ends[0]] <= now * (1 + 1e-12):
            pair = pop(ends, size, free_at)
            size -= 1
            hop = carried[pair]
            carried[pair] = -1
            awake[awakes] = pair
            awakes += 1
            ready[block_of[hop]] = step[pair]
            if hop + 1 < begin[block_of[hop] + 1]:
                onward = hops[hop + 1]
                push(waiting[first[onward] : first[onward + 1]], number[onward], hop + 1, to_go)
                number[onward] += 1
                awake[awakes] = onward
                awakes += 1


def carry_blocks(pairs: Pairs, paths: BlockPaths, rate: Floats, block_bytes: float) -> tuple[Longs, float]:
    """When each block crosses each pair of its path.

    Args:
        pairs: of ranks that may talk.
        paths: of all blocks.
        rate: (pairs,) B/s.
        block_bytes: of each block.

    Returns:
        (hops, 3) pair, block and step in the order of time, and the s at which the last block has arrived.
    """
    used = paths.load > 0
    seconds = np.where(used, pairs.alpha + block_bytes / np.where(used, rate, 1.0), 0.0)
    spent = np.concatenate([[0.0], np.cumsum(seconds[paths.pair])])
    block_of = np.repeat(np.arange(len(paths.begin) - 1), np.diff(paths.begin))
    to_go = spent[:-1] - spent[paths.begin[1:]][block_of]
    first = np.concatenate([[0], np.cumsum(paths.load)]).astype(np.int64)
    table = np.empty((len(paths.pair), 3), np.int64)
    time = _carry(paths.begin, paths.pair, block_of, to_go, seconds, first, table)
    return table, float(time)
