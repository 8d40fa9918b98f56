"""How long an algorithm takes over the links of a machine: launch, steps, bytes on the tightest link, and the pipeline
between.

The second opinion next to NCCL's tuner. Assumptions, each with its data in `links`:

- Time = launch + steps + bytes of the tightest link / what that link carries + the part of the pipeline that steps
  cannot hide.
- A benchmark launches a call while the one before still runs: only the longer of the two counts, softened
  (`compute_launch_time`).
- Bytes are counted per link direction: 2(n-1)/n of the buffer for a ring, S(1+1/n) for NVLS, and so on
  (`compute_loads`).
- What a link carries is a fraction of its nominal rate per kind of link, found from large transfers only.
- A step costs the library's latency for that protocol and kind of link, times one factor per kind; where software
  drives the network, a fixed time more.
- Through host memory a hop is two copies, and all hops share PCIe links, memory and the link between sockets
  (`machine.host_flows`).
- The link between sockets carries its nominal rate: no measurement at hand comes near it (a ring puts one flow in each
  direction on it, and 35 GB/s cross it in NVIDIA/nccl issue 1130).
- TCP carries what a CPU moves per NIC, whatever the wire.
- Sends and receives that meet in the host bridge of a slot share it: a card slower than half of its slot is not held
  back.
- Two trees load the busiest of two, three and more nodes with 1, 1.5 and 2 buffers (`get_tree_load`).
- Sends and receives copy with 10 warps (rings with 16), and small ones use one channel (`_compute_piece_time`).
- Small calls of a broadcast or reduce with LL run ahead of one another, as its root waits for nobody
  (`_compute_filled_share`).
- Blocks that are no multiple of 16 bytes are copied more slowly (`has_unaligned_blocks`).
- Cables between switches that many hops share, and longer ways over them, cost what the topology's links say
  (`machine.fabric_cost`); facts without a topology have one switch between all cards.
- The last rank of a ring can finish only when its last slice has been copied out: half a chunk of every channel
  (`compute_drain_time`).

Inside: seconds, bytes, B/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..machine.fabric_cost import ONE_SWITCH, FabricCost
from ..machine.host_flows import compute_staged_rates
from ..machine.link_loads import LinkLoads
from ..machine.machine_facts import PCIE_GBPS, Facts
from ..search import constants as c
from . import rccl
from .links import FABRICS, MEASURED, LinkParameters
from .tuner import Communicator, count_filled_channels

_ROOTED = ("broadcast", "reduce")
_BLOCKS = ("allgather", "reduce_scatter")
_POINT_TO_POINT = ("alltoall", "sendrecv")
#: Slots of a channel's buffer: so many calls may be on their way (NCCL src/include/device.h NCCL_STEPS). Bytes that a
#: thread copies at a time.
_NCCL_STEPS, _BYTES_PER_THREAD = 8, 16
#: Bytes of a chunk of a channel with Simple, and the slices it is cut in: half of the 4 MiB buffer, sent in two (NCCL
#: src/include/device.h NCCL_STEPS, collectives.h ALLREDUCE_CHUNKSTEPS and ALLREDUCE_SLICESTEPS; allgather and
#: reduce-scatter the same).
_CHUNK, _SLICES = 2**21, 2
#: Share of the bytes on the wire that is data: flags take half of LL's lines and 1 in 16 of LL128's (NCCL counts 0.92;
#: tuning.cc).
_PAYLOAD = {"LL": 0.5, "LL128": 0.92, "Simple": 1.0}
#: Buffers that the busiest of so many nodes sends for the two trees (NCCL src/graph/trees.cc, ncclGetDtree). Of two,
#: half to its parent in one tree and half to its child in the other. Three are chains: up and down where it is between
#: the others, half in the other tree. From four on a node with two children sends three halves, and one as a leaf: 2.
_TREE_LOADS = {1: 0.0, 2: 1.0, 3: 1.5}
#: GPUs of a board, whose NVLS rounds the constants are of: a round takes heads x channels x chunk (NCCL
#: src/device/all_reduce.h), 512 MiB on 72 GPUs take 0.55 ms more than their bytes (coreweave/nccl-tests pull request
#: 43). And trays of an NVLink domain up to which NVLS is as fast as on a board (`LinkParameters.nvls_domain`).
_BOARD, _NEAR_TRAYS = 8, 2
#: Share of a ring's warps that sends have: 10 of the 20 of a block of 640 threads, 9 receive and 1 is left, where a
#: ring copies with 16 (NCCL src/device/sendrecv.h, nSendWarpPerWork; NCCL_MAX_NTHREADS, NCCL_SIMPLE_MAX_NTHREADS).
_SENDING = 10 / 16
#: Bytes that a send hands over at once (NCCL src/init.cc: NCCL_P2P_NVL_CHUNKSIZE, NCCL_P2P_PCI_CHUNKSIZE and
#: NCCL_P2P_NET_CHUNKSIZE).
_NVLINK_CHUNK, _CHUNK_ELSEWHERE = 2**19, 2**17
#: Peers of an alltoall up to which its launch grows: no alltoall of less than 32 MiB measured has more than 32 ranks
#: (`origins`).
_PEERS = 32


@dataclass(frozen=True)
class Call:
    """One call of a collective, and all that its time depends on.

    Attributes:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        protocol: one of `constants.PROTOCOLS`.
        nbytes: nccl-tests' size, bytes.
        facts: the machine.
        comm: the ranks as NCCL's tuner sees them.
        links: what the links carry.
        fabric: what the links between nodes cost in comparison with one switch.
        loads: what the machine's own links have to carry; None where only words are known.
    """

    collective: str
    algorithm: str
    protocol: str
    nbytes: int
    facts: Facts
    comm: Communicator
    links: LinkParameters = MEASURED
    fabric: FabricCost = ONE_SWITCH
    loads: LinkLoads | None = None


@dataclass(frozen=True)
class TimeParts:
    """The parts of a predicted time, in seconds.

    Attributes:
        launch: starting the call.
        steps: steps that wait for one another.
        bytes: moving the bytes over the tightest link.
        fill: what the pipeline cannot hide.
        limit: the tightest link.
    """

    launch: float
    steps: float
    bytes: float
    fill: float
    limit: str

    @property
    def total(self) -> float:
        """Seconds of all parts together."""
        return self.launch + self.steps + self.bytes + self.fill

    def scale(self, factor: float) -> TimeParts:
        """Scale all parts, by what a calibration found that they do not explain.

        Args:
            factor: factor on each part.

        Returns:
            The scaled parts.
        """
        return TimeParts(self.launch * factor, self.steps * factor, self.bytes * factor, self.fill * factor, self.limit)


def compute_time(call: Call) -> TimeParts:
    """Compute how long a call takes.

    Args:
        call: the call.

    Returns:
        The parts of its time.
    """
    if rccl.runs_mscclpp(call.facts, call.collective, call.nbytes):
        # Its kernels send data with flags to all others at once, which takes the bytes of a ring with LL.
        call = replace(call, algorithm="Ring", protocol="LL")
    steps = compute_step_time(call, call.collective, call.protocol)
    byte_time, limit = compute_byte_time(call)
    fill = compute_fill_time(call, steps, byte_time)
    return TimeParts(compute_launch_time(call, steps + byte_time + fill), steps, byte_time, fill, limit)


def compute_launch_time(call: Call, busy: float = 0.0) -> float:
    """Compute what starting adds to a call: a kernel's own start, and what launching it on the host takes beyond the
    kernel before, which it overlaps with.

    Both together are the `overlap` norm of the two: 1 is their sum, infinity the longer one.

    Args:
        call: the call.
        busy: seconds of its steps and bytes.

    Returns:
        Seconds.
    """
    links = call.links
    kernel = busy + (links.kernel_p2p if call.collective in _POINT_TO_POINT else links.kernel)
    longer, shorter = sorted((compute_host_time(call), kernel), reverse=True)
    if longer == 0:
        return 0.0
    # The longer one is taken out of the root, so that neither power can overflow.
    total: float = longer * (1 + (shorter / longer) ** links.overlap) ** (1 / links.overlap)
    return total - busy


def compute_host_time(call: Call) -> float:
    """Compute what a process needs to launch a call on its GPUs.

    Args:
        call: the call.

    Returns:
        Seconds; 0 for a graph that was captured before.
    """
    links, facts = call.links, call.facts
    # A captured graph is launched once for all of its calls.
    if facts.launch == "graph":
        return 0.0
    first = links.launch
    if call.collective in _POINT_TO_POINT:
        first = links.launch_p2p
    if call.collective in _ROOTED and facts.nodes > 1:
        return first  # a process per GPU, and the root does not wait for the others
    peers = 0.0
    if call.collective == "alltoall":
        peers = min(facts.ranks - 1, _PEERS) * links.peer
    per_gpu = links.launch_per_gpu
    if facts.launch:
        per_gpu = links.launch_each
    # Each process launches for its own GPU, or one for all in turn.
    gpus = 1
    if facts.launch != "process per gpu":
        gpus = facts.ranks_per_host
    block_factor = 1.0
    if call.collective in _BLOCKS:
        block_factor = links.blocks
    return first + per_gpu * gpus * block_factor + peers


def compute_step_time(call: Call, collective: str, protocol: str) -> float:
    """Compute the time of steps that wait for one another.

    Args:
        call: the call.
        collective: whose steps are counted, the call's or another with the same algorithm.
        protocol: one of `constants.PROTOCOLS`.

    Returns:
        Seconds.
    """
    links, facts = call.links, call.facts
    if rccl.runs_mscclpp(facts, collective, call.nbytes):  # no fit has its steps: RCCL's own latency
        return rccl.MSCCLPP_STEPS * _get_step_latency(call, "NVLINK", "Ring", c.PROTOCOLS.index("LL")) * 1e-6
    intra_steps, inter_steps = count_hops(collective, call.algorithm, facts)
    p, is_nvls, is_simple = c.PROTOCOLS.index(protocol), call.algorithm in c.IN_NVSWITCH, protocol == "Simple"
    factors = links.step
    if is_simple:
        factors = links.step_bulk
    intra_link = "PCI"
    if facts.wiring in FABRICS or is_nvls:
        intra_link = "NVLINK"
    intra_factor = factors.get("nvls" if is_nvls else facts.wiring, 1.0)
    intra = _get_step_latency(call, intra_link, call.algorithm, p) * intra_factor
    if facts.wiring == "host":  # two copies wait no less than one over a link of the GPU
        over_links = _get_step_latency(call, "NVLINK", call.algorithm, p) * factors["nvswitch"]
        intra = max(intra, over_links)
    inter_algorithm = "Tree"
    if not (facts.local_ranks == 1 and not is_nvls):
        inter_algorithm = call.algorithm
    inter = _get_step_latency(call, "NET", inter_algorithm, p) * factors.get(facts.net, 1.0)
    if facts.nodes > 1 and facts.gdr is False and facts.net != "tcp":
        inter *= links.step_without_gdr
    if not is_simple and call.nbytes >= links.eager.get(facts.net, math.inf):
        # The constants are in seconds, the library's table of latencies is in microseconds.
        inter += links.rendezvous * 1e6
    inter += call.fabric.hop_delay * 1e6
    inter += links.software.get(facts.net, 0.0) * 1e6
    if collective in _ROOTED:  # a slot is free when word of it has come back, after two hops
        inter *= min(1.0, 2 * max(_compute_filled_share(call), 1 / _NCCL_STEPS))
    rank_time = 0.0
    if call.algorithm == "PAT":
        rank_time = c.PAT_PER_RANK * facts.ranks
    return (intra_steps * intra + inter_steps * inter + rank_time) * 1e-6


def _get_step_latency(call: Call, link: str, algorithm: str, protocol: int) -> float:
    """Microseconds of a step by the library's own table."""
    if call.comm.rccl:
        return rccl.get_step_latency(link, algorithm, protocol)
    return c.STEP_LATENCY[link][algorithm][protocol]


