"""van de Geijn: scatter the buffer down a binomial tree, then allgather the blocks around the ring."""

import numpy as np

from collsim.registry import algorithm

from .allgather_ring import allgather_ring
from .scatter_binomial import scatter_binomial


@algorithm(
    "broadcast",
    steps=lambda n: (n - 1).bit_length() + n - 1,
    sent=lambda n: 2 * (n - 1) / n,  # the root: n-1 blocks away, and n-1 more in the allgather
    cost=lambda n, K, alpha, beta: ((n - 1).bit_length() + n - 1) * alpha + 2 * (n - 1) / n * K * beta,
    formula="(⌈lg n⌉+n−1)α + 2(n−1)/n·Kβ",
    source="Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner & Gropp 2005, section Broadcast; "
    "Open MPI bcast scatter_allgather_ring",
    chunks=lambda n: n,
)
def broadcast_scatter_allgather_ring(n, root=0):
    rank, block = (np.arange(n) + root) % n, np.arange(n)
    for part in (scatter_binomial(n), allgather_ring(n)):
        yield from (step.map_to(rank, block) for step in part.each_step())
