"""Routes through switches, chosen so that no cable carries much more than another.

A transfer takes the one route that the topology has between its ranks. Where a topology does not say which of several
equal routes, all may take the same. Here every rank gets a tree of routes that lead to it, as the forwarding tables of
InfiniBand have them, at prices of what all other trees load (Hoefler, Schneider & Lumsdaine 2009). Splitting off pairs
of links at a switch (ForestColl, arXiv 2402.06787, section 5.3; Frank 1988) divides a switch so that cuts keep their
size; with one route for a pair the division is whole routes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import Floats, Longs
from ..errors import TopologyError
from ..errors.arguments import check_arguments
from ..topology import Routes, Topology
from ..topology.graph import ShortestPaths, require_connected
from ..topology_names import TopologyLike, resolve_topology
from .block_paths import Graph, build_graph, find_prices, grow_trees
from .pairs.alltoall_rates import Pairs

_MAX_RANKS, _MAX_DEVICES = 1024, 4096
_TREES, _SWEEPS = 8, 4  # trees from which each rank chooses, and how often all choose
_STEEPNESS = 40.0  # exponent of the price of the busiest link when ranks choose


@dataclass(frozen=True, eq=False)
class ChosenRoutes:
    """Next hops by destination; of destinations without a tree those of shortest paths.

    Attributes:
        row: (devices,) row of `table` of each destination, -1 without.
        table: (destinations, devices) next device.
        shortest: of all others.
    """

    row: Longs
    table: Longs
    shortest: ShortestPaths

    def __call__(self, device: Longs, destination: Longs) -> Longs:
        """Next device from each `device` on the way to its `destination`; -1 where there is no way."""
        row = self.row[destination]
        hops = np.where(row < 0, -1, self.table[row, device])
        # Helpers have no tree, and ranks that only other ranks join to a goal are in none.
        if (other := hops < 0).any():
            hops[other] = self.shortest(device[other], destination[other])
        return hops


@check_arguments
def choose_routes(topology: TopologyLike) -> Topology:
    """Give a network of switches routes that spread the traffic between its ranks over its cables.

    Args:
        topology: a network whose routes follow its links, such as one from networkx.

    Returns:
        The same network with other routes; ranks do not pass on what is for others where switches join them.

    Raises:
        TopologyError: for a machine with rules of its own, more ranks or devices than can be routed, and where ranks
            cannot reach each other.

    Examples:
        >>> import collsim as cs
        >>> import networkx as nx
        >>> graph = nx.Graph([(leaf, spine) for leaf in "ab" for spine in "xy"])
        >>> graph.add_edges_from((gpu, "ab"[gpu // 2]) for gpu in range(4))
        >>> nx.set_node_attributes(graph, {gpu: "gpu" for gpu in range(4)}, "kind")
        >>> nx.set_edge_attributes(graph, "10GB/s", "bandwidth")
        >>> spread = cs.synthesis.choose_routes(cs.Topology.from_networkx(graph))
        >>> spread.route(0, 2)[1].dst != spread.route(0, 3)[1].dst
        True
    """
    topology = require_free_routes(topology, "choose_routes", _MAX_RANKS, _MAX_DEVICES)
    devices, links = len(topology.devices), topology.links
    shortest = ShortestPaths.of_links(devices, links)
    require_connected(topology, shortest)
    goals = topology.endpoint_device[: topology.ranks].astype(np.int64)
    is_rank = np.zeros(devices, bool)
    is_rank[goals] = True
    # A tree that leads to a rank is one that leaves it on the reversed network.
    routes = Routes(np.arange(len(links) + 1, dtype=np.int64), np.arange(len(links), dtype=np.int32))
    reversed_links = Pairs(topology, devices, links.dst.astype(np.int64), links.src.astype(np.int64), routes)
    relays = ~is_rank | is_rank.all()
    _, used, graph = build_graph(reversed_links, is_rank.astype(np.float64), relays)
    parents = _choose_trees(goals, graph, links.bandwidth[used].astype(np.float64))
    table = np.where(parents >= 0, graph[2][parents], -1)
    row = np.full(devices, -1, np.int64)
    row[goals] = np.arange(len(goals))
    return replace(topology, router=None, next_hop=ChosenRoutes(row, table, shortest))


def require_free_routes(topology: TopologyLike, caller: str, ranks: int, devices: int) -> Topology:
    """A network whose routes follow its links and are not those of a machine.

    Args:
        topology: the network, or its name.
        caller: who asks, for the message.
        ranks: that may be routed at most.
        devices: that may be routed at most.

    Raises:
        TopologyError: for a machine with rules of its own, and for one with more ranks or devices.
    """
    network = resolve_topology(topology, caller)
    if network.router is not None:
        message = "{name}: its routes follow rules of its machines, not only its links; they stay as they are"
        raise TopologyError(message, name=network.name)
    if network.ranks > ranks or len(network.devices) > devices:
        message = "{name}: routes are chosen for {ranks} ranks and {devices} devices at most"
        raise TopologyError(message, name=network.name, ranks=ranks, devices=devices)
    return network


def _choose_trees(goals: Longs, graph: Graph, bandwidth: Floats) -> Longs:
    """(goals, devices) the last pair of the path to each device in the tree that each goal chooses."""
    devices = len(graph[0]) - 1
    parents = np.full((_TREES, len(goals), devices), -1, np.int64)
    loads, total = np.zeros((len(goals), _TREES, len(bandwidth))), np.zeros(len(bandwidth))
    for tree in range(_TREES):
        for i in range(len(goals)):
            price = find_prices(total, bandwidth)
            grow_trees(goals[i : i + 1], graph, price, parents[tree, i : i + 1], loads[i, tree])
            total += loads[i, tree]
    chosen, rank = np.zeros(len(goals), np.int64), np.arange(len(goals))
    total = loads[rank, chosen].sum(axis=0)
    for sweep in range(_SWEEPS):
        for i in np.random.default_rng(sweep).permutation(len(goals)).tolist():
            use = (total - loads[i, chosen[i]] + loads[i]) / bandwidth
            chosen_use = use[chosen[i]].max()
            cost = np.exp(_STEEPNESS * (use / chosen_use - 1)).sum(axis=1)
            best = int(np.argmin(cost))
            if cost[best] < cost[chosen[i]] * (1 - 1e-9):
                total += loads[i, best] - loads[i, chosen[i]]
                chosen[i] = best
    return parents[chosen, rank]
