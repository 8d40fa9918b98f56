"""Bandwidth: the schedule that keeps the narrowest cut busy all the time, by packing spanning trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collective import Collective
from ..errors import CollsimError
from ..schedule import Schedule, freeze
from ..steps import Step
from ..topology import Topology
from . import phases
from .ordering import ordered
from .packing import pack
from .pipelined import Forest, forest, pieces_for, steps
from .rates import Pairs, highest, pairs_of, rates
from .turns import taken
from .units import whole

FORESTS = ("allgather", "reduce_scatter", "broadcast", "reduce", "allreduce")
TURNS = -1  # instead of lanes: nodes take turns
#: Per effort: trees per share; what part of the optimum is enough; rows of a schedule.
EFFORT = {"low": (4, 0.97, 100_000), "normal": (16, 0.995, 500_000), "high": (64, 0.9995, 8_000_000)}


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """One or two forests, one after the other (an allreduce is a reduce_scatter and an allgather), and what they reach.

    Attributes:
        shares: the buffer is so many shares, one for each rank that has trees.
        reached, most: B/s per share: what the forests carry; what no cut and no route allows to exceed.
    """

    forests: tuple[Forest, ...]
    shares: int
    reached: float
    most: float

    @property
    def trees(self) -> int:
        """Trees per share that both forests of an allreduce can be cut into."""
        return int(np.lcm.reduce([f.trees for f in self.forests]))

    @property
    def rows(self) -> int:
        """Transfers of a schedule in which the share of each tree is one piece."""
        return sum(len(f.src) * self.trees // f.trees for f in self.forests)


def plan(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    effort: str,
    told: Callable[..., None] | None,
    finer: bool = False,
) -> ForestPlan:
    """The trees of a collective; with `finer` as many as the highest effort has. `told` is called with (trees finished,
    in all, what)."""
    pairs = pairs_of(topology, ranks)
    wanted = {
        "allgather": [False],
        "reduce_scatter": [True],
        "broadcast": [False],
        "reduce": [True],
        "allreduce": [True, False],
    }[kind.name]
    at = root if kind.rooted else None
    found = [_forest(pairs, at, reverse, "high" if finer else effort, told) for reverse in wanted]
    times = sum(1 / reached for _, reached, _ in found), sum(1 / most for _, _, most in found)
    return ForestPlan(tuple(f for f, _, _ in found), 1 if kind.rooted else ranks, 1 / times[0], 1 / times[1])


def _forest(
    pairs: Pairs, root: int | None, reverse: bool, effort: str, told: Callable[..., None] | None
) -> tuple[Forest, float, float]:
    most_trees, enough, _ = EFFORT[effort]
    toward = pairs.reversed if reverse else pairs
    said = phases.REDUCING_TREES if reverse else phases.TREES
    tick = (lambda: told(0, 1, phases.RATES)) if told is not None else None
    rate, value = rates(pairs, root, reverse, tick)
    if value <= 0:
        raise CollsimError("{name}: no rates between its ranks let all of them be reached", name=pairs.topology.name)
    made = whole(toward, rate, value, root, most_trees, enough)
    need = np.zeros(pairs.ranks, np.int64)
    need[slice(None) if root is None else root] = made.trees
    count = (lambda done, total: told(done, total, said)) if told is not None else None
    trees = pack(pairs.ranks, toward.src, toward.dst, made.capacity, need, count)
    return (
        forest(trees, made.trees, made.rate, toward, root is not None, reverse),
        made.trees * made.rate,
        highest(pairs, root, reverse),
    )


def pieces_of(made: ForestPlan, nbytes: int, effort: str) -> int:
    """Into how many pieces the share of each tree is cut so that `nbytes` take least time, as far as rows allow."""
    most = max(1, EFFORT[effort][2] // max(1, made.rows))
    return max(1, *(pieces_for(f, nbytes / made.shares, most) * f.trees // made.trees for f in made.forests))


def scheduled(
    made: ForestPlan,
    kind: Collective,
    ranks: int,
    root: int,
    pieces: int,
    options: dict[str, Any],
    lanes: int = 0,
    nbytes: int = 0,
) -> Schedule:
    """The plan as steps, the share of each tree cut into `pieces`; `lanes` of `ordering` for `nbytes`, or TURNS."""

    def each() -> Iterator[Step]:
        for f in made.forests:
            parts = pieces * made.trees // f.trees
            if lanes == TURNS:
                yield from taken(f, parts)
            else:
                yield from ordered(f, parts, nbytes / made.shares, lanes) if lanes else steps(f, parts)

    chunks, name = made.shares * made.trees * pieces, f"synthesized_{kind.name}"
    block = ranks if kind.blocks else 1
    return freeze(name, kind.name, ranks, each(), chunks=chunks, block=block, root=root, options=options)
