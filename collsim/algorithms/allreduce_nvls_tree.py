"""NVLink SHARP inside each node, NCCL's double binary tree between the nodes, one pair of trees per head."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce, together
from collsim.trees import broadcast_down, build_double_binary_tree, count_nodes, measure_depths, reduce_up


def _measure_depth(n, per_node, topology):
    return int(measure_depths(build_double_binary_tree(count_nodes(n, per_node, topology))[0]).max())


def _count_sent(n, per_node, topology):
    """The busier of a switch, which serves all ports, and a head between its switch and the trees."""
    nodes = count_nodes(n, per_node, topology)
    g, in_trees = n // nodes, {1: 0, 2: 1, 3: 1.5}.get(nodes, 2)
    return max(g + 1, 1 + (1 + in_trees) / g)


@algorithm(
    "allreduce",
    steps=lambda n, chunks, per_node, topology: 3 + 2 * _measure_depth(n, per_node, topology) + chunks,
    sent=_count_sent,
    cost=lambda n, K, alpha, beta, chunks, per_node, topology: (
        (3 + 2 * _measure_depth(n, per_node, topology) + chunks)
        * (alpha + (1 + 3 * count_nodes(n, per_node, topology) / n) * K / chunks * beta)
    ),
    source="NCCL src/device/all_reduce.h runTreeSplit with NVLS (NVLS_TREE), src/graph/connect.cc",
    helpers=lambda n, per_node, topology: count_nodes(n, per_node, topology),
    helpers_on="nvswitch",
    phases=("reduce", "broadcast"),
)
def allreduce_nvls_tree(n, chunks=1, per_node=8, topology=None):
    """NVLink SHARP inside each node, NCCL's double binary tree between the nodes, one pair of trees per head.

    Args:
        n: number of ranks.
        chunks: pieces of the buffer that follow one another in a pipeline.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    nodes = count_nodes(n, per_node, topology)
    g = n // nodes
    rank, piece = (a.ravel() for a in np.indices((n, 2 * g)))
    # The buffer has two pieces a head, so that each of the two trees carries half of it.
    is_of_head = piece // 2 == rank % g  # head h has pieces 2h and 2h+1, one for each tree
    head, head_piece, switch = rank[is_of_head], piece[is_of_head], n + rank // g
    first, second = build_double_binary_tree(nodes)
    members, slots = np.arange(n).reshape(nodes, g).T, np.arange(2 * g).reshape(g, 2, 1)
    # All heads run the same pair of trees at once: a head's members are the GPUs of its number in every node.
    trees = [
        step.map_to(members, slots)
        for step in together(
            [*reduce_up(first, 0), *broadcast_down(first, 0)], [*reduce_up(second, 1), *broadcast_down(second, 1)]
        )
    ]
    # The node's switch is a helper behind the n ranks: it adds what its GPUs send and multicasts the result.
    inside = [reduce(rank, switch, chunk=piece), copy(n + head // g, head, chunk=head_piece)]
    back = [copy(head, n + head // g, chunk=head_piece), copy(switch, rank, chunk=piece)]
    yield from pipeline_chunks([*inside, *trees, *back], chunks, stride=2 * g)
