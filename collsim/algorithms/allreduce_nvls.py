"""NVLink SHARP: the NVSwitch adds everybody's slice for the rank that heads it, then multicasts the head's result."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce


def _load(n, c):
    """Chunks of K/c through a GPU's busier direction, summed over steps: up, to the head, from the head, to all, in a
    pipeline."""
    return sum(max((s < c) + (2 <= s < c + 2) / n, (1 <= s < c + 1) / n + (s >= 3)) for s in range(c + 3))


@algorithm(
    "allreduce",
    steps=lambda n, chunks: 3 + chunks,
    sent=lambda n: n + 1,  # the switch, all ports; a rank sends 1 + 1/n
    cost=lambda n, K, alpha, beta, chunks: (3 + chunks) * alpha + _load(n, chunks) * K / chunks * beta,
    source="NCCL src/device/all_reduce.h (NVLS: multimem load-reduce and store), src/transport/nvls.cc; symmetric "
    "kernel AllReduce_RSxLDMC_AGxSTMC",
    chunks=lambda n, chunks: n * chunks,
    helpers=lambda n: 1,
    helpers_on="nvswitch",
    phases=("reduce", "broadcast"),
)
def allreduce_nvls(n, chunks=1):
    head, (rank, piece) = np.arange(n), (a.ravel() for a in np.indices((n, n)))
    # A switch keeps no data: rank h loads the sum of piece h through it (multimem.ld_reduce) and stores it to all
    # through it again (multimem.st). So a rank sends its buffer and, in the third step, one piece more.
    rounds = [
        reduce(rank, n, chunk=piece),
        copy(n, head, chunk=head),
        copy(head, n, chunk=head),
        copy(n, rank, chunk=piece),
    ]
    yield from pipeline_chunks(rounds, chunks, stride=n)
