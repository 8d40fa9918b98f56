"""Facts of a Topology made by `collsim.topology.machine` or from a file, as it is after edits: its GPUs, their wiring,
NICs, levels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from ...errors import CollsimError, Sentence
from ...topology import Topology
from ...topology.cables import pcie
from ...topology.plan import LEVELS, LOC, NVB, PIX, Machine
from ...units import format_bandwidth, parse_count
from ..search.joined import joined
from ..search.node_graph import Rules
from ..search.nvls_heads import NvlsHeads, search_nvls_heads
from ..search.ring_tree_search import MOST_GPUS, Rings, Trees, duplicate_channels, search_rings, search_trees
from .facts import GPUS, PCIE_GBPS, Facts, Net, WiringKind, require_shared_host
from .facts import find_gpu as gpu_facts
from .wired_nodes import WiredNode, WiredNodes, find_distinct_nodes, find_network_card

_NET_OF_CARD: dict[str, Net] = {"ib": "ib", "roce": "roce", "tcp": "tcp", "efa": "efa", "slingshot": "slingshot"}
#: PCIe of an edited rate counts as a generation that is this near.
_ALIKE = 0.05


def read_facts(machine: Facts | Topology, ranks: Any = None) -> Facts:
    """Facts of a machine: its own if it is Facts, else read off a Topology made by `machine(...)`.

    Args:
        ranks: use only so many, spread over all nodes; where that is uneven, the fullest node counts. None: all GPUs.

    Raises CollsimError for a Topology that is no machine (a generic network says nothing of GPUs), or more ranks than
    GPUs.
    """
    found = machine if isinstance(machine, Facts) else _read(machine)
    count = found.ranks if ranks is None else parse_count(ranks, "ranks")
    if count == found.ranks:
        return found
    if not found.nodes <= count <= found.ranks:
        why = "ranks={count}: this machine has {ranks} GPUs on {nodes} nodes, and each node takes part"
        raise CollsimError(why, count=count, ranks=found.ranks, nodes=found.nodes)
    hosts = -(-count // found.ranks_per_host) if found.hosts > found.nodes else found.hosts
    fewer = replace(found, ranks=count, hosts=hosts)
    if found.wiring not in ("mesh", "xgmi") or fewer.local_ranks == 1:
        return fewer
    # a GPU has links of its own to each of the others, and those to GPUs that stay away are idle
    fewer = replace(fewer, link_rate=found.link_rate * (fewer.local_ranks - 1) / (found.local_ranks - 1))
    wires = found.wired_nodes
    if wires is not None and wires.wiring_key == found.wiring_key:
        wires = replace(wires, wiring_key=fewer.wiring_key)
    return replace(fewer, wired_nodes=wires)


def _read(topology: Topology) -> Facts:
    asked = topology.facts.get("asked") if isinstance(topology, Topology) else None
    if not asked or not hasattr(asked[0], "of_kind"):
        name = getattr(topology, "name", topology)
        raise CollsimError(
            "{name!r} is not a machine; NCCL runs on GPUs: give machine('dgx-a100', nodes=2) or nccl.Facts", name=name
        )
    plan = asked[0]
    amd = _is_amd(plan)
    if plan.of_kind("gpu") and not plan.sm and not amd and "file" in topology.facts:
        raise CollsimError(
            "{name} does not say which GPUs it has, and NCCL's choices depend on it: give the file that NCCL "
            "writes on such a node (NCCL_TOPO_DUMP_FILE=topo.xml; its <gpu> elements have sm=), nvidia-smi's with "
            "gpu='A100', or a known machine",
            name=topology.name,
        )
    if not plan.of_kind("gpu") or (not plan.sm and not amd):
        raise CollsimError("{name} has no GPU that NCCL or RCCL runs on", name=topology.name)
    known = sorted({card.cc for card in GPUS.values()} - {0})
    if not amd and plan.sm not in known:
        raise CollsimError(
            "{name}: sm={sm} is no compute capability that the model of NCCL knows ({known}); RCCL on GPUs without "
            "xGMI is not modelled",
            name=topology.name,
            sm=plan.sm,
            known=", ".join(map(str, known)),
        )
    nodes = find_distinct_nodes(topology)
    seen = [_facts(topology, node) for node in nodes]
    if len({facts.wiring for facts in seen}) > 1:
        raise CollsimError(
            "{name}: its nodes are wired differently now; NCCL's choice for such a mixture is not modelled",
            name=topology.name,
        )
    least = min(seen, key=lambda facts: (facts.nics * facts.nic_rate, facts.link_rate))
    return replace(least, wired_nodes=WiredNodes(nodes, topology.facts["p2p"], topology.facts["gdr"], least.wiring_key))


def _facts(topology: Topology, node: WiredNode) -> Facts:
    """Facts of all nodes, if they were all like this one."""
    plan, said = node.machine, topology.facts
    gpus, nodes = plan.of_kind("gpu"), int(said["nodes"])
    own = [cable.label.lower() for a, b, cable in plan.joints if "gpu0" in (a, b) and cable.kind in ("nvlink", "xgmi")]
    inside, rate, crossing = _inside(plan, said["p2p"], len(gpus))
    if said.get("edits") and inside in ("mesh", "cube", "xgmi"):
        rate *= _left_of_rings(topology, plan, len(gpus))
    nics, nic_rate, net = _nics(topology, node) if nodes > 1 else (0.0, 0.0, "none")
    matters = nodes > 1 or inside in ("pcie", "host")
    amd = _is_amd(plan)
    found = Facts(
        gpu=plan.gpu or ("AMD GPU" if amd else f"sm_{plan.sm} GPU"),
        cc=0 if amd else plan.sm,
        ranks=topology.ranks,
        nodes=nodes,
        wiring=inside if len(gpus) > 1 else "none",
        link_rate=rate,
        pcie=_generation(plan, matters) or gpu_facts(plan.gpu).pcie,
        crosses_sockets=crossing,
        switches=len(plan.of_kind("pcie")) if inside in ("pcie", "host") else 0,
        staged_between_switches=inside == "host" and _writes_under_switches(plan, said["p2p"]),
        nics=nics,
        nic_rate=nic_rate,
        net=net,
        is_pcie_card=all("bridge" in label for label in own),
        gdr=None if net == "none" else said["gdr"] != "LOC",
        cpu="arm" if any(cable.kind == "c2c" for *_, cable in plan.joints) else "amd" if plan.amd_cpu else "intel",
        hosts=nodes * _hosts(plan),
    )
    require_shared_host(found)
    return found


def _writes_under_switches(plan: Machine, level: str) -> bool:
    """May GPUs under one PCIe switch write to one another, where others are staged, so that each hop through host
    memory has the way to itself in one direction?"""
    if not plan.p2p_over_pcie or LEVELS.index(level) < PIX:
        return False
    above = Counter(b for a, b, cable in plan.joints if cable.kind == "pcie" and a.startswith("gpu"))
    switched = {name: count for name, count in above.items() if name.startswith("pcie")}
    return bool(switched) and sum(switched.values()) == len(plan.of_kind("gpu")) and min(switched.values()) > 1


def _hosts(plan: Machine) -> int:
    """Hosts of a node: sockets that a link joins share an operating system. An NVLink domain over several trays has
    several."""
    sockets = {name for name in plan.devices if name.startswith("cpu")}
    return max(1, len(joined(sockets, ((a, b) for a, b, _ in plan.joints if a in sockets and b in sockets))))


def _is_amd(plan: Machine) -> bool:
    return plan.gpu.startswith("MI") or any(cable.kind == "xgmi" for *_, cable in plan.joints)


def _left_of_rings(topology: Topology, plan: Machine, gpus: int) -> float:
    """What NCCL's rings carry on a mesh of links that was edited, over what they carried as built."""
    if _is_amd(plan):
        raise CollsimError(
            "{name}: RCCL's rings on a changed xGMI mesh are not modelled; scale all its links, or use simulate()",
            name=topology.name,
        )
    rules = Rules(LEVELS.index(topology.facts["p2p"]), LEVELS.index(topology.facts["gdr"]))
    now, built = (search_rings(p, gpus, (), rules) for p in (plan, topology.facts["asked"][0]))
    if LEVELS.index(now.type_intra) > NVB:
        raise CollsimError(
            "{name}: no ring is left that stays on NVLinks, and NCCL's mixture of NVLink and PCIe is not modelled",
            name=topology.name,
        )
    return now.total_speed / built.total_speed