def count_hops(collective: str, algorithm: str, facts: Facts) -> tuple[float, float]:
    """Count the steps that follow one another.

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        facts: the machine.

    Returns:
        Steps inside a node, and steps between nodes.
    """
    # Smooth, where NCCL's own count (`tuner.compute_latency`) rounds down.
    depth = math.log2(facts.nodes)
    if algorithm == "Tree":
        # Up to the root and down again; inside a node the tree is a chain.
        return 2 * (facts.local_ranks - 1), 2 * depth
    if algorithm in c.IN_NVSWITCH:
        return 1, 2 * depth
    if algorithm == "PAT":
        return 0, depth
    if collective in (*_ROOTED, *_POINT_TO_POINT):
        if facts.nodes == 1:
            return (1, 0)
        return (0, 1)
    rounds = 1
    if collective == "allreduce":
        rounds = 2
    inter_steps = rounds * (facts.nodes - 1)
    return rounds * (facts.ranks - 1) - inter_steps, inter_steps


def compute_fill_time(call: Call, steps: float, byte_time: float) -> float:
    """Compute what a step cannot overlap with the next: it grows as the root of latency and bytes, and is gone where
    chunks are many.

    Thread blocks of newer GPUs move more, so that less is left: by NCCL's own rate per channel
    (constants.RING_LL128_MAX).

    Args:
        call: the call.
        steps: seconds of its steps.
        byte_time: seconds of its bytes on the tightest link.

    Returns:
        Seconds.
    """
    links, facts = call.links, call.facts
    if call.collective in _POINT_TO_POINT:
        return _compute_piece_time(call, byte_time)
    wait = steps + links.wait[call.protocol]
    if call.algorithm in c.IN_NVSWITCH:  # a round of NVLS moves a chunk for each head, and each GPU is one
        wait *= max(1.0, facts.local_ranks / _BOARD)
    if call.collective in _ROOTED:
        wait += links.chain * _compute_filled_share(call) * compute_step_time(call, "allgather", "Simple")
    share = links.fill[call.protocol]
    if facts.nodes == 1 and facts.wiring in ("pcie", "host"):
        share *= links.fill_pcie
    # The pipeline fills once, however many bytes follow: the longer the bytes take, the less of it is left to see.
    fading = 1 + byte_time / (wait * links.fade[call.protocol])
    pipeline = _compute_slowness(facts) * share * math.sqrt(wait * byte_time) / fading
    return pipeline + compute_drain_time(call, byte_time)


