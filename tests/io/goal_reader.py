"""Reads GOAL back (LogGOPSim's text format): what `collsim.io.goal` writes, checked line by line.

collsim itself writes GOAL and reads none, so this is a second, independent look at what it wrote.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from collsim.errors import Sentence, Words
from collsim.files import MAX_ELEMENTS, FilePath, parse_whole_number, read_text, refuse

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
