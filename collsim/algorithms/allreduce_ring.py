"""Reduce-scatter around the ring, then allgather around the ring."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce, repeat
from collsim.topology.network import build_ring_orders


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n - 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, S, alpha, beta, gamma: 2 * (n - 1) * alpha + 2 * (n - 1) / n * S * beta + (n - 1) / n * S * gamma,
    formula="2(n−1)α + 2(n−1)/n·Sβ + (n−1)/n·Sγ",
    source="Patarasuk & Yuan 2009, section 3; NCCL src/device/all_reduce.h runRing",
    says=(
        "Every rank sends one chunk to its right neighbour: first partial sums that grow by one contribution a "
        "step, then finished ones.",
        "每个 rank 向右边的邻居发送一个 chunk：先是每步多累加一份的部分和，然后是已完成的和。",
    ),
    when=(
        "Large messages on few ranks: every link carries the least possible, and only neighbours talk.",
        "消息大、rank 不太多时：每条链路的流量最小，且只与邻居通信。",
    ),
    chunks=lambda n, channels: n * channels,
    most_ranks=2**24,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_ring(n, channels=1, topology=None):
    order = build_ring_orders(topology, n, channels)
    src, dst = order.ravel(), np.roll(order, -1, axis=1).ravel()
    channel, position = np.divmod(np.arange(channels * n), n)
    first = channel * n + position
    finished = channel * n + (position + 1) % n
    if n > 1:
        yield repeat(reduce(src, dst, chunk=first, channel=channel), times=n - 1, shift=-1, modulus=n)
        yield repeat(copy(src, dst, chunk=finished, channel=channel), times=n - 1, shift=-1, modulus=n)
