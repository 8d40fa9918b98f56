"""PAT, parallel aggregated trees, for reduce-scatter: the allgather backwards, near exchanges first."""

from collsim.registry import algorithm
from collsim.steps import reverse

from .allgather_pat import allgather_pat, count_pat_steps


@algorithm(
    "reduce_scatter",
    steps=count_pat_steps,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma, aggregation: (
        count_pat_steps(n, aggregation) * alpha + (n - 1) / n * K * (beta + gamma)
    ),
    source="Jeaugey 2025, arXiv 2506.20252; NCCL src/include/collectives.h PatRSAlgorithm",
    chunks=lambda n: n,
)
def reduce_scatter_pat(n, aggregation=1024):
    """PAT, parallel aggregated trees, for reduce-scatter: the allgather backwards, near exchanges first.

    Args:
        n: number of ranks.
        aggregation: most partial sums of a message, a power of two.
    """
    yield from reverse(allgather_pat(n, aggregation=aggregation).each_step())
