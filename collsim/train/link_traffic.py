"""Bytes that ranks send in a step, by the schedules of its collectives; by strategy and by kind of link."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import Longs
from ..errors.dependencies import pandas as pd
from .step_request import get_collective_model
from .workload.collective_model import CollectiveModel
from .workload.group_link_sharing import count_pair_bytes, count_sent_bytes
from .workload.step_graph import StepTask, TrainingStep

if TYPE_CHECKING:
    from ..topology import Topology
    from .step_request import StepRequest
    from .step_trace import StepTrace


def count_rank_bytes(step: TrainingStep, topology: Topology, request: StepRequest) -> dict[int, int]:
    """Count the bytes that each rank sends in a step, by the schedules of its collectives.

    Args:
        step: The step.
        topology: Topology that it runs on.
        request: What was asked of `training_step`: it says which library and algorithm run the collectives.

    Returns:
        Bytes by rank of the topology; a parameter server on a host of its own is no rank.
    """
    network = CollectiveModel(topology, request.collectives, request.algorithm)
    out = {rank: 0 for lane in step.lanes for rank in lane}
    counts: dict[Hashable, tuple[StepTask, int]] = {}
    for i in step.collectives:
        task = step.tasks[i]
        # Collectives of the same group, size and kind send alike: one schedule for all of them.
        key = network.make_key(step, task)
        _, repeats = counts.get(key, (task, 0))
        counts[key] = task, task.repeats + repeats
    for task, times in counts.values():
        for group in step.get_groups(task):
            # Servers on hosts of their own stand behind the ranks of the group and are left out by the shorter zip.
            for rank, nbytes in zip(
                group, count_sent_bytes(network.build_schedule(group, task), task.nbytes), strict=False
            ):
                out[rank] += times * nbytes
    return out


# ---- which links they cross ----------------------------------------------------------------------------------------


def count_crossing_bytes(trace: StepTrace) -> pd.DataFrame:
    """Count the bytes that a GPU of each lane sends in a step, by strategy and kind of link.

    Args:
        trace: The step as it ran.

    Returns:
        A row for each lane, `strategy` and kind of link (`link`, that of the narrowest link between sender and
        receiver), with the mean bytes over the lane's GPUs (`nbytes`), the nominal B/s of such a link (`bandwidth`),
        and the s that the strategy's collectives take (`time`).
    """
    step, counter = trace.step, _LinkByteCounter(trace)
    lane_of = {rank: lane for lane, ranks in enumerate(step.lanes) for rank in ranks}
    sent_bytes: dict[tuple[int, str, str], float] = {}
    seconds: dict[tuple[int, str], float] = {}
    durations = trace.end - trace.begin
    counts: dict[Hashable, tuple[StepTask, int]] = {}
    for i in step.collectives:
        task = step.tasks[i]
        key = task.stream, CollectiveModel.make_key(step, task)
        _, repeats = counts.get(key, (task, 0))
        counts[key] = task, task.repeats + repeats
        for lane in task.lanes:
            seconds[lane, task.strategy] = seconds.get((lane, task.strategy), 0.0) + float(durations[i])
    for task, times in counts.values():
        for group in step.get_groups(task):
            for member, kind, nbytes in counter.count_member_bytes(group, task):
                row_key = lane_of.get(group[member], -1), task.strategy, kind
                sent_bytes[row_key] = sent_bytes.get(row_key, 0.0) + times * nbytes
    rows = [
        {
            "lane": lane,
            "strategy": strategy,
            "link": kind,
            "nbytes": nbytes / len(step.lanes[lane]),
            "bandwidth": counter.bandwidth[kind],
            "time": seconds[lane, strategy],
        }
        for (lane, strategy, kind), nbytes in sorted(sent_bytes.items())
        if lane >= 0
    ]
    return pd.DataFrame(rows, columns=["lane", "strategy", "link", "nbytes", "bandwidth", "time"])


class _LinkByteCounter:
    """Bytes that the members of a group send over each kind of link; groups that are placed alike on their nodes are
    counted once."""

    def __init__(self, trace: StepTrace):
        self.topology: Topology = trace.topology
        self.network = get_collective_model(trace.request)
        self.ranks_per_node = self.topology.ranks // self.topology.facts.nodes
        self.counted: dict[Hashable, list[tuple[int, str, float]]] = {}
        self.bandwidth: dict[str, float] = {}

    def count_member_bytes(self, group: tuple[int, ...], task: StepTask) -> list[tuple[int, str, float]]:
        """(position in the group, kind of link, bytes)."""
        numbers = self.network.numbers_by_node[list(group)]
        first = numbers[0] // self.ranks_per_node * self.ranks_per_node
        key = tuple((numbers - first).tolist()), task.kind, task.nbytes, task.algorithm, task.options
        if key not in self.counted:
            self.counted[key] = self._count_member_bytes(group, task)
        return self.counted[key]

    def _count_member_bytes(self, group: tuple[int, ...], task: StepTask) -> list[tuple[int, str, float]]:
        src, dst, nbytes = count_pair_bytes(self.network.build_schedule(group, task), task.nbytes)
        ranks, many = np.array(group), len(group)
        is_within = (src < many) & (dst < many)
        kinds = self._list_narrowest_kinds(ranks[src[is_within]], ranks[dst[is_within]])
        listed = list(zip(src[is_within].tolist(), kinds, nbytes[is_within].tolist(), strict=True))
        # Bytes to a helper leave by the GPU's own exit, wherever the helper is.
        away = (src < many) & (dst >= many)  # to a switch that adds up, or to a server
        listed += [
            (int(member), self._find_exit_kind(group[member], task), float(size))
            for member, size in zip(src[away], nbytes[away], strict=True)
        ]
        out: dict[tuple[int, str], float] = {}
        for member, kind, size in listed:
            out[member, kind] = out.get((member, kind), 0.0) + size
        return [(member, kind, size) for (member, kind), size in out.items()]

    def _find_exit_kind(self, rank: int, task: StepTask) -> str:
        """The widest link of a GPU, over which it reaches the switch of its node; a server is a kind of its own."""
        links = self.topology.links
        exits = np.flatnonzero(links.src == self.topology.endpoint_device[rank])
        kind = "server"
        if not task.algorithm:
            kind = links.kind(int(exits[np.argmax(links.bandwidth[exits])]))
        self.bandwidth.setdefault(kind, float(links.bandwidth[exits].max()))
        return kind

    def _list_narrowest_kinds(self, src: Longs, dst: Longs) -> list[str]:
        """The kind of the narrowest link of each route."""
        routes, links = self.topology.routes(src, dst), self.topology.links
        kinds = []
        for pair in range(len(src)):
            route = routes[pair]
            narrow = int(route[np.argmin(links.bandwidth[route])])
            kind = links.kind(narrow)
            self.bandwidth[kind] = max(self.bandwidth.get(kind, 0.0), float(links.bandwidth[narrow]))
            kinds.append(kind)
        return kinds
