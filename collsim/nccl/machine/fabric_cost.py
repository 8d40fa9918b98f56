"""What the way between nodes costs beside one switch for all network cards: cables between switches that many hops
share, and the way round over NVLink to a card of another rail.

Bytes are counted on the links of the Topology: every hop of the algorithm from node to node takes its route
(`topology.cluster`: rails, PXN, spines picked by the destination), and the busiest cable is compared with the cards'
cables if all cards sat on one switch. So an oversubscribed leaf, a hop that changes rail over the spines, and
flows that meet on one uplink cost what `simulate` says they do; a fabric that keeps up costs nothing, and one switch is
not looked at. Rings, trees and heads are those of NCCL's search where there is one, else the topology's own orders.

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
from ...trees import double_binary_tree, node_chains
from .facts import Facts
from .topology_facts import GraphSearch

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Shifts from node to node that an alltoall is looked at for: all of them up to so many nodes, then so many, evenly
#: spread.
_SHIFTS = 64
#: Ranks up to which the transfers of PAT are counted one by one; beyond, the ring stands for it.
_MOST_PAT = 512
#: A cable this little busier than a card's is not said to hold anything up: sums of shares are not exact.
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True)
class FabricCost:
    """The way between nodes against one switch for all cards.

    Attributes:
        times: times as long that bytes need between nodes, 1 or more. wait: seconds that a hop between nodes takes
        longer inside its nodes, on average over the hops.
        link: the name of the cable that holds the bytes up, "" for none. changes, hops: hops from node to node that go
        over spines, since they change the rail or leave the unit, of how many; 0 where the fabric has no rails.
    """

    slowdown: float = 1.0
    hop_delay: float = 0.0
    busiest_link: str = ""
    rail_changes: int = 0
    hops: int = 0


#: One switch, or one node.
ONE_SWITCH = FabricCost()
#: What was found for a topology, by algorithm and ranks: it follows from them alone.
_COSTS: WeakKeyDictionary[Topology, dict[tuple[object, ...], FabricCost]] = WeakKeyDictionary()


def compute_fabric_cost(
    collective: str, algorithm: str, machine: Topology, facts: Facts, graph_search: GraphSearch | None
) -> FabricCost:
    """What the fabric of a machine costs a call; `ONE_SWITCH` for a plain one.

    Args:
        algorithm: NCCL's. facts: of the machine with the ranks that take part. found: the search on it.

    Raises TopologyError where a hop has no way, as `simulate` does, unless NCCL's own channels keep to the cards that
    have one.
    """
    router = machine.router
    if facts.nodes == 1 or not isinstance(router, ClusterRouter) or router.fabric is None:
        return ONE_SWITCH
    if router.fabric.lanes is None and not len(router.fabric.a):
        return ONE_SWITCH
    known = _COSTS.setdefault(machine, {})
    key = (
        collective,
        algorithm,
        facts.ranks,
        None if graph_search is None else (graph_search.local_ranks, graph_search.rules),
    )
    if key not in known:
        place = restrict_ranks(_in_node_order(machine), facts)
        try:
            known[key] = _between(collective, algorithm, place, facts, graph_search)
        except TopologyError as error:
            if collective in ("alltoall", "sendrecv") or not _keeps_rails(algorithm, graph_search, facts.nodes):
                why = "{error}; join the rails (fabric='rail'), or give all cards one switch (fabric='switch')"
                raise TopologyError(why, error=error) from None
            known[key] = ONE_SWITCH
    return known[key]


def _keeps_rails(algorithm: str, found: GraphSearch | None, nodes: int) -> bool:
    """Do all channels of the search stay on one card from node to node? It may be another card than a GPU's nearest."""
    if found is None or algorithm not in ("Ring", "Tree"):
        return False
    if algorithm == "Ring":
        return not found.rings.count_crossings(nodes)
    return all(channel.entry_card == channel.exit_card for channel in found.trees.channels)


