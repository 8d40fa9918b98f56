"""What a collective of a step is and how long it takes by itself: as NCCL runs it, or on the links of the network.

On a machine where all nodes of a group give equal GPUs, the time is that of `nccl.predict` for these GPUs, and the
schedule that of the algorithm that NCCL chooses, whatever the placement of ranks: NCCL orders its rings and trees by
node. Elsewhere, for collectives that NCCL does not have (scatter, gather), and where an algorithm is named, it is the
time of the event engine for that schedule (a ring by default).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ...collective import build_pair_shares
from ...dtypes import Floats, Longs
from ...errors import CollsimError, require_word
from ...faults import require_right
from ...nccl import Prediction, predict, read_facts
from ...nccl.machine.nccl_routes import describe_nodes, name_ranks, restrict_nodes, sort_ranks_by_node
from ...nccl.model.algorithm_time import compute_time
from ...nccl.model.links import FABRICS
from ...nccl.predicted_schedule import SLOT, build_schedule
from ...package_data import read_toml
from ...registry import algorithms, schedule
from ...schedule import Schedule
from ...simulate import Launch, simulate, simulate_ordered
from ...topology import Topology
from ...topology.machine_builder import Machine, find_kind
from .group_link_sharing import GroupLinkSharing, measure_link_sharing
from .step_graph import Ranks, StepTask, TrainingStep

CollectiveSource: TypeAlias = Literal["nccl", "links"]
LIBRARIES: tuple[CollectiveSource, ...] = get_args(CollectiveSource)
#: Algorithms where links are simulated and none is named: rings; for one root a chain in pieces of NCCL's slot (its
#: runRing of broadcast.h and reduce.h); otherwise the plain forms.
_DEFAULT_ALGORITHMS: dict[str, str] = read_toml(__file__, "collective_model.toml")["algorithms"]
#: Collectives of NCCL, by the kinds of task that run them.
_NCCL_COLLECTIVES = {
    **{kind: kind for kind in ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall")},
    "alltoallv": "alltoall",
    "sendrecv": "sendrecv",
    "send": "sendrecv",
}
#: Kinds whose ranks keep their numbers with NCCL, because a call names who sends to whom.
_POINT_TO_POINT = ("alltoall", "alltoallv", "sendrecv", "send")
#: Kinds that run as a chain, and the most pieces that their data is cut into.
_CHAINS, _MAX_PIECES = ("broadcast", "reduce"), 32
#: Rows of schedules up to which groups that share links are simulated in one run.
_MAX_ROWS = 2**18
#: Rounds of refinement: cables from a GPU to any other device of a node are fewer.
_ROUNDS = 8


@dataclass(frozen=True)
class NodePlacement:
    """Where the ranks of a group are; groups of one placement take as long as each other.

    Attributes:
        counts: ranks of the group on each of its nodes.
        is_even: whether all nodes give equal GPUs, which NCCL's model times.
        gpus: what the GPUs of a node are among its cables (`_describe_gpus`); 0: as the first of the node.
        nodes: what tells its nodes from the first ones in the fabric; None: nothing does.
    """

    counts: tuple[int, ...]
    is_even: bool
    gpus: int = 0
    nodes: Hashable = None


class CollectiveModel:
    """Times and schedules of the collectives on one topology; equal collectives are computed once.

    Attributes:
        topology: The topology.
        library: `nccl` or `links`.
        algorithm: Algorithm of allreduces, None for the library's choice.
    """

    def __init__(self, topology: Topology, library: str = "nccl", algorithm: str | None = None):
        """Check the arguments.

        Args:
            topology: Topology that the collectives run on.
            library: `"nccl"`: as NCCL runs them, where the topology is a machine; `"links"`: on the links, everywhere.
            algorithm: Algorithm of allreduces, which then run on the links.

        Raises:
            CollsimError: The library is unknown, or the algorithm is no allreduce.
        """
        self.topology, self.library = topology, require_word("collectives", library, LIBRARIES)
        if algorithm is not None:
            require_word("algorithm", algorithm, algorithms())
            if algorithms()[algorithm].collective != "allreduce":
                message = "algorithm={algorithm!r} is no allreduce; collsim list algorithms names them"
                raise CollsimError(message, algorithm=algorithm)
        self.algorithm = algorithm
        # All of these are caches: a step asks for the same collectives hundreds of times.
        self._seconds: dict[Hashable, float] = {}
        self._predictions: dict[Hashable, Prediction] = {}
        self._placements: dict[Ranks, NodePlacement] = {}
        self._examples: dict[tuple[Ranks, ...], tuple[Ranks, ...]] = {}
        self._gpu_descriptions: dict[tuple[int, ...], int] = {}
        self._schedules: dict[Hashable, Schedule] = {}
        self._is_machine: bool | None = None
        self._machines: dict[NodePlacement, tuple[Topology, int | None]] = {}
        self._link_sharing: dict[Hashable, GroupLinkSharing] = {}

    @property
    def is_machine(self) -> bool:
        """Whether the topology is a machine on which NCCL (or RCCL) runs."""
        if self._is_machine is None:
            try:
                read_facts(self.topology)
                self._is_machine = True
            except CollsimError:
                self._is_machine = False
        return self._is_machine

    def is_predicted(self, group: Ranks, task: StepTask) -> bool:
        """Tell whether NCCL's model gives the time of a collective.

        Args:
            group: Ranks of the group.
            task: The collective.

        Returns:
            Whether it does; otherwise the links are simulated.
        """
        if self.library != "nccl" or task.algorithm or task.kind not in _NCCL_COLLECTIVES or not self.is_machine:
            return False
        if self.algorithm and task.kind == "allreduce":
            return False
        if task.kind == "sendrecv" and len(group) > 2 and self.topology.facts.placement == "by hand":
            return False  # which of its pairs cross nodes depends on each rank, and the counts do not say it
        return self.find_placement(group).is_even

    def predicts_all(self, step: TrainingStep) -> bool:
        """Tell whether NCCL's model gives the times of all collectives of a step that NCCL has.

        Args:
            step: The step.

        Returns:
            Whether it does; otherwise the links are simulated for some.
        """
        tasks = [task for task in self.list_distinct(step) if task.kind in _NCCL_COLLECTIVES and not task.algorithm]
        examples = ((group, task) for task in tasks for group in self._list_examples(step.get_groups(task)))
        return all(self.is_predicted(group, task) for group, task in examples)

    @cached_property
    def numbers_by_node(self) -> Longs:
        """(ranks,) number that each rank has where ranks are numbered node by node, as NCCL numbers them."""
        topology = self.topology
        if topology.facts.placement == "node":
            return np.arange(topology.ranks)
        numbers = np.empty(topology.ranks, np.int64)
        numbers[np.argsort(topology.endpoint_device[: topology.ranks])] = np.arange(topology.ranks)
        return numbers

    def find_placement(self, group: Ranks) -> NodePlacement:
        """Find where the ranks of a group are.

        Args:
            group: Ranks of the group.

        Returns:
            Their placement.
        """
        if group not in self._placements:
            self._placements[group] = self._find_placement(group)
        return self._placements[group]

    def _find_placement(self, group: Ranks) -> NodePlacement:
        topology = self.topology
        local_ranks = topology.ranks // topology.facts.nodes
        node_numbers, local_numbers = np.divmod(self.numbers_by_node[list(group)], local_ranks)
        gpus_by_node: dict[int, list[int]] = {}
        for node_number, gpu in zip(node_numbers.tolist(), local_numbers.tolist(), strict=True):
            gpus_by_node.setdefault(node_number, []).append(gpu)
        nodes = sorted(gpus_by_node)
        counted = tuple(len(gpus_by_node[number]) for number in nodes)
        node, edits = topology.facts.machine, topology.facts.edits
        if len(set(counted)) > 1 or node is None or len(node.ranks) != local_ranks:
            return NodePlacement(counted, len(set(counted)) == 1)
        first_group = self._describe_ranks(tuple(range(counted[0])))
        choices = {tuple(sorted(gpus)) for gpus in gpus_by_node.values()}
        descriptions = {self._describe_ranks(gpus) for gpus in choices}
        if descriptions == {first_group}:
            return NodePlacement(counted, True, 0, describe_nodes(topology, nodes))
        # `name_ranks` builds a node with these GPUs alone, on which edits of links cannot be repeated.
        is_even = len(choices) == 1 and not edits
        return NodePlacement(counted, is_even, next(iter(descriptions)), describe_nodes(topology, nodes))

    def _describe_ranks(self, gpus: tuple[int, ...]) -> int:
        """What `_describe_gpus` says of ranks of a node."""
        node = self.topology.facts.machine
        assert node is not None  # `_find_placement` looks at nodes
        if gpus not in self._gpu_descriptions:
            self._gpu_descriptions[gpus] = _describe_gpus(node, {node.ranks[rank] for rank in gpus})
        return self._gpu_descriptions[gpus]

    def time_collectives(self, step: TrainingStep) -> Floats:
        """Time all collectives of a step by themselves.

        Args:
            step: The step.

        Returns:
            (tasks,) s; 0 for tasks that compute.
        """
        seconds_by_key: dict[Hashable, float] = {}
        by_box = [0.0] * len(step.tasks.boxes)
        for number, box in enumerate(step.tasks.boxes):
            if box.is_compute:
                continue
            key = self.make_key(step, box)
            if key not in seconds_by_key:
                seconds_by_key[key] = self.time_groups(step.get_groups(box), box)
            by_box[number] = box.repeats * seconds_by_key[key]
        return step.tasks.spread(by_box)

    def list_interval_ratios(self, step: TrainingStep) -> tuple[Floats, Floats]:
        """List how much faster and slower the collectives of a step may be: the ends of their predictions' intervals.

        Args:
            step: The step.

        Returns:
            (tasks,) ratios of the lower end over the predicted time, and (tasks,) of the upper end; 1 for tasks that
            compute and where NCCL's model does not time them.
        """
        ratios: dict[Hashable, tuple[float, float]] = {}
        ends = [(1.0, 1.0)] * len(step.tasks.boxes)
        for number, box in enumerate(step.tasks.boxes):
            if box.is_compute:
                continue
            key = self.make_key(step, box)
            if key not in ratios:
                group = step.get_ranks(box)
                ratios[key] = (1.0, 1.0)
                if self.is_predicted(group, box):
                    prediction = self.predict(group, box)
                    ratios[key] = prediction.low / prediction.time, prediction.high / prediction.time
            ends[number] = ratios[key]
        low, high = zip(*ends, strict=True)
        return step.tasks.spread(low), step.tasks.spread(high)

    def list_distinct(self, step: TrainingStep) -> list[StepTask]:
        """The collectives of `step`, one of each group, kind and size."""
        return list({self.make_key(step, box): box for box in step.tasks.boxes if not box.is_compute}.values())

    @staticmethod
    def make_key(step: TrainingStep, task: StepTask) -> Hashable:
        """Make a key that equal collectives of a step have in common.

        Args:
            step: The step.
            task: One of its collectives.

        Returns:
            The key.
        """
        # groups are large, and a step uses few of them many times: so they are compared by identity
        group: Hashable = step.get_ranks(task)
        if task.groups:
            group = id(task.groups)
        return group, task.kind, task.nbytes, task.algorithm, task.options

    def time_groups(self, groups: tuple[Ranks, ...], task: StepTask) -> float:
        """Time a collective that several groups run at the same time.

        Args:
            groups: Ranks of each group.
            task: The collective.

        Returns:
            The time in s, of the slowest group.
        """
        examples, is_predicted = groups, self.is_predicted(groups[0], task)
        if is_predicted:
            # groups of one placement take as long as each other: one of each is enough
            examples = self._list_examples(groups)
            is_predicted = all(self.is_predicted(group, task) for group in examples)
            if not is_predicted:
                examples = groups
        longest = max(self.time_group(group, task) for group in examples)
        if len(groups) == 1 or not longest or not self._may_share_links(groups[0], task):
            return longest
        sharing = self._measure_link_sharing(groups, task)
        if not sharing.has_shared_links:
            return longest
        if not is_predicted:
            return self._simulate_groups(groups, task, longest * sharing.highest_ratio)
        return max(self._time_with_shared_links(group, task, sharing) for group in examples)

    def _list_examples(self, groups: tuple[Ranks, ...]) -> tuple[Ranks, ...]:
        """One group of each placement."""
        if groups not in self._examples:
            self._examples[groups] = tuple({self.find_placement(group): group for group in groups}.values())
        return self._examples[groups]

    def _may_share_links(self, group: Ranks, task: StepTask) -> bool:
        """Whether groups of a collective may use the same links; where each GPU has links and a card of its own they do
        not, which saves a count."""
        if not self.is_predicted(group, task):
            return True
        facts = read_facts(self.topology)
        has_card = len(self.find_placement(group).counts) == 1 or not 0 < facts.nics < facts.local_ranks
        return not has_card or facts.wiring not in FABRICS

    def _measure_link_sharing(self, groups: tuple[Ranks, ...], task: StepTask) -> GroupLinkSharing:
        plans = [(self.build_schedule(group, task), group) for group in groups]
        # Small buffers leave links idle that larger ones use, so the size counts.
        key = groups, tuple(id(plan) for plan, _ in plans), task.nbytes
        if key not in self._link_sharing:
            self._link_sharing[key] = measure_link_sharing(self.topology, plans, task.nbytes)
        return self._link_sharing[key]

    def _time_with_shared_links(self, group: Ranks, task: StepTask, sharing: GroupLinkSharing) -> float:
        """Seconds of a predicted collective of one group while all others run it."""
        prediction = self.predict(group, task)
        if prediction.call is None:
            return prediction.time
        shared_time = compute_time(sharing.share_call(prediction.call)).total
        return prediction.time * max(1.0, shared_time / compute_time(prediction.call).total)

    def _simulate_groups(self, groups: tuple[Ranks, ...], task: StepTask, estimate: float) -> float:
        """Seconds of a collective that all groups run at once on the links; the estimate where they are too many rows
        for one run."""
        plans = [(self.build_schedule(group, task), group) for group in groups]
        if sum(len(plan) for plan, _ in plans) > _MAX_ROWS:
            return estimate
        key = groups, task.kind, task.nbytes, task.algorithm, task.options
        if key not in self._seconds:
            launches = [Launch(schedule=plan, nbytes=task.nbytes, ranks=group) for plan, group in plans]
            self._seconds[key] = float(max(simulate_ordered(launches, self.topology).end))
        return self._seconds[key]

    def time_group(self, group: Ranks, task: StepTask) -> float:
        """Seconds of a collective of one group by itself.

        Args:
            group: Ranks of the group.
            task: The collective.

        Returns:
            The time in s.
        """
        placement: Hashable = group
        if self.is_predicted(group, task):
            placement = self.find_placement(group)
        key = placement, task.kind, task.nbytes, task.algorithm, task.options
        if key not in self._seconds:
            self._seconds[key] = self._time_group(group, task)
        return self._seconds[key]

    def predict(self, group: Ranks, task: StepTask) -> Prediction:
        """Predict a collective of one group as NCCL runs it by itself. An alltoallv ends with its busiest GPU: it takes
        as long as an alltoall in which every GPU has as much.

        Args:
            group: Ranks of the group.
            task: The collective.

        Returns:
            The prediction.
        """
        machine, count = self._select_machine(group)
        nbytes = task.nbytes
        if task.kind == "alltoallv":
            nbytes = _find_busiest_bytes(task, len(group))
        call = _NCCL_COLLECTIVES[task.kind], machine, nbytes, count
        if call not in self._predictions:
            self._predictions[call] = predict(*call)
        return self._predictions[call]

    def _select_machine(self, group: Ranks) -> tuple[Topology, int | None]:
        """The machine that NCCL's model times a group on, and how many of its ranks take part; None: all."""
        placement = self.find_placement(group)
        if placement not in self._machines:
            if placement.gpus:
                self._machines[placement] = name_ranks(self.topology, sorted(group)), None
            else:
                nodes = range(len(placement.counts))
                if placement.nodes is not None:
                    nodes = np.unique(self.topology.devices.node[self.topology.endpoint_device[list(group)]]).tolist()
                self._machines[placement] = restrict_nodes(self.topology, nodes), len(group)
        return self._machines[placement]

    def _time_group(self, group: Ranks, task: StepTask) -> float:
        if self.is_predicted(group, task):
            return self.predict(group, task).time
        transfers = self.build_schedule(group, task)
        if not len(transfers):
            return 0.0
        return simulate(transfers, self.topology, task.nbytes, engine="event", ranks=list(group)).time

    def build_schedule(self, group: Ranks, task: StepTask) -> Schedule:
        """Build the schedule of a collective; equal collectives share one.

        Args:
            group: Ranks of the group.
            task: The collective.

        Returns:
            The schedule; its rank r sits on rank `group[r]` of the topology.
        """
        key: Hashable
        if self.is_predicted(group, task):
            key = (
                self.find_placement(group),
                self._order_by_node(group, task),
                task.kind,
                task.nbytes,
                task.algorithm,
                task.options,
            )
        else:
            # only chains are cut into pieces by their size; other schedules are the same for all sizes
            size = 0
            if task.kind in _CHAINS:
                size = task.nbytes
            key = group, task.kind, size, task.algorithm, task.options
        if key not in self._schedules:
            self._schedules[key] = self._build_schedule(group, task)
        return self._schedules[key]

    def _order_by_node(self, group: Ranks, task: StepTask) -> tuple[int, ...] | None:
        """The members of a group in the order in which NCCL numbers them; None where they keep their numbers."""
        if self.topology.facts.placement == "node" or task.kind in _POINT_TO_POINT:
            return None
        return tuple(np.argsort(self.numbers_by_node[list(group)]).tolist())

    def _build_schedule(self, group: Ranks, task: StepTask) -> Schedule:
        if self.is_predicted(group, task):
            if task.kind == "send":
                return schedule(_DEFAULT_ALGORITHMS["send"], ranks=2)
            if task.kind == "alltoallv":  # NCCL has grouped sends and receives for it
                options: dict[str, Any] = dict(task.options)
                return schedule(_DEFAULT_ALGORITHMS["alltoallv"], ranks=len(group), **options)
            order = self._order_by_node(group, task)
            topology = self.topology
            if len(group) < topology.ranks:
                topology = restrict_ranks(topology, tuple(group[member] for member in order or range(len(group))))
            elif order is not None:
                topology = sort_ranks_by_node(topology)
            transfers = build_schedule(self.predict(group, task), topology)
            if order is not None:
                transfers = _move_ranks(transfers, order)
            return transfers
        name = task.algorithm or _DEFAULT_ALGORITHMS[task.kind]
        if self.algorithm and not task.algorithm and task.kind == "allreduce":
            name = self.algorithm
        options = dict(task.options)
        # Chains send their buffer in pieces of a slot of NCCL, unless the task says an algorithm of its own.
        if not task.algorithm and task.kind in _CHAINS:
            options["chunks"] = min(_MAX_PIECES, max(1, -(-task.nbytes // SLOT)))
        is_whole = group == tuple(range(self.topology.ranks))
        # Schedules that use the machine's layout (rings along NVLink) fit only where all of its ranks take part.
        transfers = schedule(name, ranks=len(group), topology=self.topology if is_whole else None, **options)
        require_right(transfers)  # steps of training are compared by their time
        return transfers


def _find_busiest_bytes(task: StepTask, ranks: int) -> int:
    """nccl-tests' bytes of an alltoall in which each rank sends as much as the busiest of an alltoallv sends or
    receives."""
    options = dict(task.options)
    table = np.reshape(build_pair_shares(ranks, amounts=options["amounts"]), (ranks, ranks))
    away = table * ~np.eye(ranks, dtype=bool)
    most = max(float(away.sum(axis=0).max()), float(away.sum(axis=1).max()))
    return round(task.nbytes * most * ranks / max(1, ranks - 1))


def restrict_ranks(topology: Topology, group: Ranks) -> Topology:
    """The `topology` with the ranks of `group` only, in the group's order."""
    return replace(topology, ranks=len(group), endpoint_device=topology.endpoint_device[list(group)], orders=None)


def _move_ranks(transfers: Schedule, order: tuple[int, ...]) -> Schedule:
    """The schedule with its rank r on rank `order[r]`; helpers stay, and chunks keep their numbers."""
    endpoints = np.array([*order, *range(transfers.ranks, transfers.endpoints)], np.int32)
    steps = tuple(replace(step, src=endpoints[step.src], dst=endpoints[step.dst]) for step in transfers.patterns)
    return replace(transfers, patterns=steps, root=order[transfers.root])


def _describe_gpus(node: Machine, gpus: Collection[int]) -> int:
    """A number that two choices of a node's GPUs have in common where an exchange of equal devices turns one into the
    other: a collective takes as long on either.

    Colour refinement (Weisfeiler and Leman 1968): a device's colour is what it is, then also the colours of all its
    neighbours and the cables to them.
    """
    numbers = {name: number for number, name in enumerate(node.devices)}
    neighbours: list[list[tuple[str, float, int]]] = [[] for _ in numbers]
    for a, b, cable in node.connections:
        neighbours[numbers[a]].append((cable.kind, cable.bandwidth, numbers[b]))
        neighbours[numbers[b]].append((cable.kind, cable.bandwidth, numbers[a]))
    colours = [hash((find_kind(name), number in gpus)) for name, number in numbers.items()]
    for _ in range(_ROUNDS):
        colours = [
            hash((colour, *sorted((kind, rate, colours[other]) for kind, rate, other in around)))
            for colour, around in zip(colours, neighbours, strict=True)
        ]
    return hash(tuple(sorted(colours)))
