"""Bine tree: a binomial tree over negabinary numbers, whose partners on both sides are nearer than those of
broadcast_binomial."""

import numpy as np

from collsim.registry import algorithm, require_power_of_two
from collsim.steps import copy

#: The odd digits, which count negatively to the base -2: to add this mask and flip it converts, and the same backwards.
_MASK = 0xAAAAAAAA


def _encode_negabinary(r):
    """The digits of r to the base -2, as a binary number."""
    return (_MASK + r) ^ _MASK


@algorithm(
    "broadcast",
    steps=lambda n: n.bit_length() - 1,
    sent=lambda n: n.bit_length() - 1,
    cost=lambda n, K, alpha, beta: (n.bit_length() - 1) * (alpha + K * beta),
    formula="lg n(α + Kβ)",
    source="De Sensi et al. 2025 (Bine trees, SC), arXiv 2508.17311",
    chunks=lambda n: 1,
    ranks=require_power_of_two,
    most_ranks=2**20,
)
def broadcast_bine(n, root=0):
    have = np.zeros(1, int)  # counted from the root
    for k in range(n.bit_length() - 1, 0, -1):
        partner = ((_MASK ^ (_encode_negabinary(have) % n ^ (2**k - 1))) - _MASK) % n
        yield copy((have + root) % n, (partner + root) % n, chunk=0)
        have = np.concatenate([have, partner])
