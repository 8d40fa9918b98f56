"""What each process of a training step is started with: its boxes, and its part of every collective that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import CollsimError
from ..schedule import Schedule
from ..train import ParallelStrategy, StepTrace, TrainingStep
from ..train.workload.collective_model import CollectiveModel
from ..train.workload.step_graph import StepTask
from .ranks.emulated_network import ImitatedNetwork
from .ranks.endpoint_program import RankProgram, build_programs
from .ranks.rank_process import RankTask
from .ranks.stepping import RankStep, StepBox, StepPart
from .ranks.wire import new_token
from .real_run import RealRun, draw_numbers, parse_dtype, require_few_processes, require_memory

_REDUCES = ("allreduce", "reduce_scatter", "reduce")
_KINDS_OF_NUMBERS = 5  # so that neighbouring collectives do not carry the same ones


@dataclass(frozen=True, eq=False)
class GroupCollective:
    """One collective of one group of ranks.

    Attributes:
        task: number of the step's task.
        places: (endpoints of the schedule,) process of each.
        run: its schedule, size and type.
        first_row: number of its first transfer among those of the step.
    """

    task: int
    places: tuple[int, ...]
    run: RealRun
    first_row: int


class StepPlan:
    """A step as processes run it: its collectives, and who is where."""

    def __init__(self, predicted: StepTrace, network: ImitatedNetwork, algorithm: str, repeat: int, time_limit: float):
        """Prepare a step for processes.

        Args:
            predicted: Its step and topology are what runs.
            network: What the ranks imitate.
            algorithm: Of the step's collectives, one that is registered.
            repeat: Measured runs.
            time_limit: s for all of them.

        Raises:
            CollsimError: The step needs an order that no message tells.
        """
        self.predicted, self.step, self.network = predicted, predicted.step, network
        self.repeat, self.time_limit = repeat, time_limit
        self.known = CollectiveModel(predicted.topology, "links", algorithm)
        require_messages(self.step)

    @cached_property
    def parts(self) -> list[GroupCollective]:
        """All collectives of all groups, in their order; one that comes several times as often."""
        collectives: list[GroupCollective] = []
        row = 0
        for number in self.step.collectives:
            task = self.step.tasks[number]
            for group in self.step.get_groups(task):
                plan = self.known.build_schedule(group, task)
                run, places = self._run(plan, task), self._places(plan, group)
                for _ in range(task.repeats if len(plan) else 0):
                    collectives.append(GroupCollective(number, places, run, row))
                    row += len(plan)
        return collectives

    def _run(self, plan: Schedule, task: StepTask) -> RealRun:
        kind = _find_dtype(self.predicted.request.parallel, task)
        return RealRun(plan, task.nbytes, kind, "sum", self.network, self.repeat, self.time_limit, "here")

    def _places(self, plan: Schedule, group: tuple[int, ...]) -> tuple[int, ...]:
        """Ranks are where they are; helpers of one kind are the same for all collectives, behind the ranks."""
        first = self.step.ranks + (self._servers if plan.helpers_on != "host" else 0)
        return *group, *(first + number for number in range(plan.endpoints - plan.ranks))

    @cached_property
    def _servers(self) -> int:
        """Helpers that are hosts."""
        step, plans = self.step, []
        for number in step.collectives:
            plans += [
                self.known.build_schedule(group, step.tasks[number]) for group in step.get_groups(step.tasks[number])
            ]
        return max((plan.endpoints - plan.ranks for plan in plans if plan.helpers_on == "host"), default=0)

    @property
    def processes(self) -> int:
        """Ranks and helpers."""
        return max([self.step.ranks, *(process + 1 for part in self.parts for process in part.places)])

    def require_memory(self) -> None:
        """Raises CollsimError for more processes or bytes than a computer bears."""
        require_few_processes(self.step.label, self.processes)
        bytes_of_parts = (int(part.run.sizes.sum()) * part.run.dtype.itemsize * len(part.places) for part in self.parts)
        require_memory(self.step.label, sum(bytes_of_parts))

    # ---- what each is told

    def build_rank_steps(self) -> list[RankStep]:
        """For each process what it is told."""
        token, tasks_of_collective = new_token(), dict[object, list[RankTask]]()
        parts_of_process: list[list[tuple[int, StepPart]]] = [[] for _ in range(self.processes)]
        for number, part in enumerate(self.parts):
            # Collectives of equal size get equal tasks, up to a few kinds of numbers; else building them would take
            # longest.
            key = id(part.run.schedule), part.run.nbytes, part.run.dtype, number % _KINDS_OF_NUMBERS
            if key not in tasks_of_collective:
                tasks_of_collective[key] = _build_tasks(part.run, token, key[-1])
            for process, task in zip(part.places, tasks_of_collective[key], strict=True):
                parts_of_process[process].append((part.task, StepPart(task, part.places, part.first_row)))
        return [
            RankStep(
                process,
                self.network,
                token,
                self._boxes(process, [task for task, _ in numbered]),
                tuple(part for _, part in numbered),
                len(self.step.tasks),
            )
            for process, numbered in enumerate(parts_of_process)
        ]

    def _boxes(self, process: int, collectives: list[int]) -> tuple[StepBox, ...]:
        """The tasks of a rank; of a helper its collectives, which wait for nothing but what comes."""
        collectives_of_task: dict[int, tuple[int, ...]] = {}
        for number, task in enumerate(collectives):
            collectives_of_task[task] = (*collectives_of_task.get(task, ()), number)
        # A helper (a server on a host) has no computing, so its collectives wait for messages alone.
        if process >= self.step.ranks:
            return tuple(StepBox(task, (), 0.0, numbers) for task, numbers in collectives_of_task.items())
        lane = next(number for number, ranks in enumerate(self.step.lanes) if process in ranks)
        slow = self.predicted.request.slow.get(process, 1.0)
        own_tasks = [number for number, task in enumerate(self.step.tasks) if lane in task.lanes]
        box_of_task = {number: index for index, number in enumerate(own_tasks)}
        return tuple(
            StepBox(
                number,
                tuple(box_of_task[other] for other in self.step.predecessors[number] if other in box_of_task),
                float(self._seconds[number]) * slow,
                collectives_of_task.get(number, ()),
            )
            for number in own_tasks
        )

    @cached_property
    def _seconds(self) -> Any:
        """(tasks,) s of computing on a rank that is not slow; the prediction's lanes are as slow as their slowest."""
        slow: Mapping[int, float] = self.predicted.request.slow
        lanes = [max([1.0, *(slow.get(rank, 1.0) for rank in ranks)]) for ranks in self.step.lanes]
        return self.predicted.costs.seconds / [max(lanes[lane] for lane in task.lanes) for task in self.step.tasks]


