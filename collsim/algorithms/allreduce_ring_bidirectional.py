"""Two opposite rings, each with half of the buffer: both directions of every cable work."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce, repeat


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n - 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: 2 * (n - 1) * alpha + (n - 1) / n * K * (beta + gamma) * (2 if n == 2 else 1),
    network="ring",
    source="NCCL src/graph/rings.cc (channels run both ways where links allow); "
    "Jeaugey 2019 (NCCL blog); Kumar et al. 2019 (2-D gradient summation)",
    chunks=lambda n: 2 * n,
    most_ranks=2**24,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_ring_bidirectional(n):
    # Ranks in the order in which each of the rings visits them: 0, 1, 2, ... and 0, n-1, n-2, ...
    right, left = np.arange(n), (-np.arange(n)) % n
    src, dst = np.concatenate([right, left]), np.concatenate([(right + 1) % n, (left - 1) % n])
    channel, position = np.divmod(np.arange(2 * n), n)
    yield repeat(reduce(src, dst, channel * n + position, channel=channel), times=n - 1, shift=-1, modulus=n)
    yield repeat(copy(src, dst, channel * n + (position + 1) % n, channel=channel), times=n - 1, shift=-1, modulus=n)
