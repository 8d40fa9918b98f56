"""Which backend of torch.distributed for which situation, with the reasons, and about how long Gloo would take instead of NCCL.

Sources: PyTorch docs/source/distributed.md ("Which backend to use?" and the table of what each backend can do, 2.13),
torch/distributed/distributed_c10d.py (default backend by device), Gloo docs/algorithms.md and gloo/allreduce.cc (70dc3602).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..errors import CollsimError, unknown
from ..topology import Topology
from ..units import parse_bytes
from .facts import PCIE_GBPS, Facts
from .links import TCP_PER_NIC
from .machines import facts_of
from .predict import collective_name

#: Seconds that Gloo needs for a message over TCP: one way through the kernel, 26 us on 10 GbE (RTI Perftest), order of magnitude elsewhere.
TCP_MESSAGE = 26e-6
#: B/s between processes of one host over loopback TCP: what one core copies, order of magnitude.
LOOPBACK = 4e9


@dataclass(frozen=True)
class Advice:
    """A backend, why, and what else would work."""

    backend: Literal["nccl", "gloo", "mpi", "cpu:gloo,cuda:nccl"]
    reasons: tuple[str, ...]
    otherwise: str = ""

    def __str__(self) -> str:
        return f"{self.backend}: " + " ".join(self.reasons) + (f" Otherwise: {self.otherwise}" if self.otherwise else "")


def backend(
    tensors: str = "gpu",
    *,
    ranks_per_gpu: float = 1,
    gpus: int = 8,
    nvlink: bool = True,
    hosts: int = 1,
    rdma: bool = True,
    built_with_mpi: bool = False,
) -> Advice:
    """Which backend to give to `init_process_group`.

    Args:
        tensors: `gpu`, `cpu` or `both`: where the tensors of the collectives live.
        ranks_per_gpu: processes that share a GPU.
        gpus: GPUs in all. nvlink: GPUs of a host have NVLink. hosts: machines. rdma: InfiniBand or RoCE between them.
        built_with_mpi: PyTorch was compiled on a machine with MPI.
    """
    where = str(tensors).lower()
    if where not in ("gpu", "cuda", "cpu", "both"):
        raise CollsimError(unknown("place of tensors", tensors, ("gpu", "cpu", "both")))
    if where == "cpu" or gpus == 0:
        other = "mpi, where PyTorch was built with it and the cluster's MPI knows the network." if built_with_mpi else ""
        return Advice(
            "gloo",
            ("Tensors are in host memory; NCCL moves CUDA tensors only.", "Gloo is built in and is PyTorch's default for CPU."),
            other,
        )
    if ranks_per_gpu > 1:
        why = f"{ranks_per_gpu:g} ranks share a GPU, and NCCL refuses that by default (Duplicate GPU detected)."
        return Advice(
            "gloo",
            (why, "Gloo stages CUDA tensors through pinned host memory; it has no send, recv or barrier for them."),
            "one rank per GPU, then nccl.",
        )
    if where == "both":
        return Advice("cpu:gloo,cuda:nccl", ("One group with a backend per device: NCCL for CUDA tensors, Gloo for CPU tensors.",))
    reasons = ["Tensors are on GPUs and every GPU has one rank: the documentation's rule of thumb is NCCL, on InfiniBand and on Ethernet."]
    if gpus == 1:
        reasons.append("With a single rank nothing is sent, so any backend does; no rule depends on NCCL's version.")
    if not nvlink and gpus > hosts:
        reasons.append(
            "Without NVLink the GPUs use PCIe peer to peer, or host memory where that is not allowed; still ahead of Gloo's TCP."
        )
    if hosts > 1 and not rdma:
        reasons.append("Between hosts NCCL uses TCP sockets here, at what a CPU moves per NIC.")
    return Advice("nccl", tuple(reasons), "gloo, if NCCL fails and time does not matter.")


def gloo_time(collective: str, machine: Facts | Topology, nbytes: Any, *, tensors: str = "gpu") -> float:
    """Seconds of a collective with Gloo over TCP, to the order of magnitude: no published runs stand behind it.

    Ring algorithms in host memory: allreduce sends 2(n-1)/n of the buffer in 2(n-1) steps or more (segments of 1 MiB); reduce_scatter is
    PyTorch's allreduce and slice; broadcast is binomial; CUDA tensors cross PCIe twice.
    """
    facts, name, size = facts_of(machine), collective_name(collective), parse_bytes(nbytes)
    if name == "sendrecv" and tensors == "gpu":
        raise CollsimError("Gloo cannot send or receive CUDA tensors; copy them to the CPU first, or use nccl")
    n = facts.ranks
    rate = LOOPBACK / max(1, facts.local) if facts.nodes == 1 else min(facts.nics * facts.nic_rate * 0.93, facts.nics * TCP_PER_NIC)
    copies = 2 * size / (PCIE_GBPS[facts.pcie] * 1e9 * 0.8) if tensors == "gpu" else 0.0
    if name in ("allreduce", "reduce_scatter", "reduce"):
        return copies + 2 * (n - 1) * TCP_MESSAGE + 2 * (n - 1) / n * size / rate
    if name == "broadcast":
        return copies + (n - 1).bit_length() * (TCP_MESSAGE + size / rate)
    return copies + (n - 1) * TCP_MESSAGE + (n - 1) / n * size / rate
