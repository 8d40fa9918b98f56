"""Join the pages: navigation, switches, sidebar, page, address."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError

from . import compare, explore, lessons, machines, measured, race, whatif, write
from .controls import mistake, sidebar
from .look import STYLE, logo, mark
from .mistakes import told
from .state import enter, is_dark, language, leave, session, t
from .switches import switches

PAGES: dict[str, Callable[[], None]] = {
    "explore": explore.page,
    "race": race.page,
    "compare": compare.page,
    "whatif": whatif.page,
    "machines": machines.page,
    "write": write.page,
    "measured": measured.page,
    "lessons": lessons.page,
}
#: Pages that draw their own controls and write their own address, with what each does on arrival.
OWN: dict[str, Callable[[], None]] = {
    "race": race.arrive,
    "whatif": whatif.arrive,
    "machines": machines.arrive,
    "write": write.arrive,
    "measured": measured.arrive,
    "lessons": lessons.arrive,
}


def main(first: str = "explore") -> None:
    """The whole app. `first` is the page at the bare address."""
    st.set_page_config(page_title="collsim", page_icon=mark(), layout="wide", initial_sidebar_state=272)
    st.html(STYLE)
    st.logo(logo(is_dark()), size="large")
    warm_up()
    pages = [st.Page(_drawn(name), title=t(f"page.{name}"), url_path=name, default=name == first) for name in PAGES]
    st.navigation(pages, position="top").run()


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Let the event engine compile itself while the first page is being read, once for the whole server."""

    def run() -> None:
        network = cs.topology.switch(2)
        cs.simulate(cs.schedule("allreduce_ring", topology=network), network, "1KiB", engine="event")

    thread = threading.Timer(4.0, run)
    thread.daemon = True
    thread.start()
    return thread


def _drawn(name: str) -> Callable[[], None]:
    """A page with everything round it, as Streamlit's menu wants it: a function without arguments and with a name of its own."""

    def page() -> None:
        OWN.get(name, lambda: enter(name))()
        switches(list(PAGES))
        try:
            if name not in OWN:
                before = session().choice
                sidebar(name)
                leave(before)
            PAGES[name]()
        except CollsimError as error:
            mistake(told(error, language()))
        except Exception as error:  # a class never sees a stack trace; the log does
            logging.getLogger(__name__).exception("page %s failed", name)
            mistake(t("ours", why=f"{type(error).__name__}: {error}"))

    page.__name__ = name
    return page
