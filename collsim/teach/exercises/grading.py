"""A table of who solved what. Students' code runs in processes of its own, with limits; the verdict is made here.

All hand-ins are read before any is run, and every result is on disk before the next student's code runs, so that
nothing that one student's code does can lose another's result.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...bar import told
from ...errors import CollsimError, unknown
from .. import guard
from ..language import language
from .exercise import Exercise, judged
from .submissions import Submission, submissions
from .tasks import TASKS

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["student", "exercise", "passed", "reason", "gap", "digest"]
_ROOT = str(Path(__file__).resolve().parents[3])
_START = f"import sys; sys.path.insert(0, {_ROOT!r}); from collsim.teach.worker import main; main()"
_HOME = "collsim-grade-"
_OLD = 24 * 3600.0  # seconds; what a student hands in takes minutes
_DID_NOT_RETURN = "its code was run and ended the grading; start the grading again to go on with the others"


def grade(
    folder: Path | str,
    *,
    only: Sequence[str] | None = None,
    out: Path | str | None = None,
    lang: str = "en",
    limits: guard.Limits | None = None,
    progress: Callable[[int, int, str], None] | bool | None = None,
) -> pd.DataFrame:
    """Check every student's functions; a row per student and exercise handed in.

    A student hands in `name.py`, `name.ipynb`, `name.json` (the progress file) or a folder `name/` of these; the
    function for exercise `ring-allreduce` is called `ring_allreduce`.

    Args:
        only: names of exercises; all unless given.
        out: a CSV file that is complete after every student; students whose code has not changed since are not run
        again. limits: seconds and bytes for each function.
        progress: True for a bar, or a function of (students done, in all, student).

    Returns:
        Columns student, exercise, passed, reason, gap (time over bound), digest (of the code). `summary` makes the
        table for a wall.
    """
    for name in only or ():
        if name not in TASKS:
            raise CollsimError(unknown("exercise", name, TASKS))
    language(lang)
    _clear_up()
    handed = submissions(folder)
    target = None if out is None else Path(out)
    known = _known(target)
    rows: list[dict[str, Any]] = []
    with told(progress, "students", "students done", "in all", "student") as tell:
        for done, one in enumerate(handed):
            if tell is not None:
                tell(done, len(handed), one.student)
            before = [row for row in known if row["student"] == one.student and row["digest"] == one.digest]
            if not before:
                _keep(target, [*rows, _row(one, "", False, _DID_NOT_RETURN, None)])
                try:
                    before = _graded(one, only, lang, limits or guard.Limits())
                except BaseException:  # Ctrl-C: this student is not done, and not to blame
                    _keep(target, rows)
                    raise
            rows += before
            _keep(target, rows)
    return _frame(rows)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per student, a column per exercise in their order with 1 (passed), 0 (not yet) or nothing, and the sum."""
    import pandas as pd

    order = [name for name in TASKS if name in set(frame["exercise"])]
    table = frame[frame["exercise"] != ""].pivot_table(
        index="student", columns="exercise", values="passed", aggfunc="max"
    )
    table = table.reindex(index=sorted(set(frame["student"])), columns=order).astype("Float64").astype("Int64")
    table.insert(0, "passed", table.sum(axis=1, skipna=True).astype(int))
    return pd.DataFrame(table)


def _clear_up() -> None:
    """Remove the folders of gradings that were killed: each has the number of its process in its name, and has not
    changed for a day.

    The number alone would not do: containers that share a folder for temporary files do not see each other's processes.
    """
    if os.name != "posix":  # where signal 0 asks nothing, but ends the process
        return
    for left in Path(tempfile.gettempdir()).glob(f"{_HOME}*-*"):
        number = left.name.removeprefix(_HOME).partition("-")[0]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):  # another grading was faster
                if time.time() - left.stat().st_mtime > _OLD:
                    shutil.rmtree(left, ignore_errors=True)
        except (ValueError, OverflowError, PermissionError):
            continue


