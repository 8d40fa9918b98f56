"""The root receives one rank's block after another."""

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "gather",
    steps=lambda n: n - 1,
    sent=lambda n: min(n - 1, 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1) * (alpha + K / n * beta),
    formula="(n−1)(α + K/n·β)",
    source="Open MPI coll_basic_gather.c linear; NCCL src/collectives.cc ncclGather (point to point), copy engines "
    "in src/ce_coll.cc ncclCeGather",
    chunks=lambda n: n,
)
def gather_flat(n, root=0):
    for k in range(1, n):
        yield copy((root + k) % n, root, chunk=(root + k) % n)
