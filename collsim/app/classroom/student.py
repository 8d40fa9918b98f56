"""A student's side of a class: the question that the teacher asks, one vote, and the answer once it is revealed. Fits a
phone."""

from __future__ import annotations

import secrets
from dataclasses import replace

import streamlit as st

from collsim.errors import CollsimError
from collsim.markup import escape_markdown
from collsim.teach.questions.question import Question

from ..scenario.address import PageAddress, Word
from ..scenario.choice import Choice
from ..scenario.mistakes import sentence
from ..scenario.outcome import build_place, expected_outcome, outcome
from ..scenario.panels import LONGEST_ANSWER, ROOM
from ..shell.address import leave, remember, remembered
from ..shell.controls import algorithm_label, place_label, spaced
from ..shell.notes import complain, mistake, note, status, title
from ..shell.player import player
from ..shell.results import latest
from ..shell.session import language, queue_reruns, session, t
from . import question_card as card
from .questions import Kind, rooms, show_votes
from .votes import Asked, Board

PAGE = "class"


def invited() -> str:
    """The code of a class that an address of another page names, without its teacher's key; else empty."""
    found = ROOM.fullmatch(st.query_params.get("class", "").lower())
    return found[1] if found and not found[2] else ""


def _code(text: str) -> str:
    """The code of a class. A teacher's key is left out: nobody leads a class from here."""
    return text.strip().lower()[:4]


ADDRESS = PageAddress(
    "",
    (Word("class", _code, limit=10_000),),
    lambda found, query, complaints: found.get("class", ""),
    lambda code, said: {"class": code},
)


def draw() -> None:
    """Draw the page: the question and the choices; once the answer is revealed, also the run that it is about."""
    code: str = remembered(PAGE)
    leave(code)
    st.html(f"<style>{card.STYLE}{_STYLE}</style>")
    complain(session().complaints)
    board = rooms().look(code, _voter()) if ROOM.fullmatch(code) else None
    if board is None:
        _door(code)
        return
    st.html(title(t("class.title", code=code)))
    about = None if board.asked is None else board.asked.choice
    if about is not None:
        _about(about)
    with st.container(border=True, key="card_question"):
        _question(code, about, board.revealed)
    if about is None or not board.revealed:
        return
    found = latest(outcome, about, expected=expected_outcome, compiled=about.engine == "event", only=True)
    if found is not None and found[0].timeline is not None:
        player(found[0].timeline, repr(about), {}, key="player_class")


def _about(choice: Choice) -> None:
    """What the question is about."""
    words = {"collective": choice.collective, "algorithm": algorithm_label(choice.algorithm, choice.collective)}
    place = f"{place_label(choice.place)} × {choice.nodes}" if choice.on_machine else place_label(choice.place)
    note(t("class.about", **words, place=place, ranks=build_place(choice).ranks, nbytes=spaced(choice.nbytes)))


def _door(code: str) -> None:
    """No class, or one that is over: ask for the code."""
    st.html(title(t("page.class")))
    if code:
        mistake(t("class.none", code=code))
    note(t("class.door"))
    st.text_input(
        t("class.code"), key="class_code", help=t("class.code.help"), max_chars=4, on_change=_typed, width=240
    )


def _typed() -> None:
    remember(PAGE, _code(str(st.session_state["class_code"])))


def _voter() -> str:
    """A random word of this tab: one vote each, and no name."""
    return str(st.session_state.setdefault("voter", secrets.token_urlsafe(9)))


@st.fragment(run_every=3.0)
@queue_reruns
def _question(code: str, about: Choice | None, revealed: bool) -> None:
    """The question as it stands now. Another run, the answer, or the end of the class draws the whole page again."""
    board = rooms().look(code, _voter())
    if board is None or board.revealed != revealed or (None if board.asked is None else board.asked.choice) != about:
        st.rerun()
    if board.asked is None:
        status(t("class.wait"))
        return
    question = replace(board.asked.question, lang=language())
    st.html(card.ask(t("ask.count", number=board.asked.number + 1, all=board.asked.of), question))
    if board.revealed:
        if board.mine is not None:
            st.html(card.verdict("", t("lessons.right" if question.right(board.mine) else "lessons.wrong")))
        show_votes(question, board, board.mine)
        return
    _vote(code, board.asked, question, board)


def _vote(code: str, asked: Asked, question: Question, board: Board) -> None:
    if question.choices:
        _choices(code, asked, question, board.mine)
    else:
        _number(code, asked, question)
    mine = board.mine
    if mine is not None:
        text = question.options[int(mine)] if question.choices else _shown(question, mine)
        status(t("class.mine", answer=text))
    note(t("class.privacy"))


def _choices(code: str, asked: Asked, question: Question, mine: float | None) -> None:
    with st.container(key="choices"):
        for k, text in enumerate(question.options):
            kind: Kind = "primary" if mine == k else "secondary"
            key, vote = f"vote_{asked.turn}_{k}", (code, float(k), asked.turn)
            label = f"{chr(65 + k)} · {escape_markdown(text)}"
            st.button(label, key=key, type=kind, on_click=_cast, args=vote, width="stretch")


def _number(code: str, asked: Asked, question: Question) -> None:
    field = f"vote_number_{asked.turn}"
    with st.form(f"vote_{asked.turn}", border=False, enter_to_submit=True):
        hint = t(f"ask.answer.{question.unit}")
        st.text_input(t("ask.answer"), key=field, placeholder=hint, max_chars=LONGEST_ANSWER)
        vote = (code, question, asked.turn, field)
        st.form_submit_button(t("ask.check"), type="primary", on_click=_cast_number, args=vote)
    if why := st.session_state.pop("vote_mistake", ""):
        mistake(why)


def _shown(question: Question, value: float) -> str:
    return replace(question, answer=value).answer_text


def _cast(code: str, value: float, turn: int) -> None:
    if not rooms().vote(code, _voter(), value, turn):
        st.toast(t("class.late"))


def _cast_number(code: str, question: Question, turn: int, field: str) -> None:
    try:
        value = question.value(str(st.session_state.get(field, "")))
    except CollsimError as error:
        st.session_state["vote_mistake"] = sentence(error, language())
        return
    _cast(code, value, turn)


_STYLE = """
[data-testid=stMainBlockContainer]{max-width:1200px}
.cs-choices{grid-template-columns:repeat(auto-fit,minmax(260px,1fr))}
"""
