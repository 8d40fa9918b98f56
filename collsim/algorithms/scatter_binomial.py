"""Blocks scatter down a binomial tree: in each step everybody who holds several hands half of them on."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "scatter",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1).bit_length() * alpha + (n - 1) / n * K * beta,
    formula="⌈lg n⌉α + (n−1)/n·Kβ",
    source="Thakur, Rabenseifner & Gropp 2005, section Broadcast (its scatter); Open MPI coll_base_scatter.c binomial",
    chunks=lambda n: n,
)
def scatter_binomial(n, root=0):
    v = np.arange(n)  # blocks, by virtual rank
    for k in reversed(range((n - 1).bit_length())):
        # The gather backwards: the farthest half leaves the root first, so that its takers can go on while the root
        # serves the nearer ones.
        moving = v[v // 2**k % 2 == 1]
        taker = moving // 2**k * 2**k
        yield copy((taker - 2**k + root) % n, (taker + root) % n, chunk=(moving + root) % n)
