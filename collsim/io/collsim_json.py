"""Our own JSON: the whole Schedule, repeated steps kept short. What `load` of what `save` wrote is the same schedule.

Grammar: `{"format": "collsim-schedule", "version": 1, "name", "collective", "ranks", "endpoints", "chunks", "slots",
"root", "helpers_on", "options": {}, "columns": ["src", "dst", "chunk", "into", "op", "channel"], "steps": [...],
"depends": [...]}`. A step is a list of rows in the order of the columns, or `{"times", "shift", "modulus", "transfers":
[rows]}` for a pattern that repeats (`collsim.steps.repeat`), or `{"width", "transfers": [rows]}` where every row stands
for a range of chunks (see `collsim.copy`). `depends` lists for every transfer the transfers (by number, from 0) that it
waits for, where the schedule says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from ..errors import FormatError, Sentence
from ..files import MAX_ELEMENTS, FilePath, parse_whole_number, read_json, refuse, write_text
from ..schedule import Schedule
from ..steps import Step
from .collsim_csv import build_facts, freeze_rows, list_waits, with_waits
from .file_formats import register_built_in

_COLUMNS = ["src", "dst", "chunk", "into", "op", "channel"]
_COUNTS = (("times", 0), ("width", 1), ("modulus", 1))  # of a pattern, with the least
_NAME, _VERSION = "collsim-schedule", 1


def read_collsim_json(path: FilePath) -> Schedule:
    """The schedule of a JSON file.

    Args:
        path: of the file.

    Raises:
        FormatError: With the step and row and what was expected.
    """
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != _NAME:
        refuse(path, "", 'expected an object with "format": "{name}"', name=_NAME)
    if data.get("version") != _VERSION:
        message = "version {version!r}; this collsim reads version {known}"
        refuse(path, "", message, version=data.get("version"), known=_VERSION)
    columns, steps = data.get("columns", _COLUMNS), data.get("steps")
    if columns != _COLUMNS or not isinstance(steps, list):
        refuse(path, "", "expected columns {columns} and a list of steps", columns=_COLUMNS)
    schedule = freeze_rows(path, data, (_build_step(path, number, step) for number, step in enumerate(steps)))
    if data.get("depends") is not None:
        return with_waits(path, schedule, data["depends"])
    return schedule


def _build_step(path: FilePath, number: int, entry: object) -> Step:
    where = Sentence("step {number}", number=number + 1)
    if isinstance(entry, dict):
        pattern = entry
    else:
        pattern = {"transfers": entry}
    rows = _build_rows(path, where, pattern.get("transfers"))
    columns = [[r[k] for r in rows] for k in (0, 1, 2, 3, 5)]
    src, dst, chunk, into, channel = np.array(columns, np.int64).reshape(5, -1).astype(np.int32)
    adds = np.array([r[4] == "reduce" for r in rows], bool)
    times, width, modulus = (
        parse_whole_number(path, where, name, pattern.get(name, 1), least) for name, least in _COUNTS
    )
    shift = parse_whole_number(path, where, "shift", pattern.get("shift", 0), -(2**31) + 1)
    return Step(src, dst, chunk, into, adds, channel, times, shift, modulus, width)


def _build_rows(path: FilePath, where: Sentence, rows: object) -> list[list[object]]:
    """The transfers of a step, every value in its range. Raises FormatError naming the step and the row."""
    if not isinstance(rows, list) or not all(isinstance(r, list) and len(r) == len(_COLUMNS) for r in rows):
        message = "expected rows of {count} values: {columns}"
        refuse(path, where, message, count=len(_COLUMNS), columns=", ".join(_COLUMNS))
    wrong = next((r[4] for r in rows if r[4] not in ("copy", "reduce")), None)
    if wrong is not None:
        refuse(path, where, "op={op!r}; expected copy or reduce", op=str(wrong)[:20])
    if not all(type(v) is int and 0 <= v < 2**31 for r in rows for v in (*r[:4], *r[5:])):
        for k, r in enumerate(rows):
            for name, value in zip(_COLUMNS, r, strict=True):
                if name != "op":
                    parse_whole_number(path, Sentence("{where}, row {row}", where=where, row=k + 1), name, value)
    return rows


def write_collsim_json(schedule: Schedule, path: FilePath) -> None:
    """Write a schedule as JSON.

    Args:
        schedule: Repeated steps stay short.
        path: Of the file.

    Raises:
        FormatError: It has more than two million rows; repeated steps count once.
    """
    rows = sum(len(p) for p in schedule.patterns) + (len(schedule) if schedule.depends is not None else 0)
    if rows > MAX_ELEMENTS - 10:
        message = "{label} has {rows:,} rows; JSON takes {most:,}"
        raise FormatError(message, label=schedule.label, rows=rows, most=MAX_ELEMENTS - 10)
    write_text(path, _split_parts(schedule))


def _split_parts(schedule: Schedule) -> Iterator[str]:
    head = {"format": _NAME, "version": _VERSION, **build_facts(schedule), "columns": _COLUMNS}
    # Written in parts, because the text of a large schedule would not fit into memory twice.
    yield json.dumps(head, indent=1)[:-2] + ',\n "steps": ['
    for number, p in enumerate(schedule.patterns):
        op = np.where(p.reduce, "reduce", "copy")
        rows = list(zip(*(a.tolist() for a in (p.src, p.dst, p.chunk, p.into, op, p.channel)), strict=True))
        step: object = rows
        # Repeated patterns are written once with their count, as they are stored.
        if p.times > 1:
            step = {"times": p.times, "shift": p.shift, "modulus": p.modulus, "transfers": rows}
        elif p.width > 1:
            step = {"width": p.width, "transfers": rows}
        if number:
            yield ","
        yield f"\n  {json.dumps(step)}"
    yield "\n ]"
    if schedule.depends is not None:
        yield f',\n "depends": {json.dumps(list_waits(schedule))}'
    yield "\n}\n"


register_built_in("json", read=read_collsim_json, write=write_collsim_json, looks=lambda head: f'"{_NAME}"' in head)
