"""Everybody sends everybody its block at once."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "alltoall",
    steps=lambda n: 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: alpha + (n - 1) / n * K * beta if n > 1 else 0,
    formula="α + (n−1)/n·Kβ",
    source="Open MPI coll_base_alltoall.c linear; NCCL src/collectives.cc ncclAlltoAll (grouped send and receive), "
    "copy engines in src/ce_coll.cc ncclCeAlltoAll",
    chunks=lambda n: n,
)
def alltoall_direct(n):
    """Everybody sends everybody its block at once.

    Slots 0..n-1 are the blocks to send, slots n..2n-1 the blocks received; the own block is a local copy.
    """
    src, dst = (a.ravel() for a in np.indices((n, n)))
    yield copy(src, dst, chunk=dst, into=n + src)
