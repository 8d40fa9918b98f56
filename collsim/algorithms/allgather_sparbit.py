"""Sparbit: doubling for any number of ranks with the far exchanges first and small, and no rotation at the end."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1).bit_length() * alpha + (n - 1) / n * K * beta,
    formula="⌈lg n⌉α + (n−1)/n·Kβ",
    source="Loch & Koslovski 2021 (Sparbit); Open MPI coll_base_allgather.c sparbit",
    chunks=lambda n: n,
)
def allgather_sparbit(n):
    r = np.arange(n)[:, None]
    for d in (2**k for k in reversed(range((n - 1).bit_length()))):
        # The range ends at n - d: a block from further away would be the receiver's own.
        yield copy(r, (r + d) % n, chunk=(r - np.arange(0, n - d, 2 * d)) % n)
