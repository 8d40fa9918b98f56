"""A table of who solved what. Students' code runs in processes of its own, with limits; the verdict is made here.

All hand-ins are read before any is run, and every result is on disk before the next student's code runs, so that
nothing that one student's code does can lose another's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...display.progress import open_progress
from ...errors import CollsimError, describe_unknown, require_language
from ...errors.arguments import check_arguments
from ...errors.dependencies import pandas as pd
from ...files import format_csv, replace_file, require_writable_file, unguard_cell
from ...sandbox import Isolation, Limits, NoIsolation, detect_isolation
from ...sandbox.attempt import Ended, read_attempt
from ...sandbox.frames import Ending, Kind, read_numbers, read_text, replace_unprintable, split_frames
from ...sandbox.jobs import FINDING, SandboxTask
from ...sandbox.resource_limits import MAX_PRINTED
from ...sandbox.sandbox_launcher import run_sandboxed
from .exercise import Exercise, Result, judge_attempt
from .kinds.program_task import ProgramTask
from .program_exercise import ProgramExercise, ProgramResult, judge_ended
from .submissions import Submission, list_submissions
from .tasks import GRADED

COLUMNS = ["student", "exercise", "passed", "reason", "gap", "digest"]
_DID_NOT_RETURN = "its code was run and ended the grading; start the grading again to go on with the others"


@check_arguments
def grade(
    folder: Path | str,
    *,
    only: str | Sequence[str] | None = None,
    out: Path | str | None = None,
    language: str = "en",
    limits: Limits | None = None,
    allow_unsandboxed: bool = False,
    progress: Callable[[int, int, str], None] | bool | None = None,
) -> pd.DataFrame:
    """Check every student's functions; a row per student and exercise handed in.

    A student hands in `name.py`, `name.ipynb`, `name.json` (the progress file) or a folder `name/` of these; the
    function for exercise `ring-allreduce` is called `ring_allreduce`. A rank program is a file with a function of
    that name, or a text of it.

    Args:
        folder: where these lie; or a zip of them, as Moodle, Canvas or a file manager packs it.
        only: names of exercises, or one name; all unless given.
        out: a CSV file that is complete after every student; students whose code has not changed since are not run
            again for the exercises that an earlier call with the same file graded. Its results of other exercises stay
            in the file.
        language: `en` or `zh`, the language of the reasons.
        limits: seconds and bytes for each function.
        allow_unsandboxed: run the code also where this system cannot isolate it (see SECURITY.md).
        progress: True for a bar, or a function of (students done, in all, student).

    Returns:
        Columns student, exercise, passed, reason, gap (time over bound), digest (of the code; after it the exercises,
        where `only` chose them). `summary` makes the table to show a class.

    Raises:
        CollsimError: A name is unknown, or the folder cannot be read.
        NoIsolation: This system cannot isolate the code, and `allow_unsandboxed` is False.

    Examples:
        >>> import collsim as cs
        >>> from pathlib import Path
        >>> Path("handed-in").mkdir()
        >>> _ = Path("handed-in", "ada.py").write_text("def ring_allreduce(n): pass")
        >>> table = cs.grade("handed-in", only="ring-allreduce", allow_unsandboxed=True)
        >>> table[["student", "exercise", "passed"]].values.tolist()
        [['ada', 'ring-allreduce', False]]
    """
    if isinstance(only, str):
        only = [only]
    for name in only or ():
        if name not in GRADED:
            raise CollsimError(describe_unknown("exercise", name, GRADED))
    require_language(language)
    if detect_isolation() is Isolation.NONE and not allow_unsandboxed:
        raise NoIsolation
    target = None if out is None else Path(out)
    if target is not None:
        require_writable_file(target)
    with open_progress(progress, "students", "students done", "in all", "student") as report_progress:
        return _build_frame(
            _grade_all(list_submissions(folder), only, target, language, limits or Limits(), report_progress)
        )


def _grade_all(
    submitted: Sequence[Submission],
    only: Sequence[str] | None,
    target: Path | None,
    language: str,
    limits: Limits,
    report_progress: Callable[..., None] | None,
) -> list[dict[str, object]]:
    """Grade one submission after another; the table is on disk before and after the code of each runs."""
    known = _read_known_rows(target)
    rows: list[dict[str, object]] = []
    retained: list[dict[str, object]] = []  # earlier results that this call neither needs nor replaces
    for done, submission in enumerate(submitted):
        if report_progress is not None:
            report_progress(done, len(submitted), submission.student)
        graded, other_exercises = _split_known(known, submission, only)
        retained += other_exercises
        waiting = {submission.student for submission in submitted[done + 1 :]}
        not_yet = [row for row in known if row["student"] in waiting]
        if not graded:
            _write_table(
                target, [*rows, _build_row(submission, only, "", False, _DID_NOT_RETURN, None), *retained, *not_yet]
            )
            try:
                graded = _grade_submission(submission, only, language, limits)
            except BaseException:  # Ctrl-C: this student is not done, and not to blame
                _write_table(target, [*rows, *retained, *not_yet])
                raise
        rows += graded
        _write_table(target, [*rows, *retained, *not_yet])
    return rows


@check_arguments
def summarize(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per student, a column per exercise in their order with 1 (passed), 0 (not yet) or nothing, and the sum.

    Args:
        frame: of `grade`.

    Returns:
        The table, students as its index.

    Examples:
        >>> import collsim as cs
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"student": ["ada", "bob"], "exercise": "ring-allreduce", "passed": [True, False]})
        >>> cs.teach.summarize(frame).passed.to_dict()
        {'ada': 1, 'bob': 0}
    """
    order = [name for name in GRADED if name in set(frame["exercise"])]
    table = frame[frame["exercise"] != ""].pivot_table(
        index="student", columns="exercise", values="passed", aggfunc="max"
    )
    table = table.reindex(index=sorted(set(frame["student"])), columns=order).astype("Float64").astype("Int64")
    table.insert(0, "passed", table.sum(axis=1, skipna=True).astype(int))
    return pd.DataFrame(table)


