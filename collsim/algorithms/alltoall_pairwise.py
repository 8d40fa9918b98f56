"""In step k everybody sends to the rank k places on and receives from the rank k places back."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "alltoall",
    steps=lambda n: max(1, n - 1),
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n - 1) * (alpha + K / n * beta),
    formula="(n−1)(α + K/n·β)",
    source="Thakur, Rabenseifner & Gropp 2005, section Alltoall (long messages); Open MPI "
    "coll_base_alltoall.c pairwise",
    chunks=lambda n: n,
)
def alltoall_pairwise(n):
    r = np.arange(n)
    self_copy = copy(r, r, chunk=r, into=n + r)
    for k in range(1, n):
        step = copy(r, (r + k) % n, chunk=(r + k) % n, into=n + r)
        yield step + self_copy if k == 1 else step
    if n == 1:
        yield self_copy
