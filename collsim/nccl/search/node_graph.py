"""A node as NCCL's search sees it: paths between GPUs and to network cards, what each reserves, and the bandwidth of
every directed link.

At the rates NCCL plans with (src/graph/topo.h); a path is as bad as its worst element (`topology.machine_builder`).
Rates are in GB/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ...topology.machine_builder import LOC, NVB, NVL, PHB, PXB, PXN, Machine, MachinePaths, Path
from ...topology.network import Cable
from . import constants as c
from .connected_groups import find_connected_groups

#: Kinds of links that GPUs have for themselves.
FAST = ("nvlink", "xgmi")


def compute_nccl_rate(cable: Cable) -> float:
    """Compute the rate that NCCL plans with.

    Args:
        cable: a cable.

    Returns:
        GB/s in one direction.
    """
    return (cable.effective or cable.bandwidth) / 1e9


@dataclass(frozen=True)
class Rules:
    """What NCCL may do.

    Attributes:
        p2p: the worst path type between GPUs (numbers of `topology.machine_builder.LEVELS`).
        gdr: the worst path type for GPUDirect RDMA.
        cross_nic: NCCL_CROSS_NIC, 0 to 2.
        cpu: `intel`, `amd` or `arm`.
    """

    p2p: int
    gdr: int
    cross_nic: int = 2
    cpu: str = "intel"


@dataclass(frozen=True)
class LinkPath:
    """A path over the links of a node.

    Attributes:
        type: its type (number of `topology.machine_builder.LEVELS`).
        costs: what a channel reserves: directed links, and how many times its speed of each.
        bandwidth: GB/s of its slowest link.
    """

    type: int
    costs: tuple[tuple[int, float], ...]
    bandwidth: float


class NodeGraph:
    """The node as NCCL sees it.

    Args:
        machine: its devices and cables.
        gpus: how many of its GPUs take part, the first ones.
        card_rates: B/s of each network card, one direction; 0 for a card that is not used.
        rules: what NCCL may do.

    Attributes:
        gpus: devices of the GPUs that take part.
        cards: numbers of the network cards that are used.
        link_bandwidth: GB/s of every directed link: two for each cable, then two for each card.
        gpu_to_gpu: paths by the numbers of their two GPUs.
        gpu_to_card: paths by numbers of GPU and card.
        card_to_gpu: paths by numbers of card and GPU.
    """

    def __init__(self, machine: Machine, gpus: int, card_rates: tuple[float, ...], rules: Rules):
        self.machine, self.rules, self.paths = machine, rules, MachinePaths(machine)
        self.gpus, self.cards = machine.ranks[:gpus], [i for i, rate in enumerate(card_rates) if rate > 0]
        self.has_nvswitch = bool(machine.of_kind("nvswitch"))
        self.nics = machine.of_kind("nic")
        rates = [compute_nccl_rate(cable) for *_, cable in machine.connections] + [rate / 1e9 for rate in card_rates]
        self.link_bandwidth = [rate for rate in rates for _ in (0, 1)]
        numbers = range(len(self.gpus))
        self.gpu_to_gpu = {
            (a, b): path for a in numbers for b in numbers if a != b and (path := self._find_gpu_path(a, b))
        }
        self.gpu_to_card = {
            (gpu, card): path for gpu in numbers for card in self.cards if (path := self._find_path_out(gpu, card))
        }
        self.card_to_gpu = {
            (card, gpu): path for gpu in numbers for card in self.cards if (path := self._find_path_in(card, gpu))
        }

    def _find_gpu_path(self, a: int, b: int) -> LinkPath | None:
        """Direct where P2P is allowed, else through the socket of the first GPU."""
        src, dst = self.gpus[a], self.gpus[b]
        path = self.paths.best(src, dst)
        if path and path.type <= self.rules.p2p and (path.type <= NVB or self.machine.p2p_over_pcie):
            return self._build_path(path)
        socket = self._find_socket(src)
        if socket is None:
            return None
        to_socket, from_socket = self.paths.best(src, socket), self.paths.best(socket, dst)
        if to_socket and from_socket:
            return self._build_path(to_socket, from_socket)
        return None

    def _find_socket(self, device: int) -> int | None:
        return next(iter(self.paths.nearest(device, self.machine.of_kind("cpu"))), None)

    def _number_port(self, card: int) -> int:
        """The directed link out of a card; the one into it is the next."""
        return 2 * len(self.machine.connections) + 2 * card

    def _find_path_out(self, gpu_number: int, card: int) -> LinkPath | None:
        """From a GPU to a card: directly; over NVLink through the GPU next to the card (PXN) where that is nearer; else
        through the socket."""
        gpu, nic, port = self.gpus[gpu_number], self.nics[card], self._number_port(card)
        direct = self.paths.best(gpu, nic)
        through_peers = [
            (to_card.bandwidth, -peer, self._build_path(hop, to_card, port=port, best_type=PXN))
            for peer in self.gpus
            if peer != gpu
            and (hop := self.paths.best(gpu, peer))
            and hop.type <= NVL
            and (to_card := self.paths.best(peer, nic))
            and to_card.type <= PXB
            and (direct is None or direct.type > PXN or to_card.bandwidth > direct.bandwidth)
        ]
        if through_peers and self.rules.gdr >= PXB:
            return max(through_peers)[2]
        return self._build_card_path(direct, gpu, nic, port)

    def _find_path_in(self, card: int, gpu_number: int) -> LinkPath | None:
        gpu, nic, port = self.gpus[gpu_number], self.nics[card], self._number_port(card) + 1
        return self._build_card_path(self.paths.best(nic, gpu), nic, gpu, port)

    def _build_card_path(self, path: Path | None, src: int, dst: int, port: int) -> LinkPath | None:
        """Directly where GPUDirect RDMA is allowed, else through the GPU's socket."""
        if path is None:
            return None
        if path.type <= self.rules.gdr:
            return self._build_path(path, port=port)
        socket = self._find_socket(src if self.machine.kinds[src] == "gpu" else dst)
        if socket is None:
            return None
        to_socket, from_socket = self.paths.best(src, socket), self.paths.best(socket, dst)
        if not to_socket or not from_socket:
            return None
        return self._build_path(to_socket, from_socket, port=port, best_type=PHB)

    def _build_path(self, *parts: Path, port: int | None = None, best_type: int = LOC) -> LinkPath:
        """Parts after one another; the type is no better than `best_type`.

        Intel's root complex costs a GPU's PHB path a fifth more; before Ampere a GPU pays an eighth back.
        """
        path_type = max(best_type, *(part.type for part in parts))
        kinds, connections = self.machine.kinds, self.machine.connections
        first, last = parts[0].devices[0], parts[-1].devices[-1]
        is_slow = path_type == PHB and kinds[first] == "gpu" and self.rules.cpu == "intel"
        costs: dict[int, float] = {}
        links = [link for part in parts for link in part.links]
        for link in links:
            share = 1.0
            if is_slow and connections[link // 2][2].kind == "pcie":
                share = c.INTEL_P2P
            costs[link] = costs.get(link, 0.0) + share
        if kinds[last] == "gpu" and kinds[first] != "gpu" and self.machine.sm < 80:
            costs[links[-1] ^ 1] = costs.get(links[-1] ^ 1, 0.0) + c.WAY_BACK
        if port is not None:
            costs[port] = 1.0
        return LinkPath(path_type, tuple(costs.items()), min(self.link_bandwidth[link] for link in costs))

    @cached_property
    def max_reserved(self) -> dict[int, tuple[float, float]]:
        """How many times its speed a channel reserves of a link at most: inside the node, where each GPU is reached and
        left once, and between nodes, where it comes in once and goes out once."""
        reaching, leaving = (_find_max_reserved(self.gpu_to_gpu, end) for end in (1, 0))
        entering, going_out = (_find_max_reserved(paths, None) for paths in (self.card_to_gpu, self.gpu_to_card))
        links = {*reaching, *entering, *going_out}
        return {
            link: (
                min(reaching.get(link, 0.0), leaving.get(link, 0.0)),
                entering.get(link, 0.0) + going_out.get(link, 0.0),
            )
            for link in links
        }

    @property
    def best_gpu_bandwidth(self) -> float:
        """GB/s of the best GPU: its PCIe slot, or all its NVLinks."""
        most = 0.0
        for gpu in self.gpus:
            rates = [(cable.kind, compute_nccl_rate(cable)) for _, link, cable in self.paths.neighbours[gpu]]
            fast = sum(rate for kind, rate in rates if kind in FAST)
            most = max(most, fast, *(rate for kind, rate in rates if kind == "pcie"), 0.0)
        return most

    def count_link_channels(self, gpu: int, speed: float, worst_type: int) -> tuple[int, int]:
        """Count the channels that a GPU's links hold.

        Args:
            gpu: number of the GPU.
            speed: GB/s of a channel.
            worst_type: the worst path type allowed between GPUs: its NVLinks count, beyond `NVB` all its links.

        Returns:
            Channels out of the GPU, and channels into it.
        """
        kinds: tuple[str, ...] = FAST
        if worst_type > NVB:
            kinds = (*FAST, "pcie", "c2c")
        links = [link for _, link, cable in self.paths.neighbours[self.gpus[gpu]] if cable.kind in kinds]
        out, into = (
            sum(int(self.link_bandwidth[link ^ direction] / speed + 1e-6) for link in links) for direction in (0, 1)
        )
        return out, into

    def count_slot_channels(self, gpu: int, speed: float) -> int:
        """Count the channels that a GPU's slot lets in.

        Args:
            gpu: number of the GPU.
            speed: GB/s of a channel.

        Returns:
            Channels into the GPU.
        """
        links = [link for _, link, cable in self.paths.neighbours[self.gpus[gpu]] if cable.kind not in FAST]
        return sum(int(self.link_bandwidth[link ^ 1] / speed + 1e-6) for link in links)


@dataclass(frozen=True)
class SearchInput:
    """All that the searches of a node depend on, as a key under which their answers are cached.

    Attributes:
        devices: names of the node's devices.
        connections: its cables, each with the names of its ends.
        sm: compute capability of its GPUs.
        p2p_over_pcie: whether GPUs may write to one another over PCIe.
        gpu_count: how many of its GPUs take part, the first ones.
        card_rates: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.
        rules: what NCCL may do.
    """

    devices: tuple[str, ...]
    connections: tuple[tuple[str, str, Cable], ...] = field(hash=False)  # hashing every cable takes long
    sm: int
    p2p_over_pcie: bool
    gpu_count: int
    card_rates: tuple[float, ...]
    rules: Rules

    @classmethod
    def from_machine(cls, machine: Machine, gpu_count: int, card_rates: tuple[float, ...], rules: Rules) -> SearchInput:
        """Take what the searches depend on from a node.

        Args:
            machine: its devices and cables.
            gpu_count: how many of its GPUs take part, the first ones.
            card_rates: B/s of each network card, one direction; empty where there is one node.
            rules: what NCCL may do.

        Returns:
            The input of the searches.
        """
        return cls(
            machine.devices, machine.connections, machine.sm, machine.p2p_over_pcie, gpu_count, card_rates, rules
        )

    @lru_cache(maxsize=32)  # noqa: B019 - for rings, trees and heads
    def build_node_graph(self) -> NodeGraph:
        """Build the node as NCCL sees it.

        Returns:
            Its graph, the same object for equal inputs.
        """
        machine = Machine(
            name="node",
            title="node",
            about="",
            devices=self.devices,
            connections=self.connections,
            source="the topology",
            sm=self.sm,
            p2p_over_pcie=self.p2p_over_pcie,
        )
        card_rates = _drop_idle_cards(machine, self.gpu_count, self.card_rates)
        return NodeGraph(machine, self.gpu_count, card_rates, self.rules)


def _drop_idle_cards(machine: Machine, gpus: int, card_rates: tuple[float, ...]) -> tuple[float, ...]:
    """Without the cards of hosts that have no GPU among these: of an NVLink domain over many trays, NCCL sees the trays
    of the job."""
    used_gpus = {machine.devices[rank] for rank in machine.ranks[:gpus]}
    hosts = find_connected_groups((), ((a, b) for a, b, cable in machine.connections if cable.kind not in FAST))
    used_devices = {device for host in hosts if host & used_gpus for device in host}
    return tuple(
        rate if machine.devices[nic] in used_devices else 0.0
        for rate, nic in zip(card_rates, machine.of_kind("nic"), strict=False)
    )


def _find_max_reserved(paths: Mapping[tuple[int, int], LinkPath], end: int | None) -> dict[int, float]:
    """What paths reserve of each link, if of those with one end in common (of all of them: None) it is the one that
    reserves most."""
    by_group: dict[tuple[int, int], float] = {}
    for ends, path in paths.items():
        for link, share in path.costs:
            key = link, -1 if end is None else ends[end]
            by_group[key] = max(share, by_group.get(key, 0.0))
    reserved: dict[int, float] = {}
    for (link, _), share in by_group.items():
        reserved[link] = reserved.get(link, 0.0) + share
    return reserved
