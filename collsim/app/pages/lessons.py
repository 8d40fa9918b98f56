"""Lessons: in order, each with sections: a run to play, and a question to answer before it is revealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import streamlit as st

from collsim.display.markup import escape_text, format_table
from collsim.locale import Text

from ...lessons.chapters import LESSONS, SECTIONS
from ...lessons.lesson import FilledSection, LanePicture, Lesson
from ...lessons.pointing_words import mark_pointing_words
from ..classroom import question_html
from ..classroom.class_sessions import PosedQuestion
from ..classroom.question_card import (
    draw_answer,
    draw_choices,
    draw_class_button,
    draw_class_question,
    is_leading_class,
    reveal_class_answer,
)
from ..scenario.address_parameters import Complaint, PageAddress, Word
from ..scenario.choice import count, create_name_reader
from ..shell.address import change_remembered, get_remembered, remember, write_page_address
from ..shell.notes import complain, draw_note, format_title
from ..shell.page import register_page
from ..shell.player import UnansweredQuestion, mount_player
from ..shell.session import choose_text, get_language, get_session, is_dark, t
from ..styles import read_style

PAGE = "lessons"
NAMES = list(SECTIONS)
SKIPPED = -1


@dataclass(frozen=True)
class Reading:
    """Where a reader is in the lessons.

    Attributes:
        lesson: Key of the section.
        answers: The choice that was made, by key of the section; `SKIPPED` where the answer was revealed without one.
    """

    lesson: str = NAMES[0]
    answers: Mapping[str, int] = field(default_factory=dict)


# ---- address -------------------------------------------------------------------------------------------------------


def _find_section(text: str) -> str:
    """The key of a section, or the number of a lesson: its first section."""
    if text.isdecimal() and int(text) in LESSONS:
        return LESSONS[int(text)].sections[0].key
    return create_name_reader("lesson", lambda: NAMES)(text)


def _reconcile(fields: dict[str, Any], query: Mapping[str, str], complaints: list[Complaint]) -> Reading:
    """A lesson and the answer to it, beside those that were given before."""
    before: Reading | None = get_session().page_values.get(PAGE)
    reading = Reading(fields.get("lesson", NAMES[0]), before.answers if before else {})
    most = len(SECTIONS[reading.lesson][1].fill_texts().question.choices)
    word = Word("answer", count("answer", most, least=0), instead=t("lessons.predict"))
    answer = {}
    if "answer" in query:
        answer = word.read_fields(query["answer"], None, complaints)
    if not answer:
        return reading
    return replace(reading, answers={**reading.answers, reading.lesson: answer["answer"] - 1})


def _adapt_address(reading: Reading, query: dict[str, str]) -> dict[str, str]:
    """The lesson, with the answer that is open in it, 0 where the question was skipped; the first lesson has a bare
    address until it is answered."""
    answer = reading.answers.get(reading.lesson)
    if answer is None:
        return query
    return {"lesson": reading.lesson, "answer": str(answer + 1)}


ADDRESS = PageAddress(Reading(), (Word("lesson", _find_section), Word("answer", field="")), _reconcile, _adapt_address)


# ---- page ----------------------------------------------------------------------------------------------------------


@register_page(PAGE, 80, address=ADDRESS, moment=("t", "view"), run=lambda reading: reading.lesson)
def draw() -> None:
    """Draw the page: the lessons at the side; the text; the run and its question."""
    reading: Reading = get_remembered(PAGE)
    write_page_address(reading)
    content = SECTIONS[reading.lesson][1].fill_texts()
    st.html(f"<style>{question_html.STYLE}{_STYLE}{_build_list_style(reading)}</style>")
    with st.container(key="lesson"):
        rail, text, picture = st.columns([1, 9, 17], gap="small")
    with rail, st.container(key="lessonlist"):
        _draw_list(reading)
    with text, st.container(key="lessontext"):
        is_hidden = _draw_text(reading, content)
    with picture, st.container(key="lessonstage"):
        start = {"view": content.view, **get_session().start}
        key = f"player_lesson_{reading.lesson}"
        if is_hidden:
            question = UnansweredQuestion(content.answer_step, partial(_skip, reading.lesson))
            mount_player(content.timeline, reading.lesson, start, key, hides="phases", question=question)
        else:
            mount_player(content.timeline, reading.lesson, start, key)


def _draw_text(reading: Reading, content: FilledSection) -> bool:
    """Draw what stands beside the picture: the text, the question, and the way on. Return whether the answer to the
    question is still hidden."""
    st.html(_draw_title(reading))
    complain()
    lines = _format_paragraphs(content.before, content)
    text = f'<div class="cs-lesson">{lines}</div>{_draw_lanes(content.lanes)}'
    # A class sees the question at once; whoever is alone reads what leads to it.
    is_in_class = is_leading_class()
    if not is_in_class:
        st.html(text)
    with st.container(border=True, key="card_question"):
        is_hidden = _draw_question(reading, content)
    if is_in_class:
        st.html(text)
    _draw_navigation(reading, *st.columns(2, gap="small"))
    return is_hidden


def _format_paragraphs(texts: tuple[Text, ...], content: FilledSection) -> str:
    """Paragraphs, in which words point at the picture."""
    marked = (mark_pointing_words(choose_text(text), content.contents, get_language()) for text in texts)
    return "".join(f"<p>{text}</p>" for text in marked)


def _draw_lanes(pictures: tuple[LanePicture, ...]) -> str:
    """Pipelines as rows of boxes, below each other."""
    k, dark = 0 if get_language() == "en" else 1, is_dark()
    return "".join(f'<div class="cs-lanes">{picture.html(k, dark=dark)}</div>' for picture in pictures)


def _draw_title(reading: Reading) -> str:
    lesson, section = SECTIONS[reading.lesson]
    where = t("lessons.count", number=lesson.number, all=len(LESSONS))
    if section.title:
        section_number = lesson.sections.index(section) + 1
        where += t("lessons.part", number=section_number, all=len(lesson.sections), title=choose_text(section.title))
    return f'<div class="cs-lesson"><small>{escape_text(where)}</small>{format_title(choose_text(lesson.title))}</div>'


def _draw_list(reading: Reading) -> None:
    """All lessons as a rail of numbers, each with its title; what is open stands out, lessons that are answered are
    filled."""
    for lesson in LESSONS.values():
        title = choose_text(lesson.title)
        if _is_done(lesson, reading):
            title = f"{title} ({t('lessons.done')})"
        key = lesson.sections[0].key
        st.button(title, key=f"lesson_{key}", type="tertiary", help=title, on_click=_open, args=(key,))


def _is_done(lesson: Lesson, reading: Reading) -> bool:
    """Are all questions of a lesson answered?"""
    return all(section.key in reading.answers for section in lesson.sections)


def _open(name: str) -> None:
    change_remembered(PAGE, lesson=name)
    get_session().start = {}


def _on_answer(lesson: str, choice: int | None) -> None:
    reading: Reading = get_remembered(PAGE)
    answers = {name: k for name, k in reading.answers.items() if name != lesson}
    remember(PAGE, replace(reading, answers=answers if choice is None else {**answers, lesson: choice}))


def _skip(lesson: str) -> None:
    """Reveal the answer without a choice, to the class if there is one."""
    if is_leading_class():
        reveal_class_answer()
    else:
        _on_answer(lesson, SKIPPED)


def _draw_question(reading: Reading, content: FilledSection) -> bool:
    """The question, answered alone or by a class; once the answer is known, every choice with its reason, and what
    follows. Return whether it is hidden."""
    if is_leading_class():
        topic = SECTIONS[reading.lesson][0].title
        posed = PosedQuestion(f"lesson-{reading.lesson}", 0, 1, content.question, topic=topic)
        is_hidden = draw_class_question(posed)
        if not is_hidden:
            _draw_rest(reading, content)
        return is_hidden
    question = replace(content.question, language=get_language())
    st.html(question_html.render_question(t("lessons.predict"), question))
    answer = reading.answers.get(reading.lesson)
    if answer is None:
        keys = [f"answer_{reading.lesson}_{k}" for k in range(len(question.options))]
        draw_choices(question, keys, lambda k: _on_answer(reading.lesson, k))
        with st.container(key="ask_row", horizontal=True, gap="small", vertical_alignment="center"):
            draw_class_button()
            st.button(t("lessons.skip"), key="skip", type="tertiary", on_click=_skip, args=(reading.lesson,))
            draw_note(t("lessons.waits"), kind="small")
        return True
    draw_answer(question, None if answer == SKIPPED else answer)
    _draw_rest(reading, content)
    again = (reading.lesson, None)
    st.button(t("lessons.again"), key=f"again_{reading.lesson}", type="tertiary", on_click=_on_answer, args=again)
    return False


def _draw_rest(reading: Reading, content: FilledSection) -> None:
    """What a section says once its question is answered."""
    body = _format_paragraphs(content.after, content)
    rest = _draw_table(content) + _draw_notebook(reading.lesson)
    st.html(f'<div class="cs-after">{body}</div>{_draw_lanes(content.lanes_after)}{rest}')


def _draw_notebook(name: str) -> str:
    """Where a lesson goes on after its last section: its notebook, and what is written there."""
    lesson, section = SECTIONS[name]
    if section is not lesson.sections[-1] or not lesson.notebook:
        return ""
    text = t("lessons.notebook", notebook=lesson.notebook, exercises=", ".join(lesson.exercises))
    return f'<div class="cs-after"><p>{escape_text(text)}</p></div>'


def _draw_table(content: FilledSection) -> str:
    if not content.table:
        return ""
    heads, *rows = ([choose_text(cell) for cell in row] for row in content.table)
    table = format_table(rows, heads, f'aria-label="{escape_text(t("lessons.table"))}"')
    return f'<div class="cs-table">{table}</div>'


def _draw_navigation(reading: Reading, back: Any, following: Any) -> None:
    """Back and next, always in the same place."""
    lesson_number = NAMES.index(reading.lesson)
    before, after = NAMES[max(0, lesson_number - 1)], NAMES[min(len(NAMES) - 1, lesson_number + 1)]
    label = t(_label_step("back", reading.lesson, before))
    back.button(label, key="lesson_back", disabled=lesson_number == 0, on_click=_open, args=(before,), width="stretch")
    if after != reading.lesson:
        label, key = t(_label_step("next", reading.lesson, after)), "lesson_next"
        following.button(label, key=key, type="primary", on_click=_open, args=(after,), width="stretch")


def _label_step(variant: str, here: str, there: str) -> str:
    """What a button says that leads to another lesson, or to another part of this one."""
    within = here != there and SECTIONS[here][0] is SECTIONS[there][0]
    if within:
        return f"lessons.{variant}part"
    return f"lessons.{variant}"


def _build_list_style(reading: Reading) -> str:
    """Style of the list: what is open, lessons that are answered."""
    rules = [
        f".st-key-lesson_{lesson.sections[0].key} button::before{{background:var(--cs-done);color:var(--cs-card)}}"
        for lesson in LESSONS.values()
        if _is_done(lesson, reading)
    ]
    now = f".st-key-lesson_{SECTIONS[reading.lesson][0].sections[0].key} button"
    rules.append(f"{now}::before{{background:var(--cs-ink);color:var(--cs-card);border-color:var(--cs-ink)}}")
    return "".join(rules)


#: From 1000 pixels on the text scrolls in a column of its own and the picture stays; below, the picture stands first.
_STYLE = read_style("lessons")
