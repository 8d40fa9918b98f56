"""Rabenseifner: reduce-scatter by recursive halving, then allgather by recursive doubling."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce


def _find_power(n):
    return 1 << n.bit_length() - 1


def reverse_bits(p):
    """Each number below p, a power of two, with its bits in reverse order: pieces are halved from the top, ranks paired
    from bit 0.

    Args:
        p: a power of two; the numbers are 0 to p - 1.
    """
    bits = p.bit_length() - 1
    if bits:
        return sum(((np.arange(p) >> k) & 1) << (bits - 1 - k) for k in range(bits))
    return np.zeros(1, int)


def _count_sent(n):
    p = _find_power(n)
    return 2 * (p - 1) / p + (1.5 if n > p else 0)


def _estimate_cost(n, K, alpha, beta):
    p = _find_power(n)
    folded = n > p
    return (2 * (p.bit_length() - 1) + 3 * folded) * alpha + (2 * (p - 1) / p + 2 * folded) * K * beta


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n.bit_length() - 1) + 3 * (n > _find_power(n)),
    sent=_count_sent,
    cost=_estimate_cost,
    source="Rabenseifner 2004 (recursive halving and doubling); "
    "Thakur, Rabenseifner & Gropp 2005, section Reduce and Allreduce; Open MPI coll_base_allreduce.c redscat_allgather",
    chunks=_find_power,
    most_ranks=2**20,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_halving_doubling(n):
    p = _find_power(n)
    even = np.arange(0, 2 * (n - p), 2)  # stays, for itself and for the odd rank after it
    if n > p:
        yield [reduce(even, even + 1, chunk=p // 2, width=p // 2), reduce(even + 1, even, chunk=0, width=p // 2)]
        yield copy(even + 1, even, chunk=p // 2, width=p // 2)
    rank = np.concatenate([even, np.arange(2 * (n - p), n)])
    # Pieces are numbered by reversed bits, so that the half that a rank keeps at each distance is one contiguous
    # range: a transfer then is (first piece, width), not a list of pieces.
    v, first = np.arange(p), reverse_bits(p)
    distances = [2**k for k in range(p.bit_length() - 1)]
    # Partners at distance d share a range of p/d pieces, and each goes on with the half that its bit d says.
    for d in distances:
        yield reduce(rank, rank[v ^ d], chunk=first[(v ^ d) % (2 * d)], width=p // (2 * d))
    for d in reversed(distances):
        yield copy(rank, rank[v ^ d], chunk=first[v % (2 * d)], width=p // (2 * d))
    if n > p:
        yield copy(even, even + 1, chunk=0, width=p)
