"""Blocks move down a chain away from the root, the one with the longest way first."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "scatter",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1) * (alpha + K / n * beta),
    source="Chan et al. 2007 (bucket scatter)",
    chunks=lambda n: n,
)
def scatter_chain(n, root=0):
    for k in reversed(range(n - 1)):
        v = np.arange(1, n - k)
        yield copy((v - 1 + root) % n, (v + root) % n, chunk=(v + k + root) % n)
