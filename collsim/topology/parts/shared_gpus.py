"""Several ranks on one GPU: they share its links, and what they exchange stays in its memory.

What the libraries do: NCCL src/init.cc and docs/userguide/source/env.rst (5067397), PyTorch docs/source/distributed.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...dtypes import Longs
from ...errors import CollsimError, Sentence, TopologyError, join_words
from ..cables import apply_rates, build_gpu_memory
from ..network import Links, Topology
from .gpus import load_gpu_speeds

_WHAT_LIBRARIES_DO = Sentence(
    "NCCL refuses it (before 2.30 with 'Duplicate GPU detected'), unless NCCL 2.30 or newer has "
    "NCCL_MULTI_RANK_GPU_ENABLE=1; Gloo carries it through host memory, and a CUDA-aware MPI copies within the GPU"
)


def share_gpus(topology: Topology, ranks: Longs) -> Topology:
    """Add the memory of each GPU on which several of the ranks sit: a link of the GPU to itself.

    Args:
        topology: Where they run.
        ranks: Their numbers; a number that is there twice is two ranks on one GPU.

    Returns:
        The topology; itself where every rank has a GPU of its own.

    Raises:
        TopologyError: The rate of the GPU's memory is not known.

    Examples:
        >>> import collsim as cs
        >>> import numpy as np
        >>> from collsim.topology.parts.shared_gpus import share_gpus
        >>> machine = share_gpus(cs.machine("dgx-a100"), np.array([0, 0]))
        >>> machine.links[-1].label, f"{machine.links[-1].bandwidth / 1e9:.0f} GB/s"
        ('A100 memory', '1020 GB/s')
    """
    numbers, counts = np.unique(ranks, return_counts=True)
    devices = topology.endpoint_device[numbers[counts > 1]]
    # A topology that was restricted before has the link already.
    devices = devices[~np.isin(devices, topology.links.src[topology.memory_links])]
    if not len(devices):
        return topology
    machine = topology.facts.machine
    speed = load_gpu_speeds().get(machine.gpu if machine else "")
    if speed is None:
        message = (
            "ranks={value!r} puts several ranks on one GPU, and nothing says how fast the memory of {name} is; take a "
            "machine with GPUs of a known kind, cs.machine('dgx-a100')"
        )
        raise TopologyError(message, value=ranks.tolist(), name=topology.name)
    cable = build_gpu_memory(speed["name"], float(speed["memory"]) * 1e12, speed["source"])
    cable = apply_rates(cable, topology.facts.rates)
    old, count = topology.links, len(devices)
    links = Links(
        np.concatenate([old.src, devices]),
        np.concatenate([old.dst, devices]),
        np.concatenate([old.alpha, np.full(count, cable.alpha)]),
        np.concatenate([old.bandwidth, np.full(count, cable.bandwidth)]),
        np.concatenate([old.cable, np.full(count, len(old.cables), old.cable.dtype)]),
        (*old.cables, cable),
    )
    return replace(topology, links=links)


def describe_shared_gpus(topology: Topology) -> Sentence | None:
    """Say which ranks share a GPU, and what NCCL, Gloo and MPI do with it.

    Args:
        topology: That of a run.

    Returns:
        The sentence; None where every rank has a GPU of its own.
    """
    if not len(topology.memory_links):
        return None
    gpus = [topology.devices.name[device] for device in topology.links.src[topology.memory_links]]
    return Sentence(
        "Several ranks share {gpus}: they share its links, and exchange in its memory. {libraries}.",
        gpus=join_words(gpus),
        libraries=_WHAT_LIBRARIES_DO,
    )


def refuse_shared_gpus(topology: Topology, ranks: Sequence[int]) -> None:
    """Refuse a rank that is named twice, which would put two ranks on one GPU, where no time is known for that.

    Args:
        topology: Where they run.
        ranks: Their numbers as they were given.

    Raises:
        CollsimError: A rank is named twice; says what NCCL, Gloo and MPI do with two ranks on one GPU.

    Examples:
        >>> import collsim as cs
        >>> from collsim.topology.parts.shared_gpus import refuse_shared_gpus
        >>> refuse_shared_gpus(cs.machine("dgx-a100"), [0, 1])
    """
    if len(set(ranks)) == len(ranks):
        return
    raise CollsimError(
        "ranks={value!r} puts several ranks on one GPU, which is simulated (cs.simulate) and not predicted: "
        "{libraries}. Name different ranks of {name}, 0 to {last}; cs.nccl.recommend_backend(ranks_per_gpu=2) has the "
        "reasons",
        value=list(ranks),
        libraries=_WHAT_LIBRARIES_DO,
        name=topology.name,
        last=topology.ranks - 1,
    )
