"""What the links between nodes cost in comparison with one switch for all network cards: cables between switches that
many hops share, and the way over NVLink to a card of another rail.

Bytes are counted on the links of the Topology: every hop of the algorithm from node to node takes its route
(`topology.cluster`: rails, PXN, spines picked by the destination), and the busiest cable is compared with the cards'
cables if all cards sat on one switch. So an oversubscribed leaf, a hop that changes rail over the spines, and
flows that meet on one uplink cost what `simulate` says they do; a fabric that keeps up costs nothing, and one switch is
not examined. Rings, trees and heads are those of NCCL's search where there is one, else the topology's own orders.

A GPU that shares no switch with its channel's card takes its nearest card, as it does in a simulation. Left out: the
latency of more switches on the way, since that of a step between nodes was found on runs over fabrics of
all depths (`model.links`); and bytes that PXN adds to links inside a node, whose load counts every hop already.

Inside: bytes as shares of the call's, seconds, B/s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...errors import TopologyError
from ...registry import schedule
from ...topology import Topology
from ...topology.cluster import ClusterRouter
from ...trees import build_double_binary_tree, build_node_chains
from .facts import Facts
from .topology_facts import GraphSearch

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: (sender, receiver, share of the call's bytes) of every hop.
Flows = tuple[Longs, Longs, Floats]
#: Shifts from node to node of an alltoall that are counted: all of them up to this many nodes, then this many, evenly
#: spread.
_SHIFTS = 64
#: Ranks up to which the transfers of PAT are counted one by one; beyond, the ring stands for it.
_MOST_PAT = 512
#: A cable that is busier than a card's by less than this factor holds nothing up: sums of shares are not exact.
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True)
class FabricCost:
    """The links between nodes in comparison with one switch for all cards.

    Attributes:
        slowdown: factor on the time that bytes need between nodes, 1 or more.
        hop_delay: seconds that a hop between nodes takes longer inside its nodes, on average over the hops.
        busiest_link: name of the cable that holds the bytes up; "" for none.
        rail_changes: hops from node to node that cross spines, as they change the rail or leave the unit; 0 where the
            fabric has no rails.
        hops: all hops from node to node; 0 where the fabric has no rails.
    """

    slowdown: float = 1.0
    hop_delay: float = 0.0
    busiest_link: str = ""
    rail_changes: int = 0
    hops: int = 0


#: One switch, or one node.
ONE_SWITCH = FabricCost()
#: What a topology costs by algorithm and ranks, which is all that it depends on.
_COSTS: WeakKeyDictionary[Topology, dict[tuple[object, ...], FabricCost]] = WeakKeyDictionary()


def compute_fabric_cost(
    collective: str, algorithm: str, machine: Topology, facts: Facts, graph_search: GraphSearch | None
) -> FabricCost:
    """Compute what the fabric of a machine costs a call.

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        machine: the machine with all its ranks.
        facts: of the machine with the ranks that take part.
        graph_search: the search on it; None where it is not known.

    Returns:
        The cost; `ONE_SWITCH` where one switch joins all cards.

    Raises:
        TopologyError: where a hop has no route, as in `simulate`, unless NCCL's own channels keep to the cards that
            have one.
    """
    router = machine.router
    if facts.nodes == 1 or not isinstance(router, ClusterRouter) or router.fabric is None:
        return ONE_SWITCH
    if router.fabric.lanes is None and not len(router.fabric.a):
        return ONE_SWITCH
    costs = _COSTS.setdefault(machine, {})
    search_key = None
    if graph_search is not None:
        search_key = (graph_search.local_ranks, graph_search.rules)
    key = collective, algorithm, facts.ranks, search_key
    if key not in costs:
        in_use = restrict_ranks(_sort_ranks_by_node(machine), facts)
        try:
            costs[key] = _compare_with_one_switch(collective, algorithm, in_use, facts, graph_search)
        except TopologyError as error:
            if collective in ("alltoall", "sendrecv") or not _is_on_rails(algorithm, graph_search, facts.nodes):
                template = "{error}; join the rails (fabric='rail'), or give all cards one switch (fabric='switch')"
                raise TopologyError(template, error=error) from None
            costs[key] = ONE_SWITCH
    return costs[key]


def _is_on_rails(algorithm: str, graph_search: GraphSearch | None, nodes: int) -> bool:
    """Whether all channels of the search stay on one card from node to node; it may be another than a GPU's nearest."""
    if graph_search is None or algorithm not in ("Ring", "Tree"):
        return False
    if algorithm == "Ring":
        return not graph_search.rings.count_crossings(nodes)
    return all(channel.entry_card == channel.exit_card for channel in graph_search.trees.channels)


