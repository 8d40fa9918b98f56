"""Allgather around the ring: every block travels all the way round."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, repeat
from collsim.topology.network import build_ring_orders


@algorithm(
    "allgather",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1) * alpha + (n - 1) / n * K * beta,
    formula="(n−1)α + (n−1)/n·Kβ",
    source="Thakur, Rabenseifner & Gropp 2005, section Allgather; NCCL src/device/all_gather.h runRing",
    chunks=lambda n, channels: n * channels,
    most_ranks=2**24,
)
def allgather_ring(n, channels=1, topology=None):
    order = build_ring_orders(topology, n, channels)
    lane = np.arange(channels)[:, None]
    following = np.roll(order, -1, axis=1)
    # Where ranks sit in order, each step is the one before with all chunks moved on by one rank: one stored step
    # stands for all n - 1, and a ring of a million ranks fits in memory.
    if np.array_equal(order, np.broadcast_to(np.arange(n), order.shape)):
        step = copy(order, following, chunk=order * channels + lane, channel=lane)
        yield repeat(step, times=n - 1, shift=-channels, modulus=n * channels)
    else:
        for k in range(n - 1):
            yield copy(order, following, chunk=np.roll(order, k, axis=1) * channels + lane, channel=lane)
