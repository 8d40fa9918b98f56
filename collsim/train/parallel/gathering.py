"""Fully sharded data parallelism in a step: blocks are gathered before they compute, and given back behind.

Source: torch 2.13, torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py. Gathers have a stream of their own; the
next block's is issued while this one computes, and no earlier than the one before has been copied out, so that at most
two are under way. Of reduce-scatters one input is kept: gradients of a block are copied in when the one before is
done. What is no block is the root: gathered first, it stays until its backward pass has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...dtypes import find_itemsize
from ..workload.step_graph import NETWORK
from .placement import Groups
from .replicas import Replicas
from .sharding import FSDP
from .units import Unit

if TYPE_CHECKING:
    from .writing import SplitWriting

ROOT = -1


class Gathered(Replicas):
    """FSDP's collectives and memory. A block is known by the number of its first layer, the root of a lane as ROOT."""

    def __init__(self, writing: SplitWriting, data: FSDP):
        super().__init__(writing)
        self.data = data
        self.shards = self.many // data.replicate
        self.wire = find_itemsize(data.reduce_dtype) if data.reduce_dtype else self.item
        self.sharded = [_blocks(groups, self.shards) for groups in self.dense]
        self.replicated = [_strides(groups, self.shards) for groups in self.dense]
        self.alive: dict[tuple[int, int], int] = {}
        self.reduced: dict[int, int] = {}
        self.waits: dict[int, list[int]] = {}
        self.pending: dict[int, list[tuple[Unit, int]]] = {}
        self.since: dict[int, int] = {}  # of units whose gradients add up over microbatches, with which task that began

    def by_unit(self, kind: str, micro: int) -> bool:
        """Always: gathers run beside computing."""
        return self.shards > 1

    def gradient_bytes(self, elements: int) -> int:
        """In the type of the computation, unless another was named."""
        return elements * self.wire

    def kept_gradients(self, unit: Unit) -> float:
        """A GPU's shard, in float32."""
        return 4.0 * unit.parameters / self.shards

    # ---- gathers ----------------------------------------------------------------------------------------------------

    def before(self, lane: int, stage: int, i: int, kind: str, micro: int) -> tuple[int, ...]:
        """Gather the root, this block if nobody has, and the next one."""
        units, behind = self.w.stages[stage], self.w.last[lane]
        now = () if behind is None else (behind,)
        self.gather(lane, ROOT, now)
        unit = units[i]
        if unit.block:
            self.gather(lane, unit.first, now)
        if self.data.prefetch and (later := self.following(units, i, kind)) is not None:
            self.gather(lane, later.first, now)
        return tuple(self.alive[key] for key in ((lane, ROOT), (lane, unit.first)) if key in self.alive)

    def following(self, units: Sequence[Unit], i: int, kind: str) -> Unit | None:
        """The next block of the pass."""
        rest = units[i + 1 :] if kind == "F" else units[:i][::-1]
        return next((unit for unit in rest if unit.block), None)

    def elements(self, lane: int, key: int) -> int:
        """Parameters of a block, or of the root of a lane."""
        return sum(unit.parameters for unit in self.of_lane(lane) if (unit.first if unit.block else ROOT) == key)

    def gather(self, lane: int, key: int, after: tuple[int, ...]) -> None:
        """The allgather of a block, unless it is there."""
        size = self.elements(lane, key) * self.item
        if (lane, key) in self.alive or not size:
            return
        name = "root" if key == ROOT else next(u.name for u in self.of_lane(lane) if u.first == key)
        task = self.w.collective(lane, "gather", "allgather", f"gather {name}", self.sharded[lane], size, after)
        self.alive[lane, key] = task

    def behind(self, lane: int, stage: int, i: int, kind: str, micro: int) -> None:
        """Give a block back, if it is not needed again; the root behind the last backward pass."""
        unit, last = self.w.stages[stage][i], self.w.last[lane]
        assert last is not None
        if unit.block and (self.data.reshard_after_forward if kind == "F" else self.ends(kind, micro)):
            self.give_back(lane, unit.first, last)
        if kind in ("B", "W") and i == 0 and self.ends(kind, micro) and self.is_lowest(lane, stage):
            self.give_back(lane, ROOT, last)

    def ends(self, kind: str, micro: int) -> bool:
        """Does a block's backward pass end its use: between microbatches of a pipeline it stays, unless resharded."""
        return kind != "I" and (self.data.reshard_after_forward or self.is_last(micro) or len(self.w.lanes) == 1)

    def is_lowest(self, lane: int, stage: int) -> bool:
        """Is it the lane's stage whose backward pass comes last?"""
        return self.w.stage_ranks.index(lane) == stage

    def give_back(self, lane: int, key: int, last: int) -> None:
        """A block's memory is free behind a task."""
        task = self.alive.pop((lane, key), None)
        if task is not None:
            self.w.out.add_allocation(lane, "gathered", self.elements(lane, key) * self.item, task, last)

    # ---- gradients --------------------------------------------------------------------------------------------------

    def ready(self, lane: int, units: Sequence[Unit], micro: int, begun: int) -> None:
        """A block's gradients are reduced; those of the root are, when all of them are there. What is not reduced yet
        stays whole."""
        alone = self.shards == 1 and self.data.replicate == 1
        if self.data.no_sync and not self.is_last(micro) and not alone:
            for unit in units:
                self.since.setdefault(unit.first, begun)
            return
        super().ready(lane, units, micro, begun)
        if alone:
            return
        for unit in units:
            if unit.block:
                self.reduce(lane, unit.name, [(unit, begun)], micro)
            else:
                self.pending.setdefault(lane, []).append((unit, begun))
        if units and units[0] is self.w.stages[self.w.stage_ranks.index(lane)][0] and lane in self.pending:
            self.reduce(lane, "root", self.pending.pop(lane), micro)

    def reduce(self, lane: int, name: str, units: list[tuple[Unit, int]], micro: int) -> None:
        """Copy in, reduce-scatter; over replicas an allreduce of the shard."""
        elements = sum(unit.parameters for unit, _ in units)
        if not elements:
            return
        w, size = self.w, self.gradient_bytes(elements)
        behind = self.reduced.get(lane)
        last = w.last[lane]
        assert last is not None
        after = (last,) if behind is None else (last, behind)
        moved = float(elements * (self.item + self.wire))
        copied = w.out.add_task(
            f"into {name}", "copy", (lane,), dependencies=after, microbatch=micro, memory_bytes=moved, ops=1
        )
        w.last[lane] = done = copied
        if self.shards > 1:
            rest: dict[str, Any] = {"bucket": len(self.waits.get(lane, []))}
            groups = self.sharded[lane]
            done = w.collective(
                lane, NETWORK, "reduce_scatter", f"reduce {name}", groups, size, (copied,), micro, **rest
            )
            self.reduced[lane] = done
        if self.data.replicate > 1:
            part, groups = -(-size // self.shards), self.replicated[lane]
            done = w.collective(lane, "replicate", "allreduce", f"replicate {name}", groups, part, (done,), micro)
        self.waits.setdefault(lane, []).append(done)
        for unit, begun in units:
            size, since = (self.wire, self.since[unit.first]) if unit.first in self.since else (self.item, begun)
            w.out.add_allocation(lane, "whole gradients", float(size * unit.parameters), since, done)

    def finish(self, lane: int) -> tuple[int, ...]:
        """All reductions; what is still gathered goes."""
        last = self.w.last[lane]
        assert last is not None
        for _, key in [key for key in self.alive if key[0] == lane]:
            self.give_back(lane, key, last)
        return tuple(self.waits.get(lane, []))

    def states(self, lane: int) -> dict[str, int]:
        """Shards in float32, and what the optimizer holds of them."""
        held = super().states(lane)
        return {"parameters": 4 * self.own(lane), "optimizer": held["optimizer"]}


def _blocks(groups: Groups, size: int) -> Groups:
    """Groups cut into blocks of so many ranks."""
    return tuple(group[i : i + size] for group in groups for i in range(0, len(group), size))


def _strides(groups: Groups, size: int) -> Groups:
    """Ranks that hold the same shard."""
    return tuple(group[i::size] for group in groups for i in range(size))
