"""CollNet direct: every GPU heads one slice of its node's sum, the network's switch adds each slice over the nodes."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce
from collsim.trees import count_nodes


@algorithm(
    "allreduce",
    steps=lambda n, per_node, topology: 4 if n > count_nodes(n, per_node, topology) else 2,
    sent=lambda n, per_node, topology: max(
        count_nodes(n, per_node, topology), 2 - count_nodes(n, per_node, topology) / n
    ),
    cost=lambda n, K, alpha, beta, per_node, topology: (
        (4 if n > count_nodes(n, per_node, topology) else 2) * alpha + 2 * K * beta
    ),
    source="NCCL src/device/all_reduce.h (COLLNET_DIRECT), src/transport/coll_net.cc",
    helpers=lambda n: 1,
    helpers_on="fabric",
    phases=("reduce", "broadcast"),
)
def allreduce_collnet_direct(n, per_node=8, topology=None):
    """CollNet direct: every GPU heads one slice of its node's sum, the network's switch adds each slice over the nodes.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    g = n // count_nodes(n, per_node, topology)
    rank, slice_ = (a.ravel() for a in np.indices((n, g)))
    away = rank % g != slice_
    # Slice s of a node is headed by GPU s of the node.
    here, there = rank[away], rank[away] // g * g + slice_[away]
    everyone = np.arange(n)
    yield reduce(here, there, chunk=slice_[away])
    yield reduce(everyone, n, chunk=everyone % g)
    yield copy(n, everyone, chunk=everyone % g)
    yield copy(there, here, chunk=slice_[away])
