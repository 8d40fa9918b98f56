"""What a collective of a step is and how long it takes by itself: on a machine as NCCL does it, else on the links of
the network.

On a machine whose nodes give equally many GPUs to the group, the time is that of `nccl.predict`, and the schedule that
of the algorithm that NCCL chooses. Elsewhere, for collectives that NCCL does not have (scatter, gather), and where an
algorithm is named, it is the time that the event engine finds for that schedule (a ring unless named).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import CollsimError, require_word
from ...nccl import facts_of, predict
from ...nccl.simulated import SLOT, schedule_of
from ...registry import algorithms, schedule
from ...schedule import Schedule
from ...simulate import simulate
from ...topology import Topology
from .step import StepTask

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
}
_CHAINS, _MOST_PIECES = ("broadcast", "reduce"), 32
_PREDICTED = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall")


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
            raise CollsimError(
                "algorithm={algorithm!r} is no allreduce; collsim list algorithms names them", algorithm=algorithm
            )
        self.algorithm = algorithm
        self.known: dict[Any, float] = {}
        self.plans: dict[Any, Schedule] = {}
        self._machine: bool | None = None

    @property
    def machine(self) -> bool:
        """Is this a machine on which NCCL (or RCCL) runs?"""
        if self._machine is None:
            try:
                facts_of(self.topology)
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
        per = self.topology.ranks // self.topology.facts["nodes"]
        on = np.bincount(np.array(group) // per, minlength=self.topology.facts["nodes"])
        return self.topology.facts.get("placement", "node") == "node" and bool((on == on[0]).all())

    def seconds(self, group: tuple[int, ...], task: StepTask) -> float:
        """How long a collective takes by itself."""
        key = group, task.kind, task.nbytes, task.algorithm, task.options
        if key not in self.known:
            self.known[key] = self._seconds(group, task)
        return self.known[key]

    def _seconds(self, group: tuple[int, ...], task: StepTask) -> float:
        if self.predicted(group, task):
            few = None if len(group) == self.topology.ranks else len(group)
            return predict(task.kind, self.topology, task.nbytes, few).time
        plan = self.plan(group, task)
        if not len(plan):
            return 0.0
        return simulate(plan, self.topology, task.nbytes, engine="event", ranks=list(group)).time

    def plan(self, group: tuple[int, ...], task: StepTask) -> Schedule:
        """The schedule that it runs: rank r of it sits on rank group[r] of the topology."""
        sized = self.predicted(group, task) or task.kind in _CHAINS
        key = group, task.kind, task.nbytes if sized else 0, task.algorithm, task.options
        if key not in self.plans:
            self.plans[key] = self._plan(group, task)
        return self.plans[key]

    def _plan(self, group: tuple[int, ...], task: StepTask) -> Schedule:
        if self.predicted(group, task):
            whole = len(group) == self.topology.ranks
            view = self.topology if whole else seen_by(self.topology, group)
            return schedule_of(predict(task.kind, self.topology, task.nbytes, None if whole else len(group)), view)
        name = task.algorithm or (self.algorithm if task.kind == "allreduce" and self.algorithm else _USUAL[task.kind])
        whole = group == tuple(range(self.topology.ranks))
        options = dict(task.options)
        if not task.algorithm and task.kind in _CHAINS:
            options["chunks"] = min(_MOST_PIECES, max(1, -(-task.nbytes // SLOT)))
        return schedule(name, ranks=len(group), topology=self.topology if whole else None, **options)


def seen_by(topology: Topology, group: tuple[int, ...]) -> Topology:
    """The topology with the group's ranks only, in its order."""
    return replace(topology, ranks=len(group), endpoint_device=topology.endpoint_device[list(group)], orders=None)
