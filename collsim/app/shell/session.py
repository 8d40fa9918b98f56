"""The session of a browser tab: the choice, what pages remember, the language, the moment of the player; and its
reruns, which wait for their turn in the queue of the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, NoReturn, ParamSpec, cast

import streamlit as st

from collsim.display.markup import escape_text
from collsim.locale import LANGUAGES, Language, complete_text, match_language

from ..scenario.address_parameters import Complaint
from ..scenario.choice import Choice
from ..scenario.panels import Panels
from ..server.rerun_queue import ServerBusy
from ..server.session_client import get_session_client
from ..server.startup import get_rerun_queue
from ..texts import say

WIDGETS = "w_"
#: Seconds after which a page that the server was too busy for tries again.
RETRY = 5.0
_REFUSED_AT = "rerun_refused_at"

Arguments = ParamSpec("Arguments")


@dataclass
class Session:
    """What one browser tab remembers.

    Attributes:
        choice: what the controls say, as far as it could be read.
        last_good_choice: the last one that ran.
        page_values: what the pages remember, by page.
        complaints: what was wrong with the address that was opened.
        start: moment and view at which the player of the open page begins.
        moments: moment and view by page, as its address last said.
        last_run: the run that the address was last read or written for, which its moment and its complaints belong to.
        written: the address as this session wrote it; another one means that a person changed it.
        begun: keys of controls that began at a value in a run of the page that has not come to its end.
        offered: options of each select box, by its key, when it was last drawn.
        typed: words that were typed into a box and are no option, by its name, until they are answered.
        page: name of the page that is open.
        is_asking: the page has put a question to a class in this run of it.
        keeps_address: the next run comes from the page itself, and not from a person who changed the address.
    """

    choice: Choice = field(default_factory=Choice)
    last_good_choice: Choice = field(default_factory=Choice)
    page_values: dict[str, Any] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    moments: dict[str, dict[str, object]] = field(default_factory=dict)
    last_run: Any = None
    written: dict[str, str] | None = None
    begun: set[str] = field(default_factory=set)
    offered: dict[str, frozenset[str]] = field(default_factory=dict)
    typed: dict[str, list[str]] = field(default_factory=dict)
    page: str = ""
    is_asking: bool = False
    keeps_address: bool = False

    @property
    def panels(self) -> Panels:
        """What Explore remembers: the question that is open, and how its run is broken."""
        return cast(Panels, self.page_values.setdefault("explore", Panels()))

    @panels.setter
    def panels(self, panels: Panels) -> None:
        """Set which panels are open.

        Args:
            panels: Which panels are open.
        """
        self.page_values["explore"] = panels


def get_session() -> Session:
    """The session of this tab."""
    if "session" not in st.session_state:
        st.session_state["session"] = Session()
    return cast(Session, st.session_state["session"])


def set_panels(**fields: Any) -> None:
    """Open and close panels of Explore.

    Args:
        **fields: New values by field of `Panels`.
    """
    session = get_session()
    session.panels = replace(session.panels, **fields)


def rerun_page() -> NoReturn:
    """Run the whole page again, from a part of it that looks for news by itself.

    Every request of the browser names its address, and a slow browser names one that is older than what this session
    wrote last. Read as that of a person, it would undo what was typed since.
    """
    get_session().keeps_address = True
    st.rerun()


def get_language() -> Language:
    """The language of the page: as switched, else as the address says, else as the browser asks for."""
    chosen = st.session_state.get("w_language") or st.session_state.get("language") or st.query_params.get("lang")
    if chosen not in LANGUAGES:
        chosen = match_language(st.context.locale or "")
    st.session_state["language"] = chosen
    return cast(Language, chosen)


def choose_text(texts: Sequence[str]) -> str:
    """The text in the language of the page.

    Args:
        texts: In each of `LANGUAGES`, or in the first of them.
    """
    return complete_text(texts)[LANGUAGES.index(get_language())]


def t(key: str, **values: object) -> str:
    """A text of the app in the language of the page.

    Args:
        key: Key of the text or control.
        **values: Values of the text by name.
    """
    return say(get_language(), key, **values)


def is_dark() -> bool:
    """Does the reader's theme have a dark background?"""
    return st.context.theme.type == "dark"


def forget_widgets(prefix: str = "") -> None:
    """Let every control whose name begins so start again from the choice.

    Args:
        prefix: Beginning of the names.
    """
    for key in [k for k in st.session_state if str(k).startswith(f"{WIDGETS}{prefix}")]:
        del st.session_state[key]


# ---- reruns in the queue of the server


def queue_reruns(draw: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Decorate what draws a page or a fragment, so that it waits until the server has a slot for its client. Inside of
    another one that waited, it does not wait again.

    Args:
        draw: Draws the part.
    """

    @wraps(draw)
    def draw_in_turn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            with get_rerun_queue().admit(get_session_client()):
                draw(*args, **kwargs)
        except ServerBusy:
            st.session_state[_REFUSED_AT] = time.monotonic()
            _show_refusal()

    return draw_in_turn


def queue_callback(act: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Decorate what a control calls and what takes long, in the same way: it runs before the page is drawn.

    Args:
        act: The function that a control calls.
    """

    @wraps(act)
    def act_in_turn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            with get_rerun_queue().admit(get_session_client()):
                act(*args, **kwargs)
        except ServerBusy:
            st.toast(t("server.busy"))

    return act_in_turn


@st.fragment(run_every=RETRY)
def _show_refusal() -> None:
    """Say that the server is busy; when this is run by itself, try again."""
    st.html(f'<div class="cs-note" role="status">{escape_text(t("server.busy"))}</div>')
    if time.monotonic() - st.session_state[_REFUSED_AT] > RETRY / 2:
        rerun_page()
