"""What NCCL's tuner believes: the time of every (algorithm, protocol), and the choice it makes from them.

A re-implementation of NCCL 2.30.7 `src/graph/tuning.cc` and of the choice in `src/enqueue.cc`. It is a formula: no
contention, no chunks, and it is off by tens of percent where those matter. `collsim.nccl.model.timing` is the other
opinion. Units here are NCCL's: GB/s (10^9 B/s), microseconds, bytes.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...errors import CollsimError, Sentence, describe_unknown
from ..search import constants as c
from . import rccl, releases
from .releases import Release


@dataclass(frozen=True)
class Graph:
    """What NCCL's search found for one pattern, before its channels are doubled.

    Attributes:
        channels: how many the search found.
        bw_intra, bw_inter: GB/s of one channel inside a node and between nodes.
        type_intra, type_inter: worst path type inside a node, and from a GPU to its NIC.
        same_channels: every channel visits the GPUs in the same order.
        latency_inter: microseconds that the NIC adds.
        pattern: constants.RING, BALANCED_TREE, SPLIT_TREE, TREE or NVLS.
    """

    channels: int
    bw_intra: float
    bw_inter: float
    type_intra: str = "NVL"
    type_inter: str = "PIX"
    same_channels: bool = True
    latency_inter: float = 0.0
    pattern: int = c.RING


@dataclass(frozen=True)
class Communicator:
    """What the tuner is told about the ranks: how many, where, of which generation, with which graphs.

    Attributes:
        ranks, nodes: `ranks / nodes` need not be whole.
        cc: compute capability of the oldest GPU (80 is 8.0), `max_cc` of the newest.
        cpu: `intel`, `amd` or `arm`.
        ring, tree, nvls: the graphs; nvls is None where NVLink SHARP is not there.
        channels: channels after doubling (None: those of `ring`, doubled). free: the same without NCCL_MAX_NCHANNELS.
        pat: None is NCCL's default (only with one GPU per node).
        collnet: the network reduces (SHARP plugin).
        release: of NCCL, where it is older than the one described here.
        rccl: architecture whose tables of RCCL's are used (`rccl.ARCHITECTURES`); "" is NCCL.
        algorithms, protocols: what the network's plugin sets where nobody sets NCCL_ALGO or NCCL_PROTO; "" nothing.
    """

    ranks: int
    nodes: int
    cc: int
    ring: Graph
    tree: Graph
    nvls: Graph | None = None
    cpu: str = "intel"
    max_cc: int | None = None
    channels: int | None = None
    unbounded_channels: int | None = None
    pat: bool | None = None
    collnet: bool = False
    release: Release | None = None
    rccl: str = ""
    algorithms: str = ""
    protocols: str = ""

    @property
    def local_ranks(self) -> float:
        """Ranks per node."""
        return self.ranks / self.nodes

    def get_graph(self, algorithm: str) -> Graph | None:
        """Tree and PAT use the tree graph, NVLS and NVLSTree the nvls graph."""
        return {"Ring": self.ring, "Tree": self.tree, "PAT": self.tree, "NVLS": self.nvls, "NVLSTree": self.nvls}.get(
            algorithm
        )

    @property
    def running_channels(self) -> int:
        """Channels of the communicator after doubling."""
        return self.channels if self.channels is not None else double_channels(self.ring.channels)


def double_channels(channels: int) -> int:
    """A ring and its copy for the other half of the trees, at most 64 (src/graph/connect.cc)."""
    return min(2 * channels, c.MAX_CHANNELS)


@dataclass(frozen=True)
class TunerCost:
    """One entry of the tuner's table: time = latency + nbytes / (1000 · bandwidth) microseconds."""

    algorithm: str
    protocol: str
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class TunerChoice:
    """What the tuner chose, and the microseconds it believes that takes. `costs` holds all that it compared, by
    (algorithm, protocol)."""

    algorithm: str
    protocol: str
    channels: int
    threads: int
    time_us: float
    costs: Mapping[tuple[str, str], float] = field(default_factory=lambda: MappingProxyType({}))


_EXIST = {
    "allreduce": ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree"),
    "allgather": ("Ring", "CollNetDirect", "NVLS", "PAT"),
    "reduce_scatter": ("Ring", "CollNetDirect", "NVLS", "PAT"),
    "broadcast": ("Ring",),
    "reduce": ("Ring",),
}


