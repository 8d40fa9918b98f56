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

SOURCE = "Open MPI 8efebee ompi/mca/coll/tuned/coll_tuned_decision_fixed.c"

#: A line for fewer than so many ranks; in it `bytes:id` for fewer than so many bytes, from the left, and the id for all
#: others. Lines with `ordered` are for operators that do not commute. `_disjoint`: no two ranks share a node. K is
#: 1024, M 1024 K.
_RULES = {
    "allreduce": """
        ordered <4 | 128K:3 1
        ordered <8 | 3
        ordered <16 | 1M:3 2
        ordered <128 | 3
        ordered <256 | 128K:2 512K:3 2
        ordered <512 | 4K:2 512K:3 2
        ordered any | 2K:2 3
        <4 | 8:4 4K:3 8K:4 16K:3 64K:4 256K:5 6
        <8 | 16:4 8K:3 6
        <16 | 8K:3 6
        <32 | 64:5 4K:3 6
        <64 | 128:5 6
        <128 | 256K:3 6
        <256 | 128K:2 256K:3 6
        <512 | 4K:2 6
        <2048 | 2K:2 16K:3 6
        <4096 | 2K:2 4K:5 16K:3 6
        any | 2K:2 16K:5 32K:3 6
        """,
    "allreduce_disjoint": """
        ordered <3 | 3
        ordered <4 | 7
        ordered <8 | 1M:7 3
        ordered <16 | 256K:7 3
        ordered <32 | 32K:7 128K:2 3
        ordered <65 | 32K:7 3
        ordered <128 | 3
        ordered <256 | 128K:2 512K:3 2
        ordered <512 | 4K:2 512K:3 2
        ordered any | 2K:2 3
        <3 | 3
        <4 | 7
        <8 | 1M:7 3
        <16 | 256K:7 1M:6 3
        <32 | 32K:7 128K:2 6
        <65 | 32K:7 128K:3 6
        <128 | 256K:3 6
        <256 | 128K:2 256K:3 6
        <512 | 4K:2 6
        <2048 | 2K:2 16K:3 6
        <4096 | 2K:2 4K:5 16K:3 6
        any | 2K:2 16K:5 32K:3 6
        """,
    "bcast": """
        <4 | 32:3 256:5 512:3 1K:7 32K:1 128K:5 256K:2 512K:1 1M:6 5
        <8 | 64:5 128:6 2K:5 8K:6 1M:1 2
        <16 | 8:7 64:5 4K:7 16K:5 32K:6 1
        <32 | 4K:7 1M:6 8
        <64 | 2K:6 7
        <128 | 7
        <256 | 2:6 16K:5 32K:1 64K:5 7
        <1024 | 16K:7 32K:4 7
        <2048 | 512K:7 8
        <4096 | 256K:7 8
        any | 8K:7 16K:5 256K:7 8
        """,
    "bcast_disjoint": """
        <4 | 1
        <8 | 1M:1 5
        <16 | 1M:1 5
        <32 | 256K:1 1M:7 5
        any | 64K:1 1M:7 5
        """,
    "reduce": """
        ordered <4 | 8:6 1
        ordered <8 | 1
        ordered <16 | 1K:6 8K:1 16K:6 256K:1 6
        ordered <128 | 6
        ordered <256 | 512:6 1K:1 6
        ordered any | 6
        <4 | 8:7 16:4 32:3 256K:1 512K:3 1M:2 3
        <8 | 4K:4 64K:2 256K:5 512K:1 1M:5 1
        <16 | 8K:4 5
        <32 | 4K:4 5
        <256 | 5
        <512 | 8K:5 16K:6 5
        <2048 | 5
        <4096 | 512:5 1K:6 8K:5 16K:6 5
        any | 16:5 32:6 1K:5 2K:6 8K:5 16K:6 5
        """,
    "allgather": """
        <3 | 6
        <32 | 3
        <64 | 1K:3 64K:5 4
        <128 | 512:3 64K:5 4
        <256 | 512:3 128K:5 512K:4 1M:5 4
        <512 | 32:3 128:2 1K:3 128K:5 512K:4 1M:5 4
        <1024 | 64:3 256:2 2K:3 5
        <2048 | 4:3 8:2 16:3 32:2 256:3 512:2 4K:3 5
        <4096 | 32:2 128:3 512:2 4K:3 5
        any | 2:3 8:2 16:3 512:2 4K:3 5
        """,
    "alltoall": """
        <3 | 2:2 4:5 16:2 64:5 256:2 4K:5 32K:2 256K:4 1M:5 2
        <8 | 8K:4 16K:1 64K:4 512K:1 1M:2 1
        <16 | 256K:4 1
        <32 | 4:4 512:3 8K:4 32K:1 256K:4 512K:1 4
        <64 | 512:3 512K:1 4
        <128 | 1K:3 2K:1 4K:4 256K:1 2
        <256 | 1K:3 2K:4 256K:1 2
        <512 | 1K:3 8K:4 32K:1 2
        <1024 | 512:3 8K:4 16K:1 128K:4 256K:1 2
        <2048 | 512:3 1K:4 2K:1 16K:4 256K:1 4
        <4096 | 1K:3 4K:4 8K:1 128K:4 1
        any | 2K:3 8K:4 16K:1 32K:4 64K:1 4
        """,
    "reduce_scatter": """
        ordered any | 1
        <4 | 64K:3 128K:4 3
        <8 | 8:1 256K:2 3
        <32 | 256K:2 3
        <64 | 64:1 2K:2 512K:4 3
        <128 | 256:1 512:2 2K:4 4K:2 4
        <256 | 256:1 512:2 4
        <512 | 256:1 1K:2 4
        <1024 | 512:1 2K:2 8K:4 16K:2 4
        <2048 | 512:1 4K:2 16K:4 32K:2 4
        <4096 | 512:1 4K:2 4
        any | 1K:1 8K:2 4
        """,
    "reduce_scatter_block": """
        ordered any | 1
        <4 | 4:2 8:4 16:3 128:4 256:3 4K:4 8K:3 128K:4 1
        <8 | 8:3 32:2 256:4 8K:3 16K:4 1M:3 1
        <16 | 4:1 32:3 128:4 512K:3 4M:1 4
        <32 | 32:1 512K:3 2M:1 4M:3 4
        any | 4:3 16:1 64K:4 256K:1 4
        """,
    "gather": """
        <4 | 2:3 4:1 32K:2 64K:1 128K:2 3
        <8 | 1K:2 8K:1 32K:2 256K:1 3
        <256 | 2
        <512 | 2K:2 8K:1 2
        any | 2
        """,
    "scatter": """
        <4 | 2:3 128K:1 256K:3 1
        <8 | 2K:2 4K:1 8K:2 32K:1 1M:3 1
        <16 | 16K:2 1M:3 1
        <32 | 16K:2 32K:1 3
        <64 | 512:2 8K:3 16K:2 3
        any | 512:2 3
        """,
}

