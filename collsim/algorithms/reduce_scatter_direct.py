"""Everybody sends block j straight to rank j, all at once."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import reduce


@algorithm(
    "reduce_scatter",
    steps=lambda n: int(n > 1),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: alpha + (n - 1) / n * K * (beta + gamma) if n > 1 else 0,
    formula="α + (n−1)/n·K(β + γ)",
    source="Chan et al. 2007; NCCL 2.27 symmetric kernel ReduceScatter_LD; Li et al. 2024 (ForestColl, "
    "arXiv 2402.06787)",
    chunks=lambda n: n,
)
def reduce_scatter_direct(n):
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    yield reduce(src, dst, chunk=dst)
