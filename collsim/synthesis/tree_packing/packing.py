"""Packing spanning trees: a number of out-trees from every root, which share the capacity of the pairs.

A set of trees that is only begun (batches: `count` equal trees that span `inside` so far) can be finished if and only
if into every set X of ranks there is capacity for all trees that have not touched it yet (Bérczi & Frank 2010, theorem
1.2; Edmonds 1973 for trees not begun). A batch grows by an edge from x inside to y outside; how many of its trees may
take it is one maximum flow from x to y, in a graph where x also feeds every other batch (ForestColl, arXiv 2402.06787,
section 5.4; Schrijver 2003, section 53.3). Edges near the root are tried first, so that trees stay shallow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...dtypes import Longs
from ...errors import CollsimError
from ...maxflow import build_arcs, max_flow

MAX_RANKS_IN_ONE_GRAPH = 40  # ranks whose trees are grown side by side, in a graph with a node for each


@dataclass(frozen=True, eq=False)
class Tree:
    """Equal trees from one root.

    Attributes:
        root: where they begin.
        count: how many.
        src: (edges,) where each edge begins, in an order in which every src was reached before.
        dst: (edges,) where each edge ends.
        depth: (edges,) edges from the root to `dst`.
    """

    root: int
    count: int
    src: Longs
    dst: Longs
    depth: Longs

    @property
    def height(self) -> int:
        """Edges on the longest way from the root."""
        return int(self.depth.max(initial=0))


@dataclass
class Batch:
    """Equal trees that are being grown.

    Attributes:
        root: where they begin.
        count: how many.
        depth: (ranks,) of each rank inside; -1 outside.
        edges: so far.
        inside: ranks that they span so far.
    """

    root: int
    count: int
    depth: Longs
    edges: list[tuple[int, int]] = field(default_factory=list)
    inside: list[int] = field(default_factory=list)

    def split(self, count: int) -> Batch:
        """Take `count` trees; the rest stay as another batch."""
        rest = Batch(self.root, self.count - count, self.depth.copy(), [*self.edges], [*self.inside])
        self.count = count
        return rest

    def finish(self) -> Tree:
        src, dst = (np.array([e[i] for e in self.edges], np.int64) for i in (0, 1))
        return Tree(self.root, self.count, src, dst, self.depth[dst])


def pack(
    ranks: int, src: Longs, dst: Longs, capacity: Longs, need: Longs, report: Callable[[int, int], None] | None = None
) -> list[Tree]:
    """Spanning trees from each rank that share the capacity of the edges.

    Args:
        ranks: of the graph.
        src: (edges,) where each begins.
        dst: (edges,) where each ends.
        capacity: (edges,) trees that may use each.
        need: (ranks,) trees from each.
        report: called with (trees finished, in all); whatever it raises ends the packing.

    Raises:
        CollsimError: where they do not exist.
    """
    grower = _Grower(ranks, src, dst, capacity)
    waiting = [_begin_batch(ranks, int(root), int(need[root])) for root in np.flatnonzero(need)]
    total, done, trees = int(need.sum()), 0, []
    if ranks <= MAX_RANKS_IN_ONE_GRAPH:
        grower.grow_together(waiting, (lambda: report(0, total)) if report is not None else None)
    while waiting:
        batch = waiting.pop()
        waiting += grower.grow(batch, waiting)
        done += batch.count
        trees.append(batch.finish())
        if report is not None:
            report(done, total)
    return trees


def _begin_batch(ranks: int, root: int, count: int) -> Batch:
    depth = np.full(ranks, -1, np.int64)
    depth[root] = 0
    return Batch(root, count, depth, inside=[root])


class _Grower:
    """Which edges the trees of a batch may take, so that all other trees can still be finished.

    `src`, `dst` and `residual` (how many trees may still take it) have an entry per edge, `graph` the same capacities
    as arcs of a flow.
    """

    def __init__(self, ranks: int, src: Longs, dst: Longs, capacity: Longs):
        self.ranks = ranks
        keep = (capacity > 0) & (src != dst)
        self.src, self.dst, self.residual = src[keep], dst[keep], capacity[keep].copy()
        self.outgoing = [np.flatnonzero(self.src == r) for r in range(ranks)]

    def grow_together(self, batches: list[Batch], report: Callable[[], None] | None) -> None:
        """Grow all batches a level at a time, by edges that all their trees may take, so that none is left with the
        long ways; what is missing then is for `grow`."""
        self.prepare(batches, growing=True)
        scanned = [0] * len(batches)
        for level in range(self.ranks):
            # Another batch is first at each level; the first would else take all short ways.
            for number in np.roll(np.arange(len(batches)), -level).tolist():
                batch = batches[number]
                while scanned[number] < len(batch.inside) and batch.depth[batch.inside[scanned[number]]] <= level:
                    self.grow_trees(batch, batch.inside[scanned[number]], number)
                    scanned[number] += 1
                if report is not None:
                    report()

    def grow(self, batch: Batch, waiting: list[Batch]) -> list[Batch]:
        """Grow a batch until it spans all ranks, breadth first; what had to be split off it."""
        rests: list[Batch] = []
        self.prepare(waiting)
        scanned, partly_allowed = 0, list[int]()
        while len(batch.inside) < self.ranks:
            if scanned < len(batch.inside):
                partly_allowed += self.grow_trees(batch, batch.inside[scanned])
                scanned += 1
                continue
            # No edge is left that all trees of the batch may take. The batch is split only here, as late as possible:
            # trees that stay together are one schedule row with more chunks.
            edge, count = self.find_widest(batch, partly_allowed)
            rests.append(batch.split(count))
            self.prepare([*waiting, *rests])
            self.take(batch, edge)
            partly_allowed = self.retry(batch, partly_allowed)
        return rests

    def grow_trees(self, batch: Batch, x: int, number: int | None = None) -> list[int]:
        """Take all edges out of one rank that all trees of the batch may take; those that only some may take."""
        edges = self.outgoing[x]
        edges = edges[(self.residual[edges] > 0) & (batch.depth[self.dst[edges]] < 0)]
        partly_allowed = []
        for edge in edges[np.argsort(-self.residual[edges], kind="stable")].tolist():
            count = self.count_allowed(edge, batch.count, number)
            if count == batch.count:
                self.take(batch, edge, number)
            elif count:
                partly_allowed.append(edge)
        return partly_allowed

    def find_widest(self, batch: Batch, edges: list[int]) -> tuple[int, int]:
        """The edge that most trees of the batch may take, and how many."""
        outside = [e for e in edges if batch.depth[self.dst[e]] < 0]
        counts = [self.count_allowed(e, batch.count) for e in outside]
        if not any(counts):
            message = "no {count} spanning trees from rank {root} are left to pack"
            raise CollsimError(message, count=batch.count, root=batch.root)
        best = int(np.argmax(counts))
        return outside[best], counts[best]

    def retry(self, batch: Batch, edges: list[int]) -> list[int]:
        """Once the batch is smaller: take those edges that all of it may take now; the rest."""
        partly_allowed = []
        for edge in edges:
            if batch.depth[self.dst[edge]] >= 0:
                continue
            count = self.count_allowed(edge, batch.count)
            if count == batch.count:
                self.take(batch, edge)
            elif count:  # what none may take now none may take later
                partly_allowed.append(edge)
        return partly_allowed

    def take(self, batch: Batch, edge: int, number: int | None = None) -> None:
        """All trees of the batch take an edge; `number` is that of the batch among those that `prepare` got."""
        x, y = int(self.src[edge]), int(self.dst[edge])
        # The graph follows what is left, so that flows on it need not be built anew after every edge.
        self.residual[edge] -= batch.count
        self.graph.capacity[self.graph.arc[edge]] -= batch.count
        batch.depth[y] = batch.depth[x] + 1
        batch.edges.append((x, y))
        batch.inside.append(y)
        # From now on the batch feeds this rank, too: a flow may start there as from the root.
        if number is not None:
            self.graph.capacity[self.joins[number][y]] = self.endless

    def prepare(self, batches: list[Batch], growing: bool = False) -> None:
        """The graph of what is left, with a source (node `ranks`) that feeds every rank and every batch.

        Args:
            batches: the trees that are not finished.
            growing: the batches grow in this graph: each may come to feed any rank.
        """
        n = self.ranks
        unbegun = np.zeros(n, np.int64)
        if growing:
            begun = batches
        else:
            # In a graph where trees grow, all batches count as begun; otherwise one of a single rank is fed at its
            # root.
            begun = [b for b in batches if len(b.inside) > 1]
        for b in [] if growing else batches:
            if len(b.inside) == 1:
                unbegun[b.root] += b.count
        self.batches, self.other_trees = begun, sum(b.count for b in batches)
        # More than any flow can be: an arc of this capacity never limits.
        self.endless = self.other_trees + int(self.residual.sum()) + 1
        # A batch may feed the ranks that it has reached; a growing one may come to any.
        reaches = [np.arange(n) if growing else np.array(b.inside) for b in begun]
        src = [self.src, np.full(n, n), *(np.array([n] + [n + 1 + i] * len(to)) for i, to in enumerate(reaches))]
        dst = [self.dst, np.arange(n), *(np.array([n + 1 + i, *to]) for i, to in enumerate(reaches))]
        counts = [
            np.array([b.count, *np.where(b.depth[to] >= 0, self.endless, 0)])
            for b, to in zip(begun, reaches, strict=True)
        ]
        capacity = np.concatenate([self.residual, unbegun, *counts])
        self.graph = build_arcs(n + 1 + len(begun), np.concatenate(src), np.concatenate(dst), capacity)
        self.feed = self.graph.arc[len(self.src) : len(self.src) + n]
        if growing:
            batch_arcs = self.graph.arc[len(self.src) + n :].reshape(len(begun), n + 1)
            self.joins, self.feeds = batch_arcs[:, 1:], batch_arcs[:, 0]

    def count_allowed(self, edge: int, count: int, number: int | None = None) -> int:
        """How many of `count` trees may take an edge so that all others can still be finished."""
        x, y = int(self.src[edge]), int(self.dst[edge])
        demand = min(count, int(self.residual[edge]))
        if demand <= 0:
            return 0
        capacity = self.graph.capacity.copy()
        # The trees of the batch are at x already, so x is fed without end: what more than the others' trees then
        # reaches y came over this edge, for this batch.
        capacity[self.feed[x]] = self.endless
        others = self.other_trees
        if number is not None:
            capacity[self.feeds[number]] = 0
            others -= count
        value, _ = max_flow(self.graph, capacity, self.ranks, y, others + demand)
        return max(0, value - others)