#: Number of an algorithm -> Open MPI's name, and collsim's algorithm that moves the same data (None: there is none).
NAMES: dict[str, dict[int, tuple[str, str | None]]] = {
    "allreduce": {
        1: ("basic_linear", None),
        2: ("nonoverlapping", "allreduce_tree"),
        3: ("recursive_doubling", "allreduce_recursive_doubling"),
        4: ("ring", "allreduce_ring"),
        5: ("segmented_ring", "allreduce_ring"),
        6: ("rabenseifner", "allreduce_halving_doubling"),
        7: ("allgather_reduce", None),
    },
    "bcast": {
        1: ("basic_linear", "broadcast_flat"),
        2: ("chain", None),
        3: ("pipeline", "broadcast_chain"),
        4: ("split_binary_tree", None),
        5: ("binary_tree", None),
        6: ("binomial", "broadcast_binomial"),
        7: ("knomial", "broadcast_knomial"),
        8: ("scatter_allgather", "broadcast_scatter_allgather_recursive_doubling"),
        9: ("scatter_allgather_ring", "broadcast_scatter_allgather_ring"),
    },
    "reduce": {
        1: ("linear", "reduce_flat"),
        2: ("chain", None),
        3: ("pipeline", "reduce_chain"),
        4: ("binary", None),
        5: ("binomial", "reduce_binomial"),
        6: ("in-order_binary", None),
        7: ("rabenseifner", "reduce_halving_gather"),
        8: ("knomial", None),
    },
    "allgather": {
        1: ("linear", None),
        2: ("bruck", "allgather_bruck"),
        3: ("recursive_doubling", "allgather_recursive_doubling"),
        4: ("ring", "allgather_ring"),
        5: ("neighbor", "allgather_neighbour_exchange"),
        6: ("two_proc", "allgather_direct"),
        7: ("sparbit", "allgather_sparbit"),
        8: ("direct-messaging", "allgather_direct"),
    },
    "alltoall": {
        1: ("linear", "alltoall_direct"),
        2: ("pairwise", "alltoall_pairwise"),
        3: ("modified_bruck", "alltoall_bruck"),
        4: ("linear_sync", "alltoall_direct"),
        5: ("two_proc", "alltoall_direct"),
    },
    "reduce_scatter": {
        1: ("non-overlapping", None),
        2: ("recursive_halving", "reduce_scatter_recursive_halving"),
        3: ("ring", "reduce_scatter_ring"),
        4: ("butterfly", "reduce_scatter_butterfly"),
    },
    "reduce_scatter_block": {
        1: ("basic_linear", None),
        2: ("recursive_doubling", None),
        3: ("recursive_halving", "reduce_scatter_recursive_halving"),
        4: ("butterfly", "reduce_scatter_butterfly"),
    },
    "gather": {
        1: ("basic_linear", "gather_flat"),
        2: ("binomial", "gather_binomial"),
        3: ("linear_sync", "gather_flat"),
    },
    "scatter": {
        1: ("basic_linear", "scatter_flat"),
        2: ("binomial", "scatter_binomial"),
        3: ("linear_nb", "scatter_flat"),
    },
}
_OF_A_BLOCK = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter_block")


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
    if one_per_node and f"{operation}_disjoint" in _RULES:
        table = f"{operation}_disjoint"
    else:
        table = operation
    if operation in _OF_A_BLOCK:
        compared = nbytes // ranks
    else:
        compared = nbytes
    rules = _find_rules(table, ranks, commutative)
    number = next(number for below, number in rules if below is None or compared < below)
    return NAMES[operation][_replace_unsupported(operation, number, ranks, elements, commutative)]