def restrict_ranks(machine: Topology, facts: Facts) -> Topology:
    """Leave only the ranks that take part: the first of each node, as many as on the fullest.

    Args:
        machine: the machine with all its ranks.
        facts: of the machine with the ranks that take part.

    Returns:
        The machine with these ranks; the same object where all take part.
    """
    if facts.ranks == machine.ranks:
        return machine
    chosen = np.flatnonzero(np.arange(machine.ranks) % (machine.ranks // facts.nodes) < facts.local_ranks)
    orders = None
    if machine.orders is not None:
        orders = np.array(
            [np.searchsorted(chosen, order[np.isin(order, chosen)]) for order in machine.orders], np.int32
        )
    return replace(machine, ranks=len(chosen), endpoint_device=machine.endpoint_device[chosen], orders=orders)


def _compare_with_one_switch(
    collective: str, algorithm: str, machine: Topology, facts: Facts, graph_search: GraphSearch | None
) -> FabricCost:
    src, dst, share = _build_flows(collective, algorithm, machine, facts, graph_search)
    node = machine.devices.node[machine.endpoint_device]
    is_between_nodes = node[src] != node[dst]
    if not is_between_nodes.any():
        return ONE_SWITCH
    src, dst, share = src[is_between_nodes], dst[is_between_nodes], share[is_between_nodes]
    fabric = _LinkLoads.measure(machine, src, dst, share)
    one_switch = _LinkLoads.measure(_remove_lanes(machine), src, dst, share)
    slowdown, busiest = fabric.busy.max() / one_switch.busiest_port, int(np.argmax(fabric.busy))
    hop_delay = max(0.0, fabric.latency - one_switch.latency)
    lanes = machine.router.fabric.lanes  # type: ignore[union-attr]
    rail_changes, hops = (0, 0) if lanes is None else (int(fabric.uphill.sum()), len(src))
    if slowdown <= _ROUNDING:
        return FabricCost(hop_delay=hop_delay, rail_changes=rail_changes, hops=hops)
    return FabricCost(float(slowdown), hop_delay, machine.link_name(busiest), rail_changes, hops)


@dataclass(frozen=True)
class _LinkLoads:
    """What hops cross.

    Attributes:
        busy: seconds per byte of the call on each link of the fabric; 0 on links inside nodes.
        busiest_port: the same of the busiest card's cable.
        latency: seconds of a hop, on average, without cables between switches.
        uphill: for each hop, whether it crosses cables between switches.
    """

    busy: Floats
    busiest_port: float
    latency: float
    uphill: npt.NDArray[np.bool_]

    @classmethod
    def measure(cls, machine: Topology, src: Longs, dst: Longs, share: Floats) -> _LinkLoads:
        """The loads of hops from `src` to `dst`, each with a share of the call's bytes."""
        links, count = machine.links, len(machine.links)
        outside = [machine.devices.node[end] < 0 for end in (links.src, links.dst)]
        port, uplink = outside[0] ^ outside[1], outside[0] & outside[1]
        load, latency, uphill = np.zeros(count), np.zeros(len(src)), np.zeros(len(src), bool)
        for pair, link in machine.columns(src, dst):
            hops: slice | npt.NDArray[np.int64] = slice(None)
            if pair is not None:
                hops = pair
            load += np.bincount(link, share[hops], count)
            latency[hops] += np.where(uplink[link], 0.0, links.alpha[link])
            uphill[hops] |= uplink[link]
        busy = np.where(port | uplink, load / links.bandwidth, 0.0)
        return cls(busy, float(busy[port].max()), float(np.average(latency, weights=share)), uphill)


def _remove_lanes(machine: Topology) -> Topology:
    """The same where each GPU sends by its nearest card, whatever the receiver's, as it would over one switch."""
    router = machine.router
    assert isinstance(router, ClusterRouter)
    assert router.fabric is not None
    if router.fabric.lanes is None:
        return machine
    fabric = replace(router.fabric, lanes=None, separate=False)
    return replace(machine, router=replace(router, fabric=fabric, legs={}, chosen={}))


def _sort_ranks_by_node(machine: Topology) -> Topology:
    """Ranks node by node, as NCCL sorts them whatever numbers they were given (src/graph/search.cc)."""
    if machine.facts.placement == "node":
        return machine
    return replace(machine, endpoint_device=np.sort(machine.endpoint_device[: machine.ranks]), orders=None)


# ---- which rank sends to which -------------------------------------------------------------------------------------


def _build_flows(
    collective: str, algorithm: str, machine: Topology, facts: Facts, graph_search: GraphSearch | None
) -> Flows:
    if collective == "alltoall":
        return _build_alltoall_flows(machine.ranks, facts.nodes)
    if collective == "sendrecv":
        return _build_ring_flows(np.arange(machine.ranks)[None])
    if algorithm == "Tree":
        return _build_tree_flows(_list_tree_parents(machine, facts, graph_search))
    if algorithm == "NVLSTree":
        return _build_tree_flows(_list_head_parents(machine, facts, graph_search))
    if algorithm == "PAT" and machine.ranks <= _MOST_PAT:
        return _build_schedule_flows(f"{collective}_pat", machine.ranks)
    return _build_ring_flows(_list_ring_orders(machine, facts, graph_search))


def _build_alltoall_flows(ranks: int, nodes: int) -> Flows:
    """Every rank to every rank of other nodes; where nodes are many, of a sample of distances."""
    local_ranks, rank = ranks // nodes, np.arange(ranks)
    shifts = np.unique(np.linspace(1, nodes - 1, min(nodes - 1, _SHIFTS)).astype(int))
    src = np.tile(np.repeat(rank, local_ranks), len(shifts))
    first_receivers = [(rank // local_ranks + shift) % nodes * local_ranks for shift in shifts]
    dst = np.concatenate([(first[:, None] + np.arange(local_ranks)).ravel() for first in first_receivers])
    return src, dst, np.ones(len(src))


def _build_ring_flows(orders: npt.ArrayLike) -> Flows:
    rings = np.asarray(orders, np.int64)
    return rings.ravel(), np.roll(rings, -1, axis=1).ravel(), np.ones(rings.size)


def _list_ring_orders(machine: Topology, facts: Facts, graph_search: GraphSearch | None) -> npt.ArrayLike:
    if graph_search is not None:
        return graph_search.rings.build_orders(facts.nodes)
    if machine.orders is None:
        return np.arange(machine.ranks)[None]
    return machine.orders


def _build_tree_flows(trees: Iterable[npt.ArrayLike]) -> Flows:
    """Every rank to its parent, and back."""
    parents = [np.asarray(tree, np.int64) for tree in trees]
    child = np.concatenate([np.flatnonzero(parent >= 0) for parent in parents])
    child_parent = np.concatenate([parent[parent >= 0] for parent in parents])
    return np.concatenate([child, child_parent]), np.concatenate([child_parent, child]), np.ones(2 * len(child))


def _list_tree_parents(machine: Topology, facts: Facts, graph_search: GraphSearch | None) -> Iterable[npt.ArrayLike]:
    if graph_search is not None:
        return graph_search.trees.build_parents(facts.nodes)
    return build_node_chains(machine.ranks, facts.nodes, "balanced")


def _list_head_parents(machine: Topology, facts: Facts, graph_search: GraphSearch | None) -> Iterable[npt.ArrayLike]:
    """Of each head of NVLS the double binary tree over the nodes; other GPUs send nothing from node to node."""
    local_ranks = machine.ranks // facts.nodes
    heads: Iterable[int] = range(local_ranks)
    if graph_search is not None and graph_search.heads is not None:
        heads = graph_search.heads.gpus
    for parent in build_double_binary_tree(facts.nodes):
        for head in heads:
            tree = np.full(machine.ranks, -1, np.int64)
            tree[head::local_ranks] = np.where(parent < 0, -1, parent * local_ranks + head)
            yield tree


def _build_schedule_flows(name: str, ranks: int) -> Flows:
    transfers = schedule(name, ranks=ranks).transfers
    return transfers["src"].astype(np.int64), transfers["dst"].astype(np.int64), np.ones(len(transfers))