def restrict_ranks(machine: Topology, facts: Facts) -> Topology:
    """The machine with only the ranks that take part: as many of each node, its first, as on the fullest."""
    if facts.ranks == machine.ranks:
        return machine
    here = np.flatnonzero(np.arange(machine.ranks) % (machine.ranks // facts.nodes) < facts.local_ranks)
    orders = None
    if machine.orders is not None:
        orders = np.array([np.searchsorted(here, order[np.isin(order, here)]) for order in machine.orders], np.int32)
    return replace(machine, ranks=len(here), endpoint_device=machine.endpoint_device[here], orders=orders)


def _between(collective: str, algorithm: str, machine: Topology, facts: Facts, found: GraphSearch | None) -> FabricCost:
    src, dst, share = _flows(collective, algorithm, machine, facts, found)
    node = machine.devices.node[machine.endpoint_device]
    away = node[src] != node[dst]
    if not away.any():
        return ONE_SWITCH
    src, dst, share = src[away], dst[away], share[away]
    here, plain = (_Crossed.of(place, src, dst, share) for place in (machine, _without_lanes(machine)))
    times, busiest = here.busy.max() / plain.ports, int(np.argmax(here.busy))
    wait, lanes = max(0.0, here.latency - plain.latency), machine.router.fabric.lanes  # type: ignore[union-attr]
    changes, hops = (0, 0) if lanes is None else (int(here.uphill.sum()), len(src))
    if times <= _ROUNDING:
        return FabricCost(hop_delay=wait, rail_changes=changes, hops=hops)
    return FabricCost(float(times), wait, machine.link_name(busiest), changes, hops)


@dataclass(frozen=True)
class _Crossed:
    """What hops cross: `busy`, seconds per byte of the call on each link of the fabric (0 elsewhere), and of the
    busiest card's cable, `ports`; `latency`, seconds of a hop, on average, without cables between switches; `uphill`,
    which hops cross such cables."""

    busy: Floats
    ports: float
    latency: float
    uphill: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, machine: Topology, src: Longs, dst: Longs, share: Floats) -> _Crossed:
        links, count = machine.links, len(machine.links)
        outside = [machine.devices.node[end] < 0 for end in (links.src, links.dst)]
        port, uplink = outside[0] ^ outside[1], outside[0] & outside[1]
        load, latency, uphill = np.zeros(count), np.zeros(len(src)), np.zeros(len(src), bool)
        for pair, link in machine.columns(src, dst):
            those = slice(None) if pair is None else pair
            load += np.bincount(link, share[those], count)
            latency[those] += np.where(uplink[link], 0.0, links.alpha[link])
            uphill[those] |= uplink[link]
        busy = np.where(port | uplink, load / links.bandwidth, 0.0)
        return cls(busy, float(busy[port].max()), float(np.average(latency, weights=share)), uphill)


def _without_lanes(machine: Topology) -> Topology:
    """The same where each GPU sends by its nearest card, whatever the receiver's: what one switch would be sent."""
    router = machine.router
    assert isinstance(router, ClusterRouter)
    assert router.fabric is not None
    if router.fabric.lanes is None:
        return machine
    fabric = replace(router.fabric, lanes=None, separate=False)
    return replace(machine, router=replace(router, fabric=fabric, legs={}, chosen={}))


def _in_node_order(machine: Topology) -> Topology:
    """Ranks node by node, as NCCL sorts them whatever numbers they were given (src/graph/search.cc)."""
    if machine.facts.get("placement", "node") == "node":
        return machine
    return replace(machine, endpoint_device=np.sort(machine.endpoint_device[: machine.ranks]), orders=None)


# ---- who sends to whom: (sender, receiver, share of the call's bytes on that hop)
# ------------------------------------------------------------------------------------------------------

Flows = tuple[Longs, Longs, Floats]


def _flows(collective: str, algorithm: str, machine: Topology, facts: Facts, found: GraphSearch | None) -> Flows:
    if collective == "alltoall":
        return _all_pairs(machine.ranks, facts.nodes)
    if collective == "sendrecv":
        return _around(np.arange(machine.ranks)[None])
    if algorithm == "Tree":
        return _up_and_down(_tree_parents(machine, facts, found))
    if algorithm == "NVLSTree":
        return _up_and_down(_head_parents(machine, facts, found))
    if algorithm == "PAT" and machine.ranks <= _MOST_PAT:
        return _transfers(f"{collective}_pat", machine.ranks)
    return _around(_ring_orders(machine, facts, found))


def _all_pairs(ranks: int, nodes: int) -> Flows:
    """Every rank to every rank of other nodes; where nodes are many, of a sample of distances."""
    local, rank = ranks // nodes, np.arange(ranks)
    steps = np.unique(np.linspace(1, nodes - 1, min(nodes - 1, _SHIFTS)).astype(int))
    src = np.tile(np.repeat(rank, local), len(steps))
    goal = [(rank // local + step) % nodes * local for step in steps]
    dst = np.concatenate([(first[:, None] + np.arange(local)).ravel() for first in goal])
    return src, dst, np.ones(len(src))


def _around(orders: npt.ArrayLike) -> Flows:
    rings = np.asarray(orders, np.int64)
    return rings.ravel(), np.roll(rings, -1, axis=1).ravel(), np.ones(rings.size)


def _ring_orders(machine: Topology, facts: Facts, found: GraphSearch | None) -> npt.ArrayLike:
    if found is not None:
        return found.rings.build_orders(facts.nodes)
    return np.arange(machine.ranks)[None] if machine.orders is None else machine.orders


def _up_and_down(trees: Iterable[npt.ArrayLike]) -> Flows:
    """Every rank to its parent, and back."""
    parents = [np.asarray(tree, np.int64) for tree in trees]
    child = np.concatenate([np.flatnonzero(parent >= 0) for parent in parents])
    above = np.concatenate([parent[parent >= 0] for parent in parents])
    return np.concatenate([child, above]), np.concatenate([above, child]), np.ones(2 * len(child))


def _tree_parents(machine: Topology, facts: Facts, found: GraphSearch | None) -> Iterable[npt.ArrayLike]:
    if found is not None:
        return found.trees.build_parents(facts.nodes)
    return node_chains(machine.ranks, facts.nodes, "balanced")


def _head_parents(machine: Topology, facts: Facts, found: GraphSearch | None) -> Iterable[npt.ArrayLike]:
    """Of each head of NVLS the double binary tree over the nodes; other GPUs send nothing from node to node."""
    local = machine.ranks // facts.nodes
    heads = found.heads.gpus if found is not None and found.heads is not None else range(local)
    for parent in double_binary_tree(facts.nodes):
        for head in heads:
            tree = np.full(machine.ranks, -1, np.int64)
            tree[head::local] = np.where(parent < 0, -1, parent * local + head)
            yield tree


def _transfers(name: str, ranks: int) -> Flows:
    rows = schedule(name, ranks=ranks).transfers
    return rows["src"].astype(np.int64), rows["dst"].astype(np.int64), np.ones(len(rows))
