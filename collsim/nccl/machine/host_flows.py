"""Bandwidth of GPUs that are staged through host memory (SHM): every hop is two copies, and the links are shared.

NCCL's SHM transport (src/transport/shm.cc) has the sender's kernel write into slots in pinned memory of the receiver's
socket, and the receiver's kernel read them there. So a hop takes the sender's link and the switches above it upwards,
the link between sockets where the two sit apart, the memory twice, and the receiver's links downwards. All hops of a
collective run at the same time: a link gives each its share. Where only words are known of a machine, its flows are
those of the usual box (`build_usual_box`).

Inside: B/s, nominal; what links carry of that is `collsim.nccl.model.links`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ...topology.cables import build_pcie
from ...topology.machine_builder import LEVELS, NVB, Machine, MachineBuilder, MachinePaths, Path
from ...topology.parts.sockets import build_socket_cable, choose_memory, choose_processor
from .machine_facts import LANES, PCIE_GBPS, Facts

#: GPUs up to which a job without other words is taken for neighbours that share switches in pairs: 2 RTX 4090 get 9.1
#: GB/s both ways and 18.2 one way, 2 RTX 2080 Ti 4.0 and 11.1. More GPUs are taken to have a slot each: 8 RTX 4090 get
#: 16.1 (sources: `LinkParameters.host_one_way`).
_FEW = 4
#: Compute capability up to which the boxes of GPU modules have a switch for two of them (DGX-1, DGX-2 and DGX A100 user
#: guides); in a DGX H100 each GPU shares one with its network card alone.
_MODULES_IN_PAIRS = 80
#: What a kind of cable counts as: a Grace processor reaches its GPU over C2C where others have a slot.
_KIND = {"pcie": "pcie", "c2c": "pcie", "memory": "memory", "upi": "upi"}
#: (sender, receiver) -> share of a rank's bytes that goes that way.
Flows = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class StagedRates:
    """B/s that the bytes of one rank get, if only links of one kind held them up.

    Attributes:
        slot: PCIe links of GPUs and of switches.
        memory: memory of the sockets, written and read.
        socket: links between sockets.
    """

    slot: float
    memory: float
    socket: float


def compute_staged_rates(facts: Facts, collective: str, algorithm: str = "Ring") -> StagedRates:
    """Compute what the links on the way through host memory leave to each rank.

    Args:
        facts: a machine whose GPUs are staged through host memory.
        collective: collsim's name of it.
        algorithm: NCCL's name of it; of a tree, rates are those of the buffer.

    Returns:
        Nominal rates; those of the slowest node.
    """
    flows = list_flows(collective, facts.local_ranks)
    if algorithm == "Tree":
        flows = list_tree_flows(facts.local_ranks, facts.crosses_sockets)
    if not _matches_wiring(facts):
        level = {True: "PIX", False: "LOC"}[facts.staged_between_switches]
        return _compute_rates(build_usual_box(facts), flows, level)
    assert facts.wired_nodes is not None
    level = facts.wired_nodes.p2p
    by_node = [_compute_rates(node.machine, flows, level) for node in facts.wired_nodes.nodes]
    return StagedRates(
        min(rates.slot for rates in by_node),
        min(rates.memory for rates in by_node),
        min(rates.socket for rates in by_node),
    )


def _matches_wiring(facts: Facts) -> bool:
    """Whether the wiring that the facts were read from is still theirs; that of an NVLink machine without P2P is."""
    if facts.wired_nodes is None:
        return False
    key = facts.wired_nodes.wiring_key
    compared_from = 2
    if key and key[0] in ("pcie", "host"):
        compared_from = 1
    return key[compared_from:] == facts.wiring_key[compared_from:]


def list_flows(collective: str, ranks: int) -> dict[tuple[int, int], float]:
    """List who sends to whom inside a node.

    Args:
        collective: collsim's name of it.
        ranks: ranks of the node.

    Returns:
        Share of a rank's bytes by sender and receiver: to the next one of a ring, along the chain of a broadcast or
        reduce, to all others of an alltoall.
    """
    if collective == "alltoall":
        return {(a, b): 1 / (ranks - 1) for a in range(ranks) for b in range(ranks) if a != b}
    hops = ranks - int(collective in ("broadcast", "reduce"))
    return {(rank, (rank + 1) % ranks): 1.0 for rank in range(hops)}


def list_tree_flows(ranks: int, crosses_sockets: bool) -> dict[tuple[int, int], float]:
    """List who sends to whom inside a node in NCCL's trees, which are chains there.

    Args:
        ranks: ranks of the node.
        crosses_sockets: between sockets the search turns every other chain by half a round, so that each direction of
            the link between them carries one.

    Returns:
        Share of the buffer by sender and receiver: up the chain to be reduced, and down again.
    """
    turns: tuple[int, ...] = (0,)
    if crosses_sockets:
        turns = (0, ranks // 2)
    flows: dict[tuple[int, int], float] = {}
    for rotation in turns:
        for i in range(ranks - 1):
            a, b = (i + rotation) % ranks, (i + 1 + rotation) % ranks
            for pair in ((a, b), (b, a)):
                flows[pair] = flows.get(pair, 0.0) + 1 / len(turns)
    return flows


def _compute_rates(machine: Machine, flows: Flows, p2p: str) -> StagedRates:
    """What is left of a node's links, with hops that may write to one another directly on their direct path."""
    loads = _compute_loads(
        _LoadKey(machine.devices, machine.connections, machine.p2p_over_pcie, p2p, tuple(flows.items()))
    )
    rates = {"pcie": float("inf"), "memory": float("inf"), "upi": float("inf")}
    for link, load in loads.items():
        cable = machine.connections[link // 2][2]
        if cable.kind == "memory":  # reads and writes share it
            load += loads.get(link ^ 1, 0.0)
        kind = _KIND.get(cable.kind)
        if kind is not None:
            rates[kind] = min(rates[kind], (cable.nominal or cable.bandwidth) / load)
    return StagedRates(rates["pcie"], rates["memory"], rates["upi"])


@dataclass(frozen=True)
class _LoadKey:
    """What the loads of links depend on."""

    devices: tuple[str, ...]
    connections: tuple[tuple[str, str, object], ...]
    p2p_over_pcie: bool
    p2p: str
    flows: tuple[tuple[tuple[int, int], float], ...]


@lru_cache(maxsize=64)
def _compute_loads(key: _LoadKey) -> dict[int, float]:
    """Bytes on every directed link, as shares of those of a rank."""
    machine = Machine("node", "node", "", key.devices, key.connections, "the topology")  # type: ignore[arg-type]
    paths, gpus, memories = MachinePaths(machine), machine.ranks, machine.of_kind("memory")
    loads: dict[int, float] = {}
    for (sender, receiver), share in key.flows:
        for path in _find_paths(paths, gpus[sender], gpus[receiver], memories, key):
            for link in path.links:
                loads[link] = loads.get(link, 0.0) + share
    return loads


def _find_paths(paths: MachinePaths, sender: int, receiver: int, memories: list[int], key: _LoadKey) -> list[Path]:
    """The direct path where P2P is allowed, else those into and out of the memory next to the receiver."""
    direct = paths.best(sender, receiver)
    allowed = 0
    if key.p2p in LEVELS:
        allowed = LEVELS.index(key.p2p)
    if direct is not None and direct.type <= allowed and (direct.type <= NVB or key.p2p_over_pcie):
        return [direct]
    nearest = paths.nearest(receiver, memories)
    if not nearest:
        return []
    halves = (paths.best(sender, nearest[0]), paths.best(nearest[0], receiver))
    return [path for path in halves if path is not None]


def _has_pairs(facts: Facts) -> bool:
    """Whether two GPUs share a switch where nobody says it."""
    if facts.is_pcie_card:
        return facts.local_ranks <= _FEW and not facts.crosses_sockets
    return 0 < facts.cc <= _MODULES_IN_PAIRS


def build_usual_box(facts: Facts) -> Machine:
    """Build the box that words describe: sockets, switches where they say some, a slot for each GPU.

    Args:
        facts: without a wiring of their own.

    Returns:
        A machine of the ranks of one node.
    """
    gpus = facts.local_ranks
    sockets = 1 + int(facts.crosses_sockets or gpus > _FEW)
    switches = facts.switches
    if not switches and _has_pairs(facts):
        switches = -(-gpus // 2)
    lanes = max(1, round(LANES * facts.link_rate / (PCIE_GBPS[facts.pcie] * 1e9)))
    slot, builder = build_pcie(facts.pcie, lanes), MachineBuilder()
    builder.add(*(f"gpu{g}" for g in range(gpus)))
    for switch in range(switches):
        builder.connect(f"pcie{switch}", f"cpu{switch * sockets // switches}", build_pcie(facts.pcie))
    for g in range(gpus):
        above = f"cpu{g * sockets // gpus}"
        if switches:
            above = f"pcie{g * switches // gpus}"
        builder.connect(f"gpu{g}", above, slot)
    for socket in range(sockets):
        builder.connect(f"cpu{socket}", f"memory{socket}", choose_memory(facts.pcie))
    if sockets > 1:
        builder.connect("cpu1", "cpu0", build_socket_cable(choose_processor(facts.pcie)))
    return Machine.from_builder(builder, name="usual box", title="usual box", about="", source="the words of a table")
