"""Allgather by doubling for any number of ranks: everybody fetches all that the rank 2^k further on has collected."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1).bit_length() * alpha + (n - 1) / n * K * beta,
    formula="⌈lg n⌉α + (n−1)/n·Kβ",
    source="Bruck et al. 1997 (concatenation operation); "
    "Thakur, Rabenseifner & Gropp 2005, section Allgather; Open MPI coll_base_allgather.c bruck",
    chunks=lambda n: n,
)
def allgather_bruck(n):
    r = np.arange(n)[:, None]
    for k in range((n - 1).bit_length()):
        # Of n that is no power of two the last step moves only the blocks that the receiver still lacks.
        collected = np.arange(min(2**k, n - 2**k))
        yield copy(r, (r - 2**k) % n, chunk=(r + collected) % n)
