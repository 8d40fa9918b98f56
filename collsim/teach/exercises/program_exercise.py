"""Exercises that are answered by a rank program.

>>> from collsim.teach import exercise
>>> print(exercise("make-it-right").hint(1))
Who receives while all send?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...errors import CollsimError
from ...locale import Text, build_text
from ...programs import ProgramRun
from ...programs.judge import judge
from ...programs.program_entry import program
from ...rank_engine.expected import build_expectation, make_input
from ...rank_engine.record import unpack_executions
from ...sandbox.attempt import Ended, describe_ending, read_failure
from ...sandbox.frames import Kind, split_frames
from ...sandbox.resource_limits import Limits
from ...simulate.trace import views
from ...units import parse_bytes
from .kinds.localized_task import CheckedAnswer, LocalizedTask
from .kinds.program_task import ProgramTask

_NO_RESULT = "the process of the program sent something that is no result"
_MAX_REASON = 200  # characters of what a stranger's process causes


@dataclass(frozen=True, repr=False)
class ProgramExercise(LocalizedTask):
    """A task in one language. `check(program)` says whether a program solves it; `hint(1)` to `hint(3)` help.

    Attributes:
        task: what is asked, in both languages.

    Examples:
        >>> import collsim as cs
        >>> cs.exercise("make-it-right").title
        'Make it right'
    """

    task: ProgramTask

    @property
    def starter(self) -> str:
        """The program to begin with."""
        return self.task.starter

    def check(
        self, answer: str | Callable[..., object], *, record: bool = True, allow_unsandboxed: bool = False
    ) -> ProgramResult:
        """Run a program with several numbers of ranks, and say what is wrong first.

        Args:
            answer: Python source, or a function; as `cs.program` takes it.
            record: note the outcome in the progress file.
            allow_unsandboxed: run it also where this system has no sandbox.

        Returns:
            Whether it solves the exercise, with the reason and the run.
        """
        runs: dict[int, ProgramRun] = {}
        try:
            for n in self.task.ranks:
                runs[n] = program(
                    answer,
                    n,
                    self.task.collective,
                    nbytes=self.task.nbytes,
                    eager_limit=0,
                    allow_unsandboxed=allow_unsandboxed,
                )
                if _find_fault(self.task, n, runs[n]) is not None:
                    break
            result = judge_runs(self, runs)
        except CollsimError as error:
            result = ProgramResult(self, False, error.text(self.language))
        if record:
            from .solved_exercises import record_result

            record_result(result, answer)
        return result

    def _format_limits(self) -> str:
        numbers = ", ".join(map(str, self.task.ranks))
        return self.say(build_text("exercises", "program_exercise.tried_ranks", numbers=numbers))


@dataclass(frozen=True, eq=False, repr=False)
class ProgramResult(CheckedAnswer):
    """What a check found. Printed, it gives its reason; in a notebook it also shows the run.

    Attributes:
        exercise: what was to be solved.
        run: the run that failed; if none did, the last.
        gap: always None, since programs are not compared with a bound.

    Examples:
        >>> import collsim as cs
        >>> cs.exercise("make-it-right").check("result = 1", record=False).passed
        False
    """

    exercise: ProgramExercise
    run: ProgramRun | None = None
    gap: None = None

    def _repr_html_(self) -> str:
        import html

        text = f"<pre>{html.escape(str(self))}</pre>"
        if self.run is not None and not self.passed:
            text += views["program_html"](self.run, self.exercise.language)
        return text


def judge_runs(exercise: ProgramExercise, runs: Mapping[int, ProgramRun]) -> ProgramResult:
    """Say what the runs of a program are worth.

    Args:
        exercise: what was asked.
        runs: by number of ranks, in the order in which they were tried.

    Returns:
        The first fault, or what was achieved.
    """
    for n, run in runs.items():
        fault = _find_fault(exercise.task, n, run)
        if fault is not None:
            return ProgramResult(exercise, False, exercise.say(fault), run)
    tried = ", ".join(map(str, runs))
    n, run = list(runs.items())[-1]
    if exercise.task.verdict == "hangs":
        good = build_text("exercises", "program_exercise.hangs_ranks_all_them", tried=tried)
    else:
        share = f"{_share(exercise.task, run):.4g}"
        good = build_text("exercises", "program_exercise.right_ranks_busiest_sends", tried=tried, n=n, share=share)
    return ProgramResult(exercise, True, exercise.say(good), run)


def judge_ended(exercise: ProgramExercise, ended: Ended, limits: Limits) -> ProgramResult:
    """Say what a program that was handed in is worth, from what its process sent.

    Args:
        exercise: what was asked.
        ended: how the process ended, and what it sent; nothing of it is believed.
        limits: of the process.

    Returns:
        The first fault, or what was achieved.
    """
    task, runs = exercise.task, dict[int, ProgramRun]()
    numbers = iter(task.ranks)
    for kind, body in split_frames(ended.data):
        if kind == Kind.FAILED:
            reason = CollsimError(read_failure(body)).text(exercise.language)
            return ProgramResult(exercise, False, reason or CollsimError(_NO_RESULT).text(exercise.language))
        n = next(numbers, None)
        if kind != Kind.EXECUTIONS or n is None:
            break
        try:
            executions = unpack_executions(bytes(body))
            runs[n] = judge(n, executions, _expect(task, n, executions[0].results), 0)
            if _find_fault(task, n, runs[n]) is not None:
                return judge_runs(exercise, runs)
        except (CollsimError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            return ProgramResult(exercise, False, str(error)[:_MAX_REASON])
    if len(runs) < len(task.ranks):
        return ProgramResult(exercise, False, describe_ending(ended.how, limits).text(exercise.language))
    return judge_runs(exercise, runs)


def _expect(task: ProgramTask, n: int, results: tuple[object, ...]) -> Callable[[int], object]:
    """The right results; arrays of 4 or of 8 bytes an element, as the program's library has them."""
    if len(results) != n:
        raise CollsimError(_NO_RESULT)
    elements = parse_bytes(task.nbytes) // 4
    if np.size(np.asarray(results[0], dtype=object)) == elements // 2:
        elements //= 2
    return build_expectation(task.collective, n, partial(make_input, elements=elements, dtype=float))


def _share(task: ProgramTask, run: ProgramRun) -> float:
    """Buffers that the busiest rank sends."""
    return max(run.sent, default=0) / parse_bytes(task.nbytes)


def _find_fault(task: ProgramTask, n: int, run: ProgramRun) -> Text | None:
    """What is wrong with a run, or None."""
    reason = run.explanation("en"), run.explanation("zh")
    if any(event.kind == "collective" for event in run.execution.events):
        return build_text("exercises", "program_exercise.ranks_calls_collective_library", n=n)
    if task.verdict == "hangs":
        if run.verdict != "hangs":
            return build_text("exercises", "program_exercise.ranks_does_not_hang", n=n, reason=reason)
        if len(run.cycle or ()) < n:
            return build_text("exercises", "program_exercise.ranks_hangs_but_not", n=n, reason=reason)
        return None
    if run.verdict != "right":
        return build_text("exercises", "program_exercise.ranks", n=n, reason=reason)
    share = _share(task, run)
    if task.sent is not None and share > task.sent(n) * (1 + 1e-9):
        most = f"{task.sent(n):.4g}"
        return build_text("exercises", "program_exercise.ranks_right_but_busiest", n=n, share=f"{share:.4g}", most=most)
    return None
