"""Facts of a Topology made by `collsim.topology.machine` or from a file, as it is after edits: its GPUs, their wiring,
NICs, levels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ...errors import CollsimError, Sentence
from ...errors.arguments import check_arguments
from ...topology import Topology
from ...topology.cables import build_pcie
from ...topology.machine_builder import LEVELS, LOC, NVB, PIX, Machine, MachinePaths, find_kind
from ...topology.network import Cable
from ...topology_names import TopologyLike, resolve_topology
from ...units import format_bandwidth, parse_count
from ..search.connected_groups import find_connected_groups
from ..search.node_graph import Rules
from ..search.nvls_heads import NvlsHeads, search_nvls_heads
from ..search.ring_tree_search import MAX_GPUS, Rings, Trees, duplicate_channels, search_rings, search_trees
from .machine_facts import GPUS, PCIE_GBPS, Facts, Net, WiringKind, find_gpu, is_known_gpu, require_shared_host
from .wired_nodes import WiredNode, WiredNodes, find_distinct_nodes, find_network_card

_NET_OF_CARD: dict[str, Net] = {"ib": "ib", "roce": "roce", "tcp": "tcp", "efa": "efa", "slingshot": "slingshot"}
#: Cards of a node, B/s of one (one direction, nominal), and what they speak.
CardFacts: TypeAlias = tuple[float, float, Net]
#: PCIe of an edited rate counts as a generation that is this near.
_ALIKE = 0.05


#: A step of training asks for the facts of its machine hundreds of times.
_read_topologies: WeakKeyDictionary[Topology, Facts] = WeakKeyDictionary()


@check_arguments
def read_facts(machine: Facts | TopologyLike, ranks: int | str | None = None) -> Facts:
    """Read the facts of a machine from its Topology.

    Args:
        machine: made by `machine(...)` or read from a file; Facts are returned as they are.
        ranks: use only this many, spread over all nodes; where that is uneven, the fullest node counts. None: all GPUs.

    Returns:
        The facts of the machine with these ranks.

    Raises:
        CollsimError: for a Topology that is no machine (a generic network says nothing of GPUs), and for more ranks
            than GPUs or fewer than nodes.

    Examples:
        >>> import collsim as cs
        >>> facts = cs.nccl.read_facts(cs.machine("dgx-h100", nodes=2))
        >>> facts.gpu, facts.ranks, facts.wiring, facts.net
        ('H100', 16, 'nvswitch', 'ib')
    """
    if isinstance(machine, Facts):
        facts = machine
    else:
        topology = resolve_topology(machine, "read_facts")
        stored = _read_topologies.get(topology)
        facts = _read_topology(topology) if stored is None else stored
        _read_topologies[topology] = facts
    count = facts.ranks
    if ranks is not None:
        count = parse_count(ranks, "ranks")
    if count == facts.ranks:
        return facts
    if not facts.nodes <= count <= facts.ranks:
        template = "ranks={count}: this machine has {ranks} GPUs on {nodes} nodes, and each node takes part"
        raise CollsimError(template, count=count, ranks=facts.ranks, nodes=facts.nodes)
    hosts = facts.hosts
    if facts.hosts > facts.nodes:
        hosts = -(-count // facts.ranks_per_host)
    fewer = replace(facts, ranks=count, hosts=hosts)
    if facts.wiring not in ("mesh", "xgmi") or fewer.local_ranks == 1:
        return fewer
    # a GPU has links of its own to each of the others, and those to GPUs that do not take part are idle
    fewer = replace(fewer, link_rate=facts.link_rate * (fewer.local_ranks - 1) / (facts.local_ranks - 1))
    wired_nodes = facts.wired_nodes
    if wired_nodes is not None and wired_nodes.wiring_key == facts.wiring_key:
        wired_nodes = replace(wired_nodes, wiring_key=fewer.wiring_key)
    return replace(fewer, wired_nodes=wired_nodes)


def _read_topology(topology: Topology) -> Facts:
    machine = topology.facts.machine
    if machine is None:
        message = "{name!r} is not a machine; NCCL runs on GPUs: give machine('dgx-a100', nodes=2) or nccl.Facts"
        raise CollsimError(message, name=topology.name)
    _require_known_gpus(topology, machine)
    nodes = find_distinct_nodes(topology)
    node_facts = [_read_node(topology, node) for node in nodes]
    if len({facts.wiring for facts in node_facts}) > 1:
        raise CollsimError(
            "{name}: its nodes are wired differently now; NCCL's choice for such a mixture is not modelled",
            name=topology.name,
        )
    slowest = min(node_facts, key=lambda facts: (facts.nics * facts.nic_rate, facts.link_rate))
    wired_nodes = WiredNodes(nodes, topology.facts.p2p, topology.facts.gdr, slowest.wiring_key)
    return replace(slowest, wired_nodes=wired_nodes)


def _require_known_gpus(topology: Topology, machine: Machine) -> None:
    """Refuse machines without GPUs, and GPUs that the model of NCCL or RCCL does not know."""
    is_amd = _is_amd(machine)
    if machine.of_kind("gpu") and not machine.sm and not is_amd and topology.facts.file:
        raise CollsimError(
            "{name} does not say which GPUs it has, and NCCL's choices depend on it: give the file that NCCL "
            "writes on such a node (NCCL_TOPO_DUMP_FILE=topo.xml; its <gpu> elements have sm=), nvidia-smi's with "
            "gpu='A100', or a known machine",
            name=topology.name,
        )
    if not machine.of_kind("gpu") or (not machine.sm and not is_amd):
        raise CollsimError("{name} has no GPU that NCCL or RCCL runs on", name=topology.name)
    capabilities = sorted({gpu.cc for gpu in GPUS.values()} - {0})
    if not is_amd and machine.sm not in capabilities:
        raise CollsimError(
            "{name}: sm={sm} is no compute capability that the model of NCCL knows ({known}); RCCL on GPUs without "
            "xGMI is not modelled",
            name=topology.name,
            sm=machine.sm,
            known=", ".join(map(str, capabilities)),
        )


def _read_node(topology: Topology, node: WiredNode) -> Facts:
    """The facts of a machine whose nodes are all like this one."""
    machine, origin = node.machine, topology.facts
    gpus, nodes, is_amd = machine.of_kind("gpu"), origin.nodes, _is_amd(machine)
    wiring, link_rate, crosses_sockets = _find_wiring(machine, origin.p2p, len(gpus))
    # A changed NVLink slows the rings that cross it, and leaves the others.
    if origin.edits and wiring in ("mesh", "cube", "xgmi"):
        link_rate *= _compute_ring_share(topology, machine, len(gpus))
    nics, nic_rate, net = _find_nics(topology, node) if nodes > 1 else (0.0, 0.0, "none")
    is_through_slots = wiring in ("pcie", "host")
    pcie_generation = _find_pcie_generation(machine, is_required=nodes > 1 or is_through_slots)
    # The first GPU's links tell bridges from a board. It need not be gpu0: a group may be other GPUs of the node.
    first_gpu = machine.devices[gpus[0]]
    link_labels = [
        cable.label.lower()
        for a, b, cable in machine.connections
        if first_gpu in (a, b) and cable.kind in ("nvlink", "xgmi")
    ]
    facts = Facts(
        gpu=machine.gpu or ("AMD GPU" if is_amd else f"sm_{machine.sm} GPU"),
        cc=0 if is_amd else machine.sm,
        ranks=topology.ranks,
        nodes=nodes,
        wiring=wiring if len(gpus) > 1 else "none",
        link_rate=link_rate,
        pcie=pcie_generation or find_gpu(machine.gpu).pcie,
        crosses_sockets=crosses_sockets,
        switches=len(machine.of_kind("pcie")) if is_through_slots else 0,
        staged_between_switches=wiring == "host" and _has_p2p_under_switches(machine, origin.p2p),
        nics=nics,
        nic_rate=nic_rate,
        net=net,
        is_pcie_card=all("bridge" in label for label in link_labels),
        gdr=_has_gdr(machine, origin.gdr, net),
        cpu=_find_cpu(machine),
        hosts=nodes * _count_hosts(machine),
        guessed=frozenset(["gpu"][: bool(machine.gpu) and not is_known_gpu(machine.gpu)]),
    )
    require_shared_host(facts)
    return facts


def _find_cpu(machine: Machine) -> str:
    if any(cable.kind == "c2c" for *_, cable in machine.connections):
        return "arm"
    if machine.amd_cpu:
        return "amd"
    return "intel"


def _has_gdr(machine: Machine, level: str, net: Net) -> bool | None:
    """Whether some GPU reaches its nearest card within the level: NCCL's rings leave and enter a node there. None
    without a network."""
    if net == "none":
        return None
    paths, cards, most = MachinePaths(machine), machine.of_kind("nic"), LEVELS.index(level)
    near = ((gpu, card) for gpu in machine.of_kind("gpu") for card in paths.nearest(gpu, cards)[:1])
    routes = (paths.best(gpu, card) for gpu, card in near)
    return any(path is not None and path.type <= most for path in routes)


def _has_p2p_under_switches(machine: Machine, level: str) -> bool:
    """Whether GPUs under one PCIe switch may write to one another where others are staged, so that each hop through
    host memory has the way to itself in one direction."""
    if not machine.p2p_over_pcie or LEVELS.index(level) < PIX:
        return False
    parents = Counter(b for a, b, cable in machine.connections if cable.kind == "pcie" and find_kind(a) == "gpu")
    switches = {name: gpus for name, gpus in parents.items() if find_kind(name) == "pcie"}
    return bool(switches) and sum(switches.values()) == len(machine.of_kind("gpu")) and min(switches.values()) > 1


def _count_hosts(machine: Machine) -> int:
    """Hosts of a node: sockets that a link joins share an operating system. An NVLink domain over several trays has
    several."""
    sockets = {name for name in machine.devices if find_kind(name) == "cpu"}
    pairs = ((a, b) for a, b, _ in machine.connections if a in sockets and b in sockets)
    return max(1, len(find_connected_groups(sockets, pairs)))


def _is_amd(machine: Machine) -> bool:
    is_amd_gpu = is_known_gpu(machine.gpu) and find_gpu(machine.gpu).cc == 0
    return is_amd_gpu or any(cable.kind == "xgmi" for *_, cable in machine.connections)


def _compute_ring_share(topology: Topology, machine: Machine, gpus: int) -> float:
    """What NCCL's rings carry on a mesh of links that was edited, over what they carried as built."""
    built_machine = topology.facts.machine
    assert built_machine is not None
    if _is_amd(machine):
        rates = [
            [cable.bandwidth for *_, cable in node.connections if cable.kind == "xgmi"]
            for node in (machine, built_machine)
        ]
        if rates[0] and len(rates[0]) == len(rates[1]):
            shares = [present / built for present, built in zip(*rates, strict=True)]
            if math.isclose(min(shares), max(shares)):  # all links alike: the rings stay, and are so many times as fast
                return float(min(shares))
        raise CollsimError(
            "{name}: RCCL's rings on a changed xGMI mesh are not modelled; scale all its links, or use simulate()",
            name=topology.name,
        )
    rules = Rules(LEVELS.index(topology.facts.p2p), LEVELS.index(topology.facts.gdr))
    present, built = (search_rings(node, gpus, (), rules) for node in (machine, built_machine))
    if LEVELS.index(present.type_intra) > NVB:
        raise CollsimError(
            "{name}: no ring is left that stays on NVLinks, and NCCL's mixture of NVLink and PCIe is not modelled",
            name=topology.name,
        )
    return present.total_speed / built.total_speed


