"""PAT, parallel aggregated trees: far exchanges carry one block, near ones half of all; any number of ranks.

Where buffers hold only `aggregation` blocks, the first steps aggregate up to that many, and the trees below them follow
one after another.
"""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


def find_stride(n, aggregation):
    """Find the distance down to which all blocks of a distance go in one message: each sends at most `aggregation`.

    Args:
        n: number of ranks.
        aggregation: most blocks of a message.
    """
    stride = 1
    # Without trees that follow one another the longest message is half of all.
    while n // 2 > aggregation and -(-n // stride) > max(aggregation, 1):
        stride *= 2
    return stride


def count_pat_steps(n, aggregation):
    """Count the steps: a logarithmic part, and a linear one of the trees that follow one another.

    Args:
        n: number of ranks.
        aggregation: most blocks of a message.
    """
    stride = find_stride(n, aggregation)
    return (n - 1).bit_length() - (stride.bit_length() - 1) + min(stride, n) - 1


@algorithm(
    "allgather",
    steps=count_pat_steps,
    sent=lambda n: (n - 1) / n,
    cost=lambda n, K, alpha, beta, aggregation: count_pat_steps(n, aggregation) * alpha + (n - 1) / n * K * beta,
    source="Jeaugey 2025, arXiv 2506.20252; NCCL src/include/collectives.h PatAGAlgorithm",
    chunks=lambda n: n,
)
def allgather_pat(n, aggregation=1024):
    """PAT, parallel aggregated trees: far exchanges carry one block, near ones half of all.

    Args:
        n: number of ranks.
        aggregation: most blocks of a message, a power of two.
    """
    r = np.arange(n)[:, None]
    stride = find_stride(n, aggregation)
    for d in (2**k for k in reversed(range(stride.bit_length() - 1, (n - 1).bit_length()))):
        offset = np.arange(0, n - d, 2 * d)  # of the blocks sent, counted from the sender
        yield copy(r, (r - d) % n, chunk=(r + offset) % n)
    # What is left are offsets between the multiples of the stride. Each comes over its lowest bit, after the offset
    # without that bit, so that few blocks wait in buffers.
    for low in range(1, min(stride, n)):
        d = low & -low
        offset = np.arange(low - d, n - d, stride)
        yield copy(r, (r - d) % n, chunk=(r + offset) % n)
