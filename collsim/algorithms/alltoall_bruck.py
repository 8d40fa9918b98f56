"""Blocks travel by the binary digits of their distance: lg n steps, but every block is sent as often as its distance
has ones."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


def _count_moved_blocks(n):
    """Blocks that every rank sends in all: the ones in the binary digits of 0..n-1."""
    return sum(i.bit_count() for i in range(n))


@algorithm(
    "alltoall",
    steps=lambda n: max(1, (n - 1).bit_length()),
    sent=lambda n: _count_moved_blocks(n) / n,
    cost=lambda n, K, alpha, beta: (n - 1).bit_length() * alpha + _count_moved_blocks(n) / n * K * beta,
    source="Bruck et al. 1997 (index operation); Thakur, Rabenseifner & Gropp 2005, section Alltoall; Open MPI "
    "coll_base_alltoall.c bruck",
    chunks=lambda n: n,
)
def alltoall_bruck(n):
    """Blocks travel by the binary digits of their distance.

    Slots: n to send, n received, then n of scratch for blocks on their way, by distance. The first hop reads the send
    slot and the last writes the received one, so no rotation is needed before or after.
    """
    rank, distance = (a.ravel() for a in np.indices((n, n)))
    self_copy = copy(np.arange(n), np.arange(n), chunk=np.arange(n), into=n + np.arange(n))
    if n == 1:
        yield self_copy
    for k in range((n - 1).bit_length()):
        r, i = rank[distance >> k & 1 == 1], distance[distance >> k & 1 == 1]
        # A block makes its first hop at the lowest one in its distance, and its last at the highest.
        chunk = np.where(i % 2**k == 0, (r + i) % n, 2 * n + i)
        into = np.where(i >> (k + 1) == 0, n + (r + 2**k - i) % n, 2 * n + i)
        step = copy(r, (r + 2**k) % n, chunk=chunk, into=into)
        yield step + self_copy if k == 0 else step
