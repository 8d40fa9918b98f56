"""A student's side of a class: the question that the teacher asks, one vote, and the answer once it is revealed. Fits a
phone."""

from __future__ import annotations

import html
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from collsim.errors import CollsimError
from collsim.teach.questions.question import Question
from collsim.viz.hosts.page import player_source

from ..scenario.choice import Choice, Complaint
from ..scenario.mistakes import told
from ..scenario.outcome import build_place, expected_outcome, outcome
from ..scenario.panels import LONGEST_ANSWER, ROOM
from ..shell.address import enter, leave, remembered
from ..shell.controls import algorithm_label, complain, mistake, place_label, spaced
from ..shell.results import latest
from ..shell.session import is_dark, language, session, t
from . import question_card as card
from .questions import Kind, rooms, tally
from .votes import Asked, Board

PAGE = "class"


def invited() -> str:
    """The code of a class that an address of another page names, without its teacher's key; else empty."""
    found = ROOM.fullmatch(st.query_params.get("class", "").lower())
    return found[1] if found and not found[2] else ""


def read(query: Mapping[str, str]) -> tuple[str, list[Complaint]]:
    """The code of the class from an address. A teacher's key is left out: nobody leads a class from here."""
    return query.get("class", "").strip().lower()[:4], []


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, read)


def page() -> None:
    """Draw the page: the question and the choices; once the answer is revealed, also the run that it is about."""
    code: str = remembered()[PAGE]
    complaints = list(session().complaints)
    leave(PAGE, code, {"class": code})
    st.html(f"<style>{card.STYLE}{_STYLE}</style>")
    complain(complaints)
    board = rooms().look(code, _voter()) if ROOM.fullmatch(code) else None
    if board is None:
        _door(code)
        return
    st.html(f'<h1 class="cs-title">{html.escape(t("class.title", code=code))}</h1>')
    about = None if board.asked is None else board.asked.choice
    if about is not None:
        words = {"collective": about.collective, "algorithm": algorithm_label(about.algorithm, about.collective)}
        place = f"{place_label(about.place)} × {about.nodes}" if about.on_machine else place_label(about.place)
        told_of = t("class.about", **words, place=place, ranks=build_place(about).ranks, nbytes=spaced(about.nbytes))
        st.html(f'<div class="cs-note">{html.escape(told_of)}</div>')
    with st.container(border=True, key="card_question"):
        _question(code, about, board.revealed)
    if about is None or not board.revealed:
        return
    found = latest(outcome, about, expected=expected_outcome, compiled=about.engine == "event", only=True)
    if found is not None and found[0].timeline is not None:
        _player(about, found[0].timeline)


def _door(code: str) -> None:
    """No class, or one that is over: ask for the code."""
    st.html(f'<h1 class="cs-title">{html.escape(t("page.class"))}</h1>')
    if code:
        mistake(t("class.none", code=code))
    st.html(f'<div class="cs-note">{html.escape(t("class.door"))}</div>')
    st.text_input(
        t("class.code"), key="class_code", help=t("class.code.help"), max_chars=4, on_change=_typed, width=240
    )


def _typed() -> None:
    remembered()[PAGE] = str(st.session_state["class_code"]).strip().lower()[:4]


def _voter() -> str:
    """A random word of this tab: one vote each, and no name."""
    return str(st.session_state.setdefault("voter", secrets.token_urlsafe(9)))


@st.fragment(run_every=3.0)
def _question(code: str, about: Choice | None, revealed: bool) -> None:
    """The question as it stands now. Another run, the answer, or the end of the class draws the whole page again."""
    board = rooms().look(code, _voter())
    if board is None or board.revealed != revealed or (None if board.asked is None else board.asked.choice) != about:
        st.rerun()
    if board.asked is None:
        st.html(f'<div class="cs-note" role="status">{html.escape(t("class.wait"))}</div>')
        return
    question = replace(board.asked.question, lang=language())
    st.html(card.ask(t("ask.count", number=board.asked.number + 1, all=board.asked.of), question))
    if board.revealed:
        if board.mine is not None:
            st.html(card.verdict("", t("lessons.right" if question.right(board.mine) else "lessons.wrong")))
        tally(question, board, board.mine)
        return
    _vote(code, board.asked, question, board)


def _vote(code: str, asked: Asked, question: Question, board: Board) -> None:
    if question.choices:
        with st.container(key="choices"):
            for k, text in enumerate(question.options):
                kind: Kind = "primary" if board.mine == k else "secondary"
                key = f"vote_{asked.turn}_{k}"
                st.button(
                    f"{chr(65 + k)} · {text}",
                    key=key,
                    type=kind,
                    on_click=_cast,
                    args=(code, float(k), asked.turn),
                    width="stretch",
                )
    else:
        with st.form(f"vote_{asked.turn}", border=False, enter_to_submit=True):
            field = f"vote_number_{asked.turn}"
            hint = t(f"ask.answer.{question.unit}")
            st.text_input(t("ask.answer"), key=field, placeholder=hint, max_chars=LONGEST_ANSWER)
            st.form_submit_button(
                t("ask.check"), type="primary", on_click=_cast_number, args=(code, question, asked.turn, field)
            )
        if why := st.session_state.pop("vote_mistake", ""):
            mistake(why)
    mine = board.mine
    if mine is not None:
        text = question.options[int(mine)] if question.choices else _shown(question, mine)
        st.html(f'<div class="cs-note" role="status">{html.escape(t("class.mine", answer=text))}</div>')
    st.html(f'<div class="cs-note">{html.escape(t("class.privacy"))}</div>')


def _shown(question: Question, value: float) -> str:
    return replace(question, answer=value).answer_text


def _cast(code: str, value: float, turn: int) -> None:
    if not rooms().vote(code, _voter(), value, turn):
        st.toast(t("class.late"))


def _cast_number(code: str, question: Question, turn: int, field: str) -> None:
    try:
        value = question.value(str(st.session_state.get(field, "")))
    except CollsimError as error:
        st.session_state["vote_mistake"] = told(error, language())
        return
    _cast(code, value, turn)


@st.fragment
def _player(about: Choice, sent: dict[str, Any]) -> None:
    """The run that the question is about."""
    data = {"id": repr(about), "timeline": sent, "lang": language(), "theme": "dark" if is_dark() else "light"}
    mount = st.components.v2.component("collsim_player", js=player_source())
    mount(key="player_class", data=data, on_state_change=lambda: None)


_STYLE = """
[data-testid=stMainBlockContainer]{max-width:1200px}
.cs-choices{grid-template-columns:repeat(auto-fit,minmax(260px,1fr))}
"""