def _compute_filled_share(call: Call) -> float:
    """Share of the slots of its way that a broadcast or reduce fills, 1 where it waits for the call before: with LL the
    root continues while small calls are on their way; with Simple all wait for their neighbours at the end of a
    call."""
    if call.protocol == "LL":
        return min(1.0, call.nbytes / call.links.run_ahead)
    return 1.0


def _compute_piece_time(call: Call, byte_time: float) -> float:
    """What sends and receives add to the time of the bytes: a small piece takes one channel, which is slower than the
    link; of a large one, whose parts take many at once, the last chunk."""
    facts, rate = call.facts, compute_channel_rate(call) * _SENDING
    if call.links.p2p_split == 0:
        return 0.0
    piece = call.nbytes / (facts.ranks if call.collective == "alltoall" else 1)
    chunk = _CHUNK_ELSEWHERE
    if facts.nodes == 1 and facts.wiring in FABRICS:
        chunk = _NVLINK_CHUNK
    return max(min(piece, call.links.p2p_split) / rate - byte_time, min(piece, chunk) / rate)


def compute_channel_rate(call: Call) -> float:
    """Compute what one channel moves.

    Args:
        call: the call.

    Returns:
        B/s.
    """
    return call.links.channel[call.protocol] / _compute_slowness(call.facts)


