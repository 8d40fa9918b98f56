"""The place to paste or upload a machine of one's own, and the shelf of parts: what a chosen machine could have in
place of what it has, with undo, redo and reset. The same on every page that has machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import streamlit as st

from collsim.display.markup import escape_markdown, escape_text
from collsim.errors import CollsimError
from collsim.topology.cables import load_nics

from ..scenario import custom_machine
from ..scenario.choice import Choice
from ..scenario.machine_parts import PARTS, Parts, list_part_values, order_parts
from ..scenario.mistakes import write_sentence
from ..scenario.outcome import Refused, build_topology
from ..texts import has_text
from .controls import choose
from .notes import draw_mistake, draw_note
from .session import forget_widgets, get_language, queue_callback, t

_TYPES = ["txt", "xml", "yaml", "yml"]
_WRONG = "own_mistake"


def draw_machine_box(text: str, key: str, take: Callable[[str], None], drop: Callable[[], None]) -> None:
    """Draw the fields, and what the machine's text left open.

    Args:
        text: Text of the machine in use; "" for none.
        key: Tells this box from that of another page.
        take: Called with a text that is a topology, before the page is drawn again.
        drop: Called when the machine is given up.
    """
    draw_note(t("own.note"))
    area, file = f"w_own_text_{key}", f"w_own_file_{key}"
    if area not in st.session_state:
        st.session_state[area] = text
    st.text_area(t("own.text"), key=area, height=160)
    st.file_uploader(t("own.file"), type=_TYPES, key=file, max_upload_size=1)
    use, back = st.columns(2)
    use.button(
        t("own.use"), type="primary", width="stretch", key=f"own_use_{key}", on_click=_use, args=(area, file, take)
    )
    if wrong := st.session_state.pop(_WRONG, None):
        draw_mistake(write_sentence(wrong, get_language()))
    if text:
        back.button(t("own.drop"), width="stretch", key=f"own_drop_{key}", on_click=_drop, args=(drop,))
        _draw_machine_notes(text, key)


def _draw_machine_notes(text: str, key: str) -> None:
    facts = custom_machine.read_facts(text)
    name = facts.file
    st.download_button(
        escape_markdown(t("own.download", file=name)),
        text,
        name,
        "text/plain",
        key=f"own_download_{key}",
        on_click="ignore",
    )
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
def _use(area: str, file: str, take: Callable[[str], None]) -> None:
    """A button was pressed: the file if there is one, else what was pasted. A mistake in it is told, and nothing
    changes."""
    uploaded_file = st.session_state.get(file)
    if uploaded_file is not None:
        text = uploaded_file.getvalue().decode("utf-8-sig", "replace")
    else:
        text = str(st.session_state.get(area) or "")
    try:
        if not text.strip():
            raise Refused("own.empty")
        custom_machine.read_facts(text)
    except CollsimError as error:
        st.session_state[_WRONG] = error
        return
    forget_widgets()
    take(text)


def _drop(drop: Callable[[], None]) -> None:
    forget_widgets()
    drop()


# ---- parts

_HISTORY = "parts_history"
_OWN = ""


@dataclass
class History:
    """The states that the parts of one machine had, the present one last; and those that were undone."""

    machine: str
    states: list[Parts] = field(default_factory=lambda: [()])
    undone: list[Parts] = field(default_factory=list)
    wanted: Parts | None = None


def draw_parts_box(choice: Choice) -> Choice:
    """Draw the shelf under its label, which counts what was changed.

    Args:
        choice: The run that is chosen, on a machine.

    Returns:
        The choice with the parts that are chosen now.
    """
    history = _get_history(choice)
    if history.wanted is not None:
        choice = replace(choice, parts=history.wanted)
        history.wanted = None
    if choice.parts:
        label = t("parts.changed", count=len(choice.parts))
    else:
        label = t("parts.title")
    shelf = st.expander(label, key="w_parts_shelf", on_change="rerun")
    if not shelf.open:
        return choice
    with shelf:
        changed = replace(choice, parts=_choose_parts(choice))
        if changed.parts != history.states[-1]:
            history.states.append(changed.parts)
            history.undone.clear()
        _draw_steps(history)
        _draw_export(changed)
    return changed


def _get_history(choice: Choice) -> History:
    """The history of the machine that is chosen; another machine begins anew with what the address says of it."""
    history: History | None = st.session_state.get(_HISTORY)
    if history is None or history.machine != choice.machine:
        history = History(choice.machine)
        if choice.parts:
            history.states.append(choice.parts)
        st.session_state[_HISTORY] = history
    return history


def _choose_parts(choice: Choice) -> Parts:
    """A menu for each part that the machine can have in several ways."""
    try:
        values = list_part_values(build_topology(choice))
    except CollsimError:  # the page says why it cannot be; here all parts can be given back
        values = {name: [value] for name, value in choice.parts}
    current, parts = dict(choice.parts), dict[str, str | int]()
    for name in PARTS:
        if name not in values and name not in current:
            continue
        offered = dict.fromkeys([_OWN, *values.get(name, []), current.get(name, _OWN)])
        labels = {value: _label_value(name, value) for value in offered}
        value = choose(f"part_{name}", t(f"parts.{name}"), labels, current.get(name, _OWN))
        if value != _OWN:
            parts[name] = value
    return order_parts(parts.items())


def _label_value(name: str, value: str | int) -> str:
    if value == _OWN:
        return t("parts.own")
    if name == "nic" and value in load_nics():
        return load_nics()[str(value)].cable.label
    if has_text(f"parts.{name}.{value}"):
        return t(f"parts.{name}.{value}")
    if name == "oversubscription":
        return f"{value} : 1"
    return str(value)


def _draw_steps(history: History) -> None:
    undo, redo, reset = st.columns(3, gap="small")
    undo.button(t("parts.undo"), key="parts_undo", on_click=_undo, disabled=len(history.states) < 2, width="stretch")
    redo.button(t("parts.redo"), key="parts_redo", on_click=_redo, disabled=not history.undone, width="stretch")
    reset.button(t("parts.reset"), key="parts_reset", on_click=_reset, disabled=not history.states[-1], width="stretch")


def _draw_export(choice: Choice) -> None:
    """The machine as a file that `load_topology` reads."""
    try:
        text = build_topology(choice).to_yaml()
    except CollsimError:
        return
    st.download_button(t("parts.yaml"), text, "machine.yaml", "text/plain", key="parts_yaml", on_click="ignore")


def _undo() -> None:
    history: History = st.session_state[_HISTORY]
    history.undone.append(history.states.pop())
    _want(history)


def _redo() -> None:
    history: History = st.session_state[_HISTORY]
    history.states.append(history.undone.pop())
    _want(history)


def _reset() -> None:
    history: History = st.session_state[_HISTORY]
    history.states.append(())
    history.undone.clear()
    _want(history)


def _want(history: History) -> None:
    history.wanted = history.states[-1]
    forget_widgets("part_")
