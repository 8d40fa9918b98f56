"""Rabenseifner's reduce: reduce-scatter by recursive halving, then a binomial gather to the root."""

from collsim.registry import algorithm, require_power_of_two

from .gather_binomial import gather_binomial
from .reduce_scatter_recursive_halving import reduce_scatter_recursive_halving


@algorithm(
    "reduce",
    steps=lambda n: 2 * (n.bit_length() - 1),
    sent=lambda n: (n - 1) / n + 1 / 2 if n > 1 else 0,
    cost=lambda n, K, alpha, beta, gamma: 2 * (n.bit_length() - 1) * alpha + (n - 1) / n * K * (2 * beta + gamma),
    formula="2lg n·α + 2(n−1)/n·Kβ + (n−1)/n·Kγ",
    source="Rabenseifner 2004; Thakur, Rabenseifner & Gropp 2005, section Reduce and Allreduce; MPICH "
    "reduce_intra_reduce_scatter_gather",
    chunks=lambda n: n,
    ranks=require_power_of_two,
    phases=("reduce-scatter", "gather"),
)
def reduce_halving_gather(n, root=0):
    yield from reduce_scatter_recursive_halving(n).each_step()
    yield from gather_binomial(n, root=root).each_step()
