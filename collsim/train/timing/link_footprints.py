"""Which links the collectives of steps cross, with how many bytes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ...dtypes import Floats, Longs
from ...schedule import Schedule
from ...simulate.ordered import HelperPlacement
from ..workload.collective_model import CollectiveModel
from ..workload.group_link_sharing import count_pair_bytes
from ..workload.step_graph import StepTask, TrainingStep


class Footprint(NamedTuple):
    """Links that a collective's groups cross, all of them at the same time.

    Attributes:
        links: (links crossed,) their numbers in the network, ascending.
        nbytes: (links crossed,) bytes on each.
        has_overlap: do two groups cross the same link?
    """

    links: Longs
    nbytes: Floats
    has_overlap: bool


class Footprints:
    """The links of all collectives of steps on one network; equal collectives are worked out once.

    Attributes:
        network: schedules of collectives on the network.
        placement: where servers and switches sit that the collectives use.
        link_count: links of the network, with those of servers and switches.
    """

    def __init__(self, steps: Iterable[TrainingStep], network: CollectiveModel):
        """Place the servers and switches that the collectives use.

        Args:
            steps: The steps of the run.
            network: Schedules of collectives on the network.
        """
        self.network = network
        placed = (
            (network.build_schedule(group, task), group)
            for step in steps
            for task in network.list_distinct(step)
            for group in step.get_groups(task)
        )
        self.placement = HelperPlacement.build(network.topology, list(placed))
        self.link_count = len(self.placement.topology.links)
        self._known: dict[Hashable, Footprint] = {}
        self._pairs: dict[int, tuple[Longs, Longs]] = {}

    def get(self, step: TrainingStep, task: StepTask) -> Footprint:
        """Get what a collective of a step crosses.

        Args:
            step: The step.
            task: The collective.

        Returns:
            Links and bytes of all its groups.
        """
        key = self.network.make_key(step, task)
        if key not in self._known:
            self._known[key] = self._build_footprint(list(self._iterate_routes(step, task)))
        return self._known[key]

    def sum_link_bytes(self, step: TrainingStep) -> Longs:
        """Sum the bytes that a step's collectives put on each link.

        Args:
            step: The step.

        Returns:
            (links,) bytes.
        """
        out = np.zeros(self.link_count)
        for task in (step.tasks[i] for i in step.collectives):
            footprint = self.get(step, task)
            out[footprint.links] += task.repeats * footprint.nbytes
        return np.rint(out).astype(np.int64)

    def make_group_key(self, group: tuple[int, ...], task: StepTask) -> bytes:
        """Make a key that groups have in common for which a collective takes as long: equal links, used in the same
        way.

        Args:
            group: Ranks of the group.
            task: The collective.

        Returns:
            The key.
        """
        plan = self.network.build_schedule(group, task)
        if id(plan) not in self._pairs:
            self._pairs[id(plan)] = count_pair_bytes(plan, task.nbytes)[:2]
        src, dst = self._pairs[id(plan)]
        ends = np.array([*group, *self.placement.find_helpers(plan, group)], np.int64)
        topology = self.placement.topology
        routes = topology.routes(ends[src], ends[dst])
        links, first, link_number = np.unique(routes.link, return_index=True, return_inverse=True)
        # Links are named by the order in which routes first cross them, so that two nodes that are alike have one key
        # although their links have other numbers.
        order = np.argsort(first, kind="stable")
        name = np.empty(len(order), np.int64)
        name[order] = np.arange(len(order))
        seen = links[order]
        columns = routes.start, name[link_number], topology.links.alpha[seen], topology.links.bandwidth[seen]
        return b"|".join([str(id(plan)).encode(), *(column.tobytes() for column in columns)])

    def find_links(self, src: Longs, dst: Longs) -> Longs:
        """Links on the ways between ranks, each once."""
        columns = self.placement.topology.columns(src, dst)
        return np.unique(np.concatenate([np.zeros(0, np.int64), *(column.link for column in columns)]))

    def _iterate_routes(self, step: TrainingStep, task: StepTask) -> Iterator[tuple[Longs, Longs, Floats]]:
        """(hops,) links, numbers of the groups that cross them, and bytes."""
        by_plan: dict[int, tuple[Schedule, list[tuple[int, tuple[int, ...]]]]] = {}
        for number, group in enumerate(step.get_groups(task)):
            # Groups with the same schedule are counted together, with one lookup of routes.
            plan = self.network.build_schedule(group, task)
            by_plan.setdefault(id(plan), (plan, []))[1].append((number, group))
        for plan, groups in by_plan.values():
            src, dst, nbytes = count_pair_bytes(plan, task.nbytes)
            ends = np.array([[*group, *self.placement.find_helpers(plan, group)] for _, group in groups], np.int64)
            owner, size = np.repeat([number for number, _ in groups], len(src)), np.tile(nbytes, len(groups))
            for pair, link in self.placement.topology.columns(ends[:, src].ravel(), ends[:, dst].ravel()):
                chosen: slice | Longs = slice(None)
                if pair is not None:
                    chosen = pair
                # Empty pieces cross links without loading them.
                loaded = size[chosen] > 0
                yield link[loaded].astype(np.int64), owner[chosen][loaded], size[chosen][loaded]

    @staticmethod
    def _build_footprint(routes: list[tuple[Longs, Longs, Floats]]) -> Footprint:
        if not routes:
            return Footprint(np.zeros(0, np.int64), np.zeros(0), False)
        link, owner, size = (np.concatenate(column) for column in zip(*routes, strict=True))
        links, link_number = np.unique(link, return_inverse=True)
        pairs = np.unique(link_number * (int(owner.max(initial=0)) + 1) + owner)
        loaded = np.bincount(link_number, weights=size, minlength=len(links)).astype(np.float64)
        return Footprint(links, loaded, len(pairs) > len(links))
