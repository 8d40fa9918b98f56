"""NCCL's own log (NCCL_DEBUG=INFO): the rings, trees and transports of a job, and the schedules they make.

Source: NVIDIA/nccl src/init.cc, src/graph/connect.cc, src/graph/rings.cc, src/transport/*.cc. Lines begin
`host:pid:tid [dev] NCCL INFO`, behind MPI tags or time stamps if there are any. What is read:
- `Channel 00/24 :    0   1   2 ...`: a ring, from rank 0 (cut with `...` where the line is full);
- `Ring 00 : 7 -> 0 -> 1`: previous, rank, next, from every rank (NCCL_DEBUG_SUBSYS=GRAPH);
- `Trees [0] 1/-1/-1->0->-1 [1] ...`: children -> rank -> parent per channel, from every rank;
- `Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM`: a transport, also with `[send]`, `[receive]` and `NET/IB/0/GDRDMA`;
- `comm 0x... rank 0 nRanks 16 nNodes 2 localRanks 8`, `NCCL version 2.21.5`;
- `comm 0x... rank 0 nranks 16 ... commId 0x... - Init START` (NCCL 2.17 and later; `splitCount 1 color 0` for a part of
  one): what this thread says from here on is about that communicator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from sys import intern
from typing import Any, Literal

import numpy as np

from ...collective import get_collective
from ...dtypes import Longs
from ...errors import CollsimError, Sentence, describe_unknown
from ...files import FilePath, read_text, refuse
from ...schedule import Schedule, freeze
from ...steps import Step, copy, pipeline_chunks, reduce, together
from ...topology.files.unread import find_unread_format
from ...trees import measure_depths
from ..file_formats import register_built_in
from .nccl_log_facts import iterate_lines, name_transport
from .nccl_statements import JobStatements, read_statements

_RING = re.compile(r"Channel (\d{1,4})/(\d{1,4}) :((?:\s+\d{1,7})+)(\s*\.\.\.)?\s*$", re.ASCII)
_ENDS_OF_RINGS = frozenset("0123456789.")
_STEP = re.compile(r"Ring (\d{1,4}) : (-?\d{1,7}) -> (\d{1,7}) -> (-?\d{1,7})", re.ASCII)
_TREES = re.compile(r"Trees((?: \[\d{1,4}\] [-\d/]{1,80}->\d{1,7}->-?\d{1,7}(?:\|[-\d/>|]{1,80})?)+)", re.ASCII)
_TREE = re.compile(r"\[(\d{1,4})\] -?\d{1,7}(?:/-?\d{1,7})*->(\d{1,7})->(-?\d{1,7})", re.ASCII)
_LONG = re.compile(r"\d{5,7}", re.ASCII)  # of ranks that may be too many
_VIA = re.compile(
    r"Channel (\d{1,4})(?:/\d{1,4})? : (\d{1,7})\[[0-9a-f]{1,8}\] -> (\d{1,7})\[[0-9a-f]{1,8}\] "
    r"(?:\[(?:send|receive)\] )?via (\S{1,80})",
    re.ASCII,
)
#: A number at the end of a line may be the first digits of one: NCCL writes more words behind both.
_COMM = re.compile(r"comm (0x[0-9a-f]{1,16}) rank (\d{1,7}) n[rR]anks (\d{1,7}) (?:nNodes (\d{1,7}) )?", re.ASCII)
_NAME = re.compile(r"commId 0x[0-9a-f]{1,16}|splitCount \d{1,9} color -?\d{1,10}", re.ASCII)
_VERSION = re.compile(r"\b(N|R)CCL version (\d[\w.+-]{0,40})")
_MAX_RANKS, _MAX_BYTES = 65_536, 128 * 2**20

Pattern = Literal["ring", "tree"]
_IN_BLOCKS = ("allreduce", "allgather", "reduce_scatter")  # around a ring, a block of each rank
_SUPPORTED = {"ring": (*_IN_BLOCKS, "broadcast", "reduce"), "tree": ("allreduce",)}


@dataclass(frozen=True)
class NcclCommunicator:
    """What a log says about one communicator.

    Attributes:
        ranks: as logged.
        nodes: as logged; 0 where the log does not say.
        version: of NCCL; empty where the log does not say.
        rings: channel -> ranks in ring order.
        trees: channel -> parent of each rank (-1 for the root).
        transports: (channel, src, dst) -> `P2P/CUMEM`, `NET/IB/0/GDRDMA` ...
        statements: what the log states of network, cards, variables and warnings.
    """

    ranks: int
    nodes: int = 0
    version: str = ""
    rings: dict[int, tuple[int, ...]] = field(default_factory=dict)
    trees: dict[int, tuple[int, ...]] = field(default_factory=dict)
    transports: dict[tuple[int, int, int], str] = field(default_factory=dict)
    statements: JobStatements = field(default_factory=JobStatements)

    def schedule(
        self, collective: str = "allreduce", algorithm: Pattern | None = None, root: int = 0, pieces: int = 1
    ) -> Schedule:
        """Build what this job does for a collective.

        Args:
            collective: Its name.
            algorithm: `"ring"` (the default where the log has rings), or for allreduce `"tree"`.
            root: Of a broadcast or reduce.
            pieces: Parts of each channel's share that follow each other through a chain or tree.

        Returns:
            The schedule.

        Raises:
            CollsimError: Where the log has no rings or trees, or NCCL has no such pattern for the collective.
        """
        kind = get_collective(collective)
        # Rings where the log has them: NCCL names them for every communicator.
        pattern: Pattern = "tree"
        if algorithm is not None:
            pattern = algorithm
        elif self.rings:
            pattern = "ring"
        self._require(pattern, kind.name, root, pieces)
        graphs, blocks = self.trees, pieces
        if pattern == "ring":
            graphs = self.rings
            if kind.name in _IN_BLOCKS:
                blocks = self.ranks
        # Each channel of the log is a part of its own; the parts run side by side.
        parts = [
            _build_channel(kind.name, self.ranks, len(graphs), c, graphs[k], pattern, root, pieces)
            for c, k in enumerate(sorted(graphs))
        ]
        shape: dict[str, Any] = {"chunks": len(graphs) * blocks, "options": {"channels": len(graphs)}}
        if kind.rooted:
            shape["root"] = root
        return freeze(f"nccl_{pattern}", kind.name, self.ranks, together(*parts), **shape)

    def _require(self, chosen: str, collective: str, root: int, pieces: int) -> None:
        if chosen not in _SUPPORTED:
            raise CollsimError(describe_unknown("algorithm of a job", chosen, _SUPPORTED))
        able = _SUPPORTED[chosen]
        if collective not in able:
            message = "NCCL has no {chosen} for {name}; it has one for {able}"
            raise CollsimError(message, chosen=chosen, name=collective, able=", ".join(able))
        if not 0 <= root < self.ranks or pieces < 1:
            message = "root={root}, pieces={pieces}: root is 0 to {last} and pieces 1 or more"
            raise CollsimError(message, root=root, pieces=pieces, last=self.ranks - 1)
        if not (self.rings if chosen == "ring" else self.trees):
            message = "the log has no {chosen}s; log them with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH"
            raise CollsimError(message, chosen=chosen)

    def __str__(self) -> str:
        via = self._describe_transports()
        counts = f"{self.ranks} ranks, {len(self.rings)} rings, {len(self.trees)} trees"
        rings = [f"ring {c}: {' '.join(map(str, order))}" for c, order in sorted(self.rings.items())]
        notes = [f"set: {name}={value}" for name, value in sorted(self.statements.environment.items())]
        kinds = {transport.partition("/")[0] for transport in self.transports.values()}
        if "SHM" in kinds and "P2P" not in kinds:
            notes.append("GPUs of a node exchange data through host memory (SHM): P2P is off, or not possible there")
        notes += [f"warning: {text}" for text in self.statements.warnings]
        return "\n".join([f"{counts}, transports: {', '.join(via) or 'not logged'}", *rings, *notes])

    def _describe_transports(self) -> list[str]:
        """Transports by name; where cards are used with and without GPUDirect RDMA, on how many channels each."""
        channels: dict[str, set[int]] = {}
        for (channel, _, _), route in self.transports.items():
            channels.setdefault(name_transport(route), set()).add(channel)
        names = sorted(channels)
        if not any(f"{name}/GDRDMA" in channels for name in names):
            return names
        return [f"{name} ({len(channels[name])} of {len(set().union(*channels.values()))} channels)" for name in names]


# ---- schedules


def _build_channel(
    name: str, n: int, channels: int, c: int, order: tuple[int, ...], pattern: str, root: int, pieces: int
) -> Iterator[Step]:
    """The steps of one channel on its share of the buffer."""
    if pattern == "tree":
        return _build_tree(order, np.arange(pieces) * channels + c, c)
    if name in ("broadcast", "reduce"):
        return _build_chain(name, order, root, np.arange(pieces) * channels + c, c)
    return _build_ring(name, np.array(order), channels, c)


def _build_ring(name: str, order: Longs, channels: int, c: int) -> Iterator[Step]:
    """Reduce-scatter and allgather around a ring: block b of the buffer belongs to rank b, the channel's part of it is
    b * channels + c.

    (NVIDIA/nccl src/device/all_reduce.h, all_gather.h, reduce_scatter.h.)
    """
    n = len(order)
    position = np.arange(n)
    after = np.roll(order, -1)
    # after its reduce-scatter, the rank at a place holds its own block, so that the allgather starts from there
    for k in range(n - 1) if name != "allgather" else ():
        yield reduce(order, after, order[(position - k - 1) % n] * channels + c, channel=c)
    for k in range(n - 1) if name != "reduce_scatter" else ():
        yield copy(order, after, order[(position - k) % n] * channels + c, channel=c)


def _build_chain(name: str, order: tuple[int, ...], root: int, chunks: Longs, c: int) -> Iterator[Step]:
    """Broadcast from the root around the ring; reduce towards it (src/device/broadcast.h, reduce.h)."""
    ranks = np.roll(np.array(order), -order.index(root) - (name == "reduce"))
    make = copy
    if name == "reduce":
        make = reduce
    hops = [make(a, b, chunks[0], channel=c) for a, b in pairwise(ranks)]
    yield from pipeline_chunks(hops, len(chunks), int(chunks[1] - chunks[0]) if len(chunks) > 1 else 1)


def _build_tree(parent: tuple[int, ...], chunks: Longs, c: int) -> Iterator[Step]:
    """Up the tree with sums, down with results (src/device/all_reduce.h runTreeUpDown)."""
    rank, above = np.arange(len(parent)), np.array(parent)
    depth = measure_depths(above)
    levels = [depth == d for d in range(1, int(depth.max()) + 1)]
    up = [reduce(rank[level], above[level], chunks[0], channel=c) for level in reversed(levels)]
    down = [copy(above[level], rank[level], chunks[0], channel=c) for level in levels]
    yield from pipeline_chunks([*up, *down], len(chunks), int(chunks[1] - chunks[0]) if len(chunks) > 1 else 1)


# ---- reading


@dataclass
class _Lines:
    """What the lines about one communicator say."""

    rings: dict[int, list[int]] = field(default_factory=dict)
    cut: set[int] = field(default_factory=set)
    next: dict[int, dict[int, int]] = field(default_factory=dict)
    trees: dict[int, dict[int, int]] = field(default_factory=dict)
    transports: dict[tuple[int, int, int], str] = field(default_factory=dict)


class _Communicators:
    """Which communicator a line is about: the one that its thread, else its process, began last. Older logs do not say
    when one begins; there a channel 0 that is printed again belongs to the next one."""

    def __init__(self) -> None:
        self.unnamed = self.largest_unnamed = _Lines()
        self.named: dict[str, _Lines] = {}
        self.of: dict[str, _Lines] = {}  # `host:pid:tid` and `host:pid`

    def job(self, thread: str, text: str, ring: re.Match[str] | None) -> _Lines:
        process = thread.rpartition(":")[0]
        name, comm = (_NAME.search(text), _COMM.search(text)) if "Init START" in text else (None, None)
        if name is not None and comm is not None:
            job = self.named.setdefault(f"{name[0]} of {comm[3]}", _Lines())
            self.of[thread] = self.of[process] = job
        job = self.of.get(thread) or self.of.get(process) or self.unnamed
        if ring is not None and int(ring[1]) == 0 and 0 in job.rings and job is self.unnamed:
            # A log may have thousands of them, and only one is returned.
            self.largest_unnamed = max(self.largest_unnamed, job, key=_rank_lines)
            self.unnamed = job = _Lines()
        return job

    def largest(self) -> _Lines:
        return max([self.largest_unnamed, self.unnamed, *self.named.values()], key=_rank_lines)


def _rank_lines(job: _Lines) -> tuple[int, int]:
    return _parse_size(job), len(job.rings)


def read_nccl_log(path: FilePath) -> NcclCommunicator:
    """The largest communicator of an NCCL log.

    Args:
        path: of what NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,GRAPH wrote.

    Raises:
        FormatError: If there is none, or its rings or trees do not close.
    """
    return parse_nccl_log(read_text(path, most=_MAX_BYTES), path)


def parse_nccl_log(text: str, path: FilePath, *, needs_graphs: bool = True) -> NcclCommunicator:
    """The largest communicator of the text of an NCCL log.

    Args:
        text: of the log.
        path: of the file, or a name for the text; it stands in errors.
        needs_graphs: refuse a log without rings and trees; else it is read for what it states besides.

    Raises:
        FormatError: If there is none, or its rings or trees do not close.
    """
    version, nodes, size = "", 0, 0
    jobs = _Communicators()
    for number, line in enumerate(iterate_lines(text), 1):
        # Most lines of a log are of the program, not of NCCL.
        if "CCL " not in line:
            continue
        if not version and "CCL version" in line and (match := _VERSION.search(line)) is not None:
            version = match[2]
        # Lines longer than this are cut: messages of NCCL are short, and a regular expression on a megabyte is slow.
        head, info, words = line[:4096].partition("NCCL INFO ")
        if not info:
            continue
        # Looking for a word first is many times faster than an expression.
        if "comm 0x" in words and (comm := _COMM.search(words)) is not None:
            size = max(size, int(comm[3]))
            # The node count belongs to the largest communicator, which is the one that is returned.
            if comm[4] and int(comm[3]) == size:
                nodes = int(comm[4])
        if "Channel " in words or "Ring " in words or "Trees " in words or "Init START" in words:
            ring = None
            if words.rstrip()[-1:] in _ENDS_OF_RINGS:
                ring = _RING.search(words)
            _note(path, number, words, ring, jobs.job(_find_thread(head), words, ring))
    job = jobs.largest()
    ranks = _parse_size(job)
    if not ranks and not needs_graphs:
        ranks = size
    elif not ranks:
        unread = find_unread_format(text)
        if unread is not None:
            raise unread.build_error(Path(path).name)
        message = (
            "no rings or trees of NCCL; log them with NCCL_DEBUG=INFO (NCCL_DEBUG_SUBSYS=INIT,GRAPH). load_topology "
            "reads the machine, where the log has its tree (=== System)"
        )
        refuse(path, "", message)
    rings, trees = _list_rings(path, job, ranks), _list_trees(path, job, ranks)
    return NcclCommunicator(ranks, nodes, version, rings, trees, job.transports, read_statements(iterate_lines(text)))


@lru_cache(maxsize=4_096)
def _find_thread(head: str) -> str:
    """`host:pid:tid` of what stands before `NCCL INFO`: it is followed by `[device]`, and MPI's tag may be glued to
    it."""
    words = head.split()
    if len(words) > 1:
        return words[-2].rpartition(">:")[2]
    return ""


def _parse_size(job: _Lines) -> int:
    graphs = (*job.rings.values(), *job.next.values(), *job.trees.values())
    return max((max(graph) for graph in graphs if graph), default=-1) + 1


def _note(path: FilePath, number: int, text: str, ring: re.Match[str] | None, job: _Lines) -> None:
    """Take what one line says."""
    if ring is not None:
        channel, order = int(ring[1]), [int(r) for r in ring[3].split()]
        job.rings[channel] = order
        job.cut |= {channel} if ring[4] else set()
        largest = max(order)
    elif "Ring " in text and (step := _STEP.search(text)) is not None:
        _, before, rank, after = map(int, step.groups())
        job.next.setdefault(int(step[1]), {})[rank] = after
        largest = max(before, rank, after)
    elif "Trees " in text and (trees := _TREES.search(text)) is not None:
        largest = max(map(int, _LONG.findall(trees[1])), default=0)
        for channel, rank, parent in _TREE.findall(trees[1]):
            job.trees.setdefault(int(channel), {})[int(rank)] = int(parent)
    elif " via " in text and (via := _VIA.search(text)) is not None:
        channel, source, target = int(via[1]), int(via[2]), int(via[3])
        job.transports[channel, source, target] = intern(via[4])
        largest = max(source, target)
    else:
        return
    # A rank far beyond any cluster is a number misread, and arrays would grow with it.
    if largest >= _MAX_RANKS:
        refuse(path, Sentence("line {line}", line=number), "a rank beyond {last}", last=_MAX_RANKS - 1)


def _list_rings(path: FilePath, job: _Lines, ranks: int) -> dict[int, tuple[int, ...]]:
    """Every ring whole: as printed, or from every rank's neighbours where the line was cut."""
    rings = {}
    for channel in sorted({*job.rings, *job.next}):
        order = job.rings.get(channel, [])
        if channel in job.cut or not order:
            order = _walk(job.next.get(channel, {}))
            if not order and channel in job.rings:
                continue  # cut, and nobody logged its neighbours
        if sorted(order) != list(range(ranks)):
            missing = sorted(set(range(ranks)) - set(order))[:3]
            message = Sentence("visits {visited} of {ranks} ranks", visited=len(order), ranks=ranks) + (
                Sentence(" (not {missing})", missing=", ".join(map(str, missing))) if missing else ""
            )
            refuse(path, Sentence("ring of channel {channel}", channel=channel), message)
        rings[channel] = tuple(order)
    return rings


