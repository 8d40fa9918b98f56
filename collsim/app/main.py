"""Join the pages: navigation, switches, sidebar, page, address."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

import streamlit as st

from collsim.errors import CollsimError

from .classroom import student
from .jobs.pool import ENGINE
from .pages import compare, lessons
from .pages.explore import explore
from .pages.machines import machines
from .pages.measured import measured
from .pages.race import race
from .pages.whatif import whatif
from .pages.write import write
from .scenario.mistakes import told
from .shell.address import put_menu
from .shell.controls import mistake
from .shell.look import STYLE, logo, mark
from .shell.results import turn
from .shell.session import enter, is_dark, language, leave, session, t
from .shell.sidebar import sidebar
from .shell.switches import switches

PAGES: dict[str, Callable[[], None]] = {
    "explore": explore.page,
    "race": race.page,
    "compare": compare.page,
    "whatif": whatif.page,
    "machines": machines.page,
    "write": write.page,
    "measured": measured.page,
    "lessons": lessons.page,
    "class": student.page,
}
#: Pages that draw their own controls and write their own address, with what each does on arrival.
OWN: dict[str, Callable[[], None]] = {
    "race": race.arrive,
    "whatif": whatif.arrive,
    "machines": machines.arrive,
    "write": write.arrive,
    "measured": measured.arrive,
    "lessons": lessons.arrive,
    "class": student.arrive,
}


def main(first: str = "explore") -> None:
    """The whole app. `first` is the page at the bare address."""
    st.set_page_config(page_title="collsim", page_icon=mark(), layout="wide", initial_sidebar_state=272)
    st.html(STYLE)
    st.logo(logo(is_dark()), size="large")
    warm_up()
    pages = {name: _page(name, first) for name in PAGES}
    put_menu(pages)
    # Streamlit gives its first page the bare address only; this one, not in the menu, answers to the name as well
    named = st.Page(_drawn(first), title=t(f"page.{first}"), url_path=first, visibility="hidden")
    shown = st.navigation([*pages.values(), named], position="top")
    if shown is named:
        st.switch_page(pages[first], query_params=st.query_params.to_dict())
    if shown is not pages["class"] and (code := student.invited()):
        st.switch_page(pages["class"], query_params={"class": code})
    shown.run()


def _page(name: str, first: str) -> st.Page:
    """One entry of the menu; a class is reached by its address only."""
    seen: Literal["hidden", "visible"] = "hidden" if name == "class" else "visible"
    return st.Page(
        _drawn(name),
        title=t(f"page.{name}"),
        url_path="first" if name == first else name,
        default=name == first,
        visibility=seen,
    )


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Have the event engine compiled while the first page is being read, once for the whole server."""
    thread = threading.Timer(4.0, ENGINE.prepare)
    thread.daemon = True
    thread.start()
    return thread


def _drawn(name: str) -> Callable[[], None]:
    """A page with everything round it, as Streamlit's menu wants it: a function without arguments and with a name of
    its own."""

    def page() -> None:
        OWN.get(name, lambda: enter(name))()
        switches(list(PAGES))
        try:
            if name not in OWN:
                before = session().choice
                sidebar(name)
                leave(before)
            turn(name)
            PAGES[name]()
        except CollsimError as error:
            mistake(told(error, language()))
        except Exception as error:  # a class never sees a stack trace; the log does
            logging.getLogger(__name__).exception("page %s failed", name)
            mistake(t("ours", why=f"{type(error).__name__}: {error}"))

    page.__name__ = name
    return page