def require_messages(step: TrainingStep) -> None:
    """Check that every order between ranks is told by a message.

    Args:
        step: Its compute tasks may only wait for tasks of their own lanes.

    Raises:
        CollsimError: A computing task waits for what another rank did, and nothing is sent that tells it.
    """
    for task, before in zip(step.tasks, step.predecessors, strict=True):
        for lane in task.lanes if task.is_compute else ():
            for other in (step.tasks[number] for number in before):
                if lane not in other.lanes:
                    template = "{says}: {name} waits for {other} of other ranks, and nothing is sent that tells it"
                    raise CollsimError(template, says=step.label, name=task.name, other=other.name)


def _find_dtype(parallel: ParallelStrategy, task: StepTask) -> np.dtype[np.generic]:
    """Of the numbers that a collective carries: gradients in the type that was named for them, all else in float32;
    bytes where it is no whole number of them."""
    data = getattr(parallel, "data_strategy", None) or parallel
    name = getattr(data, "hook", None) or getattr(data, "reduce_dtype", None)
    named = name is not None and task.kind in _REDUCES
    kind = parse_dtype(str(name) if named else "float32")
    return kind if task.nbytes % kind.itemsize == 0 else np.dtype("uint8")


def _build_tasks(run: RealRun, token: bytes, seed: int) -> list[RankTask]:
    """The part of each endpoint of one collective."""
    values, has_data, expected = draw_numbers(run, seed)
    rank_programs: list[RankProgram] = build_programs(run.schedule, has_data)
    return [
        RankTask(program, replace(run.network), token, values[e], run.sizes, "add", expected.get(e, {}))
        for e, program in enumerate(rank_programs)
    ]