@check_arguments
def search_graphs(
    machine: Facts | Topology, ranks: int | str | None = None, *, NCCL_CROSS_NIC: int | str | None = None
) -> GraphSearch:
    """Search the rings, trees and NVLS heads of a machine as NCCL does (src/graph/search.cc).

    Args:
        machine: a Topology of NVIDIA GPUs.
        ranks: fewer ranks than GPUs; None: all.
        NCCL_CROSS_NIC: 0, rings stay on one card on all nodes; 1, they need not; 2 (NCCL's default), they may where
            that gives more.

    Returns:
        The search, whose `rings`, `trees` and `heads` are its results.

    Raises:
        CollsimError: where no wiring is known (Facts from words), for RCCL, which searches otherwise, and beyond 16
            GPUs in a node.

    Examples:
        >>> import collsim as cs
        >>> rings = cs.nccl.search_graphs(cs.machine("dgx-a100")).rings
        >>> len(rings.channels), rings.speed
        (6, 40.0)
    """
    facts = read_facts(machine, ranks)
    graph_search = build_graph_search(facts, cross_nic=parse_cross_nic(NCCL_CROSS_NIC))
    if graph_search is not None:
        return graph_search
    if facts.is_amd:
        reason = Sentence("RCCL has tables of its own")
    else:
        if facts.wired_nodes is None:
            wiring = Sentence("unknown")
        else:
            wiring = Sentence("known")
        reason = Sentence("{local} ranks in a node, wiring {wiring}", local=facts.local_ranks, wiring=wiring)
    raise CollsimError(
        "no search of graphs here ({reason}): it takes a Topology of NVIDIA GPUs, 2 ranks or more, and at most "
        "{most} in a node",
        reason=reason,
        most=MAX_GPUS,
    )


