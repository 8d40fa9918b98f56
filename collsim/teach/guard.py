"""Run a learner's function where it can do no harm: in a process of its own, with a limit on seconds, bytes and steps.

What comes back is a table of transfers and nothing else: no pickle, no verdict. The table is checked here, in the
caller's process, so a function can print, loop, raise, exit, change what it is given or patch collsim, and the answer
stays true. Where a process cannot be forked (Windows, a browser) the function runs here, under a trace function that
stops it at the deadline.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..collective import collective as find_collective
from ..errors import CollsimError, ScheduleError
from ..registry import Algorithm
from ..schedule import Schedule, Step, freeze
from . import confine

COLUMNS = ("src", "dst", "chunk", "into", "reduce", "channel")
_HEAD = 8  # bytes of a frame's length
_MOST_BYTES = 400_000_000  # of all tables of one attempt
_MOST_PRINTED = 2_000
_MOST_SLOTS = 1_000_000  # of all ranks together


@dataclass(frozen=True)
class Limits:
    """What a learner's function may use: seconds and bytes for one attempt, and how much it may yield for one number of
    ranks.

    Attributes:
        folder: the only one in which it may write; empty: as the user may (see `confine` for where this holds).
    """

    seconds: float = 10.0
    memory: int = 1 << 30
    steps: int = 20_000
    transfers: int = 2_000_000
    folder: str = ""


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a function yielded: a Schedule for every number of ranks up to the first that failed, and why that one
    failed.

    Attributes:
        schedules: by number of ranks.
        failed: the number of ranks at which it stopped, or None; `error`: why.
        printed: the first 2,000 characters that it printed.
    """

    schedules: dict[int, Schedule] = field(default_factory=dict)
    failed: int | None = None
    error: ScheduleError | None = None
    printed: str = ""


class _Late(BaseException):
    """The deadline; not an Exception, so that a learner's `except Exception` does not catch it."""


def attempt(
    function: Callable[..., Any],
    collective: str,
    ranks: Sequence[int],
    limits: Limits | None = None,
    *,
    helpers: int = 0,
) -> Attempt:
    """Call `function(n)` for each n and take what it yields, as far as it gets."""
    limits = limits or Limits()
    return attempt_frames(
        lambda send: _produce(lambda: function, collective, ranks, limits, helpers, send),
        collective,
        ranks,
        limits,
        helpers,
    )


def attempt_frames(
    job: Callable[[Callable[[bytes], None]], None],
    collective: str,
    ranks: Sequence[int],
    limits: Limits,
    helpers: int = 0,
) -> Attempt:
    """The same for a job that sends its frames itself."""
    frames, ending = apart(job, limits)
    return read_frames(frames, collective, ranks, helpers, ending)


def produce(
    find: Callable[[], Callable[..., Any]],
    collective: str,
    ranks: Sequence[int],
    limits: Limits,
    helpers: int,
    send: Any,
) -> None:
    """In the child: find the function (a file may have to be loaded first), call it for each n, send a frame for
    each."""
    _produce(find, collective, ranks, limits, helpers, send)


# ---- in the child
# ------------------------------------------------------------------------------------------------------------


def _produce(
    find: Callable[[], Callable[..., Any]],
    collective: str,
    ranks: Sequence[int],
    limits: Limits,
    helpers: int,
    send: Callable[[bytes], None],
) -> None:
    printed = _Printed()
    n = ranks[0]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            entry = _entry(find(), collective, limits, helpers)
            for n in ranks:
                send(_packed(n, entry(n)))
        except _Late:
            raise
        except BaseException as error:
            send(_failure(n, error))
    send(json.dumps({"done": True, "printed": printed.getvalue()[:_MOST_PRINTED]}).encode())


class _Printed(io.StringIO):
    """Keeps the beginning of what is printed and forgets the rest."""

    def write(self, text: str) -> int:
        if self.tell() < _MOST_PRINTED:
            super().write(text[:_MOST_PRINTED])
        return len(text)


@dataclass(frozen=True)
class _Watched(Algorithm):
    """A function as an Algorithm that is in no registry and is stopped where it yields without end."""

    limits: Limits = field(default_factory=Limits)

    def _steps(self, n: int, steps: Any) -> Any:
        return _counted(steps, f"{self.name}({n})", self.limits)


def _entry(function: Any, collective: str, limits: Limits, helpers: int) -> Algorithm:
    named = getattr(function, "__name__", None) or getattr(function, "name", "my_function")
    inner = function.function if isinstance(function, Algorithm) else function
    if not callable(inner):
        raise ScheduleError(
            f"check() wants a function of n that yields steps, got {_short(function)}; give its name without calling it"
        )
    helping = (lambda n: helpers) if helpers else None
    return _Watched(str(named), collective, inner, None, None, "", "", ("", ""), helpers=helping, limits=limits)


