"""The graphs that NCCL's tuner chooses by: found by the search on a machine's links, or by a closed rule for each kind
of wiring.

NCCL searches channel by channel, each reserving its speed on every link it crosses, and keeps the speed that gives most
in total. Where there is a Topology that is done for rings, trees and NVLS (`search.ring_tree_search`,
`search.nvls_heads`). Where only Facts are known, the regular machines that they describe have a closed answer: how many
channels of speed s fit on the tightest link (NCCL src/graph/search.cc; constants in `search.constants`), and trees and
NVLS follow from the ring. GB/s and microseconds, as NCCL counts.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..errors.arguments import check_arguments
from ..topology.parts.sockets import choose_processor
from .machine.machine_facts import GA102_LINK_GBPS, NVLINK_GBPS, XGMI_GBPS, Facts
from .machine.network_plugins import find_plugin_settings
from .machine.topology_facts import GraphSearch
from .model.rccl import find_architecture
from .model.tuner import Communicator, Graph, double_channels
from .search import constants as c
from .search.nvls_heads import NvlsHeads
from .search.ring_tree_search import duplicate_channels

#: RCCL prints 48 GB/s per xGMI link of an MI300X (ROCm/rccl issue 1210).
XGMI_PER_LINK = 48.0
#: What NCCL counts of a card's wire rate: 12 GB/s for 100 Gbit/s (src/graph/topo.h); a socket of TCP at its whole rate.
_NIC_COUNTS = 0.96
#: Fraction of a slot for a card whose data are staged in host memory, which cross the bridge twice.
_STAGED = 0.5
#: NVLink generation by compute capability.
_NVLINK_OF = {60: 1, 70: 2, 75: 2, 80: 3, 90: 4, 100: 5}
#: From Hopper on, with channels of more than so many GB/s between nodes, channels are doubled again up to so many
#: (src/graph/connect.cc).
_FAST_CHANNEL, _FEW_CHANNELS = 45.0, 16
#: Sums of speeds are compared with this much room.
_ROUNDING = 1.0001


@check_arguments
def build_communicator(
    facts: Facts, channels: int | None = None, pat: bool | None = None, graph_search: GraphSearch | None = None
) -> Communicator:
    """Build what NCCL's tuner knows about a machine.

    Args:
        facts: of `read_facts` or `parse_facts`.
        channels: a bound on the number of channels (NCCL_MAX_NCHANNELS).
        pat: whether PAT is on; None is NCCL's default (only with one GPU per node).
        graph_search: the search on a Topology (`topology_facts.build_graph_search`); None for the closed rule.

    Returns:
        The ranks as the tuner sees them.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.build_communicator(cs.nccl.read_facts(cs.machine("dgx-a100", nodes=2))).channels
        16
    """
    plugin = find_plugin_settings(facts)
    if graph_search is None:
        ring = build_ring_graph(facts)
        tree = build_tree_graph(facts, ring)
    else:
        ring, tree = _build_searched_ring(graph_search, facts), _build_searched_tree(graph_search)
    both = min(ring.channels, tree.channels)  # init.cc: rings and trees have the same number
    free = double_channels(both)
    # Fast GPUs over several nodes get twice the channels, as NCCL gives them (connect.cc, ncclTopoPostset).
    if facts.cc >= 90 and facts.nodes > 1 and ring.bw_intra > _FAST_CHANNEL and free < _FEW_CHANNELS:
        free *= 2
    running = free
    if channels is not None:
        running, both = min(free, channels), max(1, min(both, channels // 2))
    ring, tree = replace(ring, channels=both), replace(tree, channels=both)
    return Communicator(
        ranks=facts.ranks,
        nodes=facts.nodes,
        cc=facts.cc or 90,
        cpu=facts.cpu,
        ring=ring,
        tree=tree,
        nvls=_find_nvls_graph(facts, ring, graph_search),
        channels=running,
        unbounded_channels=free,
        pat=pat,
        rccl=find_architecture(facts.gpu) if facts.is_amd else "",
        algorithms="" if plugin is None else plugin.algorithms,
        protocols="" if plugin is None else plugin.protocols,
    )


def build_ring_graph(facts: Facts) -> Graph:
    """Build the graph of rings by the closed rule.

    Args:
        facts: The machine.

    Returns:
        Channels and speed (GB/s) of the ring search.
    """
    inside = compute_intra_bandwidth(facts)
    path = find_path_type(facts)
    if facts.nodes == 1:
        channels, speed = _fit(inside, inside, facts)
        return _duplicate_graph(Graph(channels, speed, speed, path, "LOC", True), facts)
    nic, slot = facts.nic_rate / 1e9, c.PCIE_X16[facts.pcie]
    if facts.net != "tcp":
        nic *= _NIC_COUNTS
    if facts.gdr is False:
        slot *= _STAGED
    # GPUs that share a card share its slot as well.
    per_nic = min(nic, slot * max(1.0, facts.local_ranks / facts.nics))
    if facts.local_ranks == 1:
        # GPUs alone on their node use all cards; else the node's inside limits the sum.
        total = per_nic * facts.nics
    else:
        total = min(per_nic * facts.nics, inside)
    channels, speed = _fit(per_nic, total, facts)
    type_inter = "PXB"
    if facts.has_nvswitch and facts.cc >= 90:
        type_inter = "PXN"
    elif facts.gdr is False:
        type_inter = "PHB"
    if facts.local_ranks == 1:
        path = "LOC"
    return _duplicate_graph(Graph(channels, speed, speed, path, type_inter, facts.has_nvswitch), facts)


def _build_searched_ring(search: GraphSearch, facts: Facts) -> Graph:
    rings = search.rings
    graph = Graph(
        len(rings.channels), rings.speed, rings.speed, rings.type_intra, rings.type_inter, rings.same_channels
    )
    return _duplicate_graph(graph, facts)


def _build_searched_tree(search: GraphSearch) -> Graph:
    trees = search.trees
    speeds, types = (trees.speed_intra, trees.speed_inter), (trees.type_intra, trees.type_inter)
    return Graph(len(trees.channels), *speeds, *types, trees.same_channels, pattern=trees.pattern)


def _find_nvls_graph(facts: Facts, ring: Graph, search: GraphSearch | None) -> Graph | None:
    """None without NVLink SHARP, which needs peers that reach one another and is not sold on GeForce and RTX cards."""
    if facts.cc < 90 or not facts.has_nvswitch or facts.local_ranks < 2 or facts.cc in (120, 121):
        return None
    if search is None:
        return build_nvls_graph(facts, ring)
    if search.heads is None:
        return None
    return _build_searched_nvls(search.heads)


def _build_searched_nvls(heads: NvlsHeads) -> Graph:
    return Graph(len(heads.gpus), heads.speed_intra, heads.speed_inter, "NVL", heads.type_inter, False, pattern=c.NVLS)


def build_tree_graph(facts: Facts, ring: Graph) -> Graph:
    """Build the graph of trees by the closed rule. The tree search is asked for as many channels as the ring has;
    between nodes it may be faster inside.

    The search knows better which tree: from Hopper on the plain one where the way back from the first GPU's card to the
    second is worse.

    Args:
        facts: The machine.
        ring: Its graph of rings.

    Returns:
        Channels, speeds (GB/s) and pattern.
    """
    table = c.get_speeds(facts.cc or 90, facts.nodes)
    if facts.nodes > 1 and facts.local_ranks == 1:
        return replace(ring, bw_intra=_raise_speed(table, ring.bw_inter), pattern=c.TREE)
    pattern = c.BALANCED_TREE
    if facts.cc < 80:
        pattern = c.SPLIT_TREE
    if facts.nodes == 1:
        return replace(ring, pattern=pattern)
    return replace(
        ring,
        bw_intra=_raise_speed(table, ring.bw_inter, compute_intra_bandwidth(facts) / ring.channels),
        pattern=pattern,
    )


def build_nvls_graph(facts: Facts, ring: Graph) -> Graph:
    """Build the graph of NVLS by the closed rule: one channel per GPU; every link carries (GPUs + 1) times a channel's
    speed.

    Args:
        facts: The machine.
        ring: Its graph of rings.

    Returns:
        Channels and speeds (GB/s).
    """
    inside = compute_intra_bandwidth(facts)
    heads = min(facts.local_ranks, c.MAX_NVLS_ARITY)
    table = c.get_speeds(facts.cc, 1)
    speed = next((s for s in table if s * (heads + 1) <= inside), table[-1])
    if facts.nodes == 1:
        return Graph(heads, speed, _raise_speed(table, speed), "NVL", "LOC", False, pattern=c.NVLS)
    return Graph(heads, speed, ring.channels * ring.bw_inter / heads, "NVL", "PXN", False, pattern=c.NVLS)


def _raise_speed(table: tuple[float, ...], speed: float, most: float = math.inf) -> float:
    """The speed after NCCL's second pass: raised step by step while it is less than twice what it was, and fits."""
    raised = speed
    for faster in sorted(s for s in table if speed < s <= most):
        if raised >= 2 * speed:
            break
        raised = faster
    return raised


