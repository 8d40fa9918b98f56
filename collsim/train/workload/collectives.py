"""What a collective of a step is and how long it takes by itself: on a machine as NCCL does it, else on the links of
the network.

On a machine where all nodes that a group is on give it equally many GPUs, the time is that of `nccl.predict`, and the
schedule that of the algorithm that NCCL chooses. Elsewhere, for collectives that NCCL does not have (scatter, gather),
and where an algorithm is named, it is the time that the event engine finds for that schedule (a ring unless named).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError, require_word
from ...faults import require_right
from ...nccl import Prediction, predict, read_facts
from ...nccl.algorithm_choices import grow_facts
from ...nccl.model.calibration_knobs import get_link_parameters
from ...nccl.predicted_schedule import SLOT, build_schedule
from ...registry import algorithms, schedule
from ...schedule import Schedule
from ...simulate import simulate
from ...topology import Topology
from .step import StepTask, TrainingStep

Floats = npt.NDArray[np.float64]
LIBRARIES = ("nccl", "links")
#: Where links are simulated and nothing is said: rings, for one root a chain in pieces of NCCL's slot (its runRing of
#: broadcast.h and reduce.h), or the plain forms.
_USUAL = {
    "allreduce": "allreduce_ring",
    "allgather": "allgather_ring",
    "reduce_scatter": "reduce_scatter_ring",
    "broadcast": "broadcast_chain",
    "reduce": "reduce_chain",
    "scatter": "scatter_flat",
    "gather": "gather_flat",
    "alltoall": "alltoall_direct",
    "sendrecv": "sendrecv_direct",
    "send": "broadcast_binomial",  # from the first of two to the second
}
#: What NCCL's model is asked for.
_PREDICTED = {
    **{kind: kind for kind in ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall")},
    "sendrecv": "sendrecv",
    "send": "sendrecv",
}
_CHAINS, _MOST_PIECES = ("broadcast", "reduce"), 32


class Collectives:
    """Collectives on one topology; equal ones are worked out once.

    Args:
        library: `"nccl"`: as NCCL does it, where the topology is a machine; `"links"`: on the links, everywhere.
        algorithm: of allreduces; then they run on the links.
    """

    def __init__(self, topology: Topology, library: str = "nccl", algorithm: str | None = None):
        self.topology, self.library = topology, require_word("collectives", library, LIBRARIES)
        if (
            algorithm is not None
            and algorithms()[require_word("algorithm", algorithm, algorithms())].collective != "allreduce"
        ):
            why = "algorithm={algorithm!r} is no allreduce; collsim list algorithms names them"
            raise CollsimError(why, algorithm=algorithm)
        self.algorithm = algorithm
        self.known: dict[Any, float] = {}
        self.shapes: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.plans: dict[Any, Schedule] = {}
        self._machine: bool | None = None

    @property
    def machine(self) -> bool:
        """Is this a machine on which NCCL (or RCCL) runs?"""
        if self._machine is None:
            try:
                read_facts(self.topology)
                self._machine = True
            except CollsimError:
                self._machine = False
        return self._machine

    def predicted(self, group: tuple[int, ...], task: StepTask) -> bool:
        """Does NCCL's model say how long it takes?"""
        if self.library != "nccl" or task.algorithm or task.kind not in _PREDICTED or not self.machine:
            return False
        if self.algorithm and task.kind == "allreduce":
            return False
        return self.topology.facts.get("placement", "node") == "node" and len(set(self.shape(group))) == 1

    def shape(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """How many ranks of a group are on each of the nodes that it is on."""
        if group not in self.shapes:
            per = self.topology.ranks // self.topology.facts["nodes"]
            on = np.bincount(np.array(group) // per)
            self.shapes[group] = tuple(int(n) for n in on[on > 0])
        return self.shapes[group]

    def of_step(self, step: TrainingStep) -> Floats:
        """(tasks,) s of every collective of a step by itself; 0 for what computes."""
        known: dict[Any, float] = {}
        out = np.zeros(len(step.tasks))
        for i in step.collectives:
            task = step.tasks[i]
            key = self.like(step, task)
            if key not in known:
                known[key] = self.slowest(step.groups(task), task)
            out[i] = task.times * known[key]
        return out

    def different(self, step: TrainingStep) -> list[StepTask]:
        """A step's collectives, one of each group, kind and size."""
        tasks = [step.tasks[i] for i in step.collectives]
        return list({self.like(step, task): task for task in tasks}.values())

    @staticmethod
    def like(step: TrainingStep, task: StepTask) -> tuple[Any, ...]:
        """A key that equal collectives have in common. Groups are compared by identity: they are large, and a step has
        few of them, many times."""
        group = id(task.groups) if task.groups else step.group(task)
        return group, task.kind, task.nbytes, task.algorithm, task.options

    def slowest(self, groups: tuple[tuple[int, ...], ...], task: StepTask) -> float:
        """How long a collective takes that several groups run at the same time; groups that are alike take as long."""
        if len(groups) == 1 or not self.predicted(groups[0], task):
            return max(self.seconds(group, task) for group in groups)
        alike = {self.shape(group): group for group in groups}
        return max(self.seconds(group, task, crowded=True) for group in alike.values())

    def seconds(self, group: tuple[int, ...], task: StepTask, crowded: bool = False) -> float:
        """How long a collective takes by itself; `crowded`: beside those of other groups that share its nodes' NICs."""
        like = self.shape(group) if self.predicted(group, task) else group
        key = like, task.kind, task.nbytes, task.algorithm, task.options, crowded
        if key not in self.known:
            self.known[key] = self._seconds(group, task, crowded)
        return self.known[key]

    def predict(self, group: tuple[int, ...], task: StepTask, crowded: bool = False) -> Prediction:
        """What NCCL's model says of it."""
        kind, nodes, shape = _PREDICTED[task.kind], self.topology.facts["nodes"], self.shape(group)
        facts = read_facts(self.topology)
        shared = crowded and 0 < facts.nics < facts.local_ranks and len(shape) > 1
        if len(shape) == nodes and not shared:
            few = None if len(group) == self.topology.ranks else len(group)
            return predict(kind, self.topology, task.nbytes, few)
        few_nodes = grow_facts(facts, len(shape))
        if shared:
            nics = facts.nics * shape[0] / facts.local_ranks
            rate = {"nics": max(1.0, nics), "nic_rate": facts.nic_rate * min(1.0, nics)}
            few_nodes = replace(few_nodes, wired_nodes=None, **rate)  # type: ignore[arg-type]
        whole = len(group) == few_nodes.ranks
        return predict(
            kind, few_nodes, task.nbytes, None if whole else len(group), links=get_link_parameters(self.topology)
        )

    def _seconds(self, group: tuple[int, ...], task: StepTask, crowded: bool) -> float:
        if self.predicted(group, task):
            return self.predict(group, task, crowded).time
        plan = self.plan(group, task)
        if not len(plan):
            return 0.0
        return simulate(plan, self.topology, task.nbytes, engine="event", ranks=list(group)).time

    def plan(self, group: tuple[int, ...], task: StepTask) -> Schedule:
        """The schedule that it runs: rank r of it sits on rank group[r] of the topology."""
        if self.predicted(group, task):
            like: tuple[Any, ...] = ("nodes", *self.shape(group))
            key = like, task.kind, task.nbytes, task.algorithm, task.options
        else:
            size = task.nbytes if task.kind in _CHAINS else 0
            key = group, task.kind, size, task.algorithm, task.options
        if key not in self.plans:
            self.plans[key] = self._plan(group, task)
        return self.plans[key]

    def _plan(self, group: tuple[int, ...], task: StepTask) -> Schedule:
        if self.predicted(group, task):
            if task.kind == "send":
                return schedule(_USUAL["send"], ranks=2)
            whole = len(group) == self.topology.ranks
            view = self.topology if whole else seen_by(self.topology, group)
            return build_schedule(self.predict(group, task), view)
        name = task.algorithm or (self.algorithm if task.kind == "allreduce" and self.algorithm else _USUAL[task.kind])
        whole = group == tuple(range(self.topology.ranks))
        options = dict(task.options)
        if not task.algorithm and task.kind in _CHAINS:
            options["chunks"] = min(_MOST_PIECES, max(1, -(-task.nbytes // SLOT)))
        plan = schedule(name, ranks=len(group), topology=self.topology if whole else None, **options)
        require_right(plan)  # steps of training are compared by their time
        return plan


def seen_by(topology: Topology, group: tuple[int, ...]) -> Topology:
    """The topology with the group's ranks only, in its order."""
    return replace(topology, ranks=len(group), endpoint_device=topology.endpoint_device[list(group)], orders=None)
