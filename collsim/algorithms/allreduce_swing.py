"""Swing: halving and doubling with partners that swing from side to side, closer on a ring or torus than those of
Rabenseifner; on a torus one dimension after the other, and from all ports at once."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import Step, reduce, reverse, together

from .allreduce_torus_ring import find_sides


def list_partners(sides, first=0, mirrored=False):
    """Partners of all ranks in each step, the dimensions in turn from the first on; one that has no step left is left
    out.

    Args:
        sides: of the torus, powers of two.
        first: dimension of the first step.
        mirrored: even ranks begin to the other side.
    """
    n = int(np.prod(sides))
    coordinates = np.array(np.unravel_index(np.arange(n), sides))
    rounds = [0] * len(sides)
    partners: list[np.ndarray] = []
    dimension = first
    while len(partners) < n.bit_length() - 1:
        if 2 ** rounds[dimension] < sides[dimension]:
            distance = (1 - (-2) ** (rounds[dimension] + 1)) // 3  # 1, -1, 3, -5, 11, ...
            position = coordinates[dimension]
            peer = coordinates.copy()
            peer[dimension] = (position + np.where((position % 2 == 0) != mirrored, distance, -distance)) % sides[
                dimension
            ]
            partners.append(np.ravel_multi_index(tuple(peer), sides))
            rounds[dimension] += 1
        dimension = (dimension + 1) % len(sides)
    return partners


def scatter_reduce(partners, first=0, channel=0):
    """Reduce-scatter steps: to its partner each rank sends the chunks that can still get home from there.

    Args:
        partners: of all ranks in each step.
        first: chunk that ends at rank 0.
        channel: of the transfers.
    """
    reach = np.eye(len(partners[0]) if partners else 1, dtype=bool)  # (rank, chunk): chunks that get home from a rank
    steps: list[Step] = []
    for peer in reversed(partners):
        src, chunk = np.nonzero(reach[peer])
        steps.insert(0, reduce(src, peer[src], chunk=first + chunk, channel=channel))
        reach = reach | reach[peer]
    return steps


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n.bit_length() - 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: 2 * (n.bit_length() - 1) * alpha + (n - 1) / n * K * (2 * beta + gamma),
    source="De Sensi et al. 2024 (Swing, NSDI), arXiv 2401.09356",
    ranks=require_power_of_two,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_swing(n, dims=None, all_ports=False, topology=None):
    """Swing: halving and doubling with partners that swing from side to side.

    Args:
        n: number of ranks.
        dims: sides of the torus, powers of two whose product is n; None: those of the topology, else one ring.
        all_ports: the buffer is cut in as many parts as there are directions; each begins with another dimension, and
            half of them are mirrored.
        topology: torus whose sides are used.
    """
    sides = find_sides(n, dims, topology, (n,))
    parts = [(0, False)]
    if all_ports:
        parts = [(first, mirrored) for first in range(len(sides)) for mirrored in (False, True)]
    plans = [list_partners(sides, first, mirrored) for first, mirrored in parts]
    steps = list(together(*(scatter_reduce(plan, part * n, part) for part, plan in enumerate(plans))))
    yield from steps
    yield from reverse(steps)