# ---- one student


def _grade_submission(
    submission: Submission, only: Sequence[str] | None, language: str, limits: Limits
) -> list[dict[str, object]]:
    problems = [submission.problem] if submission.problem else []
    rows: list[dict[str, object]] = []
    names = [name for name in GRADED if only is None or name in only] if submission.files else []
    while names:
        answered, unreadable, endings = _run_submission(submission, names, limits)
        problems += [problem for problem in unreadable if problem not in problems]
        rows += [_judge_exercise(submission, only, name, language, ended, limits) for name, ended in endings.items()]
        stuck = [name for name in answered if name not in endings]
        if stuck:  # its process ended with work left: the next in line did it
            rows.append(_build_row(submission, only, stuck[0], False, "its code ended the process that ran it", None))
        names = stuck[1:]
    if not rows and not problems:
        known = ", ".join(name.replace("-", "_") for name in GRADED)
        problems = [f"no function is named like an exercise; known: {known}"]
    return [*([_build_row(submission, only, "", False, "; ".join(problems), None)] if problems else []), *rows]


def _run_submission(
    submission: Submission, names: Sequence[str], limits: Limits
) -> tuple[list[str], list[str], dict[str, Ended]]:
    """The exercises that the files answer, why some could not be read, and how the process of each function ended."""
    tasks = [_build_task(name) for name in names]
    endings: dict[str, Ended] = {}
    search = Ended()
    for number, ended in run_sandboxed(submission.files, tasks, limits, find=True, allow_unsandboxed=True):
        if number == FINDING:
            search = ended
        else:
            endings[names[number]] = ended
    answered, problems = _read_search(submission, names, search, limits)
    return answered, problems, endings


def _build_task(name: str) -> SandboxTask:
    task = GRADED[name]
    if isinstance(task, ProgramTask):
        return SandboxTask(name, task.function_request, program=task.request)
    return SandboxTask(name, task.function_request)


