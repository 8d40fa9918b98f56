"""NCCL's tree: two binary trees over the nodes, each with half of the buffer, and a chain inside each node."""

from typing import Literal

import numpy as np

from collsim import trees
from collsim.registry import algorithm
from collsim.steps import pipeline_chunks, together
from collsim.topology.network import build_ring_orders

Pattern = Literal["balanced", "split", "tree"]


def _build_trees(n, per_node, topology, pattern, channels):
    """Two trees per channel."""
    starts = trees.find_node_starts(n, per_node, topology)
    pair = trees.build_node_chains(n, starts, pattern)
    orders = trees.order_chains(build_ring_orders(topology, n, channels), starts)
    return [trees.rename_ranks(tree, order) for order in orders for tree in pair]


def _count_steps(n, chunks, per_node, topology, pattern):
    deepest = max(int(trees.measure_depths(tree).max()) for tree in _build_trees(n, per_node, topology, pattern, 1))
    if n > 1:
        return 2 * deepest + chunks - 1
    return 0


def _count_busiest(n, per_node, topology, pattern, channels):
    """Buffers that the rank with most links in the trees sends: an equal share of the buffer over each."""
    built = _build_trees(n, per_node, topology, pattern, channels)
    return np.max(sum(np.bincount(tree[tree >= 0], minlength=n) + (tree >= 0) for tree in built)) / len(built)


@algorithm(
    "allreduce",
    steps=_count_steps,
    sent=_count_busiest,
    cost=lambda n, K, alpha, beta, chunks, per_node, topology, pattern, channels: (
        _count_steps(n, chunks, per_node, topology, pattern)
        * (alpha + _count_busiest(n, per_node, topology, pattern, channels) * K / chunks * beta)
    ),
    source="NCCL src/graph/trees.cc ncclGetDtree, src/graph/connect.cc connectTrees; Sanders, Speck & Träff 2009 "
    "(two-tree)",
    chunks=lambda n, chunks, channels: 2 * chunks * channels,
    most_ranks=2**20,
    phases=("reduce", "broadcast"),
)
def allreduce_double_binary_tree(n, chunks=1, channels=1, per_node=1, pattern: Pattern = "balanced", topology=None):
    """NCCL's tree: two binary trees over the nodes, each with half of the buffer, and a chain inside each node.

    Args:
        n: number of ranks.
        chunks: pieces of the buffer that follow one another in a pipeline.
        channels: pairs of trees, whose chains follow the topology's ring orders.
        per_node: ranks of a node, where no topology says it.
        pattern: to which GPU of a node the links of the tree go: parent and second child to the first GPU, first child
            to the second (balanced), both children to the second (split), or all to the first (tree); NCCL chooses it
            by the NICs.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    built = _build_trees(n, per_node, topology, pattern, channels)
    rounds = [[*trees.reduce_up(tree, k, k), *trees.broadcast_down(tree, k, k)] for k, tree in enumerate(built)]
    yield from pipeline_chunks(together(*rounds), chunks, stride=len(rounds))
