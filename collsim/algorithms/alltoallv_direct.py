"""Everybody sends everybody its part at once, and no two parts need be of one size."""

import numpy as np

from collsim.collective import Load, build_pair_shares
from collsim.registry import algorithm
from collsim.steps import copy


def count_port_shares(n, load, amounts):
    """The largest share of all bytes that one rank sends to others, and that one receives from them.

    Args:
        n: number of ranks.
        load: how unevenly ranks receive, where no amounts are given.
        amounts: what each rank receives, or what each sends to each; None for the load's.
    """
    # What a rank has for itself leaves by no port.
    table = np.reshape(build_pair_shares(n, load, amounts), (n, n)) * ~np.eye(n, dtype=bool)
    return float(table.sum(axis=1).max()), float(table.sum(axis=0).max())


@algorithm(
    "alltoallv",
    steps=lambda n: min(1, n - 1),
    sent=lambda n, load, amounts: count_port_shares(n, load, amounts)[0],
    cost=lambda n, K, alpha, beta, load, amounts: (
        alpha + max(count_port_shares(n, load, amounts)) * K * beta if n > 1 else 0
    ),
    source="MPI 4.1, section 6.8 (MPI_Alltoallv); Open MPI coll_base_alltoallv.c linear; PyTorch ProcessGroupNCCL.cpp "
    "alltoall_base (grouped send and receive)",
    chunks=lambda n: n * n,
    shares=build_pair_shares,
    most_ranks=256,
)
def alltoallv_direct(n, load: Load = "zipf", amounts=None):
    """Everybody sends everybody its part at once.

    Chunk s * n + d is what rank s has for rank d; it keeps its slot on the way.

    Args:
        n: number of ranks.
        load: how unevenly ranks receive, where no amounts are given.
        amounts: what each rank receives, or what each sends to each, as `collective.build_pair_shares` takes it.
    """
    src, dst = (a.ravel() for a in np.indices((n, n)))
    away = src != dst
    yield copy(src[away], dst[away], chunk=(src * n + dst)[away])