def compute_intra_bandwidth(facts: Facts) -> float:
    """Compute what one GPU has towards its peers, by NCCL's constants (src/graph/topo.h).

    Args:
        facts: The machine.

    Returns:
        GB/s.
    """
    if facts.wiring in ("nvswitch", "mesh", "cube", "bridge"):
        key = max(k for k in c.NVLINK if k <= facts.cc)
        sold = GA102_LINK_GBPS
        if facts.cc not in (86, 89):
            sold = NVLINK_GBPS[_NVLINK_OF[key]]
        return facts.link_rate / 1e9 / sold * c.NVLINK[key]
    if facts.wiring == "xgmi":
        return facts.link_rate / (XGMI_GBPS * 1e9) * XGMI_PER_LINK
    slot = c.PCIE_X16[facts.pcie]
    if facts.wiring == "host" or facts.crosses_sockets:
        shared = 1.0
        if facts.wiring == "host":
            shared = 2.0
        if facts.crosses_sockets:
            return min(slot / shared, get_socket_bandwidth(facts))
        return slot / shared
    if facts.local_ranks > 1:
        return slot
    return c.PCIE_X16[facts.pcie]


def get_socket_bandwidth(facts: Facts) -> float:
    """GB/s between the two sockets of a node, by NCCL's constants."""
    processor = {"amd": "rome", "arm": "arm"}.get(facts.cpu) or choose_processor(facts.pcie)
    return c.SOCKET[processor]