def _walk(after: dict[int, int]) -> list[int]:
    """The ring that starts at rank 0, or as much of it as is known."""
    order = []
    if 0 in after:
        order = [0]
    while order and len(order) < len(after) and after.get(order[-1], 0) not in (0, *order[-1:]):
        order.append(after[order[-1]])
    return order


def _list_trees(path: FilePath, job: _Lines, ranks: int) -> dict[int, tuple[int, ...]]:
    """Every tree whole; trees that not all ranks logged are left out."""
    trees = {}
    for channel, parents in sorted(job.trees.items()):
        if len(parents) < ranks:
            continue
        parent = tuple(parents.get(r, -2) for r in range(ranks))
        if min(parent) < -1 or sum(p == -1 for p in parent) != 1 or not _has_path_to_root(parent):
            message = "is not a tree: one rank has no parent, and every other one leads there"
            refuse(path, Sentence("tree of channel {channel}", channel=channel), message)
        trees[channel] = parent
    return trees


def _has_path_to_root(parent: tuple[int, ...]) -> bool:
    above = np.array(parent)
    if (above >= len(parent)).any():
        return False
    current = np.arange(len(parent))
    for _ in range(len(parent).bit_length() + 1):  # pointer doubling: 2^k ancestors up
        current = np.where(current >= 0, above[current], -1)
        above = np.where(above >= 0, above[above], -1)
    return bool((above < 0).all())


def _is_nccl_log(head: str) -> bool:
    """A long job's rings may come far behind what its ranks say of themselves; a table of nccl-tests may have a few
    lines of NCCL."""
    patterns = any(word in head for word in ("Channel 0", "Trees [", "Ring 0"))
    return "NCCL INFO" in head and (patterns or not ("nThread" in head or "out-of-place" in head))


register_built_in("nccl-log", read=read_nccl_log, looks=_is_nccl_log)
