"""A network of ranks alone that is as good as one with switches: pairs of links at a switch are split off.

What enters a switch over one link and leaves it over another becomes a link of its own, until nothing passes through
switches (Bang-Jensen, Frank & Jackson 1995; ForestColl, arXiv 2402.06787, section 5.3). A pair is split off only as far
as no cut gets narrower than the narrowest of all. So a pair of ranks may have several paths, each with a share of its
cables, where a fixed route has one.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from ..dtypes import Bools
from ..errors.arguments import check_arguments
from ..maxflow import ENDLESS, build_arcs, max_flow
from ..topology import Topology
from ..topology.graph import ShortestPaths, build_topology, require_connected
from ..topology.network import Cable
from ..topology_names import TopologyLike
from ..units import format_bandwidth
from .route_choice import require_free_routes

_MAX_RANKS, _MAX_DEVICES = 64, 256
_WIDEST = 1e6  # of what enters the slowest rank, that a link counts
_SOURCE = "shares of the cables of a network with switches"


class RankPath(NamedTuple):
    """A share of the cables between two ranks.

    Attributes:
        src: rank that sends.
        dst: rank that receives.
        bandwidth: B/s that the path has of each of its links.
        links: ids of links of the network with switches, in order.

    Examples:
        >>> import collsim as cs
        >>> split = cs.synthesis.remove_switches(cs.topology.switch(2))
        >>> [(path.src, path.dst, len(path.links)) for path in split.paths]
        [(0, 1, 2), (1, 0, 2)]
    """

    src: int
    dst: int
    bandwidth: float
    links: tuple[int, ...]


class SplitNetwork(NamedTuple):
    """A network without its switches.

    Attributes:
        topology: of ranks alone; a link has the bandwidth of its paths together and the alpha of the slowest.
        paths: what its links stand for. No link of the network with switches is promised more than it has.

    Examples:
        >>> import collsim as cs
        >>> split = cs.synthesis.remove_switches(cs.topology.switch(4))
        >>> len(split.topology.devices)
        4
    """

    topology: Topology
    paths: tuple[RankPath, ...]


@check_arguments
def remove_switches(topology: TopologyLike) -> SplitNetwork:
    """Find a network of ranks alone on which an allgather and a reduce_scatter have the bound of the given network.

    That is certain where as much bandwidth enters each device as leaves it, as with cables that are alike both ways.

    Args:
        topology: a network whose routes follow its links, such as one from networkx.

    Returns:
        The network of ranks, to synthesize for and to simulate on, and the paths that its links stand for.

    Raises:
        TopologyError: for a machine with rules of its own, too many ranks or devices, and where ranks cannot reach each
            other.

    Examples:
        >>> import collsim as cs
        >>> import networkx as nx
        >>> graph = nx.Graph([(leaf, spine) for leaf in "ab" for spine in "xy"])
        >>> graph.add_edges_from((gpu, "ab"[gpu // 2]) for gpu in range(4))
        >>> nx.set_node_attributes(graph, {gpu: "gpu" for gpu in range(4)}, "kind")
        >>> nx.set_edge_attributes(graph, "10GB/s", "bandwidth")
        >>> network = cs.Topology.from_networkx(graph)
        >>> split = cs.synthesis.remove_switches(network)
        >>> len(network.devices), len(split.topology.devices)
        (8, 4)
    """
    topology = require_free_routes(topology, "remove_switches", _MAX_RANKS, _MAX_DEVICES)
    require_connected(topology, ShortestPaths.of_links(len(topology.devices), topology.links))
    removal = _Removal(topology)
    removed = np.setdiff1d(np.arange(len(topology.devices)), removal.ranks)
    # A switch with few links first: those that are left then have fewer pairs of links to try.
    for switch in sorted(removed.tolist(), key=removal.count_pairs):
        removal.remove(switch)
    paths = removal.list_paths()
    cables: dict[tuple[int, int], Cable] = {}
    for path in paths:
        bandwidth, alpha = path.bandwidth, float(topology.links.alpha[list(path.links)].sum())
        if (cable := cables.get(path[:2])) is not None:
            bandwidth, alpha = bandwidth + cable.bandwidth, max(alpha, cable.alpha)
        label = format_bandwidth(bandwidth)
        cables[path[:2]] = Cable("cable", label, bandwidth, alpha, _SOURCE, nominal=bandwidth)
    nodes = {f"gpu{rank}": {"kind": "gpu"} for rank in range(topology.ranks)}
    return SplitNetwork(build_topology(f"{topology.name}, switches removed", nodes, cables), paths)


class _Removal:
    """The capacities that are left between devices, and the paths of links that each stands for."""

    def __init__(self, topology: Topology):
        links = topology.links
        count = len(topology.devices)
        self.ranks = topology.endpoint_device[: topology.ranks].astype(np.int64)
        into = np.bincount(links.dst, weights=links.bandwidth, minlength=count)[self.ranks]
        # No link needs more than twice what enters the slowest rank; one of far more would take the digits of others.
        bandwidth = np.minimum(links.bandwidth, _WIDEST * into.min())
        # Whole units, so small that n times all of them together fits in int64.
        self.unit = max(1.0, float(bandwidth.sum()) * (len(self.ranks) + 1) ** 2 / 2**60)
        whole = np.floor(bandwidth / self.unit).astype(np.int64)
        self.capacity = np.zeros((count, count), np.int64)
        np.add.at(self.capacity, (links.src, links.dst), whole)
        inside, self.feed = self._find_narrowest()
        # All is multiplied by the ranks inside the narrowest cut, so that the rate of a rank is a whole number.
        self.capacity *= inside
        self.unit /= inside
        self.paths: dict[tuple[int, int], deque[tuple[int, tuple[int, ...]]]] = {}
        for link in np.flatnonzero(whole).tolist():
            ends = int(links.src[link]), int(links.dst[link])
            self.paths.setdefault(ends, deque()).append((int(whole[link]) * inside, (link,)))

    def count_pairs(self, switch: int) -> int:
        """Pairs of a link into a switch and one out of it."""
        return int(np.count_nonzero(self.capacity[switch])) * int(np.count_nonzero(self.capacity[:, switch]))

    def remove(self, switch: int) -> None:
        """Split off all pairs of links at a switch; what is left of them helps no rank."""
        for dst in np.flatnonzero(self.capacity[switch]).tolist():
            for src in np.flatnonzero(self.capacity[:, switch]).tolist():
                amount = int(min(self.capacity[src, switch], self.capacity[switch, dst]))
                # Only cuts with both outer ends on one side and the switch on the other get narrower.
                if src != dst:
                    amount = self._find_slack([src, dst], [switch], amount)
                    amount = self._find_slack([switch], [src, dst], amount)
                    self._split_off(src, switch, dst, amount)
        self.capacity[switch] = self.capacity[:, switch] = 0

    def list_paths(self) -> tuple[RankPath, ...]:
        """All paths between ranks, sorted by their ends."""
        rank_on = {int(device): rank for rank, device in enumerate(self.ranks)}
        return tuple(
            RankPath(rank_on[ends[0]], rank_on[ends[1]], amount * self.unit, links)
            for ends in sorted(self.paths)
            if ends[0] in rank_on and ends[1] in rank_on
            for amount, links in self.paths[ends]
        )

    def _split_off(self, src: int, switch: int, dst: int, amount: int) -> None:
        self.capacity[src, switch] -= amount
        self.capacity[switch, dst] -= amount
        self.capacity[src, dst] += amount
        into, out = self.paths[src, switch], self.paths[switch, dst]
        while amount:
            (first, head), (second, tail) = into.popleft(), out.popleft()
            part = min(first, second, amount)
            self.paths.setdefault((src, dst), deque()).append((part, head + tail))
            if first > part:
                into.appendleft((first - part, head))
            if second > part:
                out.appendleft((second - part, tail))
            amount -= part

    def _find_narrowest(self) -> tuple[int, int]:
        """Ranks inside the cut of the least bandwidth out for each of them, and that bandwidth (Dinkelbach 1967)."""
        into = self.capacity.sum(axis=0)[self.ranks]
        inside, out = max(1, len(self.ranks) - 1), int(into.min())
        for sink in self.ranks.tolist():
            while out:
                _, side = self._max_flow([], [], sink, out, inside, len(self.ranks) * out)
                if side is None:
                    break
                inside = int(side[self.ranks].sum())
                out = int(self.capacity[side][:, ~side].sum())
        return inside, out

    def _find_slack(self, near: list[int], far: list[int], amount: int) -> int:
        """How much narrower, up to an amount, all cuts between devices on the near and the far side may get."""
        need = len(self.ranks) * self.feed
        for sink in self.ranks.tolist():
            if amount and sink not in near:
                amount = self._max_flow(near, far, sink, self.feed, 1, need + amount)[0] - need
        return amount

    def _max_flow(
        self, near: list[int], far: list[int], sink: int, feed: int, factor: int, limit: int
    ) -> tuple[int, Bools | None]:
        """The flow from a point that feeds every rank and holds the near devices, to a rank with the far ones."""
        count, src_dst = len(self.capacity), np.nonzero(self.capacity)
        # The far devices are joined to the sink itself, but for the sink, which is where it is.
        merged = [device for device in far if device != sink]
        src = np.concatenate([src_dst[0], np.full(len(self.ranks) + len(near), count), np.array(merged, np.int64)])
        dst = np.concatenate([src_dst[1], self.ranks, np.array(near, np.int64), np.full(len(merged), sink)])
        fed = np.full(len(self.ranks), feed)
        endless = np.full(len(near) + len(merged), ENDLESS // 4)
        capacity = np.concatenate([self.capacity[src_dst] * factor, fed, endless])
        graph = build_arcs(count + 1, src, dst, capacity)
        value, side = max_flow(graph, graph.capacity, count, sink, limit)
        return value, None if side is None else side[:-1]