def _counted(steps: Any, label: str, limits: Limits) -> Iterator[Any]:
    if isinstance(steps, Step):
        steps = [steps]
    if isinstance(steps, str) or not hasattr(steps, "__iter__"):
        raise ScheduleError(
            f"{label} returned {_short(steps)}; it must yield its steps: yield copy(...), yield reduce(...)"
        )
    moved = 0
    for number, item in enumerate(steps):
        parts = item if isinstance(item, (list, tuple)) else [item]
        moved += sum(p.transfers for p in parts if isinstance(p, Step))
        if number >= limits.steps or moved > limits.transfers:
            what = f"{limits.steps:,} steps" if number >= limits.steps else f"{limits.transfers:,} transfers"
            raise ScheduleError(f"{label} yields more than {what} and has not ended; does a loop never stop?")
        yield item


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def _packed(n: int, s: Schedule) -> bytes:
    """A schedule as one frame: a JSON head, and the columns of its patterns one after another."""
    head: dict[str, Any] = {"n": n, "name": s.name, "chunks": s.chunks, "slots": s.slots}
    patterns = [p if p.times > 1 else p.at(0) for p in s.patterns]
    head["patterns"] = [(len(p), p.times, p.shift, p.modulus) for p in patterns]
    body = (
        b"".join(np.concatenate([getattr(p, c) for p in patterns]).astype(np.int32).tobytes() for c in COLUMNS)
        if patterns
        else b""
    )
    return json.dumps(head).encode() + b"\n" + body


def _failure(n: int, error: BaseException) -> bytes:
    if isinstance(error, MemoryError):
        text = "the function needs more memory than it may use; how many transfers does it yield?"
    elif isinstance(error, SystemExit):
        text = "the function ends the program (exit); it should only yield steps"
    elif isinstance(error, CollsimError):
        text = str(error)
    else:
        text = f"the function failed: {type(error).__name__}: {_short(error)}"
    place = {k: _whole(getattr(error, k, None)) for k in ("step", "rank", "chunk")}
    return json.dumps({"n": n, "error": text[:2000], **place}).encode()


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, np.integer)) else None


# ---- the processes
# -----------------------------------------------------------------------------------------------------------


def apart(job: Callable[[Callable[[bytes], None]], None], limits: Limits) -> tuple[list[bytes], str]:
    """Run a job in a child process where there are such, else here; its frames, and how it ended where it did not end
    well."""
    return forked(job, limits) if hasattr(os, "fork") else (_inside(job, limits), "")