def parse_cross_nic(value: int | str | None) -> int:
    """Read the value of NCCL_CROSS_NIC.

    Args:
        value: 0, 1 or 2, as number or text; None or "": not set.

    Returns:
        The number; 2 where it is not set.

    Raises:
        CollsimError: for any other value.
    """
    if value is None or value == "":
        return 2
    if str(value) not in ("0", "1", "2"):
        raise CollsimError("NCCL_CROSS_NIC={value!r} must be 0, 1 or 2", value=value)
    return int(value)


@dataclass(frozen=True)
class GraphSearch:
    """The search of NCCL's graphs on a machine: what it depends on, and its results as properties.

    Attributes:
        nodes: the nodes that differ from one another.
        local_ranks: ranks of each node that has most of them.
        fewest_ranks: ranks of each other node; as many, or one fewer.
        has_several_nodes: whether rings and trees cross to other nodes.
        rules: what NCCL may do.

    Examples:
        >>> import collsim as cs
        >>> search = cs.nccl.search_graphs(cs.machine("dgx-a100", nodes=2))
        >>> search.rings.speed, search.trees.speed_intra
        (24.0, 30.0)
    """

    nodes: tuple[WiredNode, ...]
    local_ranks: int
    fewest_ranks: int
    has_several_nodes: bool
    rules: Rules

    @property
    def rings(self) -> Rings:
        """The least rings of all nodes, as all take the least of their graphs."""
        fewest, by_node = (
            [search_rings(node.machine, ranks, self._get_cards(node), self.rules) for node in self.nodes]
            for ranks in (self.fewest_ranks, self.local_ranks)
        )
        slowest = min(by_node, key=lambda rings: rings.total_speed)
        count = min(len(rings.channels) for rings in fewest + by_node)
        return replace(slowest, channels=slowest.channels[:count], speed=min(rings.speed for rings in by_node))

    @property
    def trees(self) -> Trees:
        """The least trees of all nodes, searched for as many channels as the rings have once duplicated."""
        rings = self.rings
        channels, _ = duplicate_channels(len(rings.channels), rings.speed, self.nodes[0].machine.sm)
        by_node = [
            search_trees(node.machine, self.local_ranks, self._get_cards(node), self.rules, channels)
            for node in self.nodes
        ]
        slowest = min(by_node, key=lambda trees: len(trees.channels) * trees.speed_intra)
        return replace(
            slowest,
            channels=slowest.channels[: min(len(trees.channels) for trees in by_node)],
            speed_intra=min(trees.speed_intra for trees in by_node),
            speed_inter=min(trees.speed_inter for trees in by_node),
            pattern=max(trees.pattern for trees in by_node),
        )

    @property
    def heads(self) -> NvlsHeads | None:
        """The heads of NVLS on the node that has fewest; None where a node has none."""
        by_node = [
            search_nvls_heads(node.machine, self.local_ranks, self._get_cards(node), self.rules) for node in self.nodes
        ]
        present = [heads for heads in by_node if heads is not None]
        if len(present) < len(by_node):
            return None
        return min(present, key=lambda heads: (len(heads.gpus), heads.speed_intra, heads.speed_inter), default=None)

    def _get_cards(self, node: WiredNode) -> tuple[float, ...]:
        if self.has_several_nodes:
            return node.card_rates
        return ()


