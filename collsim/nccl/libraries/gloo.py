"""Gloo as torch.distributed uses it: which algorithm, in which segments, and about how long over TCP, buffers in host
memory.

Sources: Gloo gloo/allreduce.cc (ring, bcube), allgather.cc, broadcast.cc, alltoall.cc and docs/algorithms.md
(70dc3602); PyTorch ProcessGroupGloo (2.13): reduce_scatter is an allreduce of the whole input, of which every rank
keeps its slice. Halving-doubling, ring_chunked and the ring that sends whole vectors are Gloo's older classes, which
PyTorch does not call; no threshold of size chooses between algorithms.

Times count the algorithm's own rounds: of a ring the segments, of which two are on the way while a third is added
(`_time_ring`); of a binomial broadcast the ranks of a node that send to other nodes at once (`_time_broadcast`). A
collective runs over one network card of a node, however many there are: PyTorch deals whole operations out to the
interfaces of GLOO_SOCKET_IFNAME in turn (torch.distributed, "Common environment variables"). Left out: the shared
memory that newer Gloo has for an allreduce inside a host (gloo/allreduce_shm.cc). Seconds, bytes, B/s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...errors import CollsimError, describe_unknown
from ...errors.arguments import check_arguments
from ...topology import Topology
from ...units import ByteSize, parse_bytes, parse_count
from ..machine.machine_facts import PCIE_GBPS, Facts
from ..machine.topology_facts import read_facts
from ..model.links import MEASURED
from ..model.prediction_interval import LEVEL, Interval, compute_interval, compute_shares
from ..model.unknown_inputs import list_incast_inputs
from ..nccl_prediction import parse_collective
from .backends import parse_tensor_device
from .loggp import Host

#: Bytes of a segment at most, and how many a rank has on the way at once (gloo/allreduce.h maxSegmentSize,
#: gloo/allreduce.cc ring).
SEGMENT, IN_FLIGHT = 2**20, 2
#: Seconds that Gloo needs for a message over TCP: one way through the kernel, 26 us on 10 GbE (RTI Perftest), order of
#: magnitude elsewhere.
TCP_MESSAGE = 26e-6
#: B/s between all processes of one host over loopback TCP: what its cores copy, order of magnitude; 2.4 to 4.4 GB/s of
#: 16 MiB with 2 to 4 processes on two cores (docs/real.md: 2(n-1) times the bytes in the best time).
LOOPBACK = 4e9
#: Ways through the kernel that a message of Gloo takes as long as on one host: the receiver announces its buffer, then
#: the bytes come (gloo/transport/tcp/pair.cc, Pair::send), and each wakes a thread of Gloo's and then the one that
#: waits. Read off 1 KiB between two processes (docs/real.md).
KERNEL_CROSSINGS = 4
#: Share of a slot that a copy between pinned host memory and a GPU gets: 55 of 63 GB/s on an H200
#: (github.com/stas00/ml-engineering network), 9.6 to 11.4 of 15.75 on a V100 in a virtual machine
#: (github.com/router-gao/cuda-demo); between them.
COPIES = 0.8


@dataclass(frozen=True)
class Loopback:
    """What processes of one host get of one another over TCP.

    Attributes:
        alpha: s of one way of a small message, as `collsim calibrate --here` has it for a socket.
        bandwidth: B/s of all of them together.
        cores: that they share; None: one for each at least. Where they are fewer than the processes, messages wait for
            one.
    """

    alpha: float = TCP_MESSAGE
    bandwidth: float = LOOPBACK
    cores: int | None = None

    def compute_message_time(self, ranks: int) -> float:
        """Seconds of a message of Gloo among so many processes."""
        return KERNEL_CROSSINGS * self.alpha * max(1.0, ranks / (self.cores or ranks))


@dataclass(frozen=True)
class GlooChoice:
    """What Gloo does for one call.

    Attributes:
        name: of the algorithm in Gloo.
        algorithm: collsim's that moves as many bytes in as many steps, for `schedule`.
        segments: pieces that the buffer is cut in.
        segment: bytes of one.
        source: repository, commit and file.
    """

    name: str
    algorithm: str
    segments: int
    segment: int
    source: str


#: Collective of ours -> Gloo's algorithm, ours, file.
_RUNS = {
    "allreduce": ("ring", "allreduce_ring", "allreduce.cc"),
    "reduce_scatter": ("ring", "allreduce_ring", "allreduce.cc"),
    "allgather": ("ring", "allgather_ring", "allgather.cc"),
    "broadcast": ("binomial", "broadcast_binomial", "broadcast.cc"),
    "alltoall": ("all pairs at once", "alltoall_direct", "alltoall.cc"),
}


def choose_gloo_algorithm(collective: str, ranks: int, nbytes: ByteSize, *, bcube: bool = False) -> GlooChoice:
    """The algorithm and segments of Gloo's new-style functions, which PyTorch calls.

    Args:
        collective: allreduce, reduce_scatter, allgather, broadcast or alltoall.
        ranks: 2 or more.
        nbytes: the whole buffer.
        bcube: AllreduceOptions::Algorithm::BCUBE instead of the ring; PyTorch never asks for it.

    Raises:
        CollsimError: For another collective, fewer than 2 ranks, and bcube of anything but an allreduce.
    """
    name, n, size = parse_collective(collective), parse_count(ranks, "ranks"), parse_bytes(nbytes)
    if name not in _RUNS:
        raise CollsimError(describe_unknown("collective that Gloo is described for", name, _RUNS))
    if n < 2:
        raise CollsimError("ranks={n}: with one rank nothing is sent; use 2 or more", n=n)
    if bcube and name != "allreduce":
        raise CollsimError("bcube is an allreduce; Gloo has no bcube {name}", name=name)
    gloo_name, ours, file = _RUNS[name]
    if bcube:
        gloo_name, ours = "bcube", "allreduce_bcube"
    segments = n
    if ours == "allreduce_ring":
        segments = count_segments(n, size)
    elif ours == "allgather_ring":
        segments = 2 * n
    elif gloo_name == "binomial":
        segments = 1
    return GlooChoice(gloo_name, ours, segments, -(-size // segments), f"Gloo 70dc3602 gloo/{file}")


def count_segments(n: int, size: int) -> int:
    """Two for every rank, more where they would be larger than SEGMENT; as many for each rank."""
    return -(-max(-(-size // SEGMENT), IN_FLIGHT * n) // n) * n


@check_arguments
def predict_gloo_time(
    collective: str,
    machine: Facts | Topology,
    nbytes: ByteSize,
    *,
    tensors: str = "gpu",
    loopback: Loopback | None = None,
) -> float:
    """Seconds of a collective with Gloo over TCP, to the order of magnitude: no published runs stand behind it.

    Its rounds between buffers in host memory: allreduce is a ring of segments; reduce_scatter is PyTorch's allreduce
    and slice; reduce half of that ring, then a gather; allgather a ring of half blocks; broadcast binomial; alltoall
    all pairs at once; sendrecv a message. CUDA tensors cross PCIe twice.

    Args:
        collective: allreduce, allgather, reduce_scatter, broadcast, reduce, alltoall or sendrecv.
        machine: a Topology or Facts.
        nbytes: nccl-tests' size, bytes or text.
        tensors: `gpu` or `cpu`: where they live.
        loopback: what was measured between processes of a host; None: constants of this file.

    Returns:
        Seconds.

    Raises:
        CollsimError: For another place of tensors, and for a sendrecv of CUDA tensors, which Gloo does not do.

    Examples:
        >>> import collsim as cs
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> gloo = cs.nccl.predict_gloo_time("allreduce", machine, "64MiB")
        >>> gloo > cs.nccl.predict("allreduce", machine, "64MiB").time
        True
    """
    facts, name, size = read_facts(machine), parse_collective(collective), parse_bytes(nbytes)
    on_gpu = parse_tensor_device(tensors, ("gpu", "cpu")) == "gpu"
    if name == "sendrecv" and on_gpu:
        raise CollsimError("Gloo cannot send or receive CUDA tensors; copy them to the CPU first, or use nccl")
    copies = 0.0
    if on_gpu:
        copies = 2 * size / (PCIE_GBPS[facts.pcie] * 1e9 * COPIES)
    return copies + (_TIMES[name](facts, size, loopback or Loopback()) if facts.ranks > 1 else 0.0)


@check_arguments
def predict_gloo_interval(
    collective: str,
    machine: Facts | Topology,
    nbytes: ByteSize,
    *,
    tensors: str = "gpu",
    loopback: Loopback | None = None,
    level: float = LEVEL,
) -> Interval:
    """Where the time of a collective with Gloo lies with a probability of `level`.

    No published runs are Gloo's: it is as wide as that of an MPI of which no system was seen, and says so
    (`model.prediction_interval`). Where many ranks send to one node at a time, its switch may lose packets.

    Args:
        collective: as for `predict_gloo_time`.
        machine: as for `predict_gloo_time`.
        nbytes: nccl-tests' size, bytes or text.
        tensors: `gpu` or `cpu`: where they live.
        loopback: as for `predict_gloo_time`.
        level: probability, between 0 and 1.

    Returns:
        The ends of the interval, in seconds.

    Raises:
        CollsimError: As `predict_gloo_time`, and for a level that is no share.

    Examples:
        >>> import collsim as cs
        >>> interval = cs.nccl.predict_gloo_interval("allreduce", cs.machine("dgx-a100", nodes=2), "64MiB")
        >>> interval.low < interval.middle < interval.high
        True
    """
    seconds, least = (
        predict_gloo_time(collective, machine, size, tensors=tensors, loopback=loopback) for size in (nbytes, 0)
    )
    facts, name = read_facts(machine), parse_collective(collective)
    incast = list_incast_inputs(_count_senders(name, facts), parse_bytes(nbytes) / facts.ranks, seconds)
    shares = compute_shares(least, 0.0, seconds - least, {entry.name: entry.deviations for entry in incast})
    return compute_interval("mpi gloo", name, shares, seconds, level)


def _count_senders(name: str, facts: Facts) -> int:
    """Ranks of other nodes that send their blocks to the ranks of one node at a time: all pairs of an alltoall, and all
    to the root in the gather behind a reduction (gloo/gather.cc)."""
    others = facts.ranks - facts.local_ranks
    if name == "alltoall":
        return others * facts.local_ranks
    if name == "reduce":
        return others
    return 0


def compute_card_rate(facts: Facts) -> float:
    """B/s over the one network card of a node that a collective uses."""
    return min(facts.nic_rate * MEASURED.carries["tcp"], MEASURED.tcp_per_nic)


def _get_hop(facts: Facts, loop: Loopback) -> tuple[float, float]:
    """s of a message and B/s from one rank to the next: over the card where nodes are several, of which one rank of a
    node sends."""
    if facts.nodes > 1:
        return TCP_MESSAGE, compute_card_rate(facts)
    return loop.compute_message_time(facts.ranks), loop.bandwidth / facts.local_ranks


def _time_ring(facts: Facts, segments: int, size: float, loop: Loopback, adds: bool) -> float:
    """Once around, in segments: all but a rank's own are sent, `IN_FLIGHT` on the way at once, so that a segment's way
    and its addition hide behind those of the others unless latency is longer (gloo/allreduce.cc, the loop of ring)."""
    message, rate = _get_hop(facts, loop)
    n, wire = facts.ranks, size / segments / rate
    rounds, adding = segments // n * (n - 1), size / segments / Host.add if adds else 0.0
    busy = rounds * max(wire, adding) + message
    return max(busy, rounds * (message + wire + adding) / IN_FLIGHT)


def _time_allreduce(facts: Facts, size: float, loop: Loopback) -> float:
    segments = count_segments(facts.ranks, int(size))
    return _time_ring(facts, segments, size, loop, adds=True) + _time_ring(facts, segments, size, loop, adds=False)


def _time_allgather(facts: Facts, size: float, loop: Loopback) -> float:
    return _time_ring(facts, IN_FLIGHT * facts.ranks, size, loop, adds=False)


def _time_reduce(facts: Facts, size: float, loop: Loopback) -> float:
    """Half of an allreduce, then every rank's block to the root."""
    message, rate = _get_hop(facts, loop)
    gather = message + (facts.ranks - 1) / facts.ranks * size / rate
    return _time_ring(facts, count_segments(facts.ranks, int(size)), size, loop, adds=True) + gather


