"""The root sends one rank after another its block."""

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "scatter",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1) * (alpha + K / n * beta),
    formula="(n−1)(α + K/n·β)",
    source="Open MPI coll_basic_scatter.c linear; NCCL src/collectives.cc ncclScatter (point to point), copy engines "
    "in src/ce_coll.cc ncclCeScatter",
    chunks=lambda n: n,
)
def scatter_flat(n, root=0):
    for k in range(1, n):
        yield copy(root, (root + k) % n, chunk=(root + k) % n)
