"""How long an algorithm takes over the links of a machine: launch, steps, bytes on the tightest link, and the pipeline
between.

The second opinion beside NCCL's tuner. Assumptions, each with its data in `links`:

- Time = launch + steps + bytes of the tightest link / what that link carries + the part of the pipeline that steps
  cannot hide.
- A benchmark launches a call while the one before still runs: only the longer of the two counts, softened
  (`launch_time`).
- Bytes are counted per link direction: 2(n-1)/n of the buffer for a ring, S(1+1/n) for NVLS, and so on (`loads`).
- What a link carries is a fraction of its nominal rate per kind of link, found from large transfers only.
- A step costs the library's latency for that protocol and kind of link, times one factor per kind; where software
  drives the network, a fixed time more.
- Through host memory both directions share one path: a collective that sends and receives gets about half.
- TCP carries what a CPU moves per NIC, whatever the wire.
- Sends and receives that meet in the host bridge of a slot share it: a card slower than half of its slot is not held
  back.
- Two trees load the busiest of two, three and more nodes with 1, 1.5 and 2 buffers (`tree_load`).
- A send has ten of the warps where a ring has sixteen, and a small one has one channel (`_piece_time`).
- Small calls of a broadcast or reduce with LL run ahead of one another, as its root waits for nobody (`_filled`).
- Blocks that are no multiple of 16 bytes are copied more slowly (`unaligned`).
- Cables between switches that many hops share, and longer ways over them, cost what the topology's links say
  (`machine.between`); facts from words have one switch between all cards.
- The last rank of a ring can finish only when its last slice has been copied out: half a chunk of every channel
  (`drain`).

Inside: seconds, bytes, B/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..machine.fabric_cost import ONE_SWITCH, FabricCost
from ..machine.facts import PCIE_GBPS, Facts
from ..search import constants as c
from . import rccl
from .links import FABRICS, MEASURED, LinkParameters
from .tuner import Communicator, count_filled_channels, get_cap_column

_ROOTED = ("broadcast", "reduce")
_BLOCKS = ("allgather", "reduce_scatter")
_POINT_TO_POINT = ("alltoall", "sendrecv")
#: Slots of a channel's buffer: so many calls may be on their way (NCCL src/include/device.h NCCL_STEPS). Bytes that a
#: thread copies at a time.
_SLOTS, _AT_A_TIME = 8, 16
#: Bytes of a chunk of a channel with Simple, and the slices it is cut in: half of the 4 MiB buffer, sent in two (NCCL
#: src/include/device.h NCCL_STEPS, collectives.h ALLREDUCE_CHUNKSTEPS and ALLREDUCE_SLICESTEPS; allgather and
#: reduce-scatter the same).
_CHUNK, _SLICES = 2**21, 2
#: Share of the bytes on the wire that is data: flags take half of LL's lines and 1 in 16 of LL128's (NCCL counts 0.92;
#: tuning.cc).
_PAYLOAD = {"LL": 0.5, "LL128": 0.92, "Simple": 1.0}
#: Buffers that the busiest of so many nodes sends for the two trees (NCCL src/graph/trees.cc, ncclGetDtree). Of two,
#: half to its parent in one tree and half to its child in the other. Three are chains: up and down where it stands
#: between, half in the other. From four on a node with two children sends three halves, and one as a leaf: 2.
_TREE_LOADS = {1: 0.0, 2: 1.0, 3: 1.5}
#: Share of a ring's warps that sends have: 10 of the 20 of a block of 640 threads, 9 receive and 1 is left, where a
#: ring's copies with 16 (NCCL src/device/sendrecv.h, nSendWarpPerWork; NCCL_MAX_NTHREADS, NCCL_SIMPLE_MAX_NTHREADS).
_SENDING = 10 / 16
#: Bytes that a send hands over at once (NCCL src/init.cc: NCCL_P2P_NVL_CHUNKSIZE, NCCL_P2P_PCI_CHUNKSIZE and
#: NCCL_P2P_NET_CHUNKSIZE).
_NVLINK_CHUNK, _CHUNK_ELSEWHERE = 2**19, 2**17
#: Peers of an alltoall up to which its launch grows: no alltoall of less than 32 MiB measured has more than 32 ranks
#: (`origins`).
_PEERS = 32


@dataclass(frozen=True)
class Call:
    """One call: what, how, of how many bytes (nccl-tests' size), where, and what is known of the links and of the way
    between nodes."""

    collective: str
    algorithm: str
    protocol: str
    nbytes: int
    facts: Facts
    comm: Communicator
    links: LinkParameters = MEASURED
    fabric: FabricCost = ONE_SWITCH


@dataclass(frozen=True)
class TimeParts:
    """A prediction taken apart, all in seconds. `total` is their sum; `limit` names the tightest link."""

    launch: float
    steps: float
    bytes: float
    fill: float
    limit: str

    @property
    def total(self) -> float:
        return self.launch + self.steps + self.bytes + self.fill

    def scale(self, factor: float) -> TimeParts:
        """All parts by a factor: what a calibration found that the parts do not explain."""
        return TimeParts(self.launch * factor, self.steps * factor, self.bytes * factor, self.fill * factor, self.limit)


def compute_time(call: Call) -> TimeParts:
    """Seconds of one call, taken apart."""
    steps = compute_step_time(call, call.collective, call.protocol)
    flow, limit = compute_byte_time(call)
    fill = compute_fill_time(call, steps, flow)
    return TimeParts(compute_launch_time(call, steps + flow + fill), steps, flow, fill, limit)


def compute_launch_time(call: Call, busy: float = 0.0) -> float:
    """Seconds that starting adds to `busy` seconds of steps and bytes: a kernel's own start, and what launching it on
    the host takes beyond the kernel before, which it overlaps with.

    Both together are the `overlap` norm of the two: 1 is their sum, infinity the longer one.
    """
    k = call.links
    kernel = busy + (k.kernel_p2p if call.collective in _POINT_TO_POINT else k.kernel)
    longer, shorter = sorted((compute_host_time(call), kernel), reverse=True)
    joined: float = longer * (1 + (shorter / longer) ** k.overlap) ** (1 / k.overlap)
    return joined - busy


def compute_host_time(call: Call) -> float:
    """Seconds that a process needs to launch a call on its GPUs; none for a graph that was captured before."""
    k, facts = call.links, call.facts
    if facts.launch == "graph":
        return 0.0
    first = k.launch_p2p if call.collective in _POINT_TO_POINT else k.launch
    if call.collective in _ROOTED and facts.nodes > 1:
        return first  # a process per GPU, and the root does not wait for the others
    peers = min(facts.ranks - 1, _PEERS) * k.peer if call.collective == "alltoall" else 0.0
    each = k.launch_each if facts.launch else k.launch_per_gpu
    gpus = 1 if facts.launch == "process per gpu" else facts.ranks_per_host
    return first + each * gpus * (k.blocks if call.collective in _BLOCKS else 1.0) + peers


def compute_step_time(call: Call, collective: str, protocol: str) -> float:
    """Seconds spent in steps that wait for one another."""
    k, facts = call.links, call.facts
    near, far = count_hops(collective, call.algorithm, facts)
    p, nvls = c.PROTOCOLS.index(protocol), call.algorithm in c.IN_NVSWITCH
    factors = k.step_bulk if protocol == "Simple" else k.step
    row = "NVLINK" if facts.wiring in FABRICS or nvls else "PCI"
    inside = _latency(call, row, call.algorithm, p) * factors.get("nvls" if nvls else facts.wiring, 1.0)
    table = "Tree" if facts.local_ranks == 1 and not nvls else call.algorithm
    between = _latency(call, "NET", table, p) * factors.get(facts.net, 1.0)
    if facts.nodes > 1 and facts.gdr is False and facts.net != "tcp":
        between *= k.step_without_gdr
    if protocol != "Simple" and call.nbytes >= k.eager.get(facts.net, math.inf):
        between += k.rendezvous * 1e6
    between += call.fabric.hop_delay * 1e6
    between += k.software.get(facts.net, 0.0) * 1e6
    if collective in _ROOTED:  # a slot is free when word of it has come back, after two hops
        between *= min(1.0, 2 * max(_filled(call), 1 / _SLOTS))
    own = c.PAT_PER_RANK * facts.ranks if call.algorithm == "PAT" else 0.0
    return (near * inside + far * between + own) * 1e-6


def _latency(call: Call, row: str, algorithm: str, protocol: int) -> float:
    """Microseconds of a step by the library's own table."""
    if call.comm.rccl:
        return rccl.get_step_latency(row, algorithm, protocol)
    return c.STEP_LATENCY[row][algorithm][protocol]


def count_hops(collective: str, algorithm: str, facts: Facts) -> tuple[float, float]:
    """Steps inside a node and between nodes that follow one another."""
    depth = math.log2(facts.nodes)
    if algorithm == "Tree":
        return 2 * (facts.local_ranks - 1), 2 * depth
    if algorithm in ("NVLS", "NVLSTree"):
        return 1, 2 * depth
    if algorithm == "PAT":
        return 0, depth
    if collective in (*_ROOTED, *_POINT_TO_POINT):
        return (1, 0) if facts.nodes == 1 else (0, 1)
    rounds = 2 if collective == "allreduce" else 1
    far = rounds * (facts.nodes - 1)
    return rounds * (facts.ranks - 1) - far, far


def compute_fill_time(call: Call, steps: float, flow: float) -> float:
    """What a step cannot overlap with the next: grows as the root of latency and bytes, gone where chunks are many.

    Thread blocks of newer GPUs move more, so that less is left: by NCCL's own rate per channel
    (constants.RING_LL128_MAX).
    """
    k, facts = call.links, call.facts
    if call.collective in _POINT_TO_POINT:
        return _piece_time(call, flow)
    slow = _slower(facts)
    wait = steps + k.wait[call.protocol]
    if call.collective in _ROOTED:
        wait += k.chain * _filled(call) * compute_step_time(call, "allgather", "Simple")
    share = k.fill[call.protocol] * (k.fill_pcie if facts.nodes == 1 and facts.wiring in ("pcie", "host") else 1.0)
    pipeline = slow * share * math.sqrt(wait * flow) / (1 + flow / (wait * k.fade[call.protocol]))
    return pipeline + compute_drain_time(call, flow)


def _filled(call: Call) -> float:
    """Share of the slots of its way that a broadcast or reduce fills, 1 where it waits for the call before: with LL the
    root goes on while small calls are on their way; with Simple all wait for their neighbours at the end of a call."""
    return min(1.0, call.nbytes / call.links.run_ahead) if call.protocol == "LL" else 1.0


def _piece_time(call: Call, flow: float) -> float:
    """What sends and receives add to `flow`: a small piece goes over one channel, which is slower than the link; of a
    large one, whose parts go over many at once, the last chunk."""
    facts, rate = call.facts, compute_channel_rate(call) * _SENDING
    piece = call.nbytes / (facts.ranks if call.collective == "alltoall" else 1)
    chunk = _NVLINK_CHUNK if facts.nodes == 1 and facts.wiring in FABRICS else _CHUNK_ELSEWHERE
    return max(min(piece, call.links.p2p_split) / rate - flow, min(piece, chunk) / rate)


def compute_channel_rate(call: Call) -> float:
    """B/s that one channel moves."""
    return call.links.channel[call.protocol] / _slower(call.facts)


def _slower(facts: Facts) -> float:
    """How much slower the thread blocks of Volta and Ampere are than those of this GPU, as NCCL counts them."""
    return c.RING_LL128_MAX["Volta"][0] / c.RING_LL128_MAX[c.get_generation(facts.cc or 90)][0]


def compute_drain_time(call: Call, flow: float) -> float:
    """What the last slice of a ring adds: it is received before it is copied out, with nothing behind it to overlap
    with.

    Of 2(n-1) or n-1 chunks of S/n in a row the last adds a slice: half of a two-rank allgather, nothing to speak of for
    many ranks or once a channel has several rounds of full chunks. LL and LL128 pass on single lines, so that they have
    none. A bound on the number of channels does not shorten it: nobody measured that, and NCCL with fewer channels is
    not known to be faster.
    """
    n = call.facts.ranks
    if (
        call.algorithm != "Ring"
        or call.protocol != "Simple"
        or call.collective in _ROOTED
        or call.nbytes == 0
        or n == 1
    ):
        return 0.0
    steps = (2 if call.collective == "allreduce" else 1) * (n - 1)
    return (
        flow
        / steps
        / _SLICES
        * min(1.0, _CHUNK * n * (call.comm.unbounded_channels or call.comm.running_channels) / call.nbytes)
    )


def compute_byte_time(call: Call) -> tuple[float, str]:
    """Seconds that the bytes need on the tightest link, and which that is."""
    facts, tree = call.facts, call.algorithm == "Tree"
    near, far = compute_loads(call.collective, call.algorithm, facts)
    share = _PAYLOAD[call.protocol]
    times: dict[str, float] = {}
    if facts.local_ranks > 1:
        inside = share * (call.links.tree if tree else 1.0)
        times[facts.wiring] = near * call.nbytes / (compute_intra_rate(call) * inside)
    if facts.nodes > 1:
        times[facts.net] = far * call.nbytes / (compute_net_rate(call) * share)
    if facts.nodes > 1 and call.fabric.slowdown > 1:
        times["fabric"] = far * call.nbytes / (compute_fabric_rate(call) * share)
    if has_unaligned_blocks(call.collective, call.protocol, call.nbytes, facts.ranks):
        times = {name: seconds / call.links.unaligned for name, seconds in times.items()}
    if (cap := compute_channel_cap(call)) < math.inf:
        times["channels"] = (far if tree and facts.nodes > 2 else near) * call.nbytes / cap
    limit = max(times, key=lambda name: times[name])
    return times[limit], limit


def has_unaligned_blocks(collective: str, protocol: str, nbytes: int, ranks: int) -> bool:
    """Whether ranks' blocks do not begin where a thread can copy 16 bytes at a time. LL copies 8 whatever comes; a size
    that ranks do not divide is rounded to 16 bytes each, as nccl-tests does."""
    block, rest = divmod(nbytes, ranks)
    return collective in _BLOCKS and protocol != "LL" and rest == 0 and block % _AT_A_TIME != 0


def compute_loads(collective: str, algorithm: str, facts: Facts) -> tuple[float, float]:
    """Buffers that the busiest GPU sends over its links inside the node, and that a node sends to the network."""
    n, nodes, local = facts.ranks, facts.nodes, facts.local_ranks
    if collective == "alltoall":
        return (n - 1) / n, (n - local) * local / n
    if collective == "sendrecv" or collective in _ROOTED:
        return 1.0, 1.0
    if algorithm == "Tree":
        return (1.0 if n == 2 else 2.0), get_tree_load(nodes)
    if algorithm in ("NVLS", "NVLSTree"):
        return (1 + 1 / local if collective == "allreduce" else (n - 1) / n), get_tree_load(nodes)
    rounds = 2 if collective == "allreduce" else 1
    return rounds * (n - 1) / n, rounds * (n - 1) / n


def get_tree_load(nodes: int) -> float:
    """Buffers that the busiest node sends over the network for two trees, each of half of the buffer, up and down."""
    return _TREE_LOADS.get(nodes, 2.0)


def compute_intra_rate(call: Call) -> float:
    """B/s that a GPU really moves to its peers in one direction."""
    k, facts = call.links, call.facts
    if facts.wiring == "host":
        one_way = call.collective in _ROOTED or facts.staged_between_switches
        rate = facts.link_rate * k.host_one_way * (1.0 if one_way else 0.5)
        return rate * k.host_crossing if facts.crosses_sockets else rate
    if (
        call.algorithm in ("NVLS", "NVLSTree") and call.collective == "allreduce"
    ):  # others only multicast, as fast as a ring
        return facts.link_rate * k.nvls_carries[90 if facts.cc < 100 else 100]
    rate = facts.link_rate * k.carries[get_intra_kind(facts)]
    return rate * k.crossing if facts.wiring == "pcie" and facts.crosses_sockets else rate


def get_intra_kind(facts: Facts) -> str:
    """The entry of `links.CARRIES` for the links inside a node."""
    if facts.wiring in ("nvswitch", "mesh", "cube"):
        return f"nvlink-{max(g for g in (70, 80, 90, 100) if g <= max(facts.cc, 70))}"
    return f"pcie{facts.pcie}" if facts.wiring == "pcie" else facts.wiring


def compute_net_rate(call: Call) -> float:
    """B/s that the NICs of a node really carry in one direction."""
    k, facts = call.links, call.facts
    nics = 1.0 if call.collective == "sendrecv" else facts.nics
    rate = facts.nic_rate * k.carries[facts.net]
    if facts.net == "tcp":
        rate = min(rate, k.tcp_per_nic)
    elif call.collective not in _ROOTED:  # one way alone is not held back
        rate = min(rate, compute_bridge_rate(call))
    rate *= k.net_p2p.get(call.collective, 1.0)
    return min(nics * rate, c.PCIE_X16[facts.pcie] * 1e9 * facts.local_ranks)


def compute_bridge_rate(call: Call) -> float:
    """B/s that send and receive each get where they meet on the way to a NIC, in its slot's host bridge or in host
    memory; inf where a NIC sits on the GPU's own switch."""
    k, facts = call.links, call.facts
    slot = PCIE_GBPS[facts.pcie] * 1e9
    if facts.gdr is False and facts.net in ("ib", "roce", "efa"):
        return slot * k.without_gdr
    return slot * k.host_bridge if facts.is_pcie_card else math.inf


def compute_fabric_rate(call: Call) -> float:
    """B/s that cables between switches leave to a node in one direction: they carry as much of their nominal rate as
    cards do."""
    k, facts = call.links, call.facts
    nics = 1.0 if call.collective == "sendrecv" else facts.nics
    rate = nics * facts.nic_rate * k.carries[facts.net]
    return min(rate, c.PCIE_X16[facts.pcie] * 1e9 * facts.local_ranks) / call.fabric.slowdown


def compute_channel_cap(call: Call) -> float:
    """B/s that the thread blocks of all channels can move, by NCCL's own caps and by what a channel moves of those that
    a call of this size fills; inf for NVLS, where the switch moves them.
    """
    if call.collective in _POINT_TO_POINT or call.algorithm in c.IN_NVSWITCH:
        return _nccls_cap(call)
    filled = count_filled_channels(call.algorithm, call.protocol, call.comm, call.nbytes)
    return min(_nccls_cap(call), filled * compute_channel_rate(call))


def _nccls_cap(call: Call) -> float:
    """B/s of all channels by NCCL's own numbers.

    NCCL counts those of LL128 and of trees by the channels of its search, which run twice. A ring with Simple, sends
    and receives have no cap of NCCL's: one channel is taken to move what a channel of the search moves with LL128,
    which is twice its share and binds only where NCCL_MAX_NCHANNELS leaves few. LL fills half of its lines.
    """
    comm, at = call.comm, get_cap_column(call.comm.nodes)
    row, channels = c.get_generation(comm.cc), min(comm.ring.channels, comm.running_channels / 2) * 1e9
    if call.algorithm in c.IN_NVSWITCH:
        return math.inf
    alone = comm.running_channels * c.RING_LL128_MAX[row][at] * 1e9
    if call.protocol == "LL":
        total = c.LL_MAX[row if comm.nodes == 1 else "Ampere" if comm.cpu == "amd" else "Volta"][at] * 1e9
        return min(total, alone * _PAYLOAD["LL"])
    if call.algorithm == "Tree":
        cap = channels * c.TREE_MAX[row][at]
        return min(cap, channels * c.TREE_LL128_MAX[row][at]) if call.protocol == "LL128" else cap
    if call.algorithm == "Ring" and call.protocol == "LL128":
        return channels * c.RING_LL128_MAX[row][at]
    return alone
