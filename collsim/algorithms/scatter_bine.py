"""Blocks scatter down a Bine tree: a child gets the blocks of its subtree, which are neighbours on the circle of
ranks."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import copy

from .broadcast_bine import broadcast_bine


@algorithm(
    "scatter",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta: (n.bit_length() - 1) * alpha + (n - 1) / n * K * beta,
    formula="lg n·α + (n−1)/n·Kβ",
    source="De Sensi et al. 2025 (Bine trees, SC), arXiv 2508.17311",
    chunks=lambda n: n,
    ranks=require_power_of_two,
)
def scatter_bine(n, root=0):
    tree = list(broadcast_bine(n, root=root).each_step())
    # (rank, block): the blocks of the subtree of each rank, as far as the steps from the last one on make it.
    below = np.eye(n, dtype=bool)
    steps = []
    for step in reversed(tree):
        row, block = np.nonzero(below[step.dst])
        steps.append(copy(step.src[row], step.dst[row], chunk=block))
        below[step.src] |= below[step.dst]
    yield from reversed(steps)