def compute_cost_table(
    collective: str, comm: Communicator, algorithms: str = "", protocols: str = ""
) -> tuple[TunerCost, ...]:
    """Latency (us) and bandwidth (GB/s, of nccl-tests' size) of every (algorithm, protocol) that may be chosen.

    Args:
        algorithms, protocols: as NCCL_ALGO and NCCL_PROTO: `"Ring,Tree"`, `"^LL128"`,
        `"allreduce:tree;broadcast:ring"`.
    """
    if collective not in _EXIST:
        raise CollsimError(describe_unknown("collective of NCCL's tuner", collective, _EXIST))
    algorithms, protocols = algorithms or comm.algorithms, protocols or comm.protocols
    allowed_a = parse_allowed_names(algorithms, collective, c.ALGORITHMS, "NCCL_ALGO")
    allowed_p = parse_allowed_names(protocols, collective, c.PROTOCOLS, "NCCL_PROTO")
    table = []
    for algorithm in _EXIST[collective]:
        for protocol in c.PROTOCOLS:
            if algorithm not in allowed_a or protocol not in allowed_p:
                continue
            if not is_available(
                collective, algorithm, protocol, comm, forced_ll128=bool(protocols) and "^" not in protocols
            ):
                continue
            bandwidth = compute_bandwidth(collective, algorithm, protocol, comm)
            if bandwidth > 0:
                table.append(
                    TunerCost(algorithm, protocol, compute_latency(collective, algorithm, protocol, comm), bandwidth)
                )
    return tuple(table)


def choose_algorithm(
    collective: str, comm: Communicator, nbytes: int, algorithms: str = "", protocols: str = ""
) -> TunerChoice:
    """The algorithm, protocol, channels and threads that NCCL takes for one call of `nbytes` (nccl-tests' size).

    Raises CollsimError where NCCL_ALGO and NCCL_PROTO leave nothing.
    """
    if comm.ranks == 1:
        return TunerChoice("Ring", "Simple", 1, c.LEAST_THREADS, 0.0)
    table = compute_cost_table(collective, comm, algorithms, protocols)
    if not table:
        where = Sentence(
            "{collective} on {ranks} ranks over {nodes} nodes",
            collective=collective,
            ranks=comm.ranks,
            nodes=comm.nodes,
        )
        why = "NCCL_ALGO={algorithms!r} and NCCL_PROTO={protocols!r} leave nothing for {where}"
        raise CollsimError(why, algorithms=algorithms, protocols=protocols, where=where)
    costs = {(e.algorithm, e.protocol): compute_tuner_time(collective, e, comm, nbytes) for e in table}
    algorithm, protocol = min(costs, key=lambda key: costs[key])
    if comm.rccl and not protocols:
        protocol = rccl.choose_protocol(collective, comm, nbytes, protocol)
    channels, threads = choose_resources(algorithm, protocol, comm, nbytes)
    return TunerChoice(algorithm, protocol, channels, threads, costs[algorithm, protocol], MappingProxyType(costs))


def parse_allowed_names(spec: str, collective: str, known: tuple[str, ...], variable: str) -> frozenset[str]:
    """The names that NCCL_ALGO or NCCL_PROTO leaves: a list, `^` for all but, or `collective:list` parts joined by
    `;`."""
    for part in spec.split(";"):
        prefix, colon, rest = part.rpartition(":")
        if colon and prefix.strip().lower().replace("_", "") != collective.replace("_", ""):
            continue
        names = rest.strip()
        if not names:
            continue
        wanted = frozenset(_canonical(n, known, variable) for n in names.lstrip("^").split(","))
        return frozenset(known) - wanted if names.startswith("^") else wanted
    return frozenset(known)


def _canonical(name: str, known: tuple[str, ...], variable: str) -> str:
    for k in known:
        if fnmatch.fnmatchcase(k.lower(), name.strip().lower()):
            return k
    raise CollsimError(describe_unknown(Sentence("value of {variable}", variable=variable), name.strip(), known))


def is_available(
    collective: str, algorithm: str, protocol: str, comm: Communicator, forced_ll128: bool = False
) -> bool:
    """Does NCCL consider this pair at all on these ranks (tuning.cc, ncclTopoTuneModel)?"""
    if comm.rccl:
        return rccl.is_available(algorithm, protocol, comm)
    graph = comm.get_graph(algorithm)
    if not releases.has_pair(comm.release, algorithm, protocol, graph, comm, forced_ll128):
        return False
    if algorithm not in ("Ring", "Tree"):
        if protocol != "Simple":
            return False
        if algorithm in c.IN_NETWORK:
            return False  # needs a SHARP plugin, whose graphs are not modelled
        if algorithm == "PAT":
            return comm.pat if comm.pat is not None else comm.ranks == comm.nodes and comm.cc >= 60
        if graph is None or comm.cc < 90 or graph.channels < 2:
            return False
        if algorithm == "NVLSTree":
            return comm.nodes > 1
        return (comm.nodes == 1 or comm.collnet) and (collective == "allreduce" or comm.local_ranks <= c.MAX_NVLS_ARITY)
    if protocol == "LL128" and graph is not None:
        return forced_ll128 or _ll128_allowed(graph, comm)
    return graph is not None


