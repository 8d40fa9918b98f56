"""Two binary trees under the root, each with half of the chunks; who sends in one tree only receives in the other."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import pipeline_chunks, together
from collsim.trees import broadcast_down, build_double_binary_tree


@algorithm(
    "broadcast",
    steps=lambda n, chunks: (n - 2).bit_length() + chunks if n > 1 else 0,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta, chunks: (
        ((n - 2).bit_length() + chunks) * (alpha + K / chunks * beta) if n > 1 else 0
    ),
    source="Sanders, Speck & Träff 2009 (two-tree broadcast), doi 10.1016/j.parco.2009.09.001",
    chunks=lambda n, chunks: 2 * chunks,
    most_ranks=2**20,
)
def broadcast_double_binary_tree(n, root=0, chunks=1):
    if n > 1:
        # Virtual rank 0 is the root, and both trees hang below it.
        trees = [np.concatenate([[-1], tree + 1]) for tree in build_double_binary_tree(n - 1)]
        rank = (np.arange(n) + root) % n
        rounds = together(*(broadcast_down(tree, half) for half, tree in enumerate(trees)))
        yield from pipeline_chunks((step.map_to(rank, np.arange(2)) for step in rounds), chunks, stride=2)
