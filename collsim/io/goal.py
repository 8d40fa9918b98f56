"""GOAL schedules of LogGOPSim and ATLAHS, written and read.

Source: spcl/LogGOPSim (Schedgen, txt2bin grammar). `num_ranks N`, then per rank `rank R { ... }` with `l1: send 1024b
to 1 tag 3`, `l2: recv 1024b from 3 tag 3`, `l3: calc 2500` (ns) and `l3 requires l2` (starts after the other is
complete) or `irequires` (after it has started). A message matches the receive of its source and tag in order. Comments
are `//` and `/* */`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..errors import CollsimError, Sentence, Words
from ..files import MAX_ELEMENTS, FilePath, parse_whole_number, read_text, refuse, write_text
from ..schedule import Schedule
from ..simulate.run import compute_slot_bytes
from ..units import parse_bytes
from .file_formats import register_built_in

_NS = 1e9
_MAX_COMMENTS = 500_000


@dataclass(frozen=True)
class GoalTask:
    """One line of a GOAL program.

    Attributes:
        rank: whose line it is.
        label: of the line, unique in its rank.
        kind: `send`, `recv` or `calc`.
        amount: bytes; nanoseconds for a `calc`.
        peer: the other rank of a message; -1 for a `calc`.
        tag: by which a send and its receive find each other.
        requires: labels of the same rank that must have ended before it begins.
    """

    rank: int
    label: str
    kind: str
    amount: int
    peer: int = -1
    tag: int = 0
    requires: tuple[str, ...] = ()


def write_goal(
    schedule: Schedule, path: FilePath, *, nbytes: Any = None, itemsize: int = 4, reduce_rate: float | None = None
) -> None:
    """Write a schedule as GOAL, its dependencies explicit: what sends a chunk waits for what wrote it.

    Args:
        schedule: What is written.
        path: Of the file.
        nbytes: nccl-tests' size; GOAL has bytes where schedules have chunks.
        itemsize: Chunks are cut between elements of so many bytes.
        reduce_rate: Bytes per second of an addition; without it additions take no time.

    Raises:
        CollsimError: Without a size, or for more than two million transfers.
    """
    if nbytes is None:
        raise CollsimError("GOAL counts bytes: say how many, for example nbytes='64MiB'")
    if len(schedule) > MAX_ELEMENTS:
        message = "{label} has {transfers:,} transfers; GOAL is written for at most {most:,}"
        raise CollsimError(message, label=schedule.label, transfers=len(schedule), most=MAX_ELEMENTS)
    sizes = compute_slot_bytes(schedule, parse_bytes(nbytes), itemsize).tolist()
    lines = _list_lines(schedule, sizes, reduce_rate)
    write_text(path, _build_document(schedule, lines))


def _build_document(schedule: Schedule, lines: list[list[str]]) -> Iterator[str]:
    yield f"// {schedule.label}, {schedule.collective}, by collsim\nnum_ranks {schedule.endpoints}\n"
    for rank, rank_lines in enumerate(lines):
        yield f"\nrank {rank} {{\n" + "".join(f"{line}\n" for line in rank_lines) + "}\n"


class _Writer:
    """The lines of every rank, and for each slot the last task that wrote it and those that read it since."""

    def __init__(self, endpoints: int):
        self.lines: list[list[str]] = [[] for _ in range(endpoints)]
        self.count = [0] * endpoints
        self.wrote: dict[tuple[int, int], list[str]] = {}
        self.read: dict[tuple[int, int], list[str]] = defaultdict(list)

    def add_task(self, rank: int, text: str, requires: list[str]) -> str:
        self.count[rank] += 1
        label = f"l{self.count[rank]}"
        self.lines[rank].append(f"{label}: {text}")
        self.lines[rank] += [f"{label} requires {other}" for other in dict.fromkeys(requires)]
        return label


def _list_lines(schedule: Schedule, sizes: list[int], reduce_rate: float | None) -> list[list[str]]:
    writer = _Writer(schedule.endpoints)
    for number, step in enumerate(schedule.each_step()):
        columns = (step.src, step.dst, step.chunk, step.into, step.reduce, step.channel)
        rows = list(zip(*(c.tolist() for c in columns), strict=True))
        reads = []
        for src, dst, chunk, _, _, _ in rows:
            before = writer.wrote.get((src, chunk), [])
            label = ""
            if src != dst:
                label = writer.add_task(src, f"send {sizes[chunk]}b to {dst} tag {number}", before)
            reads.append((src, chunk, label, before))
        for src, chunk, label, _ in reads:
            if label:
                writer.read[src, chunk].append(label)
        written: dict[tuple[int, int], list[str]] = defaultdict(list)
        for (src, dst, chunk, into, adds, _), (_, _, _, sources) in zip(rows, reads, strict=True):
            label = _add_arrival(writer, number, (src, dst, chunk, into, adds), sources, sizes, reduce_rate)
            written[dst, into] += (
                [label] if written[dst, into] or not adds else [*writer.wrote.get((dst, into), []), label]
            )
        for key, labels in written.items():
            # An empty task that joins many: readers then wait for one, not each of them for all.
            writer.wrote[key] = [writer.add_task(key[0], "calc 0", labels)] if len(labels) > 8 else labels
            writer.read[key] = []
    return writer.lines


def _add_arrival(
    writer: _Writer,
    number: int,
    row: tuple[int, int, int, int, bool],
    sources: list[str],
    sizes: list[int],
    reduce_rate: float | None,
) -> str:
    """The receive of a transfer (or a calc for a local copy), and the addition; returns the task after which the slot
    holds it."""
    src, dst, chunk, into, adds = row
    if src == dst:
        label = writer.add_task(dst, "calc 0", [*sources, *writer.read[dst, into]])
    else:
        label = writer.add_task(dst, f"recv {sizes[chunk]}b from {src} tag {number}", writer.read[dst, into])
    if adds and reduce_rate:
        label = writer.add_task(
            dst, f"calc {round(sizes[chunk] / reduce_rate * _NS)}", [label, *writer.wrote.get((dst, into), [])]
        )
    return label


# ---- reading

_TASK = re.compile(
    r"([A-Za-z][A-Za-z0-9_]{0,63}):\s*"
    r"(?:(send|recv)\s+(\d{1,18})b\s+(?:to|from)\s+(\d{1,9})(?:\s+tag\s+(\d{1,10}))?|calc\s+(\d{1,18}))"
    r"(?:\s+cpu\s+\d{1,6})?(?:\s+nic\s+\d{1,6})?",
    re.ASCII,
)
_REQUIREMENT = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,63})\s+i?requires\s+([A-Za-z][A-Za-z0-9_]{0,63})", re.ASCII)


def read_goal(path: FilePath) -> list[GoalTask]:
    """The tasks of a GOAL file, in its order.

    Args:
        path: of the file.

    Raises:
        FormatError: Naming the line, also for sends and receives that do not match.
    """
    text = _strip_comments(path, read_text(path))
    tasks: dict[tuple[int, str], GoalTask] = {}
    requirements: dict[tuple[int, str], list[str]] = defaultdict(list)
    ranks, rank = None, -1
    # Lines are read one by one with a count, so that a huge file is refused before it is stored.
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("//")[0].strip()
        where = Sentence("line {line}", line=number)
        if not line:
            continue
        if len(tasks) > 2 * MAX_ELEMENTS:
            refuse(path, where, "more than {most:,} tasks", most=2 * MAX_ELEMENTS)
        if ranks is None:
            head = re.fullmatch(r"num_ranks\s+(\d{1,9})", line)
            if head is None:
                refuse(path, where, "expected 'num_ranks N'")
            ranks = parse_whole_number(path, where, "num_ranks", head[1], 1, 2**24)
        elif (block := re.fullmatch(r"rank\s+(\d{1,9})\s*\{", line)) is not None and rank < 0:
            rank = parse_whole_number(path, where, "rank", block[1], 0, ranks - 1)
        elif line == "}" and rank >= 0:
            rank = -1
        elif rank >= 0 and (task := _TASK.fullmatch(line)) is not None:
            # Inside a rank a line is a task or a dependency; anything else is reported with what was expected.
            _parse_task(path, where, tasks, rank, task, ranks)
        elif rank >= 0 and (requirement := _REQUIREMENT.fullmatch(line)) is not None:
            requirements[rank, requirement[1]].append(requirement[2])
        else:
            message = (
                "{line!r}; expected a rank block, 'l: send Nb to R tag T', 'l: recv ...', 'l: calc N' or 'a requires b'"
            )
            refuse(path, where, message, line=line[:60])
    if ranks is None or rank >= 0:
        refuse(path, "", "ends inside a rank" if rank >= 0 else "no 'num_ranks N'")
    _check_messages(path, tasks)
    return _attach_requirements(path, tasks, requirements)


def _strip_comments(path: FilePath, text: str) -> str:
    """The same lines without `/* */`. Raises FormatError for half a million of them."""
    if text.count("/*") > _MAX_COMMENTS:
        refuse(path, "", "more than {most:,} comments", most=_MAX_COMMENTS)
    end = text.rfind("*/") + 2  # a comment that begins behind the last end never ends
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text[:end], flags=re.DOTALL) + text[end:]


def _parse_task(
    path: FilePath, where: Words, tasks: dict[tuple[int, str], GoalTask], rank: int, match: re.Match[str], ranks: int
) -> None:
    label, kind, nbytes, peer, tag, calc = match.groups()
    if (rank, label) in tasks:
        refuse(path, where, "label {label!r} is there twice in rank {rank}", label=label, rank=rank)
    if kind:
        parse_whole_number(path, where, "peer", peer, 0, ranks - 1)
        tasks[rank, label] = GoalTask(rank, label, kind, int(nbytes), int(peer), int(tag or 0))
    else:
        tasks[rank, label] = GoalTask(rank, label, "calc", int(calc))


def _check_messages(path: FilePath, tasks: dict[tuple[int, str], GoalTask]) -> None:
    """Every send has its receive, of as many bytes, in order of source and tag."""
    ends: dict[str, dict[tuple[int, int, int], list[GoalTask]]] = {"send": defaultdict(list), "recv": defaultdict(list)}
    for t in tasks.values():
        if t.kind != "calc":
            ends[t.kind][(t.rank, t.peer, t.tag) if t.kind == "send" else (t.peer, t.rank, t.tag)].append(t)
    for key in {*ends["send"], *ends["recv"]}:
        sent, received = ends["send"][key], ends["recv"][key]
        if [t.amount for t in sent] != [t.amount for t in received]:
            src, dst, tag = key
            message = (
                "rank {src} sends {sent} messages to {dst} with tag {tag}, which receives {received}, or other sizes"
            )
            refuse(path, "", message, src=src, sent=len(sent), dst=dst, tag=tag, received=len(received))


def _attach_requirements(
    path: FilePath, tasks: dict[tuple[int, str], GoalTask], requirements: dict[tuple[int, str], list[str]]
) -> list[GoalTask]:
    for (rank, label), others in requirements.items():
        missing = next((x for x in (label, *others) if (rank, x) not in tasks), None)
        if missing is not None:
            refuse(path, Sentence("rank {rank}", rank=rank), "no task {lost!r}, which a 'requires' names", lost=missing)
        tasks[rank, label] = replace(tasks[rank, label], requires=tuple(others))
    return list(tasks.values())


register_built_in("goal", write=write_goal)