def find_path_type(facts: Facts) -> str:
    """Find the worst type of path between two neighbours of the ring inside a node.

    Args:
        facts: The machine.

    Returns:
        NCCL's name of it: NVL, PIX, PXB, PHB, SYS, or LOC for a node of one GPU.
    """
    if facts.wiring in ("nvswitch", "mesh", "bridge", "xgmi", "cube"):
        return "NVL"
    if facts.wiring == "pcie":
        if facts.crosses_sockets:
            return "SYS"
        if facts.switches == 1:
            return "PIX"
        if facts.switches:
            return "PXB"
        return "PHB"
    if facts.wiring == "none":
        return "LOC"
    if facts.crosses_sockets:
        return "SYS"
    return "PHB"


def _fit(per_channel: float, total: float, facts: Facts) -> tuple[int, float]:
    """Channels and their speed: the first speed of the table that uses the most of `total` GB/s, each at most
    `per_channel`."""
    best = (1, c.LAST_RESORT)
    ends = 1.0
    if facts.nodes > 1:
        ends = facts.nics
    for speed in c.get_speeds(facts.cc or 90, facts.nodes):
        if speed > per_channel * _ROUNDING:
            continue
        fits = min(
            c.SEARCH_CHANNELS // 2,
            math.floor(total / speed + 1e-6),
            math.floor(per_channel / speed + 1e-6) * max(1, int(ends)),
        )
        if fits >= 1 and fits * speed > best[0] * best[1] * _ROUNDING:
            best = (fits, speed)
        if best[0] * best[1] >= total:
            break
    return best


def _duplicate_graph(graph: Graph, facts: Facts) -> Graph:
    count, speed = duplicate_channels(graph.channels, graph.bw_intra, facts.cc)
    return replace(graph, channels=count, bw_intra=speed, bw_inter=speed)
