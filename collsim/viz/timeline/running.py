"""The line of code that runs in each step: the source of an algorithm, and where its generator stands at each yield."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from types import FrameType, GeneratorType
from typing import Any

import numpy as np

from ...errors import CollsimError
from ...registry import algorithms, called
from ...schedule import Schedule, Step, freeze
from ...simulate import Trace
from .textbook import TEXTBOOK

_MOST_STEPS = 2_000
_MOST_LINES = 40
#: Columns that tell two transfers apart.
_COLUMNS = ("step", "src", "dst", "chunk", "into", "reduce")


def running(trace: Trace) -> dict[str, Any] | None:
    """`lines` of source, and for each step `at`, the line that yields it, and `note`, the counters that stand in it.

    None for a schedule that no function of the registry writes (a file's, a learner's), or one of too many steps.
    """
    s = trace.schedule
    entry = algorithms().get(s.name)
    if entry is None or not 0 < s.steps <= _MOST_STEPS:
        return None
    short = TEXTBOOK.get(s.name)
    if short is not None and s.channels == 1 and same(short, s):
        return _followed(short, s, {})
    known = {name: option.default for name, option in entry.options.items()}
    places = {name: trace.topology for name, option in entry.options.items() if option.kind == "topology"}
    return _followed(entry.function, s, {**known, **dict(s.options), **places})


def same(short: Callable[..., Any], schedule: Schedule) -> bool:
    """Does the short form make the transfers of a schedule, step by step?"""
    try:
        made = freeze(schedule.name, schedule.collective, schedule.ranks, short(schedule.ranks), chunks=schedule.chunks)
    except CollsimError:
        return False
    return _alike(made, schedule)


def _alike(one: Schedule, other: Schedule) -> bool:
    if one.steps != other.steps or len(one) != len(other):
        return False
    return all(np.array_equal(a, b) for a, b in zip(_sorted(one), _sorted(other), strict=True))


def _sorted(schedule: Schedule) -> list[np.ndarray[Any, Any]]:
    rows = schedule.transfers
    order = np.lexsort([rows[name] for name in reversed(_COLUMNS)])
    return [rows[name][order] for name in _COLUMNS]


def _followed(function: Callable[..., Any], schedule: Schedule, options: dict[str, Any]) -> dict[str, Any] | None:
    """Run the generator once more, and note where it stands."""
    made = called(function, schedule.ranks, options)
    lines, first = _source(function)
    if not inspect.isgenerator(made) or len(lines) > _MOST_LINES:
        return None
    at: list[int] = []
    note: list[str] = []
    for step in made:
        frame: FrameType | None = made.gi_frame
        if frame is None or len(at) > schedule.steps:
            return None
        times = step.times if isinstance(step, Step) else 1
        at += [frame.f_lineno - first] * times
        note += [f"k = {k}" for k in range(times)] if times > 1 else [_counters(made)]
    if len(at) != schedule.steps or not all(0 <= line < len(lines) for line in at):
        return None
    return {"lines": lines, "at": at, "note": note}


def _source(function: Callable[..., Any]) -> tuple[list[str], int]:
    """The lines of a function from its `def` on, and the number of the first."""
    found, number = inspect.getsourcelines(function)
    head = next(k for k, line in enumerate(found) if line.lstrip().startswith("def "))
    lines = textwrap.dedent("".join(found[head:])).rstrip().splitlines()
    return [re.sub(r"\(n: int\) -> [^:]+:$", "(n):", line) for line in lines], number + head


def _counters(made: GeneratorType[Any, Any, Any]) -> str:
    """The whole numbers that loops count in, beside the arguments."""
    frame: FrameType | None = made.gi_frame
    if frame is None:
        return ""
    arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    counted = {k: v for k, v in frame.f_locals.items() if k not in arguments and type(v) is int}
    return ", ".join(f"{name} = {value}" for name, value in list(counted.items())[:2])
