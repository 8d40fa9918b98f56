"""Everybody sends block j straight to rank j, all at once."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import reduce


@algorithm(
    "reduce_scatter",
    steps=lambda n: int(n > 1),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, S, alpha, beta, gamma: alpha + (n - 1) / n * S * (beta + gamma) if n > 1 else 0,
    formula="α + (n−1)/n·S(β + γ)",
    source="Chan et al. 2007; Li et al. 2024 (ForestColl, arXiv 2402.06787)",
    says=(
        "Every rank sends each block straight to its owner, who adds all that arrive.",
        "每个 rank 把各块直接发给其所有者，由所有者累加。",
    ),
    when=(
        "All ranks on one full-speed switch that bears incast, any size.",
        "所有 rank 都在同一台能承受 incast 的全速交换机上，任何大小均可。",
    ),
    chunks=lambda n: n,
)
def reduce_scatter_direct(n):
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    yield reduce(src, dst, chunk=dst)
