"""Reduce-scatter inside each node, allreduce across nodes for every block, allgather inside each node."""

from typing import Literal

import numpy as np

from collsim.registry import algorithm, get_algorithm
from collsim.trees import count_nodes

Inner = Literal["ring", "direct", "pat"]
Trees = Literal["tree", "kary_tree", "double_binary_tree"]
Outer = Literal["ring", Trees, "recursive_doubling", "halving_doubling", "direct_one_shot", "direct_two_shot"]


def _find_parts(n, inner, outer, per_node, topology):
    """(algorithm, ranks, part of the buffer it works on) of the three phases."""
    nodes = count_nodes(n, per_node, topology)
    g = n // nodes
    scatter, gather = get_algorithm(f"reduce_scatter_{inner}"), get_algorithm(f"allgather_{inner}")
    return [(scatter, g, 1), (get_algorithm(f"allreduce_{outer}"), nodes, 1 / g), (gather, g, 1)]


def _count_steps(n, inner, outer, per_node, topology):
    return sum(phase.claim("steps", size) for phase, size, _ in _find_parts(n, inner, outer, per_node, topology))


def _count_sent(n, inner, outer, per_node, topology):
    return sum(
        part * phase.claim("sent", size) for phase, size, part in _find_parts(n, inner, outer, per_node, topology)
    )


def _estimate_cost(n, K, alpha, beta, gamma, inner, outer, per_node, topology):
    phases = _find_parts(n, inner, outer, per_node, topology)
    return sum(phase.price(size, part * K, alpha, beta, gamma) for phase, size, part in phases)


@algorithm(
    "allreduce",
    steps=_count_steps,
    sent=_count_sent,
    cost=_estimate_cost,
    source="Open MPI coll_han; Jiang et al. 2020 (OSDI; BytePS); Cho et al. 2019 (BlueConnect)",
)
def allreduce_hierarchical(n, inner: Inner = "ring", outer: Outer = "ring", per_node=8, topology=None):
    """Reduce-scatter inside each node, allreduce across nodes for every block, allgather inside each node.

    Args:
        n: number of ranks.
        inner: end of the names of the algorithms inside a node: `ring`.
        outer: end of the name of the allreduce across nodes.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    scatter, across, gather = (phase(size) for phase, size, _ in _find_parts(n, inner, outer, per_node, topology))
    rank = np.arange(n).reshape(across.ranks, scatter.ranks)
    piece = np.arange(scatter.chunks * across.chunks).reshape(scatter.chunks, -1)  # of inner chunk i, outer chunk j
    outer_chunks = piece.reshape(scatter.ranks, -1, across.chunks).transpose(0, 2, 1)
    yield from (step.map_to(rank, piece) for step in scatter.each_step())
    yield from (step.map_to(rank.T, outer_chunks) for step in across.each_step())
    yield from (step.map_to(rank, piece) for step in gather.each_step())
