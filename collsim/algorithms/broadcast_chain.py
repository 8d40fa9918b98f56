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
    cost=lambda n, S, alpha, beta, chunks: (n - 2 + chunks) * (alpha + S / chunks * beta) if n > 1 else 0,
    formula="(n−2+c)(α + S/c·β); best c = √((n−2)Sβ/α)",
    source="NCCL src/device/broadcast.h runRing; Chan et al. 2007 (pipelined algorithms); Open MPI coll_base_bcast.c "
    "pipeline",
    says=(
        "Every rank passes the chunk it got last on to the next in the chain, while it receives another.",
        "每个 rank 把刚收到的 chunk 传给链上的下一个，同时接收下一块。",
    ),
    when=(
        "Large messages: with many chunks it nears S·β, the least possible.",
        "消息大时：chunk 足够多时接近下界 S·β。",
    ),
    chunks=lambda n, chunks, channels: chunks * channels,
)
def broadcast_chain(n, root=0, chunks=1, channels=1, topology=None):
    order = np.array(
        [np.roll(ring, -int(np.argmax(ring == root))) for ring in build_ring_orders(topology, n, channels)]
    )
    lane = np.arange(channels)
    rounds = [copy(order[:, i], order[:, i + 1], chunk=lane, channel=lane) for i in range(n - 1)]
    yield from pipeline_chunks(rounds, chunks, stride=channels)
