"""After a link has failed: trees that avoid it stay, those that crossed it grow other branches.

A branch that hung on a lost pair is taken off and grows again, rank by rank, over the pair whose links cost least,
where a link costs the more, the more trees cross it (Garg & Könemann 2007). Then branches on the busiest link are
regrown as long as that relieves it. Packing starts anew with all trees; here a few of them move.
"""

from __future__ import annotations

import numpy as np

from ...bounds.cuts import find_worst_cut
from ...dtypes import Bools, Floats
from ..pairs.alltoall_rates import Pairs, find_highest_rate
from .forests import ForestPlan
from .packing import Tree
from .pipelined import Forest, build_forest

_STEEPNESS = 30.0  # exponent of the price of the busiest link
_PARTS, _TREES = 16, 60  # trees of a share, and trees, at the least: a tree is cut so that a part of it can move
_TRIES = 24  # branches on the busiest links that are tried without relief before the search ends


def mend_plan(plan: ForestPlan, pairs: Pairs, root: int | None) -> tuple[ForestPlan, float]:
    """The same plan on a network that has lost links.

    Args:
        plan: of the network before.
        pairs: of the network that is left, with as many ranks.
        root: trees grow at this rank only; None for all ranks.

    Returns:
        The plan, and the part of the branches that are as they were.
    """
    # The two halves of an allreduce run in one pass: what one leaves of a link, the other takes.
    in_one_pass = len(plan.forests) > 1
    parts = plan.trees
    if not plan.in_one_pass:
        parts = max(_PARTS, -(-_TREES // plan.shares))
    factor = -(-parts // plan.trees)
    loads = np.zeros(len(pairs.topology.links))
    groves = [_Grove(f, pairs, factor * plan.trees // f.trees, loads) for f in plan.forests]
    for grove in groves:
        grove.regrow_lost()
    _relieve(groves)
    rate = float(1 / groves[0].use.max())
    kept_share = sum(grove.count_kept() for grove in groves) / sum(grove.edges for grove in groves)
    if in_one_pass:
        trees = len(groves[0].above)
        flow, _ = find_worst_cut("flow", pairs.topology, pairs.ranks)
        shares, most = 1, 1 / flow
    else:
        trees, shares = groves[0].trees, plan.shares
        most = find_highest_rate(pairs, root, plan.forests[0].reverse)
    forests = tuple(grove.build(trees, rate) for grove in groves)
    return ForestPlan(forests, shares, rate * trees, most, in_one_pass), kept_share


def _relieve(groves: list[_Grove]) -> None:
    """Regrow branches on the busiest links as long as that relieves them."""
    pairs, loads, random = groves[0].pairs, groves[0].loads, np.random.default_rng(0)
    ranks, failures = np.arange(pairs.ranks), 0
    while failures < _TRIES:
        use = groves[0].use
        most = float(use.max())
        before = float(np.exp(_STEEPNESS * (use / most - 1)).sum())
        on_busiest = pairs.pair_of[(use >= most * (1 - 1e-9))[pairs.routes.link]]
        grove = groves[int(random.integers(len(groves)))]
        branches = np.argwhere(np.isin(grove.number[grove.above, ranks], on_busiest) & (grove.above >= 0))
        failures += 1
        if not len(branches):
            continue
        tree, rank = branches[random.integers(len(branches))].tolist()
        parents, loads_before = grove.above[tree].copy(), loads.copy()
        grove.regrow(tree, grove.find_branch(tree, rank))
        if float(np.exp(_STEEPNESS * (groves[0].use / most - 1)).sum()) < before * (1 - 1e-6):
            failures = 0
        else:
            grove.above[tree] = parents
            loads[:] = loads_before


class _Grove:
    """The trees of a forest as a table of parents, and what they load.

    Attributes:
        above: (trees, ranks) the rank above each in its tree; -1 at the root.
        loads: (links,) trees that cross each; shared by the forests that run at the same time.
    """

    def __init__(self, forest: Forest, pairs: Pairs, factor: int, loads: Floats):
        self.forest, self.trees = forest, forest.trees * factor
        self.pairs = pairs
        if forest.reverse:
            self.pairs = pairs.reversed
        n = pairs.ranks
        above = np.full((int(forest.unit.max(initial=-1)) + 1, n), -1, np.int64)
        above[forest.unit, forest.dst] = forest.src
        self.above = np.repeat(above, factor, axis=0)
        self.before = self.above.copy()
        self.number = np.full((n, n), -1, np.int64)
        self.number[self.pairs.src, self.pairs.dst] = np.arange(len(pairs))
        self.loads, self.bandwidth = loads, pairs.topology.links.bandwidth
        self.edges = int((self.above >= 0).sum())
        for tree, rank in np.argwhere(self.above >= 0).tolist():
            self.put(self.number[self.above[tree, rank], rank], 1)

    @property
    def use(self) -> Floats:
        """(links,) seconds that each needs for one byte of every tree."""
        return self.loads / self.bandwidth

    def put(self, pair: int, count: int) -> None:
        """Put trees on the links of a pair; nothing for a pair that was lost."""
        if pair >= 0:
            routes = self.pairs.routes
            self.loads[routes.link[routes.start[pair] : routes.start[pair + 1]]] += count

    def count_kept(self) -> int:
        """Edges that are as they were."""
        return int(((self.above == self.before) & (self.above >= 0)).sum())

    def find_branch(self, tree: int, rank: int) -> Bools:
        """(ranks,) the rank and all below it."""
        branch = np.arange(self.pairs.ranks) == rank
        while True:
            grown = branch | (branch[self.above[tree]] & (self.above[tree] >= 0))
            if np.array_equal(grown, branch):
                return np.asarray(grown)
            branch = grown

    def regrow_lost(self) -> None:
        """Regrow what hung on pairs that were lost."""
        n = self.pairs.ranks
        lost = (self.above >= 0) & (self.number[self.above, np.arange(n)] < 0)
        for tree in np.flatnonzero(lost.any(axis=1)).tolist():
            branch = np.zeros(n, bool)
            for rank in np.flatnonzero(lost[tree]).tolist():
                branch |= self.find_branch(tree, rank)
            self.regrow(tree, branch)

    def regrow(self, tree: int, branch: Bools) -> None:
        """Take the ranks of a branch off their tree and attach them again, one after another, where it costs least."""
        parents = self.above[tree]
        for rank in np.flatnonzero(branch).tolist():
            self.put(self.number[parents[rank], rank], -1)
        outside, src, dst = branch.copy(), self.pairs.src, self.pairs.dst
        while outside.any():
            use = self.use
            price = np.exp(_STEEPNESS * (use / max(float(use.max()), 1e-300) - 1)) / self.bandwidth
            cost = np.bincount(self.pairs.pair_of, weights=price[self.pairs.routes.link], minlength=len(src))
            best = int(np.argmin(np.where(~outside[src] & outside[dst], cost, np.inf)))
            parents[dst[best]], outside[dst[best]] = src[best], False
            self.put(best, 1)

    def build(self, per_share: int, rate: float) -> Forest:
        """The forest with its trees at a rate."""
        trees = []
        for parents in self.above:
            depth = np.where(parents < 0, 0, -1)
            while (depth < 0).any():
                reached = (depth < 0) & (depth[parents] >= 0)
                depth[reached] = depth[parents[reached]] + 1
            order = np.argsort(depth, kind="stable")[1:]
            trees.append(Tree(int(np.argmin(depth)), 1, parents[order], order, depth[order]))
        return build_forest(trees, per_share, rate, self.pairs, self.forest.reverse)
