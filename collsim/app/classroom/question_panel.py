"""Questions about the run on Explore: predict, then reveal; alone, or with a class that votes in its own browsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from collsim.errors import CollsimError
from collsim.teach.quiz.question import Question

from ..scenario.choice import Choice
from ..scenario.panels import LONGEST_ANSWER, MAX_SEEDS, SHOWN, Panels
from ..scenario.run_questions import ask_about_run
from ..shell.notes import draw_error, draw_mistake
from ..shell.results import get_exact
from ..shell.session import get_language, get_session, set_panels, t
from . import question_html
from .class_sessions import PosedQuestion
from .question_card import (
    ButtonKind,
    draw_answer,
    draw_choices,
    draw_class_button,
    draw_class_question,
    draw_panel_button,
    end_class,
    is_leading_class,
    label_question,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def draw_buttons() -> None:
    """Draw the buttons that open the questions and break the run, always in sight at the end of the sidebar."""
    with st.sidebar, st.container(key="classroom", horizontal=True, gap="small"):
        panels = get_session().panels
        _draw_switch("ask", panels.seed is not None, _open_questions, _close_questions)
        _draw_switch(
            "break", bool(panels.fault), partial(_close_questions, "lose"), partial(set_panels, fault="", fault_seed=0)
        )
    st.html(f"<style>{_STYLE}</style>")


def _draw_switch(name: str, is_on: bool, turn_on: Callable[[], None], turn_off: Callable[[], None]) -> None:
    kind: ButtonKind = "secondary"
    if is_on:
        kind = "primary"
    st.button(
        t(f"{name}.start"),
        key=f"{name}_start",
        type=kind,
        help=t(f"{name}.start.help"),
        on_click=turn_off if is_on else turn_on,
        width="stretch",
    )


def create_columns() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the column of a question, and the column of the picture beside it."""
    st.html(f"<style>{question_html.STYLE}{question_html.BESIDE_STYLE}</style>")
    with st.container(key="beside"):
        text, picture = st.columns([2, 3], gap="small")
    return text.container(key="besidetext"), picture.container(key="besidestage")


def draw_class_beside(posed: PosedQuestion) -> tuple[DeltaGenerator, bool]:
    """Put a question to the class that this tab leads, beside what the page shows.

    Args:
        posed: The question of the page.

    Returns:
        The column for what the page shows, and whether the answer is still hidden.
    """
    text, picture = create_columns()
    with text:
        return picture, draw_class_card(posed)


def draw_class_card(posed: PosedQuestion) -> bool:
    """Put a question to the class that this tab leads, in a card with the ways to the page's other questions.

    Args:
        posed: The question of the page.

    Returns:
        Whether the answer is still hidden.
    """
    with st.container(border=True, key="card_question"):
        return draw_class_question(posed, lambda: _draw_steps(posed.number, posed.count))


def draw_panel(choice: Choice, seed: int) -> bool:
    """Draw the question that is open.

    Args:
        choice: The run that it is about.
        seed: Seed of the questions about it.

    Returns:
        Whether the figures of the run would answer it.
    """
    with st.container(border=True, key="card_question"):
        questions: list[Question] | None = get_exact(ask_about_run, choice, seed)
        if questions is None:
            draw_panel_button("close", "ask.close", _close_questions)
            return True
        return _draw_question(choice, get_session().panels, seed, questions)


def _draw_question(choice: Choice, panels: Panels, seed: int, questions: list[Question]) -> bool:
    number, count = min(panels.number, len(questions) - 1), len(questions)
    posed = PosedQuestion(f"explore-{seed}", number, count, questions[number], choice)
    if is_leading_class():
        return draw_class_question(posed, lambda: _draw_navigation(number, count))
    question = replace(questions[number], language=get_language())
    st.html(question_html.render_question(label_question(posed), question))
    if panels.class_key:
        draw_mistake(t("class.over"))
    return _draw_alone(panels, number, count, question)


# ---- what a button changes -----------------------------------------------------------------------------------------


def _open_questions() -> None:
    session = get_session()
    session.panels = Panels(seed=0, class_key=session.panels.class_key, pinned=session.panels.pinned)


def _close_questions(fault: str = "") -> None:
    session = get_session()
    if session.panels.class_key:
        end_class()
    session.panels = Panels(fault=fault, pinned=session.panels.pinned)


# ---- alone ---------------------------------------------------------------------------------------------------------


def _draw_steps(number: int, count: int) -> None:
    if count > 1:
        draw_panel_button("back", "ask.back", partial(set_panels, number=number - 1, answer=""), disabled=number == 0)
        draw_panel_button(
            "next", "ask.next", partial(set_panels, number=number + 1, answer=""), disabled=number + 1 >= count
        )


def _draw_navigation(number: int, count: int) -> None:
    _draw_steps(number, count)
    seed = ((get_session().panels.seed or 0) + 1) % (MAX_SEEDS + 1)
    draw_panel_button("new", "ask.new", partial(set_panels, seed=seed, number=0, answer=""))
    draw_panel_button("close", "ask.close", _close_questions)


def _draw_alone(panels: Panels, number: int, count: int, question: Question) -> bool:
    """Let one person answer, then show every choice with its reason. Return whether the answer is hidden."""
    answer, is_revealed = None, panels.answer == SHOWN
    if panels.answer and not is_revealed:
        # An answer comes from the address and may be anything.
        try:
            answer, is_revealed = question.value(panels.answer), True
        except CollsimError as error:
            draw_error(error)
    if is_revealed:
        draw_answer(question, answer)
    elif question.kind == "number":
        _draw_number_form(question)
    else:
        keys = [f"ask_{panels.seed}_{panels.number}_{chr(65 + k)}" for k in range(len(question.options))]
        draw_choices(question, keys, lambda k: set_panels(answer=chr(97 + k)))
    with st.container(key="ask_row", horizontal=True, gap="small"):
        if is_revealed:
            draw_panel_button("again", "ask.again", partial(set_panels, answer=""))
        else:
            draw_panel_button("reveal", "ask.reveal", partial(set_panels, answer=SHOWN))
            draw_class_button()
        _draw_navigation(number, count)
    return not is_revealed


def _draw_number_form(question: Question) -> None:
    with st.form("ask_form", border=False), st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        hint = t(f"ask.answer.{question.unit}")
        st.text_input(t("ask.answer"), key="ask_number", placeholder=hint, max_chars=LONGEST_ANSWER, width=320)
        st.form_submit_button(t("ask.check"), key="ask_check", type="primary", on_click=_submit_number)


def _submit_number() -> None:
    text = str(st.session_state.get("ask_number", "")).strip()
    set_panels(answer=text[:LONGEST_ANSWER])


_STYLE = """
[data-testid=stSidebar] :has(>.st-key-classroom){position:sticky;bottom:0;z-index:5}
.st-key-classroom{background:var(--cs-card);padding:10px 0 12px;border-top:1px solid var(--cs-line)}
.st-key-classroom button{min-height:36px;padding:4px 6px} .st-key-classroom button p{font-size:15px;white-space:nowrap}
"""
