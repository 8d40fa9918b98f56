"""Which algorithm MPICH runs within a communicator, by ranks and bytes: its default selection as tables.

Source: src/mpi/coll/coll_selection.json, MPICH 07f13b45, without hierarchy. Bytes compared: those of the buffer for
broadcast, allreduce and reduce; all ranks' together for allgather and reduce_scatter; one rank's block for alltoall.
"""

from __future__ import annotations

SOURCE = "MPICH 07f13b45 src/mpi/coll/coll_selection.json"

_BINOMIAL = ("binomial", "broadcast_binomial")
_VAN_DE_GEIJN = ("scatter_ring_allgather", "broadcast_scatter_allgather_ring")
_DOUBLING = ("recursive_doubling", "allreduce_recursive_doubling")
_HALVING = ("recursive_halving", "reduce_scatter_recursive_halving")
_SCATTERED = ("scattered", "alltoall_direct")

#: Rows (which ranks, up to how many bytes, (MPICH's name, collsim's)), the first that fits counts; None: any.
#: Which ranks: `pow2`, or fewer than so many.
_RULES: dict[str, tuple[tuple[str | int | None, int | None, tuple[str, str | None]], ...]] = {
    "bcast": (
        (8, None, _BINOMIAL),
        (None, 12288, _BINOMIAL),
        ("pow2", 524288, ("scatter_recursive_doubling_allgather", "broadcast_scatter_allgather_recursive_doubling")),
        (None, None, _VAN_DE_GEIJN),
    ),
    "allreduce": ((None, 8, _DOUBLING), (None, None, ("reduce_scatter_allgather", "allreduce_halving_doubling"))),
    "reduce": (
        (None, 2048, ("binomial", "reduce_binomial")),
        (None, None, ("reduce_scatter_gather", "reduce_halving_gather")),
    ),
    "allgather": (
        ("pow2", 524287, ("recursive_doubling", "allgather_recursive_doubling")),
        ("pow2", None, ("ring", "allgather_ring")),
        (None, 81919, ("brucks", "allgather_bruck")),
        (None, None, ("ring", "allgather_ring")),
    ),
    "reduce_scatter": ((None, 524287, _HALVING), (None, None, ("pairwise", "reduce_scatter_pairwise"))),
    "gather": ((None, None, ("binomial", "gather_binomial")),),
    "scatter": ((None, None, ("binomial", "scatter_binomial")),),
    "alltoall": (
        (8, 32768, _SCATTERED),
        (8, None, ("pairwise", "alltoall_pairwise")),
        (None, 256, ("brucks", "alltoall_bruck")),
        (None, 32768, _SCATTERED),
        (None, None, ("pairwise", "alltoall_pairwise")),
    ),
}
_RULES["reduce_scatter_block"] = _RULES["reduce_scatter"]
#: With fewer elements than the largest power of two of ranks, a reduction is not scattered.
_FEW = {"allreduce": _DOUBLING, "reduce": ("binomial", "reduce_binomial")}
_ORDERED = {
    **_FEW,
    "reduce_scatter": ("recursive_doubling", None),
    "reduce_scatter_block": ("recursive_doubling", None),
}


def choose_mpich_algorithm(
    operation: str, ranks: int, nbytes: int, *, elements: int, commutative: bool
) -> tuple[str, str | None]:
    """Choose as MPICH's published rules do. Operators that do not commute are taken as not built in.

    Args:
        operation: MPI's name of the collective.
        ranks: Number of ranks.
        nbytes: Bytes of the whole buffer.
        elements: Elements of the buffer.
        commutative: Whether the operator commutes.

    Returns:
        MPICH's name of the algorithm, and collsim's (None where it has none).
    """
    power = 1 << ranks.bit_length() - 1
    if not commutative and operation in _ORDERED:
        block = operation.startswith("reduce_scatter") and ranks == power
        if block:
            return ("noncommutative", None)
        return _ORDERED[operation]
    if elements < power and operation in _FEW:
        return _FEW[operation]
    if operation == "alltoall":
        compared = nbytes // ranks
    else:
        compared = nbytes
    return next(
        names
        for who, most, names in _RULES[operation]
        if (who is None or (ranks == power if who == "pow2" else ranks < int(who)))
        and (most is None or compared <= most)
    )