def _time_broadcast(facts: Facts, size: float, loop: Loopback) -> float:
    """Ranks 1, 2, 4 ... further on, all that have it at once: those of a node share its card, or loopback."""
    total, far, message = 0.0, 1, _get_hop(facts, loop)[0]
    while far < facts.ranks:
        crosses = facts.nodes > 1 and far >= facts.local_ranks
        if crosses:
            rate = compute_card_rate(facts) / facts.local_ranks
        else:
            rate = loop.bandwidth / min(far, facts.local_ranks)
        total, far = total + message + size / rate, 2 * far
    return total


def _time_alltoall(facts: Facts, size: float, loop: Loopback) -> float:
    """All messages are posted at once; those of a node's ranks to other nodes share its card."""
    n, local = facts.ranks, facts.local_ranks
    inside = (n - 1) / n * size * local / loop.bandwidth
    between = 0.0
    if facts.nodes > 1:
        between = local * (n - local) / n * size / compute_card_rate(facts)
    return _get_hop(facts, loop)[0] + (between or inside)


def _time_sendrecv(facts: Facts, size: float, loop: Loopback) -> float:
    message, rate = _get_hop(facts, loop)
    return message + size / rate


_TIMES: dict[str, Callable[[Facts, float, Loopback], float]] = {
    "allreduce": _time_allreduce,
    "reduce_scatter": _time_allreduce,
    "reduce": _time_reduce,
    "allgather": _time_allgather,
    "broadcast": _time_broadcast,
    "alltoall": _time_alltoall,
    "sendrecv": _time_sendrecv,
}
