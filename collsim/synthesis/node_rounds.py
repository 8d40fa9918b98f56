"""Trees on a machine of many nodes in rounds: in each, a node sends to one other node.

In `pipelined.pipeline_trees` a card carries pieces of all other nodes at the same time, so the last pieces of all of
them arrive at once, and are then spread inside the nodes while the cards are idle. Here, as in a pairwise exchange
(Thakur, Rabenseifner & Gropp 2005), the edges from a node to the k-th node after it belong to round k: a card carries
one piece at a time, the next level follows a step later, and what is left at the end is one piece of one round.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..steps import Step
from .lane_order import find_parents
from .pipelined import Forest, build_steps, color_pairs

Longs = npt.NDArray[np.int64]


def has_rounds(forest: Forest) -> bool:
    """Are there three groups or more, of two ranks or more?"""
    ranks = 1 + int(max(forest.src.max(initial=0), forest.dst.max(initial=0)))
    return forest.group > 1 and ranks >= 3 * forest.group


def schedule_rounds(forest: Forest, pieces: int) -> Iterator[Step]:
    """The same transfers as `pipelined.pipeline_trees`; what leaves a group is on channel 0, one after another.

    Args:
        forest: With `group` ranks in a node.
        pieces: Into which each tree's data is cut.
    """
    first_step = _find_first_steps(forest, pieces)
    between = forest.src // forest.group != forest.dst // forest.group
    channel = np.where(between, 0, 1 + color_pairs(*forest.ends))
    yield from build_steps(forest, pieces, first_step[:, None] + np.arange(pieces), np.repeat(channel, pieces))


def _find_first_steps(forest: Forest, pieces: int) -> Longs:
    """(edges,) the step in which each edge carries its first piece, after the edge above it and in its round."""
    groups = (1 + int(max(forest.src.max(initial=0), forest.dst.max(initial=0)))) // forest.group
    round_of = (forest.dst // forest.group - forest.src // forest.group) % groups
    position = np.maximum(_number_edges(round_of, forest.src), _number_edges(round_of, forest.dst))
    length = np.zeros(groups, np.int64)
    np.maximum.at(length, round_of, 1 + position)
    length[0] = 0  # inside a group nobody waits for a round
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
