"""Slides of the lessons: one HTML file without script, to be shown in a browser (a screen each) or printed (a page
each).

Of every section: what is said and the machine, the question, the answer with a reason for each choice, and what
follows, with the picture of the run. Texts, numbers and pictures are those of `collsim.lessons`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from ..errors import CollsimError, require_path
from ..files import require_writable_file, write_text
from ..lessons.chapters import LESSONS
from ..lessons.lesson import Lesson, Section, Telling
from ..markup import escape_text
from ..simulate import Trace
from ..teach.language import LANGUAGES, Text, require_language
from ..viz.hosts.page import build_html_document
from ..viz.pictures.still import draw_machine_figure
from .pages import lanes, say

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class SlideDeck:
    """What was written: where, of how many lessons, how many slides."""

    path: Path
    lessons: int
    slides: int


def write_slides(out: Path | str, lessons: Sequence[int] = (), lang: str = "en") -> SlideDeck:
    """Write the slides of some lessons (all unless given) as one HTML file, whole or not at all.

    Args:
        lessons: their numbers, in the order of the slides.
        lang: `en` or `zh`.

    Raises:
        CollsimError: For a lesson that there is not, another language, or another suffix than .html.
    """
    target, k = require_path(out), LANGUAGES.index(require_language(lang))
    if target.suffix.lower() not in (".html", ".htm"):
        raise CollsimError("cannot write slides to {target!r}: the suffix must be .html", target=str(target))
    if isinstance(lessons, str) or not isinstance(lessons, Sequence):
        raise CollsimError("lessons={lessons!r} must be a list of numbers, for example [3, 4]", lessons=lessons)
    chosen = list(lessons) or list(LESSONS)
    for number in chosen:
        if isinstance(number, bool) or not isinstance(number, int) or number not in LESSONS:
            why = "there is no lesson {number}; there are {first} to {last}"
            raise CollsimError(why, number=number, first=min(LESSONS), last=max(LESSONS))
    require_writable_file(target)  # first: all lessons take a minute
    slides = [slide for number in chosen for slide in _lesson(LESSONS[number], lang)]
    title = LESSONS[chosen[0]].title[k] if len(chosen) == 1 else say("name", lang)
    style = (Path(__file__).parent / "slides.css").read_text(encoding="utf-8")
    write_text(target, build_html_document(lang, title, _POLICY, f"<style>{style}</style>", "\n".join(slides)))
    return SlideDeck(target, len(chosen), len(slides))


def _lesson(lesson: Lesson, lang: str) -> Iterator[str]:
    """The title, the slides of every section, and what to do next."""
    k = LANGUAGES.index(lang)
    name = f"{lesson.number}. {lesson.title[k]}"
    sections = [section.title[k] for section in lesson.sections if section.title]
    yield _slide(name, f"<h1>{escape_text(name)}</h1><p>{escape_text(' · '.join(sections))}</p>")
    for section in lesson.sections:
        yield from (_slide(name, *body) for body in _section(lesson, section, section.told(), lang))
    if lesson.notebook:
        said = say("notebook", lang, notebook=lesson.notebook, exercises=", ".join(lesson.exercises))
        yield _slide(name, f"<h2>{escape_text(say('now', lang))}</h2><p>{escape_text(said)}</p>")


def _section(lesson: Lesson, section: Section, told: Telling, lang: str) -> Iterator[tuple[str, ...]]:
    """The slides of a section: what stands on each, and what kind it is where that matters."""
    k = LANGUAGES.index(lang)
    head = f"<h2>{escape_text((section.title or lesson.title)[k])}</h2>"
    played = f"<p class=played>{escape_text(say('played', lang, number=lesson.number))}</p>"
    yield (head + _paragraphs(told.before, k) + played,)
    yield from _alone(head, _picture(_machine(told.trace, lang), told.trace.topology.name))
    yield from _alone(head, lanes(told.lanes, k, narrow=False))
    ask = f"<h2>{escape_text(told.question.ask[k])}</h2>"
    yield ask + f"<ol type=A>{''.join(f'<li>{escape_text(c.text[k])}</li>' for c in told.question.choices)}</ol>", "ask"
    yield (ask + _answered(told, k) + f"<p>{escape_text(told.question.explanation[k])}</p>",)
    yield from _alone(head, _paragraphs(told.after, k))
    yield from _alone(head, _picture(_run(told.trace, lang), str(told.trace.schedule.label)))
    yield from _alone(head, lanes(told.lanes_after, k, narrow=False))
    yield from _alone(head, _table(told.table, k) if told.table else "")


def _alone(head: str, body: str) -> Iterator[tuple[str, ...]]:
    """A slide for a picture or a table by itself, as large as a screen: its letters are read from the last row."""
    if body:
        yield head + body, "large"


def _answered(told: Telling, k: int) -> str:
    items = [
        f"<li><span{' class=right' if place == told.question.answer else ''}>{escape_text(one.text[k])}</span>"
        f"<small>{escape_text(one.why[k])}</small></li>"
        for place, one in enumerate(told.question.choices)
    ]
    return f"<ol type=A>{''.join(items)}</ol>"


def _table(rows: Sequence[Sequence[Text]], k: int) -> str:
    head, *others = ["".join(f"<td>{escape_text(cell[k])}</td>" for cell in row) for row in rows]
    heads = head.replace("td>", "th>")
    return f"<table><tr>{heads}</tr>{''.join(f'<tr>{row}</tr>' for row in others)}</table>"


def _paragraphs(texts: Sequence[Text], k: int) -> str:
    return "".join(f"<p>{escape_text(text[k])}</p>" for text in texts)


def _slide(name: str, body: str, kind: str = "") -> str:
    return f'<section class="{f"slide {kind}".strip()}" data-lesson="{escape(name)}">{body}</section>'


def _machine(trace: Trace, lang: str) -> Any:
    """The machine alone, without what the run made of it; None where it is too large to be drawn."""
    try:
        return trace.topology.draw(lang=lang).figure
    except CollsimError:
        return None


def _run(trace: Trace, lang: str) -> Any:
    try:
        return draw_machine_figure(trace, lang)
    except CollsimError:
        return None


def _picture(figure: Any, label: str) -> str:
    if figure is None:
        return ""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=200, metadata={"Software": "collsim"})
    data = base64.b64encode(out.getvalue()).decode("ascii")
    return f'<img alt="{escape(label)}" src="data:image/png;base64,{data}">'
