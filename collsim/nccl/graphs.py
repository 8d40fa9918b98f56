"""The graphs that NCCL's search finds on a machine: rings as `search` finds them, or by a closed rule per kind of wiring.

NCCL searches channel by channel, each reserving its speed on every link it crosses, and keeps the speed that gives most in total.
Where there is a Topology that is done (`search`). Where only Facts are known, the regular machines that they describe have a closed
answer: how many channels of speed s fit on the tightest link (src/graph/search.cc; constants in `constants`). Trees and NVLS follow from
the ring by a rule. GB/s and microseconds, as NCCL counts.
"""

from __future__ import annotations

import math
from dataclasses import replace

from . import constants as c
from .facts import NVLINK_GBPS, Facts
from .search import Rings
from .tuner import Communicator, Graph, doubled

#: The x86 processors usually sold with a PCIe generation, for the bandwidth between sockets (Intel ARK; see constants.SOCKET).
_SOCKET_BY_PCIE = {3: "intel-skylake", 4: "intel-skylake", 5: "intel-sapphire", 6: "intel-emerald"}
#: RCCL prints 48 GB/s per xGMI link of an MI300X (ROCm/rccl issue 1210).
XGMI_PER_LINK = 48.0
#: Most GPUs that head a channel of NVLS (search.cc).
_NVLS_HEADS = 32


