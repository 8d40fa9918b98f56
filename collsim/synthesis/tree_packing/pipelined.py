"""From trees to steps: every tree's share is cut into pieces that follow one another down the tree.

In step t an edge whose far end is at depth d carries piece t - d + 1, so that in the long middle every edge of every
tree is busy and each link carries what it can. Pairs of ranks that share an endpoint have channels of their own: a
piece waits only for the piece before it on its own pair. (More channels per pair would let later pieces take bandwidth
from earlier ones, which fair sharing punishes: measured up to twice the time.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...dtypes import Bools, Longs
from ...steps import Step
from ..pairs.alltoall_rates import Pairs, find_nodes
from ..pairs.pair_channels import color_pairs
from .packing import Tree

#: Within 0.2 % of the least time: so small a gain is not worth more transfers.
_NEAR = 1.002


@dataclass(frozen=True, eq=False)
class Forest:
    """All trees of a plan, an entry per edge and tree.

    Attributes:
        src: (edges,) where each edge begins, seen from the root.
        dst: (edges,) where it ends.
        depth: (edges,) edges from the root to `dst`.
        unit: (edges,) the tree that each edge belongs to, `share * trees + j` for tree j of a share.
        trees: trees per share.
        rate: B/s of each tree.
        alpha: s, of the slowest route.
        height: edges on the longest path.
        reverse: data run from the leaves to the root and are reduced.
        unshared: (edges,) does the pair of the edge share no link with another pair?
        node: (ranks,) the node of each rank.
    """

    src: Longs
    dst: Longs
    depth: Longs
    unit: Longs
    trees: int
    rate: float
    alpha: float
    height: int
    reverse: bool
    unshared: Bools
    node: Longs

    @property
    def ends(self) -> tuple[Longs, Longs]:
        """Of each edge the rank that sends and the one that receives."""
        if self.reverse:
            return (self.dst, self.src)
        return (self.src, self.dst)


def build_forest(trees: list[Tree], per_share: int, rate: float, pairs: Pairs, reverse: bool) -> Forest:
    """Number the trees: those of one root are its share.

    Args:
        trees: what was packed.
        per_share: trees of each share.
        rate: B/s of each tree.
        pairs: of ranks.
        reverse: data run from the leaves to the root and are reduced.
    """
    src, dst, depth, unit = [], [], [], []
    begun = 0
    # Trees of one root follow one another, so that their numbers are one range: that root's share.
    for tree in sorted(trees, key=lambda t: t.root):
        numbers = begun + np.arange(tree.count)
        begun += tree.count
        src.append(np.tile(tree.src, tree.count))
        dst.append(np.tile(tree.dst, tree.count))
        depth.append(np.tile(tree.depth, tree.count))
        unit.append(np.repeat(numbers, len(tree.src)))
    height = max((t.height for t in trees), default=0)
    s, d, far, number = (
        np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64) for parts in (src, dst, depth, unit)
    )
    # The largest latency of a pair decides how many pieces pay: a pipeline waits for its slowest hop.
    alpha = float(pairs.alpha.max(initial=0.0))
    unshared, node = _find_unshared(pairs, s, d), find_nodes(pairs)[0]
    return Forest(s, d, far, number, per_share, rate, alpha, height, reverse, unshared, node)


def _find_unshared(pairs: Pairs, src: Longs, dst: Longs) -> Bools:
    """(edges,) does no link of the pair's route lie on the route of another pair that is used?"""
    number = np.full((pairs.ranks, pairs.ranks), -1, np.int64)
    number[pairs.src, pairs.dst] = np.arange(len(pairs))
    used = np.zeros(len(pairs), bool)
    used[number[src, dst]] = True
    # Only pairs that carry something count; a link that two of them cross is shared.
    crossed = np.bincount(pairs.routes.link[used[pairs.pair_of]], minlength=len(pairs.topology.links))
    most = np.zeros(len(pairs), np.int64)
    np.maximum.at(most, pairs.pair_of, crossed[pairs.routes.link])
    return (most <= 1)[number[src, dst]]  # type: ignore[no-any-return]


