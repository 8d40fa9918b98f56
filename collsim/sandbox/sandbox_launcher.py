"""The one launcher: a job runs in a process that this one watches from outside, isolated from the system.

Two ways in. `run_sandboxed` starts a fresh Python that knows nothing of this process, for code of others: the Write
page and grading. `run_in_child` runs a function that exists only in this process, a learner's own in their own kernel,
in a copy of it. Either way a process in between or this one reads what comes, counts it, looks at the clock, and ends
what is late; the job can reach neither (see `isolation`).
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..plugins import disable
from . import system
from .attempt import Ended
from .frames import Ending, read_endings
from .handins import File
from .isolation import (
    TEMPORARY_FOLDER,
    Isolation,
    NoIsolation,
    build_bubblewrap_command,
    detect_isolation,
    enter_sandbox,
    list_readable_paths,
)
from .jobs import Job, SandboxTask, run_tasks
from .learner_tables import DeadlinePassed
from .resource_limits import OPEN_FILES, Limits

_ROOT = str(Path(__file__).resolve().parents[2])
_START = "from collsim.sandbox.student_process import main; main()"
_START_SECONDS = 20.0  # for Python itself to start on a busy server
# A fork beside threads: the child only calls the function. The filter concerns this module alone and stays.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=__name__)
#: Bytes that are read at a time: as many as a pipe of Linux holds.
_PART = 1 << 16
#: Signals that ask a late process for its line, and how long it may take to answer each.
_QUESTIONS = tuple(getattr(signal, name) for name in ("SIGXCPU", "SIGQUIT") if hasattr(signal, name))
_ANSWER_SECONDS = 1.0


# ---- a fresh process


def run_sandboxed(
    files: Sequence[File],
    tasks: Sequence[SandboxTask],
    limits: Limits,
    *,
    find: bool = False,
    allow_unsandboxed: bool = False,
    isolation: Isolation | None = None,
) -> Iterator[tuple[int, Ended]]:
    """Run functions of a stranger's files, each in a process of its own.

    Args:
        files: as they were handed in.
        tasks: functions to call.
        limits: of each task.
        find: look first which exercises the files answer, and run only these.
        allow_unsandboxed: run the code also where this system cannot isolate it; whoever calls has agreed to that.
        isolation: another isolation than the best that this system offers.

    Returns:
        Positions of tasks with how these ended; -1 is the position of the look at the files. A position is missing
        where the process around all of them ended early, which happens only without isolation.

    Raises:
        NoIsolation: This system cannot isolate a process, and `allow_unsandboxed` is False.
    """
    isolation = isolation or detect_isolation()
    if isolation is Isolation.NONE and not allow_unsandboxed:
        raise NoIsolation
    if sys.platform == "emscripten":  # a browser, where there are no processes
        return run_tasks(files, tasks, find, limits, lambda job: _run_here(job, limits))
    job = {
        "files": [[file.name, base64.b64encode(file.data).decode()] for file in files],
        "tasks": [asdict(task) for task in tasks],
        "limits": asdict(limits),
        "find": find,
        "isolation": isolation,
        "places": list_readable_paths(),
    }
    return _run_process(isolation, json.dumps(job).encode(), limits, len(tasks) + find)


def _build_command(isolation: Isolation) -> list[str]:
    further = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    start = f"import sys; sys.path[:] = [{_ROOT!r}, *sys.path, *{further!r}]; {_START}"
    return [*build_bubblewrap_command(isolation), sys.executable, "-I", "-c", start]


def _build_environment(isolation: Isolation) -> dict[str, str]:
    """Nothing of this process's but what Windows asks for; one thread for each library, as no more can be started."""
    room = TEMPORARY_FOLDER
    if isolation is Isolation.NONE:
        room = tempfile.gettempdir()
    inherited = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH") if os.name == "nt" and name in os.environ}
    single = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")}
    return {**inherited, **single, "HOME": room, "TMPDIR": room, "MPLCONFIGDIR": room, "PYTHONDONTWRITEBYTECODE": "1"}


def _run_process(isolation: Isolation, job: bytes, limits: Limits, many: int) -> Iterator[tuple[int, Ended]]:
    """What the process around the tasks says until it ends or is late; then it is ended with all that it started."""
    process = subprocess.Popen(
        _build_command(isolation),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tempfile.gettempdir(),
        env=_build_environment(isolation),
        start_new_session=True,
    )
    watch = threading.Timer(_START_SECONDS + (limits.seconds + 2) * many, _end_group, (process,))
    watch.daemon = True
    watch.start()
    with process:
        try:
            yield from _read_answers(process, job, limits, many)
        finally:
            watch.cancel()
            _end_group(process)


