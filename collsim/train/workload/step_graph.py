"""A step of training as data: a DAG of tasks on streams, without a clock.

A task is one box: compute on GPUs, or a collective of a group. GPUs that do the same at the same time share a lane. A
task waits for its dependencies, and for the task before it in each of its streams. Tasks are listed in the order of
issue: each behind everything that it waits for, and as early as it can be. So whatever runs during a compute task and
slows it down is listed before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict, overload

import numpy as np

from ...dtypes import Floats
from ...errors import CollsimError
from ...limits import MAX_TASKS, require_few
from .model import Model

if TYPE_CHECKING:
    from typing import Unpack

    import pandas as pd

    from ...schedule import Schedule
    from ...topology import Topology

#: Streams of a lane. A collective of tensor, context, expert or pipeline parallelism has a stream of its own.
COMPUTE, NETWORK, SERVERS = "compute", "network", "servers"
#: Kinds of task that compute; all other kinds are names of collectives.
COMPUTE_KINDS = ("forward", "backward", "dgrad", "wgrad", "copy", "optimizer")
#: Strategies whose collectives run on a stream of the same name.
_STREAM_STRATEGIES = ("tensor", "context", "expert")

#: Ranks of one group of a collective.
Ranks: TypeAlias = tuple[int, ...]
#: Options of a collective's algorithm, by name.
CollectiveOptions: TypeAlias = tuple[tuple[str, int | str], ...]
#: (lane, kind, bytes, first task, last task): memory from the begin of one task to the end of another.
Allocation: TypeAlias = tuple[int, str, float, int, int]
#: (begin, end) in s, in order and without overlaps.
Spans: TypeAlias = list[tuple[float, float]]


class LayerWork(NamedTuple):
    """What a box of several layers does in one of them, on each of its GPUs.

    Attributes:
        layer: Number of the layer in its model.
        flops: Floating point operations.
        memory_bytes: Bytes of memory that are read and written.
        ops: Operations that are launched.
        is_backward: Whether this is (part of) the layer's backward pass.
        width: `Layer.width` on this GPU.
        wait_count: Number of collectives that the pass waits for.
        has_partner: Whether its tokens travel beside a pass of another microbatch.
    """

    layer: int
    flops: float
    memory_bytes: float
    ops: float
    is_backward: bool = False
    width: int = 0
    wait_count: int = 0
    has_partner: bool = False


@dataclass(frozen=True)
class StepTask:
    """One box of a `TrainingStep`.

    Attributes:
        name: For people: a layer's name, or `bucket 2`.
        kind: forward, backward (or its halves dgrad and wgrad), copy, optimizer, or the name of a collective.
        lanes: Numbers of the lanes that it occupies.
        stream: `compute`, or the stream on which it communicates; a communicator has its own, as in NCCL.
        dependencies: Numbers of tasks that must have ended, beyond those before it in its streams.
        layer: Number of its layer, -1 for none.
        microbatch: Number of its microbatch.
        bucket: Number of its bucket, -1 for none.
        flops: Floating point operations of a compute task, on each of its GPUs.
        memory_bytes: Bytes of memory that a compute task reads and writes, on each of its GPUs.
        ops: Operations that a compute task launches, on each of its GPUs.
        nbytes: Size of a collective in bytes, as nccl-tests counts it.
        algorithm: Algorithm of a collective; "" is the library's choice.
        options: Options of that algorithm, as (name, value).
        ranks: Ranks of a collective, the root first; empty where all GPUs of its lanes take part.
        layer_work: The work layer by layer, where one box computes several layers.
        groups: Ranks of each group, where several groups of the lanes run the collective at the same time; `ranks` are
            those of one of them.
        repeats: How many times the collective runs, back to back.

    Examples:
        >>> StepTask("bucket 0", "allreduce", (0,), stream="network", nbytes=2**20).is_compute
        False
    """

    name: str
    kind: str
    lanes: tuple[int, ...]
    stream: str = COMPUTE
    dependencies: tuple[int, ...] = ()
    layer: int = -1
    microbatch: int = 0
    bucket: int = -1
    flops: float = 0.0
    memory_bytes: float = 0.0
    ops: float = 0
    nbytes: int = 0
    algorithm: str = ""
    options: CollectiveOptions = ()
    ranks: Ranks = ()
    layer_work: tuple[LayerWork, ...] = ()
    groups: tuple[Ranks, ...] = ()
    repeats: int = 1

    @property
    def is_compute(self) -> bool:
        """Whether it computes; otherwise it is a collective."""
        return self.kind in COMPUTE_KINDS

    @property
    def strategy(self) -> str:
        """The parallelism that a collective belongs to: tensor, context, expert, pipeline or data."""
        if self.stream.startswith("pipeline"):
            return "pipeline"
        if self.stream in _STREAM_STRATEGIES:
            return self.stream
        return "data"

    @property
    def is_communication(self) -> bool:
        """Whether it is a collective of its GPUs; the work of servers for other workers is not."""
        return self.stream not in (COMPUTE, SERVERS)


class StepTasks(Sequence[StepTask]):
    """Tasks of a step in order. Most of them differ from others only in their microbatch and in what they wait for, so
    they are stored as columns, and a StepTask is built when it is asked for.

    Attributes:
        boxes: What tasks do, as StepTasks whose dependencies and microbatch do not count.
        box: For each task the number of its box.
        dependencies: For each task the tasks that it waits for, as StepTask has them.
        microbatches: For each task the number of its microbatch.
    """

    def __init__(self, tasks: Iterable[StepTask] = ()):
        """Take over tasks, each with a box of its own.

        Args:
            tasks: Finished tasks.
        """
        self.boxes = list(tasks)
        self.box = list(range(len(self.boxes)))
        self.dependencies = [task.dependencies for task in self.boxes]
        self.microbatches = [task.microbatch for task in self.boxes]
        self._tasks: list[StepTask] = []

    def add(self, box: int, dependencies: tuple[int, ...], microbatch: int = 0) -> int:
        """Append a task.

        Args:
            box: Number of its box.
            dependencies: Tasks that it waits for.
            microbatch: Number of its microbatch.

        Returns:
            The number of the task.

        Raises:
            CollsimError: The step has as many tasks as it may have.
        """
        number = len(self.box)
        if number == MAX_TASKS:
            require_tasks(MAX_TASKS + 1)
        self.box.append(box)
        self.dependencies.append(dependencies)
        self.microbatches.append(microbatch)
        return number

    def spread(self, values: Sequence[float]) -> Floats:
        """Give each task the value of its box.

        Args:
            values: (boxes,) numbers.

        Returns:
            (tasks,) numbers.
        """
        return np.array(values, np.float64)[np.array(self.box, np.int64)]

    def __len__(self) -> int:
        return len(self.box)

    @overload
    def __getitem__(self, number: int) -> StepTask: ...

    @overload
    def __getitem__(self, number: slice) -> list[StepTask]: ...

    def __getitem__(self, number: int | slice) -> StepTask | list[StepTask]:
        """One task by its number, or several."""
        if isinstance(number, slice):
            return list(self)[number]
        number = range(len(self))[number]
        tasks = self._tasks
        if number < len(tasks):
            return tasks[number]
        task = object.__new__(StepTask)  # `replace` takes ten times as long, as it checks and sets every field
        vars(task).update(
            vars(self.boxes[self.box[number]]),
            dependencies=self.dependencies[number],
            microbatch=self.microbatches[number],
        )
        return task

    def __iter__(self) -> Iterator[StepTask]:
        tasks = self._tasks
        if len(tasks) < len(self):
            # Threads of the app share a step, so the list is complete before others see it.
            self._tasks = tasks = [*tasks, *(self[number] for number in range(len(tasks), len(self)))]
        return iter(tasks)

    def __getstate__(self) -> dict[str, object]:
        """What travels to another process: the columns."""
        return vars(self) | {"_tasks": []}


@dataclass(frozen=True, eq=False, repr=False)
class TrainingStep:
    """A finished, read-only DAG of tasks: one step of training of a model under a parallelism strategy.

    Attributes:
        model: The model that is trained.
        label: The strategy as text, for example `tensor(2) * ddp()`.
        lanes: Ranks of each lane; each rank is in exactly one.
        tasks: Tasks in the order in which they are issued.
        samples: Samples that the step trains on, over all GPUs.
        micro_batch: Samples of a GPU that go through the model at once.
        dtype: Type that it computes in.
        resident_bytes: For each lane, bytes that its GPUs hold all the time, by kind.
        allocations: Memory that lives for a part of the step, see `Allocation`.
        staleness: Updates by others between a worker's reading of the weights and its own update; 0 where all workers
            wait for each other.
        recomputed_flops: Floating point operations of all GPUs that are computed a second time (recomputation).
        is_pipelined: Whether lanes are the stages of a pipeline, so that a microbatch goes through all of them.
        optimizer: The optimizer: adam, momentum, sgd or none.

    Examples:
        >>> import collsim as cs
        >>> cs.training_step("resnet50", "dgx-a100", parallel=cs.ddp(), micro_batch=32).step
        <TrainingStep resnet50, ddp(): 236 tasks on 8 GPUs>
    """

    model: Model
    label: str
    lanes: tuple[Ranks, ...]
    tasks: StepTasks
    samples: int
    micro_batch: int
    dtype: str
    resident_bytes: tuple[dict[str, int], ...] = ()
    allocations: tuple[Allocation, ...] = field(default=(), repr=False)
    staleness: int = 0
    recomputed_flops: float = 0.0
    is_pipelined: bool = False
    optimizer: str = "none"

    @property
    def ranks(self) -> int:
        """Number of GPUs that take part."""
        return sum(map(len, self.lanes))

    @cached_property
    def streams(self) -> list[list[int]]:
        """For each box of the tasks the streams that it occupies, numbered over all lanes."""
        numbers: dict[tuple[int, str], int] = {}
        return [
            [numbers.setdefault((lane, box.stream), len(numbers)) for lane in box.lanes] for box in self.tasks.boxes
        ]

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each task the tasks it waits for: its dependencies, and the task before it in each of its streams.

        Raises:
            CollsimError: A task depends on one that is not listed before it.
        """
        latest: dict[int, int] = {}
        predecessors = []
        for number, (box, dependencies) in enumerate(zip(self.tasks.box, self.tasks.dependencies, strict=True)):
            waits = dependencies
            for stream in self.streams[box]:
                before = latest.get(stream)
                if before is not None and before not in waits:
                    waits = (*waits, before)
                latest[stream] = number
            if len(waits) > 1:
                waits = tuple(sorted(set(waits)))
            if waits and not 0 <= waits[0] <= waits[-1] < number:
                message = "task {number} ({name}) waits for a task that is not listed before it: {waits}"
                name = self.tasks[number].name
                raise CollsimError(message, number=number, name=name, waits=set(dependencies))
            predecessors.append(waits)
        return tuple(predecessors)

    @cached_property
    def collectives(self) -> tuple[int, ...]:
        """Numbers of the tasks that are collectives."""
        is_collective = [not box.is_compute for box in self.tasks.boxes]
        return tuple(number for number, box in enumerate(self.tasks.box) if is_collective[box])

    def get_ranks(self, task: StepTask) -> Ranks:
        """The ranks of a collective `task`; of one of its groups, where several run it at the same time.

        Args:
            task: A collective of this step.
        """
        return task.ranks or tuple(rank for lane in task.lanes for rank in self.lanes[lane])

    def get_groups(self, task: StepTask) -> tuple[Ranks, ...]:
        """The ranks of each group that runs the collective `task` at the same time.

        Args:
            task: A collective of this step.
        """
        return task.groups or (self.get_ranks(task),)

    def build_schedule(self, number: int, topology: Topology) -> Schedule:
        """Build the schedule that a collective of the step runs.

        Args:
            number: Number of the task.
            topology: Topology that it runs on.

        Returns:
            The schedule; its rank r is the r-th of the collective's ranks.
        """
        from .collective_model import CollectiveModel

        task = self.tasks[number]
        return CollectiveModel(topology).build_schedule(self.get_ranks(task), task)

    @cached_property
    def flops(self) -> float:
        """Floating point operations of all GPUs: three forward passes of every sample (a backward pass counts as
        two)."""
        return 3.0 * self.model.flops * self.samples

    def to_frame(self) -> pd.DataFrame:
        """A row per task: the attributes of `StepTask`, with all tasks that it waits for as dependencies."""
        from ...errors.dependencies import pandas as pd

        rows = [
            {**vars(task), "dependencies": waits} for task, waits in zip(self.tasks, self.predecessors, strict=True)
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"<TrainingStep {self.model.name}, {self.label}: {len(self.tasks)} tasks on {self.ranks} GPUs>"


def require_tasks(count: int) -> None:
    """Raise CollsimError if `count` is more tasks than a step may have."""
    require_few("tasks in a step of training", count, MAX_TASKS, "use fewer microbatches")


class TaskOptions(TypedDict, total=False):
    """Attributes of a `StepTask` beside its name, kind and lanes."""

    stream: str
    dependencies: tuple[int, ...]
    layer: int
    microbatch: int
    bucket: int
    flops: float
    memory_bytes: float
    ops: float
    nbytes: int
    algorithm: str
    options: CollectiveOptions
    ranks: Ranks
    layer_work: tuple[LayerWork, ...]
    groups: tuple[Ranks, ...]
    repeats: int


class StepBuilder:
    """Collects the tasks of a step in order, and the memory that they keep allocated.

    Attributes:
        tasks: Tasks so far.
        allocations: Allocations so far.
    """

    def __init__(self) -> None:
        self.tasks = StepTasks()
        self.allocations: list[Allocation] = []

    def add_task(self, name: str, kind: str, lanes: Sequence[int], **options: Unpack[TaskOptions]) -> int:
        """Add a task.

        Args:
            name: Name for people.
            kind: Kind of task, see `StepTask`.
            lanes: Numbers of its lanes.
            **options: Other attributes of `StepTask`; the stream follows from the kind unless it is given.

        Returns:
            The number of the task.

        Raises:
            CollsimError: The step has as many tasks as it may have.
        """
        options.setdefault("stream", COMPUTE if kind in COMPUTE_KINDS else NETWORK)
        task = StepTask(name, kind, tuple(lanes), **options)
        return self.tasks.add(self.add_box(task), task.dependencies, task.microbatch)

    def add_box(self, box: StepTask) -> int:
        """Add a box that tasks share.

        Args:
            box: What they do.

        Returns:
            The number of the box, for `StepTasks.add`.
        """
        self.tasks.boxes.append(box)
        return len(self.tasks.boxes) - 1

    def add_allocation(self, lane: int, kind: str, nbytes: float, first: int, last: int) -> None:
        """Allocate memory on each GPU of a lane for a part of the step.

        Args:
            lane: Number of the lane.
            kind: What it holds: activations, gradients ...
            nbytes: Bytes of a GPU.
            first: Task with whose begin it is allocated.
            last: Task with whose end it is freed.
        """
        if nbytes:
            self.allocations.append((lane, kind, nbytes, first, last))


def list_busy_spans(step: TrainingStep, begin: Floats, end: Floats) -> tuple[list[Spans], list[Spans]]:
    """List when the GPUs of each lane are busy.

    Args:
        step: The step.
        begin: (tasks,) s.
        end: (tasks,) s.

    Returns:
        For each lane the times in which its GPUs compute, and those in which they communicate.
    """
    compute: list[Spans] = [[] for _ in step.lanes]
    network: list[Spans] = [[] for _ in step.lanes]
    for task, first, last in zip(step.tasks, begin.tolist(), end.tolist(), strict=True):
        if last <= first:
            continue
        for lane in task.lanes:
            if task.stream == COMPUTE:
                compute[lane].append((first, last))
            elif task.is_communication:
                network[lane].append((first, last))
    return compute, network
