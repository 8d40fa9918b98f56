"""Broadcast by doubling: in each step everybody who has the data sends them to one who has not."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks


def broadcast_by_doubling(n, root):
    """Step k: virtual ranks (counted from the root) below 2^(k-1) send to 2^(k-1) beyond themselves.

    Args:
        n: number of ranks.
        root: the rank that has the data, virtual rank 0.

    Yields:
        The steps.
    """
    for k in range((n - 1).bit_length()):
        v = np.arange(min(2**k, n - 2**k))
        yield copy((v + root) % n, (v + 2**k + root) % n, chunk=0)


@algorithm(
    "broadcast",
    steps=lambda n, chunks: (n - 1).bit_length() + chunks - 1 if n > 1 else 0,
    sent=lambda n: (n - 1).bit_length(),
    cost=lambda n, K, alpha, beta, chunks: (
        ((n - 1).bit_length() + chunks - 1) * alpha + (n - 1).bit_length() * K * beta if n > 1 else 0
    ),
    source="Thakur, Rabenseifner & Gropp 2005, section Broadcast; Open MPI coll_base_topo.c bmtree",
    chunks=lambda n, chunks: chunks,
    most_ranks=2**20,
)
def broadcast_binomial(n, root=0, chunks=1):
    yield from pipeline_chunks(broadcast_by_doubling(n, root), chunks)
