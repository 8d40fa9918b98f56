"""Reduce-scatter around the ring, then allgather around the ring."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce, repeat
from collsim.topology.network import build_ring_orders


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n - 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: 2 * (n - 1) * alpha + 2 * (n - 1) / n * K * beta + (n - 1) / n * K * gamma,
    formula="2(n−1)α + 2(n−1)/n·Kβ + (n−1)/n·Kγ",
    source="Patarasuk & Yuan 2009, section 3; NCCL src/device/all_reduce.h runRing",
    chunks=lambda n, channels: n * channels,
    most_ranks=2**24,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_ring(n, channels=1, topology=None):
    order = build_ring_orders(topology, n, channels)
    src, dst = order.ravel(), np.roll(order, -1, axis=1).ravel()
    # Chunks are numbered by position on the ring, not by rank: in whatever order the ring visits the ranks, a step is
    # the one before with its chunks moved by one, and one stored step stands for all n - 1.
    channel, position = np.divmod(np.arange(channels * n), n)
    first = channel * n + position
    # A chunk that began at position p has gone through n - 1 others when it is whole, and is at p - 1.
    finished = channel * n + (position + 1) % n
    if n > 1:
        yield repeat(reduce(src, dst, chunk=first, channel=channel), times=n - 1, shift=-1, modulus=n)
        yield repeat(copy(src, dst, chunk=finished, channel=channel), times=n - 1, shift=-1, modulus=n)
