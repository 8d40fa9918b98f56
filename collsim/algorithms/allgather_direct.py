"""Everybody sends its block to everybody: one step."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: int(n > 1),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: alpha + (n - 1) / n * K * beta if n > 1 else 0,
    formula="α + (n−1)/n·Kβ",
    source="Open MPI coll_base_allgather.c linear; NCCL 2.27 symmetric kernels AllGather_LL and "
    "AllGather_ST, copy engines in src/ce_coll.cc ncclCeAllGather; Li et al. 2024 (ForestColl, arXiv 2402.06787)",
    chunks=lambda n: n,
)
def allgather_direct(n):
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    yield copy(src, dst, chunk=src)
