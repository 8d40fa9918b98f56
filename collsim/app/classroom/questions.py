"""Questions about the run on Explore: predict, then reveal; alone, or with a class that votes in its own browsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pandas as pd
import streamlit as st

from collsim.errors import CollsimError
from collsim.files import format_csv
from collsim.markup import escape_markdown, escape_text
from collsim.teach.questions.question import Question

from ..scenario.choice import Choice
from ..scenario.mistakes import sentence
from ..scenario.panels import LONGEST_ANSWER, MOST_SEEDS, SHOWN, Panels
from ..scenario.run_questions import asked_about, expected_questions
from ..server import create_invitation, render_qr_svg
from ..shell.notes import mistake, note_html
from ..shell.results import latest
from ..shell.session import language, queue_reruns, session, t
from . import question_card as card
from .own_question import forget_own, own_box, own_question
from .votes import Asked, Board, Full, Rooms

Kind = Literal["primary", "secondary"]


#: In this module and not in one of Streamlit's caches: a message from any page can clear those.
_ROOMS = Rooms()


def rooms() -> Rooms:
    """Return the classes of this server, which all sessions share."""
    return _ROOMS


def buttons() -> None:
    """What starts the questions and the breaking, always in sight at the end of the sidebar."""
    with st.sidebar, st.container(key="classroom", horizontal=True, gap="small"):
        open_now = session().panels
        for name, on, change in (
            ("ask", open_now.seed is not None, _closed if open_now.seed is not None else _started),
            ("break", bool(open_now.way), _mended if open_now.way else _broken),
        ):
            text, why = t(f"{name}.start"), t(f"{name}.start.help")
            kind: Kind = "primary" if on else "secondary"
            st.button(text, key=f"{name}_start", type=kind, help=why, on_click=_set, args=(change,), width="stretch")
    st.html(f"<style>{_STYLE}</style>")


def panel(choice: Choice) -> bool:
    """Draw the question that is open. True where it takes the place of the figures that would answer it."""
    panels = session().panels
    if panels.seed is None:
        return False
    st.html(f"<style>{card.STYLE}</style>")
    with st.container(border=True, key="card_question"):
        found = latest(asked_about, choice, panels.seed, expected=expected_questions, only=True)
        if found is None:
            _button("close", "ask.close", _closed)
            return False
        asked: list[Question] = found[0]
        number = min(panels.number, len(asked) - 1)
        question = replace(asked[number], lang=language())
        put = Asked(choice, panels.seed, number, len(asked), asked[number])
        led = bool(panels.room) and rooms().leads(panels.room)
        if led and (own := own_question()) is not None:
            put = Asked(choice, panels.seed, -own[0], len(asked), own[1])
            question = replace(own[1], lang=language())
        head = t("ask.count", number=number + 1, all=len(asked)) if put.number >= 0 else t("own.question.head")
        st.html(card.ask(head, question, wall=led))
        if led:
            hides = _with_class(panels.room, put, question)
        else:
            if panels.room:
                mistake(t("class.over"))
            hides = _alone(panels, number, len(asked), question)
        return hides


# ---- what a button changes -----------------------------------------------------------------------------------------


def _set(change: Callable[[Panels], Panels]) -> None:
    now = session()
    now.panels = change(now.panels)


def _button(
    key: str, text: str, change: Callable[[Panels], Panels], disabled: bool = False, help: str | None = None
) -> None:
    st.button(t(text), key=f"ask_{key}", disabled=disabled, help=help, on_click=_set, args=(change,))


def _started(panels: Panels) -> Panels:
    return Panels(seed=0, room=panels.room)


def _closed(panels: Panels) -> Panels:
    if panels.room:
        rooms().close(panels.room)
    return Panels()


def _broken(panels: Panels) -> Panels:
    return replace(_closed(panels), way="lose")


def _mended(panels: Panels) -> Panels:
    return replace(panels, way="", place=0)


def _turned(number: int) -> Callable[[Panels], Panels]:
    return lambda panels: replace(panels, number=number, answer="")


def _another(panels: Panels) -> Panels:
    return replace(panels, seed=((panels.seed or 0) + 1) % (MOST_SEEDS + 1), number=0, answer="")


def _answered(text: str) -> Callable[[Panels], Panels]:
    return lambda panels: replace(panels, answer=text)


# ---- alone
# --------------------------------------------------------------------------------------------------------------------


def _turning(number: int, of: int) -> None:
    _button("back", "ask.back", _turned(number - 1), disabled=number == 0)
    _button("next", "ask.next", _turned(number + 1), disabled=number + 1 >= of)
    _button("new", "ask.new", _another)
    _button("close", "ask.close", _closed)


def _alone(panels: Panels, number: int, of: int, question: Question) -> bool:
    """One person: answer, then see every choice with its reason. True while the answer is hidden."""
    given, shown = None, panels.answer == SHOWN
    if panels.answer and not shown:
        try:
            given, shown = question.value(panels.answer), True
        except CollsimError as error:
            mistake(sentence(error, language()))
    if shown:
        _revealed(question, given)
    elif question.kind == "number":
        _number(question)
    else:
        _choose(panels, question)
    with st.container(key="ask_row", horizontal=True, gap="small"):
        if shown:
            _button("again", "ask.again", _answered(""))
        else:
            _button("reveal", "ask.reveal", _answered(SHOWN))
            _button("class", "class.start", _opened, help=t("class.start.help"))
        _turning(number, of)
        if not shown:
            _peek()
    return not shown


def _peek() -> None:
    st.toggle(t("ask.peek"), key="ask_peek", help=t("ask.hidden"))


def peeks() -> bool:
    """Is the run to be seen while its question is open?"""
    return bool(st.session_state.get("ask_peek"))


def _choose(panels: Panels, question: Question) -> None:
    with st.container(key="choices"):
        for k, text in enumerate(question.options):
            letter = chr(65 + k)
            key, change = f"ask_{panels.seed}_{panels.number}_{letter}", _answered(letter.lower())
            label = f"{letter} · {escape_markdown(text)}"
            st.button(label, key=key, on_click=_set, args=(change,), width="stretch", shortcut=str(k + 1))


def _number(question: Question) -> None:
    with st.form("ask_form", border=False), st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        hint = t(f"ask.answer.{question.unit}")
        st.text_input(t("ask.answer"), key="ask_number", placeholder=hint, max_chars=LONGEST_ANSWER, width=320)
        st.form_submit_button(t("ask.check"), key="ask_check", type="primary", on_click=_typed)


def _typed() -> None:
    text = str(st.session_state.get("ask_number", "")).strip()
    _set(_answered(text[:LONGEST_ANSWER]))


def _revealed(question: Question, given: float | None) -> None:
    head = "" if given is None else t("lessons.right" if question.right(given) else "lessons.wrong")
    if question.choices:
        st.html(card.choices(question, None if given is None else int(given)))
    st.html(card.verdict(_explained(question), head))


def _explained(question: Question) -> str:
    """The worked explanation, after the answer where it does not hold it."""
    if question.choices or question.answer_text in question.why:
        return question.why
    return f"{t('ask.is', answer=question.answer_text)} {question.why}"


# ---- with a class
# ---------------------------------------------------------------------------------------------------------------


def _opened(panels: Panels) -> Panels:
    try:
        return replace(panels, room=rooms().open(), answer="")
    except Full:
        st.toast(t("class.full"))
        return panels


def _with_class(room: str, asked: Asked, question: Question) -> bool:
    """The teacher's side: how to join, the question for the wall, how many have answered; the votes once they are
    revealed."""
    rooms().ask(room, asked)
    board = rooms().look(room)
    revealed = board is not None and board.revealed
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if board is not None and revealed:
            show_votes(question, board)
        else:
            st.html(card.plain_choices(question) if question.choices else note_html(t(f"ask.answer.{question.unit}")))
    with right:
        _joining(room)
        _watch(room, revealed)
    with st.container(key="ask_row", horizontal=True, gap="small"):
        if revealed:
            st.button(t("ask.again"), key="class_again", on_click=rooms().again, args=(room,))
        else:
            st.button(t("ask.reveal"), key="class_reveal", type="primary", on_click=rooms().reveal, args=(room,))
        if asked.number >= 0:
            _turning(asked.number, asked.of)
        own_box()
        _votes_file(room)
        _button("end", "class.end", _ended)
        if not revealed:
            _peek()
    return not revealed and asked.number >= 0


def _votes_file(room: str) -> None:
    """All votes of this class so far, once some are revealed: a row for every answer."""
    rows = [
        {"question": one.question.text, "answer": text, "right": right, "votes": votes}
        for one in rooms().told(room)
        for text, votes, right in one.votes
    ]
    if rows:
        name = f"collsim-class-{room[:4]}.csv"
        st.download_button(
            t("class.csv"), format_csv(pd.DataFrame(rows)), name, "text/csv", key="class_csv", on_click="ignore"
        )


def _ended(panels: Panels) -> Panels:
    forget_own()
    rooms().close(panels.room)
    return replace(panels, room="")


def _joining(room: str) -> None:
    """Where students go, large enough to be read from the last row; a QR code where they can reach this server."""
    way = create_invitation(st.context.url or "", **{"class": room[:4]})
    words = [f"<small>{escape_text(t('class.join'))}</small><b>{escape_text(way.address)}</b>"]
    if way.code:
        words += [f"<small>{escape_text(t('class.key'))}</small><b class='key'>{escape_text(way.code)}</b>"]
    if not way.link:
        words += [note_html(t("class.local"), kind="small")]
    picture = f'<img src="{render_qr_svg(way.link)}" alt="{escape_text(t("class.qr"))}">' if way.link else ""
    st.html(f'<div class="cs-join"><div>{"".join(words)}</div>{picture}</div>')


@st.fragment(run_every=1.0)
@queue_reruns
def _watch(room: str, revealed: bool) -> None:
    """How many have answered, while they do."""
    board = rooms().look(room)
    if board is None:
        st.rerun()
    text = t("class.votes", votes=board.votes, here=board.here) if board.here else t("class.nobody")
    st.html(
        f'<div class="cs-count" role="status" data-votes="{board.votes}" '
        f'data-here="{board.here}">{escape_text(text)}</div>'
    )
    if board.revealed != revealed:
        st.rerun()


def show_votes(question: Question, board: Board, mine: float | None = None) -> None:
    """The votes of a class, the right answer and why."""
    if question.choices:
        st.html(card.choices(question, None if mine is None else int(mine), board.groups, t("class.tally")))
    else:
        st.html(card.numbers(question, board.groups, board.others, (t("class.tally"), t("class.others"))))
    st.html(card.verdict(_explained(question)))


_STYLE = """
[data-testid=stSidebar] :has(>.st-key-classroom){position:sticky;bottom:0;z-index:5}
.st-key-classroom{background:var(--cs-card);padding:10px 0 12px;border-top:1px solid var(--cs-line)}
.st-key-classroom button{min-height:36px;padding:4px 6px} .st-key-classroom button p{font-size:15px;white-space:nowrap}
.st-key-card_question .st-key-ask_row button{min-height:36px}
 .st-key-card_question .st-key-ask_row button p{font-size:15px}
.cs-join small{display:block;font-size:14px;line-height:20px;color:var(--cs-ink2);font-weight:700}
.cs-join b{display:block;font-size:34px;line-height:42px;overflow-wrap:anywhere;color:var(--cs-ink)}
.cs-join{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-start} .cs-join>div{flex:1 1 240px;min-width:0}
.cs-join b.key{letter-spacing:.12em} .cs-join img{width:184px;height:184px;margin-top:8px;border-radius:7px}
.cs-count{font-size:20px;line-height:28px;font-weight:700;color:var(--cs-ink)}
"""