def build_graph_search(facts: Facts, p2p: str = "SYS", cross_nic: int = 2) -> GraphSearch | None:
    """Prepare the search of a machine's graphs; results are searched when first asked for.

    Args:
        facts: the machine.
        p2p: the worst type of path for P2P, beside what the topology allows.
        cross_nic: NCCL_CROSS_NIC, 0 to 2.

    Returns:
        The search; None where no wiring is known or the search is not NCCL's.
    """
    wired_nodes = facts.wired_nodes
    if wired_nodes is None or facts.is_amd or facts.local_ranks > MAX_GPUS or facts.ranks == 1:
        return None
    # the wiring and its rate come first in the key, and P2P may be switched off that the wiring has
    compared_from = 0
    if facts.wiring == "host":
        compared_from = 2
    if wired_nodes.wiring_key[compared_from:] != facts.wiring_key[compared_from:]:
        return None
    if facts.gdr and wired_nodes.gdr == "LOC":
        return None
    allowed = "SYS"
    if p2p in LEVELS:
        allowed = p2p
    if facts.wiring == "host":
        allowed = "LOC"
    p2p_level = min(LEVELS.index(wired_nodes.p2p), LEVELS.index(allowed))
    gdr_level = LOC
    if facts.gdr:
        gdr_level = LEVELS.index(wired_nodes.gdr)
    rules = Rules(p2p_level, gdr_level, cross_nic, facts.cpu)
    fewest_ranks = facts.ranks // facts.nodes
    return GraphSearch(wired_nodes.nodes, facts.local_ranks, fewest_ranks, facts.nodes > 1, rules)