#: Thresholds of releases before 4.1, bytes: intermediate and segment of allreduce, those of alltoall's block, of
#: broadcast, of allgather's buffer, of reduce and of reduce_scatter (the same file in Open MPI 1.3 to 4.0).
_ALLREDUCE_RING, _ALLREDUCE_SEGMENT = 10_000, 2**20
_ALLTOALL_BRUCK, _ALLTOALL_LINEAR, _ALLTOALL_MANY = 200, 3000, 12
_BCAST_BINOMIAL, _BCAST_SPLIT = 2048, 370_728
_ALLGATHER_SMALL = 50_000
_REDUCE_FEW, _REDUCE_SMALL, _REDUCE_BINARY = 8, 20_480, 2048
_SCATTER_SMALL, _SCATTER_LARGE = 12_288, 262_144


def choose_openmpi_before_41(operation: str, ranks: int, nbytes: int) -> str | None:
    """Choose as releases of Open MPI before 4.1 do, for an operator that commutes.

    Args:
        operation: MPI's name of the collective.
        ranks: Number of ranks.
        nbytes: Bytes of the whole buffer.

    Returns:
        Open MPI's name of the algorithm; None where that is not known here.
    """
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
        if nbytes < _BCAST_SPLIT:
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
    if any(ordered for ordered, *_ in lines):
        of_kind = [line for line in lines if line[0] != commutative]
    else:
        of_kind = lines
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
    for line in _RULES[table].strip().splitlines():
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
