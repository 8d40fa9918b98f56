"""What a round of messages between buffers in host memory takes: LogGP by network (Alexandrov, Ionescu, Schauser,
Scheiman 1995), with ranks of a node that share its cards and its memory.

A message takes latency + bytes / rate. Up to `eager` bytes of its network it is copied through buffers; beyond, both
sides agree first (rendezvous). All ranks of a node whose partner sits in another node share its cards. Latencies and
rates are those of published tests between two ranks, not of collectives, but for those marked as read off. Seconds,
bytes, B/s.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from ...topology.parts.sockets import find_processor
from .rounds import Round


@dataclass(frozen=True)
class Wire:
    """One kind of network.

    Attributes:
        latency: of an empty message.
        rendezvous: what agreeing on a large message takes.
        carries: share of a card's rate.
        rails: cards that one message is spread over.
        flow: most that one rank moves.
        eager: bytes up to which a message is copied.
    """

    latency: float
    rendezvous: float
    carries: float
    rails: int
    flow: float
    eager: float = 8192.0


_FREE = 1e12
#: Copies of a buffer that a library makes before it reduces: one into the result (allreduce); into fresh memory, whose
#: pages have to be mapped, of the input and of what arrives (reduce_scatter; ompi/mca/coll/base/coll_base_*.c). The
#: second is read off: 400 ms of 512 MiB of which rounds explain 180 (PICO's runs).
EXTRA_COPIES: Final[dict[str, float]] = {"allreduce": 1.0, "reduce_scatter": 4.0}

#: InfiniBand: 0.97 to 1.47 us and 12.3 of 12.5, 24.5 of 25 GB/s (github.com/stackhpc, aistabci/abci2.0benchmark,
#: osu_latency and osu_bw; perftest on ND A100 v4). UCX spreads a large message over two rails (UCX_MAX_RNDV_RAILS), 48
#: GB/s with four cards of 25 there; a rank of a collective moves 8 to 22 of 25 GB/s (read off, PICO's runs). RoCE: 1.37
#: to 1.44 us, 3.06 of 3.125 GB/s there. Slingshot, read off: 2.3 to 3.5 us a round on 4 to 32 nodes, and 6.2 to 6.7
#: GB/s of one rank with buffers in host memory under Cray's MPICH (PICO's runs). EFA: 15.5 us (AWS, EFA for HPC), one
#: path of 12.5 GB/s at most. TCP: 75 us a round, read off full nodes of clouds (56 and 96 ranks on each of 32 to 256);
#: 35 Gbit/s of one stream (iperf3, as `LinkParameters.tcp_per_nic`). Slingshot's provider copies up to 16 KiB
#: (CXIP_RDZV_THRESHOLD in libfabric 2.4, prov/cxi/include/cxip/common.h, commit 7208ce0; 2 KiB in older releases).
WIRES: Final[dict[str, Wire]] = {
    "ib": Wire(1.3e-6, 4.5e-6, 0.95, 2, 17e9),
    "roce": Wire(1.6e-6, 5e-6, 0.95, 2, _FREE),
    "slingshot": Wire(2.7e-6, 6e-6, 0.9, 1, 7e9, 16384.0),
    "efa": Wire(16e-6, 20e-6, 0.9, 1, 5e9),
    "tcp": Wire(75e-6, 25e-6, 0.8, 1, 4.2e9),
}

#: Bytes that memory reads and writes for each byte that is copied, or added to another: both read one, read what they
#: write over, and write it (cs.virginia.edu/~mccalpin/papers/bandwidth/node3.html: a cache that allocates on writes
#: reads the line first).
_TRAFFIC = 3.0
#: What a node has where nobody states its processors: a socket of EPYC 7003 for as many ranks as that has cores. Its
#: eight channels of DDR4-3200 are those of Ice Lake and EPYC 7002, too.
_USUAL_PROCESSOR, _CORES = "milan", 64
#: Share of the nominal rate of memory that STREAM reaches: 250 of 307 GB/s (EPYC 7001), 199 of 256 (Skylake) and 128
#: of 154 (Xeon E5 v4; anandtech.com/show/11544).
_STREAM_SHARE = 0.8
#: Sockets and processors of a node as words state them, `2xmilan`.
_PROCESSORS = re.compile(r"([1-9]\d?) ?x ?([a-z][a-z0-9 _-]*)", re.I)


@dataclass(frozen=True)
class Host:
    """Constants of a node and of the libraries: those of one rank and of caches, and `span`, are read off published
    collectives of few systems (docs/accuracy.md), not of tests between two ranks.

    Attributes:
        memory: B/s that the memory of a node reads and writes for all of its ranks together.
        call: s of any call.
        near: s of latency inside a node.
        span: s that a round takes longer with every doubling of the nodes beyond two: more switches, and the slowest
            of more messages (Hoefler, Schneider, Lumsdaine, SC10). Per job of PICO 0.05 to 0.7 us; 27 runs without
            Leonardo fit best with 0.5 us, and nearly as well with 0.35 to 0.7 us.
        copy: B/s of these copies.
        shared: B/s of one rank through shared memory.
        add: B/s at which a rank adds.
        fresh: B/s at which a rank copies a buffer aside before a reduction.
        cache: bytes of a rank's buffer up to which these rates are higher.
        cached: times as high as they are then.
        copies: how often a message inside a node is copied: once, out of the memory of its sender (CMA, XPMEM), or into
            a segment that both ranks map and out of it (docs.open-mpi.org, Launching only on the local node). No table
            states it, so it is the middle.
    """

    memory: float
    call: float = 5e-7
    near: float = 5e-7
    span: float = 3.5e-7
    copy: float = 3.5e9
    shared: float = 5e9
    add: float = 3.6e9
    fresh: float = 1e10
    cache: float = 4e6
    cached: float = 2.0
    copies: float = 1.5

    def compute_rate(self, alone: float, ranks: float, copies: float = 1.0) -> float:
        """Compute the rate at which a rank copies or adds while others of its node do the same.

        Args:
            alone: B/s of one rank alone.
            ranks: those of the node that do so at a time.
            copies: how often each byte is copied.

        Returns:
            B/s of each of them.
        """
        return min(alone, self.memory / (_TRAFFIC * copies * ranks))


@dataclass(frozen=True)
class Placement:
    """Where the ranks of an MPI job sit.

    Attributes:
        ranks: number of them.
        nodes: number of them.
        cards: network cards of a node; 0 on one node.
        card_rate: B/s of one card; 0 on one node.
        net: kind of network, `ib`, `tcp` ...; `none` on one node.
        flow_ratio: what one rank moves over the network at most, over `Wire.flow`.
    """

    ranks: int
    nodes: int
    cards: float
    card_rate: float
    net: str
    flow_ratio: float = 1.0

    @property
    def local_ranks(self) -> float:
        return self.ranks / self.nodes


def parse_processors(words: str) -> tuple[int, str] | None:
    """Read the processors of a node.

    Args:
        words: sockets and a name of `processors.toml`, such as `2xmilan`; other words say nothing of them.

    Returns:
        Sockets and the name; None where they are not stated.
    """
    match = _PROCESSORS.fullmatch(words.strip())
    if match is None:
        return None
    return int(match[1]), match[2]


def build_host(words: str, local_ranks: float) -> Host:
    """Build a node from what is known of its processors.

    Args:
        words: its processors, as `parse_processors` reads them.
        local_ranks: ranks on it, which decide where words do not.

    Returns:
        Its constants.

    Raises:
        CollsimError: The processor is unknown.
    """
    sockets, processor = parse_processors(words) or (math.ceil(local_ranks / _CORES), _USUAL_PROCESSOR)
    return Host(sockets * find_processor(processor).dram.bandwidth * _STREAM_SHARE)


def apply_cache(host: Host, nbytes: float) -> Host:
    """Apply the cache: all that a rank does is faster for a buffer that stays in it.

    Args:
        host: Constants of a node.
        nbytes: Bytes of a rank's buffer.

    Returns:
        The constants as such a buffer finds them.
    """
    if nbytes > host.cache:
        return host
    fast = {name: getattr(host, name) * host.cached for name in ("shared", "add", "fresh")}
    return replace(host, **fast)


def compute_round_time(message_round: Round, placement: Placement, host: Host) -> tuple[float, float]:
    """Compute what rounds of messages take.

    Args:
        message_round: The rounds.
        placement: Ranks, nodes and network.
        host: Constants of a node.

    Returns:
        Seconds that wait for messages, and seconds that move and add bytes.
    """
    inside, between = (0.0, 0.0), (0.0, 0.0)
    far, active = _count_crossing_ranks(message_round, placement), _count_active_ranks(message_round, placement)
    if _has_partners_inside(message_round, placement):
        inside = _time_inside(message_round, active, host)
    if far > 0:
        between = _time_between(message_round, placement, host, far)
        between = _time_ring_between(message_round, placement, host, between)
    near = _compute_near_share(message_round, placement)
    if near is None:
        waits, moves = max(inside, between, key=sum)
    else:
        waits, moves = (near * a + (1 - near) * b for a, b in zip(inside, between, strict=True))
    adds = message_round.reduced_bytes / host.compute_rate(host.add, active)
    if not message_round.repeats:  # a rank that adds what it holds, and sends nothing
        return 0.0, adds
    return message_round.repeats * waits, message_round.repeats * (moves + adds)


def _count_active_ranks(message_round: Round, placement: Placement) -> float:
    """Ranks of a node that send at a time."""
    return max(1.0, message_round.senders * placement.local_ranks)


def _has_partners_inside(message_round: Round, placement: Placement) -> bool:
    """Whether a rank of a node has its partner there."""
    if placement.local_ranks <= 1:
        return False
    is_chain = message_round.has_single_sender and message_round.repeats > 1
    return message_round.distance < placement.local_ranks or message_round.visits_all or is_chain


def _compute_near_share(message_round: Round, placement: Placement) -> float | None:
    """Share of messages, one after the other, that stay in a node; None where those of a round go at the same time."""
    if message_round.visits_all:
        return (placement.local_ranks - 1) / (placement.ranks - 1)
    if message_round.has_single_sender and message_round.is_ring:
        return (placement.ranks - placement.nodes) / (placement.ranks - 1)
    return None


def _count_crossing_ranks(message_round: Round, placement: Placement) -> float:
    """Ranks of a node whose partner sits in another."""
    if placement.nodes == 1:
        return 0.0
    if message_round.has_single_sender:
        if message_round.distance >= placement.local_ranks or message_round.repeats > 1:
            return 1.0
        return 0.0
    if message_round.distance == 1 and placement.local_ranks > 1:
        return 1.0 if message_round.repeats > 1 else 0.0  # around a ring the last of a node only
    if message_round.distance >= placement.local_ranks or message_round.visits_all:
        return _count_active_ranks(message_round, placement)
    return 0.0


def _time_inside(message_round: Round, active: float, host: Host) -> tuple[float, float]:
    rate = host.compute_rate(host.shared, active, host.copies)
    return host.near * max(1, message_round.sends), message_round.sends * message_round.nbytes / rate


def _get_wire(placement: Placement) -> Wire:
    return WIRES.get(placement.net, WIRES["ib"])


def _time_between(message_round: Round, placement: Placement, host: Host, far: float) -> tuple[float, float]:
    wire = _get_wire(placement)
    cards = placement.cards * placement.card_rate * wire.carries
    alone = min(wire.rails, placement.cards) * placement.card_rate * wire.carries
    rate = min(alone, cards / far, wire.flow * placement.flow_ratio)
    waits = wire.latency + host.span * math.log2(placement.nodes / 2)
    if message_round.nbytes <= wire.eager:
        return waits, message_round.nbytes / min(host.copy, rate) + (
            message_round.sends - 1
        ) * message_round.nbytes / rate
    waits += wire.rendezvous + wire.eager / host.copy
    return waits, message_round.sends * message_round.nbytes / rate


def _time_ring_between(
    message_round: Round, placement: Placement, host: Host, between: tuple[float, float]
) -> tuple[float, float]:
    """The same for a ring through nodes: nobody waits for all others, and a copied message frees its sender. So a block
    on its way waits for the network once for each node that it enters, not at every rank; agreeing holds up."""
    is_small_ring = message_round.is_ring and message_round.nbytes <= _get_wire(placement).eager
    if not is_small_ring or message_round.has_single_sender or placement.local_ranks <= 1:
        return between
    return (between[0] + (placement.local_ranks - 1) * host.near) / placement.local_ranks, between[1]
