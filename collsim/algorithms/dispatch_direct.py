"""Tokens of a mixture of experts go to their experts' ranks at once, each token once to a rank."""

import numpy as np

from collsim.collective import count_token_visits, find_owners, find_targets
from collsim.registry import algorithm
from collsim.steps import copy
from collsim.trees import count_nodes


def count_copies(n, per_node, topology, local_experts, top_k, max_nodes):
    """How often a token goes to a node, and to a rank: 0 to 1.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
        local_experts: experts of each rank.
        top_k: experts of a token.
        max_nodes: nodes that a token goes to at the most; 0: all.
    """
    nodes = count_nodes(n, per_node, topology)
    visits = count_token_visits(nodes, n // nodes, local_experts, top_k, max_nodes)
    return sum(visits), sum(ranks * share for ranks, share in enumerate(visits, 1)) / len(visits)


def count_chunks(n, per_node, topology):
    """For each pair of ranks one for every number of ranks that its tokens go to, and one for copies that stay.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    return n * n * (n // count_nodes(n, per_node, topology) + 1)


def build_token_shares(n, per_node, topology, local_experts, top_k, max_nodes):
    """The share of each chunk in what an alltoallv would send, each token once for each expert.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
        local_experts: experts of each rank.
        top_k: experts of a token.
        max_nodes: nodes that a token goes to at the most; 0: all.
    """
    nodes = count_nodes(n, per_node, topology)
    visits = count_token_visits(nodes, n // nodes, local_experts, top_k, max_nodes)
    stays = max(0.0, top_k - nodes * sum(visits)) / n
    part = np.array([stays, *(share / len(visits) for share in visits)]) / (n * top_k)
    return tuple(np.tile(part, n * n).tolist())


def _count_sent(n, per_node, topology, local_experts, top_k, max_nodes):
    return (n - 1) * count_copies(n, per_node, topology, local_experts, top_k, max_nodes)[1] / (n * top_k)


@algorithm(
    "dispatch",
    steps=lambda n: min(1, n - 1),
    sent=_count_sent,
    cost=lambda n, K, alpha, beta, per_node, topology, local_experts, top_k, max_nodes: (
        min(1, n - 1) * alpha + _count_sent(n, per_node, topology, local_experts, top_k, max_nodes) * K * beta
    ),
    source="DeepEP csrc/kernels/intranode.cu (is_token_in_rank: a token once to a rank)",
    chunks=count_chunks,
    shares=build_token_shares,
    most_ranks=128,
)
def dispatch_direct(n, per_node=8, topology=None, local_experts=8, top_k=8, max_nodes=0):
    """Each token goes at once to every rank that has an expert of it, once to a rank.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
        local_experts: experts of each rank; all ranks have other ones.
        top_k: experts of a token.
        max_nodes: nodes that a token goes to at the most; 0: all.
    """
    chunks = count_chunks(n, per_node, topology)
    chunk, target = find_targets(n, chunks, several=True)
    owner = find_owners(n, chunks)[chunk]
    away = owner != target
    yield copy(owner[away], target[away], chunk=chunk[away])
