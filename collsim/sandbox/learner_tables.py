"""In the sandbox: call a learner's function for each number of ranks, and answer with tables of transfers and nothing
else: no object, no verdict.

The tables are checked where the sandbox was made (see `attempt`), so a function can print, loop, raise, exit, change
what it is given or patch collsim, and the verdict stays true.
"""

from __future__ import annotations

import contextlib
import dis
import io
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CollsimError, ScheduleError, Sentence
from ..registry import Algorithm
from ..schedule import TRANSFER, Schedule
from ..steps import Step
from .frames import Kind, build_frame
from .resource_limits import MAX_PRINTED, Limits

#: Files of the library's algorithms.
_PACKAGE = str(Path(__file__).parents[1])
_LIBRARY, _SCHEDULE = f"{_PACKAGE}/algorithms", f"{_PACKAGE}/schedule.py"
COLUMNS = ("src", "dst", "chunk", "into", "reduce", "channel")
Send = Callable[[bytes], None]


class DeadlinePassed(BaseException):
    """The deadline where no process can be ended; not an Exception, so that a learner's `except Exception` does not
    catch it."""


@dataclass(frozen=True)
class FunctionRequest:
    """What a function is called for.

    Attributes:
        collective: what its steps must do.
        ranks: the numbers of ranks, in their order.
        helpers: endpoints beyond the ranks.
        is_new: whether its steps must be its own, and not those of an algorithm of the library.
    """

    collective: str
    ranks: tuple[int, ...]
    helpers: int = 0
    is_new: bool = False


def send_tables(find: Callable[[], object], request: FunctionRequest, limits: Limits, send: Send) -> None:
    """Find the function (a file may have to be run first), call it for each n, send a frame for each, and one at the
    end.

    Args:
        find: returns the function.
        request: what it is called for.
        limits: of all its calls together.
        send: takes a frame.

    Raises:
        DeadlinePassed: The time is over, in a process that cannot be ended from outside.
    """
    printed = _BoundedOutput()
    n = request.ranks[0]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            entry = _build_entry(find(), request, limits)
            for n in request.ranks:
                with _watch_borrowing(request, entry.function):
                    schedule = entry(n)
                send(_pack_schedule(n, schedule))
        except DeadlinePassed:
            raise
        except BaseException as error:
            send(build_failure(n, error))
    send(build_frame(Kind.DONE, (), printed.getvalue()[:MAX_PRINTED].encode("utf-8", "replace")))


@contextlib.contextmanager
def _watch_borrowing(request: FunctionRequest, function: object) -> Iterator[None]:
    """Notice where a function that shall find its steps itself takes them from the library: runs one of its algorithms,
    however it came by it, or reads a schedule that was made before. A help to the honest: what another process judges
    are the steps."""
    if not request.is_new:
        yield
        return
    if earlier := _find_earlier_steps(function):
        message = "{name} holds steps of a schedule that was made before; write the steps yourself"
        raise ScheduleError(message, name=earlier)
    borrowed: list[Sentence] = []

    def watch(running: Any, event: str, what: object) -> None:
        if event == "c_call" and what is sys.setprofile:
            borrowed.append(Sentence("sys.setprofile hides steps from the check; write the steps yourself"))
        if event != "call":
            return
        file, caller = running.f_code.co_filename, running.f_back
        if running.f_code.co_name == "<module>":  # a file of the library, imported because all are listed
            return
        if file.startswith(_LIBRARY):
            stem = Path(file).stem
            borrowed.append(
                Sentence("{borrowed} is an algorithm of the library; write the steps yourself", borrowed=stem)
            )
        elif file == _SCHEDULE and caller is not None and not caller.f_code.co_filename.startswith(_PACKAGE):
            name = running.f_code.co_name
            if name == "__hash__":  # of the entry's own result, in a weak dictionary; it tells nothing of the steps
                return
            borrowed.append(
                Sentence("{name}() reads a schedule that was made before; write the steps yourself", name=name)
            )

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        first = borrowed[:1]
        sys.setprofile(before)
    if first:
        raise ScheduleError(first[0])


def _find_earlier_steps(function: object, seen: frozenset[int] = frozenset()) -> str | None:
    """The name by which a function reaches steps that were made before it is called: in its defaults, its closure, or
    what it reads of its module; also by another function of the same person."""
    code = getattr(function, "__code__", None)
    if code is None or id(function) in seen or code.co_filename.startswith(_PACKAGE):
        return None
    for name, value in _list_reached(function, code):
        if _has_steps(value) or _find_earlier_steps(value, seen | {id(function)}):
            return name
    return None


