"""Gloo's bcube: ranks are numbers with several digits; those who differ in one digit form a group, one digit after
another."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import reduce, reverse


def _split_digits(n, base):
    """Group sizes: base as long as it divides, then what is left (Gloo: computeGroupSizePerStep)."""
    sizes = []
    while n > 1:
        sizes.append(base if base > 1 and n % base == 0 else n)
        n //= sizes[-1]
    return sizes


@algorithm(
    "allreduce",
    steps=lambda n, base: 2 * len(_split_digits(n, base)),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma, base: (
        2 * len(_split_digits(n, base)) * alpha + (n - 1) / n * K * (2 * beta + gamma)
    ),
    source="Gloo gloo/allreduce.cc bcube; Guo et al. 2009 (BCube, SIGCOMM)",
    chunks=lambda n: n,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_bcube(n, base=2):
    """Gloo's bcube: ranks are numbers with several digits; those who differ in one digit form a group, one digit after
    another.

    Args:
        n: number of ranks.
        base: size of a group, as long as it divides what is left of the number of ranks.
    """
    sizes, number, steps, stride = _split_digits(n, base), np.arange(n), [], 1
    for size in sizes:
        digit = number // stride % size
        settled = (number % stride)[:, None] == number % stride  # (rank, chunk): agree in all digits done so far
        rank, chunk = np.nonzero(settled & (digit[:, None] != digit))
        steps.append(reduce(rank, rank + (digit[chunk] - digit[rank]) * stride, chunk=chunk))
        stride *= size
    yield from steps
    yield from reverse(steps)