def _find_wiring(machine: Machine, level: str, gpus: int) -> tuple[WiringKind, float, bool]:
    """(wiring, B/s of the GPU that has least towards its peers, whether the GPUs sit on several sockets)."""
    names = [machine.devices[i] for i in machine.of_kind("gpu")]
    crosses_sockets = _find_socket(machine, names[0]) != _find_socket(machine, names[-1])
    gpu_links = [_list_gpu_links(machine, gpu) for gpu in names]
    peers = [{peer for peer, _ in links} for links in gpu_links]
    link_rate = min(sum(cable.nominal or cable.bandwidth for _, cable in links) for links in gpu_links)
    # Below LOC nothing is peer to peer, whatever wires there are.
    if any(peers) and level != "LOC":
        wiring = _find_link_wiring(machine, names, peers, gpu_links[0])
        if wiring is not None:
            return wiring, link_rate, crosses_sockets
    slots = [
        cable.nominal or cable.bandwidth
        for a, b, cable in machine.connections
        if {a, b} & set(names) and cable.kind in ("pcie", "c2c")
    ]
    # How far P2P has to reach follows from where the GPUs sit.
    needed = "PHB"
    if machine.of_kind("pcie"):
        needed = "PXB"
    if crosses_sockets:
        needed = "SYS"
    has_p2p = machine.p2p_over_pcie and LEVELS.index(level) >= LEVELS.index(needed)
    return ("pcie" if has_p2p else "host"), min(slots, default=0.0), crosses_sockets


def _list_gpu_links(machine: Machine, gpu: str) -> list[tuple[str, Cable]]:
    """The links that a GPU has for itself, each with what it leads to."""
    return [
        (b if a == gpu else a, cable)
        for a, b, cable in machine.connections
        if gpu in (a, b) and cable.kind in ("nvlink", "xgmi")
    ]


