"""Reruns of pages wait for their turn in the queue of the server; one that is refused says so and tries again."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from ..server import ServerBusy, get_rerun_queue, get_session_client
from .notes import status
from .session import t

#: Seconds after which a page that was refused tries again.
RETRY = 5.0
_REFUSED_AT = "rerun_refused_at"

Arguments = ParamSpec("Arguments")


def queue_reruns(draw: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Decorate what draws a page or a fragment, so that it waits until the server has a slot for its client. Inside of
    another one that waited, it does not wait again."""

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
    """Decorate what a control calls and what takes long, in the same way: it runs before the page is drawn."""

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
    status(t("server.busy"))
    if time.monotonic() - st.session_state[_REFUSED_AT] > RETRY / 2:
        st.rerun()
