"""Which ranks make a group, where GPUs are numbered along several ways of splitting.

Source: Megatron-LM, megatron/core/parallel_state.py, RankGenerator: the first of the order varies fastest; experts cut
the ranks of context and data parallelism together, in blocks of `ep`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...errors import CollsimError

ORDER = "tp-cp-ep-dp-pp"
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Grid:
    """Ranks along tp, cp, dp and pp.

    Attributes:
        ranks: of the topology, in the order in which they are counted. tp, cp, dp, pp: how many along each way.
            expert: ranks that share experts. order: which way varies fastest.
    """

    ranks: tuple[int, ...]
    tp: int = 1
    cp: int = 1
    dp: int = 1
    pp: int = 1
    expert: int = 1
    order: str = ORDER

    @property
    def _ways(self) -> list[str]:
        return [way for way in self.order.split("-") if way != "ep"]

    @property
    def _cube(self) -> np.ndarray:
        """Ranks with an axis for each way, the slowest first."""
        return np.array(self.ranks).reshape([getattr(self, way) for way in reversed(self._ways)])

    def along(self, *ways: str) -> Groups:
        """Groups of ranks that differ in these ways only, in the order of their first ranks."""
        names = list(reversed(self._ways))
        kept = [i for i, way in enumerate(names) if way not in ways]
        moved = np.transpose(self._cube, kept + [i for i, way in enumerate(names) if way in ways])
        rows = moved.reshape(-1, math.prod(getattr(self, way) for way in ways))
        position = {rank: i for i, rank in enumerate(self.ranks)}
        listed = sorted((tuple(map(int, row)) for row in rows), key=lambda row: position[row[0]])
        return tuple(listed)

    @property
    def experts(self) -> Groups:
        """Groups that share experts: blocks of so many ranks of context and data parallelism."""
        e = self.expert
        return tuple(group[i : i + e] for group in self.along("cp", "dp") for i in range(0, len(group), e))

    @property
    def twins(self) -> Groups:
        """Groups that hold the same experts."""
        e = self.expert
        return tuple(group[i::e] for group in self.along("cp", "dp") for i in range(e))

    @property
    def stages(self) -> Groups:
        """The ranks of each stage of the pipeline."""
        cube = np.moveaxis(self._cube, list(reversed(self._ways)).index("pp"), 0)
        position = {rank: i for i, rank in enumerate(self.ranks)}
        return tuple(tuple(sorted(map(int, stage.ravel()), key=position.__getitem__)) for stage in cube)


class Placed:
    """Groups of a grid by the stage of the pipeline (lane) that they are on."""

    def __init__(self, grid: Grid):
        self.grid, self.lanes = grid, grid.stages
        self._pairs: dict[tuple[int, int], Groups] = {}

    @cached_property
    def lane_of(self) -> dict[int, int]:
        """The lane of each rank."""
        return {rank: lane for lane, ranks in enumerate(self.lanes) for rank in ranks}

    def on_lanes(self, groups: Groups) -> list[Groups]:
        """Groups of each lane."""
        out: list[list[tuple[int, ...]]] = [[] for _ in self.lanes]
        for group in groups:
            out[self.lane_of[group[0]]].append(group)
        return [tuple(listed) for listed in out]

    @cached_property
    def streams(self) -> dict[str, list[Groups]]:
        """Groups that share layers, sequences and experts, by the stream of their collectives."""
        grid = self.grid
        found = {"tensor": grid.along("tp"), "context": grid.along("cp"), "expert": grid.experts}
        return {stream: self.on_lanes(groups) for stream, groups in found.items()}

    @cached_property
    def dense(self) -> list[Groups]:
        """Groups that hold the same weights."""
        return self.on_lanes(self.grid.along("cp", "dp"))

    @cached_property
    def routed(self) -> list[Groups]:
        """Groups that hold the same experts."""
        return self.on_lanes(self.grid.twins)

    @cached_property
    def pipes(self) -> Groups:
        """The ranks of each pipeline, by stage."""
        return tuple(zip(*self.lanes, strict=True))

    def pairs(self, source: int, target: int) -> Groups:
        """Ranks of two lanes that send to one another."""
        if (source, target) not in self._pairs:
            self._pairs[source, target] = tuple((pipe[source], pipe[target]) for pipe in self.pipes)
        return self._pairs[source, target]


@lru_cache(maxsize=128)
def placed(grid: Grid) -> Placed:
    """The groups of a grid, kept for the next step on it."""
    return Placed(grid)


def require_order(order: str) -> str:
    """An order that names tp, cp, ep, dp and pp once each. Raises CollsimError."""
    if not isinstance(order, str) or sorted(order.split("-")) != sorted(ORDER.split("-")):
        why = "order={order!r} must name tp, cp, ep, dp and pp once each, as {usual!r}"
        raise CollsimError(why, order=order, usual=ORDER)
    return order
