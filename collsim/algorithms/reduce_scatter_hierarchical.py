"""Reduce-scatter inside each node, then across nodes between ranks with the same local rank."""

from typing import Literal

import numpy as np

from collsim.registry import algorithm

from .allgather_hierarchical import find_parts

Choice = Literal["ring", "pairwise", "direct", "pat"]


def _count_steps(n, inner, outer, per_node, topology):
    return sum(
        phase.claim("steps", size)
        for phase, size, _ in find_parts("reduce_scatter", n, inner, outer, per_node, topology)
    )


def _estimate_cost(n, K, alpha, beta, gamma, inner, outer, per_node, topology):
    phases = find_parts("reduce_scatter", n, inner, outer, per_node, topology)
    return sum(phase.price(size, part * K, alpha, beta, gamma) for phase, size, part in phases)


@algorithm(
    "reduce_scatter",
    steps=_count_steps,
    sent=lambda n: (n - 1) / n,
    cost=_estimate_cost,
    source="Open MPI coll_han; Cho et al. 2019 (BlueConnect)",
    chunks=lambda n: n,
)
def reduce_scatter_hierarchical(n, inner: Choice = "ring", outer: Choice = "ring", per_node=8, topology=None):
    """Reduce-scatter inside each node, then across nodes between ranks with the same local rank.

    Args:
        n: number of ranks.
        inner: end of the name of the algorithm inside a node: `ring`.
        outer: end of the name of the algorithm across nodes.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    across, inside = (
        phase(size) for phase, size, _ in find_parts("reduce_scatter", n, inner, outer, per_node, topology)
    )
    rank = np.arange(n).reshape(across.ranks, inside.ranks)
    yield from (step.map_to(rank, rank.T) for step in inside.each_step())
    yield from (step.map_to(rank.T, rank.T[:, :, None]) for step in across.each_step())
