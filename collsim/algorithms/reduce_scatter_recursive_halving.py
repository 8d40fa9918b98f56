"""Partners exchange the halves that the other side is responsible for, at distance n/2, n/4, ..., 1."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce


def _fold(n):
    """The largest power of two up to n, and how many ranks are beyond it."""
    p = 1 << n.bit_length() - 1
    return p, n - p


def _estimate_cost(n, K, alpha, beta, gamma):
    p, beyond = _fold(n)
    blocks = sum(d + min(d, beyond) for d in (2**k for k in range(p.bit_length() - 1)))
    steps = p.bit_length() - 1 + 2 * (beyond > 0)
    return steps * alpha + ((beyond > 0) + blocks / n) * K * (beta + gamma) + (beyond > 0) * K / n * beta


@algorithm(
    "reduce_scatter",
    steps=lambda n: n.bit_length() - 1 + 2 * (n & (n - 1) != 0),
    sent=lambda n: 1 if n & (n - 1) else (n - 1) / n,
    cost=_estimate_cost,
    source="Thakur, Rabenseifner & Gropp 2005, section Reduce-Scatter; Open MPI coll_base_reduce_scatter.c "
    "recursivehalving",
    chunks=lambda n: n,
)
def reduce_scatter_recursive_halving(n):
    p, beyond = _fold(n)
    odd = np.arange(1, 2 * beyond, 2)[:, None]  # stays, for itself and for the even rank before it
    rank = np.concatenate([odd[:, 0], np.arange(2 * beyond, n)])
    home = np.where(np.arange(n) < 2 * beyond, np.arange(n) // 2, np.arange(n) - beyond)  # virtual rank of each block
    yield reduce(odd - 1, odd, chunk=np.arange(n))
    for d in (2**k for k in reversed(range(p.bit_length() - 1))):
        # Blocks whose home agrees with the rank in all higher bits, and differs in this one.
        v, block = np.nonzero((np.arange(p)[:, None] ^ home) // d == 1)
        yield reduce(rank[v], rank[v ^ d], chunk=block)
    yield copy(odd, odd - 1, chunk=odd - 1)
