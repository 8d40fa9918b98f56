"""The line of code that runs in each step: the source of an algorithm, and where its generator stands at each yield."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from types import FrameType, GeneratorType
from typing import Any

import numpy as np

from ...errors import CollsimError
from ...registry import algorithms, call_claim
from ...schedule import Schedule, freeze
from ...simulate import Trace
from ...steps import Step
from .textbook import TEXTBOOK

_MAX_STEPS = 2_000
_MAX_LINES = 40
#: Columns that tell two transfers apart.
_COLUMNS = ("step", "src", "dst", "chunk", "into", "reduce")


def trace_source_lines(trace: Trace) -> dict[str, object] | None:
    """`lines` of source, and for each step `at`, the line that yields it, and `note`, the counters that stand in it.

    None for a schedule that no function of the registry writes (a file's, a learner's), or one of too many steps.

    Args:
        trace: The run.
    """
    s = trace.schedule
    entry = algorithms().get(s.name)
    if entry is None or not 0 < s.steps <= _MAX_STEPS:
        return None
    short = TEXTBOOK.get(s.name)
    if short is not None and s.channels == 1 and makes_same_transfers(short, s):
        return _follow_generator(short, s, {})
    defaults = {name: option.default for name, option in entry.options.items()}
    topologies = {name: trace.topology for name, option in entry.options.items() if option.kind == "topology"}
    return _follow_generator(entry.function, s, {**defaults, **dict(s.options), **topologies})


def makes_same_transfers(short: Callable[[int], Iterable[Step]], schedule: Schedule) -> bool:
    """Does the short form make the transfers of a schedule, step by step?

    Args:
        short: A generator function that takes the number of ranks.
        schedule: The schedule.
    """
    try:
        n, chunks = schedule.ranks, schedule.chunks
        written = freeze(schedule.name, schedule.collective, n, short(n), chunks=chunks)
    except CollsimError:
        return False
    return _has_same_transfers(written, schedule)


def _has_same_transfers(first: Schedule, other: Schedule) -> bool:
    if first.steps != other.steps or len(first) != len(other):
        return False
    return all(np.array_equal(a, b) for a, b in zip(_sort_transfers(first), _sort_transfers(other), strict=True))


def _sort_transfers(schedule: Schedule) -> list[np.ndarray[Any, Any]]:
    rows = schedule.transfers
    order = np.lexsort([rows[name] for name in reversed(_COLUMNS)])
    return [rows[name][order] for name in _COLUMNS]


def _follow_generator(
    function: Callable[..., object], schedule: Schedule, options: dict[str, object]
) -> dict[str, object] | None:
    """Run the generator once more, and note where it stands."""
    generator = call_claim(function, schedule.ranks, options)
    lines, first = _get_source(function)
    if not inspect.isgenerator(generator) or len(lines) > _MAX_LINES:
        return None
    lines_of_steps: list[int] = []
    notes: list[str] = []
    for step in generator:
        frame: FrameType | None = generator.gi_frame
        if frame is None or len(lines_of_steps) > schedule.steps:
            return None
        times = 1
        if isinstance(step, Step):
            times = step.times
        lines_of_steps += [frame.f_lineno - first] * times
        if times > 1:
            notes += [f"k = {k}" for k in range(times)]
        else:
            notes.append(_format_counters(generator))
    if len(lines_of_steps) != schedule.steps or not all(0 <= line < len(lines) for line in lines_of_steps):
        return None
    return {"lines": lines, "at": lines_of_steps, "note": notes}


def _get_source(function: Callable[..., object]) -> tuple[list[str], int]:
    """The lines of a function from its `def` on, and the number of the first."""
    source, first_number = inspect.getsourcelines(function)
    head = next(k for k, line in enumerate(source) if line.lstrip().startswith("def "))
    lines = textwrap.dedent("".join(source[head:])).rstrip().splitlines()
    return [re.sub(r"\(n: int\) -> [^:]+:$", "(n):", line) for line in lines], first_number + head


def _format_counters(generator: GeneratorType[Any, Any, Any]) -> str:
    """The whole numbers that loops count in, beside the arguments."""
    frame: FrameType | None = generator.gi_frame
    if frame is None:
        return ""
    arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    counters = {k: v for k, v in frame.f_locals.items() if k not in arguments and type(v) is int}
    return ", ".join(f"{name} = {value}" for name, value in list(counters.items())[:2])