def search_graphs(
    machine: Facts | Topology, ranks: Any = None, *, NCCL_CROSS_NIC: int | str | None = None
) -> GraphSearch:
    """What NCCL's search finds on the nodes of a machine: its rings, its trees and its heads of NVLS.

    Args:
        ranks: fewer ranks than GPUs.
        NCCL_CROSS_NIC: 0, rings stay on one card on all nodes; 1, they need not; 2 (NCCL's own), they may where that
        gives more.

    Raises CollsimError where no wiring is known (Facts from words), for RCCL, which searches otherwise, and beyond 16
    GPUs in a node.
    """
    facts = read_facts(machine, ranks)
    found = build_graph_search(facts, cross_nic=parse_cross_nic(NCCL_CROSS_NIC))
    if found is None:
        why = (
            Sentence("RCCL has tables of its own")
            if facts.is_amd
            else Sentence(
                "{local} ranks in a node, wiring {wiring}",
                local=facts.local_ranks,
                wiring=Sentence("unknown") if facts.wired_nodes is None else Sentence("known"),
            )
        )
        raise CollsimError(
            "no search of graphs here ({why}): it takes a Topology of NVIDIA GPUs, 2 ranks or more, and at most "
            "{most} in a node",
            why=why,
            most=MOST_GPUS,
        )
    return found


