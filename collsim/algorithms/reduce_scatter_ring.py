"""Reduce-scatter around the ring: every block collects one contribution at each rank and ends with its owner."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import reduce, repeat
from collsim.topology.network import build_ring_orders


@algorithm(
    "reduce_scatter",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: (n - 1) * alpha + (n - 1) / n * K * (beta + gamma),
    formula="(n−1)α + (n−1)/n·K(β + γ)",
    source="Patarasuk & Yuan 2009, section 3; NCCL src/device/reduce_scatter.h runRing",
    chunks=lambda n, channels: n * channels,
    most_ranks=2**24,
)
def reduce_scatter_ring(n, channels=1, topology=None):
    order = build_ring_orders(topology, n, channels)
    lane = np.arange(channels)[:, None]
    following = np.roll(order, -1, axis=1)
    if np.array_equal(order, np.broadcast_to(np.arange(n), order.shape)):
        # Chunk c begins at the rank after c, so that after n - 1 hops it ends, with all added, at rank c. One stored
        # step stands for all of them where ranks sit in order (see allgather_ring).
        step = reduce(order, following, chunk=np.roll(order, 1, axis=1) * channels + lane, channel=lane)
        yield repeat(step, times=n - 1, shift=-channels, modulus=n * channels)
    else:
        for k in range(n - 1):
            yield reduce(order, following, chunk=np.roll(order, k + 1, axis=1) * channels + lane, channel=lane)
