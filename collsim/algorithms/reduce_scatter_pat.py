"""PAT, parallel aggregated trees, for reduce-scatter: the allgather backwards, near exchanges first."""

from collsim.registry import algorithm
from collsim.steps import reverse

from .allgather_pat import allgather_pat


@algorithm(
    "reduce_scatter",
    steps=lambda n: (n - 1).bit_length(),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, S, alpha, beta, gamma: (n - 1).bit_length() * alpha + (n - 1) / n * S * (beta + gamma),
    formula="⌈lg n⌉α + (n−1)/n·S(β + γ), fully aggregated",
    source="Jeaugey 2025, arXiv 2506.20252; NCCL src/include/collectives.h PatRSAlgorithm",
    says=(
        "Partial sums go 2^k ranks on: first those of half the blocks to the neighbour, at last one block over the "
        "longest way.",
        "每个 rank 把部分和发给后面第 2^k 个 rank：先把一半的块发给邻居，最后只有一块走最远的距离。",
    ),
    when=(
        "Small and medium messages over many nodes with one GPU each: few steps, and little goes over the far, "
        "shared links.",
        "每节点一个 GPU、节点很多、中小消息时：步数少，且经过远处共享链路的数据少。",
    ),
    chunks=lambda n: n,
)
def reduce_scatter_pat(n):
    yield from reverse(allgather_pat(n).each_step())