def _find_link_wiring(
    machine: Machine, names: list[str], peers: list[set[str]], links: list[tuple[str, Cable]]
) -> WiringKind | None:
    """The wiring of GPUs that have links of their own; None where some have too few of them to be used all around."""
    switched = [any(find_kind(name) == "nvswitch" for name in gpu_peers) for gpu_peers in peers]
    if all(switched):
        return "nvswitch"
    if any(switched):
        raise CollsimError(
            "{name} has no NVLink to the NVSwitch that others have; NCCL there is not modelled",
            name=names[switched.index(False)],
        )
    if all(len(gpu_peers) == len(names) - 1 for gpu_peers in peers):
        if links[0][1].kind == "xgmi":
            return "xgmi"
        if len(names) == 2:
            return "bridge"
        return "mesh"
    if not all(len(gpu_peers) > 1 for gpu_peers in peers):
        return None
    if _is_amd(machine):
        template = "{name} has xGMI to {peers} of {last} GPUs; RCCL's rings on a mesh with gaps are not modelled"
        raise CollsimError(template, name=names[0], peers=len(peers[0]), last=len(names) - 1)
    return "cube"


def _find_socket(machine: Machine, device: str) -> str:
    """The cpu above a device, found by following PCIe upwards; "" where there is none."""
    visited, queue = {device}, [device]
    while queue:
        name = queue.pop(0)
        if find_kind(name) == "cpu":
            return name
        for a, b, cable in machine.connections:
            if name in (a, b) and cable.kind in ("pcie", "c2c"):
                neighbour = a
                if a == name:
                    neighbour = b
                if neighbour not in visited:
                    visited.add(neighbour)
                    queue.append(neighbour)
    return ""


def _find_pcie_generation(machine: Machine, is_required: bool) -> int:
    """PCIe generation of the GPUs' slots; after an edit the one that has this rate. 0 where there is no slot.

    Raises:
        CollsimError: Where it is required and no generation has the rate: NCCL knows generations, not rates.
    """
    gpus = {machine.devices[gpu] for gpu in machine.of_kind("gpu")[:1]}
    slot = next((cable for a, b, cable in machine.connections if cable.kind == "pcie" and gpus & {a, b}), None)
    if slot is None:
        return 0
    digits = [letter for letter in slot.label.split(".")[0] if letter.isdigit()]
    if not digits:
        return 0
    labelled = int(digits[0])
    rate = slot.nominal or slot.bandwidth
    lane_factor = PCIE_GBPS[labelled] / (build_pcie(labelled, slot.width).nominal or 1.0)
    alike = [generation for generation, full in PCIE_GBPS.items() if abs(lane_factor * rate / full - 1) < _ALIKE]
    if alike:
        return alike[0]
    if is_required:
        raise CollsimError(
            "PCIe of {rate} is of no generation that NCCL knows; scale it by 2 or 0.5", rate=format_bandwidth(rate)
        )
    return labelled


def read_card_facts(machine: Facts | Topology) -> CardFacts | None:
    """Read the network cards of a machine, on one node as on several.

    Args:
        machine: a Topology, or Facts.

    Returns:
        Cards of a node, B/s of one, and what they speak; None where it has none.
    """
    if isinstance(machine, Facts):
        return machine.nics, machine.nic_rate, machine.net
    if find_network_card(machine) is None:
        return None
    return _find_nics(machine, find_distinct_nodes(machine)[0])


def _find_nics(topology: Topology, node: WiredNode) -> CardFacts:
    """Cards that rings use and the B/s of each: those that together give most at one speed, as all channels have one
    speed."""
    card = find_network_card(topology)
    assert card is not None
    if card.name == "file":
        net: Net | None = "roce"
        if card.cable.kind == "infiniband":
            net = "ib"
        if not card.rdma:
            net = "tcp"
    else:
        net = _NET_OF_CARD.get(card.name.split("-")[0])
    if net is None:
        template = "NIC {name!r}: NCCL's way over it is not modelled; known kinds: {known}"
        raise CollsimError(template, name=card.name, known=", ".join(_NET_OF_CARD))
    rates = sorted(node.card_rates, reverse=True)
    last = max(range(len(rates)), key=lambda i: (i + 1) * rates[i])
    return last + 1.0, rates[last], net
