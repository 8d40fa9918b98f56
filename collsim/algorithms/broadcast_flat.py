"""Broadcast by the root alone: it sends the whole buffer to one rank after another."""

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "broadcast",
    steps=lambda n: n - 1,
    sent=lambda n: n - 1,
    cost=lambda n, S, alpha, beta: (n - 1) * (alpha + S * beta),
    formula="(n−1)(α + Sβ)",
    source="Open MPI coll_basic_bcast.c linear; Thakur, Rabenseifner & Gropp 2005 (the model)",
    says=("The root sends the whole buffer to one more rank.", "根把整个缓冲区发给下一个 rank。"),
    when=(
        "Two or three ranks, or as the baseline that every other broadcast beats.",
        "只有两三个 rank 时，或作为其他 broadcast 的比较基准。",
    ),
    chunks=lambda n: 1,
)
def broadcast_flat(n, root=0):
    for k in range(1, n):
        yield copy(root, (root + k) % n, chunk=0)
