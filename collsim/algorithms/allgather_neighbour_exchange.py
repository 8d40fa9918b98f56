"""Every rank talks to its two neighbours in turn and hands on the pair of blocks it received last."""

import numpy as np

from collsim.errors import Sentence
from collsim.registry import algorithm
from collsim.steps import copy


def _require_even(n):
    if n % 2 == 0 or n == 1:
        return None
    message = "it needs an even number; use {below} or {above}, or allgather_ring (as Open MPI does)"
    return Sentence(message, below=n - 1, above=n + 1)


@algorithm(
    "allgather",
    steps=lambda n: n // 2,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: n // 2 * alpha + (n - 1) / n * K * beta,
    formula="(n/2)α + (n−1)/n·Kβ",
    source="Chen et al. 2005 (neighbor exchange); Open MPI coll_base_allgather.c neighborexchange",
    chunks=lambda n: n,
    ranks=_require_even,
)
def allgather_neighbour_exchange(n):
    r = np.arange(n)
    partner = [np.where(r % 2 == 0, r + 1, r - 1) % n, np.where(r % 2 == 0, r - 1, r + 1) % n]
    if n > 1:
        yield copy(r, partner[0], chunk=r)
    pair = r // 2
    for k in range(1, n // 2):
        to = partner[k % 2]
        yield copy(r[:, None], to[:, None], chunk=2 * pair[:, None] + [0, 1])
        # What came from the partner is handed on in the next step: everybody now has the pair that the partner had.
        pair = pair[to]
