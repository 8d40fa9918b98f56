"""A step of training as Chakra execution traces (.et), a file for each GPU, as ASTRA-sim reads them.

Sources: mlcommons/chakra schema/protobuf/et_def.proto; astra-sim astra-sim/workload/Workload.cc (issue, issue_comp,
issue_coll_comm) and system/astraccl/native_collectives/collective_algorithm/Ring.cc. A compute task is a COMP node: its
time in whole microseconds, which ASTRA-sim replays, and its FLOPs and bytes of memory, of which ASTRA-sim's roofline
makes a time of its own, for which each node needs at least one of both. Allreduce, allgather,
reduce-scatter and alltoall are COMM_COLL nodes, which ASTRA-sim runs on its network; a broadcast is one that it
replays. What ASTRA-sim has no collective for (scatter, gather, reduce, a parameter server) is written as the messages
of its schedule. Groups that are not all GPUs stand in `name.groups.json` (ASTRA-sim: --comm-group-configuration).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from ..errors import CollsimError
from ..files import create_file
from ..io.chakra import COLLECTIVE, COMP, ChakraTrace, compute_roofline
from ..schedule import Schedule
from ..simulate.run import compute_slot_bytes
from .step_request import get_collective_model
from .step_trace import StepTrace
from .workload.step_graph import StepTask

#: CollectiveCommType of et_def.proto, of what ASTRA-sim runs or replays.
_TYPES = {"allreduce": 0, "allgather": 2, "broadcast": 5, "alltoall": 6, "reduce_scatter": 7}


def write_chakra(trace: StepTrace, path: str | PathLike[str]) -> list[Path]:
    """Write a step as `name.0.et`, `name.1.et` ... beside `path`: its GPUs in order, then its servers.

    Args:
        trace: The step as it ran.
        path: Path `name.et`.

    Returns:
        Paths of the files.

    Raises:
        CollsimError: protobuf is missing, or workers are asynchronous, whose messages have no order.
    """
    if trace.step.staleness:
        raise CollsimError(
            "asynchronous workers wait for nobody, so their messages have no order that a trace could tell"
        )
    writer = _ChakraWriter(trace)
    files = writer.trace.write(path)
    if writer.groups:
        target = Path(path)
        groups_path = target.with_name(f"{target.name.removesuffix('.et')}.groups.json")
        with create_file(groups_path) as file:
            file.write(json.dumps({str(i): list(group) for group, i in writer.groups.items()}).encode())
        files.append(groups_path)
    return files


class _ChakraWriter:
    def __init__(self, trace: StepTrace):
        self.step, self.times, self.network = trace.step, (trace.begin, trace.end), get_collective_model(trace.request)
        self.gpu_number = {rank: i for i, rank in enumerate(sorted(rank for lane in self.step.lanes for rank in lane))}
        plans = {
            i: self.network.build_schedule(self.step.get_ranks(task), task)
            for i, task in enumerate(self.step.tasks)
            if not (task.is_compute or (task.kind in _TYPES and not task.algorithm))
        }
        servers = max((plan.endpoints - plan.ranks for plan in plans.values()), default=0)
        self.trace, self.tag = ChakraTrace(len(self.gpu_number) + servers), 0
        self.groups: dict[tuple[int, ...], int] = {}
        #: For each task and GPU the nodes behind which it is done; of servers the last ones.
        self.task_nodes: list[dict[int, set[int]]] = []
        self.server_nodes: dict[int, set[int]] = {}
        for i, task in enumerate(self.step.tasks):
            self.task_nodes.append(
                self.add_compute(i, task) if task.is_compute else self.add_collective(i, task, plans.get(i))
            )

    def list_waits(self, i: int, gpu: int) -> set[int]:
        """Nodes of a GPU that it waits for before a task."""
        return {node for b in self.step.predecessors[i] for node in self.task_nodes[b].get(gpu, ())}

    def get_micros(self, i: int, part: int = 0, parts: int = 1) -> dict[str, int]:
        """Begin and length of a task, or of a part of it, in whole microseconds, so that the sums stay right."""
        first, last = (float(moments[i]) for moments in self.times)
        begin, end = (round(1e6 * (first + (last - first) * k / parts)) for k in (part, part + 1))
        return {"start_time_micros": begin, "duration_micros": end - begin}

    def add_compute(self, i: int, task: StepTask) -> dict[int, set[int]]:
        """Computing: a node on each of its GPUs."""
        more = {**compute_roofline(task.flops, task.memory_bytes), **self.get_micros(i)}
        gpus = [self.gpu_number[rank] for lane in task.lanes for rank in self.step.lanes[lane]]
        name = f"{task.name} {task.kind}"
        return {gpu: {self.trace.add(gpu, COMP, name, self.list_waits(i, gpu), **more)} for gpu in gpus}

    def add_collective(self, i: int, task: StepTask, plan: Schedule | None) -> dict[int, set[int]]:
        """A collective of one or several groups, as often as it comes."""
        nodes: dict[int, set[int]] = {}
        for ranks in task.groups or (self.step.get_ranks(task),):
            group = [self.gpu_number[rank] for rank in ranks]
            waits = {gpu: self.list_waits(i, gpu) for gpu in group}
            for repetition in range(task.repeats):
                if plan is None:
                    more = self.describe_collective(task, group) | self.get_micros(i, repetition, task.repeats)
                    name = f"{task.name} {task.kind}"
                    waits = {gpu: {self.trace.add(gpu, COLLECTIVE, name, waits[gpu], **more)} for gpu in group}
                else:
                    waits = self.add_messages(task, plan, waits)
            nodes |= waits
        return nodes

    def describe_collective(self, task: StepTask, gpus: Sequence[int]) -> dict[str, object]:
        """Type, bytes (of an allgather those of one GPU, as ASTRA-sim counts them) and group."""
        nbytes = task.nbytes
        if task.kind == "allgather":
            nbytes = task.nbytes // len(gpus)
        attributes: dict[str, object] = {"comm_type": _TYPES[task.kind], "comm_size": nbytes}
        if len(gpus) < len(self.gpu_number):
            attributes["pg_name"] = str(self.groups.setdefault(tuple(gpus), len(self.groups) + 1))
        return attributes

    def add_messages(self, task: StepTask, plan: Schedule, waits: dict[int, set[int]]) -> dict[int, set[int]]:
        """A collective that ASTRA-sim has not, as the messages of its schedule."""
        gpus = list(waits)
        members = [*gpus, *(len(self.gpu_number) + k for k in range(plan.endpoints - plan.ranks))]
        before = {
            end: waits.get(member, set()) | self.server_nodes.get(member, set()) for end, member in enumerate(members)
        }
        sizes = compute_slot_bytes(plan, task.nbytes, 4).tolist()
        ends = self.trace.add_schedule(plan, sizes, members, before, self.tag)
        self.tag += plan.steps
        for end, member in enumerate(members[len(gpus) :], len(gpus)):
            self.server_nodes[member] = ends[end] or self.server_nodes.get(member, set())
        return {member: ends[end] or before[end] for end, member in enumerate(gpus)}
