"""PAT, parallel aggregated trees: far exchanges carry one block, near ones half of all; any number of ranks."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, S, alpha, beta: (n - 1).bit_length() * alpha + (n - 1) / n * S * beta,
    formula="⌈lg n⌉α + (n−1)/n·Sβ, fully aggregated",
    source="Jeaugey 2025, arXiv 2506.20252; NCCL src/include/collectives.h PatAGAlgorithm",
    says=(
        "Blocks go 2^k ranks on, the farthest distance first: one block over the longest way, later ever more over "
        "ever shorter ones.",
        "每个 rank 转发走过相同路程的块：先是一块走最远的距离，之后块越来越多、距离越来越近。",
    ),
    when=(
        "Small and medium messages over many nodes with one GPU each: few steps, and little goes over the far, "
        "shared links.",
        "每节点一个 GPU、节点很多、中小消息时：步数少，且经过远处共享链路的数据少。",
    ),
    chunks=lambda n: n,
)
def allgather_pat(n):
    r = np.arange(n)[:, None]
    for d in (2**k for k in reversed(range((n - 1).bit_length()))):
        offset = np.arange(0, n - d, 2 * d)  # of the blocks sent, counted from the sender
        yield copy(r, (r - d) % n, chunk=(r + offset) % n)
