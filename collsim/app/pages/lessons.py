"""Lessons: the story in order, each with a run to play and a question to answer before it is revealed."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from collsim.errors import CollsimError
from collsim.teach.exercises.exercise import Text
from collsim.teach.questions.question import Question
from collsim.viz.hosts.page import player_source
from collsim.viz.timeline.document import encode, timeline

from ...lessons.chapters import CHAPTERS
from ..classroom import question_card as card
from ..scenario.choice import Complaint, count, moment, one_of
from ..shell.address import enter, leave, remembered, shortened
from ..shell.controls import complain
from ..shell.session import is_dark, language, session, t

PAGE = "lessons"
NAMES = list(CHAPTERS)


@dataclass(frozen=True)
class Reading:
    """Where a reader is: the lesson, what was answered in which, and where an address lets the player begin."""

    lesson: str = NAMES[0]
    answers: Mapping[str, int] = field(default_factory=dict)
    moment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Told:
    """A chapter as plain data, for the cache."""

    title: Text
    before: tuple[Text, ...]
    question: Question
    after: tuple[Text, ...]
    table: tuple[tuple[Text, ...], ...]
    view: str
    timeline: dict[str, Any]


@st.cache_data(max_entries=len(NAMES), show_spinner=False)
def kept_lesson(name: str) -> Told:
    """A chapter, computed once for all sessions."""
    one = CHAPTERS[name]()
    return Told(one.title, one.before, one.question, one.after, one.table, one.view, encode(timeline(one.trace)))


@st.cache_data(show_spinner=False)
def kept_titles() -> dict[str, Text]:
    """The titles of all lessons."""
    return {name: kept_lesson(name).title for name in NAMES}


# ---- address -------------------------------------------------------------------------------------------------------


def read(query: Mapping[str, str]) -> tuple[Reading, list[Complaint]]:
    """Lesson and answer from an address; what cannot be used is told and left out."""
    reading, complaints = Reading(), []
    kept: Reading | None = remembered().get(PAGE)
    if kept is not None:
        reading = replace(reading, answers=kept.answers)
    try:
        if "lesson" in query:
            reading = replace(reading, lesson=one_of("lesson", lambda: NAMES)(query["lesson"]))
    except CollsimError as error:
        complaints.append(Complaint("lesson", shortened(query["lesson"]), str(error), reading.lesson))
    try:
        if "answer" in query:
            most = len(kept_lesson(reading.lesson).question.choices)
            number = count("answer", most)(query["answer"])
            reading = replace(reading, answers={**reading.answers, reading.lesson: number - 1})
    except CollsimError as error:
        complaints.append(Complaint("answer", shortened(query["answer"]), str(error), t("lessons.predict")))
    found, unread = moment(dict(query))
    return replace(reading, moment=tuple((key, f"{value}") for key, value in found.items())), complaints + unread


def write(reading: Reading) -> dict[str, str]:
    """The address of a lesson, with the answer that is open in it."""
    query = {} if reading.lesson == NAMES[0] else {"lesson": reading.lesson}
    if reading.lesson in reading.answers:
        query |= {"lesson": reading.lesson, "answer": str(reading.answers[reading.lesson] + 1)}
    return query | dict(reading.moment)


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, read)


# ---- page
# --------------------------------------------------------------------------------------------------------------------


def page() -> None:
    """Draw the page: the lessons at the side; the text; the run and its question."""
    reading: Reading = remembered()[PAGE]
    complaints = list(session().complaints)
    leave(PAGE, reading, write(reading))
    told = kept_lesson(reading.lesson)
    _list(reading)
    st.html(f"<style>{card.STYLE}{_STYLE}{_marks(reading)}</style>")
    with st.container(key="lessonhead"):
        title, back, onward = st.columns([10, 2, 2], vertical_alignment="bottom", gap="small")
    title.html(_title(reading, told))
    _onward(reading, back, onward)
    lines = "".join(f"<p>{html.escape(_say(p))}</p>" for p in told.before)
    st.html(f'<div class="cs-lesson">{lines}</div>')
    complain(complaints)
    with st.container(key="lessonstage"):
        left, right = st.columns([2.2, 1], gap="medium")
    with left:
        _player(reading, told)
    with right, st.container(border=True, key="card_question"):
        _question(reading, told)


def _say(text: Text) -> str:
    return text[0 if language() == "en" else 1]


def _title(reading: Reading, told: Told) -> str:
    where = t("lessons.count", number=NAMES.index(reading.lesson) + 1, all=len(NAMES))
    return (
        f'<div class="cs-lesson"><small>{where}</small><h1 class="cs-title">{html.escape(_say(told.title))}</h1></div>'
    )


def _list(reading: Reading) -> None:
    """All lessons; the one that is open stands out, those answered have a filled number."""
    with st.sidebar:
        st.html(f'<h2 class="cs-part">{html.escape(t("lessons.list"))}</h2>')
        with st.container(key="lessonlist"):
            for name, title in kept_titles().items():
                note = t("lessons.done") if name in reading.answers else None
                st.button(
                    _say(title),
                    key=f"lesson_{name}",
                    type="tertiary",
                    help=note,
                    on_click=_open,
                    args=(name,),
                    width="stretch",
                )


def _open(name: str) -> None:
    reading: Reading = remembered()[PAGE]
    remembered()[PAGE] = replace(reading, lesson=name, moment=())
    session().written = st.query_params.to_dict()


def _answer(lesson: str, choice: int | None) -> None:
    reading: Reading = remembered()[PAGE]
    answers = {name: k for name, k in reading.answers.items() if name != lesson}
    remembered()[PAGE] = replace(reading, answers=answers if choice is None else {**answers, lesson: choice})


def _question(reading: Reading, told: Told) -> None:
    """The question and its choices; once answered, every choice with its reason, and what follows."""
    question = replace(told.question, lang=language())
    st.html(card.ask(t("lessons.predict"), question))
    given = reading.answers.get(reading.lesson)
    if given is None:
        with st.container(key="choices"):
            for k, choice in enumerate(question.choices):
                name = f"answer_{reading.lesson}_{k}"
                st.button(
                    _say(choice.text),
                    key=name,
                    on_click=_answer,
                    args=(reading.lesson, k),
                    width="stretch",
                    shortcut=str(k + 1),
                )
        st.html(f'<div class="cs-note small">{html.escape(t("lessons.waits"))}</div>')
        return
    st.html(card.choices(question, given))
    verdict = t("lessons.right" if given == question.answer else "lessons.wrong")
    body = f"<p><b>{html.escape(verdict)}</b> {html.escape(question.why)}</p>"
    body += "".join(f"<p>{html.escape(_say(p))}</p>" for p in told.after)
    st.html(f'<div class="cs-after" role="status">{body}</div>{_table(told)}')
    st.button(
        t("lessons.again"),
        key=f"again_{reading.lesson}",
        type="tertiary",
        on_click=_answer,
        args=(reading.lesson, None),
    )


def _table(told: Told) -> str:
    if not told.table:
        return ""
    cells = [[html.escape(_say(cell)) for cell in row] for row in told.table]
    head = "".join(f"<th>{cell}</th>" for cell in cells[0])
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells[1:])
    return (
        '<div class="cs-table"><table '
        f'aria-label="{html.escape(t("lessons.table"))}"><tr>{head}</tr>{rows}</table></div>'
    )


def _onward(reading: Reading, back: Any, onward: Any) -> None:
    """Back and next, always in the same place."""
    at = NAMES.index(reading.lesson)
    before = NAMES[max(0, at - 1)]
    back.button(t("lessons.back"), key="lesson_back", disabled=at == 0, on_click=_open, args=(before,), width="stretch")
    if at + 1 < len(NAMES):
        onward.button(
            t("lessons.next"), key="lesson_next", type="primary", on_click=_open, args=(NAMES[at + 1],), width="stretch"
        )


@st.fragment
def _player(reading: Reading, told: Told) -> None:
    """The run of the lesson; answering a question does not disturb it."""
    begins = dict(reading.moment)
    data: dict[str, Any] = {
        "id": reading.lesson,
        "timeline": told.timeline,
        "lang": language(),
        "theme": "dark" if is_dark() else "light",
    }
    data["view"] = begins.get("view", told.view)
    if "t" in begins:
        data["t"] = float(begins["t"])
    mount = st.components.v2.component("collsim_player", js=player_source())
    mount(key=f"player_lesson_{reading.lesson}", data=data, on_state_change=lambda: None)


def _marks(reading: Reading) -> str:
    """Style of the numbers in the list: the open lesson, and those that are answered."""
    rules = [
        f".st-key-lesson_{name} button::before{{background:var(--cs-done);color:var(--cs-card)}}"
        for name in reading.answers
    ]
    now = f".st-key-lesson_{reading.lesson} button"
    rules.append(
        f"{now}::before{{background:var(--cs-ink);color:var(--cs-card);border-color:var(--cs-ink)}}{now} "
        "p{font-weight:700}"
    )
    return "".join(rules)


_STYLE = """
.cs-lesson small{display:block;font-size:14px;line-height:20px;font-weight:700;color:var(--cs-ink2)}
.cs-lesson p{font-size:18px;line-height:27px;max-width:1120px;margin:6px 0 0;color:var(--cs-ink)}
.cs-lesson .cs-title{font-size:26px;line-height:34px}
.st-key-lessonlist button>div{width:100%}
.st-key-lessonlist button>div>span{display:flex;width:100%;justify-content:space-between;text-align:left}
:is(.st-key-lesson_next,.st-key-lesson_back) button{min-height:40px}
.st-key-lesson_next button p{color:var(--cs-card);font-weight:700}
.cs-table{overflow-x:auto}.cs-table table{border-collapse:collapse;width:100%;font-size:14px;line-height:19px;
 color:var(--cs-ink)}
