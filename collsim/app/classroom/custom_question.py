"""A question that a teacher writes: its text, and its choices, one of them right."""

from __future__ import annotations

import streamlit as st

from collsim.errors import CollsimError
from collsim.teach.quiz.question import Alternative, Question

from ..shell.notes import draw_error, draw_note
from ..shell.session import t

LONGEST_TEXT, LONGEST_CHOICE, MAX_CHOICES = 300, 120, 6
_STATE, _STATE_ERROR = "custom_question", "custom_question_error"


def get_custom_question() -> tuple[int, Question] | None:
    """Return the question that the teacher wrote and asks now, with its number; None where the questions about the run
    are asked."""
    numbered: tuple[int, Question] | None = st.session_state.get(_STATE)
    return numbered


def parse_question(text: str, lines: str) -> Question:
    """Build a question from what a teacher wrote.

    Args:
        text: The question.
        lines: The choices, one a line, the right one with a star before it.

    Raises:
        CollsimError: Something is missing or too long.
    """
    text, choices = text.strip(), [line.strip() for line in lines.splitlines() if line.strip()]
    # The star marks the right choice, as teachers write it on paper.
    right = [k for k, line in enumerate(choices) if line.startswith("*")]
    if not text or len(text) > LONGEST_TEXT:
        raise CollsimError("a question has 1 to {most} characters, not {count}", most=LONGEST_TEXT, count=len(text))
    if not 2 <= len(choices) <= MAX_CHOICES:
        raise CollsimError("a question has 2 to {most} choices, not {count}", most=MAX_CHOICES, count=len(choices))
    if len(right) != 1:
        raise CollsimError("put a * before one choice, the right one; {count} have it", count=len(right))
    labels = [line.lstrip("* ").strip() for line in choices]
    for line in labels:
        if not line or len(line) > LONGEST_CHOICE:
            raise CollsimError("a choice has 1 to {most} characters, not {count}", most=LONGEST_CHOICE, count=len(line))
    if len(set(labels)) < len(labels):
        raise CollsimError("two choices say the same")
    alternatives = tuple(Alternative((line, line), ("", "")) for line in labels)
    return Question("choice", "own", (text, text), ("", ""), right[0], choices=alternatives)


def draw_editor() -> None:
    """Draw where the teacher writes a question, and returns to those about the run."""
    with st.popover(t("own.question")):
        draw_note(t("own.question.note"))
        st.text_input(t("own.question.text"), key="own_question_text", max_chars=LONGEST_TEXT)
        st.text_area(t("own.question.choices"), key="own_question_lines", height=140)
        st.button(t("own.question.ask"), key="own_question_ask", type="primary", on_click=_ask)
        if error := st.session_state.pop(_STATE_ERROR, None):
            draw_error(error)
    if get_custom_question() is not None:
        st.button(t("own.question.back"), key="own_question_back", on_click=discard_custom_question)


def _ask() -> None:
    try:
        question = parse_question(
            str(st.session_state["own_question_text"]), str(st.session_state["own_question_lines"])
        )
    except CollsimError as error:
        st.session_state[_STATE_ERROR] = error
        return
    number, _ = get_custom_question() or (0, None)
    st.session_state[_STATE] = (number + 1, question)


def discard_custom_question() -> None:
    """Return to the questions about the run."""
    st.session_state.pop(_STATE, None)
