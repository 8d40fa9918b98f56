"""In step k everybody sends to the rank k places on: each step lasts as long as its largest part."""

import numpy as np

from collsim.algorithms.alltoallv_direct import count_port_shares
from collsim.collective import Load, build_pair_shares
from collsim.registry import algorithm
from collsim.steps import copy


def _sum_largest_parts(n, load, amounts):
    """Shares of the largest part of each step, added up."""
    table, rank = np.reshape(build_pair_shares(n, load, amounts), (n, n)), np.arange(n)
    return float(sum(table[rank, (rank + k) % n].max() for k in range(1, n)))


@algorithm(
    "alltoallv",
    steps=lambda n: n - 1,
    sent=lambda n, load, amounts: count_port_shares(n, load, amounts)[0],
    cost=lambda n, K, alpha, beta, load, amounts: (n - 1) * alpha + _sum_largest_parts(n, load, amounts) * K * beta,
    source="Open MPI coll_base_alltoallv.c pairwise; MPICH alltoallv_intra_pairwise_sendrecv_replace.c",
    chunks=lambda n: n * n,
    shares=build_pair_shares,
    most_ranks=256,
)
def alltoallv_pairwise(n, load: Load = "zipf", amounts=None):
    """In step k everybody sends to the rank k places on: each step lasts as long as its largest part.

    Args:
        n: number of ranks.
        load: how unevenly ranks receive, where no amounts are given.
        amounts: what each rank receives, or what each sends to each, as `collective.build_pair_shares` takes it.
    """
    r = np.arange(n)
    for k in range(1, n):
        d = (r + k) % n
        yield copy(r, d, chunk=r * n + d)