def _list_reached(function: Any, code: Any) -> Iterator[tuple[str, Any]]:
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    for name, cell in cells.items():
        with contextlib.suppress(ValueError):  # not filled yet
            yield name, cell.cell_contents
    first = code.co_argcount - len(function.__defaults__ or ())
    yield from zip(code.co_varnames[first:], function.__defaults__ or (), strict=False)
    yield from (function.__kwdefaults__ or {}).items()
    codes = [code]
    while codes:
        inner = codes.pop()
        codes += [c for c in inner.co_consts if hasattr(c, "co_code")]
        names = {str(i.argval) for i in dis.get_instructions(inner) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        yield from ((name, function.__globals__[name]) for name in sorted(names) if name in function.__globals__)


def _has_steps(value: object, depth: int = 3) -> bool:
    """Steps, a schedule or its table; or a list or dict with one of them among its first."""
    if isinstance(value, Schedule | Step):
        return True
    if isinstance(value, np.ndarray):
        return bool(value.dtype == TRANSFER)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return False
    return depth > 0 and any(_has_steps(item, depth - 1) for item in itertools.islice(value, 50))


class _BoundedOutput(io.StringIO):
    """Keeps the beginning of what is printed, and drops the rest."""

    def write(self, text: str) -> int:
        if self.tell() < MAX_PRINTED:
            super().write(text[:MAX_PRINTED])
        return len(text)


@dataclass(frozen=True)
class _Watched(Algorithm):
    """A function as an Algorithm that is in no registry and is stopped where it yields without end."""

    limits: Limits = field(default_factory=Limits)

    def _require_steps(self, n: int, steps: object) -> Iterator[Any]:
        return _count_steps(steps, f"{self.name}({n})", self.limits)


def _build_entry(function: object, request: FunctionRequest, limits: Limits) -> Algorithm:
    named = getattr(function, "__name__", None) or getattr(function, "name", "my_function")
    inner = function
    if isinstance(function, Algorithm):
        inner = function.function
    if not callable(inner):
        message = "check() wants a function of n that yields steps, got {function}; give its name without calling it"
        raise ScheduleError(message, function=_shorten(function))
    helping = (lambda n: request.helpers) if request.helpers else None
    return _Watched(str(named), request.collective, inner, None, None, "", "", ("", ""), helpers=helping, limits=limits)


def _count_steps(steps: Any, label: str, limits: Limits) -> Iterator[Any]:
    if isinstance(steps, Step):
        steps = [steps]
    if isinstance(steps, str) or not hasattr(steps, "__iter__"):
        message = "{label} returned {steps}; it must yield its steps: yield copy(...), yield reduce(...)"
        raise ScheduleError(message, label=label, steps=_shorten(steps))
    moved = 0
    for number, item in enumerate(steps):
        if isinstance(item, (list, tuple)):
            parts = item
        else:
            parts = [item]
        moved += sum(p.transfers for p in parts if isinstance(p, Step))
        if number >= limits.steps or moved > limits.transfers:
            if number >= limits.steps:
                what = Sentence("{steps:,} steps", steps=limits.steps)
            else:
                what = Sentence("{transfers:,} transfers", transfers=limits.transfers)
            message = "{label} yields more than {what} and has not ended; does a loop never stop?"
            raise ScheduleError(message, label=label, what=what)
        yield item


def _shorten(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"something of type {type(value).__name__}"
    if len(text) <= 80:
        return text
    return text[:77] + "..."


def _pack_schedule(n: int, s: Schedule) -> bytes:
    """A schedule as one frame: its patterns, their columns one after another, and its name."""
    patterns = [p if p.times > 1 else p.repetition(0) for p in s.patterns]
    shapes = [number for p in patterns for number in (len(p), p.times, p.shift, p.modulus)]
    columns = [np.concatenate([getattr(p, c) for p in patterns]).astype("<i4").tobytes() for c in COLUMNS if patterns]
    name = s.name.encode("utf-8", "replace")
    return build_frame(Kind.TABLE, (n, s.chunks, s.slots, len(patterns), *shapes), b"".join((*columns, name)))


def build_failure(n: int, error: BaseException) -> bytes:
    """The frame that tells why there is no schedule for n ranks.

    Args:
        n: Ranks.
        error: Whatever the user's function raised.
    """
    sentence: Sentence | CollsimError
    if isinstance(error, MemoryError):
        sentence = Sentence("the function needs more memory than it may use; how many transfers does it yield?")
    elif isinstance(error, SystemExit):
        sentence = Sentence("the function ends the program (exit); it should only yield steps")
    elif isinstance(error, CollsimError):
        sentence = error
    else:
        sentence = Sentence("the function failed: {kind}: {error}", kind=type(error).__name__, error=_shorten(error))
    position = [_read_position(getattr(error, name, None)) for name in ("step", "rank", "chunk")]
    words, chinese = (sentence.text(language)[:MAX_PRINTED].encode("utf-8", "replace") for language in ("en", "zh"))
    return build_frame(Kind.FAILED, (n, *position, len(words)), words + chinese)


def _read_position(value: object) -> int:
    if isinstance(value, (int, np.integer)) and 0 <= value < 2**62:
        return int(value)
    return -1
