"""The root sends one rank after another its block."""

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "scatter",
    steps=lambda n: n - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, S, alpha, beta: (n - 1) * (alpha + S / n * beta),
    formula="(n−1)(α + S/n·β)",
    source="Open MPI coll_basic_scatter.c linear; NCCL src/collectives.cc ncclScatter (point to point)",
    says=("The root sends one more rank its block.", "根把块发给下一个 rank。"),
    when=(
        "Large blocks: no block travels twice, and the root's port is full anyway.",
        "块大时：没有块被转发，反正根的端口始终是满的。",
    ),
    chunks=lambda n: n,
)
def scatter_flat(n, root=0):
    for k in range(1, n):
        yield copy(root, (root + k) % n, chunk=(root + k) % n)
