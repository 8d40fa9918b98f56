"""What NCCL's tuner believes: the time of every (algorithm, protocol), and the choice it makes from them.

A re-implementation of NCCL 2.30.7 `src/graph/tuning.cc` and of the choice in `src/enqueue.cc`. It is a formula: no
contention, no chunks, and it is off by tens of percent where those matter. `collsim.nccl.model.algorithm_time` is the
other opinion. Units here are NCCL's: GB/s (10^9 B/s), microseconds, bytes.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...errors import CollsimError, Sentence, describe_unknown
from ...errors.arguments import check_arguments
from ..search import constants as c
from . import rccl
from .releases import CURRENT, Release


@dataclass(frozen=True)
class Graph:
    """What NCCL's search found for one pattern, before its channels are doubled.

    Attributes:
        channels: how many the search found.
        bw_intra: GB/s of one channel inside a node.
        bw_inter: GB/s of one channel between nodes.
        type_intra: the worst path type inside a node.
        type_inter: the worst path type from a GPU to its NIC.
        same_channels: every channel visits the GPUs in the same order.
        latency_inter: microseconds that the NIC adds.
        pattern: constants.RING, BALANCED_TREE, SPLIT_TREE, TREE or NVLS.

    Examples:
        >>> import collsim as cs
        >>> comm = cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-a100", nodes=2)))
        >>> comm.ring.bw_intra, comm.ring.bw_inter
        (24.0, 24.0)
    """

    channels: int
    bw_intra: float
    bw_inter: float
    type_intra: str = "NVL"
    type_inter: str = "PIX"
    same_channels: bool = True
    latency_inter: float = 0.0
    pattern: int = c.RING

    @property
    def intra_link(self) -> str:
        """The row of the step latencies for links inside a node."""
        if self.type_intra == "NVL":
            return "NVLINK"
        return "PCI"


@dataclass(frozen=True)
class Communicator:
    """What the tuner knows about the ranks: how many, on which nodes, of which generation, with which graphs.

    Attributes:
        ranks: number of ranks.
        nodes: number of nodes; `ranks / nodes` need not be whole.
        cc: compute capability of the oldest GPU (80 is 8.0).
        ring: the graph of rings.
        tree: the graph of trees.
        nvls: the graph of NVLS; None without NVLink SHARP.
        cpu: `intel`, `amd` or `arm`.
        max_cc: compute capability of the newest GPU; None: `cc`.
        channels: channels after doubling; None: those of `ring`, doubled.
        unbounded_channels: the same without NCCL_MAX_NCHANNELS.
        pat: whether PAT is on; None is NCCL's default (only with one GPU per node).
        collnet: the network reduces (SHARP plugin).
        release: NCCL's release.
        rccl: architecture whose tables of RCCL's are used (`rccl.ARCHITECTURES`); "" is NCCL.
        algorithms: NCCL_ALGO as the network's plugin sets it where nobody does; "" leaves it.
        protocols: NCCL_PROTO, likewise.

    Examples:
        >>> import collsim as cs
        >>> comm = cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-a100", nodes=2)))
        >>> comm.ranks, comm.nodes, comm.channels
        (16, 2, 16)
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
    release: Release = CURRENT
    rccl: str = ""
    algorithms: str = ""
    protocols: str = ""

    @property
    def local_ranks(self) -> float:
        """Ranks per node."""
        return self.ranks / self.nodes

    def get_graph(self, algorithm: str) -> Graph | None:
        """Get the graph of an algorithm: Tree and PAT use that of trees, NVLS and NVLSTree that of NVLS.

        Args:
            algorithm: NCCL's name of it.

        Returns:
            The graph; None where there is none.
        """
        return {"Ring": self.ring, "Tree": self.tree, "PAT": self.tree, "NVLS": self.nvls, "NVLSTree": self.nvls}.get(
            algorithm
        )

    @property
    def running_channels(self) -> int:
        """Channels of the communicator after doubling."""
        if self.channels is not None:
            return self.channels
        return double_channels(self.ring.channels)


