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
    chunks=lambda n: n,
)
def reduce_scatter_pat(n):
    yield from reverse(allgather_pat(n).each_step())
