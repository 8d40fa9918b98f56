"""Broadcast along a chain: every rank hands each chunk on as soon as it has it, so all links work at once (NCCL's
broadcast)."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks
from collsim.topology.network import build_ring_orders


@algorithm(
    "broadcast",
    steps=lambda n, chunks: n - 2 + chunks if n > 1 else 0,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta, chunks: (n - 2 + chunks) * (alpha + K / chunks * beta) if n > 1 else 0,
    source="NCCL src/device/broadcast.h runRing; Chan et al. 2007 (pipelined algorithms); Open MPI coll_base_bcast.c "
    "pipeline",
    chunks=lambda n, chunks, channels: chunks * channels,
)
def broadcast_chain(n, root=0, chunks=1, channels=1, topology=None):
    # Each ring is turned until its first rank is the root.
    order = np.array(
        [np.roll(ring, -int(np.argmax(ring == root))) for ring in build_ring_orders(topology, n, channels)]
    )
    lane = np.arange(channels)
    rounds = [copy(order[:, i], order[:, i + 1], chunk=lane, channel=lane) for i in range(n - 1)]
    yield from pipeline_chunks(rounds, chunks, stride=channels)
