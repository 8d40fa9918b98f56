"""A token crosses once to each node that has an expert of it, to the rank of the same place, and goes on from there."""

import numpy as np

from collsim.algorithms.dispatch_direct import build_token_shares, count_chunks, count_copies
from collsim.collective import find_owners, find_targets
from collsim.registry import algorithm
from collsim.steps import copy
from collsim.trees import count_nodes


def _count_steps(n, per_node, topology):
    nodes = count_nodes(n, per_node, topology)
    return (nodes > 1) + (n > nodes)


def _count_sent(n, per_node, topology, local_experts, top_k, max_nodes):
    """To each other node once, and on to the other ranks of the node for one rank of every node."""
    nodes = count_nodes(n, per_node, topology)
    to_node, to_rank = count_copies(n, per_node, topology, local_experts, top_k, max_nodes)
    return ((nodes - 1) * to_node + (n - nodes) * to_rank) / (n * top_k)


@algorithm(
    "dispatch",
    steps=_count_steps,
    sent=_count_sent,
    cost=lambda n, K, alpha, beta, per_node, topology, local_experts, top_k, max_nodes: (
        _count_steps(n, per_node, topology) * alpha
        + _count_sent(n, per_node, topology, local_experts, top_k, max_nodes) * K * beta
    ),
    source="DeepEP csrc/kernels/internode.cu (over the network to the GPU of the same local rank, then NVLink); "
    "DeepSeek-AI 2024 (arXiv 2412.19437), section 3.2.2",
    chunks=count_chunks,
    shares=build_token_shares,
    most_ranks=128,
)
def dispatch_hierarchical(n, per_node=8, topology=None, local_experts=8, top_k=8, max_nodes=0):
    """Two steps: across to the rank of the same place in each node, then on inside the node.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
        local_experts: experts of each rank; all ranks have other ones.
        top_k: experts of a token.
        max_nodes: nodes that a token goes to at the most; 0: all.
    """
    chunks, g = count_chunks(n, per_node, topology), n // count_nodes(n, per_node, topology)
    chunk, target = find_targets(n, chunks, several=True)
    owner = find_owners(n, chunks)[chunk]
    via = target // g * g + owner % g
    _, first = np.unique(chunk, return_index=True)
    first = first[(owner != via)[first]]
    if len(first):
        yield copy(owner[first], via[first], chunk=chunk[first])
    forwarded = via != target
    if forwarded.any():
        yield copy(via[forwarded], target[forwarded], chunk=chunk[forwarded])
