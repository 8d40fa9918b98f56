"""Collectives: a condition before, a condition after, and the factor between algbw and busbw.

Buffer sizes and factors are those of nccl-tests (doc/PERFORMANCE.md and src/*.cu of nccl-tests 2.19.6): `nbytes` is the
larger of one rank's send and receive buffer, so for allgather and reduce_scatter it is the TOTAL array of all n blocks.
nccl-tests has no alltoallv, whose ranks send different amounts: its `nbytes` is what all ranks send together. That of a
dispatch is what an alltoallv sends for it: each token once for each of its experts.

There is no barrier: NCCL has none, and a schedule promises data; PyTorch makes a barrier of an allreduce of one
element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .display.catalog import Catalog, Row
from .dtypes import Bools, Floats, Ints, Longs
from .errors import CollsimError, format_value, require_word
from .errors.arguments import check_arguments

Where = Literal["all", "own", "root", "peer", "neighbour", "target", "targets"]

#: In `Condition.contributor`: the sum over all ranks; nothing asked for.
EVERY, NOTHING = -1, -2


@dataclass(frozen=True)
class Collective:
    """What must hold before and after, and how nccl-tests counts its bandwidth.

    Attributes:
        name: as `cs.schedule` and `cs.lower_bound` take it, `reduce_scatter`.
        before: who holds data at the start: `all` ranks the whole buffer, each its `own` block, or the `root`
            everything.
        after: who must hold the result: `all`, `own` (rank r block r), `root`, `peer` (block j came from rank j),
            `neighbour` (the whole buffer of rank r - 1), `target` (of each rank's block the part for this rank) or
            `targets` (a part may be for several ranks). For `peer` and `neighbour` the result lies in slots of its own,
            `chunks..2*chunks-1`.
        reduces: the result is the sum over ranks (else the data of the rank that had it).
        busbw: factor of nccl-tests as a function of the number of ranks.
        rooted: it has a root rank.

    Examples:
        >>> import collsim as cs
        >>> cs.collectives()["reduce_scatter"].after
        'own'
        >>> cs.collectives()["allreduce"].busbw(8)
        1.75
    """

    name: str
    before: Where
    after: Where
    reduces: bool
    busbw: Callable[[int], float]
    rooted: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes the name."""
        return get_collective, (self.name,)

    @property
    def has_blocks(self) -> bool:
        """The buffer is n blocks, one per rank."""
        return "own" in (self.before, self.after) or self.after == "peer"

    @property
    def has_targets(self) -> bool:
        """Of each rank's block every part is for certain ranks, and parts may differ in size."""
        return self.after in ("target", "targets")

    def count_blocks(self, ranks: int) -> int:
        """Count the blocks that the buffer is divided in, each of whole chunks: one for each rank, or pair of ranks.

        Args:
            ranks: number of ranks.

        Returns:
            How many; 1 where it is not divided.
        """
        if self.has_targets:
            return ranks * ranks
        if self.has_blocks:
            return ranks
        return 1

    @property
    def has_separate_result(self) -> bool:
        """The result lies in slots of its own, after those that are sent; there is no in-place form."""
        return self.after in ("peer", "neighbour")

    def slots(self, chunks: int) -> int:
        """Slots that the conditions speak of: alltoall and sendrecv have their result in slots of its own, after those
        they send.

        Args:
            chunks: Of the schedule.
        """
        if self.has_separate_result:
            return 2 * chunks
        return chunks

    def mark_initial_slots(self, ranks: int, chunks: int, root: int = 0) -> Bools:
        """(ranks, slots): the slots that hold a rank's data before the first step.

        Args:
            ranks: Number of ranks.
            chunks: Chunks that each buffer is divided into.
            root: Rank that holds the data of a broadcast or scatter.
        """
        filled = np.zeros((ranks, self.slots(chunks)), bool)
        filled[:, :chunks] = _mark_slots(self.before, ranks, chunks, root)
        return filled

    def find_expected_contributions(self, ranks: int, chunks: int, root: int = 0) -> tuple[Ints, Ints]:
        """Two arrays (ranks, slots): whose contribution each slot must hold afterwards, and of which chunk.

        The first is a rank, EVERY (each rank exactly once) or NOTHING (anything may be there).

        Args:
            ranks: number of ranks.
            chunks: pieces of the buffer.
            root: the root rank, where the collective has one.

        Returns:
            Contributors and chunks, shape (ranks, slots) each.
        """
        slot = np.arange(self.slots(chunks), dtype=np.int32)
        contributor = np.full((ranks, len(slot)), NOTHING, np.int32)
        chunk = np.broadcast_to(slot, contributor.shape).copy()
        if self.after == "peer":
            per = count_chunks_per_rank(ranks, chunks)
            # Results lie behind the input: block s of rank r's result is block r of what rank s put in.
            contributor[:, chunks:] = np.arange(chunks) // per
            chunk[:, chunks:] = np.arange(ranks)[:, None] * per + np.arange(chunks) % per
            return contributor, chunk
        if self.after == "neighbour":
            contributor[:, chunks:] = (np.arange(ranks)[:, None] - 1) % ranks
            chunk[:, chunks:] = np.arange(chunks)
            return contributor, chunk
        expected = _mark_slots(self.after, ranks, chunks, root)
        if self.reduces:
            source = np.full(chunks, EVERY)
        elif self.before == "root":
            source = np.full(chunks, root)
        else:
            source = find_owners(ranks, chunks)
        contributor[expected] = np.broadcast_to(source, expected.shape)[expected]
        return contributor, chunk

    def chunk_sizes(self, total: int, ranks: int, chunks: int, shares: npt.ArrayLike | None = None) -> Longs:
        """Elements of each of `chunks` chunks when the whole buffer has `total`: as even as whole elements allow.

        Where the buffer is n blocks it is cut into blocks first, then each block into its chunks.

        Args:
            total: elements of the whole buffer.
            ranks: number of ranks.
            chunks: pieces that the buffer is cut in.
            shares: (chunks,) share of each chunk in the buffer; None: even.

        Returns:
            (chunks,) elements.
        """
        if shares is not None:
            # The ends of chunks are rounded, not their sizes, so that no element is lost or counted twice.
            ends = np.rint(np.cumsum(shares) / np.sum(shares) * total).astype(np.int64)
            sizes: Longs = np.diff(ends, prepend=0)
            return sizes
        if self.has_blocks and chunks % ranks == 0:
            return np.concatenate([split_evenly(int(b), chunks // ranks) for b in split_evenly(total, ranks)])
        return split_evenly(total, chunks)

    def nccl_tests_count(self, nbytes: int, ranks: int, itemsize: int) -> tuple[int, int]:
        """The `count` that nccl-tests hands to NCCL for a requested size, and the bytes it then moves.

        Where the buffer is divided among ranks the count is rounded down to a multiple of 16 bytes (nccl-tests
        src/*.cu).

        Args:
            nbytes: the requested size, bytes.
            ranks: number of ranks.
            itemsize: bytes of an element.

        Returns:
            The count, in elements, and bytes.
        """
        if not self.has_blocks:
            return nbytes // itemsize, nbytes // itemsize * itemsize
        # Kernels load 16 bytes at a time, so nccl-tests gives each rank whole multiples of them.
        align = max(1, 16 // itemsize)
        count = nbytes // (itemsize * ranks) // align * align
        return count, count * itemsize * ranks


@check_arguments
def find_owners(ranks: int, chunks: int) -> Longs:
    """The rank to whose block each chunk belongs.

    Args:
        ranks: how many there are, one block each.
        chunks: how many there are in all, a multiple of `ranks`.

    Returns:
        (chunks,) ranks.

    Examples:
        >>> from collsim.collective import find_owners
        >>> find_owners(3, 6).tolist()
        [0, 0, 1, 1, 2, 2]
    """
    return np.arange(chunks) // count_chunks_per_rank(ranks, chunks)


@check_arguments
def count_chunks_per_rank(ranks: int, chunks: int) -> int:
    """Count the chunks of one rank's block.

    Args:
        ranks: how many there are, one block each.
        chunks: how many there are in all.

    Returns:
        How many, at least 1.

    Raises:
        CollsimError: blocks have no equal number of chunks.

    Examples:
        >>> from collsim.collective import count_chunks_per_rank
        >>> count_chunks_per_rank(8, 16)
        2
    """
    if chunks % ranks:
        raise CollsimError("{chunks} chunks do not make {ranks} blocks; use a multiple", chunks=chunks, ranks=ranks)
    return chunks // ranks


@check_arguments
def find_targets(ranks: int, chunks: int, *, several: bool = False) -> tuple[Longs, Longs]:
    """The ranks that each chunk of an alltoallv, or of a dispatch, is for.

    A rank's block has a part for each rank. In a dispatch to nodes of g ranks the part for rank d has g + 1 chunks:
    the w-th is for w ranks of the node of d, from d on and around. So the first is for none: the copies of tokens that
    need not travel. With one chunk a part, it is for d.

    Args:
        ranks: how many there are.
        chunks: how many there are in all, a multiple of `ranks` squared.
        several: whether a chunk may be for several ranks, as in a dispatch.

    Returns:
        Two arrays, an entry for each chunk and rank that it is for, in the order of chunks: the chunks, the ranks.

    Raises:
        CollsimError: nodes of a dispatch do not have equally many ranks.

    Examples:
        >>> from collsim.collective import find_targets
        >>> find_targets(2, 4)[1].tolist()
        [0, 1, 0, 1]
        >>> chunk, rank = find_targets(2, 12, several=True)  # a node of two
        >>> rank[chunk == 2].tolist(), rank[chunk == 4].tolist()  # of rank 0 for both, and for rank 1 alone
        ([0, 1], [1])
    """
    each = count_chunks_per_rank(ranks * ranks, chunks)
    chunk = np.arange(chunks)
    first = chunk // each % ranks
    if not several:
        return chunk, first
    node = max(1, each - 1)
    if ranks % node:
        message = "{chunks} chunks are for nodes of {node} ranks, which do not make {ranks}"
        raise CollsimError(message, chunks=chunks, node=node, ranks=ranks)
    width = np.maximum(chunk % each, each == 1)
    offset = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
    chunk, first = np.repeat(chunk, width), np.repeat(first, width)
    return chunk, first // node * node + (first + offset) % node


@check_arguments
def split_evenly(total: int, parts: int) -> Longs:
    """Split a whole number into parts that differ by at most one, the larger ones first.

    Args:
        total: what is split, 0 or more.
        parts: how many, 1 or more.

    Returns:
        (parts,) whole numbers, whose sum is `total`.

    Examples:
        >>> from collsim.collective import split_evenly
        >>> split_evenly(10, 4).tolist()
        [3, 3, 2, 2]
    """
    size, more = divmod(int(total), parts)
    return size + (np.arange(parts) < more).astype(np.int64)


#: How unevenly ranks of an alltoallv receive: all as much; the r-th 1/r of the first; the first four times as much as
#: each other one.
Load = Literal["even", "zipf", "hot"]
_HOT = 4.0


@check_arguments
def build_load_profile(n: int, load: str | float = "even") -> Floats:
    """What each of n receivers gets, the largest part first.

    Args:
        n: number of receivers.
        load: `even`, `zipf`, `hot`, or the exponent of Zipf's law, of which 1 is `zipf` and 0 is `even`.

    Returns:
        (n,) numbers above 0.

    Raises:
        CollsimError: for other words.

    Examples:
        >>> from collsim.collective import build_load_profile
        >>> build_load_profile(4, "hot").tolist()
        [4.0, 1.0, 1.0, 1.0]
    """
    number = np.arange(n)
    if not isinstance(load, str):
        return np.asarray((number + 1.0) ** -load, np.float64)
    profiles = {"even": np.ones(n), "zipf": 1 / (number + 1), "hot": np.where(number == 0, _HOT, 1.0)}
    return profiles[require_word("load", load, profiles)]


@check_arguments
def build_pair_shares(n: int, load: str = "even", amounts: object = None) -> tuple[float, ...]:
    """The share of each pair of ranks in what an alltoallv moves, own parts included.

    Args:
        n: number of ranks.
        load: how unevenly ranks receive, where `amounts` are not given: `even`, `zipf` or `hot`.
        amounts: what each rank receives, n numbers; or n rows of what each rank sends to each. As text, commas between
            numbers and semicolons between rows.

    Returns:
        (n * n,) shares, whose sum is 1: those of what rank 0 sends first.

    Raises:
        CollsimError: for amounts that are no n or n x n numbers of 0 or more, or all 0.

    Examples:
        >>> from collsim.collective import build_pair_shares
        >>> build_pair_shares(2, amounts=[3, 1])
        (0.375, 0.125, 0.375, 0.125)
    """
    if amounts is None:
        table = build_load_profile(n, load)
    else:
        table = _parse_amounts(n, amounts)
    table = np.broadcast_to(table, (n, n))
    return tuple((table / table.sum()).ravel().tolist())


@check_arguments
def count_token_visits(nodes: int, ranks: int, experts: int, top_k: int, max_nodes: int = 0) -> tuple[float, ...]:
    """The probabilities that a token has experts on 1, 2 ... ranks of a node, where all choices are equally likely.

    Args:
        nodes: number of nodes.
        ranks: ranks of a node.
        experts: experts of each rank.
        top_k: experts of a token.
        max_nodes: nodes that a token goes to at the most; 0: all.

    Returns:
        (ranks,) probabilities; their sum is that of a visit to the node.

    Raises:
        CollsimError: a token has more experts than it may go to.

    Examples:
        >>> from collsim.collective import count_token_visits
        >>> one, both = count_token_visits(nodes=1, ranks=2, experts=2, top_k=2)
        >>> f"{one:.3f} {both:.3f}"  # of six pairs of four experts two are on one rank
        '0.333 0.667'
    """
    limit = min(max_nodes or nodes, nodes)
    if top_k > (most := limit * ranks * experts):
        raise CollsimError(
            "top_k={top_k} is more than the {most:,} experts that a token may go to", top_k=top_k, most=most
        )

    def count_choices(chosen: int, others: int) -> int:
        # With an expert on each of these ranks of a node, and on each of so many other nodes: inclusion and exclusion.
        return sum(
            (-1) ** (i + j)
            * math.comb(chosen, i)
            * math.comb(others, j)
            * math.comb((chosen - i + (others - j) * ranks) * experts, top_k)
            for i in range(chosen + 1)
            for j in range(others + 1)
        )

    total = sum(math.comb(nodes, used) * count_choices(0, used) for used in range(1, limit + 1))
    return tuple(
        math.comb(ranks, chosen)
        * sum(math.comb(nodes - 1, used) * count_choices(chosen, used) for used in range(limit))
        / total
        for chosen in range(1, ranks + 1)
    )


def _parse_amounts(n: int, amounts: object) -> Floats:
    """(n,) or (n, n) numbers."""
    rows: object = amounts
    if isinstance(amounts, str):
        lines = [line.split(",") for line in amounts.split(";")]
        rows = lines if len(lines) > 1 else lines[0]
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError):
        table = np.zeros(0)
    if table.shape not in ((n,), (n, n)) or not np.isfinite(table).all() or (table < 0).any() or not table.any():
        message = (
            "amounts={value} must be what each of {n} ranks receives, {n} numbers of 0 or more, or {n} rows of what "
            "each rank sends to each"
        )
        raise CollsimError(message, value=format_value(amounts), n=n)
    return table


def _mark_slots(where: Where, ranks: int, chunks: int, root: int) -> Bools:
    marked = np.zeros((ranks, chunks), bool)
    if where in ("all", "peer", "neighbour"):
        marked[:] = True
    elif where == "root":
        marked[root] = True
    elif where in ("target", "targets"):
        chunk, rank = find_targets(ranks, chunks, several=where == "targets")
        marked[rank, chunk] = True
    else:
        marked[find_owners(ranks, chunks), np.arange(chunks)] = True
    return marked


_COLLECTIVES = {
    c.name: c
    for c in (
        Collective("allreduce", "all", "all", True, lambda n: 2 * (n - 1) / n),
        Collective("reduce", "all", "root", True, lambda n: 1.0, rooted=True),
        Collective("broadcast", "root", "all", False, lambda n: 1.0, rooted=True),
        Collective("allgather", "own", "all", False, lambda n: (n - 1) / n),
        Collective("reduce_scatter", "all", "own", True, lambda n: (n - 1) / n),
        Collective("gather", "own", "root", False, lambda n: (n - 1) / n, rooted=True),
        Collective("scatter", "root", "own", False, lambda n: (n - 1) / n, rooted=True),
        Collective("alltoall", "all", "peer", False, lambda n: (n - 1) / n),
        # Its size is what all ranks send together, so that an even one has the busbw of an alltoall of nbytes / n.
        Collective("alltoallv", "own", "target", False, lambda n: (n - 1) / n**2),
        Collective("dispatch", "own", "targets", False, lambda n: (n - 1) / n**2),
        Collective("sendrecv", "all", "neighbour", False, lambda n: 1.0),
    )
}
#: Names by what is left of a library's name (`MPI_Allreduce`, `all_gather_into_tensor`, `all_reduce_perf`).
_NAMES = {name.replace("_", ""): name for name in _COLLECTIVES} | {
    "bcast": "broadcast",
    "allgatherintotensor": "allgather",
    "reducescattertensor": "reduce_scatter",
    "alltoallsingle": "alltoall",
}
_LIBRARIES = ("torch.distributed.", "dist.", "nccl", "mpi")


@check_arguments
def collectives() -> Catalog[Collective]:
    """The collectives by name.

    Returns:
        A mapping from names to collectives, which prints as a table.

    Examples:
        >>> import collsim as cs
        >>> cs.collectives()["allreduce"].busbw(4)  # nccl-tests: 2 (n - 1) / n
        1.5
    """
    return Catalog(_COLLECTIVES, _describe_collective)


def _describe_collective(collective: Collective) -> Row:
    return {
        "before": collective.before,
        "after": collective.after,
        "reduces": collective.reduces,
        "busbw / algbw at n=8": round(collective.busbw(8), 4),
    }


@check_arguments
def find_collective_name(name: str) -> str:
    """Find the name of a collective.

    Args:
        name: A name of `collectives()`, or that of NCCL, nccl-tests, MPI or `torch.distributed`: `all_reduce_perf`,
            `MPI_Bcast`.

    Returns:
        The name in `collectives()`.

    Raises:
        CollsimError: For an unknown name, with the nearest.

    Examples:
        >>> find_collective_name("ncclAllReduce"), find_collective_name("reduce_scatter_tensor")
        ('allreduce', 'reduce_scatter')
    """
    return require_word("collective", translate_collective(name), _COLLECTIVES)


@check_arguments
def translate_collective(word: str) -> str:
    """Translate the name of a collective in a library; any other word stays as it is.

    Args:
        word: As in `find_collective_name`, or the name of something else.

    Returns:
        The name in `collectives()`, or the word.

    Examples:
        >>> translate_collective("all_reduce"), translate_collective("resnet50")
        ('allreduce', 'resnet50')
    """
    key = str(word).lower().replace("_", "").replace("-", "").removesuffix("perf")
    for library in _LIBRARIES:
        key = key.removeprefix(library)
    return _NAMES.get(key, word)


@check_arguments
def get_collective(name: str) -> Collective:
    """One collective by name.

    Args:
        name: as in `find_collective_name`; `a+b` is a followed by b: what holds before a and after b.

    Returns:
        The collective. Where a composition is one of the known collectives, that one: `reduce_scatter+allgather` is
        `allreduce`.

    Raises:
        CollsimError: For an unknown name, and for two that do not join.

    Examples:
        >>> import collsim as cs
        >>> get_collective("reduce_scatter+allgather").name
        'allreduce'
    """
    if isinstance(name, str) and "+" in name and name not in _COLLECTIVES:
        return _compose([get_collective(part) for part in name.split("+")])
    return _COLLECTIVES[find_collective_name(name)]


def _compose(parts: list[Collective]) -> Collective:
    first, last = parts[0], parts[-1]
    for a, b in itertools.pairwise(parts):
        if a.has_separate_result or b.has_separate_result:
            message = "{name}+{b_name}: the result of {a_name} lies in slots of its own, so nothing joins it"
            raise CollsimError(message, name=a.name, b_name=b.name, a_name=(a if a.has_separate_result else b).name)
        if a.after != b.before:
            message = "{name} ends with data on {after!r}, but {b_name} starts from {before!r}: they do not join"
            raise CollsimError(message, name=a.name, after=a.after, b_name=b.name, before=b.before)
    reduces = any(p.reduces for p in parts)
    if reduces and first.before != "all":
        name, copier = "+".join(p.name for p in parts), first.name
        raise CollsimError("{name} would add up copies of what {copier} hands out", name=name, copier=copier)
    # What holds before and after is all that a collective is: a composition that has both is that one.
    for known in _COLLECTIVES.values():
        if (known.before, known.after, known.reduces) == (first.before, last.after, reduces):
            return known
    rooted = "root" in (first.before, last.after)
    return Collective("+".join(p.name for p in parts), first.before, last.after, reduces, lambda n: 1.0, rooted)
