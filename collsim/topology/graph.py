"""Topologies from any graph, and graphs from any topology.

Routes on a graph cross the fewest links; among equals the lower next device. They are found per destination when first
asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import CollsimError, Sentence, TopologyError, Words, describe_unknown
from ..units import format_bandwidth, parse_bandwidth, parse_time
from .network import DEVICE_KINDS, Cable, Devices, Ints, Links, Longs, Topology

if TYPE_CHECKING:
    import networkx as nx

_KEPT = 4096


@dataclass(frozen=True, eq=False)
class Shortest:
    """Next hops of shortest paths over `src[i] -> dst[i]`, remembered per destination."""

    devices: int
    src: Ints
    dst: Ints
    known: dict[int, Longs] = field(default_factory=dict)

    def __call__(self, at: Longs, goal: Longs) -> Longs:
        answer = np.full(at.shape, -1, np.int64)
        goals, which = np.unique(goal, return_inverse=True)
        for i, device in enumerate(goals.tolist()):
            mine = which.ravel() == i if len(goals) > 1 else slice(None)
            answer[mine] = self.towards(device)[at[mine]]
        return answer

    def towards(self, goal: int) -> Longs:
        """(devices,) the next device on the way to `goal`, -1 where there is none."""
        if goal not in self.known:
            while len(self.known) >= _KEPT:
                self.known.pop(next(iter(self.known)))
            self.known[goal] = self._search(goal)
        return self.known[goal]

    def _search(self, goal: int) -> Longs:
        start, source = self._incoming
        far = [-1] * self.devices
        far[goal] = 0
        queue = deque([goal])
        while queue:
            here = queue.popleft()
            for other in source[start[here] : start[here + 1]]:
                if far[other] < 0:
                    far[other] = far[here] + 1
                    queue.append(other)
        distance = np.array(far)
        nearer = (distance[self.src] == distance[self.dst] + 1) & (distance[self.dst] >= 0)
        answer = np.full(self.devices, np.iinfo(np.int64).max)
        np.minimum.at(answer, self.src[nearer], self.dst[nearer])
        answer[distance <= 0] = -1
        answer[goal] = goal
        return answer

    @cached_property
    def _incoming(self) -> tuple[list[int], list[int]]:
        order = np.argsort(self.dst, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(self.dst, minlength=self.devices))])
        return start.tolist(), self.src[order].tolist()

    def cut_off(self, places: Longs) -> tuple[Longs, Longs] | None:
        """Two groups of `places` of which the first cannot reach the second in both directions, or None."""
        if not len(places):
            return None
        to_first = self.towards(int(places[0]))[places] >= 0
        from_first = Shortest(self.devices, self.dst, self.src).towards(int(places[0]))[places] >= 0
        both = to_first & from_first
        return None if both.all() else (np.flatnonzero(both), np.flatnonzero(~both))


def from_networkx(graph: nx.Graph[Any], name: str = "graph") -> Topology:
    """A topology from a networkx graph, directed or not.

    Nodes with `kind="gpu"` are the ranks, in node order, or by the attribute `rank` (0, 1, ...) if all have it; without
    any `kind` every node is a rank. Other kinds are those of devices: cpu, memory, pcie, nvswitch, nic, switch, host.
    Edges carry `bandwidth` (B/s or text, one direction) and `alpha` (s or text, 0 when left out), and may carry `kind`,
    `label`, `source`. An undirected edge is two links. Parallel edges are bonded: their bandwidths add.

    Raises TopologyError: which edge lacks what; which ranks are not connected; no rank at all.
    """
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        why = "from_networkx wants a networkx graph, got {graph!r}; make one with networkx.Graph()"
        raise TopologyError(why, graph=graph)
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    return from_cables(name, {node: graph.nodes[node] for node in nodes}, _joined(graph, number))


def from_cables(name: str, nodes: Mapping[Any, Mapping[str, Any]], joined: Mapping[tuple[int, int], Cable]) -> Topology:
    """A topology from devices (name: kind, rank, node) and links, in this order; links are (device number, device
    number): cable."""
    kinds = _kinds(nodes)
    place = _places(nodes, kinds)
    links = _links(joined)
    numbers = [
        n if isinstance(n, int | np.integer) and -1 <= n < 2**31 else -1
        for n in (data.get("node", -1) for data in nodes.values())
    ]
    topology = Topology(
        name=name,
        ranks=len(place),
        devices=Devices([str(n) for n in nodes], kinds, np.array(numbers, np.int32)),
        links=links,
        endpoint_device=place,
        next_hop=(ways := Shortest(len(nodes), links.src, links.dst)),
    )
    require_connected(topology, ways)
    return topology


def require_connected(topology: Topology, ways: Shortest) -> None:
    """Raises TopologyError naming ranks that cannot reach each other."""
    if (groups := ways.cut_off(topology.endpoint_device.astype(np.int64))) is not None:
        one, other = (listed(group) for group in groups)
        why = "{name} is not connected: {one} and {other} cannot reach each other; add a link between them"
        raise TopologyError(why, name=topology.name, one=one, other=other)


def listed(ranks: Iterable[int]) -> Sentence:
    """`ranks 0, 1, 2` or `rank 4`, at most eight of them written out."""
    numbers = [int(r) for r in ranks]
    shown: Words = ", ".join(map(str, numbers[:8]))
    if len(numbers) > 8:
        shown = Sentence("{names} and {more} more", names=shown, more=len(numbers) - 8)
    return Sentence("ranks {ranks}" if len(numbers) > 1 else "rank {ranks}", ranks=shown)


def _kinds(nodes: Mapping[Any, Mapping[str, Any]]) -> npt.NDArray[np.int8]:
    given = [data.get("kind") for data in nodes.values()]
    if all(kind is None for kind in given):
        given = ["gpu"] * len(nodes)
    for node, kind in zip(nodes, given, strict=True):
        if kind is not None and (not isinstance(kind, str) or kind not in DEVICE_KINDS):
            raise TopologyError(
                "node {node!r}: {unknown}", node=node, unknown=describe_unknown("kind", kind, DEVICE_KINDS)
            )
    return np.array([DEVICE_KINDS.index(kind or "switch") for kind in given], np.int8)


def _places(nodes: Mapping[Any, Mapping[str, Any]], kinds: npt.NDArray[np.int8]) -> Ints:
    gpus = np.flatnonzero(kinds == DEVICE_KINDS.index("gpu")).astype(np.int32)
    if not len(gpus):
        raise TopologyError("the graph has no rank: give at least one node kind='gpu'")
    attributes = list(nodes.values())
    ranks: list[Any] = [attributes[g].get("rank") for g in gpus]
    if all(r is None for r in ranks):
        return gpus
    if any(isinstance(r, bool) or not isinstance(r, int | np.integer) for r in ranks) or sorted(ranks) != list(
        range(len(gpus))
    ):
        why = "the rank attributes of the {gpus} gpu nodes must be 0 to {last}, each once; they are {ranks}"
        raise TopologyError(why, gpus=len(gpus), last=len(gpus) - 1, ranks=ranks[:20])
    return gpus[np.argsort(ranks)]


def _joined(graph: nx.Graph[Any], number: dict[Hashable, int]) -> dict[tuple[int, int], Cable]:
    """Both directions of undirected edges; parallel edges bonded."""
    found: dict[tuple[int, int], Cable] = {}
    for a, b, data in graph.edges(data=True):
        if a == b:
            raise TopologyError("edge {a!r} to {b!r} is a loop; a link joins two devices", a=a, b=b)
        cable = _cable(a, b, data)
        ways = [(number[a], number[b])] if graph.is_directed() else [(number[a], number[b]), (number[b], number[a])]
        for way in ways:
            found[way] = _bonded(found[way], cable, a, b) if way in found else cable
    return found


def _links(joined: Mapping[tuple[int, int], Cable]) -> Links:
    cables = tuple(dict.fromkeys(joined.values()))
    index = {cable: i for i, cable in enumerate(cables)}
    ends = np.array(list(joined), np.int32).reshape(-1, 2)
    return Links(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        np.array([c.alpha for c in joined.values()], np.float64),
        np.array([c.bandwidth for c in joined.values()], np.float64),
        np.array([index[c] for c in joined.values()], np.int32),
        cables,
    )


def _cable(a: Hashable, b: Hashable, data: dict[str, Any]) -> Cable:
    if "bandwidth" not in data:
        raise TopologyError(
            "edge {a!r} to {b!r} has no bandwidth; give it one, for example bandwidth='25GB/s' (its attributes: "
            "{attributes})",
            a=a,
            b=b,
            attributes=list(data),
        )
    try:
        rate, delay = parse_bandwidth(data["bandwidth"]), parse_time(data.get("alpha", 0.0))
    except CollsimError as error:
        raise TopologyError("edge {a!r} to {b!r}: {error}", a=a, b=b, error=error) from None
    kind = _word(data, "kind", "cable")
    label = _word(data, "label", format_bandwidth(rate))
    source = _word(data, "source", "edge attributes of the graph it was built from")
    return Cable(kind, label, rate, delay, source, nominal=rate)


def _word(data: dict[str, Any], name: str, default: str) -> str:
    given = data.get(name)
    return str(default if given is None else given) or default


def _bonded(one: Cable, other: Cable, a: Hashable, b: Hashable) -> Cable:
    if one.kind != other.kind:
        why = "edges {a!r} to {b!r} are of two kinds, {kind} and {other_kind}; a pair of devices has links of one kind"
        raise TopologyError(why, a=a, b=b, kind=one.kind, other_kind=other.kind)
    rate = one.bandwidth + other.bandwidth
    return Cable(one.kind, f"{one.label} + {other.label}", rate, max(one.alpha, other.alpha), one.source, nominal=rate)


def to_networkx(topology: Topology) -> nx.DiGraph[Any]:
    """A directed graph of devices, by name; `from_networkx` reads it back."""
    import networkx as nx

    graph: nx.DiGraph[Any] = nx.DiGraph(name=topology.name)
    names, devices, links = list(topology.devices.name), topology.devices, topology.links
    for name, kind, node in zip(names, devices.kind.tolist(), devices.node.tolist(), strict=True):
        graph.add_node(name, kind=DEVICE_KINDS[kind], node=node)
    for rank in range(topology.ranks):
        graph.nodes[names[topology.endpoint_device[rank]]]["rank"] = rank
    for i in range(len(links)):
        cable = links.cables[links.cable[i]]
        figures = {"bandwidth": float(links.bandwidth[i]), "alpha": float(links.alpha[i])}
        words = {"kind": cable.kind, "label": cable.label, "source": cable.source}
        graph.add_edge(names[links.src[i]], names[links.dst[i]], **figures, **words)
    return graph
