"""MPI collectives: which algorithm a library publishes that it runs, and how long OSU's micro-benchmarks say that they
take.

`choose` reads the tables of `openmpi` and `mpich`. Buffers in host memory: the rounds of that algorithm (`rounds`), at
what a message takes on that network (`loggp`), whose constants are those of published tests between two ranks. Buffers
in GPU memory: a simpler model, rounds of messages and then bytes at the rate a rank can move or reduce, whatever the
algorithm; counting the rounds there, too, was farther off. Its constants were found by least squares over 12 published
OSU runs (8 to 128 ranks, InfiniBand and Slingshot): github.com/aistabci/abci2.0benchmark, github.com/argonne-lcf.
Seconds, bytes, B/s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import CollsimError, Sentence, describe_unknown
from ...units import format_bandwidth, parse_bytes, parse_count
from ..machine.machine_words import NetworkCards, parse_network
from ..model.prediction_interval import LEVEL, Interval, Shares, compute_interval, compute_shares
from ..model.unknown_inputs import (
    CARD_RATIOS,
    CARDS_MEASUREMENT,
    TCP_ASSUMPTION,
    TCP_MEASUREMENT,
    TCP_RATIOS,
    TCP_WIRE,
    UnknownInput,
    compute_deviations,
    describe_cards,
    describe_inputs,
    list_incast_inputs,
    sort_inputs,
)
from ..nccl_prediction import parse_collective
from . import mpich, openmpi
from .loggp import EXTRA_COPIES, Host, Placement, apply_cache, build_host, parse_processors
from .loggp import compute_round_time as round_time
from .rounds import ROUND_COUNTERS, Round, Rounds

#: Buffers that a rank moves, as its number grows.
_ROUNDED = {
    "allreduce": 2.0,
    **dict.fromkeys(("allgather", "alltoall", "broadcast", "reduce", "reduce_scatter", "sendrecv"), 1.0),
}

#: Our name of a collective -> MPI's.
_SAME_NAME = (
    "allreduce",
    "reduce",
    "allgather",
    "alltoall",
    "reduce_scatter",
    "reduce_scatter_block",
    "gather",
    "scatter",
)
_OPERATIONS = {"broadcast": "bcast", **{name: name for name in _SAME_NAME}}
LIBRARIES = ("openmpi", "mpich")


@dataclass(frozen=True)
class MpiChoice:
    """What a library runs.

    Attributes:
        name: of the algorithm, as the library calls it.
        algorithm: collsim's algorithm that moves the same data, for `schedule`; None: there is none.
        segment: bytes of a segment of its messages; 0: they are not cut.
        source: repository, commit and file of the rule.
    """

    name: str
    algorithm: str | None
    segment: int
    source: str


def choose_mpi_algorithm(
    library: str,
    collective: str,
    ranks: object,
    nbytes: object,
    *,
    itemsize: int = 4,
    one_per_node: bool = False,
    commutative: bool = True,
) -> MpiChoice:
    """The algorithm that a library's published rules give.

    Args:
        library: `openmpi` (its component tuned) or `mpich`.
        collective: allreduce, broadcast, reduce, allgather, alltoall, reduce_scatter, reduce_scatter_block, gather or
            scatter.
        ranks: 2 or more.
        nbytes: the whole buffer; of allgather, alltoall, gather and scatter all blocks of a rank together.
        itemsize: bytes of an element.
        one_per_node: no two ranks share a node.
        commutative: the operator is (sum, max ...).

    Raises:
        CollsimError: For an unknown library or collective, and fewer than 2 ranks.
    """
    if library not in LIBRARIES:
        raise CollsimError(describe_unknown("MPI library", library, LIBRARIES))
    if collective not in _OPERATIONS:
        raise CollsimError(describe_unknown("collective of MPI", collective, _OPERATIONS))
    n, size = parse_count(ranks, "ranks"), parse_bytes(nbytes)
    if n < 2:
        raise CollsimError("ranks={n}: with one rank nothing is chosen; use 2 or more", n=n)
    operation, elements = _OPERATIONS[collective], size // parse_count(itemsize, "itemsize")
    if library == "mpich":
        name, ours = mpich.choose_mpich_algorithm(operation, n, size, elements=elements, commutative=commutative)
        return MpiChoice(name, ours, 0, mpich.SOURCE)
    name, ours = openmpi.choose_openmpi_algorithm(
        operation, n, size, elements=elements, one_per_node=one_per_node, commutative=commutative
    )
    return MpiChoice(name, ours, 0, openmpi.SOURCE)


def choose_for_case(case: Any, nbytes: int) -> MpiChoice | None:
    """Choose the algorithm for a row of a table.

    Args:
        case: The row: collective, ranks, nodes, and nccl_version for the library.
        nbytes: Bytes of the whole buffer.

    Returns:
        The choice; None where the library publishes no rules (Cray's MPICH has its own), or for one rank.
    """
    library_name = str(getattr(case, "nccl_version", "")).lower()
    library = next((name for name in LIBRARIES if library_name.startswith(name)), None)
    if library is None or int(case.ranks) < 2:
        return None
    return choose_mpi_algorithm(
        library,
        parse_collective(case.collective),
        int(case.ranks),
        nbytes,
        one_per_node=int(case.ranks) == int(case.nodes),
    )


@dataclass(frozen=True)
class Rates:
    """What MPI does with buffers in a GPU's memory.

    Attributes:
        start: s before the first message.
        step: s of a round of messages between nodes.
        move: B/s at which a rank passes bytes on.
        reduce: B/s at which a rank adds them.
    """

    start: float
    step: float
    move: float
    reduce: float


#: Since when Open MPI has tables of its own for communicators without two ranks of a node.
_DISJOINT = (5, 0)
#: Ranks of a node beyond which all of its cores are taken to be busy.
_MANY = 16
#: Standard deviations of the logarithm of the time on nodes of more ranks than that, where containers, cores shared
#: with the system and the placement of ranks are not stated: second moments, on each side, of how far the calls below
#: 64 KiB of seven systems are off. Five take 0.6 to 1.3 times as long as counted, two on Kubernetes 4 and 100 times.
#: Slurm gives a job whole nodes or cores, and binds its ranks to them (slurm.schedmd.com/srun.html, --cpu-bind).
_FULL_NODES = UnknownInput(
    "full nodes",
    Sentence("how full nodes run (containers, placement of ranks, cores for the system) is not stated"),
    Sentence("whether Slurm launches the ranks (srun), or the time of one small call over all nodes"),
    fast=0.26,
    slow=2.65,
)
#: Probabilities of the memory of a node over what `loggp.build_host` takes it to be where nobody states its processors.
#: Of the eight published systems with MPI whose makers or centres do, five have it (Polaris, LUMI-G, Leonardo, Azure's
#: HB120, AWS's hpc6a), ABCI (V) 1.25 times, ABCI (A) and Google's c2d twice as much. One in ten each is taken to have
#: four channels of DDR4-2133 a socket (Xeon E5 v3), and twelve of DDR5-4800.
MEMORY_RATIOS: Mapping[float, float] = {0.67: 0.1, 1.25: 0.1, 2.0: 0.2, 4.5: 0.1}
#: Probability of either way to pass a message inside a node, in copies; the rest is between them. As `LAUNCHES`.
COPIES: Mapping[float, float] = {1.0: 0.35, 2.0: 0.35}
_COPIES = UnknownInput(
    "copies",
    Sentence("how often a message inside a node is copied is not stated: between once (CMA, XPMEM) and twice"),
    Sentence("the time of one large call inside a node"),
)
#: Name of the doubt about the network cards, which is named where it has no effect, too: somebody left it out.
_CARDS = "NIC rate"
_TCP = UnknownInput("TCP", TCP_ASSUMPTION, TCP_MEASUREMENT)
#: Until when a run without a release is taken to have had Open MPI before 4.1: a year after it was published.
_YEAR_OF_41 = 2021
#: Buffers in GPU memory with Open MPI over UCX (reductions go through the host); the same with Cray MPICH.
GPU = Rates(15e-6, 3e-6, 2e9, 1.3e9)
GPU_CRAY = Rates(40e-6, 3e-6, 14e9, 14e9)
#: Where GPU memory goes through a host's by cudaMemcpy, a message waits for a copy at each end: 7 us in place of 1 with
#: GDRCopy (developer.nvidia.com/gdrcopy).
STAGED_COPIES = 2 * 6e-6
#: Probability that GPU memory goes through the host without GDRCopy where it is not stated (none of three published
#: systems does); and of rates at which a rank passes bytes on, over `Rates.move`: a broadcast of 16 MiB goes at 0.25, 4
#: and 16 GB/s with one library (github.com/aistabci/abci2.0benchmark), where an allreduce differs by a third.
STAGED, MOVE_RATIOS = 0.1, {1 / 7: 0.15, 7.0: 0.15}
#: Probabilities of what the cards of a node carry where nobody states it and buffers are in host memory, over the one
#: card of 200 Gbit/s that is assumed. Of the 12 systems of the published tables one has 25 Gbit/s, four have 100, three
#: 200, two 400 and two 800.
HOST_NIC_RATIOS: Mapping[float, float] = {0.125: 1 / 12, 0.5: 4 / 12, 2.0: 2 / 12, 4.0: 2 / 12}
#: What is assumed of GPU memory by the word for GPUDirect RDMA.
_GPU_PATHS: Mapping[str, UnknownInput] = {
    word: UnknownInput(
        "GPU memory",
        assumption,
        Sentence("the times of one large and one small call, with CUDA-aware MPI as the job runs it"),
        fast=0.0,
        slow=0.0,
    )
    for word, assumption in (
        ("", Sentence("GPUDirect RDMA and GDRCopy not stated: both on, at the rates of published runs")),
        ("yes", Sentence("with GPUDirect RDMA a rank moves and adds at the rates of published runs")),
        ("no", Sentence("without GPUDirect RDMA messages wait for two copies, at the rates of published runs")),
    )
}
#: A message inside a node against one between nodes; per peer of an alltoall.
INSIDE, PEER = 0.4, 0.45e-6
#: Share of sqrt(rounds x bytes) between the latency and the bandwidth regime, and the ratio of the two at which it has
#: halved; what a NIC carries under many ranks.
FILL, FADE, WIRE = 1.5, 64, 0.9


@dataclass(frozen=True)
class Constants:
    """The constants of this module together, for a fit that finds them again.

    Attributes:
        gpu: rates with buffers in GPU memory.
        cray: the same with Cray MPICH.
        inside: time of a message inside a node, as a share of one between nodes.
        peer: s for each peer of an alltoall.
        fill: share of sqrt(latency * moving) that comes on top where neither is much larger.
        fade: ratio of moving to latency at which that has halved.
        wire: share of its rate that a network card carries under many ranks.
    """

    gpu: Rates = GPU
    cray: Rates = GPU_CRAY
    inside: float = INSIDE
    peer: float = PEER
    fill: float = FILL
    fade: float = FADE
    wire: float = WIRE


@dataclass(frozen=True)
class MpiParts:
    """The parts of a call's time.

    Attributes:
        latency: s of waiting for messages.
        bytes: s of moving and adding bytes.
        fill: s between the two regimes, where neither is much smaller than the other.
        unknown_inputs: what nobody stated of the machine; it widens the interval.
    """

    latency: float
    bytes: float
    fill: float = 0.0
    unknown_inputs: tuple[UnknownInput, ...] = ()

    @property
    def total(self) -> float:
        return self.latency + self.bytes + self.fill

    @property
    def shares(self) -> Shares:
        """Shares of the time that wait, are as much the one as the other, and move bytes."""
        both = min(self.latency, self.bytes)
        unknown = {entry.name: entry.deviations for entry in self.unknown_inputs}
        return compute_shares(self.latency - both, self.fill + 2 * both, self.bytes - both, unknown)


def predict_mpi_interval(case: Any, nbytes: int) -> Interval:
    """Where the time of one call lies with a probability of `LEVEL`."""
    parts = predict_mpi_parts(case, nbytes)
    return compute_interval(classify_case(case), parse_collective(case.collective), parts.shares, parts.total, LEVEL)


def list_mpi_assumptions(case: Any, nbytes: int) -> tuple[Sentence, ...]:
    """List what nobody stated of the machine of a call, and the measurement that would narrow its interval most.

    Args:
        case: A row of a table, as `predict_mpi_time` takes it.
        nbytes: Bytes of the whole buffer.

    Returns:
        A sentence each; none where all is known.
    """
    parts = predict_mpi_parts(case, nbytes)
    kind, collective = classify_case(case), parse_collective(case.collective)

    def measure(known: Sequence[str]) -> Interval:
        inputs = tuple(entry for entry in parts.unknown_inputs if entry.name not in known)
        return compute_interval(kind, collective, replace(parts, unknown_inputs=inputs).shares, parts.total)

    return describe_inputs(parts.unknown_inputs, measure)


def predict_mpi_time(case: object, nbytes: int, known: Constants | None = None) -> float:
    """Predict the time of one call over MPI.

    Args:
        case: A row of a table: gpu, ranks, nodes, collective, inter_link and nccl_version (the library), and perhaps
            algo. For buffers in host memory intra_link: sockets and processors of a node, such as `2xmilan`, and
            launch: `srun` where Slurm launches. For buffers on GPUs gdr: `no` where they are copied through host
            memory, `yes` where cards and CPUs reach them (GPUDirect RDMA and GDRCopy).
        nbytes: Bytes of the whole buffer.
        known: Other constants than those of the module; None for these.

    Returns:
        The time in s.

    Raises:
        CollsimError: The network or the collective is unknown.
    """
    return predict_mpi_parts(case, nbytes, known).total


def predict_mpi_parts(case: Any, nbytes: int, known: Constants | None = None) -> MpiParts:
    """Predict the parts of the time of one call over MPI.

    Args:
        case: A row of a table, as `predict_mpi_time` takes it.
        nbytes: Bytes of the whole buffer.
        known: Other constants than those of the module; None for these.

    Returns:
        Seconds that wait, that move bytes, and what lies between.
    """
    if "none" in case.gpu.lower():
        return _predict_from_rounds(case, nbytes)
    return _predict_smoothly(case, nbytes, known or Constants())


def classify_case(case: Any) -> str:
    """Name the class of a machine for intervals: MPI on host memory or a GPU's. What is not known of a network is an
    unknown input, and too few systems of each are published to tell their residuals apart.

    Args:
        case: A row of a table: gpu.

    Returns:
        `mpi host` or `mpi gpu`.
    """
    if "none" in case.gpu.lower():
        return "mpi host"
    return "mpi gpu"


def _predict_from_rounds(case: Any, nbytes: int) -> MpiParts:
    """Buffers in host memory: the rounds of the algorithm that the library would run."""
    ranks, nodes, kind = int(case.ranks), int(case.nodes), parse_collective(case.collective)
    # Ranks on one node send nothing over the network.
    network = parse_network(case.inter_link) if nodes > 1 else NetworkCards(0.0, 0.0, "none")
    placement = Placement(ranks, nodes, network.cards, network.rate, network.net)
    name = name_algorithm(case, nbytes)
    rounds: Rounds = (Round(1, nbytes, max(1, ranks - ranks // nodes)),)
    if name:
        rounds = ROUND_COUNTERS[_OPERATIONS[kind]][name](ranks, nbytes)
    aside = 0.0
    if not _is_mpich_family(str(getattr(case, "nccl_version", "")).lower()):
        aside = EXTRA_COPIES.get(kind, 0.0) * nbytes
    processors = str(getattr(case, "intra_link", ""))
    host = build_host(processors, placement.local_ranks)
    parts = _time_rounds(rounds, placement, host, nbytes, aside)
    inputs: tuple[UnknownInput, ...] = ()

    def measure(unknown_input: UnknownInput, others: Iterable[tuple[float, Placement, Host]]) -> UnknownInput:
        times = ((share, _time_rounds(rounds, other, host, nbytes, aside).total) for share, other, host in others)
        return _measure_input(unknown_input, times, parts.total)

    if network.guessed:
        ratios = CARD_RATIOS["slingshot"] if network.guessed == "slingshot" else HOST_NIC_RATIOS
        inputs += (measure(_describe_card_input(network), _list_cards(placement, host, ratios)),)
    if network.net == "tcp":
        flows = ((share, replace(placement, flow_ratio=ratio), host) for ratio, share in TCP_RATIOS.items())
        inputs += (measure(_TCP, (*flows, *_list_cards(placement, host, TCP_WIRE))),)
    if ranks > nodes:
        copying = ((share, placement, replace(host, copies=copies)) for copies, share in COPIES.items())
        inputs += (measure(_COPIES, copying),)
    if ranks > nodes and parse_processors(processors) is None:
        memories = (
            (share, placement, replace(host, memory=host.memory * ratio)) for ratio, share in MEMORY_RATIOS.items()
        )
        inputs += (measure(_describe_memory(host), memories),)
    if ranks / nodes > _MANY and "srun" not in str(getattr(case, "launch", "")):
        inputs += (_FULL_NODES,)
    if network.net == "tcp" and kind != "broadcast":
        inputs += _list_incast(rounds, placement, parts.total)
    named = (entry for entry in inputs if entry.has_effect or entry.name == _CARDS)
    return replace(parts, unknown_inputs=sort_inputs(named))


def _time_rounds(rounds: Rounds, placement: Placement, host: Host, nbytes: int, aside: float) -> MpiParts:
    """Seconds of the rounds of a call, and of bytes that each rank copies aside."""
    cached_host = apply_cache(host, nbytes)
    copying = aside / cached_host.compute_rate(cached_host.fresh, placement.local_ranks)
    waits, moves = (
        sum(terms)
        for terms in zip(*(round_time(message_round, placement, cached_host) for message_round in rounds), strict=True)
    )
    return MpiParts(cached_host.call + waits, moves + copying)


def _list_cards(
    placement: Placement, host: Host, ratios: Mapping[float, float]
) -> Iterator[tuple[float, Placement, Host]]:
    """Cards of other rates, with their probabilities."""
    for ratio, share in ratios.items():
        yield share, replace(placement, card_rate=placement.card_rate * ratio), host


def _measure_input(unknown_input: UnknownInput, times: Iterable[tuple[float, float]], seconds: float) -> UnknownInput:
    """The doubt about an input, from probabilities of other values and the times with them."""
    fast, slow = compute_deviations([(share, math.log(other / seconds)) for share, other in times])
    return replace(unknown_input, fast=fast, slow=slow)


def _describe_card_input(network: NetworkCards) -> UnknownInput:
    """The doubt about the network cards, not yet measured."""
    assumption = describe_cards(network.guessed, network.cards, network.rate)
    return UnknownInput(_CARDS, assumption, CARDS_MEASUREMENT)


def _describe_memory(host: Host) -> UnknownInput:
    """The doubt about the processors of a node and their memory, not yet measured."""
    template = "processors of a node not stated: {rate} of its memory, as EPYC 7003 with a socket for every 64 ranks"
    measurement = Sentence("the processors of a node (lscpu), or the time of one large call inside it")
    return UnknownInput("host memory", Sentence(template, rate=format_bandwidth(host.memory)), measurement)


def _list_incast(rounds: Rounds, placement: Placement, seconds: float) -> tuple[UnknownInput, ...]:
    """The doubt about the round in which most ranks of other nodes send to one node at a time."""
    crowds = [
        (each.sends * (1 if each.has_single_sender else placement.local_ranks), each.nbytes)
        for each in rounds
        if each.sends > 1
    ]
    if not crowds:
        return ()
    senders, message = max(crowds)
    return list_incast_inputs(senders, message, seconds)


def name_algorithm(case: Any, nbytes: int) -> str:
    """Name the algorithm that a time is of: for buffers in host memory the one whose rounds are counted, whether or not
    the table says which library; else the one published.

    Args:
        case: A row of a table, as `predict_mpi_time` takes it.
        nbytes: Bytes of the whole buffer.

    Returns:
        The library's name of it; empty where there is none.
    """
    kind, ranks = parse_collective(case.collective), int(case.ranks)
    if kind == "sendrecv" or ranks < 2:
        return ""
    if "none" in case.gpu.lower():
        return find_running_algorithm(case, kind, ranks, int(case.nodes), nbytes)
    chosen = choose_for_case(case, nbytes)
    if chosen:
        return chosen.name
    return ""


def find_running_algorithm(case: object, kind: str, ranks: int, nodes: int, nbytes: int) -> str:
    """Find the algorithm that runs: pinned by the table, by the rules of the release that it names, or else by those of
    Open MPI 4.1.

    Args:
        case: A row of a table: nccl_version, and perhaps algo and date.
        kind: collsim's name of the collective.
        ranks: Number of ranks.
        nodes: Number of nodes.
        nbytes: Bytes of the whole buffer.

    Returns:
        The library's name of it.
    """
    operation, library_name = _OPERATIONS[kind], str(getattr(case, "nccl_version", "")).lower()
    pinned = str(getattr(case, "algo", "")).lower()
    if pinned in ROUND_COUNTERS[operation]:
        return pinned
    if _is_mpich_family(library_name):
        return choose_mpi_algorithm("mpich", kind, ranks, nbytes).name
    version = _find_release(case)
    if version is not None and version < (4, 1) and (old := openmpi.choose_openmpi_before_41(operation, ranks, nbytes)):
        return old
    alone = ranks == nodes and version is not None and version >= _DISJOINT
    return choose_mpi_algorithm("openmpi", kind, ranks, nbytes, one_per_node=alone).name


def _is_mpich_family(library: str) -> bool:
    """Libraries that come from MPICH."""
    return any(name in library for name in ("mpich", "mvapich", "intel"))


def _find_release(case: object) -> tuple[int, int] | None:
    """Of Open MPI, as a table says it, or by the year: 4.1 was published in December 2020."""
    release = re.search(r"(\d{1,3})\.(\d{1,3})", str(getattr(case, "nccl_version", "")))
    if release:
        return int(release[1]), int(release[2])
    year = re.match(r"(\d{4})", str(getattr(case, "date", "")))
    if year and int(year[1]) <= _YEAR_OF_41:
        return (4, 0)
    return None


def _predict_smoothly(case: Any, nbytes: int, known: Constants) -> MpiParts:
    """Buffers in GPU memory: rounds of messages, then bytes at the rate a rank can move or reduce, whatever the
    algorithm."""
    kind = parse_collective(case.collective)
    rates = known.gpu
    if "cray" in str(getattr(case, "nccl_version", "")).lower():
        rates = known.cray
    path = str(getattr(case, "gdr", "")).strip().lower()
    if path == "no":
        rates = replace(rates, step=rates.step + STAGED_COPIES)
    ranks, nodes = int(case.ranks), int(case.nodes)
    network = NetworkCards(0.0, 0.0, "none")
    if nodes > 1:
        network = parse_network(case.inter_link, -(-ranks // nodes), case.gpu)
    parts = _time_smoothly(case, kind, nbytes, rates, known, network)
    others = [(share, replace(rates, move=rates.move * ratio)) for ratio, share in MOVE_RATIOS.items()]
    if path not in ("yes", "no"):
        others.append((STAGED, replace(rates, step=rates.step + STAGED_COPIES)))
    times = ((share, _time_smoothly(case, kind, nbytes, other, known, network).total) for share, other in others)
    path_input = _GPU_PATHS[path if path in _GPU_PATHS else ""]
    inputs: tuple[UnknownInput, ...] = (_measure_input(path_input, times, parts.total),)
    if network.guessed:
        slower = (
            (share, network._replace(rate=network.rate * ratio))
            for ratio, share in CARD_RATIOS[network.guessed].items()
        )
        times = ((share, _time_smoothly(case, kind, nbytes, rates, known, other).total) for share, other in slower)
        inputs += (_measure_input(_describe_card_input(network), times, parts.total),)
    return replace(parts, unknown_inputs=sort_inputs(inputs))


def _time_smoothly(
    case: Any, kind: str, nbytes: int, rates: Rates, known: Constants, network: NetworkCards
) -> MpiParts:
    ranks, nodes = int(case.ranks), int(case.nodes)
    latency = rates.start + _compute_latency(kind, ranks, nodes, rates, known)
    flow = _compute_flow_time(
        kind, ranks, nodes, nbytes, _get_rank_rate(kind, rates), network.cards * network.rate * known.wire
    )
    fill = known.fill * math.sqrt(latency * flow) / (1 + flow / (known.fade * latency))
    return MpiParts(latency, flow, fill)


def _compute_latency(kind: str, ranks: int, nodes: int, rates: Rates, known: Constants) -> float:
    if kind == "alltoall":
        return known.peer * (ranks - 1) + rates.step * math.log2(max(2, nodes))
    if kind == "sendrecv":
        return rates.step * (known.inside if nodes == 1 else 1.0)
    near, far = math.log2(max(1.0, ranks / nodes)), math.log2(nodes)
    return rates.step * (far + known.inside * near)


def _get_rank_rate(kind: str, rates: Rates) -> float:
    if kind in ("allreduce", "reduce", "reduce_scatter"):
        return rates.reduce
    return rates.move


def _compute_flow_time(kind: str, ranks: int, nodes: int, nbytes: int, inside: float, between: float) -> float:
    """Seconds of the bytes: inside a rank and its node at `inside` B/s, over the cards of a node at `between` B/s."""
    local = ranks / nodes
    share = _ROUNDED[kind] * (1.0 if kind in ("broadcast", "sendrecv") else (ranks - 1) / ranks)
    if nodes == 1:
        return nbytes * share / inside
    if kind == "alltoall":
        crossing = local * (ranks - local) / ranks
    else:
        crossing = share
    return max(nbytes * share / inside, nbytes * crossing / between)
