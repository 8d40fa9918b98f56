"""Ring reduce-scatter along one dimension of a torus after the other, on ever smaller pieces; then allgather the same
way back."""

import numpy as np

from collsim.errors import CollsimError
from collsim.registry import algorithm
from collsim.steps import reduce, reverse, together


def find_sides(n, dims, topology, default=None):
    """Find the sides of a torus.

    Args:
        n: number of ranks.
        dims: sides, as numbers or as text; None for those of the topology.
        topology: torus whose sides are used.
        default: sides where neither says them; None for the two most equal factors of n.
    """
    if not dims and topology is not None and topology.ranks == n:
        dims = getattr(topology.next_hop, "dims", None)
    dims = dims or default
    if not dims:
        dims = next((d, n // d) for d in range(int(n**0.5), 0, -1) if n % d == 0)
    try:
        sides = tuple(int(d) for d in (dims.split("x") if isinstance(dims, str) else dims))
    except (TypeError, ValueError):
        sides = ()
    if np.prod(sides) != n or min(sides, default=0) < 1:
        raise CollsimError("dims={value!r} do not make {n} ranks; write for example dims='4x4' for 16", value=dims, n=n)
    return sides


def _reduce_scatters(side, order, sign, first):
    """Chunk first + c ends at rank c. In the phase of a dimension, those chunks move that agree with the rank in all
    earlier ones."""
    n = int(np.prod(side))
    coordinates = np.array(np.unravel_index(np.arange(n), side))
    differ = coordinates[:, :, None] != coordinates[:, None, :]
    for phase, i in enumerate(order):
        ahead = coordinates.copy()
        ahead[i] = (coordinates[i] + sign) % side[i]
        following = np.ravel_multi_index(tuple(ahead), side)
        settled = ~differ[list(order[:phase])].any(axis=0)
        for k in range(1, side[i]):
            rank, chunk = np.nonzero(settled & (coordinates[i] == (coordinates[i][:, None] - sign * k) % side[i]))
            yield reduce(rank, following[rank], first + chunk, channel=first // n)


@algorithm(
    "allreduce",
    steps=lambda n, dims, topology: sum(2 * (d - 1) for d in find_sides(n, dims, topology)),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, K, alpha, beta, dims, topology: (
        sum(2 * (d - 1) for d in find_sides(n, dims, topology)) * alpha + 2 * (n - 1) / n * K * beta
    ),
    source="Kumar et al. 2019 (2-D gradient summation); Sack & Gropp 2015; ASTRA-sim baseline multi-dimensional ring",
    phases=("reduce-scatter", "allgather"),
)
def allreduce_torus_ring(n, dims=None, all_ports=False, topology=None):
    """Ring reduce-scatter along one dimension of a torus after the other, on ever smaller pieces; then allgather the
    same way back.

    Args:
        n: number of ranks.
        dims: sides of the torus, whose product is n; None: those of the topology, else the two most equal factors of n.
        all_ports: the buffer is cut in as many parts as there are directions, and each begins with another direction.
        topology: torus whose sides are used.
    """
    side = find_sides(n, dims, topology)
    if all_ports:
        parts = [(first, sign) for first in range(len(side)) for sign in (1, -1)]
    else:
        parts = [(0, 1)]
    orders = [tuple(np.roll(np.arange(len(side)), -first)) for first, _ in parts]
    orders_and_parts = enumerate(zip(orders, parts, strict=True))
    steps = list(together(*(_reduce_scatters(side, order, sign, p * n) for p, (order, (_, sign)) in orders_and_parts)))
    yield from steps
    yield from reverse(steps)
