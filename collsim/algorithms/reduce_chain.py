"""Reduce along a chain that ends at the root: every rank adds its own and hands each chunk on (NCCL's reduce)."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import pipeline_chunks, reduce
from collsim.topology.network import build_ring_orders


@algorithm(
    "reduce",
    steps=lambda n, chunks: n - 2 + chunks if n > 1 else 0,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta, gamma, chunks: (
        (n - 2 + chunks) * (alpha + K / chunks * (beta + gamma)) if n > 1 else 0
    ),
    source="NCCL src/device/reduce.h runRing; Chan et al. 2007 (pipelined algorithms)",
    chunks=lambda n, chunks, channels: chunks * channels,
)
def reduce_chain(n, root=0, chunks=1, channels=1, topology=None):
    rings = build_ring_orders(topology, n, channels)
    # Each ring is turned until its last rank is the root.
    order = np.array([np.roll(ring, -1 - int(np.argmax(ring == root))) for ring in rings])
    lane = np.arange(channels)
    rounds = [reduce(order[:, i], order[:, i + 1], chunk=lane, channel=lane) for i in range(n - 1)]
    yield from pipeline_chunks(rounds, chunks, stride=channels)
