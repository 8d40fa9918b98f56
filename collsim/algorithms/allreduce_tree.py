"""Reduce up a binomial tree to the root, then broadcast down it; in chunks, up and down at the same time."""

from collsim.registry import algorithm
from collsim.steps import pipeline_chunks

from .broadcast_binomial import broadcast_by_doubling
from .reduce_binomial import reduce_by_halving


def _count_busiest(lg, chunks):
    """Chunks that the root, the busiest port, sends: summed over steps, as up and down overlap for chunks > 1."""
    # The root's port works both ways at once, so a step takes as long as the larger of what it receives and sends:
    # the sum of both over all steps, less the smaller of the two.
    return 2 * lg * chunks - sum(min(i, chunks - i, lg) for i in range(1, chunks))


@algorithm(
    "allreduce",
    steps=lambda n, chunks: 2 * (n - 1).bit_length() + chunks - 1 if n > 1 else 0,
    sent=lambda n: (n - 1).bit_length(),
    cost=lambda n, K, alpha, beta, chunks: (
        (2 * (n - 1).bit_length() + chunks - 1) * alpha
        + _count_busiest((n - 1).bit_length(), chunks) * K / chunks * beta
        if n > 1
        else 0
    ),
    source="Thakur, Rabenseifner & Gropp 2005, section Reduce and Allreduce (reduce followed by broadcast); "
    "Open MPI coll_base_allreduce.c nonoverlapping",
    chunks=lambda n, chunks: chunks,
    most_ranks=2**20,
    phases=("reduce", "broadcast"),
)
def allreduce_tree(n, root=0, chunks=1):
    yield from pipeline_chunks([*reduce_by_halving(n, root), *broadcast_by_doubling(n, root)], chunks)