def pipeline_trees(forest: Forest, pieces: int) -> Iterator[Step]:
    """`height + pieces - 1` steps; chunk `unit * pieces + piece`.

    Args:
        forest: Run backwards where it is `reverse`: contributions go up to the roots.
        pieces: Into which each tree's data is cut.
    """
    if forest.reverse:
        level = forest.height - forest.depth
    else:
        level = forest.depth - 1
    yield from pipeline_levels(forest.ends, level, forest.unit, np.full(len(level), forest.reverse), pieces)


def pipeline_levels(
    ends: tuple[Longs, Longs], level: Longs, unit: Longs, reduces: Bools, pieces: int
) -> Iterator[Step]:
    """In step t an edge carries piece t - level.

    Args:
        ends: (edges,) rank that sends, and rank that receives.
        level: (edges,) step in which an edge carries its first piece.
        unit: (edges,) tree of each.
        reduces: (edges,) does it reduce?
        pieces: into which each tree's data is cut.
    """
    order = np.argsort(level, kind="stable")
    src, dst, level, unit = (a[order] for a in (*ends, level, unit))
    reduces = reduces[order]
    channel, levels = color_pairs(src, dst).astype(np.int32), int(level.max(initial=-1)) + 1
    until = np.searchsorted(level, np.arange(levels + 1))
    for t in range(levels + pieces - 1 if levels else 0):
        # In step t the levels that have a piece under way are those from t - pieces + 1 to t; edges are sorted by
        # level.
        part = slice(int(until[max(0, t - pieces + 1)]), int(until[min(levels - 1, t) + 1]))
        chunk = (unit[part] * pieces + t - level[part]).astype(np.int32)
        yield Step(src[part].astype(np.int32), dst[part].astype(np.int32), chunk, chunk, reduces[part], channel[part])


def build_steps(forest: Forest, pieces: int, step: Longs, channel: Longs) -> Iterator[Step]:
    """The same transfers, each in the step that is given for it.

    Args:
        forest: the trees.
        pieces: into which the share of each tree is cut.
        step: (edges, pieces) counted from the root, so that a forest in reverse begins with the last.
        channel: (edges * pieces,).
    """
    if forest.reverse:
        step = int(step.max(initial=-1)) - step
    yield from place_in_steps(forest.ends, forest.unit, np.full(len(step), forest.reverse), step, channel)


def place_in_steps(
    ends: tuple[Longs, Longs], unit: Longs, reduces: Bools, step: Longs, channel: Longs
) -> Iterator[Step]:
    """Each piece of each edge in the step that is given for it.

    Args:
        ends: (edges,) rank that sends, and rank that receives.
        unit: (edges,) tree of each.
        reduces: (edges,) does it reduce?
        step: (edges, pieces).
        channel: (edges * pieces,).
    """
    pieces, moment = step.shape[1], step.ravel()
    chunk = (unit[:, None] * pieces + np.arange(pieces)).ravel().astype(np.int32)
    sender, receiver = (np.repeat(ranks, pieces).astype(np.int32) for ranks in ends)
    channels, reducing = channel.astype(np.int32), np.repeat(reduces, pieces)
    order = np.argsort(moment, kind="stable")
    for part in np.split(order, np.cumsum(np.bincount(moment))[:-1]):
        yield Step(sender[part], receiver[part], chunk[part], chunk[part], reducing[part], channels[part])


def choose_pieces(forest: Forest, share: float, most: int) -> int:
    """The fewest pieces that come within `_NEAR` of the least time.

    A step takes the bytes of a piece at the tree's rate and a latency; there are height + pieces - 1.

    Args:
        forest: the trees.
        share: bytes of each unit of demand.
        most: pieces.
    """
    if share <= 0 or not forest.height:
        return 1
    counts = np.unique(np.rint(np.geomspace(1, most, 200))).astype(np.int64)
    step = share / (forest.trees * counts) / forest.rate + forest.alpha
    total = (counts + forest.height - 1) * step
    return int(counts[np.argmax(total <= total.min() * _NEAR)])
