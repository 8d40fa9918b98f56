"""A machine taken along to the pages that run collectives: the same four buttons wherever they stand."""

from __future__ import annotations

import html
from collections.abc import Callable

import streamlit as st

from ..scenario.choice import Choice
from ..shell.address import menu, remembered
from ..shell.session import session, t
from .race import lineup, race
from .whatif import whatif

PAGES = ("explore", "race", "compare", "whatif")


def onward(note: str, key: str, take: Callable[[Choice], Choice]) -> None:
    """Draw them after a note. `take` puts the machine into the choice that the pages share; it is called when one is
    pressed."""
    with st.container(key=key, horizontal=True, vertical_alignment="center"):
        st.html(f'<div class="cs-note">{html.escape(note)}</div>', width="content")
        for page in PAGES:
            if st.button(t(f"page.{page}"), key=f"{key}_{page}"):
                _go(page, take(session().choice))


def _go(page: str, choice: Choice) -> None:
    session().choice = choice
    kept = remembered()
    kept.pop(whatif.PAGE, None)  # a cable of another machine is not in this one
    if page == race.PAGE:
        kept[page] = lineup.on(choice)
    st.switch_page(menu()[page])