def parse_cross_nic(value: int | str | None) -> int:
    """NCCL_CROSS_NIC as a number, 2 where it is not set. Raises CollsimError for anything but 0, 1 and 2."""
    if value is None or value == "":
        return 2
    if str(value) not in ("0", "1", "2"):
        raise CollsimError("NCCL_CROSS_NIC={value!r} must be 0, 1 or 2", value=value)
    return int(value)


@dataclass(frozen=True)
class GraphSearch:
    """What the search is told of a machine: the nodes that differ, ranks on each, several nodes or one, what NCCL may
    do."""

    nodes: tuple[WiredNode, ...]
    local_ranks: int
    has_several_nodes: bool
    rules: Rules

    @property
    def rings(self) -> Rings:
        """The least rings of all nodes, as all take the least of their graphs."""
        found = [search_rings(node.machine, self.local_ranks, self._cards(node), self.rules) for node in self.nodes]
        least = min(found, key=lambda r: r.total_speed)
        count = min(len(r.channels) for r in found)
        return replace(least, channels=least.channels[:count], speed=min(r.speed for r in found))

    @property
    def trees(self) -> Trees:
        """The least trees of all nodes, searched for as many channels as the rings have once duplicated."""
        ring = self.rings
        channels, _ = duplicate_channels(len(ring.channels), ring.speed, self.nodes[0].machine.sm)
        found = [
            search_trees(node.machine, self.local_ranks, self._cards(node), self.rules, channels) for node in self.nodes
        ]
        least = min(found, key=lambda t: len(t.channels) * t.speed_intra)
        return replace(
            least,
            channels=least.channels[: min(len(t.channels) for t in found)],
            speed_intra=min(t.speed_intra for t in found),
            speed_inter=min(t.speed_inter for t in found),
            pattern=max(t.pattern for t in found),
        )

    @property
    def heads(self) -> NvlsHeads | None:
        """The heads of NVLS on the node that has fewest; None where a node has none."""
        found = [
            search_nvls_heads(node.machine, self.local_ranks, self._cards(node), self.rules) for node in self.nodes
        ]
        there = [h for h in found if h is not None]
        fewest = min(there, key=lambda h: (len(h.gpus), h.speed_intra, h.speed_inter), default=None)
        return fewest if len(there) == len(found) else None

    def _cards(self, node: WiredNode) -> tuple[float, ...]:
        return node.card_rates if self.has_several_nodes else ()


def build_graph_search(facts: Facts, p2p: str = "SYS", cross_nic: int = 2) -> GraphSearch | None:
    """What NCCL's search would look at on these nodes; None where no wiring is known or the search is not NCCL's.

    Args:
        p2p: the worst type of path for P2P, beside what the topology allows.
    """
    wires = facts.wired_nodes
    if wires is None or facts.is_amd or facts.local_ranks > MOST_GPUS or facts.ranks == 1:
        return None
    first = 2 if facts.wiring == "host" else 0  # P2P may be off that the wiring has
    if wires.wiring_key[first:] != facts.wiring_key[first:] or (facts.gdr and wires.gdr == "LOC"):
        return None
    allowed = "LOC" if facts.wiring == "host" else p2p if p2p in LEVELS else "SYS"
    level = min(LEVELS.index(wires.p2p), LEVELS.index(allowed))
    rules = Rules(level, LEVELS.index(wires.gdr) if facts.gdr else LOC, cross_nic, facts.cpu)
    return GraphSearch(wires.nodes, facts.local_ranks, facts.nodes > 1, rules)


