"""The algorithm that NCCL would choose, run chunk by chunk over the links of the machine: the Trace behind a prediction.

It knows nothing of protocols, launches or measured rates: it shows where the bytes go and which links they share. Its time is that of
the links as the topology states them, so it is a lower bound of what is measured; `predict` is the number to compare with nccl-tests.
"""

from __future__ import annotations

from typing import Any

from ..registry import schedule
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..topology import Topology
from .predict import Prediction, predict

#: Bytes of a chunk that a channel sends at a time with Simple: one slot of the buffer (NCCL src/include/device.h: 4 MiB / NCCL_STEPS).
SLOT = 512 * 1024
#: The same for NVLS (src/enqueue.cc, calcCollChunking).
NVLS_CHUNK = 128 * 1024
_MOST_CHANNELS, _MOST_CHUNKS = 8, 32


def trace(collective: str, machine: Topology, nbytes: Any, *, engine: str = "lockstep", **environment: Any) -> tuple[Prediction, Trace]:
    """What `predict` says, and the simulation of that algorithm on the machine.

    Args:
        machine: a Topology made by `machine(...)`.
        engine: `lockstep` or `event`.
        environment: NCCL_ALGO ... as for `predict`. NCCL_P2P_DISABLE and NCCL_NET_GDR_LEVEL change the prediction only: give the machine
            `p2p=False`, `gdr=False` for the paths to change too.
    """
    prediction = predict(collective, machine, nbytes, **environment)
    plan = schedule_of(prediction, machine)
    return prediction, simulate(plan, machine, prediction.nbytes, engine=engine)


def schedule_of(prediction: Prediction, machine: Topology) -> Schedule:
    """The schedule of the algorithm that was predicted, with no more channels and chunks than a picture needs."""
    p, ranks = prediction, prediction.facts.ranks
    channels = max(1, min(p.channels, _MOST_CHANNELS))
    chunks = max(1, min(_MOST_CHUNKS, p.nbytes // (SLOT * channels)))
    if p.collective in ("alltoall", "sendrecv"):
        return schedule(f"{p.collective}_direct", ranks=ranks)
    if p.collective in ("broadcast", "reduce"):
        return schedule(f"{p.collective}_chain", ranks=ranks, chunks=chunks, channels=channels, topology=machine)
    if p.algorithm == "Tree":
        trees = max(2, channels // 2 * 2)
        local = p.facts.local
        return schedule("allreduce_double_binary_tree", ranks=ranks, chunks=chunks, channels=trees, per_node=local, topology=machine)
    pieces = max(1, min(_MOST_CHUNKS // 2, p.nbytes // (NVLS_CHUNK * p.facts.local)))
    if p.algorithm == "NVLS":
        return schedule(f"{p.collective}_nvls", ranks=ranks, **({"chunks": pieces} if p.collective == "allreduce" else {}))
    if p.algorithm == "NVLSTree":
        return schedule("allreduce_nvls_tree", ranks=ranks, per_node=p.facts.local, chunks=pieces, topology=machine)
    if p.algorithm == "PAT":
        return schedule(f"{p.collective}_pat", ranks=ranks)
    return schedule(f"{p.collective}_ring", ranks=ranks, channels=channels, topology=machine)
