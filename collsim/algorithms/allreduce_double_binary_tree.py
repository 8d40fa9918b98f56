"""NCCL's tree: two binary trees over the nodes, each with half of the buffer, and a chain inside each node."""

from typing import Literal

import numpy as np

from collsim.registry import algorithm
from collsim.schedule import pipeline, together
from collsim.trees import depths, down, node_chains, nodes_of, up


def _steps(n, chunks, per_node, topology, pattern):
    trees = node_chains(n, nodes_of(n, per_node, topology), pattern)
    return 2 * max(int(depths(tree).max()) for tree in trees) + chunks - 1 if n > 1 else 0


def _busiest(n, per_node, topology, pattern):
    """Buffers that the rank with most links in the two trees sends: half a buffer over each."""
    trees = node_chains(n, nodes_of(n, per_node, topology), pattern)
    return np.max(sum(np.bincount(tree[tree >= 0], minlength=n) + (tree >= 0) for tree in trees)) / 2


@algorithm(
    "allreduce",
    steps=_steps,
    sent=_busiest,
    cost=lambda n, S, alpha, beta, chunks, per_node, topology, pattern: (
        _steps(n, chunks, per_node, topology, pattern) * (alpha + _busiest(n, per_node, topology, pattern) * S / chunks * beta)
    ),
    formula="≤ (2D+c−1)(α + 2S/c·β), D = ⌈lg n⌉ with one rank per node; → 2Sβ for many chunks",
    source="NCCL src/graph/trees.cc ncclGetDtree, src/graph/connect.cc connectTrees; Sanders, Speck & Träff 2009 (two-tree)",
    says=(
        "In both trees partial sums climb and finished chunks come down; who is inside one tree is a leaf of the other.",
        "两棵树中部分和向上、完成的 chunk 向下；在一棵树里是内部结点的 rank，在另一棵里是叶子。",
    ),
    when=(
        "Many nodes, medium and large messages: the ring's bytes (2S) with a number of steps that grows as lg n, in many chunks.",
        "节点多、中大消息并分成许多 chunk 时：流量与 ring 相当（2S），步数只随 lg n 增长。",
    ),
    chunks=lambda n, chunks: 2 * chunks,
)
def allreduce_double_binary_tree(n, chunks=1, per_node=1, pattern: Literal["balanced", "split", "tree"] = "balanced", topology=None):
    """NCCL's tree: two binary trees over the nodes, each with half of the buffer, and a chain inside each node.

    per_node: ranks of a node, from the topology where that is a machine. pattern: to which GPU of a node the links of the tree go:
    parent and second child to the first GPU, first child to the second (balanced), both children to the second (split), or all
    to the first (tree); NCCL chooses it by the NICs it has.
    """
    first, second = node_chains(n, nodes_of(n, per_node, topology), pattern)
    rounds = together([*up(first), *down(first)], [*up(second, 1, 1), *down(second, 1, 1)])
    yield from pipeline(rounds, chunks, stride=2)
