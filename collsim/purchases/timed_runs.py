"""A run that can be timed again on another machine, by the model that timed it: a simulation, a prediction of NCCL, or
a step of training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias, cast

from ..analysis import best
from ..errors import CollsimError
from ..nccl import Prediction
from ..simulate import Trace, simulate
from ..simulate.conditions import Conditions, EventOptions
from ..topology import Topology
from ..train import StepTrace
from ..train.compute.compute_costs import parse_gpu
from ..train.step_request import get_collective_model
from .part_changes import BUCKET_SIZES, MachineParts, PartChange

#: What `upgrades` takes.
AnyRun: TypeAlias = StepTrace | Prediction | Trace


@dataclass(frozen=True)
class TimedRun(ABC):
    """A run, and what it would be with something changed.

    Attributes:
        run: The run itself, as it was timed.
    """

    run: AnyRun

    @property
    @abstractmethod
    def topology(self) -> Topology:
        """The machine that it was timed on."""

    @property
    def time(self) -> float:
        """Seconds."""
        return self.run.time

    @property
    def ends(self) -> tuple[float, float]:
        """Seconds between which four in five measurements lie; both are `time` where that is not known."""
        return self.time, self.time

    @property
    def computing_share(self) -> float:
        """Share of the time in which GPUs compute."""
        return 0.0

    @property
    def protocol(self) -> str:
        """Protocol that NCCL chooses for its largest collective; empty where NCCL's model does not time it."""
        return ""

    def list_changes(self) -> Iterator[PartChange]:
        """List what could be better."""
        return MachineParts(self.topology).list_changes()

    @abstractmethod
    def apply(self, changes: Sequence[PartChange]) -> TimedRun:
        """Time it again with these changes. Raises CollsimError for what cannot be.

        Args:
            changes: of the machine, of the step, or of the algorithm.
        """


def wrap_run(run: object) -> TimedRun:
    """The run as `upgrades` sees it.

    Args:
        run: A StepTrace, a Trace, or a Prediction.

    Raises:
        CollsimError: It is none of these, or it cannot be timed again.
    """
    if isinstance(run, StepTrace):
        return TimedStep(run)
    if isinstance(run, Prediction):
        return TimedPrediction(run)
    if isinstance(run, Trace):
        return TimedSimulation(run)
    message = "upgrades wants a run: what cs.training_step, cs.simulate or cs.nccl.predict return; got {value!r}"
    raise CollsimError(message, value=run)


def _change_machine(topology: Topology, changes: Sequence[PartChange]) -> Topology:
    words = {change.part: change.value for change in changes if change.is_of_machine}
    if not words:
        return topology
    return topology.with_(**words)


@dataclass(frozen=True)
class TimedStep(TimedRun):
    """A step of training that can be timed on another machine.

    Attributes:
        run: The step as it was timed.
    """

    run: StepTrace

    @property
    def topology(self) -> Topology:
        return self.run.topology

    @property
    def ends(self) -> tuple[float, float]:
        return self.run.interval.low, self.run.interval.high

    @property
    def computing_share(self) -> float:
        return (self.run.time - self.run.exposed) / self.run.time

    @property
    def protocol(self) -> str:
        step, model = self.run.step, get_collective_model(self.run.request)
        if not step.collectives:
            return ""
        largest = max((step.tasks[i] for i in step.collectives), key=lambda task: task.nbytes)
        group = step.get_groups(largest)[0]
        if not model.is_predicted(group, largest):
            return ""
        return model.predict(group, largest).protocol

    def list_changes(self) -> Iterator[PartChange]:
        """Settings of the strategy, parts of the machine, more GPUs for the same samples, faster GPUs."""
        request, parts = self.run.request, MachineParts(self.topology)
        options = request.parallel.list_options()
        if getattr(request.parallel, "overlap", True) is False and "overlap" in options:
            yield PartChange("overlap", True)
        if "bucket" in options:
            yield from (PartChange("bucket", size) for size in BUCKET_SIZES)
        yield from parts.list_changes()
        if self.run.costs.speed is None or parse_gpu(request.compute) is None:
            return  # measured seconds are of these GPUs and these samples
        if request.rank_selection is None:
            yield from parts.list_more_gpus()
        yield from parts.list_faster_gpus(self.run.costs.speed.gpu, request.dtype)

    def apply(self, changes: Sequence[PartChange]) -> TimedStep:
        """The step with these changes; more GPUs share the same samples.

        Args:
            changes: of the machine and of the step.
        """
        words: dict[str, object] = {change.part: change.value for change in changes if not change.is_of_machine}
        machine = _change_machine(self.topology, changes)
        if machine is not self.topology:
            words["machine"] = machine
        if machine.ranks != self.topology.ranks:
            words["batch"] = self.run.request.batch
        gpu = parse_gpu(self.run.request.compute)
        for change in changes:
            if change.part == "gpu" and gpu and gpu.name:
                words["compute"] = f"{change.value} {gpu.kernels}".strip()
        return TimedStep(self.run.what_if(**words))


