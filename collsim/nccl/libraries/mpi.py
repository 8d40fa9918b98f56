"""MPI collectives: which algorithm a library publishes that it runs, and how long OSU's micro-benchmarks say that they
take.

`choose` reads the tables of `openmpi` and `mpich`. `time_of` is a simpler model than NCCL's: rounds of messages, then
bytes at the rate a rank can move or reduce, whatever the algorithm. Counting the rounds and bytes of the algorithm that
is chosen instead, with the same constants, is farther off on the runs below (small sizes 31 % for 21 %, middle 43 % for
35 %, large 18 % for 16 %): what is measured over sizes is smooth where the tables jump. Constants were found by least
squares over 30 published OSU runs (buffers on host and GPU, 8 to 128 ranks, InfiniBand, RoCE, Slingshot):
github.com/aistabci/abci2.0benchmark, github.com/stackhpc, github.com/argonne-lcf. Seconds, bytes, B/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import CollsimError, unknown
from ...units import parse_bytes, parse_count
from ..machine.words import network
from ..predict import collective_name
from . import mpich, openmpi

#: Buffers that a rank moves, as its number grows.
_ROUNDED = {
    "allreduce": 2.0,
    **dict.fromkeys(("allgather", "alltoall", "broadcast", "reduce", "reduce_scatter", "sendrecv"), 1.0),
}

#: Our name of a collective -> MPI's.
_OPERATIONS = {"broadcast": "bcast", **{name: name for name in openmpi.NAMES if name != "bcast"}}
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


def choose(
    library: str,
    collective: str,
    ranks: Any,
    nbytes: Any,
    *,
    itemsize: int = 4,
    one_per_node: bool = False,
    commutative: bool = True,
) -> MpiChoice:
    """The algorithm that a library's published rules give.

    Args:
        library: `openmpi` (its component tuned) or `mpich`.
        collective: allreduce, broadcast, reduce, allgather, alltoall, reduce_scatter, reduce_scatter_block, gather or
        scatter. ranks: 2 or more. nbytes: the whole buffer; of allgather, alltoall, gather and scatter all blocks of a
        rank together. itemsize: bytes of an element. one_per_node: no two ranks share a node. commutative: the operator
        is (sum, max ...).

    Raises CollsimError for an unknown library or collective, and fewer than 2 ranks.
    """
    if library not in LIBRARIES:
        raise CollsimError(unknown("MPI library", library, LIBRARIES))
    if collective not in _OPERATIONS:
        raise CollsimError(unknown("collective of MPI", collective, _OPERATIONS))
    n, size = parse_count(ranks, "ranks"), parse_bytes(nbytes)
    if n < 2:
        raise CollsimError("ranks={n}: with one rank nothing is chosen; use 2 or more", n=n)
    operation, elements = _OPERATIONS[collective], size // parse_count(itemsize, "itemsize")
    if library == "mpich":
        name, ours = mpich.choose(operation, n, size, elements=elements, commutative=commutative)
        return MpiChoice(name, ours, 0, mpich.SOURCE)
    name, ours = openmpi.choose(operation, n, size, elements=elements, apart=one_per_node, commutative=commutative)
    return MpiChoice(name, ours, 0, openmpi.SOURCE)


def chosen_for(case: Any, nbytes: int) -> MpiChoice | None:
    """The choice for a row of a table; None where its library (column nccl_version) publishes no rules: Cray's MPICH
    has its own."""
    said = str(getattr(case, "nccl_version", "")).lower()
    library = next((name for name in LIBRARIES if said.startswith(name)), None)
    if library is None or int(case.ranks) < 2:
        return None
    return choose(
        library,
        collective_name(case.collective),
        int(case.ranks),
        nbytes,
        one_per_node=int(case.ranks) == int(case.nodes),
    )


@dataclass(frozen=True)
class Rates:
    """What MPI does with buffers in one kind of memory.

    Attributes:
        start: seconds before the first message. step: seconds of a round of messages between nodes.
        move, reduce: B/s at which a rank passes bytes on, and adds them.
    """

    start: float
    step: float
    move: float
    reduce: float


#: Buffers in host memory; in GPU memory with Open MPI over UCX (reductions go through the host); the same with Cray
#: MPICH.
HOST = Rates(1e-6, 1.5e-6, 4.5e9, 3e9)
GPU = Rates(15e-6, 3e-6, 2e9, 1.3e9)
GPU_CRAY = Rates(40e-6, 3e-6, 14e9, 14e9)
#: B/s that all ranks of a node move together; a message inside a node against one between nodes; per peer of an
#: alltoall.
NODE, INSIDE, PEER = 20e9, 0.4, 0.45e-6
#: Share of sqrt(rounds x bytes) between the latency and the bandwidth regime, and the ratio of the two at which it has
#: halved; what a NIC carries under many ranks.
FILL, FADE, WIRE = 1.5, 64, 0.9


@dataclass(frozen=True)
class Constants:
    """All of these, for a fit that finds them again."""

    host: Rates = HOST
    gpu: Rates = GPU
    cray: Rates = GPU_CRAY
    node: float = NODE
    inside: float = INSIDE
    peer: float = PEER
    fill: float = FILL
    fade: float = FADE
    wire: float = WIRE


def time_of(case: Any, nbytes: int, known: Constants | None = None) -> float:
    """Seconds of one call. `case` has the columns gpu, ranks, nodes, collective, inter_link and nccl_version (the
    library) of a table; `known` are other constants than those above."""
    known = known or Constants()
    ranks, nodes, kind = int(case.ranks), int(case.nodes), collective_name(case.collective)
    in_host = "none" in case.gpu.lower()
    cray = "cray" in str(getattr(case, "nccl_version", "")).lower()
    rates = known.host if in_host else known.cray if cray else known.gpu
    latency = rates.start + _latency(kind, ranks, nodes, rates, known)
    inside = min(_rate(kind, rates), known.node * nodes / ranks) if in_host else _rate(kind, rates)
    flow = _flow(kind, ranks, nodes, nbytes, inside, case.inter_link, known.wire)
    return latency + flow + known.fill * math.sqrt(latency * flow) / (1 + flow / (known.fade * latency))


def _latency(kind: str, ranks: int, nodes: int, rates: Rates, known: Constants) -> float:
    if kind == "alltoall":
        return known.peer * (ranks - 1) + rates.step * math.log2(max(2, nodes))
    if kind == "sendrecv":
        return rates.step * (known.inside if nodes == 1 else 1.0)
    near, far = math.log2(max(1.0, ranks / nodes)), math.log2(nodes)
    return rates.step * (far + known.inside * near)


def _rate(kind: str, rates: Rates) -> float:
    return rates.reduce if kind in ("allreduce", "reduce", "reduce_scatter") else rates.move


def _flow(kind: str, ranks: int, nodes: int, nbytes: int, inside: float, inter_link: str, wire: float) -> float:
    """Seconds of the bytes: inside a rank and its node at `inside` B/s, over the cards at `wire` of their rate."""
    local = ranks / nodes
    share = _ROUNDED[kind] * (1.0 if kind in ("broadcast", "sendrecv") else (ranks - 1) / ranks)
    if nodes == 1:
        return nbytes * share / inside
    nics, nic_rate, _ = network(inter_link)
    crossing = local * (ranks - local) / ranks if kind == "alltoall" else share
    return max(nbytes * share / inside, nbytes * crossing / (nics * nic_rate * wire))
