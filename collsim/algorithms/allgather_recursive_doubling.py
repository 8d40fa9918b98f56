"""Partners exchange all they have collected, at distance 1, 2, 4, ..."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n.bit_length() - 1) * alpha + (n - 1) / n * K * beta,
    formula="lg n·α + (n−1)/n·Kβ",
    source="Thakur, Rabenseifner & Gropp 2005, section Allgather; Open MPI coll_base_allgather.c recursivedoubling",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def allgather_recursive_doubling(n):
    number = np.arange(n)
    for d in (2**k for k in range(n.bit_length() - 1)):
        rank, block = np.nonzero(number[:, None] // d == number // d)
        yield copy(rank, rank ^ d, chunk=block)
