"""Blocks gather in a binomial tree: in each step half of the collectors hand all they have to the other half."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "gather",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: max(n - 2 ** max(0, (n - 1).bit_length() - 1), 2 ** (n - 1).bit_length() // 4) / n if n > 1 else 0,
    cost=lambda n, K, alpha, beta: (n - 1).bit_length() * alpha + (n - 1) / n * K * beta,
    formula="⌈lg n⌉α + (n−1)/n·Kβ",
    source="Thakur, Rabenseifner & Gropp 2005, section Broadcast (its scatter, reversed); Open MPI coll_base_gather.c "
    "binomial",
    chunks=lambda n: n,
)
def gather_binomial(n, root=0):
    v = np.arange(n)  # blocks, by virtual rank
    for k in range((n - 1).bit_length()):
        # After k rounds a block is with the rank whose k lowest bits are 0. Those with a one in bit k now hand all
        # they hold to the rank 2^k below.
        moving = v[v // 2**k % 2 == 1]
        holder = moving // 2**k * 2**k
        yield copy((holder + root) % n, (holder - 2**k + root) % n, chunk=(moving + root) % n)
