"""Fully sharded data parallelism in a step: blocks are gathered before they compute, and resharded after use.

Source: torch 2.13, torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py. Gathers have a stream of their own; the
next block's is issued while this one computes, and no earlier than the one before has been copied out, so that at most
two are under way. One input of a reduce-scatter is alive at a time: gradients of a block are copied in when the one
before is done. Parameters outside blocks form the root: gathered first, it stays until its backward pass has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dtypes import Floats, find_itemsize
from ..workload.step_graph import NETWORK
from .rank_groups import Groups
from .replica_sync import EstimatedUnits, ReplicaSync, TimeCollective
from .sharded_units import ModelUnit

if TYPE_CHECKING:
    from .sharded_parallel import FSDP
    from .split_builder import SplitBuilder

#: No layer has this number: the root holds the parameters that are in no block.
ROOT = -1


class FsdpSync(ReplicaSync):
    """FSDP's collectives and memory. A block is known by the number of its first layer, the root of a lane as ROOT."""

    def __init__(self, builder: SplitBuilder, data: FSDP, *, coalesces: bool = True):
        """Group the ranks that share the shards of a block, and those that hold the same shard.

        Args:
            builder: The step under construction.
            data: The options of FSDP.
            coalesces: Whether a block is gathered and reduced at once; else each of its tensors by itself.
        """
        super().__init__(builder)
        self.strategy, self.coalesces = data, coalesces
        self.shards = self.replica_count // data.replicate
        self.wire = find_itemsize(data.reduce_dtype or self.workload.dtype)
        self.sharded = [_split_groups(groups, self.shards) for groups in self.dense_groups]
        self.replicated = [_list_stride_groups(groups, self.shards) for groups in self.dense_groups]
        # By lane and block: the allgather that brought a block which is still there. By lane: the latest
        # reduce-scatter, all reductions that the optimizer waits for, and units of the root whose gradients are not
        # reduced yet.
        self.alive: dict[tuple[int, int], int] = {}
        self.reduced: dict[int, int] = {}
        self.waits: dict[int, list[int]] = {}
        self.pending: dict[int, list[tuple[ModelUnit, int]]] = {}
        self.since: dict[int, int] = {}  # of units whose gradients add up over microbatches, with which task that began

    def is_built_by_unit(self, kind: str, micro: int) -> bool:
        """Always: gathers run beside computing."""
        return self.shards > 1

    def count_gradient_bytes(self, elements: int) -> int:
        """In the type of the computation, unless another was named."""
        return elements * self.wire

    def count_kept_gradient_bytes(self, unit: ModelUnit) -> float:
        """A GPU's shard, in float32."""
        # Shards accumulate in float32, 4 bytes, whatever computes.
        return 4.0 * unit.parameters / self.shards

    def estimate_exposed_time(
        self, pairs: EstimatedUnits, lane: int, time_collective: TimeCollective, interference: float
    ) -> float:
        """Estimate what gathers and reductions take longer than the block beside them, and the root's.

        Args:
            pairs: Units of the lane with their estimates.
            lane: Number of the lane.
            time_collective: Gives the seconds of a collective.
            interference: Share of its speed that a GPU loses while it communicates.

        Returns:
            The time in s.
        """
        if self.shards == 1:
            return 0.0
        groups, hidden, exposed, root = self.sharded[lane], self.strategy.prefetch, 0.0, 0
        for unit, u in pairs:
            size = u.dense + u.routed
            if not unit.is_block:
                root += size
                continue
            parts = self.count_parts((unit,))
            gather = parts * time_collective("allgather", -(-size * self.item_bytes // parts), groups)
            reduce = parts * time_collective("reduce_scatter", -(-self.count_gradient_bytes(size) // parts), groups)
            # What the forward pass freed is gathered once more for the backward pass.
            again = 0.0
            if self.strategy.reshard_after_forward:
                again = gather
            # A gather hides behind the block before it, which takes about as long as this one; without prefetch
            # (`hidden` is 0) behind nothing. In the backward pass the second gather and the reduction of the block
            # behind have the same cover, and the longer of them decides.
            exposed += max(0.0, gather - u.forward * hidden) + max(
                0.0, again - u.backward * hidden, reduce - u.backward
            )
            hidden_time = min(gather, u.forward) * hidden + min(max(again * hidden, reduce), u.backward)
            exposed += interference * hidden_time  # computing is slower while anything is sent
        ends = 0.0
        if root:
            parts = self.count_parts([unit for unit, _ in pairs if not unit.is_block])
            ends = parts * time_collective("allgather", -(-root * self.item_bytes // parts), groups)
            ends += parts * time_collective("reduce_scatter", -(-self.count_gradient_bytes(root) // parts), groups)
        return self.workload.accumulate * exposed + ends

    def estimate_gathered_bytes(self, pairs: EstimatedUnits, micros: int) -> Floats:
        """Estimate the bytes of gathered weights and of gradients not yet reduced, unit by unit of a forward and a
        backward pass: beside the root the block and the next one, or all that has been gathered; gradients of the root,
        of the block and of the one before.

        Args:
            pairs: Units of the lane with their estimates.
            micros: Number of microbatches.

        Returns:
            (2 * units * microbatches,) bytes.
        """
        blocks = [u.dense + u.routed if unit.is_block else 0 for unit, u in pairs]
        root = [u.dense + u.routed - block for (_, u), block in zip(pairs, blocks, strict=True)]

        def get_neighbour_size(i: int, step: int) -> int:
            """The next block on a side."""
            later = blocks[i + 1 :] if step > 0 else blocks[:i][::-1]
            return next((size for size in later if size), 0)

        keeps_blocks, ahead, units = self.strategy.keeps_weights, self.strategy.prefetch, range(len(pairs))
        if keeps_blocks:
            # Weights that stay gathered add up through the forward pass, and go one by one in the backward pass.
            back = [sum(root) + sum(blocks[: i + 1]) for i in units]
            there = [size + ahead * get_neighbour_size(i, 1) for i, size in enumerate(back)]
        else:
            there = [sum(root) + blocks[i] + ahead * get_neighbour_size(i, 1) for i in units]
            back = [sum(root) + blocks[i] + ahead * get_neighbour_size(i, -1) for i in units]
        # Gradients of the root wait for the whole root; those of a block for its own reduction, which the next block
        # covers.
        back = [size + sum(root[i:]) + blocks[i] + get_neighbour_size(i, 1) for i, size in enumerate(back)]
        return np.tile(np.array(there + back[::-1], float) * self.item_bytes, micros)

    # ---- gathers ----------------------------------------------------------------------------------------------------

    def prepare_unit(self, lane: int, stage: int, i: int, kind: str, micro: int) -> tuple[int, ...]:
        """Gather the root, this block unless it is there, and the next one.

        Args:
            lane: Lane of the stage.
            stage: Number of the stage.
            i: Number of the unit in the stage.
            kind: Kind of pass: F, B, I or W.
            micro: Number of the microbatch.

        Returns:
            Tasks that the pass of the unit waits for.
        """
        units, behind = self.builder.stages[stage], self.builder.latest_tasks[lane]
        now = () if behind is None else (behind,)
        self.gather(lane, ROOT, now)
        unit = units[i]
        if unit.is_block:
            self.gather(lane, unit.first, now)
        if self.strategy.prefetch and (later := self.find_next_block(units, i, kind)) is not None:
            self.gather(lane, later.first, now)
        return tuple(self.alive[key] for key in ((lane, ROOT), (lane, unit.first)) if key in self.alive)

    def find_next_block(self, units: Sequence[ModelUnit], i: int, kind: str) -> ModelUnit | None:
        """Find the next block of a pass.

        Args:
            units: Units of the stage, in the order of the forward pass.
            i: Number of the unit that the pass is at.
            kind: Kind of pass: F goes up the numbers, B, I and W down.

        Returns:
            The block; None behind the last one.
        """
        if kind == "F":
            rest = units[i + 1 :]
        else:
            rest = units[:i][::-1]
        return next((unit for unit in rest if unit.is_block), None)

    def count_elements(self, lane: int, key: int) -> int:
        """Parameters of a block, or of the root of a lane."""
        return sum(unit.parameters for unit in self.find_units(lane, key))

    def find_units(self, lane: int, key: int) -> list[ModelUnit]:
        """The unit of a block, or those of the root of a lane."""
        return [unit for unit in self.list_units(lane) if (unit.first if unit.is_block else ROOT) == key]

    def count_parts(self, units: Sequence[ModelUnit]) -> int:
        """Count the collectives that bring units, or reduce their gradients.

        Args:
            units: A block, or the root.

        Returns:
            One, or as many as they have tensors.
        """
        if self.coalesces:
            return 1
        return max(1, sum(len(layer.tensors) for unit in units for layer in unit.layers))

    def gather(self, lane: int, key: int, after: tuple[int, ...]) -> None:
        """Add the allgather of a block, unless the block is there.

        Args:
            lane: Lane of the block.
            key: Number of the block's first layer, or ROOT.
            after: Tasks that the allgather waits for.
        """
        size = self.count_elements(lane, key) * self.item_bytes
        if (lane, key) in self.alive or not size:
            return
        name = "root"
        if key != ROOT:
            name = next(u.name for u in self.list_units(lane) if u.first == key)
        parts = self.count_parts(self.find_units(lane, key))
        task = self.builder.add_collective(
            lane, "gather", "allgather", f"gather {name}", self.sharded[lane], -(-size // parts), after, times=parts
        )
        self.alive[lane, key] = task

    def finish_unit(self, lane: int, stage: int, i: int, kind: str, micro: int) -> None:
        """Free a block that is not needed again, and the root behind the last backward pass.

        Args:
            lane: Lane of the stage.
            stage: Number of the stage.
            i: Number of the unit in the stage.
            kind: Kind of pass: F, B, I or W.
            micro: Number of the microbatch.
        """
        unit, last = self.builder.stages[stage][i], self.builder.latest_tasks[lane]
        assert last is not None
        if unit.is_block and (self.strategy.reshard_after_forward if kind == "F" else self.is_last_use(kind, micro)):
            self.free_block(lane, unit.first, last)
        if kind in ("B", "W") and i == 0 and self.is_last_use(kind, micro) and self.is_lowest(lane, stage):
            self.free_block(lane, ROOT, last)

    def is_last_use(self, kind: str, micro: int) -> bool:
        """Does a block's backward pass end its use: between microbatches of a pipeline it stays, unless resharded."""
        return kind != "I" and (
            self.strategy.reshard_after_forward or self.is_last(micro) or len(self.builder.lanes) == 1
        )

    def is_lowest(self, lane: int, stage: int) -> bool:
        """Is it the lane's stage whose backward pass comes last?"""
        return self.builder.stage_ranks.index(lane) == stage

    def free_block(self, lane: int, key: int, last: int) -> None:
        """A block's memory is free behind a task."""
        task = self.alive.pop((lane, key), None)
        if task is not None:
            self.builder.step_builder.add_allocation(
                lane, "gathered", self.count_elements(lane, key) * self.item_bytes, task, last
            )

    # ---- gradients --------------------------------------------------------------------------------------------------

    def add_gradients(self, lane: int, units: Sequence[ModelUnit], micro: int, begun: int) -> None:
        """Reduce the gradients of blocks, and those of the root when all of them are there. What is not reduced yet
        stays whole.

        Args:
            lane: Lane of the units.
            units: Units whose backward pass has been added.
            micro: Number of the microbatch.
            begun: Task with which the backward pass began.
        """
        alone = self.shards == 1 and self.strategy.replicate == 1
        # Gradients that are not reduced in this microbatch stay whole from the first one on.
        if self.strategy.no_sync and not self.is_last(micro) and not alone:
            for unit in units:
                self.since.setdefault(unit.first, begun)
            return
        super().add_gradients(lane, units, micro, begun)
        if alone:
            return
        for unit in units:
            if unit.is_block:
                self.reduce(lane, unit.name, [(unit, begun)], micro)
            else:
                self.pending.setdefault(lane, []).append((unit, begun))
        # The root is reduced after the first unit's backward pass, the last one that adds to it.
        if units and units[0] is self.builder.stages[self.builder.stage_ranks.index(lane)][0] and lane in self.pending:
            self.reduce(lane, "root", self.pending.pop(lane), micro)

    def reduce(self, lane: int, name: str, units: list[tuple[ModelUnit, int]], micro: int) -> None:
        """Copy gradients into one buffer and reduce-scatter them; over replicas an allreduce of the shard follows.

        Args:
            lane: Lane of the units.
            name: Name of the block, or `root`.
            units: Units with the task with which each one's backward pass began.
            micro: Number of the microbatch.
        """
        elements = sum(unit.parameters for unit, _ in units)
        if not elements:
            return
        w, size = self.builder, self.count_gradient_bytes(elements)
        behind = self.reduced.get(lane)
        last = w.latest_tasks[lane]
        assert last is not None
        after: tuple[int, ...] = (last,)
        if behind is not None:
            after = (last, behind)
        # Read in the type of the computation, written in that of the wire.
        moved = float(elements * (self.item_bytes + self.wire))
        copied = w.step_builder.add_task(
            f"into {name}", "copy", (lane,), dependencies=after, microbatch=micro, memory_bytes=moved, ops=1
        )
        w.latest_tasks[lane] = done = copied
        if self.shards > 1:
            parts, groups = self.count_parts([unit for unit, _ in units]), self.sharded[lane]
            rest: dict[str, Any] = {"bucket": len(self.waits.get(lane, [])), "times": parts}
            done = w.add_collective(
                lane, NETWORK, "reduce_scatter", f"reduce {name}", groups, -(-size // parts), (copied,), micro, **rest
            )
            self.reduced[lane] = done
        if self.strategy.replicate > 1:
            # Rounded up: FSDP pads shards to equal sizes.
            part, groups = -(-size // self.shards), self.replicated[lane]
            done = w.add_collective(lane, "replicate", "allreduce", f"replicate {name}", groups, part, (done,), micro)
        self.waits.setdefault(lane, []).append(done)
        for unit, begun in units:
            size, since = (self.wire, self.since[unit.first]) if unit.first in self.since else (self.item_bytes, begun)
            w.step_builder.add_allocation(lane, "whole gradients", float(size * unit.parameters), since, done)

    def finish_lane(self, lane: int) -> tuple[int, ...]:
        """Free what is still gathered.

        Args:
            lane: Number of the lane.

        Returns:
            All reductions of the lane, which the optimizer waits for.
        """
        last = self.builder.latest_tasks[lane]
        assert last is not None
        for _, key in [key for key in self.alive if key[0] == lane]:
            self.free_block(lane, key, last)
        return tuple(self.waits.get(lane, []))

    def count_resident_bytes(self, lane: int) -> dict[str, int]:
        """Shards in float32, and what the optimizer holds of them."""
        resident = super().count_resident_bytes(lane)
        return {
            "parameters": self.weight_bytes * self.count_updated_parameters(lane),
            "optimizer": resident["optimizer"],
        }


def _split_groups(groups: Groups, size: int) -> Groups:
    """Groups cut into blocks of so many ranks."""
    return tuple(group[i : i + size] for group in groups for i in range(0, len(group), size))


def _list_stride_groups(groups: Groups, size: int) -> Groups:
    """Ranks that hold the same shard."""
    return tuple(group[i::size] for group in groups for i in range(size))
