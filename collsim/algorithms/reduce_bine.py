"""Bine tree backwards: partial sums go up a binomial tree over negabinary numbers, the nearest first."""

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import reverse

from .broadcast_bine import broadcast_bine


@algorithm(
    "reduce",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta, gamma: (n.bit_length() - 1) * (alpha + K * (beta + gamma)),
    formula="lg n(α + Kβ + Kγ)",
    source="De Sensi et al. 2025 (Bine trees, SC), arXiv 2508.17311",
    chunks=lambda n: 1,
    ranks=require_power_of_two,
    most_ranks=2**20,
)
def reduce_bine(n, root=0):
    yield from reverse(broadcast_bine(n, root=root).each_step())
