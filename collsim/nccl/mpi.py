"""MPI collectives as OSU's micro-benchmarks time them: rounds of messages, then bytes at the rate a rank can move or reduce.

A simpler model than NCCL's: Open MPI and MPICH pick a logarithmic algorithm for small buffers and a bandwidth-optimal one for large
ones, and what is seen in between is smooth. Constants were found by least squares over 30 published OSU runs (buffers on host and
GPU, 8 to 128 ranks, InfiniBand, RoCE, Slingshot): github.com/aistabci/abci2.0benchmark, github.com/stackhpc, github.com/argonne-lcf.
Seconds, bytes, B/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..errors import CollsimError
from .words import network

_ROUNDED = {"allreduce": 2.0, "allgather": 1.0, "alltoall": 1.0, "broadcast": 1.0, "reduce": 1.0, "reducescatter": 1.0}


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


#: Buffers in host memory; in GPU memory with Open MPI over UCX (reductions go through the host); the same with Cray MPICH.
HOST = Rates(1e-6, 1.5e-6, 4.5e9, 3e9)
GPU = Rates(15e-6, 3e-6, 2e9, 1.3e9)
GPU_CRAY = Rates(40e-6, 3e-6, 14e9, 14e9)
#: B/s that all ranks of a node move together; a message inside a node against one between nodes; per peer of an alltoall.
NODE, INSIDE, PEER = 20e9, 0.4, 0.45e-6
#: Share of sqrt(rounds x bytes) between the latency and the bandwidth regime; what a NIC carries under many ranks.
FILL, WIRE = 1.5, 0.9


def time_of(case: Any, nbytes: int) -> float:
    """Seconds of one call. `case` has the columns gpu, ranks, nodes, collective, inter_link and nccl_version (the library) of a table."""
    ranks, nodes, kind = int(case.ranks), int(case.nodes), str(case.collective)
    if kind not in _ROUNDED:
        raise CollsimError(f"collective {kind!r} over MPI is not modelled; known: {', '.join(_ROUNDED)}")
    rates = HOST if "none" in case.gpu.lower() else GPU_CRAY if "cray" in str(getattr(case, "nccl_version", "")).lower() else GPU
    latency = rates.start + _latency(kind, ranks, nodes, rates)
    flow = _flow(kind, ranks, nodes, nbytes, rates, case.inter_link)
    return latency + flow + FILL * math.sqrt(latency * flow) / (1 + flow / (64 * latency))


def _latency(kind: str, ranks: int, nodes: int, rates: Rates) -> float:
    if kind == "alltoall":
        return PEER * (ranks - 1) + rates.step * math.log2(max(2, nodes))
    near, far = math.log2(max(1.0, ranks / nodes)), math.log2(nodes)
    return rates.step * (far + INSIDE * near)


def _flow(kind: str, ranks: int, nodes: int, nbytes: int, rates: Rates, inter_link: str) -> float:
    local = ranks / nodes
    share = _ROUNDED[kind] * (1.0 if kind == "broadcast" else (ranks - 1) / ranks)
    rank_rate = rates.reduce if kind in ("allreduce", "reduce", "reducescatter") else rates.move
    inside = nbytes * share / (min(rank_rate, NODE / local) if rates is HOST else rank_rate)
    if nodes == 1:
        return inside
    nics, nic_rate, _ = network(inter_link)
    crossing = local * (ranks - local) / ranks if kind == "alltoall" else share
    return max(inside, nbytes * crossing / (nics * nic_rate * WIRE))