def _compute_slowness(facts: Facts) -> float:
    """How much slower the thread blocks of Volta and Ampere are than those of this GPU, as NCCL counts them."""
    return c.RING_LL128_MAX["Volta"][0] / c.RING_LL128_MAX[c.get_generation(facts.cc or 90)][0]


def compute_drain_time(call: Call, byte_time: float) -> float:
    """Compute what the last slice of a ring adds: it is received before it is copied out, with nothing behind it to
    overlap with.

    Of 2(n-1) or n-1 chunks of S/n in a row the last adds a slice: half of a two-rank allgather, nothing to speak of for
    many ranks or once a channel has several rounds of full chunks. LL and LL128 pass on single lines, so that they have
    none. A bound on the number of channels does not shorten it: nobody measured that, and NCCL with fewer channels is
    not known to be faster.

    Args:
        call: the call.
        byte_time: seconds of its bytes on the tightest link.

    Returns:
        Seconds.
    """
    ranks = call.facts.ranks
    if call.algorithm != "Ring" or call.protocol != "Simple" or call.collective in _ROOTED:
        return 0.0
    if call.nbytes == 0 or ranks == 1:
        return 0.0
    steps = (2 if call.collective == "allreduce" else 1) * (ranks - 1)
    channels = call.comm.unbounded_channels or call.comm.running_channels
    return call.links.drain * byte_time / steps / _SLICES * min(1.0, _CHUNK * ranks * channels / call.nbytes)


