"""Exercises that are answered by a value, not by an algorithm: what to set in a step of training, how slow a cable
may be.

>>> from collsim.teach import exercise
>>> exercise("bucket-size").check("1MiB").passed
False
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....errors import CollsimError
from ....locale import Text
from ....simulate import Trace
from ....train import PipelineTiming, StepTrace
from .localized_task import CheckedAnswer, LocalizedTask, TaskTexts

#: What a value makes: a run, a step of training, or the passes of a pipeline.
Made = StepTrace | Trace | PipelineTiming


@dataclass(frozen=True)
class SettingTask(TaskTexts):
    """What such an exercise asks; the catalogs have its words.

    Attributes:
        name: as of a Task.
        judge: what a value is worth: is it right, why, and the run or step that it makes. Raises CollsimError for what
            is no value here.
    """

    name: str
    judge: Callable[[object], tuple[bool, Text, Made]]


@dataclass(frozen=True, repr=False)
class SettingExercise(LocalizedTask):
    """A task in one language. `check(value)` says whether a value is the right one; `hint(1)` to `hint(3)` help.

    Attributes:
        task: what is asked, in both languages.

    Examples:
        >>> import collsim as cs
        >>> cs.teach.settings()["small-bubble"].title
        'A small bubble'
    """

    task: SettingTask

    def check(self, value: object) -> SettingResult:
        """Run what is asked about with this value, and say what it is worth.

        Args:
            value: Of the setting: a number, or a text with a unit.

        Returns:
            Whether it passes, and why; a value that cannot be is a failed attempt with the error's sentence, and raises
                nothing.
        """
        try:
            passed, reason, trace = self.task.judge(value)
        except CollsimError as error:
            return SettingResult(self, False, error.text(self.language))
        return SettingResult(self, passed, self.say(reason), trace)


@dataclass(frozen=True, eq=False, repr=False)
class SettingResult(CheckedAnswer):
    """What a check found. Printed, it gives its reason.

    Attributes:
        exercise: what was to be solved.
        passed: is it the right value?
        trace: the run, step or pipeline with it; None where it is no value here.
        reason: why, or why not.

    Examples:
        >>> import collsim as cs
        >>> cs.exercise("small-bubble").check(4).passed
        False
    """

    exercise: SettingExercise
    trace: Made | None = None


def judge_edge(enough: bool, next_is_enough: bool, facts: Text, *says: Text) -> tuple[bool, Text]:
    """What a number is worth where the last one that will do is asked for.

    Args:
        enough: does it do?
        next_is_enough: would the next one do as well?
        facts: what is found with it.
        says: how that goes on where it does not do, where the next one would do as well, and where it is right.
    """
    if not enough:
        ending = says[0]
    elif next_is_enough:
        ending = says[1]
    else:
        ending = says[2]
    return enough and not next_is_enough, tuple(map(str.__add__, facts, ending))
