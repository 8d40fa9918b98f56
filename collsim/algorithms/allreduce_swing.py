"""Swing: halving and doubling with partners that swing from side to side, closer on a ring or torus than those of
Rabenseifner."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import Step, reduce, reverse


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n.bit_length() - 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, S, alpha, beta, gamma: 2 * (n.bit_length() - 1) * alpha + (n - 1) / n * S * (2 * beta + gamma),
    formula="2lg n·α + 2(n−1)/n·Sβ + (n−1)/n·Sγ",
    source="De Sensi et al. 2024 (Swing, NSDI), arXiv 2401.09356",
    chunks=lambda n: n,
    ranks=require_power_of_two,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_swing(n):
    r = np.arange(n)
    distances = [(1 - (-2) ** (k + 1)) // 3 for k in range(n.bit_length() - 1)]  # 1, -1, 3, -5, 11, ...
    peers = [(r + np.where(r % 2 == 0, rho, -rho)) % n for rho in distances]
    reach = np.eye(n, dtype=bool)  # (rank, chunk): which chunks can still get home from this rank in the steps to come
    steps: list[Step] = []
    for peer in reversed(peers):
        src, chunk = np.nonzero(reach[peer])
        steps.insert(0, reduce(src, peer[src], chunk=chunk))
        reach = reach | reach[peer]
    yield from steps
    yield from reverse(steps)
