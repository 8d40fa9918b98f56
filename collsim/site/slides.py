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

from ..display.markup import escape_text, format_table
from ..errors import CollsimError, require_language, require_path
from ..files import require_writable_file, write_text
from ..lessons.chapters import LESSONS
from ..lessons.lesson import FilledSection, Lesson, Section
from ..locale import LANGUAGES, Text
from ..simulate import Trace
from ..viz.hosts.player_page import build_html_document
from ..viz.pictures.machine_picture import draw_machine_figure
from .pages import draw_lanes, get_text, read_style

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class SlideDeck:
    """What was written.

    Attributes:
        path: of the file.
        lessons: number of lessons.
        slides: number of slides.
    """

    path: Path
    lessons: int
    slides: int


def write_slides(out: Path | str, lessons: Sequence[int] = (), language: str = "en") -> SlideDeck:
    """Write the slides of some lessons (all unless given) as one HTML file, whole or not at all.

    Args:
        out: the HTML file; its suffix is .html.
        lessons: their numbers, in the order of the slides.
        language: `en` or `zh`.

    Raises:
        CollsimError: For a lesson that there is not, another language, or another suffix than .html.
    """
    target, k = require_path(out), LANGUAGES.index(require_language(language))
    if target.suffix.lower() not in (".html", ".htm"):
        raise CollsimError("cannot write slides to {target!r}: the suffix must be .html", target=str(target))
    if isinstance(lessons, str) or not isinstance(lessons, Sequence):
        raise CollsimError("lessons={lessons!r} must be a list of numbers, for example [3, 4]", lessons=lessons)
    chosen = list(lessons) or list(LESSONS)
    for number in chosen:
        if isinstance(number, bool) or not isinstance(number, int) or number not in LESSONS:
            template = "there is no lesson {number}; there are {first} to {last}"
            raise CollsimError(template, number=number, first=min(LESSONS), last=max(LESSONS))
    require_writable_file(target)  # first: all lessons take a minute
    slides = [slide for number in chosen for slide in _build_lesson(LESSONS[number], language)]
    title = LESSONS[chosen[0]].title[k] if len(chosen) == 1 else get_text("name", language)
    style = read_style("slides.css")
    write_text(target, build_html_document(language, title, _POLICY, f"<style>{style}</style>", "\n".join(slides)))
    return SlideDeck(target, len(chosen), len(slides))


def _build_lesson(lesson: Lesson, language: str) -> Iterator[str]:
    """The title, the slides of every section, and what to do next."""
    k = LANGUAGES.index(language)
    name = f"{lesson.number}. {lesson.title[k]}"
    sections = [section.title[k] for section in lesson.sections if section.title]
    yield _build_slide(name, f"<h1>{escape_text(name)}</h1><p>{escape_text(' · '.join(sections))}</p>")
    for section in lesson.sections:
        yield from (
            _build_slide(name, *body) for body in _build_section(lesson, section, section.fill_texts(), language)
        )
    if lesson.notebook:
        notebook_text = get_text("notebook", language, notebook=lesson.notebook, exercises=", ".join(lesson.exercises))
        yield _build_slide(
            name, f"<h2>{escape_text(get_text('now', language))}</h2><p>{escape_text(notebook_text)}</p>"
        )


def _build_section(
    lesson: Lesson, section: Section, filled_section: FilledSection, language: str
) -> Iterator[tuple[str, ...]]:
    """The slides of a section: what stands on each, and what kind it is where that matters."""
    k = LANGUAGES.index(language)
    head = f"<h2>{escape_text((section.title or lesson.title)[k])}</h2>"
    played = f"<p class=played>{escape_text(get_text('played', language, number=lesson.number))}</p>"
    yield (head + _build_paragraphs(filled_section.before, k) + played,)
    yield from _build_large_slide(
        head, _build_picture(_draw_machine(filled_section.trace, language), filled_section.trace.topology.name)
    )
    yield from _build_large_slide(head, draw_lanes(filled_section.lanes, k, narrow=False))
    ask = f"<h2>{escape_text(filled_section.question.ask[k])}</h2>"
    yield (
        ask
        + f"<ol type=A>{''.join(f'<li>{escape_text(c.text[k])}</li>' for c in filled_section.question.choices)}</ol>",
        "ask",
    )
    yield (ask + _build_answers(filled_section, k) + f"<p>{escape_text(filled_section.question.explanation[k])}</p>",)
    yield from _build_large_slide(head, _build_paragraphs(filled_section.after, k))
    yield from _build_large_slide(
        head, _build_picture(_draw_run(filled_section.trace, language), str(filled_section.trace.schedule.label))
    )
    yield from _build_large_slide(head, draw_lanes(filled_section.lanes_after, k, narrow=False))
    yield from _build_large_slide(head, _build_table(filled_section.table, k) if filled_section.table else "")


def _build_large_slide(head: str, body: str) -> Iterator[tuple[str, ...]]:
    """A slide for a picture or a table by itself, as large as a screen: its letters are read from the last row."""
    if body:
        yield head + body, "large"


def _build_answers(filled_section: FilledSection, k: int) -> str:
    question = filled_section.question
    items = [
        f"<li><span{' class=right' if position == question.answer else ''}>{escape_text(choice.text[k])}</span>"
        f"<small>{escape_text(choice.reason[k])}</small></li>"
        for position, choice in enumerate(question.choices)
    ]
    return f"<ol type=A>{''.join(items)}</ol>"


def _build_table(rows: Sequence[Sequence[Text]], k: int) -> str:
    head, *others = [[cell[k] for cell in row] for row in rows]
    return format_table(others, head)


def _build_paragraphs(texts: Sequence[Text], k: int) -> str:
    return "".join(f"<p>{escape_text(text[k])}</p>" for text in texts)


def _build_slide(name: str, body: str, kind: str = "") -> str:
    return f'<section class="{f"slide {kind}".strip()}" data-lesson="{escape(name)}">{body}</section>'


def _draw_machine(trace: Trace, language: str) -> Any:
    """The machine alone, without what the run made of it; None where it is too large to be drawn."""
    try:
        return trace.topology.draw(language=language).figure
    except CollsimError:
        return None


def _draw_run(trace: Trace, language: str) -> Any:
    try:
        return draw_machine_figure(trace, language)
    except CollsimError:
        return None


def _build_picture(figure: Any, label: str) -> str:
    if figure is None:
        return ""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=200, metadata={"Software": "collsim"})
    data = base64.b64encode(out.getvalue()).decode("ascii")
    return f'<img alt="{escape(label)}" src="data:image/png;base64,{data}">'