def compute_byte_time(call: Call) -> tuple[float, str]:
    """Compute the time that the bytes need on the tightest link.

    Args:
        call: the call.

    Returns:
        Seconds, and which link that is: a wiring, a network, `fabric` or `channels`.
    """
    facts, is_tree = call.facts, call.algorithm == "Tree"
    intra_load, inter_load = compute_loads(call.collective, call.algorithm, facts)
    times = compute_link_times(call)
    if has_unaligned_blocks(call.collective, call.protocol, call.nbytes, facts.ranks):
        times = {name: seconds / call.links.unaligned for name, seconds in times.items()}
    cap = compute_channel_cap(call)
    if cap < math.inf:
        channel_load = intra_load
        if is_tree and facts.nodes > 2:
            channel_load = inter_load
        times["channels"] = channel_load * call.nbytes / cap
    limit = max(times, key=lambda name: times[name])
    return times[limit], limit


def compute_link_times(call: Call) -> dict[str, float]:
    """Compute the time that the bytes of a call need on each sort of link.

    Args:
        call: the call.

    Returns:
        Seconds by wiring, network and `fabric`; `pcie` also for the slots between GPUs and network cards.
    """
    loads = get_loads(call)
    if loads is not None:
        return _time_loads(call, loads)
    facts, is_tree = call.facts, call.algorithm == "Tree"
    intra_load, inter_load = compute_loads(call.collective, call.algorithm, facts)
    payload = get_payload(call)
    times: dict[str, float] = {}
    if facts.local_ranks > 1:
        intra_share = payload * (call.links.tree if is_tree else 1.0)
        if is_tree and facts.wiring == "host":  # its rates are those of the buffer
            intra_load = 1.0
        times[facts.wiring] = intra_load * call.nbytes / (compute_intra_rate(call) * intra_share)
    if facts.nodes > 1:
        times[facts.net] = inter_load * call.nbytes / (compute_net_rate(call) * payload)
    if facts.nodes > 1 and call.fabric.slowdown > 1:
        times["fabric"] = inter_load * call.nbytes / (compute_fabric_rate(call) * payload)
    return times


def get_loads(call: Call) -> LinkLoads | None:
    """Get what the links of a machine carry for a call: by the cards of its channels, or, where the term `cards` is
    off, by a GPU's nearest.

    Args:
        call: the call.

    Returns:
        The loads; None for words alone.
    """
    if call.loads is not None and call.loads.by_channel is not None and call.links.card_spread:
        return call.loads.by_channel
    return call.loads


