"""Groups of ranks take turns: trees on a machine of many nodes, a pair of nodes at a time.

In `pipelined.steps` a card carries pieces of all other nodes side by side, so the last pieces of all of them arrive at
once, and are then spread inside the nodes while the cards have nothing to do. Here, as in a pairwise exchange (Thakur,
Rabenseifner & Gropp 2005), edges from a group to the group k places on have their turn after those to the group k - 1
places on: a card carries one piece at a time, the next level follows a step later, and what is left at the end is one
piece of one turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..steps import Step
from .ordering import above
from .pipelined import Forest, colours, in_steps

Longs = npt.NDArray[np.int64]


def able(plan: Forest) -> bool:
    """Are there three groups or more, of two ranks or more?"""
    ranks = 1 + int(max(plan.src.max(initial=0), plan.dst.max(initial=0)))
    return plan.group > 1 and ranks >= 3 * plan.group


def taken(plan: Forest, pieces: int) -> Iterator[Step]:
    """The same transfers as `pipelined.steps`; what leaves a group is on channel 0, one after another."""
    first = _begin(plan, pieces)
    far = plan.src // plan.group != plan.dst // plan.group
    channel = np.where(far, 0, 1 + colours(*plan.ends))
    yield from in_steps(plan, pieces, first[:, None] + np.arange(pieces), np.repeat(channel, pieces))


def _begin(plan: Forest, pieces: int) -> Longs:
    """(edges,) the step in which each edge carries its first piece, after the edge above it and in its turn."""
    groups = (1 + int(max(plan.src.max(initial=0), plan.dst.max(initial=0)))) // plan.group
    turn = (plan.dst // plan.group - plan.src // plan.group) % groups
    place = np.maximum(_numbered(turn, plan.src), _numbered(turn, plan.dst))
    length = np.zeros(groups, np.int64)
    np.maximum.at(length, turn, 1 + place)
    length[0] = 0  # inside a group nobody waits for a turn
    due = (np.cumsum(length) - length)[turn] + place
    parent, _ = above(plan)
    begin = np.zeros(len(turn), np.int64)
    for depth in range(1, plan.height + 1):
        here = np.flatnonzero(plan.depth == depth)
        there = np.where(parent[here] >= 0, begin[parent[here]] + 1, 0)
        begin[here] = np.where(turn[here] > 0, np.maximum(there, due[here] * pieces), there)
    return begin


def _numbered(turn: Longs, rank: Longs) -> Longs:
    """(edges,) how many edges of the same turn and rank come before each."""
    key = turn * (1 + int(rank.max(initial=0))) + rank
    order = np.argsort(key, kind="stable")
    place = np.empty(len(key), np.int64)
    place[order] = np.arange(len(key)) - np.searchsorted(key[order], key[order])
    return place
