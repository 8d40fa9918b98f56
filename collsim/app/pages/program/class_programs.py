"""Programs of a class: a student sends one, and the teacher opens it on the projector, where it runs after a click."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ...classroom.question_panel import draw_invitation, end_class, get_class_sessions, open_class
from ...classroom.student_page import get_voter
from ...server import get_session_client
from ...shell.address import remember
from ...shell.notes import draw_mistake, draw_note, draw_part, draw_status
from ...shell.session import forget_widgets, get_session, queue_reruns, t
from .program_drafts import ADDRESS, ProgramDraft

_OUTCOME = "program_sent"  # whether the program that was sent last is shown


def draw_class_programs(page: str, draft: ProgramDraft) -> None:
    """Draw the programs of the class for whoever leads one; for others a place to send this program to one.

    Args:
        page: Name of the page that opens a program.
        draft: The program of this page.
    """
    class_key = get_session().panels.class_key
    if class_key and get_class_sessions().is_leader(class_key, get_session_client()):
        with st.container(border=True, key="card_class_programs"):
            draw_part(t("program.class.list"))
            draw_invitation(class_key)
            _draw_list(page, class_key)
            st.button(t("class.end"), key="program_class_end", on_click=_on_end)
        return
    with st.expander(t("program.class")):
        draw_note(t("program.class.note"))
        with st.form("program_class", border=False):
            code = st.text_input(
                t("class.code"), str(get_session().page_values.get("class", "")), max_chars=4, key="w_program_class"
            )
            if st.form_submit_button(t("program.class.send")):
                query = ADDRESS.write(draft)
                is_sent = get_class_sessions().share_program(
                    code.strip().lower(), get_session_client(), get_voter(), query
                )
                st.session_state[_OUTCOME] = is_sent
        _draw_outcome()
        st.button(t("program.class.open"), key="program_class_open", on_click=_on_open)


def _draw_outcome() -> None:
    is_sent = st.session_state.pop(_OUTCOME, None)
    if is_sent is not None and is_sent:
        draw_status(t("program.class.sent"))
    elif is_sent is not None:
        draw_mistake(t("program.class.refused"))


@st.fragment(run_every=2.0)
@queue_reruns
def _draw_list(page: str, class_key: str) -> None:
    """A button for each program that students have sent, as they come in."""
    programs = get_class_sessions().list_programs(class_key, get_session_client())
    if not programs:
        draw_status(t("program.class.none"))
    for program in programs:
        label = t("program.class.item", number=program.number)
        key = f"class_program_{program.number}"
        st.button(label, key=key, on_click=_on_show, args=(page, program.query), width="stretch")


def _on_show(page: str, query: Mapping[str, str]) -> None:
    """Put a student's program into the editor. It is read as the address of a stranger: nothing of it runs yet."""
    draft, _ = ADDRESS.read(query)
    remember(page, draft)
    forget_widgets()  # they show what this page ran before


def _on_open() -> None:
    session = get_session()
    session.panels = open_class(session.panels)


def _on_end() -> None:
    session = get_session()
    session.panels = end_class(session.panels)
