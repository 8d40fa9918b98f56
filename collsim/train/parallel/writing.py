"""The TrainingStep of a Split: stages of a pipeline are lanes; passes, and collectives over tensor, context and expert
parallel groups, in the order in which the pipeline's schedule issues them.

A pass is one box for all layers of a stage, followed by its collectives, each as often as it comes: they do not run
beside computing anyway. Where gradients or weights move beside a pass (sharded or bucketed data parallelism), it is a
box for each unit of the model. A ring of context parallelism runs beside all blocks of attention but the last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ..pipelines.clock import in_turn
from ..pipelines.orders import FORWARD, INPUT, WEIGHT, Action
from ..workload.step_graph import LayerWork, StepBuilder, TaskOptions, TrainingStep, require_tasks
from .placement import Groups, placed
from .replicas import Replicas, replicas_of
from .strategy import OPTIMIZERS, Workload
from .units import Message, Unit, copied, together

if TYPE_CHECKING:
    from .split import Split

_KINDS = {"F": "forward", "B": "backward", "I": "dgrad", "W": "wgrad"}


class Computed(NamedTuple):
    """What one task computes: layer by layer, and in all."""

    work: tuple[LayerWork, ...]
    flops: float
    moved: float
    ops: float


def computed(works: Iterable[LayerWork]) -> Computed:
    """Works with their sums."""
    listed = tuple(works)
    return Computed(listed, *(math.fsum(work[i] for work in listed) for i in (1, 2, 3)))


@dataclass(frozen=True, eq=False)
class PassBox:
    """A pass through units, as tasks: what is computed before, beside and behind the ring of context parallelism, its
    hops, and the collectives at the end."""

    plain: Computed
    beside: Computed
    behind: Computed
    hops: tuple[Message, ...]
    messages: tuple[Message, ...]


def box(units: Sequence[Unit], kind: str) -> PassBox:
    """The tasks of a pass through units."""
    works = [(work, unit) for unit in units for work in unit.computes(kind)]
    messages = together([message for unit in units for message in unit.sends(kind)])
    c = units[0].cut.context if units else 1
    if c == 1 or kind == WEIGHT or not any(unit.keys for unit in units):
        return PassBox(computed(work for work, _ in works), computed(()), computed(()), (), messages)
    ring = {work.layer for unit in units for work in unit.attention}
    plain = computed(work for work, _ in works if work.layer not in ring)
    parts = [work for work, _ in works if work.layer in ring]
    behind, beside = (
        computed(w._replace(flops=w.flops * s, memory_bytes=w.memory_bytes * s) for w in parts)
        for s in (1 / c, (c - 1) / c)
    )
    hops = [Message("context", "sendrecv", size, c - 1) for unit in units if unit.keys for size in _hops(unit, kind)]
    return PassBox(plain, beside, behind, together(hops), messages)


def _hops(unit: Unit, kind: str) -> list[int]:
    """Bytes of a hop: keys and values; in the backward pass their gradients too, and again what is computed again."""
    if kind == FORWARD:
        return [unit.keys]
    return [2 * unit.keys] + [unit.keys] * unit.full


class SplitWriting:
    """One step of a Split under construction."""

    def __init__(self, split: Split, asked: Workload):
        self.split, self.asked, self.out = split, asked, StepBuilder()
        self.placed, self.stages = placed(split.grid(asked.ranks)), split.stages(asked)
        self.stage_ranks, self.lanes = split.pipe.stage_ranks, self.placed.lanes
        self.last: list[int | None] = [None] * len(self.lanes)
        self.results: dict[tuple[bool, int, int], tuple[int, int | None]] = {}
        self.boxes: dict[tuple[int, str], PassBox] = {}
        self.data: Replicas = replicas_of(self)

    # ---- the step ---------------------------------------------------------------------------------------------------

    def step(self) -> TrainingStep:
        """The finished step."""
        asked, last = self.asked, len(self.stages) - 1
        boxes = sum(len(stage) if self.data.by_unit("B", 0) else 1 for stage in self.stages)
        require_tasks(2 * asked.accumulate * boxes)
        for rank, entry, read in in_turn(self.split.pipe.orders(asked.accumulate), last):
            self.entry(rank, entry, read)
        self.finish()
        held = tuple(self.data.states(lane) for lane in range(len(self.lanes)))
        again = asked.accumulate * sum(
            unit.again * len(self.lanes[self.stage_ranks[s]]) for s, stage in enumerate(self.stages) for unit in stage
        )
        return TrainingStep(
            asked.model,
            self.split.says,
            self.lanes,
            tuple(self.out.tasks),
            asked.batch,
            asked.micro_batch,
            asked.dtype,
            held,
            tuple(self.out.allocations),
            recomputed_flops=again,
            is_pipelined=len(self.lanes) > 1,
        )

    def entry(self, lane: int, entry: tuple[Action, ...], read: list[tuple[bool, int, int]]) -> None:
        """Passes that a rank runs as one, behind what they read; then what the next stages read is sent."""
        waits = tuple(self.arrived(result, lane) for result in read)
        for action in entry:
            self.passed(lane, action, waits)
            waits = ()
        for action in entry:
            if action.kind != WEIGHT:
                self.hand_on(lane, action)

    def arrived(self, result: tuple[bool, int, int], lane: int) -> int:
        """The task behind which a result is on a lane: what was sent in parts is gathered."""
        task, sent = self.results[result]
        if self.stage_ranks[result[1]] == lane or sent is None:
            return task
        parts = self.parts
        if parts == 1:
            return sent
        behind = self.last[lane]
        whole = Message("tensor", "allgather", self.out.tasks[sent].nbytes * parts)
        return self.message(lane, whole, result[2], (sent,) if behind is None else (sent, behind))

    @property
    def parts(self) -> int:
        """In how many parts GPUs that share a layer send its result."""
        cut = next(stage[0].cut for stage in self.stages if stage)
        return cut.tensor if self.split.pipe.scatter and not cut.sequence else 1

    def hand_on(self, lane: int, action: Action) -> None:
        """Send what the pass gives to the rank of the stage that reads it."""
        forward, stage = action.kind == FORWARD, action.stage
        to, sent, done = stage + (1 if forward else -1), None, self.last[lane]
        assert done is not None
        if 0 <= to < len(self.stages) and (target := self.stage_ranks[to]) != lane:
            unit = self.stages[stage if forward else to][-1:]
            size = round(unit[0].arrives / self.parts) if unit else 0
            pairs, name = self.placed.pairs(lane, target), "activations" if forward else "gradients"
            stream = f"pipeline {lane}-{target}{'' if forward else ' back'}"
            rest: TaskOptions = {"stream": stream, "dependencies": (done,), "microbatch": action.micro, "nbytes": size}
            rest |= {"ranks": pairs[0], "groups": pairs}
            sent = self.out.add_task(name, "send", (lane, target), **rest)
        self.results[forward, stage, action.micro] = done, sent

    # ---- passes -----------------------------------------------------------------------------------------------------

    def passed(self, lane: int, action: Action, waits: tuple[int, ...]) -> None:
        """One pass through a stage: as one box, or unit by unit."""
        kind, stage, micro = action
        units, first = self.stages[stage], len(self.out.tasks)
        if not self.data.by_unit(kind, micro):
            name = f"stage {stage}" if len(self.stages) > 1 else self.asked.model.name
            begun = self.boxed(lane, name, (stage, kind), units, kind, micro, waits)
            self.remember(lane, action, units, begun)
            if kind in ("B", "W"):
                self.data.ready(lane, units, micro, begun)
            return
        numbers = range(len(units)) if kind == FORWARD else range(len(units) - 1, -1, -1)
        for i in numbers:
            unit = units[i]
            before = self.data.before(lane, stage, i, kind, micro)
            begun = self.boxed(lane, unit.name, (stage, f"{kind} {i}"), (unit,), kind, micro, (*waits, *before))
            self.remember(lane, action, (unit,), begun)
            self.data.behind(lane, stage, i, kind, micro)
            if kind in ("B", "W"):
                self.data.ready(lane, (unit,), micro, begun)
            waits = ()
        assert len(self.out.tasks) > first or not units

    def boxed(
        self,
        lane: int,
        name: str,
        key: tuple[int, str],
        units: Sequence[Unit],
        kind: str,
        micro: int,
        waits: tuple[int, ...],
    ) -> int:
        """The tasks of a pass through units; the number of the first. Each waits for the one before."""
        if key not in self.boxes:
            self.boxes[key] = box(units, kind)
        what, layer = self.boxes[key], units[0].first if len(units) == 1 and len(units[0].layers) == 1 else -1
        behind = self.last[lane]
        waits = waits if behind is None else (*waits, behind)
        begun = last = self.compute(name, kind, lane, what.plain, micro, layer, waits)
        if what.hops:
            ring = [self.message(lane, message, micro, (last,)) for message in what.hops]
            last = self.compute(f"{name}, attention", kind, lane, what.beside, micro, layer, (last,))
            last = self.compute(f"{name}, attention", kind, lane, what.behind, micro, layer, (last, *ring))
        for message in what.messages:
            last = self.message(lane, message, micro, (last,))
        self.last[lane] = last
        return begun

    def compute(
        self, name: str, kind: str, lane: int, what: Computed, micro: int, layer: int, after: tuple[int, ...]
    ) -> int:
        """One box."""
        rest: TaskOptions = {"dependencies": after, "layer": layer, "microbatch": micro, "layer_work": what.work}
        rest |= {"flops": what.flops, "memory_bytes": what.moved, "ops": what.ops}
        return self.out.add_task(name, _KINDS[kind], (lane,), **rest)

    def message(self, lane: int, message: Message, micro: int, after: tuple[int, ...]) -> int:
        """A collective of the lane's groups."""
        stream, kind, nbytes, times = message
        return self.collective(
            lane, stream, kind, stream, self.placed.streams[stream][lane], nbytes, after, micro, times=times
        )

    def collective(
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
        return self.out.add_task(name, kind, (lane,), **rest)

    # ---- memory -----------------------------------------------------------------------------------------------------

    def remember(self, lane: int, action: Action, units: Sequence[Unit], begun: int) -> None:
        """Activations live from the begin of a forward pass to the end of the backward pass."""
        kind, micro = action.kind, action.micro
        if kind == FORWARD:
            self.begun.update(((micro, unit.first), begun) for unit in units)
            return
        end = self.last[lane]
        assert end is not None
        if kind != WEIGHT:
            self.out.add_allocation(lane, "activations", max((u.rebuilt for u in units), default=0), begun, end)
        if kind != INPUT:
            since: dict[int, float] = {}
            for unit in units:
                first = self.begun.pop((micro, unit.first))
                since[first] = since.get(first, 0.0) + unit.resident
            for first, nbytes in since.items():
                self.out.add_allocation(lane, "activations", nbytes, first, end)

    @cached_property
    def begun(self) -> dict[tuple[int, int], int]:
        """Of (microbatch, first layer of a unit) whose activations are kept, the task with which that began."""
        return {}

    # ---- the end ----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Gradients are whole, then the optimizer runs on every lane."""
        waits = [self.data.finish(lane) for lane in range(len(self.lanes))]
        self.copies(waits)
        for lane, listed in enumerate(waits):
            behind = self.last[lane]
            after = (*listed, *(() if behind is None else (behind,)))
            moved = OPTIMIZERS[self.asked.optimizer][1] + (2 if self.stages[0][0].cut.item < 4 else 0)
            own = self.data.own(lane)
            number = self.out.add_task(
                "optimizer", "optimizer", (lane,), dependencies=after, memory_bytes=float(moved * own), ops=1
            )
            self.data.updated(lane, number)

    def copies(self, waits: list[tuple[int, ...]]) -> None:
        """The gradients of a matrix that first and last stage share are added up (Megatron-LM, megatron/core/
        distributed/finalize_model_grads.py)."""
        first, last = self.stage_ranks[0], self.stage_ranks[-1]
        if first == last or not copied(self.asked.model):
            return
        unit = self.stages[-1][-1]
        size = self.data.gradient_bytes(-(-unit.tied // unit.cut.tensor))
        pairs = self.placed.pairs(first, last)
        after = tuple(
            dict.fromkeys([*waits[first], *waits[last], *(n for n in (self.last[first], self.last[last]) if n)])
        )
        rest: TaskOptions = {
            "stream": "replicate",
            "dependencies": after,
            "nbytes": size,
            "ranks": pairs[0],
            "groups": pairs,
        }
        task = self.out.add_task("embedding", "allreduce", (first, last), **rest)
        for lane in (first, last):
            waits[lane] = (*waits[lane], task)
