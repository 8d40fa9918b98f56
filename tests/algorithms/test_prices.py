"""Prices say what the papers say: crossovers, best numbers of chunks, and that nobody beats the lower bound."""

from math import comb, sqrt

import pytest
from by_hand import sizes

import collsim as cs

ALGORITHMS = cs.algorithms()
ALPHA, BETA = 5e-6, 1e-10
PORT_BUFFERS_AT_LEAST = {  # bytes through some port in one direction, in buffers (Chan et al. 2007; Patarasuk & Yuan 2009)
    "allreduce": lambda n: 2 * (n - 1) / n,
    "reduce": lambda n: 1,
    "broadcast": lambda n: 1,
    "allgather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    # Zipf: the first of n receives 1 of 1 + 1/2 + ... + 1/n, from n - 1 others.
    "alltoallv": lambda n: (n - 1) / n / sum(1 / r for r in range(1, n + 1)),
    # Of eight copies of a token a rank needs one, where one of its eight experts of 8n is among the eight.
    "dispatch": lambda n: (n - 1) / n / 8 * (1 - comb(8 * n - 8, 8) / comb(8 * n, 8)),
    "sendrecv": lambda n: 1,
}


def price(name, n, nbytes, **options):
    return ALGORITHMS[name].price(n, nbytes, ALPHA, BETA, **options)


@pytest.mark.parametrize(
    "name", [name for name, a in ALGORITHMS.items() if a.helpers is None and a.network == "switch"]
)
def test_nobody_is_cheaper_than_the_bandwidth_bound(name):
    entry = ALGORITHMS[name]
    for n in sizes(entry, 33, 2):
        assert entry.price(n, 1e9, 0, BETA) >= PORT_BUFFERS_AT_LEAST[entry.collective](n) * 1e9 * BETA * (1 - 1e-12), n


@pytest.mark.parametrize("n", [8, 16, 64, 1024])
def test_recursive_doubling_is_better_up_to_the_known_size(n):
    """Equal where lg n (alpha + S beta) = 2 lg n alpha + 2(n-1)/n S beta: S = alpha lg n / (beta (lg n - 2(n-1)/n))."""
    lg = n.bit_length() - 1
    crossing = ALPHA * lg / (BETA * (lg - 2 * (n - 1) / n))
    assert price("allreduce_recursive_doubling", n, crossing) == pytest.approx(
        price("allreduce_halving_doubling", n, crossing)
    )
    for nbytes, better, worse in (
        (crossing / 2, "recursive_doubling", "halving_doubling"),
        (crossing * 2, "halving_doubling", "recursive_doubling"),
    ):
        assert price(f"allreduce_{better}", n, nbytes) < price(f"allreduce_{worse}", n, nbytes)


def test_a_chain_has_a_best_number_of_chunks():
    """(n-2+c)(alpha + S/c beta) is least at c = sqrt((n-2) S beta / alpha)."""
    n, nbytes = 18, 2e8
    best = sqrt((n - 2) * nbytes * BETA / ALPHA)
    assert 252 < best < 254
    at_best = price("broadcast_chain", n, nbytes, chunks=round(best))
    assert all(at_best <= price("broadcast_chain", n, nbytes, chunks=c) for c in range(1, 600, 7))
    assert at_best < 1.3 * nbytes * BETA  # near S beta


def test_the_classic_advice_holds():
    """Small: few steps. Large: few bytes. Chan et al. 2007; Thakur, Rabenseifner & Gropp 2005."""
    n, small, large = 64, 256, 2**30
    assert (
        price("allreduce_recursive_doubling", n, small)
        < price("allreduce_halving_doubling", n, small)
        < price("allreduce_ring", n, small)
    )
    assert (
        price("allreduce_halving_doubling", n, large)
        < price("allreduce_ring", n, large)
        < price("allreduce_tree", n, large)
    )
    assert price("broadcast_binomial", n, small) < price("broadcast_scatter_allgather_recursive_doubling", n, small)
    assert price("broadcast_scatter_allgather_ring", n, large) < price("broadcast_binomial", n, large)
    assert price("broadcast_double_binary_tree", n, large, chunks=500) < price(
        "broadcast_scatter_allgather_ring", n, large
    )
    assert price("alltoall_bruck", n, small) < price("alltoall_pairwise", n, small)
    assert price("alltoall_pairwise", n, large) < price("alltoall_bruck", n, large)
    assert price("allgather_bruck", n, small) < price("allgather_ring", n, small)
    assert (
        price("allreduce_sharp", n, large, chunks=100)
        < price("allreduce_nvls", n, large, chunks=100)
        < price("allreduce_ring", n, large)
    )


def test_nvls_gains_what_the_reference_says():
    """2(n-1)/(n+1) over the ring: 1.56 for n = 8, towards 2 for many."""
    for n, gain in ((8, 14 / 9), (64, 126 / 65)):
        ring, nvls = (
            ALGORITHMS["allreduce_ring"].price(n, 1e9, 0, BETA),
            ALGORITHMS["allreduce_nvls"].price(n, 1e9, 0, BETA, chunks=10_000),
        )
        assert ring / nvls == pytest.approx(gain, rel=1e-3)
