"""Two steps: inside the node, blocks go to the rank with their destination's number in its node, which sends them to
the other nodes."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy
from collsim.trees import count_nodes


def _find_node_shape(n, per_node, topology):
    nodes = count_nodes(n, per_node, topology)
    return nodes, n // nodes


def _count_stages(n, per_node, topology):
    nodes, g = _find_node_shape(n, per_node, topology)
    return (g > 1) + (nodes > 1)


def _count_sent(n, per_node, topology):
    nodes, g = _find_node_shape(n, per_node, topology)
    return ((g - 1) * nodes + (nodes - 1) * g) / n


@algorithm(
    "alltoall",
    steps=lambda n, per_node, topology: max(1, _count_stages(n, per_node, topology)),
    sent=_count_sent,
    cost=lambda n, K, alpha, beta, per_node, topology: (
        _count_stages(n, per_node, topology) * alpha + _count_sent(n, per_node, topology) * K * beta
    ),
    source="NCCL 2.12 PXN (rail-local alltoall); Rajbhandari et al. 2022 (DeepSpeed-MoE, hierarchical all-to-all)",
    chunks=lambda n: n,
)
def alltoall_hierarchical(n, per_node=8, topology=None):
    """Two steps: inside the node to the rank with the destination's number in its node, then across nodes.

    Slots: n to send, n received, then n of scratch: 2n + node * g + number of the sender in its node.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    nodes, g = _find_node_shape(n, per_node, topology)
    home, local, to_node, to_local = (a.ravel() for a in np.indices((nodes, g, nodes, g)))
    src, dst, via = home * g + local, to_node * g + to_local, home * g + to_local
    scratch = 2 * n + to_node * g + local
    final = n + src
    hop = via != src
    leave = to_node != home
    inside = copy(src[hop], via[hop], chunk=dst[hop], into=np.where(leave, scratch, final)[hop])
    across = copy(via[leave], dst[leave], chunk=np.where(hop, scratch, dst)[leave], into=final[leave])
    self_copy = copy(np.arange(n), np.arange(n), chunk=np.arange(n), into=n + np.arange(n))
    # With one node, or one GPU in each, one of the two steps has nothing to send.
    yield from [inside, across + self_copy] if len(inside) and len(across) else [inside + across + self_copy]
