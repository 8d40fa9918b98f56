"""Which ranks make a group, where GPUs are numbered along several ways of splitting.

Source: Megatron-LM, megatron/core/parallel_state.py, RankGenerator: the first of the order varies fastest; experts cut
the ranks of context and data parallelism together, in blocks of `ep`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import CollsimError

ORDER = "tp-cp-ep-dp-pp"
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Grid:
    """Ranks along tp, cp, dp and pp.

    Attributes:
        ranks: of the topology, in the order in which they are counted. sizes: of tp, cp, dp and pp. expert: ranks that
            share experts. order: which way varies fastest.
    """

    ranks: tuple[int, ...]
    sizes: Mapping[str, int]
    expert: int = 1
    order: str = ORDER

    @property
    def _ways(self) -> list[str]:
        return [way for way in self.order.split("-") if way != "ep"]

    @property
    def _cube(self) -> np.ndarray:
        """Ranks with an axis for each way, the slowest first."""
        return np.array(self.ranks).reshape([self.sizes[way] for way in reversed(self._ways)])

    def along(self, *ways: str) -> Groups:
        """Groups of ranks that differ in these ways only, in the order of their first ranks."""
        names = list(reversed(self._ways))
        kept = [i for i, way in enumerate(names) if way not in ways]
        moved = np.transpose(self._cube, kept + [i for i, way in enumerate(names) if way in ways])
        rows = moved.reshape(-1, int(np.prod([self.sizes[way] for way in ways])))
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


def require_order(order: str) -> str:
    """An order that names tp, cp, ep, dp and pp once each. Raises CollsimError."""
    if not isinstance(order, str) or sorted(order.split("-")) != sorted(ORDER.split("-")):
        raise CollsimError(f"order={order!r} must name tp, cp, ep, dp and pp once each, as {ORDER!r}")
    return order
