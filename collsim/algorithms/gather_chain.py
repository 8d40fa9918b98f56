"""Blocks move down a chain towards the root, all of them one place per step."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "gather",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1) * (alpha + K / n * beta),
    source="Chan et al. 2007 (bucket gather); the reverse of a pipelined scatter",
    chunks=lambda n: n,
)
def gather_chain(n, root=0):
    for k in range(n - 1):
        v = np.arange(1, n - k)
        yield copy((v + root) % n, (v - 1 + root) % n, chunk=(v + k + root) % n)
