"""In step k everybody sends the block of the rank k places on straight to it."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import reduce


@algorithm(
    "reduce_scatter",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: (n - 1) * alpha + (n - 1) / n * K * (beta + gamma),
    formula="(n−1)α + (n−1)/n·K(β + γ)",
    source="Thakur, Rabenseifner & Gropp 2005, section Reduce-Scatter; MPICH MPIR_Reduce_scatter_intra_pairwise",
    chunks=lambda n: n,
)
def reduce_scatter_pairwise(n):
    r = np.arange(n)
    for k in range(1, n):
        yield reduce(r, (r + k) % n, chunk=(r + k) % n)
