"""A question about one run, its answer, and why: numbers with a tolerance, choices, and links to point at."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import CollsimError
from ...locale import LANGUAGES, Text, build_text, map_languages
from ...units import format_bandwidth, format_bytes, format_time, parse_bandwidth, parse_bytes, parse_time

Unit = Literal["bytes", "time", "rate", "count", "factor"]


@dataclass(frozen=True)
class Alternative:
    """One answer to choose.

    Attributes:
        text: The answer.
        reason: Why it is right, or which idea leads to it and why that is wrong.
    """

    text: Text
    reason: Text


@dataclass(frozen=True)
class Reply:
    """What an answer is worth.

    Attributes:
        right: is it right?
        reason: the sentence that says why.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> question = cs.teach.questions(trace)[0]
        >>> bool(question.check(question.answer))
        True
    """

    right: bool
    reason: str

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Question:
    """One question in one language.

    Attributes:
        kind: `number`, `choice` (of texts) or `link` (the choices are links of the topology).
        topic: what it is about, one word: `steps`, `sent`, `link`, ...
        ask: what is asked, English and Chinese; `text` is it in the language of the question.
        explanation: the worked solution, likewise; `explanation_text` is it in one language.
        answer: the number in SI units, or the position of the right choice.
        tolerance: how far a number may be off, as a part of the answer; a count must be exact.
        unit: of a number.
        choices: answers to choose from, each with its reason; empty for a number.
        links: ids of the links to choose from, in the order of `choices`; empty unless `kind` is `link`.
        language: `en` or `zh`.

    Examples:
        >>> import collsim as cs
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> print(cs.teach.questions(trace)[0])
        How many steps does the schedule take?
          A. 4 steps
          B. 3 steps
          C. 2 steps
          D. 6 steps
    """

    kind: Literal["number", "choice", "link"]
    topic: str
    ask: Text
    explanation: Text
    answer: float
    unit: Unit = "count"
    tolerance: float = 0.02
    choices: tuple[Alternative, ...] = ()
    links: tuple[int, ...] = ()
    language: str = "en"

    def say(self, text: Text) -> str:
        """The text in the language of the question.

        Args:
            text: English and Chinese.
        """
        return text[LANGUAGES.index(self.language)]

    @property
    def text(self) -> str:
        """What is asked."""
        return self.say(self.ask)

    @property
    def explanation_text(self) -> str:
        """The worked explanation."""
        return self.say(self.explanation)

    @property
    def options(self) -> list[str]:
        """The choices as texts; empty for a number."""
        return [self.say(c.text) for c in self.choices]

    @property
    def answer_text(self) -> str:
        """The right answer as people write it."""
        return format_answer_value(self.answer, self.unit) if self.kind == "number" else self.options[int(self.answer)]

    def __str__(self) -> str:
        """The question as a person reads it, with lettered choices."""
        return "\n".join([self.text, *(f"  {chr(65 + k)}. {text}" for k, text in enumerate(self.options))])

    def check(self, answer: float | str) -> Reply:
        """Is it right? A number may carry its unit ("8 MiB", "4.7ms"); a choice is its position from 0, its letter or
        its text.

        Args:
            answer: A number, also with its unit ("8 MiB", "4.7ms"); of a choice its position from 0, its letter or its
                text.

        Raises:
            CollsimError: For an answer that is not one.
        """
        value = self.value(answer)
        right = self.right(value)
        if self.kind == "number":
            return Reply(right, f"{self._verdict(right)} {self.explanation_text}")
        reason = self.say(self.choices[int(value)].reason)
        return Reply(right, f"{self._verdict(right)} {reason}" + (f" {self.explanation_text}" if right else ""))

    def value(self, answer: float | str) -> float:
        """An answer as a number: in SI units, or the position of a choice, from 0.

        Args:
            answer: As in `check`.

        Raises:
            CollsimError: It is not an answer.
        """
        return _parse_answer(answer, self.unit) if self.kind == "number" else float(self._find_choice(answer))

    def right(self, value: float) -> bool:
        """Is this value the answer, within its tolerance?

        Args:
            value: Number of the choice, or the number answered, in the unit of the question.
        """
        exact = self.kind != "number" or self.unit == "count"
        return value == self.answer if exact else abs(value - self.answer) <= self.tolerance * abs(self.answer)

    def _verdict(self, right: bool) -> str:
        return self.say(build_text("quiz", "question.right" if right else "question.wrong"))

    def _find_choice(self, answer: float | str) -> int:
        text = str(answer).strip()
        if text in self.options:
            return self.options.index(text)
        if len(text) == 1 and text.upper().isalpha() and ord(text.upper()) - 65 < len(self.choices):
            return ord(text.upper()) - 65
        if text.isdigit() and int(text) < len(self.choices):
            return int(text)
        letters = ", ".join(chr(65 + k) for k in range(len(self.choices)))
        template = "answer {text!r} is none of the choices; give {letters}, or 0 to {last}"
        raise CollsimError(template, text=text, letters=letters, last=len(self.choices) - 1)

    def record(self) -> dict[str, Any]:
        """Both languages as plain JSON, for a page that asks and reveals."""
        return {
            "kind": self.kind,
            "topic": self.topic,
            "unit": self.unit,
            "text": map_languages(self.ask),
            "explanation": map_languages(self.explanation),
            "answer": float(self.answer) if self.kind == "number" else int(self.answer),
            "tolerance": 0.0 if self.unit == "count" else self.tolerance,
            "answer_text": format_answer_value(self.answer, self.unit) if self.kind == "number" else None,
            "choices": [{"text": map_languages(c.text), "reason": map_languages(c.reason)} for c in self.choices],
            "links": list(self.links),
        }


def format_answer_value(value: float, unit: Unit) -> str:
    """A number with its unit.

    Args:
        value: In SI units.
        unit: "count" for a plain number.
    """
    match unit:
        case "bytes":
            return format_bytes(value)
        case "time":
            return format_time(value)
        case "rate":
            return format_bandwidth(value)
        case "factor":
            return f"{value:.3g}"
    return f"{value:g}"


def _parse_size(answer: object) -> float:
    """Bytes; an answer that somebody rounded, `10.7 MiB`, need not be a whole number of them."""
    try:
        return float(parse_bytes(answer, "answer"))
    except CollsimError:
        rounded = re.fullmatch(r"[\d.]+ ?(?:[kKMGT]i?)?B", answer) if isinstance(answer, str) else None
        if rounded is None:
            raise
        return parse_bandwidth(f"{answer}/s", "answer")


def _parse_answer(answer: object, unit: Unit) -> float:
    if isinstance(answer, str):
        answer = answer.strip().replace("\N{NO-BREAK SPACE}", " ").replace(",", "")
    if unit == "bytes":
        return _parse_size(answer)
    if unit == "time":
        return parse_time(answer, "answer")
    if unit == "rate":
        return parse_bandwidth(answer, "answer")
    try:
        value = float(str(answer).rstrip("x× "))
    except ValueError:
        raise CollsimError("answer {value!r} is not a number", value=answer) from None
    if not math.isfinite(value):
        raise CollsimError("answer {value!r} is not a finite number", value=answer)
    return value
