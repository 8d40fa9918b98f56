"""Try a learner's code: read it, run it in a process of its own, check what it yields, and say where it goes wrong.

Nothing here knows Streamlit. What is returned is plain: sentences as keys and values, a schedule, a Trace.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import collsim as cs
from collsim.errors import CollsimError, ScheduleError
from collsim.schedule import Schedule
from collsim.teach.chinese import chinese
from collsim.teach.guard import Attempt, Limits, attempt_frames, produce, read_frames

from ...scenario.mistakes import counted_from_one
from .allowed import Code, Forbidden, allowed

#: What one trial may use. `transfers` is for one number of ranks.
LIMITS = Limits(seconds=4.0, memory=512 * 2**20, steps=2_000, transfers=50_000)
#: So many trials at once; others of a large class wait their turn.
_ROOM = threading.BoundedSemaphore(4)
_START_SECONDS = 20.0  # for Python itself to start on a busy server
OTHERS = (2, 3, 4, 5, 6, 7, 8)
_FILE = "editor"
_ROOT = str(Path(__file__).resolve().parents[4])
_START = f"import sys; sys.path.insert(0, {_ROOT!r}); from collsim.teach.worker import main; main()"


@dataclass(frozen=True, eq=False)
class Trial:
    """What became of a piece of code.

    Attributes:
        ranks: the number of ranks that was asked for; `failed`: the one at which it went wrong, or None.
        schedule: the steps for `failed`, else for `ranks`; None where it did not come to steps.
        refused: why the code was not run at all.
        error: in English, steps counted from 1; `told("zh")` gives it in Chinese.
        step, rank, chunk: where it went wrong; the step counts from 0. `line` of the code, from 1.
        right_for: numbers of ranks for which it is right.
    """

    ranks: int
    schedule: Schedule | None = None
    refused: Forbidden | None = None
    failed: int | None = None
    error: str = ""
    step: int | None = None
    rank: int | None = None
    chunk: int | None = None
    line: int | None = None
    right_for: tuple[int, ...] = ()
    printed: str = ""

    @property
    def passed(self) -> bool:
        """Right for the number of ranks that was asked for."""
        return self.ranks in self.right_for

    def told(self, language: str) -> str:
        return chinese(self.error) if language == "zh" else self.error


def trial(text: str, collective: str, ranks: int) -> Trial:
    """Run the code for `ranks` ranks, then for 2 to 8, and check every result."""
    try:
        code = allowed(text)
    except Forbidden as refused:
        return Trial(ranks, refused=refused, line=refused.line)
    wanted = (ranks, *(n for n in OTHERS if n != ranks))
    made = _attempt(code, collective, wanted)
    right: list[int] = []
    for n, schedule in made.schedules.items():
        try:
            cs.verify(schedule)
            right.append(n)
        except CollsimError as error:
            return _wrong(
                ranks,
                n,
                error,
                schedule if n == ranks or ranks not in right else made.schedules[ranks],
                tuple(right),
                made.printed,
            )
    whole = made.schedules.get(ranks)
    if made.error is not None:
        return _wrong(ranks, made.failed or ranks, made.error, whole, tuple(right), made.printed)
    return Trial(ranks, whole, right_for=tuple(right), printed=made.printed)


def _wrong(
    ranks: int, n: int, error: CollsimError, schedule: Schedule | None, right: tuple[int, ...], printed: str
) -> Trial:
    place = {key: getattr(error, key, None) for key in ("step", "rank", "chunk")}
    text = str(error)
    if text.endswith(("No step writes it.", "It was never replaced.")):
        place["step"] = None
    line = re.search(rf" at line (\d+) of {_FILE}\.py", text)
    return Trial(
        ranks,
        schedule,
        failed=n,
        error=counted_from_one(re.sub(r"MemoryError: ?$", "it needs more memory than it may use", text)),
        line=int(line[1]) if line else None,
        right_for=right,
        printed=printed,
        **place,
    )


# ---- the process
# -----------------------------------------------------------------------------------------------------------------


def _attempt(code: Code, collective: str, ranks: tuple[int, ...]) -> Attempt:
    if not hasattr(os, "fork"):  # the same rules for the code, and a clock that stops it; no process of its own
        return attempt_frames(
            lambda send: produce(lambda: _function(code), collective, ranks, LIMITS, 0, send), collective, ranks, LIMITS
        )
    task = {"exercise": "write", "collective": collective, "ranks": ranks, "helpers": 0}
    task |= {"student": _FILE, "code": code.text, "function": code.function}
    with _ROOM, tempfile.TemporaryDirectory(prefix="collsim-write-") as home:
        told = _process(json.dumps({"tasks": [task], "limits": asdict(replace(LIMITS, folder=home))}).encode(), home)
    try:
        held = json.loads(told.splitlines()[0])
        frames = [base64.b64decode(frame) for frame in held["frames"]]
        return read_frames(frames, collective, ranks, 0, str(held["ending"]))
    except (ValueError, KeyError, TypeError, IndexError):
        why = f"the function did not end within {LIMITS.seconds:g} seconds; does a loop never stop?"
        return Attempt({}, ranks[0], ScheduleError(why))


def _process(job: bytes, home: str) -> bytes:
    """A fresh Python with an empty environment and an empty folder; it forks once more, and sets the limits and the
    fence there."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": home,
        "TMPDIR": home,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home,
        env=environment,
    )  # in the group of the worker that started it, and so it ends with it
    try:
        return process.communicate(job, timeout=LIMITS.seconds + _START_SECONDS)[0]
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.wait()
        return b""


def _function(code: Code) -> Any:
    space: dict[str, Any] = {"__name__": _FILE}
    exec(compile(code.text, f"{_FILE}.py", "exec"), space)
    return space[code.function]