def forked(job: Callable[[Callable[[bytes], None]], None], limits: Limits) -> tuple[list[bytes], str]:
    """Run a job in a forked child; its frames, and one sentence on how it ended where it did not end well."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # a fork beside threads; the child does no more than call the function
        parent = os.getpid()
        child = os.fork()
    if child == 0:
        _be_the_child(job, writing, reading, limits, parent)
    os.close(writing)
    try:
        data, late = _read_all(reading, limits)
    finally:
        os.close(reading)
        status = _end(child)
    return _frames(data), _ending(status, late, limits)


def _be_the_child(
    job: Callable[[Callable[[bytes], None]], None], writing: int, reading: int, limits: Limits, parent: int
) -> None:
    code = 1
    try:
        os.setsid()
        confine.end_with_parent(parent)
        os.close(reading)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL) if _in_main_thread() else None
        _restrict(limits)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        sys.stdin = open(os.devnull)  # noqa: SIM115
        if limits.folder:
            with contextlib.suppress(OSError):
                confine.only_below(limits.folder)
        with os.fdopen(writing, "wb") as out:
            job(lambda frame: _send(out, frame))
        code = 0
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def _in_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _send(out: Any, frame: bytes) -> None:
    out.write(len(frame).to_bytes(_HEAD, "big") + frame)
    out.flush()


def _restrict(limits: Limits) -> None:
    """Seconds of processor time, bytes of memory beyond what the process has now, no large files, no core dump, no more
    processes."""
    import resource

    wanted = [
        (resource.RLIMIT_CPU, int(limits.seconds) + 1),
        (resource.RLIMIT_FSIZE, 10_000_000),
        (resource.RLIMIT_CORE, 0),
    ]
    wanted.append((resource.RLIMIT_NPROC, 0))  # threads count as well; root is not held by it
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as pages:
        wanted.append((resource.RLIMIT_AS, int(pages.read().split()[0]) * resource.getpagesize() + limits.memory))
    for what, most in wanted:
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(what)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (most, most))


def _read_all(reading: int, limits: Limits) -> tuple[bytes, bool]:
    """What the child writes until it says that it is done or the time is over (True)."""
    deadline = time.monotonic() + limits.seconds
    parts: list[bytes] = []
    total = 0
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        part = os.read(reading, 1 << 20)
        if not part:
            return b"".join(parts), False
        parts.append(part)
        total += len(part)
        if total > _MOST_BYTES:
            return b"".join(parts), False
    return b"".join(parts), True


def _end(child: int) -> int:
    """Whatever the child is doing, it ends now, with what it started."""
    done, status = 0, 0
    for _ in range(50):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    return status


def _ending(status: int, late: bool, limits: Limits) -> str:
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == getattr(signal, "SIGXCPU", -1)):
        return f"the function did not end within {limits.seconds:g} seconds; does a loop never stop?"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        return f"the process of the function was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return "the process of the function ended before it was done (exit, or more memory than it may use)"


def _inside(job: Callable[[Callable[[bytes], None]], None], limits: Limits) -> list[bytes]:
    """In this process: every instruction of the function looks at the clock."""
    deadline = time.monotonic() + limits.seconds
    frames: list[bytes] = []

    def watch(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True  # a loop on one line has no other events
        if time.monotonic() > deadline:
            raise _Late
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        job(frames.append)
    except _Late:
        text = f"the function did not end within {limits.seconds:g} seconds; does a loop never stop?"
        frames.append(json.dumps({"n": None, "error": text}).encode())
    finally:
        sys.settrace(before)
    return frames


def _frames(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at + _HEAD <= len(data):
        size = int.from_bytes(data[at : at + _HEAD], "big")
        if at + _HEAD + size > len(data):
            break
        found.append(data[at + _HEAD : at + _HEAD + size])
        at += _HEAD + size
    return found


# ---- back here
# ---------------------------------------------------------------------------------------------------------------


def read_frames(
    frames: Sequence[bytes], collective: str, ranks: Sequence[int], helpers: int = 0, ending: str = ""
) -> Attempt:
    """Schedules from frames, every one checked again as if a stranger had sent it."""
    schedules: dict[int, Schedule] = {}
    printed, done = "", False
    failed: int | None = None
    error: ScheduleError | None = None
    for frame in frames:
        try:
            head_text, _, body = frame.partition(b"\n")
            head = json.loads(head_text)
            if head.get("done"):
                printed, done = printable(str(head["printed"])[:_MOST_PRINTED]), True
            elif "error" in head and error is None:
                failed = next((n for n in ranks if n not in schedules), ranks[-1])
                error = ScheduleError(
                    printable(str(head["error"])), **{k: _whole(head.get(k)) for k in ("step", "rank", "chunk")}
                )
            elif error is None and head["n"] in ranks:
                schedules[int(head["n"])] = _unpacked(head, body, collective, helpers)
        except CollsimError as wrong:
            failed, error = failed or int(head["n"]), ScheduleError(str(wrong))
        except (ValueError, KeyError, TypeError, AttributeError):
            failed = next((n for n in ranks if n not in schedules), ranks[-1])
            error = ScheduleError("the process of the function sent something that is not a table of transfers")
            break
    missing = next((n for n in ranks if n not in schedules), None)
    if error is None and (not done or missing is not None):
        failed, error = missing or ranks[-1], ScheduleError(ending or "the function did not end")
    return Attempt(schedules, failed, error, printed)


def printable(text: str) -> str:
    """A stranger's text without characters that move a terminal's cursor or hide what stands there."""
    return "".join(c if c.isprintable() or c in "\n\N{NO-BREAK SPACE}" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _unpacked(head: dict[str, Any], body: bytes, collective: str, helpers: int) -> Schedule:
    table = np.frombuffer(body, np.int32).reshape(len(COLUMNS), -1)
    steps, at = [], 0
    for size, times, shift, modulus in head["patterns"]:
        part = table[:, at : at + int(size)]
        src, dst, chunk, into, reduces, channel = (np.ascontiguousarray(column) for column in part)
        steps.append(Step(src, dst, chunk, into, reduces != 0, channel, int(times), int(shift), int(modulus)))
        at += int(size)
    n, kind = int(head["n"]), find_collective(collective)
    chunks = int(head["chunks"])
    _refuse_too_much(head, n + helpers)
    if chunks < 1 or (kind.blocks and chunks % n):
        raise ScheduleError(f"{chunks} chunks do not fit {collective} with {n} ranks")
    slots = max(int(head["slots"]), kind.slots(chunks))
    name = printable(str(head["name"])[:60])
    return freeze(
        name, collective, n, steps, chunks=chunks, slots=slots, block=n if kind.blocks else 1, helpers=helpers
    )


def _refuse_too_much(head: dict[str, Any], endpoints: int) -> None:
    """What the caller's process would have to hold or walk through stays within bounds, whoever made the table."""
    limits = Limits()
    patterns = [(int(size), int(times), int(modulus)) for size, times, _, modulus in head["patterns"]]
    if any(size < 0 or times < 1 or modulus < 1 for size, times, modulus in patterns):
        raise ScheduleError("a pattern is repeated less than once")
    slots = max(int(head["slots"]), int(head["chunks"]))
    if slots * endpoints > _MOST_SLOTS:
        raise ScheduleError(
            f"chunk {slots - 1:,} is used; with {endpoints} ranks at most {_MOST_SLOTS // endpoints:,} chunks are "
            "checked"
        )
    if (
        sum(size * times for size, times, _ in patterns) > limits.transfers
        or sum(times for _, times, _ in patterns) > limits.steps
    ):
        raise ScheduleError(f"more than {limits.transfers:,} transfers or {limits.steps:,} steps")
