"""Lower bounds: no schedule on this topology can be faster, whoever wrote it.

Two bounds, and the larger of them counts:

- bandwidth: every rank's own links must carry what it cannot avoid to send and receive, all ranks' links together what
  the whole collective cannot avoid (Chan, Heimlich, Purkayastha, van de Geijn 2007, section 3; Patarasuk & Yuan 2009,
  section 2: an allreduce moves 2(n-1) buffers in all when only ranks reduce), and every cut of the topology what must
  cross it (`cuts`).
- latency: the data of one rank must at least cross the alphas of the cheapest way to the farthest rank that needs it.

A schedule with helper endpoints (a server, a switch that reduces) may stay below the bound for all ranks together, so
for it only the bound of each rank counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .collective import Collective, collective
from .cuts import allgather_ratio, flow_ratio
from .errors import CollsimError, TopologyError
from .topology import Topology
from .units import parse_bytes, parse_count

_MOST_LINKS = 200_000  # beyond it the farthest rank is not searched for; a smaller latency bound is still a bound


@dataclass(frozen=True)
class Bound:
    """Lower bounds in seconds. `time` is the larger, `limit` says which."""

    latency: float
    bandwidth: float

    @property
    def time(self) -> float:
        """Seconds below which no run can be."""
        return max(self.latency, self.bandwidth)

    @property
    def limit(self) -> str:
        """`latency` or `bandwidth`: which of the two it is."""
        return "latency" if self.latency > self.bandwidth else "bandwidth"


def lower_bound(
    kind: Collective | str,
    topology: Topology,
    nbytes: Any,
    *,
    ranks: int | None = None,
    root: int = 0,
    helpers: bool = False,
) -> Bound:
    """The bound for a collective of `nbytes` on the first `ranks` ranks of a topology.

    Args:
        kind: a collective or its name.
        nbytes: nccl-tests' size in bytes, or a text such as `"64MiB"`.
        root: the root rank, where the collective has one.
        helpers: the schedule has endpoints beyond the ranks, which may reduce or multicast on the way.
    """
    if not isinstance(kind, Collective):
        kind = collective(kind)
    if not isinstance(topology, Topology):
        raise CollsimError(
            f"lower_bound wants a topology, got {topology!r}; make one with topology.switch(8) or machine('dgx-a100')"
        )
    nbytes = parse_bytes(nbytes)
    n = topology.ranks if ranks is None else parse_count(ranks, "ranks")
    if n > topology.ranks:
        raise TopologyError(f"{n} ranks do not fit on {topology.name}, which has {topology.ranks}")
    root = parse_count(root, "root", least=0)
    if root >= n:
        raise CollsimError(f"root={root} is not a rank; with {n} ranks it is 0 to {n - 1}")
    if n < 2:
        return Bound(0.0, 0.0)
    bandwidth = max(_own_links(kind, topology, nbytes, n, root, helpers), _worst_cut(kind, topology, nbytes, n, root))
    return Bound(_latency(kind, topology, n, root), bandwidth)


def _own_links(kind: Collective, topology: Topology, nbytes: int, n: int, root: int, helpers: bool) -> float:
    device = topology.endpoint_device[:n]
    links = topology.links
    out = np.bincount(links.src, weights=links.bandwidth, minlength=len(topology.devices))[device]
    into = np.bincount(links.dst, weights=links.bandwidth, minlength=len(topology.devices))[device]
    must_send, must_receive, total = unavoidable(kind, nbytes, n, root)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = max(np.nan_to_num(must_send / out, posinf=0).max(), np.nan_to_num(must_receive / into, posinf=0).max())
    together = 0.0 if helpers or not out.sum() else total / min(out.sum(), into.sum())
    return float(max(alone, together))


def _worst_cut(kind: Collective, topology: Topology, nbytes: int, n: int, root: int) -> float:
    """Seconds that the worst cut needs for what must cross it; 0 where no formula is known to hold (alltoall, gather,
    scatter)."""
    block = nbytes // n
    match kind.name:
        case "allgather":
            return block * allgather_ratio(topology, n)
        case "reduce_scatter":
            return block * allgather_ratio(topology, n, reverse=True)
        case "allreduce":
            return nbytes * flow_ratio(topology, n)
        case "broadcast":
            return nbytes * flow_ratio(topology, n, root=root)
        case "reduce":
            return nbytes * flow_ratio(topology, n, root=root, reverse=True)
    return 0.0


def unavoidable(
    kind: Collective, nbytes: int, n: int, root: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
    """Bytes that each rank must send, must receive, and that all ranks together must send when only ranks reduce.

    Blocks of a size that n does not divide differ by one byte here; the smaller side is taken, so the bound stays one.
    """
    small, large = nbytes // n, -(-nbytes // n)
    send, receive = np.zeros(n), np.zeros(n)
    rest = nbytes - large
    others = np.arange(n) != root
    if kind.reduces:
        send[:] = nbytes if kind.after != "own" else rest
        receive[:] = nbytes if kind.after != "own" else small
        if kind.after == "root":
            send[root] = 0
            receive[others] = 0
        total = (n - 1) * nbytes * (2 if kind.after == "all" else 1)
    elif kind.after == "peer":
        send[:] = receive[:] = rest
        total = n * rest
    elif kind.after == "neighbour":
        send[:] = receive[:] = nbytes
        total = n * nbytes
    elif kind.before == "root":
        whole = kind.after == "all"
        send[root] = nbytes if whole else rest
        receive[others] = nbytes if whole else small
        total = (n - 1) * nbytes if whole else rest
    else:
        whole = kind.after == "all"
        send[:] = small
        receive[:] = rest
        if not whole:
            send[root] = 0
            receive[others] = 0
        total = (n - 1) * nbytes if whole else rest
    return send, receive, float(total)


def _latency(kind: Collective, topology: Topology, n: int, root: int) -> float:
    """Cheapest alphas from one rank to the farthest rank that waits for it (towards the root where the data end
    there)."""
    links = topology.links
    if len(links) > _MOST_LINKS:
        return float(links.alpha.min(initial=0.0))
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    to_root = kind.after == "root"
    src, dst = (links.dst, links.src) if to_root else (links.src, links.dst)
    for a, b, alpha in zip(src.tolist(), dst.tolist(), links.alpha.tolist(), strict=True):
        if alpha < graph.get_edge_data(a, b, {"alpha": np.inf})["alpha"]:
            graph.add_edge(a, b, alpha=alpha)
    start = int(topology.endpoint_device[root if kind.rooted else 0])
    if start not in graph:
        return 0.0
    far = nx.single_source_dijkstra_path_length(graph, start, weight="alpha")
    waiting = [1] if kind.after == "neighbour" else range(n)
    return float(max(far.get(int(topology.endpoint_device[rank]), 0.0) for rank in waiting))
