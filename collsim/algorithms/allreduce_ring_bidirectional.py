"""Two opposite rings, each with half of the buffer: both directions of every cable work."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce, repeat


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n - 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, S, alpha, beta, gamma: 2 * (n - 1) * alpha + (n - 1) / n * S * (beta + gamma) * (2 if n == 2 else 1),
    formula="2(n−1)α + (n−1)/n·Sβ + (n−1)/n·Sγ on a ring of full-duplex cables, n > 2 (two ranks have one cable only)",
    network="ring",
    source="NCCL src/graph/rings.cc (channels run both ways where links allow); "
    "Jeaugey 2019 (NCCL blog); Kumar et al. 2019 (2-D gradient summation)",
    says=(
        "Every rank sends one chunk to its right and another to its left neighbour: half of the buffer goes each "
        "way round.",
        "每个 rank 向右邻居发一个 chunk、向左邻居发另一个：缓冲区一半顺时针、一半逆时针。",
    ),
    when=(
        "Large messages on a true ring of full-duplex cables: twice the speed of one ring; behind a switch it gains "
        "nothing.",
        "真正的全双工线缆环、消息大时：速度是单向 ring 的两倍；若经交换机则没有好处。",
    ),
    chunks=lambda n: 2 * n,
    most_ranks=2**24,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_ring_bidirectional(n):
    right, left = np.arange(n), (-np.arange(n)) % n
    src, dst = np.concatenate([right, left]), np.concatenate([(right + 1) % n, (left - 1) % n])
    channel, position = np.divmod(np.arange(2 * n), n)
    yield repeat(reduce(src, dst, channel * n + position, channel=channel), times=n - 1, shift=-1, modulus=n)
    yield repeat(copy(src, dst, channel * n + (position + 1) % n, channel=channel), times=n - 1, shift=-1, modulus=n)