def communicator(facts: Facts, channels: int | None = None, pat: bool | None = None, rings: Rings | None = None) -> Communicator:
    """What NCCL's tuner would be told about this machine.

    Args:
        channels: a bound on the number of channels (NCCL_MAX_NCHANNELS).
        rings: what the search found on a Topology; None for the closed rule.
    """
    ring = ring_graph(facts) if rings is None else _searched(rings, facts)
    if channels is not None and 2 * ring.channels > channels:
        ring = replace(ring, channels=max(1, channels // 2))
    running = doubled(ring.channels)
    if facts.cc >= 90 and facts.nodes > 1 and ring.bw_intra > 45 and running < 16:
        running *= 2
    if channels is not None:
        running = min(running, channels)
    return Communicator(
        ranks=facts.ranks,
        nodes=facts.nodes,
        cc=facts.cc or 90,
        cpu=facts.cpu,
        ring=ring,
        tree=tree_graph(facts, ring),
        nvls=nvls_graph(facts, ring),
        channels=running,
        pat=pat,
    )


def ring_graph(facts: Facts) -> Graph:
    """Channels and speed of the ring search."""
    inside = intra_bandwidth(facts)
    path = path_type(facts)
    if facts.nodes == 1:
        channels, speed = _fit(inside, inside, facts)
        return _duplicated(Graph(channels, speed, speed, path, "LOC", True), facts)
    nic = facts.nic_rate / 1e9 * (0.96 if facts.net != "tcp" else 1.0)  # 100 Gb NIC counts as 12 GB/s (topo.h)
    slot = c.PCIE_X16[facts.pcie] * (0.5 if facts.gdr is False else 1.0)
    per_nic = min(nic, slot * max(1.0, facts.local / facts.nics))
    total = per_nic * facts.nics if facts.local == 1 else min(per_nic * facts.nics, inside)
    channels, speed = _fit(per_nic, total, facts)
    type_inter = "PXN" if facts.nvswitch and facts.cc >= 90 else "PXB" if facts.gdr is not False else "PHB"
    return _duplicated(Graph(channels, speed, speed, path if facts.local > 1 else "LOC", type_inter, facts.nvswitch), facts)


def _searched(rings: Rings, facts: Facts) -> Graph:
    found = Graph(len(rings.channels), rings.speed, rings.speed, rings.type_intra, rings.type_inter, rings.same_channels)
    return _duplicated(found, facts)


def tree_graph(facts: Facts, ring: Graph) -> Graph:
    """The tree search is asked for as many channels as the ring has; between nodes it may be faster inside."""
    if facts.nodes > 1 and facts.local == 1:
        return replace(ring, bw_intra=2 * ring.bw_intra, pattern=c.TREE)
    pattern = c.BALANCED_TREE if facts.cc >= 80 else c.SPLIT_TREE
    if facts.nodes == 1:
        return replace(ring, pattern=pattern)
    room = intra_bandwidth(facts) / ring.channels
    raised = [s for s in c.speeds(facts.cc or 90, 2) if ring.bw_inter < s <= min(room, 2 * ring.bw_inter)]
    return replace(ring, bw_intra=max(raised, default=ring.bw_intra), pattern=pattern)


def nvls_graph(facts: Facts, ring: Graph) -> Graph | None:
    """One channel per GPU; every link carries (GPUs + 1) times a channel's speed. None without NVLink SHARP."""
    if facts.cc < 90 or not facts.nvswitch or facts.local < 2 or facts.cc in (120, 121):
        return None
    inside, heads = intra_bandwidth(facts), min(facts.local, _NVLS_HEADS)
    speed = next((s for s in c.speeds(facts.cc, 1) if s * (heads + 1) <= inside), 3.0)
    if facts.nodes == 1:
        raised = max((s for s in c.speeds(facts.cc, 1) if s < 2 * speed), default=speed)
        return Graph(heads, speed, raised, "NVL", "LOC", True, pattern=c.NVLS)
    return Graph(heads, speed, ring.channels * ring.bw_inter / heads, "NVL", "PXN", True, pattern=c.NVLS)


def intra_bandwidth(facts: Facts) -> float:
    """GB/s that one GPU has towards its peers, by NCCL's constants."""
    if facts.inside in ("nvswitch", "mesh", "cube", "bridge"):
        key = max(k for k in c.NVLINK if k <= facts.cc)
        sold = 14.0625 if facts.cc in (86, 89) else NVLINK_GBPS[{60: 1, 70: 2, 75: 2, 80: 3, 90: 4, 100: 5}[key]]
        return facts.link_rate / 1e9 / sold * c.NVLINK[key]
    if facts.inside == "xgmi":
        return facts.link_rate / 64e9 * XGMI_PER_LINK
    slot = c.PCIE_X16[facts.pcie]
    if facts.inside == "host" or facts.crossing:
        shared = 2.0 if facts.inside == "host" else 1.0
        return min(slot / shared, socket_bandwidth(facts)) if facts.crossing else slot / shared
    return slot if facts.local > 1 else c.PCIE_X16[facts.pcie]


def socket_bandwidth(facts: Facts) -> float:
    """GB/s between the two sockets of a node, by NCCL's constants."""
    return c.SOCKET["amd" if facts.cpu == "amd" else "arm" if facts.cpu == "arm" else _SOCKET_BY_PCIE.get(facts.pcie, "intel-broadwell")]


def path_type(facts: Facts) -> str:
    """Worst type of path between two neighbours of the ring inside a node."""
    if facts.inside in ("nvswitch", "mesh", "bridge", "xgmi", "cube"):
        return "NVL"
    if facts.inside == "pcie":
        return "SYS" if facts.crossing else "PIX" if facts.switches == 1 else "PXB" if facts.switches else "PHB"
    return "LOC" if facts.inside == "none" else "SYS" if facts.crossing else "PHB"


def _fit(per_channel: float, total: float, facts: Facts) -> tuple[int, float]:
    """Channels and their speed: the first speed of the table that uses the most of `total` GB/s, each at most `per_channel`."""
    best = (1, 0.1)
    ends = facts.nics if facts.nodes > 1 else 1.0
    for speed in c.speeds(facts.cc or 90, facts.nodes):
        if speed > per_channel * 1.0001:
            continue
        fits = min(c.SEARCH_CHANNELS // 2, math.floor(total / speed + 1e-6), math.floor(per_channel / speed + 1e-6) * max(1, int(ends)))
        if fits >= 1 and fits * speed > best[0] * best[1] * 1.0001:
            best = (fits, speed)
        if best[0] * best[1] >= total:
            break
    return best


def _duplicated(graph: Graph, facts: Facts) -> Graph:
    """Fast channels are cut in two slower ones (search.cc, ncclTopoDupChannels)."""
    if graph.bw_intra < 25 or (facts.cc > 80 and graph.bw_intra < 50 and graph.channels > 4):
        return graph
    count = min(2 * graph.channels, c.SEARCH_CHANNELS // 2)
    cut = -(-count // graph.channels)
    return replace(graph, channels=count, bw_intra=graph.bw_intra / cut, bw_inter=graph.bw_inter / cut)