def _time_loads(call: Call, loads: LinkLoads) -> dict[str, float]:
    """Seconds that the bytes need on the links of the machine, at what these carry."""
    facts, links = call.facts, call.links
    nbytes = call.nbytes / get_payload(call)
    inside = nbytes
    if call.algorithm == "Tree":
        inside = nbytes / links.tree
    times: dict[str, float] = {facts.net: 0.0}
    if facts.wiring not in FABRICS:  # neighbours may have a bridge that others lack
        times["bridge"] = loads.gpu * inside / links.carries["bridge"]
    else:
        times[facts.wiring] = loads.gpu * inside / links.carries[get_intra_kind(facts)]
        if call.algorithm in c.IN_NVSWITCH:  # the switch multicasts and reduces, which are no hops from GPU to GPU
            times[facts.wiring] = (
                compute_loads(call.collective, call.algorithm, facts)[0] * nbytes / compute_intra_rate(call)
            )
    times[{"host": "host"}.get(facts.wiring, "pcie")] = max(compute_host_times(call).values())
    if loads.card > 0:  # GPUs of a node may count as nodes, and still write to one another
        # `card_spread` of the loads is how many cards share a GPU's traffic, that of the links how much of the gain
        # arrives: 0 is none of it, 1 is all.
        cards = 1 + (loads.card_spread - 1) * links.card_spread
        bytes_of_card = loads.card * loads.card_rate * nbytes / cards
        times[facts.net] = bytes_of_card / compute_card_rate(call, loads.card_rate)
        carries = links.carries[facts.net]
        times["fabric"] = loads.fabric * nbytes / carries
    return times


def compute_host_times(call: Call) -> dict[str, float]:
    """Compute the time that the bytes of a call need on the links of the host.

    Args:
        call: the call.

    Returns:
        Seconds by what limits it: `slot`, `memory` and `socket`.
    """
    links, loads = call.links, get_loads(call)
    if loads is None:
        intra_load = compute_loads(call.collective, call.algorithm, call.facts)[0]
        if call.algorithm == "Tree":  # its rates are those of the buffer
            intra_load = 1.0
        return {name: intra_load * call.nbytes / rate for name, rate in compute_host_rates(call).items()}
    nbytes = call.nbytes / get_payload(call)
    if call.algorithm == "Tree" and call.facts.wiring in ("pcie", "host"):  # elsewhere slots carry what cards do
        nbytes /= links.tree
    return {
        "slot": _compute_slot_time(call, loads) * nbytes,
        "memory": loads.memory / links.host_memory * nbytes,
        "socket": loads.socket * nbytes,
    }


def _compute_slot_time(call: Call, loads: LinkLoads) -> float:
    """Seconds for each byte of a call on the busiest PCIe link."""
    facts, links = call.facts, call.links
    direct, staged = links.carries[f"pcie{facts.pcie}"], links.host_one_way
    if facts.wiring == "pcie" and facts.crosses_sockets:
        direct *= links.crossing
    if facts.over_fabric:
        staged *= links.host_fabric
    return max((a / direct + b / staged for a, b in loads.pcie), default=0.0)


def get_payload(call: Call) -> float:
    """Get the share of the bytes on the wire that is data.

    Args:
        call: the call.

    Returns:
        The share; 1 where the protocol has no flags.
    """
    # `protocol_overhead` 1 counts the flags as NCCL's source has them, 0 leaves them out (one of the terms that can
    # be turned off).
    return 1 - (1 - _PAYLOAD[call.protocol]) * call.links.protocol_overhead


def has_unaligned_blocks(collective: str, protocol: str, nbytes: int, ranks: int) -> bool:
    """Whether ranks' blocks do not begin where a thread can copy 16 bytes at a time.

    LL copies 8 whatever comes; a size that ranks do not divide is rounded to 16 bytes each, as nccl-tests does.

    Args:
        collective: collsim's name of it.
        protocol: one of `constants.PROTOCOLS`.
        nbytes: nccl-tests' size, bytes.
        ranks: number of ranks.
    """
    block, remainder = divmod(nbytes, ranks)
    return collective in _BLOCKS and protocol != "LL" and remainder == 0 and block % _BYTES_PER_THREAD != 0


