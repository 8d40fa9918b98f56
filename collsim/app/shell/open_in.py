"""A machine taken along to the pages that run collectives: the same buttons wherever they stand."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ..scenario.choice import Choice
from .address import menu, remember
from .notes import note
from .page import Page, pages
from .session import session, t


def open_in(text: str, key: str, take: Callable[[Choice], Choice]) -> None:
    """Draw them after a note. `take` puts the machine into the choice that the pages share; it is called when one is
    pressed."""
    with st.container(key=key, horizontal=True, vertical_alignment="center"):
        note(text, width="content")
        for page in pages().values():
            if page.takes_machine and st.button(t(f"page.{page.name}"), key=f"{key}_{page.name}"):
                _go(page, take(session().choice))


def _go(to: Page, choice: Choice) -> None:
    """Open a page on the machine. What a page that shares the choice remembers of another machine is not in this
    one."""
    session().choice = choice
    for page in pages().values():
        if page.on_machine is not None and (page.choice or page is to):
            remember(page.name, page.on_machine(choice))
    st.switch_page(menu()[to.name])
