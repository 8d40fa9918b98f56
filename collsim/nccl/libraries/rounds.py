"""The rounds of messages of MPI's algorithms: how many, how large, how far, and what each rank adds up on the way.

Counted as Open MPI and MPICH write them (ompi/mca/coll/base; src/mpi/coll), unsegmented, on the path that is waited
for: of a binomial reduction that of the root. Thakur, Rabenseifner, Gropp 2005 count the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .openmpi import find_pipeline_segment


@dataclass(frozen=True)
class Round:
    """Rounds that are alike.

    Attributes:
        repeats: how many rounds follow one another.
        nbytes: bytes of a message.
        distance: how many ranks further the partner is.
        reduced_bytes: bytes that a rank adds after a message.
        sends: messages that a rank sends in a round, one after the other.
        has_single_sender: whether only one rank of a node sends to another node (a tree, whose ranks far apart are
            few); else all whose partner is there do.
        is_ring: whether blocks pass from rank to rank around a ring or along a chain, so that a rank waits for its
            neighbour only.
        visits_all: whether a rank sends to every other rank once, so that most partners may sit in other nodes.
        senders: share of the ranks that send at a time.
    """

    repeats: float
    nbytes: float
    distance: int
    reduced_bytes: float = 0.0
    sends: int = 1
    has_single_sender: bool = False
    is_ring: bool = False
    visits_all: bool = False
    senders: float = 1.0


Rounds = tuple[Round, ...]
_RADIX = 4  # of Open MPI's k-nomial tree
_CHAINS = 4  # of its chain
_PACKS = 4  # latencies inside a node that a datatype costs: to make, commit, pack and unpack it


def _count_levels(n: int) -> int:
    return (n - 1).bit_length()


def _find_largest_power(n: int) -> int:
    return 1 << n.bit_length() - 1


def _list_doubling_rounds(n: int, size: float) -> Rounds:
    """All of the buffer with partners 1, 2, 4 ... away; two rounds more where ranks are no power of two."""
    p = _find_largest_power(n)
    odd = (Round(2, size, 1, size / 2, senders=(n - p) / n),) if n != p else ()
    return odd + tuple(Round(1, size, 2**k, size, senders=p / n) for k in range(_count_levels(p)))


def _list_halving_rounds(n: int, size: float, adds: bool, odd: bool = True, nearest_first: bool = False) -> Rounds:
    """Half of the buffer with the farthest partner, a quarter with the next ...; or with the nearest one first."""
    p = _find_largest_power(n)
    extra = (Round(1, size, 1, size if adds else 0.0, senders=(n - p) / n),) if odd and n != p else ()
    parts = [size / 2 ** (k + 1) for k in range(_count_levels(p))]
    distances = [p >> (k + 1) for k in range(_count_levels(p))]
    if nearest_first:
        distances.reverse()
    return extra + tuple(
        Round(1, part, far, part if adds else 0.0, senders=p / n) for part, far in zip(parts, distances, strict=True)
    )


def _list_rabenseifner_rounds(n: int, size: float, odd: bool = True) -> Rounds:
    """Halving that begins with the neighbour, and the same way back (MPICH
    src/mpi/coll/allreduce/allreduce_intra_reduce_scatter_allgather.c, "beginning with processes that are distance 1
    apart"; Open MPI ompi/mca/coll/base/coll_base_reduce.c, "recursive vector halving and recursive distance doubling").
    So half of the buffer stays in the node, and little crosses the network.

    `odd`: whether ranks beyond a power of two get the result, too.
    """
    back = reversed(_list_halving_rounds(n, size, False, odd, nearest_first=True))
    return (*_list_halving_rounds(n, size, True, nearest_first=True), *back)


def _list_ring_rounds(n: int, size: float, adds: bool = False, both: bool = False) -> Rounds:
    first = Round(n - 1, size / n, 1, size / n if adds else 0.0, is_ring=True)
    if both:
        return (first, Round(n - 1, size / n, 1, is_ring=True))
    return (first,)


def _list_growing_rounds(n: int, size: float) -> Rounds:
    """A block, two, four ...: recursive doubling of an allgather, Bruck's, sparbit."""
    return tuple(Round(1, min(2**k, n - 2**k) * size / n, 2**k) for k in range(_count_levels(n)))


def _list_tree_rounds(n: int, size: float, radix: int, adds: bool) -> Rounds:
    """Levels of a tree of which a rank serves `radix` - 1 others at each, the farthest first."""
    depth = math.ceil(math.log(n, radix) - 1e-9)
    kids = radix - 1
    return tuple(
        Round(1, size, far, kids * size if adds else 0.0, kids, has_single_sender=True, senders=1 / (radix * far))
        for far in (radix ** (depth - 1 - k) for k in range(depth))
    )


def _list_binary_rounds(n: int, size: float, adds: bool) -> Rounds:
    """Every rank serves two others."""
    depth = max(1, math.floor(math.log2(n)))
    return tuple(
        Round(1, size, max(1, n >> (k + 1)), 2 * size if adds else 0.0, 2, has_single_sender=True, senders=2**k / n)
        for k in range(depth)
    )


def _list_linear_rounds(n: int, size: float, adds: bool = False) -> Rounds:
    """The root serves all others, one after the other."""
    return (Round(1, size, n // 2, (n - 1) * size if adds else 0.0, n - 1, has_single_sender=True, senders=1 / n),)


def _list_chain_rounds(n: int, size: float, adds: bool, chains: int = 1) -> Rounds:
    hops, added = math.ceil((n - 1) / chains), size if adds else 0.0
    return (Round(hops, size, 1, added, has_single_sender=True, is_ring=True, senders=chains / n),)


def _list_segmented_rounds(n: int, size: float, adds: bool) -> Rounds:
    """A chain whose segments follow one another."""
    segment = min(size, find_pipeline_segment(n, size, adds))
    count, added = math.ceil(size / segment), segment if adds else 0.0
    senders = (n - 1) * count / (n - 2 + count) / n
    fill = Round(n - 1, segment, 1, added, has_single_sender=True, is_ring=True, senders=senders)
    if count == 1:
        return (fill,)
    return (fill, Round(count - 1, segment, 1, added, has_single_sender=True, senders=senders))


def _list_scattered_rounds(n: int, size: float, ring: bool) -> Rounds:
    """A binomial scatter, then an allgather."""
    parts = tuple(
        Round(1, r.nbytes, r.distance, has_single_sender=True, senders=1 / (2 * r.distance))
        for r in _list_halving_rounds(n, size, False, odd=False)
    )
    return parts + (_list_ring_rounds(n, size) if ring else _list_growing_rounds(n, size))


def _list_packed_rounds(n: int, size: float) -> Rounds:
    """Bruck's alltoall: half of the blocks in every round, which are gathered and spread through a datatype."""
    sent = tuple(Round(1, size / 2, 2**k, size) for k in range(_count_levels(n)))
    return (*sent, Round(_PACKS * _count_levels(n), 0, 1))


RoundCounter = Callable[[int, float], Rounds]
_ALLREDUCE: Mapping[str, RoundCounter] = {
    "basic_linear": lambda n, s: (*_list_linear_rounds(n, s, True), *_list_linear_rounds(n, s)),
    "nonoverlapping": lambda n, s: (*_list_tree_rounds(n, s, 2, True), *_list_tree_rounds(n, s, _RADIX, False)),
    "recursive_doubling": _list_doubling_rounds,
    **dict.fromkeys(("ring", "segmented_ring"), lambda n, s: _list_ring_rounds(n, s, True, both=True)),
    **dict.fromkeys(("rabenseifner", "reduce_scatter_allgather"), _list_rabenseifner_rounds),
    "allgather_reduce": lambda n, s: (Round(n - 1, s, 1), Round(0, 0, 1, (n - 1) * s)),
}
_BCAST: Mapping[str, RoundCounter] = {
    "basic_linear": _list_linear_rounds,
    "chain": lambda n, s: _list_chain_rounds(n, s, False, _CHAINS),
    **dict.fromkeys(("pipeline", "ring"), lambda n, s: _list_chain_rounds(n, s, False)),
    "segmented_pipeline": lambda n, s: _list_segmented_rounds(n, s, False),
    "split_binary_tree": lambda n, s: (*_list_binary_rounds(n, s / 2, False), Round(1, s / 2, n // 2)),
    "binary_tree": lambda n, s: _list_binary_rounds(n, s, False),
    "binomial": lambda n, s: _list_tree_rounds(n, s, 2, False),
    "knomial": lambda n, s: _list_tree_rounds(n, s, _RADIX, False),
    "scatter_allgather": lambda n, s: _list_scattered_rounds(n, s, False),
    "scatter_recursive_doubling_allgather": lambda n, s: _list_scattered_rounds(n, s, False),
    "scatter_allgather_ring": lambda n, s: _list_scattered_rounds(n, s, True),
    "scatter_ring_allgather": lambda n, s: _list_scattered_rounds(n, s, True),
}
_REDUCE: Mapping[str, RoundCounter] = {
    "linear": lambda n, s: _list_linear_rounds(n, s, True),
    "chain": lambda n, s: _list_chain_rounds(n, s, True, _CHAINS),
    **dict.fromkeys(("pipeline", "ring"), lambda n, s: _list_chain_rounds(n, s, True)),
    "segmented_pipeline": lambda n, s: _list_segmented_rounds(n, s, True),
    **dict.fromkeys(("binary", "in-order_binary"), lambda n, s: _list_binary_rounds(n, s, True)),
    "binomial": lambda n, s: _list_tree_rounds(n, s, 2, True),
    "knomial": lambda n, s: _list_tree_rounds(n, s, _RADIX, True),
    **dict.fromkeys(("rabenseifner", "reduce_scatter_gather"), lambda n, s: _list_rabenseifner_rounds(n, s, odd=False)),
}
_ALLGATHER: Mapping[str, RoundCounter] = {
    "linear": lambda n, s: (
        Round(1, s / n, n // 2, sends=n - 1, has_single_sender=True, senders=1 / n),
        *_list_tree_rounds(n, s, 2, False),
    ),
    **dict.fromkeys(("bruck", "brucks", "recursive_doubling", "sparbit"), _list_growing_rounds),
    **dict.fromkeys(("ring", "two_proc"), _list_ring_rounds),
    "neighbor": lambda n, s: (Round(1, s / n, 1), Round(n / 2 - 1, 2 * s / n, 1, is_ring=True)),
    "direct-messaging": lambda n, s: (Round(1, s / n, n // 2, sends=n - 1, visits_all=True),),
}
_ALLTOALL: Mapping[str, RoundCounter] = {
    **dict.fromkeys(
        ("linear", "linear_sync", "scattered"), lambda n, s: (Round(1, s / n, n // 2, sends=n - 1, visits_all=True),)
    ),
    **dict.fromkeys(("pairwise", "ring"), lambda n, s: (Round(n - 1, s / n, n // 2, visits_all=True),)),
    "modified_bruck": _list_packed_rounds,
    "brucks": lambda n, s: tuple(Round(1, s / 2, 2**k, s) for k in range(_count_levels(n))),
    "two_proc": _list_ring_rounds,
}
_REDUCE_SCATTER: Mapping[str, RoundCounter] = {
    "non-overlapping": lambda n, s: (*_list_tree_rounds(n, s, 2, True), *_list_halving_rounds(n, s, False, odd=False)),
    "basic_linear": lambda n, s: (*_list_tree_rounds(n, s, 2, True), *_list_halving_rounds(n, s, False, odd=False)),
    **dict.fromkeys(("recursive_halving", "butterfly"), lambda n, s: _list_halving_rounds(n, s, True)),
    "recursive_doubling": _list_doubling_rounds,
    "pairwise": lambda n, s: (Round(n - 1, s / n, n // 2, s / n, visits_all=True),),
    "ring": lambda n, s: _list_ring_rounds(n, s, True),
}
#: By MPI's name of the collective, then the library's name of the algorithm.
ROUND_COUNTERS: Mapping[str, Mapping[str, RoundCounter]] = MappingProxyType(
    {
        "allreduce": _ALLREDUCE,
        "bcast": _BCAST,
        "reduce": _REDUCE,
        "allgather": _ALLGATHER,
        "alltoall": _ALLTOALL,
        "reduce_scatter": _REDUCE_SCATTER,
        "reduce_scatter_block": _REDUCE_SCATTER,
    }
)
