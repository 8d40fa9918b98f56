"""What the links of a machine have to carry for a call: the flows of NCCL's algorithm on the routes of a simulation.

Every hop of a ring, a tree or a pair takes its route in the Topology: over GPU links, PCIe slots and the uplinks of
switches, host memory, the link between sockets, network cards and cables between switches. So a prediction
counts the same bytes on the same links as a simulation of the same algorithm, and adds to it only what links carry of
their nominal rates (`collsim.nccl.model.links`). Words alone have no links: `host_flows` and the loads of
`model.timing` describe the usual machine.

Inside: bytes as shares of the call's, seconds for each byte of the call, B/s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...errors import TopologyError
from ...registry import schedule
from ...topology import Topology
from ...topology.cables import apply_rates
from ...topology.network import DEVICE_KINDS, NoRoute, build_ring_orders, choose_channels
from ...trees import build_double_binary_tree, build_node_chains, order_chains, rename_ranks
from .facts import Facts
from .nccl_routes import restrict_ranks, sort_ranks_by_node
from .topology_facts import GraphSearch

Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
#: (sender, receiver, share of the call's bytes) of every hop.
Flows: TypeAlias = tuple[Longs, Longs, Floats]
#: Hops of an alltoall that are counted: the distances between nodes are a sample where there are more.
_MOST_HOPS = 200_000
#: Ranks up to which the transfers of PAT are counted one by one; beyond, the ring stands for it.
_MOST_PAT = 512
_POINT_TO_POINT = ("alltoall", "sendrecv")
#: Kinds of cable by what limits them: a Grace processor reaches its GPU over C2C where others have a slot.
_SORTS = {"nvlink": "gpu", "xgmi": "gpu", "pcie": "pcie", "c2c": "pcie", "memory": "memory", "upi": "socket"}


@dataclass(frozen=True)
class LinkLoads:
    """Seconds that the busiest link of each sort needs for each byte of a call at its nominal rate.

    Attributes:
        gpu: NVLinks and xGMI links.
        pcie: (from GPU to GPU or card directly, through host memory) of each slot or uplink that may be the busiest:
            the two are not equally fast.
        memory: memory of a socket, writes and reads together.
        socket: links between sockets.
        card: network cards.
        fabric: cables between switches.
        card_rate: nominal B/s of the busiest card.
        card_spread: cards of a node that NCCL's channels use for each that the routes use: a route takes the nearest
            card of a GPU, and channels of one GPU may have several.
    """

    gpu: float = 0.0
    pcie: tuple[tuple[float, float], ...] = ()
    memory: float = 0.0
    socket: float = 0.0
    card: float = 0.0
    fabric: float = 0.0
    card_rate: float = 0.0
    card_spread: float = 1.0


#: Loads by machine and call, which are all that they depend on.
_LOADS: WeakKeyDictionary[Topology, dict[tuple[object, ...], LinkLoads | None]] = WeakKeyDictionary()


def compute_link_loads(
    collective: str,
    algorithm: str,
    machine: Topology,
    facts: Facts,
    graph_search: GraphSearch | None,
    channels: int | None = None,
) -> LinkLoads | None:
    """Compute what a call puts on the links of a machine.

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        machine: the machine with all its ranks and the routes that NCCL's settings leave.
        facts: of the machine with the ranks that take part.
        graph_search: the search on it; None where it is not known.
        channels: channels of the call; None: as many as there are orders.

    Returns:
        The loads; None where a hop has no route.
    """
    loads = _LOADS.setdefault(machine, {})
    search_key = graph_search and (graph_search.local_ranks, graph_search.rules)
    key = collective, algorithm, facts.ranks, search_key, channels
    if key not in loads:
        try:
            loads[key] = _count_loads(collective, algorithm, machine, facts, graph_search, channels)
        except (TopologyError, NoRoute):
            loads[key] = None
    return loads[key]


def _count_loads(
    collective: str,
    algorithm: str,
    machine: Topology,
    facts: Facts,
    graph_search: GraphSearch | None,
    channels: int | None,
) -> LinkLoads:
    nodes = machine.facts.nodes
    local_ranks = -(-facts.ranks // nodes)
    if collective not in _POINT_TO_POINT:
        machine = sort_ranks_by_node(machine)
    in_use = restrict_ranks(machine, local_ranks)
    src, dst, share = build_flows(collective, algorithm, in_use, nodes, graph_search, channels)
    loads = _sum_loads(in_use, src, dst, share)
    if graph_search is None or nodes == 1 or collective in _POINT_TO_POINT or algorithm not in ("Ring", "Tree"):
        return loads
    if algorithm == "Tree":  # the channels of trees have the cards of the rings
        ring_flows = build_flows("allgather", "Ring", in_use, nodes, graph_search, channels)
        ring_loads = _sum_loads(in_use, *ring_flows)
        return replace(loads, card_spread=_compute_card_spread(ring_loads, ring_flows[2], graph_search, channels))
    return replace(loads, card_spread=_compute_card_spread(loads, share, graph_search, channels))


def _compute_card_spread(loads: LinkLoads, share: Floats, graph_search: GraphSearch, channels: int | None) -> float:
    """What the busiest card carries by the routes of rings over what it carries where each channel has its own card."""
    cards = [(channel.exit_card, channel.entry_card) for channel in graph_search.rings.channels[:channels]]
    most = max(max(Counter(ends).values()) for ends in zip(*cards, strict=True))
    return max(1.0, loads.card * loads.card_rate / (most * float(share.max())))


def _sum_loads(machine: Topology, src: Longs, dst: Longs, share: Floats) -> LinkLoads:
    links, count = machine.links, len(machine.links)
    nominal = get_nominal_rates(machine)
    columns = machine.columns(src, dst)
    is_memory = machine.devices.kind == DEVICE_KINDS.index("memory")
    memory_links = is_memory[links.src] | is_memory[links.dst]
    is_staged = np.zeros(len(src), bool)
    for pair, link in columns:
        is_staged[_select_hops(pair)] |= memory_links[link]
    direct, staged = np.zeros(count), np.zeros(count)
    for pair, link in columns:
        hops = _select_hops(pair)
        direct += np.bincount(link, share[hops] * ~is_staged[hops], count)
        staged += np.bincount(link, share[hops] * is_staged[hops], count)
    busy, busy_staged = direct / nominal, staged / nominal
    total = busy + busy_staged
    outside = machine.devices.node[links.src] < 0, machine.devices.node[links.dst] < 0
    is_port, is_uplink = outside[0] ^ outside[1], outside[0] & outside[1]
    sorts = np.array([_SORTS.get(cable.kind, "") for cable in links.cables])[links.cable]
    inside = ~(outside[0] | outside[1])

    def find_most(mask: npt.NDArray[np.bool_]) -> float:
        return float(total[mask].max(initial=0.0))

    memory = np.where(is_memory[links.src], links.src, links.dst)[memory_links]
    written_and_read = np.bincount(memory, total[memory_links], 1)
    pcie = inside & (sorts == "pcie") & (total > 0)
    pairs = np.unique(np.stack([busy[pcie], busy_staged[pcie]], axis=1).round(20), axis=0)
    busiest_port = int(np.argmax(np.where(is_port, total, -1.0)))
    return LinkLoads(
        gpu=find_most(inside & (sorts == "gpu")),
        pcie=tuple((float(a), float(b)) for a, b in pairs),
        memory=float(written_and_read.max()),
        socket=find_most(inside & (sorts == "socket")),
        card=find_most(is_port),
        fabric=find_most(is_uplink),
        card_rate=float(nominal[busiest_port] * is_port.any()),
    )


def _select_hops(pair: Longs | None) -> slice | Longs:
    """Which hops a column of routes is of; None is all."""
    if pair is None:
        return slice(None)
    return pair


def get_nominal_rates(machine: Topology) -> Floats:
    """Get the nominal rates of a machine's links after edits, whatever rates or calibration it was made with.

    Args:
        machine: a machine.

    Returns:
        B/s of each link.
    """
    rates, calibration = machine.facts.rates, machine.facts.calibration
    factors = []
    for cable in machine.links.cables:
        nominal = cable.nominal or cable.bandwidth
        present = apply_rates(cable, rates).bandwidth
        if calibration is not None and cable.kind in calibration.links:
            present = nominal * calibration.links[cable.kind].carries
        factors.append(nominal / present)
    nominal_rates: Floats = machine.links.bandwidth * np.array(factors)[machine.links.cable]
    return nominal_rates


# ---- which rank sends to which -------------------------------------------------------------------------------------


def build_flows(
    collective: str,
    algorithm: str,
    machine: Topology,
    nodes: int,
    graph_search: GraphSearch | None,
    channels: int | None = None,
) -> Flows:
    """List who sends to whom in a call, and how much.

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it; of NVLS only what goes from node to node.
        machine: with the ranks that take part.
        nodes: its nodes.
        graph_search: the search on it; None where it is not known: the topology's own orders.
        channels: channels of the call; None: as many as there are orders.

    Returns:
        Sender, receiver, and share of the call's bytes of each hop.
    """
    if collective == "alltoall":
        return _build_alltoall_flows(machine.ranks, nodes)
    if collective == "sendrecv":
        return _build_ring_flows(np.arange(machine.ranks)[None], 1.0)
    if algorithm == "Tree":
        return _build_tree_flows(_list_tree_parents(machine, nodes, graph_search, channels))
    if algorithm == "NVLSTree":
        return _build_tree_flows(_list_head_parents(machine, nodes, graph_search))
    if algorithm == "NVLS":
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    if algorithm == "PAT" and machine.ranks <= _MOST_PAT:
        return _build_schedule_flows(f"{collective}_pat", machine.ranks)
    orders = np.asarray(_list_ring_orders(machine, nodes, graph_search), np.int64)
    if channels is not None:
        orders = orders[: max(1, channels)]
    if collective in ("broadcast", "reduce"):
        return _build_chain_flows(orders, collective)
    rounds = 1 + (collective == "allreduce")
    return _build_ring_flows(orders, rounds * (machine.ranks - 1) / machine.ranks)


def _build_alltoall_flows(ranks: int, nodes: int) -> Flows:
    """Every rank to every other; where hops are many, of a sample of distances between nodes."""
    local_ranks, rank = ranks // nodes, np.arange(ranks)
    most = max(1, _MOST_HOPS // (ranks * local_ranks))
    shifts = np.unique(np.linspace(1, nodes - 1, min(nodes - 1, most)).astype(int))
    weights = np.concatenate([[1.0], np.full(len(shifts), (nodes - 1) / max(1, len(shifts)))])
    shifts = np.concatenate([[0], shifts])
    src = np.tile(np.repeat(rank, local_ranks), len(shifts))
    first_receivers = [(rank // local_ranks + shift) % nodes * local_ranks for shift in shifts]
    dst = np.concatenate([(first[:, None] + np.arange(local_ranks)).ravel() for first in first_receivers])
    share = np.repeat(weights, ranks * local_ranks) / ranks
    differs = src != dst
    return src[differs], dst[differs], share[differs]


def _build_ring_flows(orders: npt.ArrayLike, load: float) -> Flows:
    rings = np.asarray(orders, np.int64)
    return rings.ravel(), np.roll(rings, -1, axis=1).ravel(), np.full(rings.size, load / len(rings))


def _build_chain_flows(rings: Longs, collective: str) -> Flows:
    """From rank 0 around each ring, or around it to rank 0."""
    starts = np.argmax(rings == 0, axis=1) + int(collective == "reduce")
    chains = np.stack([np.roll(ring, -start) for ring, start in zip(rings, starts, strict=True)])
    src, dst = chains[:, :-1].ravel(), chains[:, 1:].ravel()
    return src, dst, np.full(len(src), 1 / len(rings))


def _list_ring_orders(machine: Topology, nodes: int, graph_search: GraphSearch | None) -> npt.ArrayLike:
    if graph_search is not None:
        return graph_search.rings.build_orders(nodes)
    return build_ring_orders(machine, machine.ranks, choose_channels(machine, machine.ranks))


def _build_tree_flows(trees: Iterable[npt.ArrayLike]) -> Flows:
    """Every rank to its parent, and back; each tree has its share of the buffer."""
    parents = [np.asarray(tree, np.int64) for tree in trees]
    child = np.concatenate([np.flatnonzero(parent >= 0) for parent in parents])
    child_parent = np.concatenate([parent[parent >= 0] for parent in parents])
    src, dst = np.concatenate([child, child_parent]), np.concatenate([child_parent, child])
    return src, dst, np.full(len(src), 1 / len(parents))


def _list_tree_parents(
    machine: Topology, nodes: int, graph_search: GraphSearch | None, channels: int | None
) -> list[npt.ArrayLike]:
    if graph_search is None:
        orders = order_chains(build_ring_orders(machine, machine.ranks, max(1, (channels or 2) // 2)), nodes)
        pair = build_node_chains(machine.ranks, nodes, "balanced")
        return [rename_ranks(tree, order) for order in orders for tree in pair]
    trees = list(graph_search.trees.build_parents(nodes))
    half = len(trees) // 2
    running = min(half, max(1, (channels or 2 * half) // 2))
    return [*trees[:running], *trees[half : half + running]]


def _list_head_parents(machine: Topology, nodes: int, graph_search: GraphSearch | None) -> Iterable[npt.ArrayLike]:
    """Of each head of NVLS the double binary tree over the nodes; other GPUs send nothing from node to node."""
    local_ranks = machine.ranks // nodes
    heads: Iterable[int] = range(local_ranks)
    if graph_search is not None and graph_search.heads is not None:
        heads = graph_search.heads.gpus
    for parent in build_double_binary_tree(nodes):
        for head in heads:
            tree = np.full(machine.ranks, -1, np.int64)
            tree[head::local_ranks] = np.where(parent < 0, -1, parent * local_ranks + head)
            yield tree


def _build_schedule_flows(name: str, ranks: int) -> Flows:
    transfers = schedule(name, ranks=ranks).transfers
    src, dst = transfers["src"].astype(np.int64), transfers["dst"].astype(np.int64)
    return src, dst, np.full(len(src), 1 / ranks)
