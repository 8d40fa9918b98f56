"""Which algorithm MPICH runs within a communicator, by ranks and bytes: its default selection as tables.

Source: src/mpi/coll/coll_selection.json, MPICH 07f13b45, without hierarchy. Bytes compared: those of the buffer for
broadcast, allreduce and reduce; all ranks' together for allgather and reduce_scatter; one rank's block for alltoall.
"""

from __future__ import annotations

from functools import cache

from ...package_data import TomlTable, read_toml

SOURCE = "MPICH 07f13b45 src/mpi/coll/coll_selection.json"


@cache
def load_table() -> TomlTable:
    """Load `mpich.toml`: `rules`, `few` and `ordered`, as its first lines say."""
    return read_toml(__file__, "mpich.toml")


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
    table = load_table()
    if not commutative and operation in table["ordered"]:
        if operation.startswith("reduce_scatter") and ranks == power:
            return ("noncommutative", None)
        name, algorithm = table["ordered"][operation]
    elif elements < power and operation in table["few"]:
        name, algorithm = table["few"][operation]
    else:
        compared = nbytes // ranks if operation == "alltoall" else nbytes
        name, algorithm = _find_rule(table["rules"][operation], ranks, compared)
    return name, algorithm or None


def _find_rule(rules: list[tuple[str, int, str, str]], ranks: int, nbytes: int) -> tuple[str, str]:
    for who, most, name, algorithm in rules:
        if who == "pow2":
            is_meant = ranks & (ranks - 1) == 0
        else:
            is_meant = who == "any" or ranks < int(who[1:])
        if is_meant and (most < 0 or nbytes <= most):
            return name, algorithm
    raise AssertionError("the last row of each operation is for any ranks and bytes")
