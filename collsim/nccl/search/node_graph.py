"""A node as NCCL's search sees it: ways between GPUs and to network cards, what each reserves, and the room on every
directed link.

At the rates NCCL plans with (src/graph/topo.h); a way is as bad as its worst element (`topology.plan`). GB/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...topology.network import Cable
from ...topology.plan import LOC, NVB, NVL, PHB, PXB, PXN, Machine, MachinePaths, Path
from . import constants as c
from .joined import joined

#: Kinds of links that GPUs have of their own.
FAST = ("nvlink", "xgmi")


def compute_nccl_rate(cable: Cable) -> float:
    """GB/s that NCCL plans with."""
    return (cable.effective or cable.bandwidth) / 1e9


@dataclass(frozen=True)
class Rules:
    """What NCCL may do: worst path types for P2P and GPUDirect RDMA (numbers of `topology.plan.LEVELS`),
    NCCL_CROSS_NIC; and the CPU."""

    p2p: int
    gdr: int
    cross_nic: int = 2
    cpu: str = "intel"


@dataclass(frozen=True)
class LinkPath:
    """A path: its type, what it reserves (directed link, times the speed), its bandwidth."""

    type: int
    costs: tuple[tuple[int, float], ...]
    bandwidth: float


class NodeGraph:
    """The node as NCCL sees it: ways between GPUs, to and from cards, and the room on every directed link, GB/s."""

    def __init__(self, plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules):
        self.machine, self.rules, self.paths = plan, rules, MachinePaths(plan)
        self.gpus, self.cards = plan.ranks[:gpus], [i for i, rate in enumerate(cards) if rate > 0]
        self.has_nvswitch = bool(plan.of_kind("nvswitch"))
        self.nics = plan.of_kind("nic")
        rates = [compute_nccl_rate(cable) for *_, cable in plan.joints]
        self.link_bandwidth = [rate for rate in rates for _ in (0, 1)] + [rate / 1e9 for rate in cards for _ in (0, 1)]
        n = range(len(self.gpus))
        self.gpu_to_gpu = {(a, b): way for a in n for b in n if a != b and (way := self._between(a, b))}
        self.gpu_to_card = {(g, card): way for g in n for card in self.cards if (way := self._out(g, card))}
        self.card_to_gpu = {(card, g): way for g in n for card in self.cards if (way := self._into(card, g))}

    def _between(self, a: int, b: int) -> LinkPath | None:
        """Direct where P2P is allowed, else through the socket of the first GPU."""
        one, two = self.gpus[a], self.gpus[b]
        path = self.paths.best(one, two)
        if path and path.type <= self.rules.p2p and (path.type <= NVB or self.machine.p2p_over_pcie):
            return self._way(path)
        return self._through_socket(one, two)

    def _through_socket(self, one: int, two: int) -> LinkPath | None:
        socket = next(iter(self.paths.nearest(one, self.machine.of_kind("cpu"))), None)
        if socket is None:
            return None
        there, back = self.paths.best(one, socket), self.paths.best(socket, two)
        return self._way(there, back) if there and back else None

    def _out(self, g: int, card: int) -> LinkPath | None:
        """To a card: directly, over NVLink through the GPU beside it (PXN) where that is nearer, else through the
        socket."""
        gpu, nic, port = self.gpus[g], self.nics[card], 2 * len(self.machine.joints) + 2 * card
        own = self.paths.best(gpu, nic)
        beside = [
            (to_card.bandwidth, -peer, self._way(hop, to_card, port=port, least=PXN))
            for peer in self.gpus
            if peer != gpu
            and (hop := self.paths.best(gpu, peer))
            and hop.type <= NVL
            and (to_card := self.paths.best(peer, nic))
            and to_card.type <= PXB
            and (own is None or own.type > PXN or to_card.bandwidth > own.bandwidth)
        ]
        if beside and self.rules.gdr >= PXB:
            return max(beside)[2]
        return self._own(own, gpu, nic, port)

    def _into(self, card: int, g: int) -> LinkPath | None:
        gpu, nic, port = self.gpus[g], self.nics[card], 2 * len(self.machine.joints) + 2 * card + 1
        return self._own(self.paths.best(nic, gpu), nic, gpu, port)

    def _own(self, path: Path | None, one: int, two: int, port: int) -> LinkPath | None:
        if path is None:
            return None
        if path.type <= self.rules.gdr:
            return self._way(path, port=port)
        gpu = one if self.machine.kinds[one] == "gpu" else two
        socket = next(iter(self.paths.nearest(gpu, self.machine.of_kind("cpu"))), None)
        there, back = (None, None) if socket is None else (self.paths.best(one, socket), self.paths.best(socket, two))
        return self._way(there, back, port=port, least=PHB) if there and back else None

    def _way(self, *parts: Path, port: int | None = None, least: int = LOC) -> LinkPath:
        """Parts after one another. Intel's root complex costs a GPU's PHB path a fifth more; before Ampere a GPU pays
        an eighth back."""
        type_ = max(least, *(part.type for part in parts))
        kinds, joints = self.machine.kinds, self.machine.joints
        first, last = parts[0].devices[0], parts[-1].devices[-1]
        slow = type_ == PHB and kinds[first] == "gpu" and self.rules.cpu == "intel"
        costs: dict[int, float] = {}
        links = [link for part in parts for link in part.links]
        for link in links:
            costs[link] = costs.get(link, 0.0) + (c.INTEL_P2P if slow and joints[link // 2][2].kind == "pcie" else 1.0)
        if kinds[last] == "gpu" and kinds[first] != "gpu" and self.machine.sm < 80:
            costs[links[-1] ^ 1] = costs.get(links[-1] ^ 1, 0.0) + c.WAY_BACK
        if port is not None:
            costs[port] = 1.0
        return LinkPath(type_, tuple(costs.items()), min(self.link_bandwidth[link] for link in costs))

    @cached_property
    def max_reserved(self) -> dict[int, tuple[float, float]]:
        """How many times its speed a channel reserves of a link at most: inside the node, where each GPU is reached and
        left once, and between nodes, where it comes in once and goes out once."""
        entered, left = (_most_of(self.gpu_to_gpu, end) for end in (1, 0))
        into, out = (_most_of(ways, None) for ways in (self.card_to_gpu, self.gpu_to_card))
        links = {*entered, *into, *out}
        return {
            link: (min(entered.get(link, 0.0), left.get(link, 0.0)), into.get(link, 0.0) + out.get(link, 0.0))
            for link in links
        }

    @property
    def best_gpu_bandwidth(self) -> float:
        """GB/s of the best GPU: its PCIe slot, or all its NVLinks."""
        most = 0.0
        for gpu in self.gpus:
            own = [(cable.kind, compute_nccl_rate(cable)) for _, link, cable in self.paths.neighbours[gpu]]
            most = max(most, sum(r for kind, r in own if kind in FAST), *(r for kind, r in own if kind == "pcie"), 0.0)
        return most

    def count_link_channels(self, g: int, speed: float, worst: int) -> tuple[int, int]:
        """How many channels of a speed a GPU's links hold out of it and into it: NVLinks, or all where worse paths are
        allowed."""
        kinds = FAST if worst <= NVB else (*FAST, "pcie", "c2c")
        own = [link for _, link, cable in self.paths.neighbours[self.gpus[g]] if cable.kind in kinds]
        out, into = (sum(int(self.link_bandwidth[link ^ way] / speed + 1e-6) for link in own) for way in (0, 1))
        return out, into

    def count_slot_channels(self, g: int, speed: float) -> int:
        """How many channels of a speed a GPU's slot lets in."""
        own = [link for _, link, cable in self.paths.neighbours[self.gpus[g]] if cable.kind not in FAST]
        return sum(int(self.link_bandwidth[link ^ 1] / speed + 1e-6) for link in own)


