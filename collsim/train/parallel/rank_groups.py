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

RANK_ORDER = "tp-cp-ep-dp-pp"
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class RankGrid:
    """Ranks along tp, cp, dp and pp.

    Attributes:
        ranks: of the topology, in the order in which they are counted.
        tp: ranks along tensor parallelism.
        cp: ranks along context parallelism.
        dp: ranks along data parallelism.
        pp: stages of the pipeline.
        ep: ranks that share experts.
        ep_node: ranks of a node among them, to which tokens go once; 0: tokens go to each expert by themselves.
        order: names of the axes with hyphens between them, the one that varies fastest first.
    """

    ranks: tuple[int, ...]
    tp: int = 1
    cp: int = 1
    dp: int = 1
    pp: int = 1
    ep: int = 1
    order: str = RANK_ORDER
    ep_node: int = 0

    @property
    def _axes(self) -> list[str]:
        return [axis for axis in self.order.split("-") if axis != "ep"]

    @property
    def _cube(self) -> np.ndarray:
        """Ranks with an axis for each way, the slowest first."""
        # The last axis of an array varies fastest, the first name of the order does.
        return np.array(self.ranks).reshape([getattr(self, axis) for axis in reversed(self._axes)])

    def list_groups(self, *axes: str) -> Groups:
        """List the groups of ranks that differ along some axes only.

        Args:
            *axes: Names of the axes: tp, cp, dp, pp.

        Returns:
            The ranks of each group, groups in the order of their first ranks.
        """
        names = list(reversed(self._axes))
        outer = [i for i, axis in enumerate(names) if axis not in axes]
        moved = np.transpose(self._cube, outer + [i for i, axis in enumerate(names) if axis in axes])
        rows = moved.reshape(-1, math.prod(getattr(self, axis) for axis in axes))
        position = {rank: i for i, rank in enumerate(self.ranks)}
        listed = sorted((tuple(map(int, row)) for row in rows), key=lambda row: position[row[0]])
        return tuple(listed)

    @property
    def expert_groups(self) -> Groups:
        """Groups that share experts: blocks of so many ranks of context and data parallelism."""
        e = self.ep
        return tuple(group[i : i + e] for group in self.list_groups("cp", "dp") for i in range(0, len(group), e))

    @property
    def expert_node_groups(self) -> Groups:
        """Of those the ranks of each node."""
        g = self.ep_node or self.ep
        return tuple(group[i : i + g] for group in self.expert_groups for i in range(0, len(group), g))

    @property
    def expert_rail_groups(self) -> Groups:
        """Of those the ranks that have the same local rank in their nodes."""
        g = self.ep_node or self.ep
        return tuple(group[i::g] for group in self.expert_groups for i in range(g))

    @property
    def expert_replica_groups(self) -> Groups:
        """Groups that hold the same experts."""
        e = self.ep
        return tuple(group[i::e] for group in self.list_groups("cp", "dp") for i in range(e))

    @property
    def stage_groups(self) -> Groups:
        """The ranks of each stage of the pipeline."""
        cube = np.moveaxis(self._cube, list(reversed(self._axes)).index("pp"), 0)
        position = {rank: i for i, rank in enumerate(self.ranks)}
        return tuple(tuple(sorted(map(int, stage.ravel()), key=position.__getitem__)) for stage in cube)


class GroupPlacement:
    """Groups of a grid by the stage of the pipeline (lane) that they are on."""

    def __init__(self, grid: RankGrid):
        """Find the lanes of a grid: the stages of its pipeline.

        Args:
            grid: Ranks along the axes of the strategy.
        """
        self.grid, self.lanes = grid, grid.stage_groups
        self._pairs: dict[tuple[int, int], Groups] = {}

    @cached_property
    def lane_by_rank(self) -> dict[int, int]:
        """The lane of each rank."""
        return {rank: lane for lane, ranks in enumerate(self.lanes) for rank in ranks}

    def split_by_lane(self, groups: Groups) -> list[Groups]:
        """Sort groups by the lane that they are on.

        Args:
            groups: Groups, each within one lane.

        Returns:
            Of each lane its groups.
        """
        out: list[list[tuple[int, ...]]] = [[] for _ in self.lanes]
        for group in groups:
            out[self.lane_by_rank[group[0]]].append(group)
        return [tuple(listed) for listed in out]

    @cached_property
    def stream_groups(self) -> dict[str, list[Groups]]:
        """Groups that share layers, sequences and experts, by the name that their collectives give them."""
        grid = self.grid
        groups_by_stream = {
            "tensor": grid.list_groups("tp"),
            "context": grid.list_groups("cp"),
            "expert": grid.expert_groups,
            "expert nodes": grid.expert_node_groups,
            "expert rails": grid.expert_rail_groups,
        }
        return {stream: self.split_by_lane(groups) for stream, groups in groups_by_stream.items()}

    @cached_property
    def dense_groups(self) -> list[Groups]:
        """Groups that hold the same weights."""
        return self.split_by_lane(self.grid.list_groups("cp", "dp"))

    @cached_property
    def routed_groups(self) -> list[Groups]:
        """Groups that hold the same experts."""
        return self.split_by_lane(self.grid.expert_replica_groups)

    @cached_property
    def pipelines(self) -> Groups:
        """The ranks of each pipeline, by stage."""
        return tuple(zip(*self.lanes, strict=True))

    def pair_lanes(self, source: int, target: int) -> Groups:
        """Ranks of two lanes that send to one another."""
        if (source, target) not in self._pairs:
            self._pairs[source, target] = tuple((pipe[source], pipe[target]) for pipe in self.pipelines)
        return self._pairs[source, target]


@lru_cache(maxsize=128)
def get_placement(grid: RankGrid) -> GroupPlacement:
    """The groups of a grid, kept for the next step on it."""
    return GroupPlacement(grid)


def require_order(order: str) -> str:
    """Check an order of ranks.

    Args:
        order: Names of the axes with hyphens between them, the one that varies fastest first.

    Returns:
        The same order.

    Raises:
        CollsimError: It does not name tp, cp, ep, dp and pp once each.
    """
    if not isinstance(order, str) or sorted(order.split("-")) != sorted(RANK_ORDER.split("-")):
        message = "order={order!r} must name tp, cp, ep, dp and pp once each, as {usual!r}"
        raise CollsimError(message, order=order, usual=RANK_ORDER)
    return order