def double_channels(channels: int) -> int:
    """Double channels as NCCL does: a ring and its copy for the other half of the trees (src/graph/connect.cc).

    Args:
        channels: channels of the search.

    Returns:
        Twice as many, at most 64.
    """
    return min(2 * channels, c.MAX_CHANNELS)


@dataclass(frozen=True)
class TunerCost:
    """One entry of the tuner's table: time = latency + nbytes / (1000 · bandwidth) microseconds.

    Attributes:
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        latency: microseconds.
        bandwidth: GB/s of nccl-tests' size.

    Examples:
        >>> import collsim as cs
        >>> comm = cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-a100")))
        >>> [cost.algorithm for cost in cs.nccl.compute_cost_table("reduce", comm)]
        ['Ring', 'Ring', 'Ring']
    """

    algorithm: str
    protocol: str
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class TunerChoice:
    """What the tuner chose.

    Attributes:
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        channels: channels of the call.
        threads: threads of a channel.
        time_us: microseconds that the tuner believes the call takes.
        costs: microseconds of all that it compared, by (algorithm, protocol).

    Examples:
        >>> import collsim as cs
        >>> comm = cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-a100", nodes=2)))
        >>> choice = cs.nccl.choose_algorithm("allreduce", comm, 2**26)
        >>> choice.algorithm, choice.protocol, choice.channels
        ('Ring', 'LL128', 16)
    """

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


@check_arguments
def compute_cost_table(
    collective: str, comm: Communicator, algorithms: str = "", protocols: str = ""
) -> tuple[TunerCost, ...]:
    """Compute latency and bandwidth of every (algorithm, protocol) that may be chosen.

    Args:
        collective: allreduce, allgather, reduce_scatter, broadcast or reduce.
        comm: the ranks.
        algorithms: as NCCL_ALGO: `"Ring,Tree"`, `"allreduce:tree;broadcast:ring"`; "": not set.
        protocols: as NCCL_PROTO: `"^LL128"`; "": not set.

    Returns:
        An entry for each pair, in NCCL's order.

    Raises:
        CollsimError: for a collective that NCCL does not tune, and for names that NCCL does not know.

    Examples:
        >>> import collsim as cs
        >>> comm = cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-a100")))
        >>> [cost.protocol for cost in cs.nccl.compute_cost_table("broadcast", comm)]
        ['LL', 'LL128', 'Simple']
    """
    if collective not in _EXIST:
        raise CollsimError(describe_unknown("collective of NCCL's tuner", collective, _EXIST))
    algorithms, protocols = algorithms or comm.algorithms, protocols or comm.protocols
    allowed_algorithms = parse_allowed_names(algorithms, collective, c.ALGORITHMS, "NCCL_ALGO")
    allowed_protocols = parse_allowed_names(protocols, collective, c.PROTOCOLS, "NCCL_PROTO")
    forced_ll128 = bool(protocols) and "^" not in protocols
    table = []
    for algorithm in _EXIST[collective]:
        for protocol in c.PROTOCOLS:
            if algorithm not in allowed_algorithms or protocol not in allowed_protocols:
                continue
            if not is_available(collective, algorithm, protocol, comm, forced_ll128):
                continue
            bandwidth = compute_bandwidth(collective, algorithm, protocol, comm)
            if bandwidth > 0:
                latency = compute_latency(collective, algorithm, protocol, comm)
                table.append(TunerCost(algorithm, protocol, latency, bandwidth))
    return tuple(table)


