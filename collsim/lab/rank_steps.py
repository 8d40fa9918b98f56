"""What each process of a training step is told: its boxes, and its part of every collective that it takes part in."""

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
from ..units import format_bytes
from .ranks.network import ImitatedNetwork
from .ranks.process import RankTask
from .ranks.program import RankProgram, programs
from .ranks.stepping import RankStep, StepBox, StepPart
from .ranks.wire import new_token
from .run import MOST_MEMORY, MOST_RANKS, RealRun, dtype_of, expected_of

_HOOKS = {"fp16": "float16", "bf16": "bfloat16"}
_REDUCES = ("allreduce", "reduce_scatter", "reduce")
_KINDS_OF_NUMBERS = 5  # so that neighbouring collectives do not carry the same ones


@dataclass(frozen=True, eq=False)
class GroupCollective:
    """One collective of one group: its task, the process of each endpoint, what it is, and its first row."""

    task: int
    places: tuple[int, ...]
    run: RealRun
    first_row: int


class StepPlan:
    """A step as processes run it: its collectives, and who is where."""

    def __init__(self, predicted: StepTrace, network: ImitatedNetwork, algorithm: str, repeat: int, time_limit: float):
        self.predicted, self.step, self.network = predicted, predicted.step, network
        self.repeat, self.time_limit = repeat, time_limit
        self.known = CollectiveModel(predicted.topology, "links", algorithm)
        require_messages(self.step)

    @cached_property
    def parts(self) -> list[GroupCollective]:
        """All collectives of all groups, in their order; one that comes several times as often."""
        found: list[GroupCollective] = []
        row = 0
        for number in self.step.collectives:
            task = self.step.tasks[number]
            for group in self.step.get_groups(task):
                plan = self.known.build_schedule(group, task)
                run, places = self._run(plan, task), self._places(plan, group)
                for _ in range(task.repeats if len(plan) else 0):
                    found.append(GroupCollective(number, places, run, row))
                    row += len(plan)
        return found

    def _run(self, plan: Schedule, task: StepTask) -> RealRun:
        kind = _type_of(self.predicted.request.parallel, task)
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
        return max([self.step.ranks, *(place + 1 for part in self.parts for place in part.places)])

    def require_room(self) -> None:
        """Raises CollsimError for more processes or bytes than a computer bears."""
        if self.processes > MOST_RANKS:
            why = "{label} would start {count} processes; {most} is the most here, so use fewer ranks"
            raise CollsimError(why, label=self.step.label, count=self.processes, most=MOST_RANKS)
        held = sum(int(part.run.sizes.sum()) * part.run.dtype.itemsize * len(part.places) for part in self.parts)
        if held > MOST_MEMORY:
            why = "{label} would hold {memory} in its processes; {most} is the most here, so use fewer bytes or ranks"
            memory, most = format_bytes(held), format_bytes(MOST_MEMORY)
            raise CollsimError(why, label=self.step.label, memory=memory, most=most)

    # ---- what each is told

    def rank_steps(self) -> list[RankStep]:
        """For each process what it is told."""
        token, known = new_token(), dict[Any, list[RankTask]]()
        own: list[list[tuple[int, StepPart]]] = [[] for _ in range(self.processes)]
        for number, part in enumerate(self.parts):
            key = id(part.run.schedule), part.run.nbytes, part.run.dtype, number % _KINDS_OF_NUMBERS
            if key not in known:
                known[key] = _tasks(part.run, token, key[-1])
            for place, task in zip(part.places, known[key], strict=True):
                own[place].append((part.task, StepPart(task, part.places, part.first_row)))
        return [
            RankStep(
                place,
                self.network,
                token,
                self._boxes(place, [task for task, _ in listed]),
                tuple(part for _, part in listed),
                len(self.step.tasks),
            )
            for place, listed in enumerate(own)
        ]

    def _boxes(self, place: int, collectives: list[int]) -> tuple[StepBox, ...]:
        """The tasks of a rank; of a helper its collectives, which wait for nothing but what comes."""
        of: dict[int, tuple[int, ...]] = {}
        for number, task in enumerate(collectives):
            of[task] = (*of.get(task, ()), number)
        if place >= self.step.ranks:
            return tuple(StepBox(task, (), 0.0, numbers) for task, numbers in of.items())
        lane = next(number for number, ranks in enumerate(self.step.lanes) if place in ranks)
        slow = self.predicted.request.slow.get(place, 1.0)
        mine = [number for number, task in enumerate(self.step.tasks) if lane in task.lanes]
        at = {number: index for index, number in enumerate(mine)}
        return tuple(
            StepBox(
                number,
                tuple(at[other] for other in self.step.predecessors[number] if other in at),
                float(self._seconds[number]) * slow,
                of.get(number, ()),
            )
            for number in mine
        )

    @cached_property
    def _seconds(self) -> Any:
        """(tasks,) s of computing on a rank that is not slow; the prediction's lanes are as slow as their slowest."""
        slow: Mapping[int, float] = self.predicted.request.slow
        lanes = [max([1.0, *(slow.get(rank, 1.0) for rank in ranks)]) for ranks in self.step.lanes]
        return self.predicted.costs.seconds / [max(lanes[lane] for lane in task.lanes) for task in self.step.tasks]


def require_messages(step: TrainingStep) -> None:
    """Raises CollsimError where computing waits for what another rank did, and no message says so."""
    for task, before in zip(step.tasks, step.predecessors, strict=True):
        for lane in task.lanes if task.is_compute else ():
            for other in (step.tasks[number] for number in before):
                if lane not in other.lanes:
                    why = "{says}: {name} waits for {other} of other ranks, and nothing is sent that tells it"
                    raise CollsimError(why, says=step.label, name=task.name, other=other.name)


def _type_of(parallel: ParallelStrategy, task: StepTask) -> np.dtype[Any]:
    """Of the numbers that a collective carries: gradients in the type that was named for them, all else in float32;
    bytes where it is no whole number of them."""
    data = getattr(parallel, "data_strategy", None) or parallel
    name = getattr(data, "hook", None) or getattr(data, "reduce_dtype", None)
    named = name is not None and task.kind in _REDUCES
    kind = dtype_of(_HOOKS.get(str(name), str(name)) if named else "float32")
    return kind if task.nbytes % kind.itemsize == 0 else np.dtype("uint8")


def _tasks(run: RealRun, token: bytes, seed: int) -> list[RankTask]:
    """The part of each endpoint of one collective."""
    values, held, expected = expected_of(run, seed)
    listed: list[RankProgram] = programs(run.schedule, held)
    return [
        RankTask(program, replace(run.network), token, values[e], run.sizes, "add", expected.get(e, {}))
        for e, program in enumerate(listed)
    ]
