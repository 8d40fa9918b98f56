"""TE-CCL schedules (microsoft/TE-CCL): what its solvers write as JSON.

Grammar (teccl/solvers/allgather.py, alltoall.py; files in teccl/examples/experiments/output_provided): keys
`1-Epoch_Duration` ...; `N-Flows` is a list of `Chunk C from S traveled over A->B [with volume V] in epoch E [via
switches W, ...]`; `N-Chunk_paths` (or alike) maps `Demand at D for chunk C from S met by epoch E` to a list of `A->B in
epoch E [via switches W]`. Nodes that are only switches have numbers too; ranks are the other nodes in rising order.
Volumes below 1 (alltoall's linear program) are cut into equal pieces, and a node passes on first what it got first.

Epochs are the solver's clock, ours are steps: a transfer belongs to the step after the one that brought what it sends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from ..errors import Sentence
from ..files import FilePath, read_json, refuse
from ..schedule import Schedule
from ..steps import Step, copy
from .collsim_csv import freeze_rows
from .file_formats import register_built_in

_VIA = r"(?: via switches [0-9, \[\]]+)?"
_FLOW = re.compile(
    r"Chunk (\d{1,7}) from (\d{1,7}) traveled over (\d{1,7})->(\d{1,7})(?: with volume (\d[\d.eE+-]{0,30}))? "
    rf"in epoch (\d{{1,9}}){_VIA}",
    re.ASCII,
)
_DEMAND = re.compile(r"Demand at (\d{1,7}) for chunk (\d{1,7}) from (\d{1,7}) met by epoch (\d{1,9})", re.ASCII)
_HOP = re.compile(rf"(\d{{1,7}})->(\d{{1,7}}) in epoch (\d{{1,9}}){_VIA}", re.ASCII)
_MAX_PIECES = 64
_MAX_SLOTS = 16_000_000

Piece = tuple[int, int, int]  # source node, chunk, piece


@dataclass(frozen=True, order=True)
class Flow:
    """A part of a chunk that goes from one node to the next.

    Attributes:
        epoch: of the solver's clock, in which it is sent.
        source: node at which the chunk began.
        chunk: its number at that source.
        a: node that sends.
        b: node that receives.
        volume: how much of the chunk; 1 for all of it.
    """

    epoch: int
    source: int
    chunk: int
    a: int
    b: int
    volume: Fraction


def read_teccl(path: FilePath, *, collective: str | None = None) -> Schedule:
    """The schedule of a TE-CCL file: an allgather where every chunk goes to all other ranks, an alltoall where it goes
    to one.

    Args:
        path: of the JSON file.
        collective: by name; None finds it from where chunks go.

    Raises:
        FormatError: For flows that cannot be: a node sends what it does not have, a chunk nobody asks for.
    """
    data = read_json(path)
    if not isinstance(data, dict):
        refuse(path, "", "expected an object with keys like '6-Flows'")
    flows, demands = _parse_flows(path, data), _parse_demands(path, data)
    flows = flows or _list_path_flows(path, data)
    if not flows:
        refuse(path, "", "no flows; expected a list under a key like '6-Flows'")
    nodes = sorted({node for f in flows for node in (f.a, f.b, f.source)})
    destinations = demands or _find_final_nodes(flows)
    what = collective or _find_collective(path, destinations, len(nodes))
    if what not in ("allgather", "alltoall"):
        refuse(path, "", "collective={what!r}; TE-CCL makes allgather and alltoall", what=what)
    if what == "allgather":
        return _build_allgather(path, flows, nodes)
    return _build_alltoall(path, flows, nodes, destinations)


def _find_value(data: dict[str, Any], word: str, kind: type) -> Any:
    """The value whose key ends like `word` and that has a type."""
    return next((v for k, v in data.items() if word in k.lower() and isinstance(v, kind)), kind())


def _parse_flows(path: FilePath, data: dict[str, Any]) -> list[Flow]:
    flows = []
    for line in _find_value(data, "flow", list):
        match = None
        if isinstance(line, str):
            match = _FLOW.fullmatch(line)
        if match is None:
            message = "expected 'Chunk C from S traveled over A->B in epoch E'"
            refuse(path, Sentence("flow {line!r}", line=str(line)[:80]), message)
        chunk, source, a, b, volume, epoch = match.groups()
        try:
            # Volumes come from a solver of real numbers: 0.33333334 means a third.
            part = Fraction(float(volume or 1)).limit_denominator(_MAX_PIECES)
        except (ValueError, OverflowError, ZeroDivisionError):
            part = Fraction(0)
        if not 0 < part <= 1000:
            refuse(path, Sentence("flow {line!r}", line=line[:80]), "expected a volume above 0")
        flows.append(Flow(int(epoch), int(source), int(chunk), int(a), int(b), part))
    return sorted(flows)


def _parse_demands(path: FilePath, data: dict[str, Any]) -> dict[tuple[int, int], set[int]]:
    """(source, chunk) -> the nodes that want it."""
    destinations: dict[tuple[int, int], set[int]] = defaultdict(set)
    for key in _find_value(data, "path", dict):
        match = _DEMAND.fullmatch(key)
        if match is None:
            message = "expected 'Demand at D for chunk C from S met by epoch E'"
            refuse(path, Sentence("demand {key!r}", key=key[:80]), message)
        node, chunk, source, _ = (int(x) for x in match.groups())
        destinations[source, chunk].add(node)
    return destinations


def _list_path_flows(path: FilePath, data: dict[str, Any]) -> list[Flow]:
    """The flows that the paths of the demands use, each once."""
    flows = set()
    for key, hops in _find_value(data, "path", dict).items():
        match = _DEMAND.fullmatch(key)
        assert match is not None  # _parse_demands has looked
        for hop in hops if isinstance(hops, list) else [hops]:
            step = None
            if isinstance(hop, str):
                step = _HOP.fullmatch(hop)
            if step is None:
                message = "hop {hop!r}; expected 'A->B in epoch E'"
                refuse(path, Sentence("demand {key!r}", key=key), message, hop=str(hop)[:60])
            a, b, epoch = (int(x) for x in step.groups())
            flows.add(Flow(epoch, int(match[3]), int(match[2]), a, b, Fraction(1)))
    return sorted(flows)


def _find_final_nodes(flows: Iterable[Flow]) -> dict[tuple[int, int], set[int]]:
    """Without demands: where each chunk comes to rest. A copied chunk rests wherever it went, a moved one where more
    came than left."""
    into: dict[tuple[int, int], dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    out: dict[tuple[int, int], dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for f in flows:
        into[f.source, f.chunk][f.b] += f.volume
        out[f.source, f.chunk][f.a] += f.volume
    destinations = {}
    copied = any(
        out[key][key[0]] > 1 or any(out[key][node] > came[node] for node in out[key] if node != key[0])
        for key, came in into.items()
    )
    for key, came in into.items():
        destinations[key] = {node for node in came if copied or came[node] > out[key][node]}
    return destinations


def _find_collective(path: FilePath, destinations: dict[tuple[int, int], set[int]], n: int) -> str:
    counts = {len(nodes) for nodes in destinations.values()}
    if counts == {n - 1}:
        return "allgather"
    if counts != {1}:
        demand = Sentence("chunks are wanted by {counts} nodes of {n}", counts=sorted(counts)[:5], n=n)
        refuse(
            path, "", "{value}; expected {last} (allgather) or 1 (alltoall); give collective=", value=demand, last=n - 1
        )
    return "alltoall"


class _Steps:
    """Transfers with the step after the one that brought what they send."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[int, int, int, int]]] = []

    def add(self, step: int, src: int, dst: int, chunk: int, into: int) -> None:
        while len(self.rows) <= step:
            self.rows.append([])
        self.rows[step].append((src, dst, chunk, into))

    def build_steps(self) -> list[Step]:
        columns = (zip(*rows, strict=True) for rows in self.rows if rows)
        return [copy(src, dst, chunk, into) for src, dst, chunk, into in columns]


