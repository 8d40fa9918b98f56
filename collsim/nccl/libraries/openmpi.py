"""Which algorithm Open MPI's component `tuned` runs, by ranks and bytes: its fixed decision rules as tables.

Source: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, Open MPI main 8efebee (6.1.0a1). Thresholds were averaged over
the clusters of who contributed them; they are not a law of nature. All run unsegmented (segment size 0 is passed).
Between nodes `han` has the higher priority in that version, and uses these rules within a node and between the nodes.
Bytes compared: those of the buffer; of one rank's block for allgather, alltoall, gather, scatter and
reduce_scatter_block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ...package_data import TomlTable, read_toml

SOURCE = "Open MPI 8efebee ompi/mca/coll/tuned/coll_tuned_decision_fixed.c"

_OF_A_BLOCK = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter_block")


@cache
def load_table() -> TomlTable:
    """Load `openmpi.toml`: `names` and `rules`, as its first lines say."""
    return read_toml(__file__, "openmpi.toml")


def get_algorithm_names(operation: str) -> dict[int, tuple[str, str | None]]:
    """Return the names of the algorithms of an operation by their numbers: Open MPI's, and collsim's or None."""
    return {
        int(number): (name, algorithm or None) for number, (name, algorithm) in load_table()["names"][operation].items()
    }


def choose_openmpi_algorithm(
    operation: str, ranks: int, nbytes: int, *, elements: int, one_per_node: bool, commutative: bool
) -> tuple[str, str | None]:
    """Choose as Open MPI's published rules do.

    Args:
        operation: MPI's name of the collective.
        ranks: Number of ranks.
        nbytes: Bytes of the whole buffer.
        elements: Elements of the buffer.
        one_per_node: Whether no two ranks share a node.
        commutative: Whether the operator commutes.

    Returns:
        Open MPI's name of the algorithm, and collsim's (None where it has none).
    """
    table = operation
    if one_per_node and f"{operation}_disjoint" in load_table()["rules"]:
        table = f"{operation}_disjoint"
    compared = nbytes
    if operation in _OF_A_BLOCK:
        compared = nbytes // ranks
    rules = _find_rules(table, ranks, commutative)
    number = next(number for below, number in rules if below is None or compared < below)
    return get_algorithm_names(operation)[_replace_unsupported(operation, number, ranks, elements, commutative)]


#: Thresholds of releases before 4.1, bytes: intermediate and segment of allreduce, those of alltoall's block, of
#: broadcast, of allgather's buffer, of reduce and of reduce_scatter (the same file in Open MPI 1.3 to 4.0).
_ALLREDUCE_RING, _ALLREDUCE_SEGMENT = 10_000, 2**20
_ALLTOALL_BRUCK, _ALLTOALL_LINEAR, _ALLTOALL_MANY = 200, 3000, 12
_BCAST_BINOMIAL, _BCAST_SPLIT = 2048, 370_728
_ALLGATHER_SMALL = 50_000
_REDUCE_FEW, _REDUCE_SMALL, _REDUCE_BINARY = 8, 20_480, 2048
_SCATTER_SMALL, _SCATTER_LARGE = 12_288, 262_144
#: Bytes of a segment of their pipelines: the first of these lines whose slope * bytes + offset is more (broadcast) or
#: less (reduce) than the ranks, else the last. Fewer ranks than the last number broadcast through a tree in place of a
#: pipeline of smaller segments than the first.
_BCAST_SEGMENTS = ((1.6134e-6, 2.1102, 2**17), (2.3679e-6, 1.1787, 2**16), (3.2118e-6, 8.7936, 2**14))
_REDUCE_SEGMENTS = ((0.0410 / 1024, 9.7128, 2**10), (0.0033 / 1024, 1.6761, 2**15))
_BCAST_SMALLEST, _REDUCE_LARGEST, _BCAST_FEW = 2**13, 2**16, 13


def find_pipeline_segment(ranks: int, nbytes: float, adds: bool) -> int:
    """Find the segment of the pipelines of releases before 4.1.

    Args:
        ranks: Number of ranks.
        nbytes: Bytes of the whole buffer.
        adds: Whether it is a reduce, else a broadcast.

    Returns:
        Bytes of a segment.
    """
    if adds:
        return next((size for a, b, size in _REDUCE_SEGMENTS if ranks > a * nbytes + b), _REDUCE_LARGEST)
    return next((size for a, b, size in _BCAST_SEGMENTS if ranks < a * nbytes + b), _BCAST_SMALLEST)


def choose_openmpi_before_41(operation: str, ranks: int, nbytes: int) -> str | None:
    """Choose as releases of Open MPI before 4.1 do, for an operator that commutes.

    Args:
        operation: MPI's name of the collective.
        ranks: Number of ranks.
        nbytes: Bytes of the whole buffer.

    Returns:
        Open MPI's name of the algorithm; None where that is not known here.
    """
    # These thresholds are in the library's source (coll_tuned_decision_fixed.c), one function an operation.
    block, even = nbytes // ranks, ranks & (ranks - 1) == 0
    if operation == "allreduce":
        ring = "segmented_ring"
        if ranks * _ALLREDUCE_SEGMENT >= nbytes:
            ring = "ring"
        if nbytes < _ALLREDUCE_RING:
            return "recursive_doubling"
        return ring
    if operation == "alltoall":
        bruck = block < _ALLTOALL_BRUCK and ranks > _ALLTOALL_MANY
        if bruck:
            return "modified_bruck"
        if block < _ALLTOALL_LINEAR:
            return "linear"
        return "pairwise"
    if operation == "bcast":
        small = nbytes < _BCAST_BINOMIAL
        if small:
            return "binomial"
        few = ranks < _BCAST_FEW and find_pipeline_segment(ranks, nbytes, adds=False) != _BCAST_SEGMENTS[0][-1]
        if nbytes < _BCAST_SPLIT or few:
            return "split_binary_tree"
        return "segmented_pipeline"
    if operation == "allgather":
        if ranks == 2 or nbytes >= _ALLGATHER_SMALL:
            if ranks == 2:
                return "two_proc"
            if ranks % 2:
                return "ring"
            return "neighbor"
        if even:
            return "recursive_doubling"
        return "bruck"
    if operation == "reduce":
        if ranks < _REDUCE_FEW and nbytes < _REDUCE_SMALL:
            return "binomial"
        if nbytes < _REDUCE_BINARY:
            return "binary"
        return "segmented_pipeline"
    if operation == "reduce_scatter":
        halving = nbytes < _SCATTER_SMALL or (nbytes <= _SCATTER_LARGE and even)
        if halving:
            return "recursive_halving"
        return "ring"
    return None


def _replace_unsupported(operation: str, number: int, ranks: int, elements: int, commutative: bool) -> int:
    """What an algorithm runs instead where it cannot (coll_base_allreduce.c, coll_base_allgather.c,
    coll_base_reduce.c)."""
    power = 1 << ranks.bit_length() - 1
    if operation == "allreduce" and number == 6 and (elements < power or not commutative):
        if commutative:
            return 3
        return 2
    if operation == "allreduce" and number in (4, 5) and elements < ranks:
        return 3
    if operation == "allgather" and number == 3 and ranks != power:
        return 2
    if operation == "allgather" and number == 5 and ranks % 2:
        return 4
    return number


def _find_rules(table: str, ranks: int, commutative: bool) -> tuple[tuple[int | None, int], ...]:
    lines = list(read_rule_lines(table))
    of_kind = lines
    if any(ordered for ordered, *_ in lines):
        of_kind = [line for line in lines if line[0] != commutative]
    return next(rules for _, fewer, rules in of_kind if fewer is None or ranks < fewer)


@cache
def read_rule_lines(table: str) -> tuple[tuple[bool, int | None, tuple[tuple[int | None, int], ...]], ...]:
    """Read the lines of a table of Open MPI's rules.

    Args:
        table: MPI's name of the collective; with `_disjoint` behind it where no two ranks share a node.

    Returns:
        Of each line: whether it is for ordered operators; fewer ranks than this (None: any number); and rules as
        (fewer bytes than this or None for any size, number of the algorithm).
    """
    return tuple(_iterate_rule_lines(table))


def _iterate_rule_lines(table: str) -> Iterator[tuple[bool, int | None, tuple[tuple[int | None, int], ...]]]:
    for line in load_table()["rules"][table].strip().splitlines():
        who, _, rules = line.strip().partition(" | ")
        limit = who.removeprefix("ordered ")
        fewer = None
        if limit != "any":
            fewer = int(limit[1:])
        pairs = (rule.rpartition(":") for rule in rules.split())
        thresholds = tuple((_parse_size(below), int(number)) for below, _, number in pairs)
        yield who.startswith("ordered "), fewer, thresholds


def _parse_size(text: str) -> int | None:
    if not text:
        return None
    if text[-1] in "KM":
        return int(text[:-1]) * {"K": 2**10, "M": 2**20}[text[-1]]
    return int(text)
