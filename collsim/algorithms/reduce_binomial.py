"""Reduce by halving: in each step half of those who hold a partial sum give it to the other half."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import pipeline_chunks, reduce


def reduce_by_halving(n, root):
    """Backwards through broadcast_binomial: virtual ranks 2^k and beyond send to 2^k before themselves, the largest k
    first.

    Args:
        n: number of ranks.
        root: the rank that gets the result, virtual rank 0.

    Yields:
        The steps.
    """
    for k in reversed(range((n - 1).bit_length())):
        v = np.arange(min(2**k, n - 2**k))
        yield reduce((v + 2**k + root) % n, (v + root) % n, chunk=0)


@algorithm(
    "reduce",
    steps=lambda n, chunks: (n - 1).bit_length() + chunks - 1 if n > 1 else 0,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta, gamma, chunks: (
        ((n - 1).bit_length() + chunks - 1) * alpha + (n - 1).bit_length() * K * (beta + gamma) if n > 1 else 0
    ),
    source="Thakur, Rabenseifner & Gropp 2005, section Reduce and Allreduce; Open MPI coll_base_reduce.c binomial",
    chunks=lambda n, chunks: chunks,
    most_ranks=2**20,
)
def reduce_binomial(n, root=0, chunks=1):
    yield from pipeline_chunks(reduce_by_halving(n, root), chunks)
