"""Gloo as torch.distributed uses it: which algorithm, in which segments, and about how long over TCP, buffers in host
memory.

Sources: Gloo gloo/allreduce.cc (ring, bcube), allgather.cc, broadcast.cc, alltoall.cc and docs/algorithms.md
(70dc3602); PyTorch ProcessGroupGloo (2.13): reduce_scatter is an allreduce of the whole input, of which every rank
keeps its slice. Halving-doubling, ring_chunked and the ring that sends whole vectors are Gloo's older classes, which
PyTorch does not call; no threshold of size chooses between algorithms. Seconds, bytes, B/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import CollsimError, unknown
from ...topology import Topology
from ...units import parse_bytes, parse_count
from ..machine.facts import PCIE_GBPS, Facts
from ..machine.topology_facts import facts_of
from ..model.links import CARRIES, TCP_PER_NIC
from ..predict import collective_name
from .backends import place_of

#: Bytes of a segment at most, and how many a rank has on the way at once (gloo/allreduce.h maxSegmentSize,
#: gloo/allreduce.cc ring).
SEGMENT, IN_FLIGHT = 2**20, 2
#: Seconds that Gloo needs for a message over TCP: one way through the kernel, 26 us on 10 GbE (RTI Perftest), order of
#: magnitude elsewhere.
TCP_MESSAGE = 26e-6
#: B/s between processes of one host over loopback TCP: what one core copies, order of magnitude.
LOOPBACK = 4e9
#: Share of a slot that a copy between pinned host memory and a GPU gets: 55 of 63 GB/s on an H200
#: (github.com/stas00/ml-engineering network), 9.6 to 11.4 of 15.75 on a V100 in a virtual machine
#: (github.com/router-gao/cuda-demo); between them.
COPIES = 0.8


@dataclass(frozen=True)
class GlooRun:
    """What Gloo does for one call.

    Attributes:
        name: of the algorithm in Gloo. algorithm: collsim's that moves as many bytes in as many steps, for `schedule`.
        segments: pieces that the buffer is cut in; segment: bytes of one.
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


def choose(collective: str, ranks: Any, nbytes: Any, *, bcube: bool = False) -> GlooRun:
    """The algorithm and segments of Gloo's new-style functions, which PyTorch calls.

    Args:
        collective: allreduce, reduce_scatter, allgather, broadcast or alltoall.
        ranks: 2 or more. nbytes: the whole buffer.
        bcube: AllreduceOptions::Algorithm::BCUBE instead of the ring; PyTorch never asks for it.

    Raises CollsimError for another collective, fewer than 2 ranks, and bcube of anything but an allreduce.
    """
    name, n, size = collective_name(collective), parse_count(ranks, "ranks"), parse_bytes(nbytes)
    if name not in _RUNS:
        raise CollsimError(unknown("collective that Gloo is described for", name, _RUNS))
    if n < 2:
        raise CollsimError("ranks={n}: with one rank nothing is sent; use 2 or more", n=n)
    if bcube and name != "allreduce":
        raise CollsimError("bcube is an allreduce; Gloo has no bcube {name}", name=name)
    said, ours, file = ("bcube", "allreduce_bcube", "allreduce.cc") if bcube else _RUNS[name]
    segments = (
        _segments(n, size)
        if ours == "allreduce_ring"
        else 2 * n
        if ours == "allgather_ring"
        else 1
        if said == "binomial"
        else n
    )
    return GlooRun(said, ours, segments, -(-size // segments), f"Gloo 70dc3602 gloo/{file}")


def _segments(n: int, size: int) -> int:
    """Two for every rank, more where they would be larger than SEGMENT; as many for each rank."""
    return -(-max(-(-size // SEGMENT), IN_FLIGHT * n) // n) * n


def gloo_time(collective: str, machine: Facts | Topology, nbytes: Any, *, tensors: str = "gpu") -> float:
    """Seconds of a collective with Gloo over TCP, to the order of magnitude: no published runs stand behind it.

    Ring algorithms in host memory: allreduce sends 2(n-1)/n of the buffer in 2(n-1) steps, of which the segments in
    flight hide the rest; reduce_scatter is PyTorch's allreduce and slice; broadcast is binomial; sendrecv is a message,
    over one card where it leaves the node; CUDA tensors cross PCIe twice.

    Args:
        tensors: `gpu` or `cpu`: where they live.

    Raises CollsimError for another place of tensors, and for a sendrecv of CUDA tensors, which Gloo does not do.
    """
    facts, name, size = facts_of(machine), collective_name(collective), parse_bytes(nbytes)
    on_gpu = place_of(tensors, ("gpu", "cpu")) == "gpu"
    if name == "sendrecv" and on_gpu:
        raise CollsimError("Gloo cannot send or receive CUDA tensors; copy them to the CPU first, or use nccl")
    n = facts.ranks
    card = min(facts.nic_rate * CARRIES["tcp"], TCP_PER_NIC)
    rate = LOOPBACK / facts.local if facts.nodes == 1 else card if name == "sendrecv" else facts.nics * card
    copies = 2 * size / (PCIE_GBPS[facts.pcie] * 1e9 * COPIES) if on_gpu else 0.0
    if name == "sendrecv":
        return TCP_MESSAGE + size / rate
    if name in ("allreduce", "reduce_scatter", "reduce"):
        return copies + 2 * (n - 1) * TCP_MESSAGE + 2 * (n - 1) / n * size / rate
    if name == "broadcast":
        return copies + (n - 1).bit_length() * (TCP_MESSAGE + size / rate)
    return copies + (n - 1) * TCP_MESSAGE + (n - 1) / n * size / rate
