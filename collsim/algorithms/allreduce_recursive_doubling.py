"""Partners exchange whole buffers and both add: after lg n exchanges everybody has everything."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce


@algorithm(
    "allreduce",
    steps=lambda n: n.bit_length() - 1 + 2 * (n & (n - 1) != 0),
    sent=lambda n: n.bit_length() - 1 + (n & (n - 1) != 0),
    cost=lambda n, K, alpha, beta, gamma: (
        (n.bit_length() - 1 + 2 * (n & (n - 1) != 0)) * (alpha + K * beta)
        + (n.bit_length() - 1 + (n & (n - 1) != 0)) * K * gamma
    ),
    source="Thakur, Rabenseifner & Gropp 2005, section Reduce and Allreduce; Open MPI coll_base_allreduce.c "
    "recursivedoubling",
    chunks=lambda n: 1,
    most_ranks=2**20,
)
def allreduce_recursive_doubling(n):
    # The largest power of two up to n. The n - p ranks beyond it first hand their data to a neighbour, and get the
    # sum back at the end.
    p = 1 << n.bit_length() - 1
    odd = np.arange(1, 2 * (n - p), 2)  # stays, for itself and for the even rank before it
    rank = np.concatenate([odd, np.arange(2 * (n - p), n)])
    v = np.arange(p)
    yield reduce(odd - 1, odd, chunk=0)
    for k in range(p.bit_length() - 1):
        yield reduce(rank, rank[v ^ 2**k], chunk=0)
    yield copy(odd, odd - 1, chunk=0)