def compute_loads(collective: str, algorithm: str, facts: Facts) -> tuple[float, float]:
    """Compute what the busiest GPU and the busiest node send.

    Args:
        collective: collsim's name of it.
        algorithm: NCCL's name of it.
        facts: the machine.

    Returns:
        Buffers that the busiest GPU sends over its links inside the node, and that a node sends to the network.
    """
    ranks, nodes, local_ranks = facts.ranks, facts.nodes, facts.local_ranks
    if collective == "alltoall":
        return (ranks - 1) / ranks, (ranks - local_ranks) * local_ranks / ranks
    if collective == "sendrecv" and facts.wiring in ("mesh", "xgmi"):
        return float(max(1, local_ranks - 1)), 1.0  # of the links of a GPU one leads to its peer
    if collective == "sendrecv" or collective in _ROOTED:
        return 1.0, 1.0
    if algorithm == "Tree":
        return (1.0 if ranks == 2 else 2.0), get_tree_load(nodes)
    if algorithm in c.IN_NVSWITCH:
        intra_load = 1 + (collective == "allreduce") / local_ranks
        return intra_load, get_tree_load(nodes)
    rounds = 1
    if collective == "allreduce":
        rounds = 2
    return rounds * (ranks - 1) / ranks, rounds * (ranks - 1) / ranks


def get_tree_load(nodes: int) -> float:
    """Get what the busiest node sends over the network for two trees, each of half of the buffer, up and down.

    Args:
        nodes: number of nodes.

    Returns:
        Buffers.
    """
    return _TREE_LOADS.get(nodes, 2.0)


def compute_intra_rate(call: Call) -> float:
    """Compute what a GPU really moves to its peers in the node.

    Args:
        call: the call.

    Returns:
        B/s in one direction.
    """
    links, facts = call.links, call.facts
    if facts.wiring == "host":
        return min(compute_host_rates(call).values())
    if call.algorithm in c.IN_NVSWITCH:
        shares = links.nvls_multicast
        if call.collective == "allreduce":
            shares = links.nvls_carries
        generation = 90
        if facts.cc >= 100:
            generation = 100
        share = shares[generation]
        if facts.trays > _NEAR_TRAYS:
            share *= links.nvls_domain
        return facts.link_rate * share
    rate = facts.link_rate * links.carries[get_intra_kind(facts)]
    if facts.wiring == "pcie" and facts.crosses_sockets:
        return rate * links.crossing
    return rate


def compute_host_rates(call: Call) -> dict[str, float]:
    """Compute what the links on the way through host memory really leave to a GPU.

    Args:
        call: the call.

    Returns:
        B/s by what limits it: `slot`, `memory` and `socket`.
    """
    links, staged = call.links, compute_staged_rates(call.facts, call.collective, call.algorithm)
    slot = staged.slot * links.host_one_way
    if call.facts.over_fabric:
        slot *= links.host_fabric
    return {
        "slot": slot,
        "memory": staged.memory * links.host_memory,
        "socket": staged.socket,
    }


def get_intra_kind(facts: Facts) -> str:
    """Get the kind of the links inside a node.

    Args:
        facts: the machine.

    Returns:
        A key of `LinkParameters.carries`.
    """
    if facts.wiring in ("nvswitch", "mesh", "cube"):
        # The generation of NVLink is that of the newest GPU known which is not newer than this one.
        return f"nvlink-{max(cc for cc in (70, 80, 90, 100) if cc <= max(facts.cc, 70))}"
    if facts.wiring == "pcie":
        return f"pcie{facts.pcie}"
    return facts.wiring


def compute_net_rate(call: Call) -> float:
    """Compute what the NICs of a node really carry.

    Args:
        call: the call.

    Returns:
        B/s in one direction.
    """
    facts = call.facts
    nics = facts.nics
    if call.collective == "sendrecv":
        nics = 1.0
    rate = compute_card_rate(call, facts.nic_rate)
    return min(nics * rate, c.PCIE_X16[facts.pcie] * 1e9 * facts.local_ranks)


