"""Bine butterfly: partners exchange all they have at negabinary distances, the farthest first; the reduce-scatter
backwards."""

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import reverse

from .allreduce_swing import list_partners, scatter_reduce


@algorithm(
    "allgather",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n.bit_length() - 1) * alpha + (n - 1) / n * K * beta,
    formula="lg n·α + (n−1)/n·Kβ",
    source="De Sensi et al. 2025 (Bine trees, SC), arXiv 2508.17311; the distance-halving butterfly has "
    "Swing's partners",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def allgather_bine(n):
    yield from reverse(scatter_reduce(list_partners((n,))))