def _build_allgather(path: FilePath, flows: list[Flow], nodes: list[int]) -> Schedule:
    rank = {node: r for r, node in enumerate(nodes)}
    per = 1 + max(f.chunk for f in flows)
    _require_capacity(path, len(nodes) ** 2 * per)
    has = {(f.source, f.chunk, f.source): 0 for f in flows}
    steps = _Steps()
    for f in flows:
        key = (f.source, f.chunk, f.a)
        if key not in has:
            refuse(path, _describe_flow(f), "node {a} does not hold this chunk yet", a=f.a)
        if (f.source, f.chunk, f.b) in has:
            continue  # a second copy of what is there changes nothing
        slot = rank[f.source] * per + f.chunk
        steps.add(has[key], rank[f.a], rank[f.b], slot, slot)
        has[f.source, f.chunk, f.b] = has[key] + 1
    facts = {"name": "teccl_allgather", "collective": "allgather", "ranks": len(nodes), "chunks": len(nodes) * per}
    return freeze_rows(path, facts, steps.build_steps())


def _build_alltoall(
    path: FilePath, flows: list[Flow], nodes: list[int], destinations: dict[tuple[int, int], set[int]]
) -> Schedule:
    rank, n = {node: r for r, node in enumerate(nodes)}, len(nodes)
    pieces = lcm(*(f.volume.denominator for f in flows))
    goal_of = {key: _find_goal(path, key, destinations[key], rank) for key in sorted(destinations)}
    slots: dict[tuple[int, int], list[int]] = defaultdict(list)
    for (source, chunk), goal in goal_of.items():
        slots[source, goal].append(chunk)
    per = max(map(len, slots.values())) * pieces
    if pieces > _MAX_PIECES:
        message = "volumes need {pieces} pieces per chunk; at most {most} are cut"
        refuse(path, "", message, pieces=pieces, most=_MAX_PIECES)
    _require_capacity(path, n * (2 * n * per + n * n * per))
    first = {(s, c): rank[g] * per + k * pieces for (s, g), cs in slots.items() for k, c in enumerate(cs)}
    target = {(s, c, p): slot + p for (s, c), slot in first.items() for p in range(pieces)}
    return _move_chunks(path, flows, rank, pieces, per, target, goal_of)