@dataclass(frozen=True)
class TimedPrediction(TimedRun):
    """A call of NCCL that can be predicted on another machine.

    Attributes:
        run: The prediction.
    """

    run: Prediction

    @property
    def topology(self) -> Topology:
        if self.run.machine is None:
            message = (
                "this prediction is of words alone; predict for a machine: cs.nccl.predict(..., cs.machine(...), ...)"
            )
            raise CollsimError(message)
        return self.run.machine

    @property
    def ends(self) -> tuple[float, float]:
        return self.run.low, self.run.high

    @property
    def protocol(self) -> str:
        return self.run.protocol

    def apply(self, changes: Sequence[PartChange]) -> TimedPrediction:
        """The same call on the changed machine.

        Args:
            changes: of the machine.
        """
        return TimedPrediction(self.run.predict_on(_change_machine(self.topology, changes)))


@dataclass(frozen=True)
class TimedSimulation(TimedRun):
    """A simulated collective that can be run on another machine.

    Attributes:
        run: The simulation.
    """

    run: Trace

    @property
    def topology(self) -> Topology:
        return self.run.topology

    @property
    def time(self) -> float:
        return self.run.duration

    def list_changes(self) -> Iterator[PartChange]:
        """The best algorithm, and parts of the machine."""
        fastest = best(self.run.schedule.collective, self.topology, self.run.nbytes, engine=self.run.engine)
        if fastest.trace.schedule.name != self.run.schedule.name:
            yield PartChange("algorithm", fastest.trace.schedule.name)
        yield from MachineParts(self.topology).list_changes()

    def apply(self, changes: Sequence[PartChange]) -> TimedSimulation:
        """The same schedule on the changed machine, or the best options of another algorithm.

        Args:
            changes: of the machine, and the algorithm.
        """
        run, machine = self.run, _change_machine(self.topology, changes)
        names = [str(change.value) for change in changes if change.part == "algorithm"]
        if names:
            collective = run.schedule.collective
            return TimedSimulation(best(collective, machine, run.nbytes, algorithm=names, engine=run.engine).trace)
        options = _list_conditions(run)
        return TimedSimulation(simulate(run.schedule, machine, run.nbytes, run.dtype, run.engine, **options))


def _list_conditions(run: Trace) -> EventOptions:
    """The options of `simulate` that the run had."""
    if run.conditions is None:
        return EventOptions()
    if run.background is not None or run.others:
        raise CollsimError("upgrades times one run alone; leave out other collectives and background traffic")
    defaults = Conditions()
    changed = {
        field.name: getattr(run.conditions, field.name)
        for field in fields(Conditions)
        if getattr(run.conditions, field.name) != getattr(defaults, field.name)
    }
    return cast(EventOptions, changed)
