"""Topologies from any graph, and graphs from any topology.

Routes on a graph cross the fewest links. Among routes of equal length, hop by hop from the destination: the one whose
slowest link is the fastest, then the one with the least latency, then the one over the lower next device. The choice
belongs to the destination, so that all data for it that pass a device leave that device over the same link.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import ComparedByFields, Floats, Ints, Longs
from ..errors import CollsimError, Sentence, TopologyError, describe_unknown, format_value
from ..errors.collected_warnings import warn
from ..errors.dependencies import networkx as nx
from ..units import format_bandwidth, format_numbers
from .cable_figures import ImplausibleFigure, parse_cable_alpha, parse_cable_bandwidth
from .network import DEVICE_KINDS, Cable, Devices, Links, NodeName, Topology

#: Destinations whose next hops are kept.
_MAX_CACHED = 4096
#: Femtoseconds in a second: latencies are added as whole numbers, so that equal routes stay equal.
_FEMTO = 1e15
#: What other tools call the attributes of an edge.
_ALPHA_NAMES = ("latency", "delay", "lat")
_BANDWIDTH_NAMES = ("bw", "capacity", "rate", "speed")
#: What other tools call the attribute of a node that says its kind.
_KIND_NAMES = ("type", "role", "device_type", "node_type")
#: How names of devices begin that are no ranks.
_NO_RANK = ("switch", "sw", "leaf", "spine", "core", "tor", "router", "nvswitch", "nvlink", "nic", "hca", "cpu", "pcie")


@dataclass(frozen=True, eq=False)
class ShortestPaths(ComparedByFields):
    """Next hops of shortest paths over the links `src[i] -> dst[i]`, cached per destination.

    Attributes:
        devices: Number of devices.
        src: (links,) where each link begins.
        dst: (links,) where it ends.
        bandwidth: (links,) B/s, which decides between routes of equal length; None where all links are alike.
        alpha: (links,) s, which decides next.
        cache: Next hops by destination.
    """

    devices: int
    src: Ints
    dst: Ints
    bandwidth: Floats | None = None
    alpha: Floats | None = None
    cache: dict[int, Longs] = field(default_factory=dict, compare=False)

    def __hash__(self) -> int:
        return hash((self.devices, len(self.src)))

    @classmethod
    def of_links(cls, devices: int, links: Links) -> ShortestPaths:
        """Shortest paths over the links of a topology.

        Args:
            devices: their number.
            links: with the figures that break ties between routes of equal length.
        """
        alike = True
        if len(links):
            alike = np.ptp(links.bandwidth) == 0 and np.ptp(links.alpha) == 0
        if alike:
            return cls(devices, links.src, links.dst)
        return cls(devices, links.src, links.dst, links.bandwidth, links.alpha)

    def __call__(self, device: Longs, destination: Longs) -> Longs:
        """Next device from each `device` on the way to its `destination`; -1 where there is no way."""
        next_device = np.full(device.shape, -1, np.int64)
        destinations, which = np.unique(destination, return_inverse=True)
        for i, goal in enumerate(destinations.tolist()):
            if len(destinations) > 1:
                pairs = which.ravel() == i
            else:
                pairs = slice(None)
            next_device[pairs] = self.find_next_hops(goal)[device[pairs]]
        return next_device

    def find_next_hops(self, destination: int) -> Longs:
        """(devices,) the next device on the way to `destination`, -1 where there is no way.

        Args:
            destination: A device.
        """
        if destination not in self.cache:
            while len(self.cache) >= _MAX_CACHED:
                self.cache.pop(next(iter(self.cache)))
            self.cache[destination] = self._search(destination)
        return self.cache[destination]

    def _search(self, destination: int) -> Longs:
        """Breadth first from the destination. When a device is taken from the queue, every neighbour that is nearer has
        offered it a route, so the best of these is final."""
        start, sources, rates, delays = self._incoming
        distance = [-1] * self.devices
        distance[destination] = 0
        #: Of the best route yet: minus the bandwidth of its slowest link, its latency, its next device.
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)] * self.devices
        best[destination] = (-float("inf"), 0, destination)
        queue = deque([destination])
        while queue:
            device = queue.popleft()
            slowest, latency, _ = best[device]
            for link in range(start[device], start[device + 1]):
                source = sources[link]
                route = (max(slowest, -rates[link]), latency + delays[link], device)
                if distance[source] < 0:
                    distance[source] = distance[device] + 1
                    best[source] = route
                    queue.append(source)
                elif distance[source] == distance[device] + 1 and route < best[source]:
                    best[source] = route
        return np.array([next_device for _, _, next_device in best])

    @cached_property
    def _incoming(self) -> tuple[list[int], list[int], list[float], list[int]]:
        """The links into each device: where those of a device begin, their sources, bandwidths and latencies."""
        order = np.argsort(self.dst, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(self.dst, minlength=self.devices))])
        if self.bandwidth is None:
            rates = [1.0] * len(order)
        else:
            rates = self.bandwidth[order].tolist()
        delays = [0] * len(order)
        if self.alpha is not None:
            delays = [round(alpha * _FEMTO) for alpha in self.alpha[order].tolist()]
        return start.tolist(), self.src[order].tolist(), rates, delays

    def find_split(self, devices: Longs) -> tuple[Longs, Longs] | None:
        """Split `devices`, by their positions, into those that the first one reaches both ways and the others; None
        where it reaches all.

        Args:
            devices: shape (n,), their numbers.

        Returns:
            Two arrays of positions in `devices`.
        """
        if not len(devices):
            return None
        first = int(devices[0])
        to_first = self.find_next_hops(first)[devices] >= 0
        from_first = ShortestPaths(self.devices, self.dst, self.src).find_next_hops(first)[devices] >= 0
        both = to_first & from_first
        if both.all():
            return None
        return (np.flatnonzero(both), np.flatnonzero(~both))


def from_networkx(graph: nx.Graph[NodeName], name: str = "graph") -> Topology:
    """Build a topology from a networkx graph, directed or not.

    An undirected edge is two links, one each way. Parallel edges are bonded: their bandwidths add.

    Args:
        graph: Nodes with `kind="gpu"` are the ranks, in node order, or by the attribute `rank` (0, 1, ...) if all have
            it; without any `kind` every node is a rank. Other kinds are cpu, memory, pcie, nvswitch, nic, switch and
            host. A switch with `reduces=True` adds up and multicasts, as NVLS and SHARP need it. Edges carry
            `bandwidth` (B/s or text, one direction) and `alpha` (s or text, 0 when left out), and may carry `kind`,
            `label` and `source`.
        name: What the topology is called.

    Returns:
        The topology.

    Raises:
        TopologyError: An edge lacks its bandwidth or has one of another name, ranks are not connected, or there is no
            rank at all.

    Warns:
        ImplausibleFigure: A plain number is a thousand times less than any cable carries, or a latency a thousand times
            more than any has; or nodes become ranks whose names say that they are switches.

    Examples:
        >>> import networkx, collsim as cs
        >>> graph = networkx.cycle_graph(4)
        >>> networkx.set_edge_attributes(graph, "25GB/s", "bandwidth")
        >>> cs.Topology.from_networkx(graph)
        <Topology graph: 4 ranks, 4 devices, 8 links>
    """
    if not isinstance(graph, nx.Graph):
        message = "from_networkx wants a networkx graph, got {graph!r}; make one with networkx.Graph()"
        raise TopologyError(message, graph=graph)
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    attributes = {node: graph.nodes[node] for node in nodes}
    _warn_of_switches(attributes)
    return build_topology(name, attributes, _read_edges(graph, number))


def _warn_of_switches(nodes: Mapping[NodeName, Mapping[str, object]]) -> None:
    """Warn where every node becomes a rank though names say that some are none."""
    if any(data.get("kind") is not None for data in nodes.values()):
        return
    switches = [node for node in nodes if isinstance(node, str) and node.lower().startswith(_NO_RANK)]
    if switches and len(switches) < len(nodes):
        warn(
            f"no node has a kind, so all {len(nodes)} nodes are ranks, {switches[0]!r} too; give the ranks kind='gpu' "
            "and the others kind='switch', 'nvswitch', 'nic', 'pcie', 'cpu' or 'memory'",
            ImplausibleFigure,
        )


def build_topology(
    name: str, nodes: Mapping[Any, Mapping[str, Any]], cables: Mapping[tuple[int, int], Cable]
) -> Topology:
    """Build a topology link by link.

    Args:
        name: What it is called.
        nodes: Devices in order: name -> attributes `kind`, `rank` and `node`, as `from_networkx` takes them.
        cables: The cable of each directed link (number of its source, number of its destination).

    Returns:
        The topology, whose routes are shortest paths.

    Raises:
        TopologyError: A kind is unknown, numbers of ranks do not fit, or ranks are not connected.
    """
    kinds = _parse_kinds(nodes)
    rank_devices = _find_rank_devices(nodes, kinds)
    links = _build_links(cables)
    paths = ShortestPaths.of_links(len(nodes), links)
    topology = Topology(
        name=name,
        ranks=len(rank_devices),
        devices=Devices([str(node) for node in nodes], kinds, _parse_node_numbers(nodes)),
        links=links,
        endpoint_device=rank_devices,
        next_hop=paths,
        reducing=_find_reducing_switches(nodes, kinds),
    )
    # Links may be one-way: ranks that cannot answer are found here and not in the middle of a run.
    require_connected(topology, paths)
    return topology


def _find_reducing_switches(
    nodes: Mapping[object, Mapping[str, object]], kinds: npt.NDArray[np.int8]
) -> tuple[int, ...]:
    """Numbers of the switches of which it is said that they reduce."""
    reducing = [i for i, data in enumerate(nodes.values()) if data.get("reduces", False) is not False]
    for i, (node, data) in enumerate(nodes.items()):
        if i in reducing and (data["reduces"] is not True or DEVICE_KINDS[kinds[i]] not in ("switch", "nvswitch")):
            message = "node {node!r}: reduces={value!r}; reduces=True is for a switch (kind='switch' or 'nvswitch')"
            raise TopologyError(message, node=node, value=data["reduces"])
    return tuple(reducing)


def require_connected(topology: Topology, paths: ShortestPaths) -> None:
    """Check that all ranks can reach one another.

    Args:
        topology: For names in the message.
        paths: Over its links.

    Raises:
        TopologyError: They cannot; the message names two groups of ranks.
    """
    groups = paths.find_split(topology.endpoint_device.astype(np.int64))
    if groups is not None:
        first, second = (format_ranks(group) for group in groups)
        message = "{name} is not connected: {one} and {other} cannot reach each other; add a link between them"
        raise TopologyError(message, name=topology.name, one=first, other=second)


def format_ranks(ranks: Iterable[int]) -> Sentence:
    """`ranks 0-3, 8` or `rank 4`, as `format_numbers` lists them.

    Args:
        ranks: their numbers, in the order of the text.
    """
    numbers = [int(rank) for rank in ranks]
    return Sentence("ranks {ranks}" if len(numbers) > 1 else "rank {ranks}", ranks=format_numbers(numbers))


def _parse_kinds(nodes: Mapping[object, Mapping[str, object]]) -> npt.NDArray[np.int8]:
    """Codes of the kinds of all nodes."""
    kinds = [data.get("kind") for data in nodes.values()]
    if all(kind is None for kind in kinds):
        _refuse_other_kind_names(nodes)
        kinds = ["gpu"] * len(nodes)
    for node, kind in zip(nodes, kinds, strict=True):
        if kind is not None and (not isinstance(kind, str) or kind not in DEVICE_KINDS):
            raise TopologyError(
                "node {node!r}: {unknown}", node=node, unknown=describe_unknown("kind", kind, DEVICE_KINDS)
            )
    return np.array([DEVICE_KINDS.index(kind or "switch") for kind in kinds], np.int8)


def _refuse_other_kind_names(nodes: Mapping[object, Mapping[str, object]]) -> None:
    """Raise TopologyError where a node names its kind as other tools do: without it, switches would become ranks."""
    for node, data in nodes.items():
        for name in _KIND_NAMES:
            if str(data.get(name)).lower() in DEVICE_KINDS:
                message = "node {node!r} has {other}={value}; did you mean kind?"
                raise TopologyError(message, node=node, other=name, value=format_value(data[name]))


def _parse_node_numbers(nodes: Mapping[Any, Mapping[str, Any]]) -> Ints:
    """The machine that each device is in; -1 where that is not said."""
    numbers = []
    for data in nodes.values():
        number = data.get("node", -1)
        is_number = isinstance(number, int | np.integer) and -1 <= number < 2**31
        numbers.append(int(number) if is_number else -1)
    return np.array(numbers, np.int32)


def _find_rank_devices(nodes: Mapping[Any, Mapping[str, Any]], kinds: npt.NDArray[np.int8]) -> Ints:
    """The device of each rank."""
    gpus = np.flatnonzero(kinds == DEVICE_KINDS.index("gpu")).astype(np.int32)
    if not len(gpus):
        raise TopologyError("the graph has no rank: give at least one node kind='gpu'")
    attributes = list(nodes.values())
    ranks: list[Any] = [attributes[gpu].get("rank") for gpu in gpus]
    if all(rank is None for rank in ranks):
        return gpus
    are_numbers = all(isinstance(rank, int | np.integer) and not isinstance(rank, bool) for rank in ranks)
    if not are_numbers or sorted(ranks) != list(range(len(gpus))):
        message = "the rank attributes of the {gpus} gpu nodes must be 0 to {last}, each once; they are {ranks}"
        raise TopologyError(message, gpus=len(gpus), last=len(gpus) - 1, ranks=ranks[:20])
    return gpus[np.argsort(ranks)]


def _read_edges(graph: nx.Graph[NodeName], number: Mapping[NodeName, int]) -> dict[tuple[int, int], Cable]:
    """The cable of each directed link: both directions of undirected edges, parallel edges bonded."""
    cables: dict[tuple[int, int], Cable] = {}
    for a, b, data in graph.edges(data=True):
        if a == b:
            raise TopologyError("edge {a!r} to {b!r} is a loop; a link joins two devices", a=a, b=b)
        cable = _parse_cable(a, b, data)
        forward, back = (number[a], number[b]), (number[b], number[a])
        for ends in [forward] if graph.is_directed() else [forward, back]:
            cables[ends] = _bond_cables(cables[ends], cable, a, b) if ends in cables else cable
    return cables


def _build_links(cables: Mapping[tuple[int, int], Cable]) -> Links:
    """The columns of the links."""
    distinct = tuple(dict.fromkeys(cables.values()))
    index = {cable: i for i, cable in enumerate(distinct)}
    ends = np.array(list(cables), np.int32).reshape(-1, 2)
    return Links(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        np.array([cable.alpha for cable in cables.values()], np.float64),
        np.array([cable.bandwidth for cable in cables.values()], np.float64),
        np.array([index[cable] for cable in cables.values()], np.int32),
        distinct,
    )


def _parse_cable(a: Hashable, b: Hashable, data: dict[str, Any]) -> Cable:
    """The cable of an edge by its attributes."""
    _require_own_names(a, b, data)
    try:
        bandwidth = parse_cable_bandwidth(data["bandwidth"])
        alpha = parse_cable_alpha(data.get("alpha", 0.0))
    except CollsimError as error:
        raise TopologyError("edge {a!r} to {b!r}: {error}", a=a, b=b, error=error) from None
    kind = _get_text(data, "kind", "cable")
    label = _get_text(data, "label", format_bandwidth(bandwidth))
    source = _get_text(data, "source", "edge attributes of the graph it was built from")
    return Cable(kind, label, bandwidth, alpha, source, nominal=bandwidth)


def _require_own_names(a: Hashable, b: Hashable, data: dict[str, object]) -> None:
    """Raise TopologyError where an edge has no bandwidth, or names a figure as other tools do."""
    for name, others in (("bandwidth", _BANDWIDTH_NAMES), ("alpha", _ALPHA_NAMES)):
        other = next((word for word in others if word in data), None)
        if other is not None and name not in data:
            message = "edge {a!r} to {b!r} has {other}={value}; did you mean {name}?"
            raise TopologyError(message, a=a, b=b, other=other, value=format_value(data[other]), name=name)
    if "bandwidth" not in data:
        raise TopologyError(
            "edge {a!r} to {b!r} has no bandwidth; give it one, for example bandwidth='25GB/s' (its attributes: "
            "{attributes})",
            a=a,
            b=b,
            attributes=list(data),
        )


def _get_text(data: dict[str, object], name: str, default: str) -> str:
    value = data.get(name)
    return str(default if value is None else value) or default


def _bond_cables(cable: Cable, other: Cable, a: Hashable, b: Hashable) -> Cable:
    """Two cables between the same devices as one."""
    if cable.kind != other.kind:
        message = (
            "edges {a!r} to {b!r} are of two kinds, {kind} and {other_kind}; a pair of devices has links of one kind"
        )
        raise TopologyError(message, a=a, b=b, kind=cable.kind, other_kind=other.kind)
    bandwidth, alpha = cable.bandwidth + other.bandwidth, max(cable.alpha, other.alpha)
    label = f"{cable.label} + {other.label}"
    return Cable(cable.kind, label, bandwidth, alpha, cable.source, nominal=bandwidth)


def to_networkx(topology: Topology) -> nx.DiGraph[Any]:
    """Convert a topology to a directed graph of devices, by name; `from_networkx` reads it back.

    Args:
        topology: Any topology.

    Returns:
        A graph with a node for each device (`kind`, `node`, `rank`) and an edge for each link (`bandwidth` in B/s,
        `alpha` in s, `kind`, `label`, `source`).
    """
    graph: nx.DiGraph[Any] = nx.DiGraph(name=topology.name)
    names, devices, links = list(topology.devices.name), topology.devices, topology.links
    for name, kind, node in zip(names, devices.kind.tolist(), devices.node.tolist(), strict=True):
        graph.add_node(name, kind=DEVICE_KINDS[kind], node=node)
    # `rank` is written too, because the order of GPUs need not be that of the ranks.
    for rank in range(topology.ranks):
        graph.nodes[names[topology.endpoint_device[rank]]]["rank"] = rank
    for i in range(len(links)):
        cable = links.cables[links.cable[i]]
        figures = {"bandwidth": float(links.bandwidth[i]), "alpha": float(links.alpha[i])}
        texts = {"kind": cable.kind, "label": cable.label, "source": cable.source}
        graph.add_edge(names[links.src[i]], names[links.dst[i]], **figures, **texts)
    return graph


__all__ = [
    "ImplausibleFigure",
    "ShortestPaths",
    "build_topology",
    "format_ranks",
    "from_networkx",
    "require_connected",
    "to_networkx",
]
