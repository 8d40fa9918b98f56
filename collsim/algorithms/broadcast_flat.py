"""Broadcast by the root alone: it sends the whole buffer to one rank after another."""

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "broadcast",
    steps=lambda n: n - 1,
    sent=lambda n: n - 1,
    cost=lambda n, K, alpha, beta: (n - 1) * (alpha + K * beta),
    formula="(n−1)(α + Kβ)",
    source="Open MPI coll_basic_bcast.c linear; Thakur, Rabenseifner & Gropp 2005 (the model)",
    chunks=lambda n: 1,
)
def broadcast_flat(n, root=0):
    for k in range(1, n):
        yield copy(root, (root + k) % n, chunk=0)
