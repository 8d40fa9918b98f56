"""A question of the teacher's own: its text, its choices, one of them right."""

from __future__ import annotations

import streamlit as st

from collsim.errors import CollsimError
from collsim.teach.questions.question import Alternative, Question

from ..scenario.mistakes import sentence
from ..shell.notes import mistake, note
from ..shell.session import language, t

LONGEST_TEXT, LONGEST_CHOICE, MOST_CHOICES = 300, 120, 6
_KEPT, _WRONG = "own_question", "own_question_wrong"


def own_question() -> tuple[int, Question] | None:
    """The question that the teacher wrote and asks now, with its number; None for those about the run."""
    kept: tuple[int, Question] | None = st.session_state.get(_KEPT)
    return kept


def written(text: str, lines: str) -> Question:
    """A question of a text and of choices, one a line, the right one with a star before it.

    Raises CollsimError where something is missing or too long.
    """
    ask, choices = text.strip(), [line.strip() for line in lines.splitlines() if line.strip()]
    right = [k for k, line in enumerate(choices) if line.startswith("*")]
    if not ask or len(ask) > LONGEST_TEXT:
        raise CollsimError("a question has 1 to {most} characters, not {count}", most=LONGEST_TEXT, count=len(ask))
    if not 2 <= len(choices) <= MOST_CHOICES:
        raise CollsimError("a question has 2 to {most} choices, not {count}", most=MOST_CHOICES, count=len(choices))
    if len(right) != 1:
        raise CollsimError("put a * before one choice, the right one; {count} have it", count=len(right))
    plain = [line.lstrip("* ").strip() for line in choices]
    for line in plain:
        if not line or len(line) > LONGEST_CHOICE:
            raise CollsimError("a choice has 1 to {most} characters, not {count}", most=LONGEST_CHOICE, count=len(line))
    if len(set(plain)) < len(plain):
        raise CollsimError("two choices say the same")
    alternatives = tuple(Alternative((line, line), ("", "")) for line in plain)
    return Question("choice", "own", (ask, ask), ("", ""), right[0], choices=alternatives)


def own_box() -> None:
    """Where the teacher writes a question, and goes back to those about the run."""
    with st.popover(t("own.question")):
        note(t("own.question.note"))
        st.text_input(t("own.question.text"), key="own_question_text", max_chars=LONGEST_TEXT)
        st.text_area(t("own.question.choices"), key="own_question_lines", height=140)
        st.button(t("own.question.ask"), key="own_question_ask", type="primary", on_click=_ask)
        if wrong := st.session_state.pop(_WRONG, None):
            mistake(sentence(wrong, language()))
    if own_question() is not None:
        st.button(t("own.question.back"), key="own_question_back", on_click=forget_own)


def _ask() -> None:
    try:
        made = written(str(st.session_state["own_question_text"]), str(st.session_state["own_question_lines"]))
    except CollsimError as error:
        st.session_state[_WRONG] = error
        return
    number = (own_question() or (0, made))[0] + 1
    st.session_state[_KEPT] = (number, made)


def forget_own() -> None:
    """Back to the questions about the run."""
    st.session_state.pop(_KEPT, None)
