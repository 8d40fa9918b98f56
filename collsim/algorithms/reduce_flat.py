"""Reduce at the root alone: it receives the whole buffer of one rank after another and adds."""

from collsim.registry import algorithm
from collsim.steps import reduce


@algorithm(
    "reduce",
    steps=lambda n: n - 1,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta, gamma: (n - 1) * (alpha + K * (beta + gamma)),
    formula="(n−1)(α + Kβ + Kγ)",
    source="Open MPI coll_basic_reduce.c linear",
    chunks=lambda n: 1,
)
def reduce_flat(n, root=0):
    for k in range(1, n):
        yield reduce((root + k) % n, root, chunk=0)
