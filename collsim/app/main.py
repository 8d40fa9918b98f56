"""Join the pages: navigation, address, switches, page."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache
from typing import Literal

import streamlit as st

from collsim.errors import CollsimError

from .classroom.question_card import draw_free_question, is_leading_class
from .classroom.student_page import get_invited_code
from .jobs.engine_warmup import ENGINE
from .pages import load
from .shell.address import put_menu, read_page_address
from .shell.look import STYLE, build_menu_style, draw_logo, mark
from .shell.notes import draw_error, draw_mistake
from .shell.page import Page
from .shell.results import open_page
from .shell.session import get_session, is_dark, queue_reruns, t
from .shell.switches import draw_switches

PAGES: dict[str, Page] = load()
#: Seconds after the first page was drawn at which compiling begins: the page itself comes first.
_COMPILE_DELAY = 4.0


@queue_reruns
def main(first: str = "explore") -> None:
    """Draw the whole app: its menu and the page that is open.

    Args:
        first: Name of the page at the bare address.
    """
    st.set_page_config(page_title="collsim", page_icon=mark(), layout="wide", initial_sidebar_state=272)
    st.html(STYLE + build_menu_style(t("menu")))
    st.logo(draw_logo(is_dark()), size="large")
    compile_engine()
    entries = {name: _build_entry(page, first) for name, page in PAGES.items()}
    put_menu(entries)
    # Streamlit gives its first page the bare address only; this one, not in the menu, answers to the name as well.
    named = st.Page(_wrap_page(PAGES[first]), title=t(f"page.{first}"), url_path=first, visibility="hidden")
    current_page = st.navigation(_group_menu(entries, named), position="top")
    if current_page is named:
        st.switch_page(entries[first], query_params=st.query_params.to_dict())
    if current_page is not entries["class"] and (code := get_invited_code()):
        st.switch_page(entries["class"], query_params={"class": code})
    current_page.run()


#: The menu's groups and the pages in them, in order; a page that is in none is added to `_OTHERS`.
GROUPS: dict[str, tuple[str, ...]] = {
    "learn": ("story", "lessons", "write", "program", "script", "hangs", "class"),
    "see": ("explore", "race", "train"),
    "decide": ("compare", "whatif", "machines", "routing", "diagnosis", "measured"),
    "lab": ("lab",),
}
_OTHERS = "see"


def _group_menu(entries: dict[str, st.Page], named: st.Page) -> dict[str, list[st.Page]]:
    """Entries by the name of their group."""
    grouped = {name for names in GROUPS.values() for name in names}
    others = {_OTHERS: [entries[name] for name in entries if name not in grouped] + [named]}
    groups = {
        group: [entries[name] for name in names if name in entries] + others.get(group, [])
        for group, names in GROUPS.items()
    }
    return {t(f"menu.{group}"): pages for group, pages in groups.items() if pages}


def _build_entry(page: Page, first: str) -> st.Page:
    """One entry of the menu; a page that is not listed is reached by its address only."""
    visibility: Literal["hidden", "visible"] = "visible" if page.listed else "hidden"
    is_first = page.name == first
    path = "first" if is_first else page.name
    return st.Page(
        _wrap_page(page), title=t(f"page.{page.name}"), url_path=path, default=is_first, visibility=visibility
    )


@cache
def compile_engine() -> threading.Thread:
    """Compile the event engine while the first page is read, once for the server, where `entry.ready` did not."""
    thread = threading.Timer(_COMPILE_DELAY, ENGINE.prepare)
    thread.daemon = True
    thread.start()
    return thread


def _wrap_page(page: Page) -> Callable[[], None]:
    """A page with its address, switches and errors, as Streamlit's menu wants it: a function without arguments, with a
    name that no other page has."""

    def draw_page() -> None:
        read_page_address(page)
        draw_switches(list(PAGES))
        open_page(page.name)
        try:
            page.draw()
            if page.name != "class" and is_leading_class() and not get_session().is_asking:
                with st.container(border=True, key="card_question"):
                    draw_free_question()
        except CollsimError as error:
            draw_error(error)
        except Exception as error:  # a class never sees a stack trace; the log does
            logging.getLogger(__name__).exception("page %s failed", page.name)
            draw_mistake(t("ours", reason=f"{type(error).__name__}: {error}"))
        get_session().begun.clear()
        get_session().is_asking = False

    draw_page.__name__ = page.name
    return draw_page
