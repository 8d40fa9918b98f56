"""A step of training as data: tasks on streams, without a clock.

A task is one box: compute on GPUs, or a collective of a group. GPUs that do the same at the same time share a lane. A
task waits for those that it names, and for the one before it in each of its streams; it is listed behind all that it
waits for, and as soon as it can be: what runs beside a compute task and can make it slower is listed before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ...limits import MOST_TASKS, require_few
from .model import Model

if TYPE_CHECKING:
    import pandas as pd

COMPUTE, NETWORK, SERVERS = "compute", "network", "servers"
#: Kinds of task that compute; all others are collectives, by their names.
WORKING = ("forward", "backward", "dgrad", "wgrad", "copy", "optimizer")


class LayerWork(NamedTuple):
    """What a box of several layers does of one of them, on each of its GPUs: the layer's number, floating point
    operations, bytes of memory, kernels; whether that is (part of) its backward pass; its width there; and how many
    collectives it waits for."""

    layer: int
    flops: float
    moved: float
    ops: float
    back: bool = False
    width: int = 0
    waits: int = 0


@dataclass(frozen=True)
class StepTask:
    """One box of a TrainingStep.

    Attributes:
        name: for people: a layer's, or `bucket 2`. kind: forward, backward (or its halves, dgrad and wgrad),
            copy, optimizer, or a collective's name.
        lanes: numbers of the lanes it occupies. stream: compute, or one of those on which it communicates: a
            communicator has its own, as NCCL has.
        after: numbers of tasks that must have ended, beyond those before it in its streams.
        layer: number of its layer, -1 for none. micro: microbatch. bucket: number of its bucket, -1 for none.
        flops, moved, ops: floating point operations, bytes of memory and kernels of a compute task, on each of its
            GPUs.
        nbytes: of a collective, nccl-tests' size. algorithm, options: of a collective; "" is the library's choice.
        ranks: a collective's, its root first; empty where all GPUs of its lanes take part.
        work: layer by layer, where a box computes several.
        groups: of a collective that several groups of its lanes run at the same time, the ranks of each; `ranks` are
            those of one of them. times: how many of it come one behind another.
    """

    name: str
    kind: str
    lanes: tuple[int, ...]
    stream: str = COMPUTE
    after: tuple[int, ...] = ()
    layer: int = -1
    micro: int = 0
    bucket: int = -1
    flops: float = 0.0
    moved: float = 0.0
    ops: int = 0
    nbytes: int = 0
    algorithm: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    ranks: tuple[int, ...] = ()
    work: tuple[LayerWork, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    times: int = 1

    @property
    def computes(self) -> bool:
        """Compute, not a collective."""
        return self.kind in WORKING

    @property
    def way(self) -> str:
        """The way of splitting that a collective is of: tensor, context, expert, pipeline or data."""
        if self.stream.startswith("pipeline"):
            return "pipeline"
        return self.stream if self.stream in ("tensor", "context", "expert") else "data"

    @property
    def communicates(self) -> bool:
        """A collective of its GPUs, not the work of servers for others."""
        return self.stream not in (COMPUTE, SERVERS)


@dataclass(frozen=True, eq=False, repr=False)
class TrainingStep:
    """A finished, read-only DAG of tasks: one step of training of a model, split in some way.

    Attributes:
        model: what is trained. says: how it is split, in words.
        lanes: the ranks of each lane; each rank is in one.
        tasks: in the order in which they are issued.
        samples: that the step trains on, over all GPUs. micro_batch: samples of a GPU that go through the model at
            once.
        dtype: that it computes in. held: bytes that each lane's GPUs hold all the time, by kind.
        alive: (lane, kind, bytes, task, task): memory from the begin of a task to the end of another.
        staleness: updates by others between a worker's reading of the weights and its own update; 0 where all wait for
            all.
        again: floating point operations of all GPUs that are computed a second time (recomputation).
        stages: lanes are the stages of a pipeline, and a microbatch goes through all of them.
    """

    model: Model
    says: str
    lanes: tuple[tuple[int, ...], ...]
    tasks: tuple[StepTask, ...]
    samples: int
    micro_batch: int
    dtype: str
    held: tuple[dict[str, int], ...] = ()
    alive: tuple[tuple[int, str, float, int, int], ...] = field(default=(), repr=False)
    staleness: int = 0
    again: float = 0.0
    stages: bool = False

    @property
    def ranks(self) -> int:
        """GPUs that take part."""
        return sum(map(len, self.lanes))

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """For each task the tasks it waits for: those it names, and the one before it in each of its streams."""
        last: dict[tuple[int, str], int] = {}
        out = []
        for number, task in enumerate(self.tasks):
            waits = set(task.after)
            if waits and not 0 <= min(waits) <= max(waits) < number:
                why = "task {number} ({name}) waits for a task that is not listed before it: {waits}"
                raise CollsimError(why, number=number, name=task.name, waits=waits)
            for lane in task.lanes:
                if (lane, task.stream) in last:
                    waits.add(last[lane, task.stream])
                last[lane, task.stream] = number
            out.append(tuple(sorted(waits)))
        return tuple(out)

    @cached_property
    def collectives(self) -> tuple[int, ...]:
        """Numbers of the tasks that are collectives."""
        return tuple(i for i, task in enumerate(self.tasks) if not task.computes)

    def group(self, task: StepTask) -> tuple[int, ...]:
        """The ranks of a collective; of one of its groups, where several run it at the same time."""
        return task.ranks or tuple(rank for lane in task.lanes for rank in self.lanes[lane])

    def schedule(self, number: int, topology: Any) -> Any:
        """A collective of the step as what it is: the Schedule that is run on the topology, for its ranks in their
        order."""
        from .collectives import Collectives

        return Collectives(topology).plan(self.group(self.tasks[number]), self.tasks[number])

    def groups(self, task: StepTask) -> tuple[tuple[int, ...], ...]:
        """The ranks of each group that runs a collective at the same time."""
        return task.groups or (self.group(task),)

    @cached_property
    def flops(self) -> float:
        """Floating point operations of all GPUs: three forward passes of every sample (a backward pass counts as
        two)."""
        return 3.0 * self.model.flops * self.samples

    def to_frame(self) -> pd.DataFrame:
        """A row per task: the attributes of StepTask, with the tasks it waits for."""
        import pandas as pd

        rows = [{**vars(task), "after": before} for task, before in zip(self.tasks, self.before, strict=True)]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"<TrainingStep {self.model.name}, {self.says}: {len(self.tasks)} tasks on {self.ranks} GPUs>"


def require_tasks(count: int) -> None:
    """Raises CollsimError for more tasks than a step may have."""
    require_few("tasks in a step of training", count, MOST_TASKS, "use fewer microbatches")


class Writer:
    """Lists tasks one behind another, and what memory they keep alive. Raises CollsimError for too many."""

    def __init__(self) -> None:
        self.tasks: list[StepTask] = []
        self.alive: list[tuple[int, str, float, int, int]] = []

    def add(self, name: str, kind: str, lanes: Sequence[int], **rest: Any) -> int:
        """One more task; its number."""
        rest.setdefault("stream", COMPUTE if kind in WORKING else NETWORK)
        if len(self.tasks) == MOST_TASKS:
            require_tasks(MOST_TASKS + 1)
        self.tasks.append(StepTask(name, kind, tuple(lanes), **rest))
        return len(self.tasks) - 1

    def keep(self, lane: int, kind: str, nbytes: float, first: int, last: int) -> None:
        """So many bytes on each GPU of a lane from the begin of one task to the end of another."""
        if nbytes:
            self.alive.append((lane, kind, nbytes, first, last))


Spans = list[tuple[float, float]]


def spans(
    step: TrainingStep, begin: npt.NDArray[np.float64], end: npt.NDArray[np.float64]
) -> tuple[list[Spans], list[Spans]]:
    """Of each lane the times in which its GPUs compute, and in which they communicate."""
    compute: list[Spans] = [[] for _ in step.lanes]
    network: list[Spans] = [[] for _ in step.lanes]
    for task, a, b in zip(step.tasks, begin.tolist(), end.tolist(), strict=True):
        if b > a and (task.stream == COMPUTE or task.communicates):
            for lane in task.lanes:
                (compute if task.stream == COMPUTE else network)[lane].append((a, b))
    return compute, network