.cs-table :is(th,td){text-align:right;padding:4px 5px;border-bottom:1px solid var(--cs-grid);font-weight:400;
 vertical-align:bottom}
.cs-table th{font-weight:700;color:var(--cs-ink2);font-size:13px}.cs-table :is(th,td):first-child{text-align:left}
.st-key-lessonlist{counter-reset:lesson;gap:0!important}
.st-key-lessonlist button{justify-content:flex-start;padding:8px 0!important;min-height:44px;border-radius:0;
 border-bottom:1px solid var(--cs-grid)!important;text-align:left;width:100%}
.st-key-lessonlist button p{font-size:15px;line-height:20px;text-align:left;color:var(--cs-ink)}
.st-key-lessonlist button::before{counter-increment:lesson;content:counter(lesson);flex:none;width:24px;height:24px;
 border-radius:50%;
 border:1px solid var(--cs-edge);font-size:13px;line-height:23px;text-align:center;margin-right:10px;
 color:var(--cs-ink2);font-weight:700}
@media(max-width:1400px){
 .cs-lesson p{font-size:17px;line-height:24px}
 .st-key-lessonstage [data-testid=stHorizontalBlock]:not(.st-key-lessonstage [data-testid=stColumn] *){flex-wrap:wrap}
 .st-key-lessonstage [data-testid=stColumn]:not(.st-key-lessonstage [data-testid=stColumn] *){min-width:100%!important}
 .st-key-lessonstage [data-testid=stColumn]:last-child:not(.st-key-lessonstage [data-testid=stColumn] *){order:-1}
}
"""