def _read_search(
    submission: Submission, names: Sequence[str], search: Ended, limits: Limits
) -> tuple[list[str], list[str]]:
    """What the process says that looked into the files; nothing of it is believed but which exercises to run."""
    answered, problems, done = set(), [], False
    for kind, body in split_frames(search.data):
        (file, exercise), _ = read_numbers(body, 2)
        if kind == Kind.DONE:
            done = True
        elif kind == Kind.FOUND and 0 <= exercise < len(names):
            answered.add(exercise)
        elif kind == Kind.PROBLEM and 0 <= file < len(submission.files):
            problems.append(
                replace_unprintable(submission.files[file].name)
                + ": "
                + read_text(read_numbers(body, 1)[1], MAX_PRINTED)
            )
    if not done or search.how != Ending.WELL:
        late = f"did not end within {limits.seconds:g} seconds"
        problems.append(f"reading what was handed in {late if search.how == Ending.LATE else 'ended the process'}")
    return [names[number] for number in sorted(answered)], problems


def _judge_exercise(
    submission: Submission, only: Sequence[str] | None, name: str, language: str, ended: Ended, limits: Limits
) -> dict[str, object]:
    task = GRADED[name]
    result: Result | ProgramResult
    try:
        if isinstance(task, ProgramTask):
            result = judge_ended(ProgramExercise(task, language), ended, limits)
        else:
            result = judge_attempt(Exercise(task, language), read_attempt(ended, task.function_request, limits))
    except Exception as error:  # the border again: one table that nobody thought of does not stop the others
        return _build_row(
            submission,
            only,
            name,
            False,
            f"its steps cannot be judged: {replace_unprintable(str(error))[:MAX_PRINTED]}",
            None,
        )
    return _build_row(submission, only, name, result.passed, result.reason, result.gap)


# ---- the table


def _build_row(
    submission: Submission, only: Sequence[str] | None, exercise: str, passed: bool, reason: str, gap: float | None
) -> dict[str, object]:
    outcome = {"exercise": exercise, "passed": passed, "reason": reason, "gap": gap}
    return {"student": submission.student, **outcome, "digest": _build_digest(submission, only)}


def _build_digest(submission: Submission, only: Sequence[str] | None) -> str:
    """What a row is a result of: the code, and the exercises where not all were graded."""
    return submission.digest if only is None else f"{submission.digest}:{'+'.join(sorted(set(only)))}"


def _split_known(
    known: Sequence[dict[str, object]], submission: Submission, only: Sequence[str] | None
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Earlier rows of a submission: those that answer this call, if it was graded already; those of other exercises.

    A table of an earlier `only` says nothing of the exercises that it left out, so it answers the same `only` alone.
    """
    rows = [
        row
        for row in known
        if row["student"] == submission.student and str(row["digest"]).partition(":")[0] == submission.digest
    ]
    chosen = {"", *(GRADED if only is None else only)}
    is_complete = any(row["digest"] == submission.digest for row in rows)
    digest = submission.digest if is_complete else _build_digest(submission, only)
    graded = [row for row in rows if row["digest"] == digest and row["exercise"] in chosen]
    return graded, [row for row in rows if row["exercise"] not in chosen]


def _build_frame(rows: Sequence[dict[str, object]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    return frame.astype({"passed": bool, "gap": float})


def _write_table(target: Path | None, rows: Sequence[dict[str, object]]) -> None:
    """Write the table so far, whole or not at all; readable by its owner only, and a link in its place is replaced, not
    followed."""
    if target is not None:
        with replace_file(target, is_private=True) as fresh:
            fresh.write_text(format_csv(_build_frame(rows)), encoding="utf-8", newline="")


def _read_known_rows(target: Path | None) -> list[dict[str, object]]:
    """Rows of an earlier grading."""
    if target is None or not target.is_file():
        return []
    try:
        frame = pd.read_csv(
            target, dtype={"student": str, "exercise": str, "reason": str, "digest": str}, keep_default_na=True
        )
        frame = frame.fillna({"exercise": "", "reason": ""})[COLUMNS]
    except (ValueError, KeyError) as error:
        template = "{target!r} is not a table of grades: {error}; give another name"
        raise CollsimError(template, target=str(target), error=error) from error
    return [{str(k): unguard_cell(v) for k, v in row.items()} for row in frame.to_dict("records")]
