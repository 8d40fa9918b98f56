"""Exercises that are answered by a value, not by an algorithm: what to set in a step of training.

>>> from collsim.teach import exercise
>>> exercise("bucket-size").check("1MiB").passed
False
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....errors import CollsimError
from ....training import StepTrace
from ...language import LANGUAGES, Text


@dataclass(frozen=True)
class SettingTask:
    """What such an exercise asks.

    Attributes:
        name, title, ask, hints: as of a Task.
        judge: what a value is worth: is it right, why, and the step that it makes. Raises CollsimError for what is no
            value here.
    """

    name: str
    title: Text
    ask: Text
    hints: tuple[Text, Text, Text]
    judge: Callable[[Any], tuple[bool, Text, StepTrace]]


@dataclass(frozen=True)
class SettingExercise:
    """A task in one language. `check(value)` says whether a value is the right one, and why; `hint(1)` to `hint(3)`
    help."""

    task: SettingTask
    lang: str = "en"

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def title(self) -> str:
        return self.say(self.task.title)

    @property
    def ask(self) -> str:
        return self.say(self.task.ask)

    def say(self, text: Text) -> str:
        return text[LANGUAGES.index(self.lang)]

    def hint(self, level: int = 1) -> str:
        """Hint 1, 2 or 3; each gives more away than the one before."""
        if level not in (1, 2, 3):
            raise CollsimError("hint({level!r}): there are three hints, hint(1), hint(2) and hint(3)", level=level)
        return self.say(self.task.hints[level - 1])

    def check(self, value: Any) -> SettingResult:
        """Run the step with this value, and say what it is worth."""
        try:
            passed, why, trace = self.task.judge(value)
        except CollsimError as error:
            return SettingResult(self, False, error.said(self.lang))
        return SettingResult(self, passed, self.say(why), trace)

    def __str__(self) -> str:
        return f"{self.name}: {self.title}\n{self.ask}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"**{self.title}** (`{self.name}`)\n\n{self.ask}"


@dataclass(frozen=True, eq=False)
class SettingResult:
    """What a check found. Printed, it gives its reason.

    Attributes:
        passed: is it the right value? reason: why, or why not.
        trace: the step with it; None where it is no value here.
    """

    exercise: SettingExercise
    passed: bool
    reason: str
    trace: StepTrace | None = None

    def __bool__(self) -> bool:
        return self.passed

    def hint(self, level: int = 1) -> str:
        """As `SettingExercise.hint`."""
        return self.exercise.hint(level)

    def __str__(self) -> str:
        say = self.exercise.say
        verdict = say(("passed", "通过")) if self.passed else say(("not yet", "尚未通过"))
        lines = [f"{self.exercise.name}: {verdict}. {self.reason}"]
        if not self.passed:
            more = "Stuck? .hint(1), .hint(2), .hint(3) help, each more."
            lines.append(say((more, "卡住了？.hint(1)、.hint(2)、.hint(3) 一条比一条具体。")))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)
