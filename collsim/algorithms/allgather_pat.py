"""PAT, parallel aggregated trees: far exchanges carry one block, near ones half of all; any number of ranks."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, S, alpha, beta: (n - 1).bit_length() * alpha + (n - 1) / n * S * beta,
    formula="⌈lg n⌉α + (n−1)/n·Sβ, fully aggregated",
    source="Jeaugey 2025, arXiv 2506.20252; NCCL src/include/collectives.h PatAGAlgorithm",
    chunks=lambda n: n,
)
def allgather_pat(n):
    r = np.arange(n)[:, None]
    for d in (2**k for k in reversed(range((n - 1).bit_length()))):
        offset = np.arange(0, n - d, 2 * d)  # of the blocks sent, counted from the sender
        yield copy(r, (r - d) % n, chunk=(r + offset) % n)
