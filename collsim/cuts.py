"""What must cross a cut: bandwidth bounds of a whole topology, by maximum flow.

Split the devices in two sides. Whatever one side has and the other needs must cross the links between them, however
clever the schedule, even if switches multicast and reduce. The worst cut gives the bound:

- allgather of n blocks, M bytes in all: `M/n * max |S| / B+(S)` over the cuts S that leave out at least one rank, |S|
  its ranks and B+(S) the bandwidth out of it (Zhao et al., ForestColl, arXiv 2402.06787, theorem 1: trees that reach it
  exist). A reduce_scatter is an allgather with time reversed.
- broadcast: M over the smallest maximum flow from the root to a rank (Edmonds 1972); a reduce is its reverse.
- allreduce: every rank's buffer must leave and the sum must enter each side: M over the smallest maximum flow between
  two ranks.

The cut of the allgather is found as Dinkelbach (1967) does for ratios: guess the ratio, let a maximum flow find a cut
that is worse, take its ratio, until none is worse. Up to `MOST_RANKS` ranks the search is exhaustive; above, single
ranks and single nodes are tried, which is still a bound, perhaps not the best one.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from .topology import Topology

MOST_RANKS = 20
MOST_LINKS = 4_000

Side = npt.NDArray[np.bool_]

_known: WeakKeyDictionary[Topology, dict[tuple[Any, ...], float]] = WeakKeyDictionary()


def allgather_ratio(topology: Topology, ranks: int | None = None, *, reverse: bool = False) -> float:
    """max |S| / B+(S), in seconds per byte of one rank's block: an allgather of M bytes takes at least M/n times that.

    Args:
        ranks: the first so many ranks; all when None.
        reverse: turn every link round (for reduce_scatter).
    """
    n = topology.ranks if ranks is None else ranks
    return _remembered(topology, ("allgather", n, reverse), lambda: _allgather_ratio(topology, n, reverse))


def flow_ratio(
    topology: Topology, ranks: int | None = None, *, root: int | None = None, reverse: bool = False
) -> float:
    """1 / the smallest maximum flow from `root` to another rank (from any rank to any other when None), in seconds per
    byte."""
    n = topology.ranks if ranks is None else ranks
    return _remembered(topology, ("flow", n, root, reverse), lambda: _flow_ratio(topology, n, root, reverse))


def _remembered(topology: Topology, key: tuple[Any, ...], compute: Any) -> float:
    known = _known.setdefault(topology, {})
    if key not in known:
        known[key] = compute() if topology.ranks > 1 and key[1] > 1 else 0.0
    return known[key]


def _ends(topology: Topology, reverse: bool) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    links = topology.links
    return (links.dst, links.src) if reverse else (links.src, links.dst)


def _allgather_ratio(topology: Topology, n: int, reverse: bool) -> float:
    device = topology.endpoint_device[:n]
    best = max(_ratio(topology, side, device, reverse) for side in _simple_sides(topology, device, n))
    if n > MOST_RANKS or len(topology.links) > MOST_LINKS:
        return best
    graph = _graph(topology, reverse)
    for sink in device:
        while (side := _worse_side(topology, graph, device, int(sink), best)) is not None:
            worse = _ratio(topology, side, device, reverse)
            if worse <= best * (1 + 1e-12):
                break
            best = worse
    return best


def _simple_sides(topology: Topology, device: npt.NDArray[np.int32], n: int) -> list[Side]:
    """All devices but one rank; all but one node; one node."""
    total = len(topology.devices)
    ranks = range(n) if n <= 1024 else (0, n - 1)
    sides = []
    for rank in ranks:
        side = np.ones(total, bool)
        side[device[rank]] = False
        sides.append(side)
    node = topology.devices.node
    nodes = np.unique(node[device])
    if len(nodes) > 1:
        for one in nodes[:64]:
            sides += [node == one, node != one]
    return sides


def _ratio(topology: Topology, side: Side, device: npt.NDArray[np.int32], reverse: bool) -> float:
    """|S| / B+(S) of one side, 0 where it holds all ranks or none."""
    inside = int(side[device].sum())
    if inside in (0, len(device)):
        return 0.0
    src, dst = _ends(topology, reverse)
    out = float(topology.links.bandwidth[side[src] & ~side[dst]].sum())
    return inside / out if out else np.inf


def _graph(topology: Topology, reverse: bool) -> Any:
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(topology.devices)))
    src, dst = _ends(topology, reverse)
    for a, b, rate in zip(src.tolist(), dst.tolist(), topology.links.bandwidth.tolist(), strict=True):
        before = graph.get_edge_data(a, b, {"capacity": 0.0})["capacity"]
        graph.add_edge(a, b, capacity=before + rate)
    return graph


def _worse_side(topology: Topology, graph: Any, device: npt.NDArray[np.int32], sink: int, ratio: float) -> Side | None:
    """A cut without `sink` whose |S| / B+(S) is above `ratio`, or None.

    With a source that feeds 1/ratio into every rank, a minimum cut below n/ratio is one.
    """
    import networkx as nx

    whole = len(device) / ratio
    with_source = graph.copy()
    for d in device.tolist():
        with_source.add_edge("source", d, capacity=1 / ratio)
    value, (near, _) = nx.minimum_cut(with_source, "source", sink)
    if value >= whole * (1 - 1e-9):
        return None
    side = np.zeros(len(topology.devices), bool)
    side[[d for d in near if d != "source"]] = True
    return side


def _flow_ratio(topology: Topology, n: int, root: int | None, reverse: bool) -> float:
    device = topology.endpoint_device[:n]
    src, dst = _ends(topology, reverse)
    rate = topology.links.bandwidth
    total = len(topology.devices)
    out, into = (
        np.bincount(src, weights=rate, minlength=total)[device],
        np.bincount(dst, weights=rate, minlength=total)[device],
    )
    others = np.arange(n) != (0 if root is None else root)
    narrow = min(into[others].min(), out[~others].min()) if root is not None else min(into.min(), out.min())
    if n <= MOST_RANKS and len(topology.links) <= MOST_LINKS and narrow:
        import networkx as nx

        graph = _graph(topology, reverse)
        start = int(device[0 if root is None else root])
        for other in device[others].tolist():
            narrow = min(narrow, nx.maximum_flow_value(graph, start, other))
            if root is None:
                narrow = min(narrow, nx.maximum_flow_value(graph, other, start))
    return float(1 / narrow) if narrow else np.inf