def compute_card_rate(call: Call, nominal: float) -> float:
    """Compute what one NIC really carries.

    Args:
        call: the call.
        nominal: B/s of the NIC.

    Returns:
        B/s in one direction.
    """
    links, facts = call.links, call.facts
    rate = nominal * links.carries[facts.net]
    if facts.net == "tcp":
        rate = min(rate, links.tcp_per_nic)
    elif call.collective not in _ROOTED:  # one way alone is not held back
        rate = min(rate, compute_bridge_rate(call))
    return rate * links.net_p2p.get(call.collective, 1.0)


def compute_bridge_rate(call: Call) -> float:
    """Compute what send and receive each get where they meet on the way to a NIC, in its slot's host bridge or in host
    memory.

    Args:
        call: the call.

    Returns:
        B/s; inf where a NIC sits on the GPU's own switch.
    """
    links, facts = call.links, call.facts
    slot = PCIE_GBPS[facts.pcie] * 1e9
    if facts.gdr is False and facts.net in ("ib", "roce", "efa"):
        return slot * links.without_gdr
    if facts.is_pcie_card:
        return slot * links.host_bridge
    return math.inf


def compute_fabric_rate(call: Call) -> float:
    """Compute what cables between switches leave to a node: they carry as much of their nominal rate as cards do.

    Args:
        call: the call.

    Returns:
        B/s in one direction.
    """
    links, facts = call.links, call.facts
    nics = facts.nics
    if call.collective == "sendrecv":
        nics = 1.0
    rate = nics * facts.nic_rate * links.carries[facts.net]
    return min(rate, c.PCIE_X16[facts.pcie] * 1e9 * facts.local_ranks) / call.fabric.slowdown


def compute_channel_cap(call: Call) -> float:
    """Compute what the thread blocks of all channels can move, by NCCL's own caps and by what a channel moves of those
    that a call of this size fills.

    Args:
        call: the call.

    Returns:
        B/s; inf for NVLS, where the switch moves the bytes.
    """
    nccl_cap = _compute_nccl_cap(call) * call.links.channel_caps
    if call.collective in _POINT_TO_POINT or call.algorithm in c.IN_NVSWITCH:
        return nccl_cap
    filled = count_filled_channels(call.algorithm, call.protocol, call.comm, call.nbytes)
    return min(nccl_cap, filled * compute_channel_rate(call))


def _compute_nccl_cap(call: Call) -> float:
    """B/s of all channels by NCCL's own numbers.

    NCCL counts those of LL128 and of trees by the channels of its search, which run twice. A ring with Simple, sends
    and receives have no cap of NCCL's: one channel is taken to move what a channel of the search moves with LL128,
    which is twice its share and binds only where NCCL_MAX_NCHANNELS leaves few. LL fills half of its lines.

    RCCL's tuner has no cap of LL (ROCm/rccl src/graph/tuning.cc). The sizes from which it takes LL128 between nodes
    (`rccl.Tuning.ranges`) are those where both take as long without one.
    """
    comm, column = call.comm, c.get_cap_column(call.comm.nodes)
    # The table is in GB/s for each channel of the search, and two of those that run make one of them.
    row, channels = c.get_generation(comm.cc), min(comm.ring.channels, comm.running_channels / 2) * 1e9
    if call.algorithm in c.IN_NVSWITCH:
        return math.inf
    all_channels = comm.running_channels * c.RING_LL128_MAX[row][column] * 1e9
    if call.protocol == "LL":
        total = math.inf
        if not comm.rccl:
            total = comm.release.running.ll_max[c.get_ll_generation(row, comm.nodes, comm.cpu)][column] * 1e9
        return min(total, all_channels * get_payload(call))
    if call.algorithm == "Tree":
        cap = channels * c.TREE_MAX[row][column]
        if call.protocol == "LL128":
            return min(cap, channels * comm.release.running.tree_ll128[row][column])
        return cap
    if call.algorithm == "Ring" and call.protocol == "LL128":
        return channels * c.RING_LL128_MAX[row][column]
    return all_channels
