"""Broadcast in a k-nomial tree: in each round everybody who has the data sends them to radix - 1 others, one after
another."""

import numpy as np

from collsim.errors import CollsimError
from collsim.registry import algorithm
from collsim.steps import copy


def _list_sends(n, radix):
    """(distance, holders) of each step."""
    have = 1
    while have < n:
        for j in range(1, radix):
            if j * have < n:
                yield j * have, min(have, n - j * have)
        have *= radix


@algorithm(
    "broadcast",
    steps=lambda n, radix: len(list(_list_sends(n, radix))),
    sent=lambda n, radix: len(list(_list_sends(n, radix))),
    cost=lambda n, K, alpha, beta, radix: len(list(_list_sends(n, radix))) * (alpha + K * beta),
    source="Open MPI coll_base_bcast.c knomial (radix 4); MPICH MPIR_Bcast_intra_tree",
    chunks=lambda n: 1,
    most_ranks=2**20,
)
def broadcast_knomial(n, root=0, radix=4):
    """Broadcast in a k-nomial tree: in each round everybody who has the data sends them to radix - 1 others, one after
    another.

    Args:
        n: number of ranks.
        root: the rank that has the data.
        radix: factor by which the number of ranks that have the data grows in a round.
    """
    if radix < 2:
        raise CollsimError("radix={radix} makes no tree; use 2 or more", radix=radix)
    for distance, holders in _list_sends(n, radix):
        v = np.arange(holders)
        yield copy((v + root) % n, (v + distance + root) % n, chunk=0)
