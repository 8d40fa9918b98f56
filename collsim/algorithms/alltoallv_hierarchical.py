"""Two steps: inside the node parts go to the rank that has the place of their destination, which then sends them to the
other nodes."""

import numpy as np

from collsim.collective import Load, build_pair_shares
from collsim.registry import algorithm
from collsim.steps import copy
from collsim.trees import count_nodes


def _list_moves(n, per_node, topology):
    """Of each step the ranks at which a part starts and ends, for all pairs of ranks."""
    g = n // count_nodes(n, per_node, topology)
    src, dst = (a.ravel() for a in np.indices((n, n)))
    via = src // g * g + dst % g
    # With one node, or one rank on each, a step moves nothing, and is none.
    return [(start, end) for start, end in ((src, via), (via, dst)) if (start != end).any()]


def _count_ports(n, per_node, topology, load, amounts):
    """Of each step the shares of all bytes that each rank sends, and that each receives."""
    shares = np.array(build_pair_shares(n, load, amounts))
    for start, end in _list_moves(n, per_node, topology):
        yield tuple(np.bincount(port, shares * (start != end), n) for port in (start, end))


@algorithm(
    "alltoallv",
    steps=lambda n, per_node, topology: len(_list_moves(n, per_node, topology)),
    sent=lambda n, per_node, topology, load, amounts: float(
        max(sum((out for out, _ in _count_ports(n, per_node, topology, load, amounts)), np.zeros(n)))
    ),
    cost=lambda n, K, alpha, beta, per_node, topology, load, amounts: sum(
        alpha + float(max(out.max(), into.max())) * K * beta
        for out, into in _count_ports(n, per_node, topology, load, amounts)
    ),
    source="NCCL 2.12 PXN (rail-local alltoall); DeepEP csrc/kernels/internode.cu (over the network to the GPU of the "
    "same local rank, then NVLink)",
    chunks=lambda n: n * n,
    shares=build_pair_shares,
    most_ranks=256,
)
def alltoallv_hierarchical(n, per_node=8, topology=None, load: Load = "zipf", amounts=None):
    """Two steps: inside the node to the place of the destination, then across nodes.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
        load: how unevenly ranks receive, where no amounts are given.
        amounts: what each rank receives, or what each sends to each, as `collective.build_pair_shares` takes it.
    """
    chunk = np.arange(n * n)
    for start, end in _list_moves(n, per_node, topology):
        away = start != end
        yield copy(start[away], end[away], chunk=chunk[away])
