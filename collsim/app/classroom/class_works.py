"""Programs and schedules of a class: a student sends one, and the teacher opens it on the projector; it runs after a
click."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ..server.session_client import get_session_client
from ..shell.address import get_menu, remember
from ..shell.notes import draw_mistake, draw_note, draw_part, draw_status
from ..shell.page import list_pages
from ..shell.session import forget_widgets, get_session, queue_reruns, rerun_page, t
from .class_sessions import SharedWork
from .question_card import draw_free_question, get_class_sessions, is_leading_class, open_class
from .student_page import get_voter

_OUTCOME = "work_sent"  # whether the work that was sent last is shown


def draw_class_works(page: str, query: Mapping[str, str]) -> None:
    """Draw the works of the class for whoever leads one; for others a place to send what this page shows to one.

    Args:
        page: Name of this page.
        query: Words of the address of what it shows.
    """
    # Whoever leads the class sees what was sent in; everybody else may send.
    if is_leading_class():
        with st.container(border=True, key="card_class_works"):
            draw_part(t("class.works.list"))
            _draw_list(get_session().panels.class_key)
            draw_free_question()
        return
    with st.expander(t("class.works")):
        draw_note(t("class.works.note"))
        with st.form("class_works", border=False):
            code = st.text_input(
                t("class.code"), str(get_session().page_values.get("class", "")), max_chars=4, key="w_works_class"
            )
            if st.form_submit_button(t("class.works.send"), key="works_send"):
                sender = get_session_client(), get_voter()
                st.session_state[_OUTCOME] = get_class_sessions().share_work(code.strip().lower(), *sender, page, query)
        _draw_outcome()
        st.button(t("class.works.open"), key="works_class_open", on_click=open_class)


def _draw_outcome() -> None:
    is_sent = st.session_state.pop(_OUTCOME, None)
    if is_sent is not None and is_sent:
        draw_status(t("class.works.sent"))
    elif is_sent is not None:
        draw_mistake(t("class.works.refused"))


@st.fragment(run_every=2.0)
@queue_reruns
def _draw_list(class_key: str) -> None:
    """A button for each work that students have sent, as they come in."""
    works = get_class_sessions().list_works(class_key, get_session_client())
    if not works:
        draw_status(t("class.works.none"))
    for work in works:
        label = t(f"class.works.{work.page}", number=work.number)
        key = f"class_work_{work.number}"
        if st.button(label, key=key, on_click=_take_work, args=(work,), width="stretch"):
            if work.page == get_session().page:
                rerun_page()
            st.switch_page(get_menu()[work.page])


def _take_work(work: SharedWork) -> None:
    """Let the page of a student's work show it. It is read as the address of a stranger: nothing of it runs yet."""
    draft, _ = list_pages()[work.page].address.read(work.query)
    remember(work.page, draft)
    forget_widgets()  # they show what the page ran before
