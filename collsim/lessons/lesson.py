"""What a lesson is: a title and sections, each with a run, what is said about it, and a question.

Texts are templates in catalogs. `{ring.time}` in one stands for what the section's `facts` found in a run, so
that no number of a run is typed. A number that is a fact of somebody else stands in the lesson's `sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from ..locale import LANGUAGES, Text, build_text, has_text, list_texts
from ..registry import schedule
from ..schedule import Schedule
from ..simulate import Trace, simulate
from ..teach.quiz.question import Alternative, Question
from ..topology import Topology, switch
from ..units import format_bytes, format_time
from ..viz.timeline.timeline_document import build_encoded_timeline
from ..viz.timeline.timeline_types import EncodedTimeline
from .pointing_words import PictureContents, list_picture_contents


class LanePicture(Protocol):
    """A still picture of a section: the passes of a pipeline, or the lanes of a rank program."""

    def describe(self, language_number: int) -> str:
        """What the picture shows, in a text; `language_number`: position of the language in `LANGUAGES`."""
        ...

    def html(self, language_number: int, *, narrow: bool = True, dark: bool = False) -> str:
        """The picture in a page, in the language as in `describe`; `narrow`: also for narrow screens."""
        ...


@dataclass(frozen=True, eq=False)
class RunWords:
    """What texts say about a run: `{ring.time}`, `{ring.steps}`.

    Attributes:
        trace: The run.
    """

    trace: Trace

    @property
    def ranks(self) -> int:
        return self.trace.schedule.ranks

    @property
    def steps(self) -> int:
        return self.trace.schedule.steps

    @property
    def chunks(self) -> int:
        return self.trace.schedule.chunks

    @property
    def channels(self) -> int:
        return self.trace.schedule.channels

    @property
    def size(self) -> str:
        """The size of the operation."""
        return format_bytes(self.trace.nbytes)

    @property
    def time(self) -> str:
        return format_time(self.trace.time)

    @property
    def sent(self) -> str:
        """What the busiest endpoint sends."""
        return format_bytes(int(self.trace.sent_bytes.max()))

    @property
    def share(self) -> str:
        """The same in buffers."""
        return f"{self.trace.sent_bytes.max() / self.trace.nbytes:.4g}"

    @property
    def gap(self) -> str:
        """Time over the bound."""
        return f"{self.trace.gap:.3g}"


@dataclass(frozen=True, eq=False)
class LessonFacts:
    """What a section of a lesson takes from runs.

    Attributes:
        trace: the run that it plays.
        values: name -> what its texts fill in.
        rows: rows of its table that runs make.
        lanes: pictures before the question.
        lanes_after: pictures after it.
        answer_step: The step of the run, counted from 1, in which the answer is seen; None where no step shows it.
    """

    trace: Trace
    values: Mapping[str, Any]
    rows: tuple[tuple[str, ...], ...] = ()
    lanes: tuple[LanePicture, ...] = ()
    lanes_after: tuple[LanePicture, ...] = ()
    answer_step: int | None = None


def build_facts(
    trace: Trace,
    /,
    rows: tuple[tuple[str, ...], ...] = (),
    *,
    lanes: tuple[LanePicture, ...] = (),
    lanes_after: tuple[LanePicture, ...] = (),
    answer_step: int | None = None,
    **values: Any,
) -> LessonFacts:
    """The run to play, and values for the texts: runs, numbers, words, or a pair of words in English and Chinese."""
    facts = {name: RunWords(value) if isinstance(value, Trace) else value for name, value in values.items()}
    return LessonFacts(trace, facts, rows, lanes, lanes_after, answer_step)


@dataclass(frozen=True)
class Section:
    """A part of a lesson: a run to play, and a question to answer before it is explained.

    Its texts are templates in `collsim/locale/<language>/lessons`, under its key: `ring.title` (where a lesson has
    several sections), `ring.before.1` and so on (paragraphs above the question), `ring.ask`, `ring.choice.1` with
    `ring.reason.1` (why it is right, or what is wrong with it), `ring.explanation`, `ring.after.1` (paragraphs that
    would give the answer away) and `ring.table.1.1` (a cell of the first row; shown after the answer).

    Attributes:
        key: its name in addresses and catalogs; no two sections share one.
        facts: makes the runs.
        right: the position of the right choice.
        view: how the player begins, `physical` or `logical`.
    """

    key: str
    facts: Callable[[], LessonFacts]
    right: int
    view: str = "physical"

    @property
    def title(self) -> Text | None:
        """Its heading, where a lesson has several sections."""
        if has_text("lessons", f"{self.key}.title"):
            return build_text("lessons", f"{self.key}.title")
        return None

    @property
    def before(self) -> tuple[Text, ...]:
        """The paragraphs above the question."""
        return list_texts("lessons", f"{self.key}.before")

    @property
    def ask(self) -> Text:
        """The question."""
        return build_text("lessons", f"{self.key}.ask")

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """What may be chosen, with a reason for each."""
        choices, reasons = (list_texts("lessons", f"{self.key}.{part}") for part in ("choice", "reason"))
        return tuple(Alternative(text, reason) for text, reason in zip(choices, reasons, strict=True))

    @property
    def explanation(self) -> Text:
        """Why the right choice is right."""
        return build_text("lessons", f"{self.key}.explanation")

    @property
    def after(self) -> tuple[Text, ...]:
        """The paragraphs below the answer."""
        return list_texts("lessons", f"{self.key}.after")

    @property
    def table(self) -> tuple[tuple[Text, ...], ...]:
        """Rows of cells; the heads are the first."""
        rows: list[tuple[Text, ...]] = []
        while row := list_texts("lessons", f"{self.key}.table.{len(rows) + 1}"):
            rows.append(row)
        return tuple(rows)

    @property
    def texts(self) -> tuple[Text, ...]:
        """Every template of it."""
        choice_texts = [text for choice in self.choices for text in (choice.text, choice.reason)]
        cells = [cell for row in self.table for cell in row]
        named = [self.title] if self.title else []
        return (*named, *self.before, self.ask, *choice_texts, self.explanation, *self.after, *cells)

    def fill_texts(self) -> FilledSection:
        """Run it, once in this process, and fill the texts in.

        Raises:
            KeyError: For a name that `facts` does not give.
            AttributeError: For an attribute that such a fact does not have.
        """
        return self._filled_section

    @cached_property
    def _filled_section(self) -> FilledSection:
        facts = self.facts()

        def fill(text: Text) -> Text:
            return _fill_text(text, facts.values)

        choices = tuple(Alternative(fill(choice.text), fill(choice.reason)) for choice in self.choices)
        question = Question("choice", "lesson", fill(self.ask), fill(self.explanation), self.right, choices=choices)
        run_rows = tuple(tuple((cell,) * len(LANGUAGES) for cell in row) for row in facts.rows)
        table = (*(tuple(map(fill, row)) for row in self.table), *run_rows)
        before, after = (tuple(map(fill, texts)) for texts in (self.before, self.after))
        return FilledSection(**vars(facts), before=before, question=question, after=after, table=table, view=self.view)


@dataclass(frozen=True, eq=False, kw_only=True)
class FilledSection(LessonFacts):
    """A section with its numbers in its texts, and what it takes from runs; all else as in `Section`.

    Attributes:
        before: The paragraphs above the question.
        question: The question, with its choices.
        after: The paragraphs below the answer.
        table: Rows of cells; the heads are the first.
        view: The view that the picture opens with.
    """

    before: tuple[Text, ...]
    question: Question
    after: tuple[Text, ...]
    table: tuple[tuple[Text, ...], ...]
    view: str

    @cached_property
    def timeline(self) -> EncodedTimeline:
        """What the player draws."""
        return build_encoded_timeline(self.trace)

    @cached_property
    def contents(self) -> PictureContents:
        """What the picture shows and the texts may point at."""
        return list_picture_contents(self.trace, self.view)


@dataclass(frozen=True)
class Lesson:
    """One lesson, the same in the app, on the static site, in its notebook and in the teacher's guide.

    Attributes:
        sections: at least one; the key of the first is that of the lesson's title in the catalogs.
        notebook: `03-ring-step-by-step`: its file in `notebooks/` and `notebooks/zh/`, without the suffix; empty where
            there is none.
        exercises: those of its notebook, in order.
        sources: numbers in its texts that come from no run, with who says so.
        number: counted from 1; said by the name of its file.
    """

    sections: tuple[Section, ...]
    notebook: str = ""
    exercises: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    number: int = 0

    @property
    def title(self) -> Text:
        """The heading, also of its notebook."""
        return build_text("lessons", f"{self.sections[0].key}.lesson")


def _fill_text(text: Text, values: Mapping[str, Any]) -> Text:
    return tuple(
        part.format_map({name: v[k] if isinstance(v, tuple) else v for name, v in values.items()})
        for k, part in enumerate(text)
    )


# ---- runs that lessons share ---------------------------------------------------------------------------------------


def simulate_algorithm(name: str, topology: Topology, nbytes: str = "64MiB", **options: Any) -> Trace:
    """A run of an algorithm on a network."""
    return simulate_schedule(schedule(name, topology=topology, **options), topology, nbytes)


def simulate_schedule(plan: Schedule, topology: Topology, nbytes: str = "64MiB") -> Trace:
    """A run of a schedule on a network."""
    return simulate(plan, topology, nbytes)


def build_switch(ranks: int = 8) -> Topology:
    """Ranks on one switch, a cable each."""
    return switch(ranks, bandwidth="25GB/s", alpha="1us")


def find_last_send(trace: Trace) -> int:
    """The step, counted from 1, after which the rank that sends most has sent everything."""
    rows = trace.schedule.transfers
    return int(rows["step"][rows["src"] == trace.sent_bytes.argmax()].max()) + 1


def format_ratio(slow: Trace, fast: Trace) -> str:
    """How many times as long."""
    return f"{slow.time / fast.time:.3g}"