def _inside(plan: Machine, level: str, count: int) -> tuple[WiringKind, float, bool]:
    """(wiring, B/s of the GPU that has least towards its peers, do they sit on several sockets)."""
    names = [plan.devices[i] for i in plan.of_kind("gpu")]
    crossing = _socket(plan, "gpu0") != _socket(plan, names[-1])
    fast = [
        [
            (b if a == gpu else a, cable)
            for a, b, cable in plan.joints
            if gpu in (a, b) and cable.kind in ("nvlink", "xgmi")
        ]
        for gpu in names
    ]
    slots = [
        cable.nominal or cable.bandwidth
        for a, b, cable in plan.joints
        if {a, b} & set(names) and cable.kind in ("pcie", "c2c")
    ]
    peers = [{name for name, _ in own} for own in fast]
    rate = min(sum(cable.nominal or cable.bandwidth for _, cable in own) for own in fast)
    if any(peers) and level != "LOC":
        switched = [any(name.startswith("nvswitch") for name in own) for own in peers]
        if any(switched):
            if not all(switched):
                raise CollsimError(
                    "{name} has no NVLink to the NVSwitch that others have; NCCL there is not modelled",
                    name=names[switched.index(False)],
                )
            return "nvswitch", rate, crossing
        if all(len(own) == count - 1 for own in peers):
            kind: WiringKind = "xgmi" if fast[0][0][1].kind == "xgmi" else "bridge" if count == 2 else "mesh"
            return kind, rate, crossing
        if all(len(own) > 1 for own in peers):
            if _is_amd(plan):
                why = "{name} has xGMI to {peers} of {last} GPUs; RCCL's rings on a mesh with gaps are not modelled"
                raise CollsimError(why, name=names[0], peers=len(peers[0]), last=count - 1)
            return "cube", rate, crossing
    through = not crossing and len(plan.of_kind("pcie")) > 0
    needed = "SYS" if crossing else "PXB" if through else "PHB"
    allowed = plan.p2p_over_pcie and LEVELS.index(level) >= LEVELS.index(needed)
    return ("pcie" if allowed else "host"), min(slots, default=0.0), crossing


def _socket(plan: Machine, device: str) -> str:
    """The cpu above a device, by following PCIe upwards."""
    seen, here = {device}, [device]
    while here:
        name = here.pop(0)
        if name.startswith("cpu"):
            return name
        for a, b, cable in plan.joints:
            if name in (a, b) and cable.kind in ("pcie", "c2c"):
                other = b if a == name else a
                if other not in seen:
                    seen.add(other)
                    here.append(other)
    return ""


def _generation(plan: Machine, matters: bool) -> int:
    """PCIe generation of the GPUs' slots; after an edit the one that has this rate. 0 where there is no slot.

    Raises CollsimError where it `matters` and no generation has the rate: NCCL knows generations, not rates.
    """
    slot = next((cable for a, b, cable in plan.joints if cable.kind == "pcie" and "gpu0" in (a, b)), None)
    digits = [ch for ch in slot.label.split(".")[0] if ch.isdigit()] if slot else []
    if slot is None or not digits:
        return 0
    lanes, rate = (
        PCIE_GBPS[int(digits[0])] / (pcie(int(digits[0]), slot.width).nominal or 1.0),
        slot.nominal or slot.bandwidth,
    )
    alike = [g for g, full in PCIE_GBPS.items() if abs(lanes * rate / full - 1) < _ALIKE]
    if not alike and matters:
        raise CollsimError(
            "PCIe of {rate} is of no generation that NCCL knows; scale it by 2 or 0.5", rate=format_bandwidth(rate)
        )
    return alike[0] if alike else int(digits[0])


def _nics(topology: Topology, node: WiredNode) -> tuple[float, float, Net]:
    """Cards that rings use and the B/s of each: those that together give most at one speed, as all channels have one
    speed."""
    card = find_network_card(topology)
    assert card is not None
    kind = (
        ("ib" if card.cable.kind == "infiniband" else "roce")
        if card.name == "file"
        else _NET_OF_CARD.get(card.name.split("-")[0])
    )
    if kind is None:
        why = "NIC {name!r}: NCCL's way over it is not modelled; known kinds: {known}"
        raise CollsimError(why, name=card.name, known=", ".join(_NET_OF_CARD))
    fastest = sorted(node.card_rates, reverse=True)
    used = max(range(len(fastest)), key=lambda i: (i + 1) * fastest[i])
    return used + 1.0, fastest[used], kind
