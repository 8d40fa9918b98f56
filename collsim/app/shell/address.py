"""Pages with an address of their own: what they remember, and the part of the URL that says it.

Explore and Compare share one choice (`state.enter`, `state.leave`); a race has several runs and an edited machine has
edits, so such a page reads and writes its own words of the address. What cannot be used becomes a complaint, never an
error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import streamlit as st

from ..scenario.choice import Complaint
from ..texts.catalogue import LANGUAGES
from .session import forget_widgets, language, session

#: Reads a query into what a page remembers, with complaints.
Reader = Callable[[dict[str, str]], tuple[Any, list[Complaint]]]
LONGEST = 60


def enter(page: str, read: Reader) -> Any:
    """At the start of every run: what the page remembers, taken from the address where a person, a link or the back
    button changed it."""
    now, query = session(), st.query_params.to_dict()
    turned = page != now.page
    now.page = page
    if turned:
        now.complaints = []
        forget_widgets()
    kept = remembered()
    bare = not set(query) - {"lang"}
    if page in kept and (query == now.written or (turned and bare)):
        return kept[page]
    lang = query.pop("lang", None)
    choice = now.choice
    kept[page], now.complaints = read(query)
    if turned and bare and now.written is not None:
        now.choice = choice  # a page that shares the run of Explore takes it along
    if lang is not None and lang not in LANGUAGES:
        now.complaints.append(Complaint("lang", shortened(lang), "unknown", language()))
    elif lang is not None:
        st.session_state["lang"] = lang
    forget_widgets()
    return kept[page]


def leave(page: str, value: Any, query: Mapping[str, str]) -> None:
    """At the end of the controls: remember, and write the address."""
    now, kept = session(), remembered()
    if page in kept and kept[page] != value:
        now.complaints = []
    kept[page] = value
    said = {key: text for key, text in query.items() if text}
    if language() != "en" or "lang" in st.query_params:
        said["lang"] = language()
    if st.query_params.to_dict() != said:
        st.query_params.from_dict(said)
    now.written = said


def remembered() -> dict[str, Any]:
    """What the pages of this tab remember, by page."""
    kept: dict[str, Any] = st.session_state.setdefault("remembered", {})
    return kept


def put_menu(pages: dict[str, st.Page]) -> None:
    """Let every page find the others."""
    st.session_state["menu"] = pages


def menu() -> dict[str, st.Page]:
    """All pages by name, for a button that leads to one of them."""
    return cast(dict[str, st.Page], st.session_state["menu"])


def shortened(text: str) -> str:
    """At most so much of a text that a stranger wrote."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