def _read_answers(
    process: subprocess.Popen[bytes], job: bytes, limits: Limits, many: int
) -> Iterator[tuple[int, Ended]]:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):  # it ended at once
        process.stdin.write(job)
        process.stdin.close()
    for number, how, data in read_endings(process.stdout.read, limits.output):
        if -1 <= number < many:
            yield number, Ended(data, how)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """The process and what it started; an isolated process cannot leave its group."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()


# ---- a copy of this process


def run_in_child(job: Job, limits: Limits, isolation: Isolation, readable: Sequence[str] | None = None) -> Ended:
    """Run a job in a copy of this process; in this process itself where the system has no fork.

    Args:
        job: is called with a function that sends a frame.
        limits: of the job.
        isolation: how the copy is isolated.
        readable: files and folders that the copy may read; all that the user may, where None.

    Returns:
        The frames that it sent, and how it ended.
    """
    if hasattr(os, "fork"):
        return run_forked(job, limits, isolation, readable)
    return _run_here(job, limits)


def run_forked(job: Job, limits: Limits, isolation: Isolation, readable: Sequence[str] | None = None) -> Ended:
    """Run a job in a forked child; arguments and result as of `run_in_child`.

    Args:
        job: what the child does.
        limits: of time, memory and output.
        isolation: what keeps the child apart from the system.
        readable: paths that it may read; None for those of Python and collsim.
    """
    ours, theirs = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _run_child(job, theirs, limits, isolation, readable, parent)
    os.close(theirs)
    try:
        data, how = _read(ours, limits, child)
    finally:
        os.close(ours)
        status = _end(child)
    return Ended(data, how if how else _read_status(status))


def _run_child(
    job: Job, out: int, limits: Limits, isolation: Isolation, readable: Sequence[str] | None, parent: int
) -> None:
    code = 1
    try:
        disable()
        os.setsid()
        _end_with(parent)
        out = _close_files(out)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
        if limits.asks_for_line and hasattr(faulthandler, "register"):  # Windows has no signals
            faulthandler.register(signal.SIGQUIT, out, all_threads=False)
        _restrict(limits)
        enter_sandbox(isolation, readable=readable)
        job(lambda frame: _send(out, frame))
        code = 0
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def _end_with(parent: int) -> None:
    """This process is killed when the thread that forked it ends, however that ends; at once where it is gone."""
    with contextlib.suppress(OSError):
        system.call_prctl(system.DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call, which tells nobody of that
            os.kill(os.getpid(), signal.SIGKILL)


def _close_files(out: int) -> int:
    """Close everything but the way out; what a library prints goes nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    if out != 3:
        os.dup2(out, 3)
    os.closerange(4, 1 << 16)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    return 3


def _send(out: int, frame: bytes) -> None:
    left = memoryview(frame)
    while left:
        left = left[os.write(out, left) :]


def _restrict(limits: Limits) -> None:
    """Seconds of processor time, bytes of memory beyond what the process has now, no file, no core dump, no more
    processes."""
    import resource

    limit_by_name = {
        "CPU": int(limits.seconds + len(_QUESTIONS) * _ANSWER_SECONDS) + 1,
        "FSIZE": 0,
        "CORE": 0,
        "NPROC": 0,  # threads count as well; root is not held by it, but by the filter
        "NOFILE": OPEN_FILES,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
    }
    if sys.platform == "linux":  # macOS takes the limit and does not keep to it
        limit_by_name["AS"] = _measure_memory() + limits.memory
    for name, most in limit_by_name.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            if hard != resource.RLIM_INFINITY:
                most = min(most, hard)
            resource.setrlimit(kind, (most, most))


def _measure_memory() -> int:
    """Bytes of address space that this process has. A sandbox has no /proc; there the limit itself tells."""
    import resource

    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()
    low, high = 0, 1 << 40
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    while high - low > 1 << 20:
        middle = (low + high) // 2
        low, high = (low, middle) if _can_map_page(middle, hard) else (middle, high)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return high


def _can_map_page(most: int, hard: int) -> bool:
    """Whether one more page of memory stays below a limit."""
    import mmap
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        mmap.mmap(-1, mmap.PAGESIZE).close()
    except (OSError, ValueError, MemoryError):
        return False
    return True


def _read(ours: int, limits: Limits, child: int) -> tuple[bytes, int]:
    """What the child writes until it ends, says too much, or the time is over."""
    deadline = time.monotonic() + limits.seconds
    questions = list(_QUESTIONS) if limits.asks_for_line else []
    parts: list[bytes] = []
    total = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            if not questions:
                break
            os.kill(child, questions.pop(0))
            deadline = time.monotonic() + _ANSWER_SECONDS
            continue
        if not select.select([ours], [], [], left)[0]:
            continue
        part = os.read(ours, _PART)
        if not part:
            return b"".join(parts), Ending.WELL
        parts.append(part)
        total += len(part)
        if total > limits.output:
            return b"".join(parts), Ending.TOO_MUCH
    return b"".join(parts), Ending.LATE


def _end(child: int) -> int:
    """Whatever the child is doing, it ends now, with what it started; how it ended, as `os.waitpid` says."""
    for _ in range(2):  # one that has closed its way out may be about to end by itself
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    return status


def _read_status(status: int) -> int:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        endings: dict[int, int] = {signal.SIGXCPU: Ending.LATE, signal.SIGKILL: Ending.BADLY}
        return endings.get(number, -number)
    if os.WEXITSTATUS(status) == 0:
        return Ending.WELL
    return Ending.BADLY


# ---- here


def _run_here(job: Job, limits: Limits) -> Ended:
    """In this process, where none can be forked: every instruction of the function looks at the clock."""
    deadline = time.monotonic() + limits.seconds
    sent: list[bytes] = []

    def watch(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True  # a loop on one line has no other events
        if time.monotonic() > deadline:
            raise DeadlinePassed
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    how = Ending.WELL
    try:
        job(sent.append)
    except DeadlinePassed:
        how = Ending.LATE
    finally:
        sys.settrace(before)
    return Ended(b"".join(sent), how)
