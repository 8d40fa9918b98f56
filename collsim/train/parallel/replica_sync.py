"""How the replicas of a Split keep together: gradients that are reduced, weights that are gathered, and what GPUs hold
of both.

Of DDP: gradients are views of the buckets, and those of a block are complete together (Megatron-LM keeps them in one
buffer); for ZeRO and FSDP see `sharded_parallel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dtypes import Floats, find_itemsize
from ..workload.step_graph import NETWORK, require_tasks
from .buckets import HOOK_ITEM_BYTES
from .rank_groups import Groups
from .sharded_units import ModelUnit
from .strategy import OPTIMIZERS

if TYPE_CHECKING:
    from .ddp_strategy import DDP
    from .sharded_parallel import Zero
    from .split_builder import SplitBuilder

#: Seconds of a collective: of a kind, bytes as nccl-tests counts them, and groups that run it at the same time.
TimeCollective = Callable[[str, int, Groups], float]


class UnitEstimate(NamedTuple):
    """What a unit costs a GPU in one microbatch, by formula.

    Attributes:
        forward: s of its forward pass.
        backward: s of its backward pass.
        inside: s of its collectives in both that nothing hides.
        resident: bytes of activations that stay.
        again: bytes of activations that are there while it is computed again.
        dense: elements of parameters that all data parallel ranks hold.
        routed: elements of experts' parameters.
    """

    forward: float
    backward: float
    inside: float
    resident: float
    again: float
    dense: int
    routed: int


#: Units of a lane with their estimates.
EstimatedUnits = Sequence[tuple[ModelUnit, UnitEstimate]]


class ReplicaSync:
    """No replicas, so that nothing is sent; and what all strategies have in common."""

    def __init__(self, builder: SplitBuilder):
        """Take over the groups of ranks that hold the same weights.

        Args:
            builder: The step under construction.
        """
        self.builder, self.workload, self.item_bytes = builder, builder.workload, find_itemsize(builder.workload.dtype)
        self.weight_bytes = max(map(find_itemsize, {layer.dtype for layer in builder.workload.model.layers}))
        self.dense_groups, self.routed_groups = builder.placement.dense_groups, builder.placement.routed_groups
        self.shards = 1
        self.seen: set[int] = set()
        self.first: dict[int, list[tuple[float, int]]] = {}

    @property
    def replica_count(self) -> int:
        """Ranks that hold the same weights."""
        return len(self.dense_groups[0][0])

    def list_units(self, lane: int) -> list[ModelUnit]:
        """Units of the stages on a lane."""
        w = self.builder
        return [unit for s, stage in enumerate(w.stages) if w.stage_ranks[s] == lane for unit in stage]

    def count_parameters(self, lane: int) -> int:
        """Elements of all parameters on a GPU of a lane, before they are sharded over replicas."""
        return sum(unit.parameters for unit in self.list_units(lane))

    def count_updated_parameters(self, lane: int) -> int:
        """Elements that a GPU's optimizer updates."""
        return -(-self.count_parameters(lane) // self.shards)

    def count_gradient_bytes(self, elements: int) -> int:
        """Bytes of so many gradients on the wire."""
        return self.weight_bytes * elements

    def is_built_by_unit(self, kind: str, micro: int) -> bool:
        """Is a pass written unit by unit?"""
        return False

    def prepare_unit(self, lane: int, stage: int, i: int, kind: str, micro: int) -> tuple[int, ...]:
        """What the pass of a unit waits for."""
        return ()

    def finish_unit(self, lane: int, stage: int, i: int, kind: str, micro: int) -> None:
        """The pass of a unit has been written."""

    def add_gradients(self, lane: int, units: Sequence[ModelUnit], micro: int, begun: int) -> None:
        """Note that gradients of units are there: they stay until the optimizer has used them.

        Args:
            lane: Lane of the units.
            units: Units whose backward pass has been added.
            micro: Number of the microbatch.
            begun: Task with which the backward pass began.
        """
        for unit in units:
            if unit.first not in self.seen:
                self.seen.add(unit.first)
                self.first.setdefault(lane, []).append((self.count_kept_gradient_bytes(unit), begun))

    def count_new_gradient_bytes(self, unit: ModelUnit) -> float:
        """Bytes of gradients that a backward pass of a unit adds: none where an earlier microbatch left them."""
        if unit.first in self.seen:
            return 0.0
        return self.count_kept_gradient_bytes(unit)

    def count_kept_gradient_bytes(self, unit: ModelUnit) -> float:
        """Bytes of a unit's gradients that a GPU keeps until the optimizer."""
        return float(self.weight_bytes * unit.parameters)

    def finish_lane(self, lane: int) -> tuple[int, ...]:
        """What is left is launched; what the optimizer waits for."""
        return ()

    def finish_update(self, lane: int, optimizer: int) -> None:
        """The optimizer has run."""
        for nbytes, begun in self.first.pop(lane, []):
            self.builder.step_builder.add_allocation(lane, "gradients", nbytes, begun, optimizer)

    def count_resident_bytes(self, lane: int) -> dict[str, int]:
        """Count the bytes that a GPU of a lane holds all the time: with Adam in 16 bits 6 a parameter, and 12 over the
        shards, less the gradients' 4 (Megatron-LM, megatron/training/theoretical_memory_usage.py).

        Args:
            lane: Number of the lane.

        Returns:
            Bytes by kind: parameters, optimizer.
        """
        count, updated = self.count_parameters(lane), self.count_updated_parameters(lane)
        parameters = count * self.item_bytes
        if self.has_wide_weights:
            parameters += self.weight_bytes * updated
        # The table counts bytes of state for a parameter of 4 bytes.
        state = OPTIMIZERS[self.workload.optimizer][0] * self.weight_bytes // 4
        return {"parameters": parameters, "optimizer": state * updated}

    def estimate_exposed_time(
        self, pairs: EstimatedUnits, lane: int, time_collective: TimeCollective, interference: float
    ) -> float:
        """Estimate the time of the gradients and weights on a lane that nothing hides.

        Args:
            pairs: Units of the lane with their estimates.
            lane: Number of the lane.
            time_collective: Gives the seconds of a collective.
            interference: Share of its speed that a GPU loses while it communicates.

        Returns:
            The time in s; 0 without replicas.
        """
        return 0.0

    def estimate_gathered_bytes(self, pairs: EstimatedUnits, micros: int) -> float | Floats:
        """Estimate the bytes of gathered weights and of gradients not yet reduced.

        Args:
            pairs: Units of the lane with their estimates.
            micros: Number of microbatches.

        Returns:
            Bytes, for each unit of each forward and backward pass where they differ; 0 where nothing is sharded.
        """
        return 0.0

    @property
    def has_wide_weights(self) -> bool:
        """Whether the optimizer updates weights that are wider than what is computed in."""
        return self.item_bytes < self.weight_bytes

    def is_last(self, micro: int) -> bool:
        """The last microbatch."""
        return micro == self.workload.accumulate - 1


class BucketedSync(ReplicaSync):
    """Gradients are reduced in buckets; the optimizer waits for all."""

    kind = "allreduce"

    def __init__(self, builder: SplitBuilder, data: DDP | Zero):
        """Begin with empty buckets.

        Args:
            builder: The step under construction.
            data: The options of the strategy that fills buckets.
        """
        super().__init__(builder)
        self.strategy: Any = data
        self.waiting: dict[int, list[int]] = {}
        self.launched: dict[int, list[int]] = {}

    def is_built_by_unit(self, kind: str, micro: int) -> bool:
        """Buckets are launched beside the backward pass that synchronises."""
        return kind in ("B", "W") and self.replica_count > 1 and self.strategy.overlap and self.synchronises(micro)

    def synchronises(self, micro: int) -> bool:
        """Are gradients reduced after this microbatch?"""
        return self.is_last(micro) or not self.strategy.no_sync

    def count_gradient_bytes(self, elements: int) -> int:
        """Bytes on the wire: half with a hook."""
        return elements * (4 if self.strategy.hook is None else HOOK_ITEM_BYTES[self.strategy.hook])

    def is_full(self, nbytes: int, more: int) -> bool:
        """Is a bucket launched before it takes more?"""
        return bool(nbytes >= self.strategy.caps[1])

    def add_gradients(self, lane: int, units: Sequence[ModelUnit], micro: int, begun: int) -> None:
        """Put gradients into the bucket; a full one is launched.

        Args:
            lane: Lane of the units.
            units: Units whose backward pass has been added.
            micro: Number of the microbatch.
            begun: Task with which the backward pass began.
        """
        super().add_gradients(lane, units, micro, begun)
        if self.replica_count == 1 or not self.synchronises(micro):
            return
        for unit in reversed(units):
            self.fill_bucket(lane, unit, micro)

    def fill_bucket(self, lane: int, unit: ModelUnit, micro: int) -> None:
        """Put the gradients of a unit into the bucket, which closes as soon as it holds its cap, as DDP's do.

        Args:
            lane: Lane of the unit.
            unit: The unit.
            micro: Number of the microbatch.
        """
        bucket = self.waiting.setdefault(lane, [0, 0])
        bucket[0] += unit.dense_parameters
        bucket[1] += unit.expert_parameters
        if self.strategy.overlap and self.is_full(self.weight_bytes * sum(bucket), 0):
            self.launch(lane, micro)

    def launch(self, lane: int, micro: int) -> None:
        """Reduce what is in the bucket: experts' gradients over those who hold the same.

        Args:
            lane: Lane of the bucket.
            micro: Number of the microbatch.
        """
        done, w = self.launched.setdefault(lane, []), self.builder
        behind = w.latest_tasks[lane]
        assert behind is not None
        for elements, groups in zip(
            self.waiting.pop(lane, [0, 0]), (self.dense_groups, self.routed_groups), strict=True
        ):
            if elements and len(groups[lane][0]) > 1:
                name, size = f"bucket {len(done)}", self.count_gradient_bytes(elements)
                where = lane, NETWORK, self.kind, name, groups[lane]
                done.append(w.add_collective(*where, size, (behind,), micro, bucket=len(done)))

    def estimate_exposed_time(
        self, pairs: EstimatedUnits, lane: int, time_collective: TimeCollective, interference: float
    ) -> float:
        """Estimate what reductions take beyond the backward pass, or all of it where they do not overlap.

        Args:
            pairs: Units of the lane with their estimates.
            lane: Number of the lane.
            time_collective: Gives the seconds of a collective.
            interference: Share of its speed that a GPU loses while it communicates.

        Returns:
            The time in s.
        """
        exposed, last = 0.0, sum(u.backward for _, u in pairs)
        for what, groups in (("dense", self.dense_groups), ("routed", self.routed_groups)):
            sizes = [size for _, u in pairs if (size := getattr(u, what))]
            if self.replica_count == 1 or not sizes or len(groups[lane][0]) == 1:
                continue
            seconds_by_size = {
                size: time_collective(self.kind, self.count_gradient_bytes(size), groups[lane]) for size in set(sizes)
            }
            bucket_seconds = [seconds_by_size[size] for size in sizes]
            if self.strategy.overlap:
                # Reductions follow one another beside the backward pass of all units, but that of the first unit,
                # whose gradients come last, begins when the pass has ended.
                exposed += max(bucket_seconds[0], sum(bucket_seconds) - last)
            else:
                exposed += sum(bucket_seconds)
            exposed += self.estimate_weights_time(sum(sizes), groups[lane], time_collective)
        return exposed

    def estimate_weights_time(self, elements: int, groups: Groups, time_collective: TimeCollective) -> float:
        """Seconds in which so many updated weights are gathered behind the optimizer."""
        return 0.0

    def finish_lane(self, lane: int) -> tuple[int, ...]:
        """Launch the last bucket.

        Args:
            lane: Number of the lane.

        Returns:
            The tasks that the optimizer waits for.
        """
        self.launch(lane, self.workload.accumulate - 1)
        if self.launched[lane]:
            return tuple(self.launched[lane][-1:])
        return ()


class ZeroSync(BucketedSync):
    """ZeRO 1 and 2: gradients are reduce-scattered, and weights gathered behind the optimizer."""

    kind = "reduce_scatter"

    def __init__(self, builder: SplitBuilder, data: Zero):
        """Shard the optimizer over all replicas.

        Args:
            builder: The step under construction.
            data: The options of ZeRO, of stage 1 or 2.
        """
        super().__init__(builder, data)
        self.shards = self.replica_count
        self.wire = find_itemsize(data.reduce_dtype or self.workload.dtype)

    def synchronises(self, micro: int) -> bool:
        """Stage 1 reduces once a step; stage 2 keeps no more than its part."""
        return self.is_last(micro) or self.strategy.stage == 2

    def count_gradient_bytes(self, elements: int) -> int:
        """In the type of the computation, unless another was named."""
        return elements * self.wire

    def fill_bucket(self, lane: int, unit: ModelUnit, micro: int) -> None:
        """Put the gradients of a unit into the bucket, which is launched before it would hold too much, as DeepSpeed's
        are.

        Args:
            lane: Lane of the unit.
            unit: The unit.
            micro: Number of the microbatch.
        """
        bucket = self.waiting.setdefault(lane, [0, 0])
        if self.strategy.overlap and sum(bucket) and sum(bucket) + unit.parameters > self.strategy.bucket:
            self.launch(lane, micro)
            bucket = self.waiting.setdefault(lane, [0, 0])
        bucket[0] += unit.dense_parameters
        bucket[1] += unit.expert_parameters

    def estimate_exposed_time(
        self, pairs: EstimatedUnits, lane: int, time_collective: TimeCollective, interference: float
    ) -> float:
        """Estimate reductions beyond the backward pass and gathers behind the optimizer, in stage 2 of each microbatch.

        Args:
            pairs: Units of the lane with their estimates.
            lane: Number of the lane.
            time_collective: Gives the seconds of a collective.
            interference: Share of its speed that a GPU loses while it communicates.

        Returns:
            The time in s.
        """
        exposed = super().estimate_exposed_time(pairs, lane, time_collective, interference)
        if self.strategy.stage == 2:
            return exposed * self.workload.accumulate
        return exposed

    def estimate_weights_time(self, elements: int, groups: Groups, time_collective: TimeCollective) -> float:
        """All of them, in one piece."""
        return time_collective("allgather", elements * self.item_bytes, groups)

    def count_kept_gradient_bytes(self, unit: ModelUnit) -> float:
        """All of them, in stage 2 its part."""
        return self.wire * unit.parameters / (self.shards if self.strategy.stage == 2 else 1)

    def finish_update(self, lane: int, optimizer: int) -> None:
        """Gather the weights, in pieces of at most a bucket.

        Args:
            lane: Number of the lane.
            optimizer: Task of its optimizer.
        """
        super().finish_update(lane, optimizer)
        if self.replica_count == 1:
            return
        after = optimizer
        for count, groups in ((sum_units(self.list_units(lane), what), g) for what, g in self.kinds):
            require_tasks(pieces := -(-count // self.strategy.bucket))
            for i in range(pieces if len(groups[lane][0]) > 1 else 0):
                size = self.item_bytes * (min(count, (i + 1) * self.strategy.bucket) - i * self.strategy.bucket)
                after = self.builder.add_collective(
                    lane, "gather", "allgather", "weights", groups[lane], size, (after,)
                )

    @property
    def kinds(self) -> tuple[tuple[str, list[Groups]], ...]:
        """Both kinds of parameters, and the groups that share them."""
        return ("dense_parameters", self.dense_groups), ("expert_parameters", self.routed_groups)


def sum_units(units: Sequence[ModelUnit], what: str) -> int:
    """Elements of a kind in units."""
    return sum(getattr(unit, what) for unit in units)
