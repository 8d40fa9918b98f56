"""The session: the choice, the language, the moment of the player; and the address that says the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import streamlit as st

from ..scenario import panels
from ..scenario.choice import Choice, Complaint, moment, to_query
from ..scenario.outcome import asked
from ..scenario.panels import Panels
from ..texts.catalogue import LANGUAGES, Language, say

_WIDGETS = "w_"


@dataclass
class Session:
    """What one browser tab remembers.

    Attributes:
        choice: what the controls say, as far as it could be read; `good`: the last one that ran.
        complaints: what was wrong with the address that was opened.
        start: moment and view at which the player begins (from the address, or from before a page was left); `now`: as
        last reported. panels: the question that is open on Explore, and how its run is broken.
        written: the address as this session wrote it; another one means that a person changed it.
    """

    choice: Choice = field(default_factory=Choice)
    good: Choice = field(default_factory=Choice)
    complaints: list[Complaint] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    now: dict[str, Any] = field(default_factory=dict)
    panels: Panels = field(default_factory=Panels)
    written: dict[str, str] | None = None
    page: str = ""


def session() -> Session:
    """The session of this tab."""
    if "session" not in st.session_state:
        st.session_state["session"] = Session()
    return cast(Session, st.session_state["session"])


def language() -> Language:
    """The language of the page: as switched, else as the address says, else as the browser asks for."""
    chosen = st.session_state.get("w_lang") or st.session_state.get("lang") or st.query_params.get("lang")
    if chosen not in LANGUAGES:
        chosen = "zh" if (st.context.locale or "").lower().startswith("zh") else "en"
    st.session_state["lang"] = chosen
    return cast(Language, chosen)


def t(key: str, **values: object) -> str:
    """A text of the app in the language of the page."""
    return say(language(), key, **values)


def is_dark() -> bool:
    """Does the reader's theme have a dark background?"""
    return st.context.theme.type == "dark"


def enter(page: str) -> None:
    """At the start of every run: take over the address where a person, a link or the back button changed it."""
    now, query = session(), st.query_params.to_dict()
    turned = page != now.page and bool(now.page)
    now.page = page
    if turned:  # Streamlit gives the controls of another page an identity of their own, even under the same key
        now.start = dict(now.now)
        forget_widgets()
    if now.written is not None and (query == now.written or (turned and not set(query) - {"lang"})):
        return
    lang = query.pop("lang", None)
    found, unread = moment(query)
    now.start = now.now = found
    now.choice, now.complaints = asked(query)
    now.panels, more = panels.read(query)
    now.complaints += more + unread
    if lang is not None and lang not in LANGUAGES:
        now.complaints.append(Complaint("lang", lang[:60], "unknown", language()))
    elif lang is not None:
        st.session_state["lang"] = lang
    forget_widgets()


def leave(before: Choice) -> None:
    """At the end of the controls: write the address of what was chosen. The plain first page keeps its bare address."""
    now = session()
    query = {} if now.choice == Choice() else to_query(now.choice)
    if now.choice != before:
        now.panels = replace(now.panels, number=0, answer="")
    query |= panels.write(now.panels) if now.page == "explore" else {}
    if language() != "en" or "lang" in st.query_params:
        query["lang"] = language()
    if now.choice != before:
        now.complaints = []
        now.start = {key: value for key, value in now.start.items() if key == "view"}
    elif "t" in now.start and "t" in st.query_params:
        query |= {key: st.query_params[key] for key in ("t", "view") if key in st.query_params}
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    now.written = query


def forget_widgets() -> None:
    """Let every control start again from the choice."""
    for key in [k for k in st.session_state if str(k).startswith(_WIDGETS)]:
        del st.session_state[key]
