"""Scatter the buffer down a binomial tree, then allgather the blocks by recursive doubling."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two

from .allgather_recursive_doubling import allgather_recursive_doubling
from .scatter_binomial import scatter_binomial


@algorithm(
    "broadcast",
    steps=lambda n: 2 * (n.bit_length() - 1),
    sent=lambda n: 2 * (n - 1) / n,  # the root: n-1 blocks away, and n-1 more in the allgather
    cost=lambda n, K, alpha, beta: 2 * (n.bit_length() - 1) * alpha + 2 * (n - 1) / n * K * beta,
    formula="2lg n·α + 2(n−1)/n·Kβ",
    source="Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner & Gropp 2005, section Broadcast; Open MPI bcast "
    "scatter_allgather",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def broadcast_scatter_allgather_recursive_doubling(n, root=0):
    rank, block = (np.arange(n) + root) % n, np.arange(n)
    for part in (scatter_binomial(n), allgather_recursive_doubling(n)):
        yield from (step.map_to(rank, block) for step in part.each_step())