@check_arguments
def choose_algorithm(
    collective: str, comm: Communicator, nbytes: int, algorithms: str = "", protocols: str = ""
) -> TunerChoice:
    """Choose algorithm, protocol, channels and threads of a call as NCCL does.

    Args:
        collective: allreduce, allgather, reduce_scatter, broadcast or reduce.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.
        algorithms: as NCCL_ALGO; "": not set.
        protocols: as NCCL_PROTO; "": not set.

    Returns:
        The choice, with the times of all that was compared.

    Raises:
        CollsimError: where NCCL_ALGO and NCCL_PROTO leave nothing, and as `compute_cost_table`.

    Examples:
        >>> import collsim as cs
        >>> comm = cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-h100")))
        >>> cs.nccl.choose_algorithm("allreduce", comm, 2**30).algorithm
        'NVLS'
    """
    if comm.ranks == 1:
        return TunerChoice("Ring", "Simple", 1, c.MIN_THREADS, 0.0)
    table = compute_cost_table(collective, comm, algorithms, protocols)
    if not table:
        call = Sentence(
            "{collective} on {ranks} ranks over {nodes} nodes",
            collective=collective,
            ranks=comm.ranks,
            nodes=comm.nodes,
        )
        known = dict.fromkeys(cost.algorithm for cost in compute_cost_table(collective, comm))
        template = "NCCL_ALGO={algorithms!r} and NCCL_PROTO={protocols!r} leave nothing for {where}; it has {known}"
        values = {"algorithms": algorithms, "protocols": protocols, "where": call, "known": ", ".join(known)}
        raise CollsimError(template, **values)
    costs = {(cost.algorithm, cost.protocol): compute_tuner_time(collective, cost, comm, nbytes) for cost in table}
    algorithm, protocol = min(costs, key=lambda key: costs[key])
    if comm.rccl and not protocols:
        protocol = rccl.choose_protocol(collective, comm, nbytes, protocol)
    channels, threads = choose_resources(algorithm, protocol, comm, nbytes)
    return TunerChoice(algorithm, protocol, channels, threads, costs[algorithm, protocol], MappingProxyType(costs))


def parse_allowed_names(text: str, collective: str, known: tuple[str, ...], variable: str) -> frozenset[str]:
    """Read which names NCCL_ALGO or NCCL_PROTO leaves.

    Args:
        text: a list, `^` for all but a list, or `collective:list` parts joined by `;`.
        collective: whose part is read.
        known: all names.
        variable: the environment variable, for errors.

    Returns:
        The names; all of them where the text says nothing of this collective.

    Raises:
        CollsimError: for a name that is not known.
    """
    for part in text.split(";"):
        prefix, colon, names = part.rpartition(":")
        if colon and prefix.strip().lower().replace("_", "") != collective.replace("_", ""):
            continue
        names = names.strip()
        if not names:
            continue
        listed = frozenset(_find_name(name, known, variable) for name in names.lstrip("^").split(","))
        if names.startswith("^"):
            return frozenset(known) - listed
        return listed
    return frozenset(known)


def _find_name(pattern: str, known: tuple[str, ...], variable: str) -> str:
    for name in known:
        if fnmatch.fnmatchcase(name.lower(), pattern.strip().lower()):
            return name
    raise CollsimError(describe_unknown(Sentence("value of {variable}", variable=variable), pattern.strip(), known))


def is_available(
    collective: str, algorithm: str, protocol: str, comm: Communicator, forced_ll128: bool = False
) -> bool:
    """Whether NCCL considers this pair at all on these ranks (tuning.cc, ncclTopoTuneModel).

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.
        forced_ll128: whether NCCL_PROTO asks for LL128.
    """
    if comm.rccl:
        return rccl.is_available(algorithm, protocol, comm)
    release, graph = comm.release, comm.get_graph(algorithm)
    if graph is None or algorithm not in release.algorithms or (protocol == "LL128" and release.since < 5):
        return False
    if algorithm in ("Ring", "Tree"):
        # LL128 relies on 128-byte stores staying whole, which not every path promises.
        is_safe = release.has_ll128(graph, comm.cc, comm.max_cc) and _is_ll128_safe(graph, comm)
        return protocol != "LL128" or forced_ll128 or is_safe
    if protocol != "Simple" or algorithm in c.IN_NETWORK:  # CollNet needs a SHARP plugin: graphs not modelled
        return False
    if algorithm == "PAT":
        # PAT is for one rank a node, unless the environment says otherwise.
        if comm.pat is not None:
            return comm.pat
        return comm.ranks == comm.nodes and comm.cc >= 60
    if comm.cc < 90 or graph.channels < 2:
        return False
    if algorithm == "NVLSTree":
        return comm.nodes > 1
    is_in_reach = comm.nodes == 1 or comm.collnet
    return is_in_reach and (collective == "allreduce" or comm.local_ranks <= c.MAX_NVLS_ARITY)


