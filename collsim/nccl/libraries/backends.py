"""Which backend of torch.distributed for which situation, with the reasons.

Sources: PyTorch docs/source/distributed.md ("Which backend to use?" and the table of what each backend can do, 2.13),
torch/distributed/distributed_c10d.py (default backend by device).

RCCL is what `nccl` means on AMD GPUs. collsim predicts it with NCCL's algorithms and the rates of xGMI that published
runs of MI300X and MI325X show (`links`, docs/accuracy.md); RCCL's own tuning tables are not modelled, because too few
runs are published to check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...errors import CollsimError, describe_unknown, require_word
from ...errors.arguments import check_arguments
from ...package_data import read_toml

_ON = (("gloo", "cpu"), ("gloo", "gpu"), ("mpi", "cpu"), ("mpi", "gpu"), ("nccl", "cpu"), ("nccl", "gpu"))
#: What PyTorch's documentation says: operation -> yes, no, or ? (only with an MPI that was built for GPUs) on each of
#: _ON.
_TABLE: dict[str, str] = read_toml(__file__, "backends.toml")["operations"]
_WORDS = {"y": "yes", "n": "no", "?": "if built for GPUs"}


@check_arguments
def get_support(backend: str, operation: str, device: str) -> str:
    """What PyTorch's documentation says: `yes`, `no`, or `if built for GPUs`.

    Args:
        backend: gloo, mpi or nccl.
        operation: a function of torch.distributed, such as all_reduce or send.
        device: `cpu` or `gpu`.

    Returns:
        One of the three words.

    Raises:
        CollsimError: For another word.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.get_support("nccl", "all_reduce", "gpu")
        'yes'
    """
    if operation not in _TABLE:
        raise CollsimError(describe_unknown("operation of torch.distributed", operation, _TABLE))
    name = require_word("backend", str(backend).lower(), sorted({name for name, _ in _ON}))
    column = _ON.index((name, parse_tensor_device(device, ("gpu", "cpu"))))
    return _WORDS[_TABLE[operation].replace(" ", "")[column]]


@dataclass(frozen=True)
class BackendAdvice:
    """A backend, why, and what else would work.

    Attributes:
        backend: gloo, mpi or nccl.
        reasons: a sentence each, with the rule of PyTorch's documentation.
        alternative: what else would work.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.recommend_backend("cpu").backend
        'gloo'
    """

    backend: Literal["nccl", "gloo", "mpi", "cpu:gloo,cuda:nccl"]
    reasons: tuple[str, ...]
    alternative: str = ""

    def __str__(self) -> str:
        return (
            f"{self.backend}: "
            + " ".join(self.reasons)
            + (f" Otherwise: {self.alternative}" if self.alternative else "")
        )


@check_arguments
def recommend_backend(
    tensors: str = "gpu",
    *,
    ranks_per_gpu: float = 1,
    gpus: int = 8,
    nvlink: bool = True,
    hosts: int = 1,
    rdma: bool = True,
    built_with_mpi: bool = False,
    amd: bool = False,
    operations: Sequence[str] = (),
) -> BackendAdvice:
    """Which backend to give to `init_process_group`.

    Args:
        tensors: `gpu`, `cpu` or `both`: where the tensors of the collectives live.
        ranks_per_gpu: processes that share a GPU.
        gpus: GPUs in all.
        nvlink: GPUs of a host have NVLink.
        hosts: machines.
        rdma: InfiniBand or RoCE between them.
        built_with_mpi: PyTorch was compiled on a machine with MPI.
        amd: the GPUs are AMD's.
        operations: functions of torch.distributed that the program needs, for example ("all_reduce", "send").

    Returns:
        The backend, the reasons and an alternative.

    Raises:
        CollsimError: For another place of tensors, or an operation that the documentation does not list.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.recommend_backend("gpu", gpus=8).backend
        'nccl'
    """
    advice = _choose_backend(tensors, ranks_per_gpu, gpus, nvlink, hosts, rdma, built_with_mpi, amd)
    device = "gpu"
    if parse_tensor_device(tensors, ("gpu", "cpu", "both")) == "cpu" or gpus == 0:
        device = "cpu"
    if advice.backend not in ("gloo", "nccl"):
        return advice
    lacking = [name for name in operations if get_support(advice.backend, name, device) == "no"]
    if not lacking:
        return advice
    return replace(
        advice,
        reasons=(
            *advice.reasons,
            f"It has no {' and no '.join(lacking)} for CUDA tensors: copy them to the CPU first.",
        ),
    )


def parse_tensor_device(tensors: object, places: Sequence[str]) -> str:
    """Read where tensors live.

    Args:
        tensors: The word; `cuda` is `gpu`.
        places: Words that are known.

    Returns:
        One of the known words.

    Raises:
        CollsimError: The word is another.
    """
    word = str(tensors).lower()
    if (device := "gpu" if word == "cuda" else word) not in places:
        raise CollsimError(describe_unknown("place of tensors", tensors, places))
    return device


def _choose_backend(
    tensors: str, ranks_per_gpu: float, gpus: int, nvlink: bool, hosts: int, rdma: bool, built_with_mpi: bool, amd: bool
) -> BackendAdvice:
    where = parse_tensor_device(tensors, ("gpu", "cpu", "both"))
    if where == "cpu" or gpus == 0:
        other = ""
        if built_with_mpi:
            other = "mpi, where the cluster's MPI knows the network (it has no reduce_scatter)."
        return BackendAdvice(
            "gloo",
            (
                "Tensors are in host memory; NCCL moves CUDA tensors only.",
                "Gloo is built in and is PyTorch's default for CPU.",
            ),
            other,
        )
    if ranks_per_gpu > 1:
        # NCCL's src/init.cc: the UUIDs of the ranks' GPUs are compared; the switch is there since 2.30.
        reason = f"{ranks_per_gpu:g} ranks share a GPU, and NCCL refuses that by default (Duplicate GPU detected)."
        return BackendAdvice(
            "gloo",
            (
                reason,
                "Gloo stages CUDA tensors through pinned host memory; it has no send, recv or barrier for them.",
                "A CUDA-aware MPI takes them, too: for it a rank is a process like any other.",
            ),
            "one rank per GPU, then nccl; or NCCL 2.30 and newer with NCCL_MULTI_RANK_GPU_ENABLE=1.",
        )
    if where == "both":
        return BackendAdvice(
            "cpu:gloo,cuda:nccl", ("One group with a backend per device: NCCL for CUDA tensors, Gloo for CPU tensors.",)
        )
    reasons = [
        "Tensors are on GPUs and every GPU has one rank: the documentation's rule of thumb is NCCL, on InfiniBand "
        "and on Ethernet."
    ]
    if amd:
        reasons.append("On AMD GPUs the backend of that name is RCCL.")
    if gpus == 1:
        reasons.append("With a single rank nothing is sent, so any backend does; no rule depends on NCCL's version.")
    if not nvlink and gpus > hosts:
        reasons.append(
            "Without NVLink the GPUs use PCIe peer to peer, or host memory where that is not allowed; still ahead of "
            "Gloo's TCP."
        )
    if hosts > 1 and not rdma:
        reasons.append("Between hosts NCCL uses TCP sockets here, at what a CPU moves per NIC.")
    return BackendAdvice("nccl", tuple(reasons), "gloo, if NCCL fails and time does not matter.")