# ---- one student
# -----------------------------------------------------------------------------------------------------------


def _graded(one: Submission, only: Sequence[str] | None, lang: str, limits: guard.Limits) -> list[dict[str, Any]]:
    rows = []
    if one.problem:
        rows.append(_row(one, "", False, one.problem, None))
    left = [name for name in one.answers if only is None or name in only]
    while left:
        answered = _answers(one, left, limits)
        for name, made in answered.items():
            result = judged(Exercise(TASKS[name], lang), made)
            rows.append(_row(one, name, result.passed, result.reason, result.gap))
        stuck = [name for name in left if name not in answered]
        if stuck:  # its process ended with work left: the next in line did it
            rows.append(_row(one, stuck[0], False, "its code ended the process that ran it", None))
        left = stuck[1:]
    if not rows:
        rows.append(
            _row(
                one,
                "",
                False,
                f"no function is named like an exercise; known: {', '.join(n.replace('-', '_') for n in TASKS)}",
                None,
            )
        )
    return rows


def _answers(one: Submission, names: Sequence[str], limits: guard.Limits) -> dict[str, guard.Attempt]:
    """What the student's functions yielded, as far as their process got."""
    tasks = [_task(one, name) for name in names]
    with tempfile.TemporaryDirectory(prefix=f"{_HOME}{os.getpid()}-") as home:
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
            start_new_session=True,
        )
        job = json.dumps({"tasks": tasks, "limits": asdict(replace(limits, folder=home))}).encode()
        try:
            told, _ = process.communicate(job, timeout=30 + (limits.seconds + 2) * len(tasks))
        except subprocess.TimeoutExpired:
            process.kill()
            told, _ = process.communicate()
        except BrokenPipeError:
            process.kill()
            told = b""
    return _read(told, names)


def _task(one: Submission, name: str) -> dict[str, Any]:
    task, answer = TASKS[name], one.answers[name]
    what = {"exercise": name, "collective": task.collective, "ranks": task.ranks, "helpers": task.helpers}
    return {**what, "student": one.student, "code": answer.code, "function": answer.function}


def _read(told: bytes, names: Sequence[str]) -> dict[str, guard.Attempt]:
    found: dict[str, guard.Attempt] = {}
    for line in told.splitlines():
        try:
            held = json.loads(line)
            name, frames = held["exercise"], [base64.b64decode(f) for f in held["frames"]]
            ending = str(held["ending"])
        except (ValueError, KeyError, TypeError):
            break
        if name in names and name not in found:
            task = TASKS[name]
            found[name] = guard.read_frames(frames, task.collective, task.ranks, task.helpers, ending)
    return found


# ---- the table
# -------------------------------------------------------------------------------------------------------------


def _row(one: Submission, exercise: str, passed: bool, reason: str, gap: float | None) -> dict[str, Any]:
    return {
        "student": one.student,
        "exercise": exercise,
        "passed": passed,
        "reason": reason,
        "gap": gap,
        "digest": one.digest,
    }


def _frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    return frame.astype({"passed": bool, "gap": float})


def _keep(target: Path | None, rows: Sequence[dict[str, Any]]) -> None:
    """Write the table so far, whole or not at all."""
    if target is None:
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=".csv", dir=target.parent)
        os.close(handle)
        _frame(rows).to_csv(name, index=False)
        os.replace(name, target)
    except OSError as error:
        raise CollsimError(f"cannot write {str(target)!r}: {error.strerror}") from error


def _known(target: Path | None) -> list[dict[str, Any]]:
    """Rows of an earlier grading."""
    import pandas as pd

    if target is None or not target.is_file():
        return []
    try:
        frame = pd.read_csv(
            target, dtype={"student": str, "exercise": str, "reason": str, "digest": str}, keep_default_na=True
        )
        frame = frame.fillna({"exercise": "", "reason": ""})[COLUMNS]
    except (ValueError, KeyError) as error:
        raise CollsimError(f"{str(target)!r} is not a table of grades: {error}; give another name") from error
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]
