"""Allgather across nodes between ranks with the same local rank, then inside each node."""

from typing import Literal

import numpy as np

from collsim.registry import algorithm, get_algorithm
from collsim.trees import count_nodes

Choice = Literal["ring", "bruck", "direct", "pat"]


def find_parts(collective, n, inner, outer, per_node, topology):
    """The two parts of a hierarchical algorithm: across nodes, and inside a node.

    Args:
        collective: what both parts are, such as `allgather`.
        n: number of ranks.
        inner: end of the name of the algorithm inside a node: `ring`.
        outer: end of the name of the algorithm across nodes.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.

    Returns:
        For each part the algorithm, its number of ranks, and the part of the buffer that it works on.
    """
    nodes = count_nodes(n, per_node, topology)
    return [
        (get_algorithm(f"{collective}_{outer}"), nodes, nodes / n),
        (get_algorithm(f"{collective}_{inner}"), n // nodes, 1),
    ]


def _count_steps(n, inner, outer, per_node, topology):
    return sum(
        phase.claim("steps", size) for phase, size, _ in find_parts("allgather", n, inner, outer, per_node, topology)
    )


def _estimate_cost(n, K, alpha, beta, inner, outer, per_node, topology):
    phases = find_parts("allgather", n, inner, outer, per_node, topology)
    return sum(phase.price(size, part * K, alpha, beta) for phase, size, part in phases)


@algorithm(
    "allgather",
    steps=_count_steps,
    sent=lambda n: (n - 1) / n,
    cost=_estimate_cost,
    source="Open MPI coll_han_allgather.c; Träff 2006 (SMP-aware allgather)",
    chunks=lambda n: n,
)
def allgather_hierarchical(n, inner: Choice = "ring", outer: Choice = "ring", per_node=8, topology=None):
    """Allgather across nodes between ranks with the same local rank, then inside each node.

    Args:
        n: number of ranks.
        inner: end of the name of the algorithm inside a node: `ring`.
        outer: end of the name of the algorithm across nodes.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    across, inside = (phase(size) for phase, size, _ in find_parts("allgather", n, inner, outer, per_node, topology))
    rank = np.arange(n).reshape(across.ranks, inside.ranks)
    # One allgather for each local rank, all at once, over the GPUs with it; then one in each node, whose
    # block i is all that the GPU of local rank i has collected.
    yield from (step.map_to(rank.T, rank.T[:, :, None]) for step in across.each_step())
    yield from (step.map_to(rank, rank.T) for step in inside.each_step())