@dataclass(frozen=True)
class SearchInput:
    """All that the searches of a node depend on, to remember their answers by.

    `gpus`: how many of its GPUs take part, the first ones. `cards`: B/s of each network card, one direction; empty
    where there is one node, 0 for a card that failed.
    """

    devices: tuple[str, ...]
    joints: tuple[tuple[str, str, Cable], ...]
    sm: int
    p2p_over_pcie: bool
    gpu_count: int
    card_rates: tuple[float, ...]
    rules: Rules

    @classmethod
    def from_machine(cls, plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules) -> SearchInput:
        return cls(plan.devices, plan.joints, plan.sm, plan.p2p_over_pcie, gpus, cards, rules)

    @lru_cache(maxsize=32)  # noqa: B019 - for rings, trees and heads
    def build_node_graph(self) -> NodeGraph:
        plan = Machine(
            name="node",
            title="node",
            about="",
            devices=self.devices,
            joints=self.joints,
            source="the topology",
            sm=self.sm,
            p2p_over_pcie=self.p2p_over_pcie,
        )
        return NodeGraph(plan, self.gpu_count, _own_cards(plan, self.gpu_count, self.card_rates), self.rules)


def _own_cards(plan: Machine, gpus: int, cards: tuple[float, ...]) -> tuple[float, ...]:
    """Without the cards of hosts that have no GPU among these: of an NVLink domain over many trays, NCCL sees the trays
    of the job."""
    here = {plan.devices[rank] for rank in plan.ranks[:gpus]}
    hosts = joined((), ((a, b) for a, b, cable in plan.joints if cable.kind not in FAST))
    own = {device for host in hosts if host & here for device in host}
    return tuple(
        rate if plan.devices[nic] in own else 0.0 for rate, nic in zip(cards, plan.of_kind("nic"), strict=False)
    )


def _most_of(ways: Mapping[tuple[int, int], LinkPath], end: int | None) -> dict[int, float]:
    """What ways reserve of each link, if of those with one end in common (of all of them: None) it is the one that
    reserves most."""
    of_group: dict[tuple[int, int], float] = {}
    for ends, way in ways.items():
        for link, times in way.costs:
            key = link, -1 if end is None else ends[end]
            of_group[key] = max(times, of_group.get(key, 0.0))
    found: dict[int, float] = {}
    for (link, _), times in of_group.items():
        found[link] = found.get(link, 0.0) + times
    return found
