"""The place to paste or upload a machine of one's own. The same on every page that has machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from collsim.display.markup import escape_markdown, escape_text
from collsim.errors import CollsimError
from collsim.files import decode_text
from collsim.locale import repeat_text

from ..scenario import custom_machine
from ..scenario.choice import drop_own_machine, read_file_fields
from ..scenario.outcome import Refused
from ..texts import write_texts
from .address import get_remembered, remember
from .notes import draw_error, draw_note
from .page import list_pages
from .session import forget_widgets, get_session, queue_callback, t

_TYPES = ["txt", "xml", "yaml", "yml"]
_WRONG = "own_mistake"


def draw_machine_popover(key: str, width: Literal["stretch", "content"] = "content") -> None:
    """Draw the button that opens the fields.

    Args:
        key: As in `draw_machine_box`.
        width: Of the button.
    """
    label = t("own.give")
    if text := get_session().choice.machine_text:
        label = t("own.change", file=custom_machine.read_facts(text).file)
    with st.popover(escape_markdown(label), width=width, key=f"own_give_{key}"):
        draw_machine_box(key)


def draw_machine_box(key: str) -> None:
    """Draw the fields, and what the machine's text left open. All pages offer the machine that was given on one.

    Args:
        key: Tells this box from that of another page.
    """
    draw_note(t("own.note"))
    text, area, file = get_session().choice.machine_text, f"w_own_text_{key}", f"w_own_file_{key}"
    if area not in st.session_state:
        st.session_state[area] = text
    st.text_area(t("own.text"), key=area, height=160)
    st.file_uploader(t("own.file"), type=_TYPES, key=file, max_upload_size=1)
    use, back = st.columns(2)
    use.button(t("own.use"), type="primary", width="stretch", key=f"own_use_{key}", on_click=_use, args=(area, file))
    if wrong := st.session_state.pop(_WRONG, None):
        draw_error(wrong)
    if text:
        back.button(t("own.drop"), width="stretch", key=f"own_drop_{key}", on_click=_drop)
        _draw_machine_notes(text, key)


def _draw_machine_notes(text: str, key: str) -> None:
    facts = custom_machine.read_facts(text)
    name = facts.file
    st.download_button(
        escape_markdown(t("own.download", file=name)), text, name, key=f"own_download_{key}", on_click="ignore"
    )
    # A text that fits into the address makes the page's link whole; a longer one does not travel with it.
    if custom_machine.pack_text(text):
        lines = []
    else:
        lines = [t("own.long", count=f"{len(text):,}")]
    if facts.takes and "nodes" not in facts.takes:
        lines += [t("own.alone")]
    if facts.notes:
        lines += [t("own.notes") + t("colon")]
    st.html(
        "".join(f'<div class="cs-note">{escape_text(line)}</div>' for line in (*lines, *facts.notes)) or "<span></span>"
    )


@queue_callback
def _use(area: str, file: str) -> None:
    """A button was pressed: the file if there is one, else what was pasted. A mistake in it is told, and nothing
    changes."""
    uploaded_file = st.session_state.get(file)
    try:
        if uploaded_file is None:
            text, name = str(st.session_state.get(area) or ""), write_texts("own.pasted")
        else:
            name = repeat_text(uploaded_file.name)
            text = decode_text(uploaded_file.getvalue(), uploaded_file.name)
        if not text.strip():
            raise Refused("own.empty")
        custom_machine.check_text(text, name)
    except CollsimError as error:
        st.session_state[_WRONG] = error
        return
    forget_widgets()
    offer_machine(text)
    _change_machine(lambda choice: replace(choice, **read_file_fields(text)))


def _drop() -> None:
    forget_widgets()
    _change_machine(drop_own_machine)
    get_session().choice = drop_own_machine(get_session().choice)


def offer_machine(text: str) -> None:
    """Let every page offer a machine of one's own.

    Args:
        text: The text of the machine; "" for none, which leaves the one that there is.
    """
    if text:
        get_session().choice = replace(get_session().choice, machine_text=text)


def _change_machine(change: Callable[[Any], Any]) -> None:
    """Change the machine of the open page: of the shared run, or of what it remembers."""
    session = get_session()
    if list_pages()[session.page].choice:
        session.choice = change(session.choice)
        return
    value = get_remembered(session.page)
    if isinstance(value, tuple):
        remember(session.page, tuple(map(change, value)))
    else:
        remember(session.page, change(value))
