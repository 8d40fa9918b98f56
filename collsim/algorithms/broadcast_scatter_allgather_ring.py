"""van de Geijn: scatter the buffer down a binomial tree, then allgather the blocks around the ring."""

import numpy as np

from collsim.registry import algorithm

from .allgather_ring import allgather_ring
from .scatter_binomial import scatter_binomial


@algorithm(
    "broadcast",
    steps=lambda n: (n - 1).bit_length() + n - 1,
    sent=lambda n: 2 * (n - 1) / n,  # the root: n-1 blocks away, and n-1 more in the allgather
    cost=lambda n, S, alpha, beta: ((n - 1).bit_length() + n - 1) * alpha + 2 * (n - 1) / n * S * beta,
    formula="(⌈lg n⌉+n−1)α + 2(n−1)/n·Sβ",
    source="Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner & Gropp 2005, section Broadcast; "
    "Open MPI bcast scatter_allgather_ring",
    says=(
        "First the root's blocks spread down a tree; then every rank passes blocks on around the ring.",
        "先沿树把根的各块散发出去，每步送出剩余的一半；然后各 rank 沿环传递这些块。",
    ),
    when=(
        "Large messages without chunking, any number of ranks: twice the least bytes, whatever n.",
        "不分 chunk 的大消息、任意 rank 数：流量为下界的两倍，与 n 无关。",
    ),
    chunks=lambda n: n,
)
def broadcast_scatter_allgather_ring(n, root=0):
    rank, block = (np.arange(n) + root) % n, np.arange(n)
    for part in (scatter_binomial(n), allgather_ring(n)):
        yield from (step.map_to(rank, block) for step in part.each_step())
