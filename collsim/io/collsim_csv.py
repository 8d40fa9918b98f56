"""Our own CSV: a row per transfer, for people who make schedules in a spreadsheet or a script of their own.

Grammar: the first line may be `# {json}` with the facts of the schedule (collective, ranks, chunks, root ...); then the
header `step,src,dst,chunk,into,op` and optionally `channel` and `after`. `into` may be left empty (the same slot), `op`
is `copy` or `reduce`, `after` names the transfers (by number, from 0, with `;` between) that this one waits for. Steps
rise from 0 without gaps. Without the first line, `collective=` must be given and the rest is what the rows use.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..collective import get_collective
from ..dtypes import Longs
from ..errors import CollsimError, FormatError, Sentence, Words
from ..files import MAX_ELEMENTS, FilePath, guard_json, parse_whole_number, read_text, refuse, write_text
from ..schedule import MAX_CHANNEL, Schedule, freeze
from ..steps import HELPER_LOCATIONS, Step
from .file_formats import register_built_in

COLUMNS = ("step", "src", "dst", "chunk", "into", "op", "channel", "after")
FACTS = ("name", "collective", "ranks", "endpoints", "chunks", "slots", "root", "helpers_on", "options")
_OPS = {"copy": 0, "reduce": 1}
_NUMBERS = ("step", "src", "dst", "chunk", "into", "channel")
_MAX_ROWS = 5 * MAX_ELEMENTS


def build_facts(schedule: Schedule) -> dict[str, object]:
    """What a schedule is besides its transfers; options that JSON cannot hold are left out."""
    facts = {name: getattr(schedule, name) for name in FACTS}
    facts["options"] = {k: v for k, v in schedule.options.items() if isinstance(v, (str, int, float, bool, type(None)))}
    return facts


def freeze_rows(path: FilePath, facts: dict[str, Any], steps: Any) -> Schedule:
    """A Schedule from facts and steps.

    Args:
        path: of the file, for errors.
        facts: as of `build_facts`.
        steps: in their order, as `freeze` takes them.

    Raises:
        FormatError: For facts that cannot be, and for steps that freeze refuses.
    """
    name, what = facts.get("name", "imported"), facts.get("collective")
    helpers_on, options = facts.get("helpers_on", "host"), facts.get("options", {})
    # Facts of a file are untyped: each is checked before it reaches `freeze`, so that the message names the file.
    if (
        not isinstance(name, str)
        or not isinstance(what, str)
        or not isinstance(options, dict)
        or helpers_on not in HELPER_LOCATIONS
    ):
        known = ", ".join(HELPER_LOCATIONS)
        message = "name and collective are texts, options an object, helpers_on one of {known}"
        refuse(path, "", message, known=known)
    ranks = parse_whole_number(path, "", "ranks", facts.get("ranks"), 1, 2**24)
    endpoints = parse_whole_number(path, "", "endpoints", facts.get("endpoints", ranks), ranks, 2**25)
    chunks = None
    if facts.get("chunks") is not None:
        chunks = parse_whole_number(path, "", "chunks", facts["chunks"], 1, 2**27)
    slots = None
    if facts.get("slots") is not None:
        slots = parse_whole_number(path, "", "slots", facts["slots"], chunks or 1, 2**28)
    root = parse_whole_number(path, "", "root", facts.get("root", 0), 0, ranks - 1)
    try:
        kind = get_collective(what)
        if kind.has_blocks and chunks is not None and chunks % ranks:
            message = "chunks={chunks} is not a multiple of ranks={ranks}, which {what} needs"
            refuse(path, "", message, chunks=chunks, ranks=ranks, what=what)
        schedule = freeze(
            name[:200],
            what,
            ranks,
            steps,
            chunks=chunks,
            # Collectives with separate results have more slots than chunks.
            slots=slots if slots is None or chunks is None else max(slots, kind.slots(chunks)),
            block=ranks if kind.has_blocks else 1,
            helpers=endpoints - ranks,
            helpers_on=helpers_on,
            root=root,
            options=options,
        )
    except FormatError:
        raise
    except CollsimError as error:
        refuse(path, "", error)
    return schedule


def list_waits(schedule: Schedule) -> list[list[int]]:
    """For every transfer the transfers that it waits for, by number."""
    assert schedule.depends is not None
    start, row = (a.tolist() for a in schedule.depends)
    return [row[a:b] for a, b in pairwise(start)]


def with_waits(path: FilePath, schedule: Schedule, waits: object) -> Schedule:
    """The schedule with explicit dependencies.

    Args:
        path: of the file, for errors.
        schedule: without explicit dependencies.
        waits: for each transfer the numbers of those that it waits for.

    Raises:
        FormatError: Unless there is a list of earlier transfers for each transfer.
    """
    if not isinstance(waits, list) or len(waits) != len(schedule) or not all(isinstance(w, list) for w in waits):
        message = "expected a list of transfers for each of the {transfers} transfers"
        refuse(path, "depends", message, transfers=len(schedule))
    rows = [
        parse_whole_number(path, Sentence("transfer {transfer}", transfer=k), "depends", other, 0, k - 1)
        for k, listed in enumerate(waits)
        for other in listed
    ]
    start = np.concatenate([[0], np.cumsum([len(w) for w in waits], dtype=np.int64)]).astype(np.int64)
    depends = start, np.array(rows, np.int64)
    for array in depends:
        array.setflags(write=False)
    return replace(schedule, depends=depends)


def read_csv(
    path: FilePath, *, collective: str | None = None, ranks: int | None = None, root: int | None = None
) -> Schedule:
    """The schedule of a CSV file.

    Args:
        path: of the file.
        collective: by name, where the file does not say it.
        ranks: likewise; None for those in use.
        root: likewise.

    Raises:
        FormatError: With the line and what was expected there.
    """
    text = read_text(path)
    facts: dict[str, Any] = {}
    first, _, rest = text.partition("\n")
    offset = 0
    if first.startswith("#"):
        facts, text, offset = _parse_facts(path, first), rest, 1
    facts.update({k: v for k, v in (("collective", collective), ("ranks", ranks), ("root", root)) if v is not None})
    table, lines, waits = _parse_table(path, text, offset)
    if "collective" not in facts:
        refuse(path, "", "no line of facts, so say what it is for: collective='allreduce'")
    facts.setdefault("ranks", int(max(table[:, 1:3].max(initial=0) + 1, 1)))
    schedule = freeze_rows(path, facts, _build_steps(path, table, lines))
    if waits is None:
        return schedule
    return with_waits(path, schedule, waits)


def _parse_facts(path: FilePath, line: str) -> dict[str, object]:
    try:
        facts = json.loads(line.lstrip("# "))
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        refuse(path, "line 1", "expected '# {...}' with the schedule's facts as JSON")
    if facts.pop("collsim", 1) != 1:
        refuse(path, "line 1", "an unknown version; this collsim reads version 1")
    return facts


def _parse_table(path: FilePath, text: str, offset: int) -> tuple[Longs, list[int], list[list[str]] | None]:
    """(rows, 7): step, src, dst, chunk, into, reduce, channel; the line of each row; and its `after`, where there is
    such a column."""
    rows: list[int] = []
    lines: list[int] = []
    waits: list[list[str]] = []
    reader = csv.reader(io.StringIO(text))
    try:
        header = [c.strip().lower() for c in next(reader, [])]
        _check_header(path, header, offset + 1)
        columns = {name: header.index(name) for name in header}
        for cells in reader:
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if len(lines) >= _MAX_ROWS:
                # The limit is tested row by row: a hostile file must not be read to its end first.
                message = "more than {most:,} transfers"
                refuse(path, Sentence("line {line}", line=reader.line_num + offset), message, most=_MAX_ROWS)
            rows.extend(_parse_row(path, cells, columns, reader.line_num + offset))
            lines.append(reader.line_num + offset)
            if "after" in columns:
                waits.append([x for x in cells[columns["after"]].split(";") if x.strip()])
    except csv.Error as error:
        refuse(path, Sentence("line {line}", line=reader.line_num + offset), "not CSV: {error}", error=error)
    return np.array(rows, np.int64).reshape(-1, 7), lines, waits if "after" in columns else None


def _check_header(path: FilePath, header: list[str], line: int) -> None:
    missing = [name for name in COLUMNS[:6] if name not in header and name != "into"]
    if missing or set(header) - set(COLUMNS) or len(set(header)) != len(header):
        message = "the header is {header!r}; expected {columns}"
        refuse(
            path, Sentence("line {line}", line=line), message, header=",".join(header)[:80], columns=",".join(COLUMNS)
        )


def _parse_row(path: FilePath, cells: list[str], columns: dict[str, int], line: int) -> list[int]:
    """The numbers of a row in the order of the table."""
    where = Sentence("line {line}", line=line)
    if len(cells) == len(columns) >= 6 and cells[columns["op"]] in _OPS:
        numbers = [cells[columns[name]] if name in columns else "0" for name in _NUMBERS]
        if all(x.isdigit() and x.isascii() and len(x) < 10 for x in numbers):
            step, src, dst, chunk, into, channel = map(int, numbers)
            if channel <= MAX_CHANNEL:
                return [step, src, dst, chunk, into, _OPS[cells[columns["op"]]], channel]
    return list(_parse_row_carefully(path, cells, columns, where))


def _parse_row_carefully(path: FilePath, cells: list[str], columns: dict[str, int], where: Words) -> Iterator[int]:
    """The same for a row with blanks, empty cells, capital letters or mistakes."""
    if len(cells) != len(columns):
        refuse(path, where, "{cells} values; the header has {columns}", cells=len(cells), columns=len(columns))
    cell = {name: cells[column].strip() for name, column in columns.items()}
    for name in ("step", "src", "dst", "chunk"):
        yield parse_whole_number(path, where, name, cell[name])
    yield parse_whole_number(path, where, "into", cell["into"]) if cell.get("into") else int(cell["chunk"])
    op = cell["op"].lower()
    if op not in ("copy", "reduce"):
        refuse(path, where, "op={op!r}; expected copy or reduce", op=op[:20])
    yield op == "reduce"
    yield parse_whole_number(path, where, "channel", cell["channel"], 0, MAX_CHANNEL) if cell.get("channel") else 0


def _build_steps(path: FilePath, table: Longs, lines: list[int]) -> Iterator[Step]:
    number = table[:, 0]
    jump = np.diff(number, prepend=-1)
    # Steps rise by one or stay: anything else is a row out of place.
    bad = np.flatnonzero((jump < 0) | (jump > 1))
    if len(number) and number[0] != 0:
        message = "the first step is {number}; steps rise from 0 without gaps"
        refuse(path, Sentence("line {line}", line=lines[0]), message, number=number[0])
    if len(bad):
        row = int(bad[0])
        message = "step {number} after step {before}; steps rise from 0 without gaps"
        refuse(path, Sentence("line {line}", line=lines[row]), message, number=number[row], before=number[row - 1])
    if len(number):
        # Each step ends where its number changes.
        ends = [*np.flatnonzero(jump).tolist(), len(number)]
    else:
        ends = []
    for begin, end in pairwise(ends):
        _, src, dst, chunk, into, adds, channel = table[begin:end].T.astype(np.int32)
        yield Step(src, dst, chunk, into, adds.astype(bool), channel)


def write_csv(schedule: Schedule, path: FilePath) -> None:
    """Write a schedule as CSV: facts, a header, a row per transfer.

    Args:
        schedule: Repeated steps are written out.
        path: Of the file.

    Raises:
        FormatError: It has more than ten million transfers.
    """
    if len(schedule) > _MAX_ROWS:
        message = "{label} has {transfers:,} transfers; CSV takes {most:,}. JSON keeps repeated steps short"
        raise FormatError(message, label=schedule.label, transfers=len(schedule), most=_MAX_ROWS)
    write_text(path, _list_lines(schedule))


def _list_lines(schedule: Schedule) -> Iterator[str]:
    waits = None
    if schedule.depends is not None:
        waits = iter(list_waits(schedule))
    columns: Sequence[str] = COLUMNS
    if waits is None:
        columns = COLUMNS[:-1]
    facts = json.dumps({"collsim": 1, **build_facts(schedule)})
    yield f"# {guard_json(facts)}\n{','.join(columns)}\n"
    for number, step in enumerate(schedule.each_step()):
        table = [getattr(step, name).tolist() for name in ("src", "dst", "chunk", "into", "reduce", "channel")]
        for s, d, c, i, adds, ch in zip(*table, strict=True):
            after = ""
            if waits is not None:
                after = "," + ";".join(map(str, next(waits)))
            yield f"{number},{s},{d},{c},{i},{'reduce' if adds else 'copy'},{ch}{after}\n"


def _is_csv_schedule(head: str) -> bool:
    return '"collsim"' in head.partition("\n")[0] or head.lower().startswith("step,src,dst,")


register_built_in("csv", read=read_csv, write=write_csv, looks=_is_csv_schedule)
