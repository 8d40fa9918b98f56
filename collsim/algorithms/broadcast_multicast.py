"""Broadcast by the switch: the root sends once, the switch copies to all ports."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks


@algorithm(
    "broadcast",
    steps=lambda n, chunks: 1 + chunks if n > 1 else 0,
    sent=lambda n: n - 1,  # the switch, all ports; the root sends 1
    cost=lambda n, K, alpha, beta, chunks: (1 + chunks) * (alpha + K / chunks * beta) if n > 1 else 0,
    source="NCCL src/transport/nvls.cc (multimem store); Graham et al. 2016 (SHARP, COMHPC)",
    chunks=lambda n, chunks: chunks,
    helpers=lambda n: 1,
    helpers_on="switch",
    most_ranks=2**20,
)
def broadcast_multicast(n, root=0, chunks=1):
    others = (root + np.arange(1, n)) % n
    if n > 1:
        yield from pipeline_chunks([copy(root, n, chunk=0), copy(n, others, chunk=0)], chunks)
