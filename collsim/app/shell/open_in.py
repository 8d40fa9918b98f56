"""A machine taken along to the pages that run collectives: the same buttons wherever they stand."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ..scenario.choice import Choice
from .address import get_menu, remember
from .notes import draw_note
from .page import Page, list_pages
from .session import get_session, t


def open_in(text: str, key: str, take: Callable[[Choice], Choice]) -> None:
    """Draw them after a note. `take` puts the machine into the choice that the pages share; it is called when one is
    pressed.

    Args:
        text: The text.
        key: Key of the text or control.
        take: Puts the machine into a choice.
    """
    with st.container(key=key, horizontal=True, vertical_alignment="center"):
        draw_note(text, width="content")
        for page in list_pages().values():
            # The page that is open shows the machine already.
            if not page.takes_machine or page.name == get_session().page:
                continue
            if st.button(t(f"page.{page.name}"), key=f"{key}_{page.name}"):
                _on_open(page, take(get_session().choice))


def _on_open(to: Page, choice: Choice) -> None:
    """Open a page on the machine. What a page that shares the choice remembers of another machine is not in this
    one."""
    get_session().choice = choice
    for page in list_pages().values():
        if page.on_machine is not None and (page.choice or page is to):
            remember(page.name, page.on_machine(choice))
    st.switch_page(get_menu()[to.name])