def _find_goal(path: FilePath, key: tuple[int, int], goals: set[int], rank: dict[int, int]) -> int:
    """The node that wants a chunk."""
    where = Sentence("chunk {chunk} from {source}", chunk=key[1], source=key[0])
    if len(goals) != 1:
        refuse(path, where, "wanted by {goals} nodes; in an alltoall it goes to one", goals=len(goals))
    goal = next(iter(goals))
    if key[0] not in rank or goal not in rank:
        refuse(path, where, "wanted by or from a node that has no flow")
    return goal


def _move_chunks(
    path: FilePath,
    flows: list[Flow],
    rank: dict[int, int],
    pieces: int,
    per: int,
    target: dict[Piece, int],
    goal_of: dict[tuple[int, int], int],
) -> Schedule:
    """Send the pieces along the flows, first in first out at every node."""
    n = len(rank)
    chunks = n * per
    relay = {piece: 2 * chunks + k for k, piece in enumerate(sorted(target))}
    # (source, chunk, node) -> (epoch, piece, step).
    stored: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for source, chunk, piece in sorted(target):
        stored[source, chunk, source].append((-1, piece, 0))
    steps = _Steps()
    for f in flows:
        slot = stored[f.source, f.chunk, f.a]
        # What arrives in an epoch can leave in the next one at the earliest.
        ready = [entry for entry in slot if entry[0] < f.epoch]
        count = f.volume * pieces
        if count > len(ready):
            message = "node {a} holds {share} of this chunk by then"
            refuse(path, _describe_flow(f), message, a=f.a, share=Fraction(len(ready), pieces))
        for entry in ready[: int(count)]:
            slot.remove(entry)
            key = f.source, f.chunk, entry[1]
            at_goal, is_at_source = f.b == goal_of.get((f.source, f.chunk)), f.a == f.source
            if at_goal:
                into = chunks + rank[f.source] * per + target[key] % per
            else:
                into = relay[key]
            steps.add(entry[2], rank[f.a], rank[f.b], target[key] if is_at_source else relay[key], into)
            stored[f.source, f.chunk, f.b].append((f.epoch, entry[1], entry[2] + 1))
    for r in range(n):
        for k in range(per):
            # The block for itself, which TE-CCL does not mention.
            steps.add(0, r, r, r * per + k, chunks + r * per + k)
    facts = {"name": "teccl_alltoall", "collective": "alltoall", "ranks": n, "chunks": chunks}
    return freeze_rows(path, facts, steps.build_steps())


def _require_capacity(path: FilePath, slots: int) -> None:
    if slots > _MAX_SLOTS:
        refuse(path, "", "{slots:,} slots in all; at most {most:,} are made", slots=slots, most=_MAX_SLOTS)


def _describe_flow(f: Flow) -> Sentence:
    message = "flow of chunk {chunk} from {source} over {a}->{b} in epoch {epoch}"
    return Sentence(message, chunk=f.chunk, source=f.source, a=f.a, b=f.b, epoch=f.epoch)


register_built_in(
    "teccl",
    read=read_teccl,
    looks=lambda head: "Epoch_Duration" in head or "traveled over" in head or "Demand at" in head,
)
