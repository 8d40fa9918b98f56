"""What every exercise and every answer to one have in common, however it is answered: their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....errors import CollsimError
from ....locale import LANGUAGES, Text, build_text, list_texts


class TaskTexts:
    """The texts of a task in every language: `collsim/locale/<language>/exercises` has them under its name."""

    name: str

    @property
    def title(self) -> Text:
        """A few words."""
        return build_text("exercises", f"{self.name}.title")

    @property
    def ask(self) -> Text:
        """What is to be done."""
        return build_text("exercises", f"{self.name}.ask")

    @property
    def hints(self) -> tuple[Text, ...]:
        """Three hints, each stronger than the one before."""
        return list_texts("exercises", f"{self.name}.hint")


@dataclass(frozen=True, repr=False)
class LocalizedTask:
    """A task (`name`, `title`, `ask`, three `hints`) in one language."""

    task: Any
    language: str = "en"

    @property
    def name(self) -> str:
        return str(self.task.name)

    @property
    def title(self) -> str:
        return self.say(self.task.title)

    @property
    def ask(self) -> str:
        return self.say(self.task.ask)

    def say(self, text: Text) -> str:
        """The text in the language of the task.

        Args:
            text: English and Chinese.
        """
        return text[LANGUAGES.index(self.language)]

    def hint(self, level: int = 1) -> str:
        """Hint 1, 2 or 3; each gives more away than the one before."""
        if level not in (1, 2, 3):
            raise CollsimError("hint({level!r}): there are three hints, hint(1), hint(2) and hint(3)", level=level)
        return self.say(self.task.hints[level - 1])

    def _format_limits(self) -> str:
        """What an answer may cost, in one line; empty where nothing is said."""
        return ""

    def __str__(self) -> str:
        limits = self._format_limits()
        return f"{self.name}: {self.title}\n{self.ask}" + (f"\n{limits}" if limits else "")

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        limits = self._format_limits()
        return f"**{self.title}** (`{self.name}`)\n\n{self.ask}" + (f"\n\n*{limits}*" if limits else "")


@dataclass(frozen=True, eq=False, repr=False)
class CheckedAnswer:
    """What a check found. Printed, it gives its reason.

    Attributes:
        exercise: what was to be solved.
        passed: is the answer right?
        reason: why not, or what was achieved, in the exercise's language.
    """

    exercise: Any
    passed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.passed

    def hint(self, level: int = 1) -> str:
        """As the exercise's own."""
        return str(self.exercise.hint(level))

    def _shown_lines(self) -> list[str]:
        """What stands between the verdict and the way on."""
        return []

    def __str__(self) -> str:
        say = self.exercise.say
        verdict = say(build_text("exercises", "answer.passed" if self.passed else "answer.not_yet"))
        lines = [f"{self.exercise.name}: {verdict}. {self.reason}", *self._shown_lines()]
        if not self.passed:
            lines.append(say(build_text("exercises", "answer.stuck")))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)
