"""Scatter the buffer down a binomial tree, then allgather the blocks by recursive doubling."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two

from .allgather_recursive_doubling import allgather_recursive_doubling
from .scatter_binomial import scatter_binomial


@algorithm(
    "broadcast",
    steps=lambda n: 2 * (n.bit_length() - 1),
    sent=lambda n: 2 * (n - 1) / n,  # the root: n-1 blocks away, and n-1 more in the allgather
    cost=lambda n, S, alpha, beta: 2 * (n.bit_length() - 1) * alpha + 2 * (n - 1) / n * S * beta,
    formula="2lg n·α + 2(n−1)/n·Sβ",
    source="Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner & Gropp 2005, section Broadcast; Open MPI bcast "
    "scatter_allgather",
    says=(
        "First the root's blocks spread down a tree; then partners swap all that they have.",
        "先沿树把根的各块散发出去，每步送出剩余的一半；然后伙伴之间交换各自拥有的全部块。",
    ),
    when=(
        "Medium messages, powers of two: the ring variant's bytes in 2·lg n steps.",
        "2 的幂个 rank、中等消息：字节数与 ring 版本相同，只需 2·lg n 步。",
    ),
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def broadcast_scatter_allgather_recursive_doubling(n, root=0):
    rank, block = (np.arange(n) + root) % n, np.arange(n)
    for part in (scatter_binomial(n), allgather_recursive_doubling(n)):
        yield from (step.map_to(rank, block) for step in part.each_step())
