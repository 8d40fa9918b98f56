"""From trees to steps: every tree's share is cut into pieces that follow one another down the tree.

In step t an edge whose far end is at depth d carries piece t - d + 1, so that in the long middle every edge of every
tree is busy and each link carries what it can. Pairs of ranks that share an endpoint have channels of their own: a
piece waits for the piece before it on its own pair alone. (More channels per pair would let later pieces take
bandwidth from
earlier ones, which fair sharing punishes: measured up to twice the time.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..steps import Step
from .packing import Tree
from .rates import Pairs, group_of

Longs = npt.NDArray[np.int64]
_NEAR = 1.002


@dataclass(frozen=True, eq=False)
class Forest:
    """All trees of a plan, an entry per edge and tree.

    Attributes:
        src, dst, depth: of each edge. unit: the tree it belongs to, `share * trees + j` for tree j of a share.
        trees: trees per share. rate: B/s of each tree. alpha: s, of the slowest route.
        height: edges on the longest way. reverse: data run from the leaves to the root and are reduced.
        alone: does the pair of each edge share no link with another pair? group: ranks of a node; 1 where nothing
            tells nodes apart.
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
    alone: npt.NDArray[np.bool_]
    group: int

    @property
    def ends(self) -> tuple[Longs, Longs]:
        """Of each edge the rank that sends and the one that receives."""
        return (self.dst, self.src) if self.reverse else (self.src, self.dst)


def forest(trees: list[Tree], per_share: int, rate: float, pairs: Pairs, rooted: bool, reverse: bool) -> Forest:
    """The trees numbered: those of one root are its share (`rooted`: there is one share, the whole buffer)."""
    src, dst, depth, unit = [], [], [], []
    used: dict[int, int] = {}
    for tree in sorted(trees, key=lambda t: t.root):
        first = used.get(tree.root, 0)
        used[tree.root] = first + tree.count
        numbers = (0 if rooted else tree.root * per_share) + first + np.arange(tree.count)
        src.append(np.tile(tree.src, tree.count))
        dst.append(np.tile(tree.dst, tree.count))
        depth.append(np.tile(tree.depth, tree.count))
        unit.append(np.repeat(numbers, len(tree.src)))
    height = max((t.height for t in trees), default=0)
    s, d, far, number = (
        np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64) for parts in (src, dst, depth, unit)
    )
    alpha = float(pairs.alpha.max(initial=0.0))
    alone, group = _alone(pairs, s, d), group_of(pairs)
    return Forest(s, d, far, number, per_share, rate, alpha, height, reverse, alone, group)


def _alone(pairs: Pairs, src: Longs, dst: Longs) -> npt.NDArray[np.bool_]:
    """(edges,) does no link of the pair's route lie on the route of another pair that is used?"""
    number = np.full((pairs.ranks, pairs.ranks), -1, np.int64)
    number[pairs.src, pairs.dst] = np.arange(len(pairs))
    used = np.zeros(len(pairs), bool)
    used[number[src, dst]] = True
    crossed = np.bincount(pairs.routes.link[used[pairs.pair_of]], minlength=len(pairs.topology.links))
    most = np.zeros(len(pairs), np.int64)
    np.maximum.at(most, pairs.pair_of, crossed[pairs.routes.link])
    return (most <= 1)[number[src, dst]]  # type: ignore[no-any-return]


def colours(src: Longs, dst: Longs) -> Longs:
    """(edges,) a channel for each pair such that pairs with the same source or destination differ."""
    pair, which = np.unique(src * (1 + int(dst.max(initial=0))) + dst, return_inverse=True)
    width = 1 + int(dst.max(initial=0))
    leaving: dict[int, set[int]] = {}
    entering: dict[int, set[int]] = {}
    chosen = np.zeros(len(pair), np.int64)
    for i, key in enumerate(pair.tolist()):
        a, b = divmod(key, width)
        taken = leaving.setdefault(a, set()) | entering.setdefault(b, set())
        colour = (b - a) % width
        while colour in taken:
            colour += 1
        chosen[i] = colour
        leaving[a].add(colour)
        entering[b].add(colour)
    _, dense = np.unique(chosen, return_inverse=True)
    each: Longs = dense.ravel()[which.ravel()].astype(np.int64)
    return each


def steps(plan: Forest, pieces: int) -> Iterator[Step]:
    """`height + pieces - 1` steps; chunk `unit * pieces + piece`."""
    src, dst = plan.ends
    late = plan.height - plan.depth if plan.reverse else plan.depth - 1
    order = np.argsort(late, kind="stable")
    src, dst, late, unit = (a[order] for a in (src, dst, late, plan.unit))
    channel = colours(src, dst).astype(np.int32)
    until = np.searchsorted(late, np.arange(plan.height + 1))
    for t in range(plan.height + pieces - 1 if len(src) else 0):
        low, high = until[max(0, t - pieces + 1)], until[min(plan.height - 1, t) + 1]
        part = slice(int(low), int(high))
        chunk = (unit[part] * pieces + t - late[part]).astype(np.int32)
        ends = src[part].astype(np.int32), dst[part].astype(np.int32)
        yield Step(*ends, chunk, chunk, np.full(len(chunk), plan.reverse), channel[part])


def in_steps(plan: Forest, pieces: int, step: Longs, channel: Longs) -> Iterator[Step]:
    """The same transfers where each has a step of its own.

    Args:
        step: (edges, pieces) counted from the root, so that a plan in reverse begins with the last. channel: (edges *
        pieces,).
    """
    last = int(step.max(initial=-1))
    late = (last - step if plan.reverse else step).ravel()
    chunk = (plan.unit[:, None] * pieces + np.arange(pieces)).ravel().astype(np.int32)
    sender, receiver = (np.repeat(ends, pieces).astype(np.int32) for ends in plan.ends)
    narrow = channel.astype(np.int32)
    order = np.argsort(late, kind="stable")
    for part in np.split(order, np.cumsum(np.bincount(late, minlength=last + 1))[:-1]):
        reducing = np.full(len(part), plan.reverse)
        yield Step(sender[part], receiver[part], chunk[part], chunk[part], reducing, narrow[part])


def pieces_for(plan: Forest, share: float, most: int) -> int:
    """The fewest pieces that come within `_NEAR` of the least time for `share` bytes of each unit of demand.

    A step takes the bytes of a piece at the tree's rate and a latency; there are height + pieces - 1.
    """
    if share <= 0 or not plan.height:
        return 1
    tried = np.unique(np.rint(np.geomspace(1, most, 200))).astype(np.int64)
    step = share / (plan.trees * tried) / plan.rate + plan.alpha
    total = (tried + plan.height - 1) * step
    return int(tried[np.argmax(total <= total.min() * _NEAR)])
