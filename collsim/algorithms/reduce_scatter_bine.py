"""Bine butterfly: partners halve what they hold at negabinary distances 1, -1, 3, -5, ..., a third nearer than powers
of two."""

from collsim.registry import algorithm, require_power_of_two

from .allreduce_swing import list_partners, scatter_reduce


@algorithm(
    "reduce_scatter",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: (n.bit_length() - 1) * alpha + (n - 1) / n * K * (beta + gamma),
    formula="lg n·α + (n−1)/n·K(β + γ)",
    source="De Sensi et al. 2025 (Bine trees, SC), arXiv 2508.17311; the distance-doubling butterfly has "
    "Swing's partners",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def reduce_scatter_bine(n):
    yield from scatter_reduce(list_partners((n,)))
