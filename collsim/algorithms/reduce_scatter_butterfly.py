"""Butterfly: partners at distance 1, 2, 4, ... halve the range they work on; at last blocks go to their owners in one
exchange."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import copy, reduce

from .allreduce_halving_doubling import reverse_bits


@algorithm(
    "reduce_scatter",
    steps=lambda n: n.bit_length() - 1 + (n > 2),
    sent=lambda n: (n - 1) / n + (n > 2) / n,
    cost=lambda n, K, alpha, beta, gamma: (
        (n.bit_length() - 1 + (n > 2)) * alpha + (n - 1) / n * K * (beta + gamma) + (n > 2) * K / n * beta
    ),
    formula="(lg n + 1)α + Kβ + (n−1)/n·Kγ (n > 2)",
    source="Träff 2005 (butterfly reduce-scatter); Open MPI coll_base_reduce_scatter.c butterfly",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def reduce_scatter_butterfly(n):
    home = reverse_bits(n)  # the rank that ends with each block
    differ = np.arange(n)[:, None] ^ home
    for d in (2**k for k in range(n.bit_length() - 1)):
        # Blocks whose home agrees with the rank in all bits done so far, and differs in this one.
        rank, block = np.nonzero(differ % (2 * d) == d)
        yield reduce(rank, rank ^ d, chunk=block)
    away = np.flatnonzero(home != np.arange(n))
    yield copy(home[away], away, chunk=away)
