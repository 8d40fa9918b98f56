"""Bine tree backwards: blocks gather in a binomial tree over negabinary numbers, the nearest first."""

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import copy

from .scatter_bine import scatter_bine


@algorithm(
    "gather",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: 1 / 2 if n > 1 else 0,
    cost=lambda n, K, alpha, beta: (n.bit_length() - 1) * alpha + (n - 1) / n * K * beta,
    formula="lg n·α + (n−1)/n·Kβ",
    source="De Sensi et al. 2025 (Bine trees, SC), arXiv 2508.17311",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def gather_bine(n, root=0):
    for step in reversed(list(scatter_bine(n, root=root).each_step())):
        yield copy(step.dst, step.src, chunk=step.chunk)