def _ll128_allowed(graph: Graph, comm: Communicator) -> bool:
    max_cc = comm.cc if comm.max_cc is None else comm.max_cc
    far = "PXN" if comm.cc >= 90 else "PXB"
    inter = comm.nodes == 1 or c.is_type_at_most(graph.type_inter, far)
    return (
        c.is_type_at_most(graph.type_intra, "NVB") and inter and comm.cc >= 70 and (comm.cc == max_cc or comm.cc >= 90)
    )


def compute_bandwidth(collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """GB/s of nccl-tests' size that the tuner expects; 0 where the algorithm is not there."""
    if comm.rccl:
        return rccl.compute_bandwidth(collective, algorithm, protocol, comm)
    if comm.release is not None:
        return releases.compute_bandwidth(comm.release, collective, algorithm, protocol, comm)
    graph = comm.get_graph(algorithm)
    assert graph is not None
    n, rooted = comm.ranks, collective in ("broadcast", "reduce")
    steps = n if rooted else 2 * (n - 1) if collective == "allreduce" else n - 1
    bw = graph.bw_intra if comm.nodes <= 2 else graph.bw_inter
    if algorithm in ("NVLS", "NVLSTree"):
        bw = _nvls_bandwidth(collective, algorithm, graph, comm)
    bus = _capped(algorithm, protocol, graph.channels * bw, graph, comm)
    if collective in ("allgather", "reduce_scatter") and algorithm != "Ring":
        return bus
    return bus * (0.5 if algorithm == "Tree" else n / steps)


def _nvls_bandwidth(collective: str, algorithm: str, graph: Graph, comm: Communicator) -> float:
    row = c.get_generation(comm.cc)
    intra = graph.bw_intra * c.NVLS_EFFICIENCY[row] * (graph.channels - 1) / graph.channels
    intra *= 2 if collective == "allreduce" else (comm.local_ranks - 1) / comm.local_ranks
    inter = graph.bw_inter * (2 if comm.nodes <= 2 and algorithm == "NVLSTree" else 1)
    cap = c.NVLSTREE_MAX[row][get_cap_column(comm.nodes)] if algorithm == "NVLSTree" else math.inf
    return min(intra, inter, cap)


def _capped(algorithm: str, protocol: str, bus: float, graph: Graph, comm: Communicator) -> float:
    """The bus bandwidth after the caps of tuning.cc, in the order in which it applies them."""
    at, row = get_cap_column(comm.nodes), c.get_generation(comm.cc)
    ll_row = row if comm.nodes == 1 else "Ampere" if comm.cpu == "amd" else "Volta"
    if algorithm == "Ring":
        if protocol == "LL":
            return min(c.LL_MAX[ll_row][at], 0.5 * bus)
        return min(c.RING_LL128_SHARE * bus, graph.channels * c.RING_LL128_MAX[row][at]) if protocol == "LL128" else bus
    if algorithm == "Tree":
        bus = min(c.TREE_SHARE * bus, graph.channels * c.TREE_MAX[row][at])
        if protocol == "LL":
            bus = min(bus / c.TREE_LL_DIVISOR, c.LL_MAX[ll_row][at])
        elif protocol == "LL128":
            bus = min(bus * c.TREE_LL128_SHARE[comm.nodes > 1], graph.channels * c.TREE_LL128_MAX[row][at])
        return bus * c.PLAIN_TREE_SHARE if graph.pattern == c.TREE else bus
    return bus * c.PAT_SHARE if algorithm == "PAT" else bus


def compute_latency(collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Microseconds of a call without bytes, as the tuner counts them."""
    if comm.rccl:
        return rccl.compute_latency(collective, algorithm, protocol, comm)
    if comm.release is not None:
        return releases.compute_latency(comm.release, collective, algorithm, protocol, comm)
    graph = comm.get_graph(algorithm)
    assert graph is not None
    p, n, nodes = c.PROTOCOLS.index(protocol), comm.ranks, comm.nodes
    inside = "NVLINK" if graph.type_intra == "NVL" else "PCI"
    intra = c.STEP_LATENCY[inside][algorithm][p]
    inter = c.STEP_LATENCY["NET"]["Tree" if comm.local_ranks == 1 and algorithm != "NVLSTree" else algorithm][p]
    inter += graph.latency_inter * (2 if protocol == "Simple" else 1)
    base, depth = c.BASE_LATENCY[algorithm][p], math.floor(math.log2(nodes))
    if algorithm == "Ring":
        return base + _ring_latency(collective, protocol, graph, comm, intra, inter)
    if algorithm == "Tree":
        return base + 2 * ((n // nodes - 1) * intra + depth * inter)
    if algorithm == "NVLS":
        return intra + (inter if nodes > 1 else 0)
    if algorithm == "NVLSTree":
        return base + intra + 2 * depth * inter
    return base + depth * inter / c.PAT_OVERLAP + c.PAT_PER_RANK * n


def _ring_latency(
    collective: str, protocol: str, graph: Graph, comm: Communicator, intra: float, inter: float
) -> float:
    p, n, nodes = c.PROTOCOLS.index(protocol), comm.ranks, comm.nodes
    if collective in ("broadcast", "reduce"):
        hw = "NET" if nodes > 1 else "NVLINK" if graph.type_intra == "NVL" else "PCI"
        if graph.same_channels:
            return c.STEP_LATENCY[hw]["Ring"][p]
        return n * c.STEP_LATENCY[hw]["Tree" if protocol == "Simple" else "Ring"][p]
    rounds = 2 if collective == "allreduce" else 1
    steps, far = rounds * (n - 1), rounds * (nodes - 1) if nodes > 1 else 0
    if collective == "allreduce" and nodes > 1:
        far = 2 * (nodes - 1)
    if nodes > 1:
        intra = max(intra, c.NET_OVERHEAD[comm.cpu] * (3 if protocol == "Simple" else 1))
    return (steps - far) * intra + far * inter


def compute_tuner_time(collective: str, cost: TunerCost, comm: Communicator, nbytes: int) -> float:
    """Microseconds that the tuner believes a call of `nbytes` takes."""
    bandwidth, latency = cost.bandwidth, cost.latency
    if comm.rccl:
        return latency + nbytes / (
            1000 * bandwidth * rccl.get_bandwidth_correction(cost.algorithm, cost.protocol, comm, nbytes)
        )
    level = (nbytes >> 6).bit_length() - 1
    if collective == "allreduce":
        corrected = cost.algorithm == "Tree" or (
            cost.algorithm == "NVLSTree" and comm.cc >= 100 and comm.cpu != "arm" and comm.release is None
        )
        if corrected and 0 <= level < c.TREE_CORRECTED[cost.algorithm]:
            bandwidth *= c.TREE_CORRECTION[cost.protocol][level]
        if cost.algorithm == "Ring" and cost.protocol == "Simple" and comm.nodes > 1:
            latency *= _plateau(comm, nbytes)
    return latency + nbytes / (1000 * bandwidth)


def _plateau(comm: Communicator, nbytes: int) -> float:
    """Factor on the latency of a ring over several nodes."""
    older = None if comm.release is None else releases.get_plateau_factor(comm.release, comm, nbytes)
    if older is not None:
        return older
    many = nbytes // (comm.running_channels * comm.ranks) >= c.RING_PLATEAU_BYTES
    return c.RING_PLATEAU[comm.cc >= 80] if many else 1.0


def choose_resources(algorithm: str, protocol: str, comm: Communicator, nbytes: int) -> tuple[int, int]:
    """(channels, threads per channel) of a call: fewer of both where there is too little to do (src/enqueue.cc,
    topoGetAlgoInfo)."""
    if algorithm in ("NVLS", "NVLSTree"):
        table = c.NVLS_CHANNELS[100 if comm.cc >= 100 else 90]
        return table[comm.nodes > 1], c.NVLS_THREADS
    channels = comm.running_channels
    threads, least = _threads(algorithm, protocol, comm)
    while nbytes < channels * threads * least and channels >= 2:
        channels -= 1
    while nbytes < channels * threads * least and threads % c.THREADS_HALVED == 0:
        threads //= 2
    if protocol == "Simple":
        threads = threads + c.RING_EXTRA_THREADS if algorithm == "Ring" else c.SIMPLE_THREADS
    return channels, max(threads, c.LEAST_THREADS)


def _threads(algorithm: str, protocol: str, comm: Communicator) -> tuple[int, int]:
    """Most threads of a channel, and bytes below which one of them is given up."""
    threads = c.THREADS[protocol]
    if algorithm == "Ring" and protocol == "Simple" and comm.ring.bw_intra * comm.ring.channels <= c.SLOW_RING:
        threads = c.SLOW_RING_THREADS
    return threads, c.THREAD_THRESHOLD[protocol] * (comm.ranks if algorithm == "Ring" and protocol == "LL" else 1)


def count_filled_channels(algorithm: str, protocol: str, comm: Communicator, nbytes: int) -> float:
    """Channels whose threads all have work in a call: those of `resources` without their steps, so that a byte more
    never makes a call shorter."""
    threads, least = _threads(algorithm, protocol, comm)
    return min(float(comm.running_channels), max(1.0, nbytes / (threads * least)))


def get_cap_column(nodes: int) -> int:
    """Column of the cap tables: one node, two, more."""
    return min(nodes, 3) - 1
