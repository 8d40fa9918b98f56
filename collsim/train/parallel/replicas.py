"""How the replicas of a Split keep together: gradients that are reduced, weights that are gathered, and what GPUs hold
of both.

Of DDP: gradients are views of the buckets, and those of a block are complete together (Megatron-LM keeps them in one
buffer); of ZeRO and FSDP see `sharding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...dtypes import find_itemsize
from ..workload.step_graph import NETWORK, require_tasks
from .ddp import DDP, HOOKS
from .placement import Groups
from .sharding import FSDP, Zero
from .strategy import OPTIMIZERS
from .units import Unit

if TYPE_CHECKING:
    from .writing import SplitWriting


class Replicas:
    """No replicas: nothing is sent; and what all ways have in common."""

    def __init__(self, writing: SplitWriting):
        self.w, self.asked, self.item = writing, writing.asked, find_itemsize(writing.asked.dtype)
        self.dense, self.routed = writing.placed.dense, writing.placed.routed
        self.shards = 1
        self.seen: set[int] = set()
        self.first: dict[int, list[tuple[float, int]]] = {}

    @property
    def many(self) -> int:
        """Ranks that hold the same weights."""
        return len(self.dense[0][0])

    def of_lane(self, lane: int) -> list[Unit]:
        """Units of the stages on a lane."""
        w = self.w
        return [unit for s, stage in enumerate(w.stages) if w.stage_ranks[s] == lane for unit in stage]

    def parameters(self, lane: int) -> int:
        """Elements of all parameters on a GPU of a lane, before they are sharded over replicas."""
        return sum(unit.parameters for unit in self.of_lane(lane))

    def own(self, lane: int) -> int:
        """Elements that a GPU's optimizer updates."""
        return -(-self.parameters(lane) // self.shards)

    def gradient_bytes(self, elements: int) -> int:
        """Bytes of so many gradients on the wire."""
        return 4 * elements

    def by_unit(self, kind: str, micro: int) -> bool:
        """Is a pass written unit by unit?"""
        return False

    def before(self, lane: int, stage: int, i: int, kind: str, micro: int) -> tuple[int, ...]:
        """What the pass of a unit waits for."""
        return ()

    def behind(self, lane: int, stage: int, i: int, kind: str, micro: int) -> None:
        """The pass of a unit has been written."""

    def ready(self, lane: int, units: Sequence[Unit], micro: int, begun: int) -> None:
        """Gradients of units are there: they stay until the optimizer has used them."""
        for unit in units:
            if unit.first not in self.seen:
                self.seen.add(unit.first)
                self.first.setdefault(lane, []).append((self.kept_gradients(unit), begun))

    def kept_gradients(self, unit: Unit) -> float:
        """Bytes of a unit's gradients that a GPU keeps until the optimizer."""
        return 4.0 * unit.parameters

    def finish(self, lane: int) -> tuple[int, ...]:
        """What is left is launched; what the optimizer waits for."""
        return ()

    def updated(self, lane: int, optimizer: int) -> None:
        """The optimizer has run."""
        for nbytes, begun in self.first.pop(lane, []):
            self.w.out.add_allocation(lane, "gradients", nbytes, begun, optimizer)

    def states(self, lane: int) -> dict[str, int]:
        """Bytes that a GPU of a lane holds all the time: with Adam in 16 bits 6 a parameter, and 12 over the shards,
        less the gradients' 4 (Megatron-LM, megatron/training/theoretical_memory_usage.py)."""
        count, own = self.parameters(lane), self.own(lane)
        small = self.item < 4
        return {
            "parameters": count * self.item + 4 * own * small,
            "optimizer": OPTIMIZERS[self.asked.optimizer][0] * own,
        }

    def is_last(self, micro: int) -> bool:
        """The last microbatch."""
        return micro == self.asked.accumulate - 1


class Reduced(Replicas):
    """Gradients are reduced in buckets; the optimizer waits for all."""

    kind = "allreduce"

    def __init__(self, writing: SplitWriting, data: DDP | Zero):
        super().__init__(writing)
        self.data: Any = data
        self.waiting: dict[int, list[int]] = {}
        self.launched: dict[int, list[int]] = {}

    def by_unit(self, kind: str, micro: int) -> bool:
        """Buckets are launched beside the backward pass that synchronises."""
        return kind in ("B", "W") and self.many > 1 and self.data.overlap and self.synchronises(micro)

    def synchronises(self, micro: int) -> bool:
        """Are gradients reduced after this microbatch?"""
        return self.is_last(micro) or not self.data.no_sync

    def gradient_bytes(self, elements: int) -> int:
        """Bytes on the wire: half with a hook."""
        return elements * (4 if self.data.hook is None else HOOKS[self.data.hook])

    def full(self, held: int, more: int) -> bool:
        """Is a bucket launched before it takes more?"""
        return bool(held >= self.data.caps[1])

    def ready(self, lane: int, units: Sequence[Unit], micro: int, begun: int) -> None:
        """Into the bucket; a full one is launched."""
        super().ready(lane, units, micro, begun)
        if self.many == 1 or not self.synchronises(micro):
            return
        for unit in reversed(units):
            self.put(lane, unit, micro)

    def put(self, lane: int, unit: Unit, micro: int) -> None:
        """DDP: a bucket closes as soon as it holds its cap."""
        bucket = self.waiting.setdefault(lane, [0, 0])
        bucket[0] += unit.dense
        bucket[1] += unit.routed
        if self.data.overlap and self.full(4 * sum(bucket), 0):
            self.launch(lane, micro)

    def launch(self, lane: int, micro: int) -> None:
        """Reduce what is in the bucket: experts' gradients over those who hold the same."""
        done, w = self.launched.setdefault(lane, []), self.w
        behind = w.last[lane]
        assert behind is not None
        for elements, groups in zip(self.waiting.pop(lane, [0, 0]), (self.dense, self.routed), strict=True):
            if elements and len(groups[lane][0]) > 1:
                name, size = f"bucket {len(done)}", self.gradient_bytes(elements)
                rest: dict[str, Any] = {"bucket": len(done)}
                done.append(w.collective(lane, NETWORK, self.kind, name, groups[lane], size, (behind,), micro, **rest))

    def finish(self, lane: int) -> tuple[int, ...]:
        """The last bucket."""
        self.launch(lane, self.asked.accumulate - 1)
        return tuple(self.launched[lane][-1:]) if self.launched[lane] else ()


class ZeroReduced(Reduced):
    """ZeRO 1 and 2: gradients are reduce-scattered, and weights gathered behind the optimizer."""

    kind = "reduce_scatter"

    def __init__(self, writing: SplitWriting, data: Zero):
        super().__init__(writing, data)
        self.shards = self.many
        self.wire = find_itemsize(data.reduce_dtype) if data.reduce_dtype else self.item

    def synchronises(self, micro: int) -> bool:
        """Stage 1 reduces once a step; stage 2 keeps no more than its part."""
        return self.is_last(micro) or self.data.stage == 2

    def gradient_bytes(self, elements: int) -> int:
        """In the type of the computation, unless another was named."""
        return elements * self.wire

    def put(self, lane: int, unit: Unit, micro: int) -> None:
        """DeepSpeed: a bucket is launched before it would hold too much."""
        bucket = self.waiting.setdefault(lane, [0, 0])
        if self.data.overlap and sum(bucket) and sum(bucket) + unit.parameters > self.data.bucket:
            self.launch(lane, micro)
            bucket = self.waiting.setdefault(lane, [0, 0])
        bucket[0] += unit.dense
        bucket[1] += unit.routed

    def kept_gradients(self, unit: Unit) -> float:
        """All of them, in stage 2 its part."""
        return self.wire * unit.parameters / (self.shards if self.data.stage == 2 else 1)

    def updated(self, lane: int, optimizer: int) -> None:
        """Weights are gathered, in pieces of at most a bucket."""
        super().updated(lane, optimizer)
        if self.many == 1:
            return
        after = optimizer
        for count, groups in ((unit_sum(self.of_lane(lane), what), g) for what, g in self.kinds):
            require_tasks(pieces := -(-count // self.data.bucket))
            for i in range(pieces if len(groups[lane][0]) > 1 else 0):
                size = self.item * (min(count, (i + 1) * self.data.bucket) - i * self.data.bucket)
                after = self.w.collective(lane, "gather", "allgather", "weights", groups[lane], size, (after,))

    @property
    def kinds(self) -> tuple[tuple[str, list[Groups]], ...]:
        """Both kinds of parameters, and the groups that share them."""
        return ("dense", self.dense), ("routed", self.routed)


def unit_sum(units: Sequence[Unit], what: str) -> int:
    """Elements of a kind in units."""
    return sum(getattr(unit, what) for unit in units)


def replicas_of(writing: SplitWriting) -> Replicas:
    """How a split's replicas keep together."""
    from .gathering import Gathered

    data = writing.split.data
    if data is None:
        return Replicas(writing)
    if isinstance(data, DDP):
        return Reduced(writing, data)
    if isinstance(data, FSDP) or data.stage == 3:
        return Gathered(
            writing, data if isinstance(data, FSDP) else FSDP(prefetch=data.overlap, reduce_dtype=data.reduce_dtype)
        )
    return ZeroReduced(writing, data)
