"""Before code runs on the Write page: code from a link waits for a click, and where the system cannot isolate
it, for somebody at this computer to agree."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

import streamlit as st

from collsim.sandbox import Isolation, detect_isolation

from ...server.addresses import listens_on_loopback
from ...shell.address import change_remembered
from ...shell.notes import format_verdict
from ...shell.session import t

_AGREED = threading.Event()  # one for the server: it listens only to this computer, which is one person's


class _LinkedDraft(Protocol):
    """Code that may have come in a link, and where it runs."""

    @property
    def code(self) -> str: ...
    @property
    def linked(self) -> bool: ...


DraftT = TypeVar("DraftT", bound=_LinkedDraft)


def ask_consent(page: str, draft: DraftT) -> DraftT | None:
    """The draft as it may run now, or None where something is asked first; what is asked is drawn.

    Args:
        page: Name of the page that remembers it.
        draft: The code and the machine that it is tried on.
    """
    if detect_isolation() is Isolation.NONE and not (_AGREED.is_set() and listens_on_loopback()):
        _ask_for_consent()
        return None
    ran: set[str] = st.session_state.setdefault(f"{page}_ran", set())
    mark = hashlib.sha256(draft.code.encode("utf-8", "replace")).hexdigest()
    if draft.linked and mark not in ran:
        _note(t("write.link"))
        # Somebody has read the code of the link, and what they type into it is theirs.
        accept = partial(change_remembered, page, linked=False)
        st.button(t("write.link.run"), key=f"{page}_run_link", type="primary", on_click=accept)
        return None
    ran.add(mark)
    is_open = detect_isolation() is Isolation.NONE
    return replace(draft, turn=0, linked=False, allow_unsandboxed=is_open)  # type: ignore[type-var]


def _ask_for_consent() -> None:
    _note(t("write.unsandboxed"), t("write.unsandboxed.ask" if listens_on_loopback() else "write.unsandboxed.open"))
    if listens_on_loopback():
        st.button(t("write.unsandboxed.agree"), key="write_agree", on_click=_AGREED.set)


def _note(*sentences: str) -> None:
    st.html(format_verdict([], *sentences, token="full", status=True))