def _is_ll128_safe(graph: Graph, comm: Communicator) -> bool:
    if comm.max_cc is None:
        max_cc = comm.cc
    else:
        max_cc = comm.max_cc
    worst_type = "PXB"
    if comm.cc >= 90:
        worst_type = "PXN"
    # LL128 needs stores of 128 bytes that arrive as one. NVLink keeps them whole; over PCIe only paths that stay
    # below the host bridge do, so NCCL asks for near cards and, before Hopper, for GPUs of one generation.
    is_near = comm.nodes == 1 or c.is_type_at_most(graph.type_inter, worst_type)
    is_one_generation = comm.cc == max_cc or comm.cc >= 90
    return c.is_type_at_most(graph.type_intra, "NVB") and is_near and comm.cc >= 70 and is_one_generation


def compute_bandwidth(collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Compute the bandwidth that the tuner expects (tuning.cc, ncclTopoTuneModel).

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.

    Returns:
        GB/s of nccl-tests' size; 0 where the algorithm does not exist.
    """
    if comm.rccl:
        return rccl.compute_bandwidth(collective, algorithm, protocol, comm)
    release, graph = comm.release, _get_graph(algorithm, comm)
    bus = _compute_bus_bandwidth(algorithm, graph, comm)
    if algorithm == "PAT":
        return bus * c.PAT_SHARE
    if algorithm in c.IN_NVSWITCH:
        return _compute_nvls_bandwidth(collective, algorithm, bus, graph, comm)
    if algorithm == "Tree":
        # From what the bus carries to nccl-tests' size: a tree sends all of it up and down again, a ring its steps /
        # ranks.
        return _cap_tree_bandwidth(release, protocol, bus, graph, comm) * 0.5
    bus = _cap_ring_bandwidth(release, collective, protocol, bus, graph, comm)
    return bus * (comm.ranks / c.count_ring_steps(collective, comm.ranks))


def _get_graph(algorithm: str, comm: Communicator) -> Graph:
    """The graph that the tuner looks at: 2.17 took that of rings for NVLS."""
    if comm.release.takes_rings_for_nvls and algorithm == "NVLS":
        return comm.ring
    graph = comm.get_graph(algorithm)
    assert graph is not None
    return graph


def _compute_bus_bandwidth(algorithm: str, graph: Graph, comm: Communicator) -> float:
    """All channels together, before 2.18 up to a cap."""
    channel = graph.bw_inter
    if comm.nodes <= 2:
        channel = graph.bw_intra
    if algorithm == "NVLS":
        channel = min(graph.bw_intra, graph.bw_inter)
    if algorithm == "NVLSTree":
        channel = min(graph.bw_intra, graph.bw_inter if comm.nodes <= 2 else graph.bw_inter / 2)
    return min(graph.channels * channel, comm.release.bus_caps.get(comm.release.get_generation(comm.cc), math.inf))


def _compute_nvls_bandwidth(collective: str, algorithm: str, bus: float, graph: Graph, comm: Communicator) -> float:
    """Of NVLS and NVLSTree: since 2.28 by the efficiency of the generation, before it a share of the bus bandwidth."""
    has_blocks = collective in ("allgather", "reduce_scatter")
    if not comm.release.is_current:
        return bus * comm.release.get_nvls_share(has_blocks)
    row = c.get_generation(comm.cc)
    intra = graph.bw_intra * c.NVLS_EFFICIENCY[row] * (graph.channels - 1) / graph.channels
    intra *= (comm.local_ranks - 1) / comm.local_ranks if has_blocks else 2
    if algorithm == "NVLS":
        channel = min(intra, graph.bw_inter)
    else:
        inter = graph.bw_inter * (2 if comm.nodes <= 2 else 1)
        channel = min(intra, inter, c.NVLSTREE_MAX[row][c.get_cap_column(comm.nodes)])
    if has_blocks:
        return graph.channels * channel
    return graph.channels * channel * (comm.ranks / c.count_ring_steps(collective, comm.ranks))


def _get_ll_max(release: Release, comm: Communicator) -> float:
    """By GPU in one node, by CPU between several."""
    row = c.get_ll_generation(release.get_generation(comm.cc), comm.nodes, comm.cpu)
    return release.ll_max[row][c.get_cap_column(comm.nodes)]


def _cap_ring_bandwidth(
    release: Release, collective: str, protocol: str, bus: float, graph: Graph, comm: Communicator
) -> float:
    if protocol == "LL":
        is_busy = comm.nodes > 1 or collective in ("allreduce", "reduce")
        return min(_get_ll_max(release, comm), bus * release.ll_share[0 if is_busy else 1])
    if protocol == "LL128":
        share = c.RING_LL128_SHARE
        if comm.local_ranks < 2:
            share = release.lone_ll128_share
        ring_cap = release.ring_ll128[release.get_generation(comm.cc)][c.get_cap_column(comm.nodes)]
        return min(share * bus, graph.channels * release.ring_ll128_for.get(collective, ring_cap))
    return bus


def _cap_tree_bandwidth(release: Release, protocol: str, bus: float, graph: Graph, comm: Communicator) -> float:
    row, column = release.get_generation(comm.cc), c.get_cap_column(comm.nodes)
    bus = min(c.TREE_SHARE * bus, graph.channels * release.tree_max[row][column])
    if protocol == "LL":
        bus = min(bus / c.TREE_LL_DIVISOR, _get_ll_max(release, comm))
    elif protocol == "LL128":
        channel = release.ring_ll128_for.get("allreduce", release.tree_ll128[row][column])
        bus = min(bus * c.TREE_LL128_SHARE[comm.nodes > 1], graph.channels * channel)
    if graph.pattern == c.TREE:
        return bus * release.plain_tree_factor
    return bus


def compute_latency(collective: str, algorithm: str, protocol: str, comm: Communicator) -> float:
    """Compute the latency of a call without bytes, as the tuner counts it (tuning.cc, ncclTopoTuneModel).

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.

    Returns:
        Microseconds.
    """
    release, graph = rccl.LATENCIES if comm.rccl else comm.release, _get_graph(algorithm, comm)
    p, nodes = c.PROTOCOLS.index(protocol), comm.nodes
    intra = release.step_latency[graph.intra_link][algorithm][p]
    if nodes > 1 and protocol == "LL":
        intra *= release.ll_intra_factor
    # A rank alone on its node has no intra-node steps, so the tree's network latency is all there is.
    is_alone = release.has_lone_tree_steps and comm.local_ranks == 1 and algorithm != "NVLSTree"
    inter = release.step_latency["NET"]["Tree" if is_alone else algorithm][p]
    inter += graph.latency_inter * (2 if protocol == "Simple" else 1)
    base, depth = release.base_latency[algorithm][p], math.floor(math.log2(nodes))
    if algorithm == "Ring":
        return base + _compute_ring_latency(release, collective, protocol, graph, comm, intra, inter)
    if algorithm == "Tree":
        return base + 2 * ((comm.ranks // nodes - 1) * intra + depth * inter)
    if algorithm == "NVLS":
        return base + intra + (inter if nodes > 1 else 0)
    if algorithm == "NVLSTree":
        return base + intra + 2 * depth * inter
    return base + depth * inter / c.PAT_OVERLAP + c.PAT_PER_RANK * comm.ranks


def _compute_ring_latency(
    release: Release, collective: str, protocol: str, graph: Graph, comm: Communicator, intra: float, inter: float
) -> float:
    p, ranks, nodes, is_simple = c.PROTOCOLS.index(protocol), comm.ranks, comm.nodes, protocol == "Simple"
    if collective in ("broadcast", "reduce"):
        latencies = release.step_latency["NET" if nodes > 1 else graph.intra_link]
        if graph.same_channels:
            return latencies["Ring"][p]
        return ranks * latencies["Tree" if is_simple else "Ring"][p]
    rounds = 1
    if collective == "allreduce":
        rounds = 2
    inter_steps = rounds * (nodes - 1)
    if release.has_return_hops and collective == "allreduce" and nodes > 1:
        inter_steps = 2 * nodes
    if release.has_post_overhead and nodes > 1:
        intra = max(intra, c.NET_OVERHEAD[comm.cpu] * (3 if is_simple else 1))
    return (rounds * (ranks - 1) - inter_steps) * intra + inter_steps * inter


def compute_tuner_time(collective: str, cost: TunerCost, comm: Communicator, nbytes: int) -> float:
    """Compute the time that the tuner believes a call takes (tuning.cc, ncclTopoGetAlgoTime).

    Args:
        collective: collsim's name of it.
        cost: the entry of the table.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.

    Returns:
        Microseconds.
    """
    algorithm, protocol, bandwidth, latency = cost.algorithm, cost.protocol, cost.bandwidth, cost.latency
    if comm.rccl:
        return latency + nbytes / (1000 * bandwidth * rccl.get_bandwidth_correction(algorithm, protocol, comm, nbytes))
    if collective == "allreduce":
        # Which power of two of 64 bytes the size reaches: the column of NCCL's table treeCorrectionFactor.
        level = (nbytes >> 6).bit_length() - 1
        has_nvls_correction = comm.cc >= 100 and comm.cpu != "arm" and comm.release.is_current
        is_corrected = algorithm == "Tree" or (algorithm == "NVLSTree" and has_nvls_correction)
        if is_corrected and 0 <= level < c.TREE_CORRECTED[algorithm]:
            bandwidth *= c.TREE_CORRECTION[protocol][level]
        if algorithm == "Ring" and protocol == "Simple" and comm.nodes > 1:
            latency *= comm.release.get_plateau_factor(comm, nbytes)
    # A thousand bytes in a microsecond are 1 GB/s.
    return latency + nbytes / (1000 * bandwidth)


def choose_resources(algorithm: str, protocol: str, comm: Communicator, nbytes: int) -> tuple[int, int]:
    """Choose channels and threads: fewer of both where there is too little to do (src/enqueue.cc, topoGetAlgoInfo).

    Args:
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.

    Returns:
        Channels, and threads per channel.
    """
    if algorithm in c.IN_NVSWITCH:
        channels_by_nodes = c.NVLS_CHANNELS[100 if comm.cc >= 100 else 90]
        return channels_by_nodes[comm.nodes > 1], c.NVLS_THREADS
    channels = comm.running_channels
    threads, thread_bytes = _get_thread_limits(algorithm, protocol, comm)
    # Channels are given up first, then threads (topoGetAlgoInfo): the second loop starts from what the first left.
    while nbytes < channels * threads * thread_bytes and channels >= 2:
        channels -= 1
    while nbytes < channels * threads * thread_bytes and threads % c.THREADS_HALVED == 0:
        threads //= 2
    if protocol == "Simple":
        if algorithm == "Ring":
            threads = threads + c.RING_EXTRA_THREADS
        else:
            threads = c.SIMPLE_THREADS
    return channels, max(threads, c.MIN_THREADS)


def _get_thread_limits(algorithm: str, protocol: str, comm: Communicator) -> tuple[int, int]:
    """Most threads of a channel, and bytes below which one of them is given up."""
    threads, thread_bytes = c.THREADS[protocol], c.THREAD_THRESHOLD[protocol]
    if algorithm != "Ring":
        return threads, thread_bytes
    if protocol == "Simple" and comm.ring.bw_intra * comm.ring.channels <= c.SLOW_RING:
        threads = c.SLOW_RING_THREADS
    if protocol == "LL":
        thread_bytes *= comm.ranks
    return threads, thread_bytes


def count_filled_channels(algorithm: str, protocol: str, comm: Communicator, nbytes: int) -> float:
    """Count the channels whose threads all have work in a call: those of `choose_resources` without their steps, so
    that a byte more never makes a call shorter.

    Args:
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        comm: the ranks.
        nbytes: nccl-tests' size, bytes.

    Returns:
        Channels, not rounded.
    """
    threads, thread_bytes = _get_thread_limits(algorithm, protocol, comm)
    return min(float(comm.running_channels), max(1.0, nbytes / (threads * thread_bytes)))
