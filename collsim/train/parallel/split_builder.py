"""The TrainingStep of a Split: stages of a pipeline are lanes; passes, and collectives over tensor, context and expert
parallel groups, in the order in which the pipeline's schedule issues them.

A pass is one box for all layers of a stage, followed by its collectives, each as often as it comes: they do not run
beside computing anyway. Where gradients or weights move beside a pass (sharded or bucketed data parallelism), it is a
box for each unit of the model. A ring of context parallelism runs beside all blocks of attention but the last. Tokens
travel to experts and back beside what `expert(overlap_with=)` says.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..pipelines.pass_timing import iterate_passes
from ..pipelines.passes import FORWARD, INPUT, WEIGHT, Action, PassOrder
from ..workload.expert_load import OverlapWith
from ..workload.step_graph import LayerWork, StepBuilder, StepTask, TaskOptions, TrainingStep, require_tasks
from .rank_groups import Groups, get_placement
from .replica_sync import ReplicaSync
from .sharded_units import (
    CollectiveCall,
    ModelUnit,
    count_tied_elements,
    find_backward_peak,
    is_shared_expert,
    merge_collectives,
)
from .strategy import OPTIMIZERS, Workload

if TYPE_CHECKING:
    from .combined_split import Split

_KINDS = {"F": "forward", "B": "backward", "I": "dgrad", "W": "wgrad"}


class ComputedWork(NamedTuple):
    """What one task computes.

    Attributes:
        layer_work: layer by layer.
        flops: floating point operations of all layers.
        memory_bytes: bytes of memory that all layers read and write.
        ops: operations that all layers launch.
    """

    layer_work: tuple[LayerWork, ...]
    flops: float
    memory_bytes: float
    ops: float


def sum_work(works: Iterable[LayerWork]) -> ComputedWork:
    """Works with their sums."""
    listed = tuple(works)
    return ComputedWork(listed, *(math.fsum(work[i] for work in listed) for i in (1, 2, 3)))


_NO_WORK = sum_work(())


class PassTasks(NamedTuple):
    """A pass through units, as tasks.

    Attributes:
        plain_work: what is computed before the ring of context parallelism; everything, where there is no ring.
        overlapped_work: the part of attention that is computed while blocks of keys and values travel around the ring.
        final_work: the part of attention that remains when the last block has arrived.
        ring_hops: sends of keys and values around the ring; empty where there is no ring.
        collectives: those of tensor and expert parallelism, at the end of the pass.
        hidden_calls: those of expert parallelism that run beside computing.
        hiding_work: what is computed beside them; empty where all of the pass is.
    """

    plain_work: ComputedWork
    overlapped_work: ComputedWork
    final_work: ComputedWork
    ring_hops: tuple[CollectiveCall, ...]
    collectives: tuple[CollectiveCall, ...]
    hidden_calls: tuple[CollectiveCall, ...] = ()
    hiding_work: ComputedWork = _NO_WORK


def build_pass(units: Sequence[ModelUnit], kind: str, *, has_partner: bool = False) -> PassTasks:
    """Build the tasks of a pass through units.

    Args:
        units: Units of a stage, in the order of the forward pass.
        kind: Kind of pass: F, B, I or W.
        has_partner: Whether a pass of another microbatch in the other direction runs at the same time.

    Returns:
        What is computed and sent; work beside the ring of context parallelism, and beside tokens on their way to
        experts, is apart from the rest.
    """
    works = [work for unit in units for work in unit.list_work(kind)]
    messages = merge_collectives([message for unit in units for message in unit.list_collectives(kind)])
    exposed, hidden = messages, tuple[CollectiveCall, ...]()
    hiding: list[LayerWork] = []
    if units:
        exposed, hidden = _split_dispatches(messages, units[0].partition.overlap_with, has_partner=has_partner)
    if hidden and units[0].partition.overlap_with == "batch":
        works = [work._replace(has_partner=work.wait_count > 0) for work in works]
    elif hidden:
        numbers = _list_hiding_layers(units)
        hiding = [work for work in works if work.layer in numbers]
        works = [work for work in works if work.layer not in numbers]
    built = _build_ring_pass(units, kind, works, exposed)
    return built._replace(hidden_calls=hidden, hiding_work=sum_work(hiding))


#: Parts in which tokens travel where experts compute beside them: one of them waits for none. Tutel (Hwang et al. 2022,
#: arXiv 2206.03382, section 4.2) tries 1, 2, 4 and 8.
_PARTS = 4


def _split_dispatches(
    messages: tuple[CollectiveCall, ...], overlap_with: OverlapWith, *, has_partner: bool
) -> tuple[tuple[CollectiveCall, ...], tuple[CollectiveCall, ...]]:
    """Collectives after computing, and those beside it."""
    if overlap_with == "nothing" or (overlap_with == "batch" and not has_partner):
        return messages, ()
    calls = [call for call in messages if call.stream == "expert"]
    exposed = [call for call in messages if call.stream != "expert"]
    if overlap_with != "experts":
        return tuple(exposed), tuple(calls)
    parts = [call._replace(nbytes=-(-call.nbytes // _PARTS)) for call in calls]
    hidden = [call._replace(repeats=call.repeats * (_PARTS - 1)) for call in parts]
    return (*parts, *exposed), tuple(hidden)


def _list_hiding_layers(units: Sequence[ModelUnit]) -> set[int]:
    """Numbers of the layers that compute while tokens travel, where not all of a pass does."""
    is_shared = units[0].partition.overlap_with == "shared"
    return {
        unit.first + i
        for unit in units
        for i, layer in enumerate(unit.layers)
        if (is_shared_expert(layer) if is_shared else layer.experts > 0)
    }


def _build_ring_pass(
    units: Sequence[ModelUnit], kind: str, works: Sequence[LayerWork], messages: tuple[CollectiveCall, ...]
) -> PassTasks:
    """A pass whose attention runs beside the ring of context parallelism, where there is one."""
    c = 1
    if units:
        c = units[0].partition.context
    if c == 1 or kind == WEIGHT or not any(unit.kv_bytes for unit in units):
        return PassTasks(sum_work(works), _NO_WORK, _NO_WORK, (), messages)
    ring = {work.layer for unit in units for work in unit.attention_work}
    plain = sum_work(work for work in works if work.layer not in ring)
    parts = [work for work in works if work.layer in ring]
    behind, beside = (
        sum_work(w._replace(flops=w.flops * s, memory_bytes=w.memory_bytes * s) for w in parts)
        for s in (1 / c, (c - 1) / c)
    )
    hops = [
        CollectiveCall("context", "sendrecv", size, c - 1)
        for unit in units
        if unit.kv_bytes
        for size in _list_hop_bytes(unit, kind)
    ]
    return PassTasks(plain, beside, behind, merge_collectives(hops), messages)


def _list_hop_bytes(unit: ModelUnit, kind: str) -> list[int]:
    """Bytes of a hop: keys and values; in the backward pass their gradients too, and again what is computed again."""
    if kind == FORWARD:
        return [unit.kv_bytes]
    return [2 * unit.kv_bytes] + [unit.kv_bytes] * unit.is_recomputed


def find_partnered_passes(orders: Iterable[PassOrder]) -> set[tuple[int, Action]]:
    """Find the passes beside which their rank runs one of another microbatch in the other direction, right before or
    behind it: what tokens of one wait for does not hold up the other. The first forward and the last backward passes of
    a step have none.

    Args:
        orders: The passes of each rank, in order.

    Returns:
        Rank and pass of each.
    """
    partnered = set()
    for rank, order in enumerate(orders):
        passes = [action for entry in order for action in entry if action.kind != WEIGHT]
        for first, second in pairwise(passes):
            is_turn = (first.kind == FORWARD) != (second.kind == FORWARD)
            if is_turn and first.microbatch != second.microbatch:
                partnered |= {(rank, first), (rank, second)}
    return partnered


def _sum_resident_bytes(units: Iterable[ModelUnit], starts: Iterable[int]) -> dict[int, float]:
    """Bytes of the activations of units that began together: by the first layer of what one task computes."""
    total: dict[int, float] = {}
    for unit in units:
        first = max(start for start in starts if start <= unit.first)
        total[first] = total.get(first, 0.0) + unit.resident_bytes
    return total


class SplitBuilder:
    """One step of a Split under construction."""

    def __init__(self, split: Split, workload: Workload):
        """Place the groups and divide the model over stages.

        Args:
            split: The strategy.
            workload: Model, GPUs, samples and types of the step.
        """
        self.split, self.workload, self.step_builder = split, workload, StepBuilder()
        self.placement, self.stages = get_placement(split.build_grid(workload.ranks)), split.build_stages(workload)
        self.stage_ranks, self.lanes = split.pipeline.stage_ranks, self.placement.lanes
        self.latest_tasks: list[int | None] = [None] * len(self.lanes)
        self.results: dict[tuple[bool, int, int], tuple[int, int | None]] = {}
        self.passes: dict[tuple[int, str, bool], PassTasks] = {}
        self.boxes: dict[Hashable, int] = {}
        self.sends: dict[tuple[int, bool, int], int | None] = {}
        # Of (microbatch, stage) the tasks with which its activations began, by the first layer of what they compute.
        self.activation_starts: dict[tuple[int, int], dict[int, int]] = {}
        self.resident_bytes: dict[Hashable, dict[int, float]] = {}
        self.backward_peaks: dict[Hashable, tuple[float, float]] = {}
        self.partnered: set[tuple[int, Action]] = set()
        self.replica_sync = ReplicaSync(self)
        if split.data_strategy is not None:
            self.replica_sync = split.data_strategy.create_sync(self)

    # ---- the step ---------------------------------------------------------------------------------------------------

    def build_step(self) -> TrainingStep:
        """The finished step."""
        workload, last = self.workload, len(self.stages) - 1
        boxes = sum(len(stage) if self.replica_sync.is_built_by_unit("B", 0) else 1 for stage in self.stages)
        require_tasks(2 * workload.accumulate * boxes)
        orders = self.split.pipeline.build_orders(workload.accumulate)
        if any(stage[0].partition.overlap_with == "batch" for stage in self.stages if stage):
            self.partnered = find_partnered_passes(orders)
        for rank, entry, read in iterate_passes(orders, last):
            self.add_entry(rank, entry, read)
        self.finish_step()
        resident = tuple(self.replica_sync.count_resident_bytes(lane) for lane in range(len(self.lanes)))
        again = workload.accumulate * sum(
            unit.recomputed_flops * len(self.lanes[self.stage_ranks[s]])
            for s, stage in enumerate(self.stages)
            for unit in stage
        )
        return TrainingStep(
            workload.model,
            self.split.label,
            self.lanes,
            self.step_builder.tasks,
            workload.batch,
            workload.micro_batch,
            workload.dtype,
            resident,
            tuple(self.step_builder.allocations),
            recomputed_flops=again,
            is_pipelined=len(self.lanes) > 1,
        )

    def add_entry(self, lane: int, entry: tuple[Action, ...], read: list[tuple[bool, int, int]]) -> None:
        """Add passes that a rank runs as one, behind what they read; then send what the next stages read.

        Args:
            lane: Lane of the rank.
            entry: The passes.
            read: Results that they read, as `list_inputs` has them.
        """
        waits = tuple(self.add_receive(result, lane) for result in read)
        for action in entry:
            self.add_pass(lane, action, waits)
            waits = ()
        for action in entry:
            if action.kind != WEIGHT:
                self.add_send(lane, action)

    def add_receive(self, result: tuple[bool, int, int], lane: int) -> int:
        """Find the task behind which a result is on a lane; what was sent in parts is gathered.

        Args:
            result: (whether it is of a forward pass, stage, microbatch).
            lane: Lane that reads it.

        Returns:
            Number of the task.
        """
        task, sent = self.results[result]
        if self.stage_ranks[result[1]] == lane or sent is None:
            return task
        parts = self.part_count
        if parts == 1:
            return sent
        behind = self.latest_tasks[lane]
        gather_call = CollectiveCall("tensor", "allgather", self.step_builder.tasks[sent].nbytes * parts)
        return self.add_call(lane, gather_call, result[2], (sent,) if behind is None else (sent, behind))

    @cached_property
    def part_count(self) -> int:
        """In how many parts GPUs that share a layer send its result."""
        cut = next(stage[0].partition for stage in self.stages if stage)
        if self.split.pipeline.scatter and not cut.sequence:
            return cut.tensor
        return 1

    def add_send(self, lane: int, action: Action) -> None:
        """Send what a pass gives to the rank of the stage that reads it.

        Args:
            lane: Lane of the pass.
            action: The pass.
        """
        forward, stage = action.kind == FORWARD, action.stage
        sent, done = None, self.latest_tasks[lane]
        assert done is not None
        if (lane, forward, stage) not in self.sends:
            self.sends[lane, forward, stage] = self._add_send_box(lane, forward, stage)
        box = self.sends[lane, forward, stage]
        if box is not None:
            sent = self.step_builder.tasks.add(box, (done,), action.microbatch)
        self.results[forward, stage, action.microbatch] = done, sent

    def _add_send_box(self, lane: int, forward: bool, stage: int) -> int | None:
        """The box of the sends of a stage; None where the stage that reads it is on the same lane, or there is none."""
        to, sender, name, back = stage + 1, stage, "activations", ""
        if not forward:  # a gradient is as large as the activations that the stage before has sent
            to, sender, name, back = stage - 1, stage - 1, "gradients", " back"
        if not 0 <= to < len(self.stages) or (target := self.stage_ranks[to]) == lane:
            return None
        unit = self.stages[sender][-1:]
        size = 0
        if unit:
            size = round(unit[0].input_bytes / self.part_count)
        pairs, stream = self.placement.pair_lanes(lane, target), f"pipeline {lane}-{target}{back}"
        return self.step_builder.add_box(
            StepTask(name, "send", (lane, target), stream, nbytes=size, ranks=pairs[0], groups=pairs)
        )

    # ---- passes -----------------------------------------------------------------------------------------------------

    def add_pass(self, lane: int, action: Action, waits: tuple[int, ...]) -> None:
        """Add one pass through a stage: as one box, or unit by unit.

        Args:
            lane: Lane of the stage.
            action: The pass.
            waits: Tasks that it waits for.
        """
        kind, stage, micro = action
        units, first = self.stages[stage], len(self.step_builder.tasks)
        if not self.replica_sync.is_built_by_unit(kind, micro):
            name = self.workload.model.name
            if len(self.stages) > 1:
                name = f"stage {stage}"
            begun = self.add_pass_tasks(lane, name, (stage, kind), units, action, waits)
            self.add_activations(lane, action, units, begun)
            if kind in ("B", "W"):
                self.replica_sync.add_gradients(lane, units, micro, begun)
            return
        if kind == FORWARD:
            numbers = range(len(units))
        else:
            numbers = range(len(units) - 1, -1, -1)
        for i in numbers:
            unit = units[i]
            before = self.replica_sync.prepare_unit(lane, stage, i, kind, micro)
            begun = self.add_pass_tasks(lane, unit.name, (stage, f"{kind} {i}"), (unit,), action, (*waits, *before))
            self.add_activations(lane, action, (unit,), begun)
            self.replica_sync.finish_unit(lane, stage, i, kind, micro)
            if kind in ("B", "W"):
                self.replica_sync.add_gradients(lane, (unit,), micro, begun)
            waits = ()
        assert len(self.step_builder.tasks) > first or not units

    def add_pass_tasks(
        self,
        lane: int,
        name: str,
        key: tuple[int, str],
        units: Sequence[ModelUnit],
        action: Action,
        waits: tuple[int, ...],
    ) -> int:
        """Add the tasks of a pass through units. Each waits for the one before.

        Args:
            lane: Lane of the stage.
            name: Name of the box.
            key: Key of equal passes, which are built once.
            units: The units.
            action: The pass.
            waits: Tasks that the first one waits for.

        Returns:
            Number of the first task.
        """
        kind, _, micro = action
        has_partner = (lane, action) in self.partnered
        if (*key, has_partner) not in self.passes:
            self.passes[*key, has_partner] = build_pass(units, kind, has_partner=has_partner)
        what = self.passes[*key, has_partner]
        layer = units[0].first if len(units) == 1 and len(units[0].layers) == 1 else -1
        behind = self.latest_tasks[lane]
        if behind is not None:
            waits = (*waits, behind)
        begun = last = self.add_compute(name, kind, lane, what.plain_work, micro, layer, waits)
        if what.ring_hops:
            ring = [self.add_call(lane, message, micro, (last,)) for message in what.ring_hops]
            last = self.add_compute(f"{name}, attention", kind, lane, what.overlapped_work, micro, layer, (last,))
            last = self.add_compute(f"{name}, attention", kind, lane, what.final_work, micro, layer, (last, *ring))
        if what.hidden_calls:
            last = self.add_hidden_calls(lane, f"{name}, experts", what, action, waits, last)
        for message in what.collectives:
            last = self.add_call(lane, message, micro, (last,))
        self.latest_tasks[lane] = last
        return begun

    def add_hidden_calls(
        self, lane: int, name: str, what: PassTasks, action: Action, waits: tuple[int, ...], computed: int
    ) -> int:
        """Add tokens on their way to experts, and what is computed beside them.

        Args:
            lane: Lane of the stage.
            name: Name of what is computed.
            what: The pass.
            action: The same as an entry of the pipeline's order.
            waits: Tasks that the pass waits for.
            computed: Task that has computed the rest of the pass.

        Returns:
            Number of the task behind which both are done.
        """
        kind, _, micro = action
        last, after = computed, waits
        if what.hiding_work.layer_work:
            after = (computed,)
            last = self.add_compute(name, kind, lane, what.hiding_work, micro, -1, after)
        calls = [self.add_call(lane, call, micro, after) for call in what.hidden_calls]
        # A box without work waits for both: which of them ends later is not known before they are timed.
        return self.add_compute(name, kind, lane, _NO_WORK, micro, -1, (last, *calls))

    def add_compute(
        self, name: str, kind: str, lane: int, what: ComputedWork, micro: int, layer: int, after: tuple[int, ...]
    ) -> int:
        """Add one box of computing.

        Args:
            name: Name of the box.
            kind: Kind of pass: F, B, I or W.
            lane: Number of the lane.
            what: What it computes.
            micro: Number of the microbatch.
            layer: Number of its only layer, -1 for several.
            after: Tasks that it waits for.

        Returns:
            Number of the task.
        """
        key = name, kind, lane, id(what), layer  # work lives as long as the step is built
        if key not in self.boxes:
            box = StepTask(name, _KINDS[kind], (lane,), layer=layer, layer_work=what.layer_work)
            self.boxes[key] = self.step_builder.add_box(
                replace(box, flops=what.flops, memory_bytes=what.memory_bytes, ops=what.ops)
            )
        return self.step_builder.tasks.add(self.boxes[key], after, micro)

    def add_call(self, lane: int, message: CollectiveCall, micro: int, after: tuple[int, ...]) -> int:
        """Add a collective of the lane's groups.

        Args:
            lane: Number of the lane.
            message: The collective.
            micro: Number of the microbatch.
            after: Tasks that it waits for.

        Returns:
            Number of the task.
        """
        if (lane, message) not in self.boxes:
            stream, kind, nbytes, times, named, options = message
            name = named or stream
            groups = self.placement.stream_groups[name][lane]
            box = StepTask(name, kind, (lane,), stream, nbytes=nbytes, options=options, repeats=times)
            self.boxes[lane, message] = self.step_builder.add_box(replace(box, ranks=groups[0], groups=groups))
        return self.step_builder.tasks.add(self.boxes[lane, message], after, micro)

    def add_collective(
        self,
        lane: int,
        stream: str,
        kind: str,
        name: str,
        groups: Groups,
        nbytes: int,
        after: tuple[int, ...],
        micro: int = 0,
        *,
        times: int = 1,
        bucket: int = -1,
    ) -> int:
        """A collective that all groups of a lane run at the same time."""
        rest: TaskOptions = {
            "dependencies": after,
            "microbatch": micro,
            "nbytes": nbytes,
            "repeats": times,
            "bucket": bucket,
            "stream": stream,
            "ranks": groups[0],
            "groups": groups,
        }
        return self.step_builder.add_task(name, kind, (lane,), **rest)

    # ---- memory -----------------------------------------------------------------------------------------------------

    def add_activations(self, lane: int, action: Action, units: Sequence[ModelUnit], begun: int) -> None:
        """Allocate the activations of a pass; they live from the begin of the forward pass to the end of the backward
        pass.

        Args:
            lane: Lane of the stage.
            action: The pass.
            units: Units that it went through.
            begun: Its first task.
        """
        kind, stage, micro = action
        if not units:
            return
        if kind == FORWARD:
            self.activation_starts.setdefault((micro, stage), {})[units[0].first] = begun
            return
        end = self.latest_tasks[lane]
        assert end is not None
        if kind == INPUT:
            more = max((u.recomputed_bytes for u in units), default=0.0)
            self.step_builder.add_allocation(lane, "activations", more, begun, end)
            return
        starts = self.activation_starts[micro, stage]
        key: Hashable = (units[0].first, len(units), *starts)
        if key not in self.resident_bytes:
            self.resident_bytes[key] = _sum_resident_bytes(units, starts)
        resident = self.resident_bytes[key]
        for first, nbytes in resident.items():
            self.step_builder.add_allocation(lane, "activations", nbytes, starts[first], end)
        # A box has no moments inside: all of its activations and gradients live through it. What the pass never holds
        # at the same time is taken off, so that the box is as full as the same pass unit by unit.
        gradients = [self.replica_sync.count_new_gradient_bytes(unit) for unit in units]
        key = units[0].first, len(units), tuple(gradients), kind != WEIGHT
        if key not in self.backward_peaks:
            self.backward_peaks[key] = find_backward_peak(units, gradients, recomputes=kind != WEIGHT)
        activation_peak, gradient_peak = self.backward_peaks[key]
        self.step_builder.add_allocation(lane, "activations", activation_peak - sum(resident.values()), begun, end)
        self.step_builder.add_allocation(lane, "gradients", gradient_peak - sum(gradients), begun, end)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def finish_step(self) -> None:
        """Gradients are whole, then the optimizer runs on every lane."""
        waits = [self.replica_sync.finish_lane(lane) for lane in range(len(self.lanes))]
        self.add_tied_gradients(waits)
        for lane, listed in enumerate(waits):
            behind = self.latest_tasks[lane]
            after = listed
            if behind is not None:
                after = (*listed, behind)
            moved = OPTIMIZERS[self.workload.optimizer][1] * self.replica_sync.weight_bytes / 4
            if self.replica_sync.has_wide_weights:  # a copy of the weights in 16 bits is written too
                moved += self.replica_sync.item_bytes
            count = self.replica_sync.count_updated_parameters(lane)
            number = self.step_builder.add_task(
                "optimizer", "optimizer", (lane,), dependencies=after, memory_bytes=float(moved * count), ops=1
            )
            self.replica_sync.finish_update(lane, number)

    def add_tied_gradients(self, waits: list[tuple[int, ...]]) -> None:
        """Add up the gradients of a matrix that first and last stage share (Megatron-LM,
        megatron/core/distributed/finalize_model_grads.py).

        Args:
            waits: Of each lane the tasks that its optimizer waits for; the sum is added to those of the two stages.
        """
        first, last = self.stage_ranks[0], self.stage_ranks[-1]
        if first == last or not count_tied_elements(self.workload.model):
            return
        unit = self.stages[-1][-1]
        size = self.replica_sync.count_gradient_bytes(-(-unit.tied_elements // unit.partition.tensor))
        pairs = self.placement.pair_lanes(first, last)
        after = tuple(
            dict.fromkeys(
                [*waits[first], *waits[last], *(n for n in (self.latest_tasks[first], self.latest_tasks[last]) if n)]
            )
        )
        rest: TaskOptions = {
            "stream": "replicate",
            "dependencies": after,
            "nbytes": size,
            "ranks": pairs[0],
            "groups": pairs,
        }
        task = self.step_builder.add_task("embedding", "allreduce", (first, last), **rest)
        for lane in (first, last):
            waits[lane] = (*waits[lane], task)
