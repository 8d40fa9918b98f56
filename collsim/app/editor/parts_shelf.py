"""The shelf of parts in the sidebar: what a chosen machine could have in place of what it has, with undo, redo and
reset."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from collsim.errors import CollsimError
from collsim.topology.cables import load_nics

from ..scenario.choice import AnyMachineChoice, MachineChoice
from ..scenario.machine_parts import PARTS, Parts, find_original_values, list_part_values, order_parts
from ..scenario.outcome import build_topology
from ..shell.controls import choose, choose_segment
from ..shell.notes import draw_note
from ..shell.open_in import open_in
from ..shell.session import t
from ..texts import has_text
from .machine_history import get_history, record_machine, redo, reset, undo

#: The value of a part that was not changed: the machine keeps its own.
UNCHANGED = ""


def draw_parts_shelf(choice: AnyMachineChoice) -> AnyMachineChoice:
    """Draw the shelf, and under it how much was changed.

    Args:
        choice: The run that is chosen.

    Returns:
        The choice with the parts that are chosen now.
    """
    if not choice.on_machine and not choice.edits:
        return choice
    # Under another label it would be another shelf, which opens closed and knows nothing of what was just chosen.
    shelf = st.expander(t("parts.title"), key="w_parts_shelf", on_change="rerun")
    if shelf.open:
        with shelf:
            if choice.on_machine:
                choice = replace(choice, parts=_choose_parts(choice))
            choice = record_machine(choice)
            _draw_steps(choice)
            _draw_export(choice)
    if changes := len(choice.parts) + len(choice.edits):
        draw_note(t("parts.changed", count=changes))
    return choice


def _choose_parts(choice: MachineChoice) -> Parts:
    """A menu for each part that the machine can have in several variants."""
    try:
        topology = build_topology(choice)
        values, original_values = list_part_values(topology), find_original_values(topology)
    except CollsimError:  # the page says why it cannot be; here all parts can be given back
        values, original_values = {name: [value] for name, value in choice.parts}, {}
    current, parts = dict(choice.parts), dict[str, str | int]()
    for name in PARTS:
        if name not in values and name not in current:
            continue
        offered = [*values.get(name, []), current.get(name, UNCHANGED)]
        value = _choose_part(name, offered, original_values.get(name, UNCHANGED), current.get(name, UNCHANGED))
        if value != UNCHANGED:
            parts[name] = value
    return order_parts(parts.items())


def _choose_part(name: str, values: list[str | int], original_value: str | int, current: str | int) -> str | int:
    """Draw the control of a part: all values in sight where they are a few numbers, else a menu.

    Args:
        name: The part.
        values: What it could be; "" is the machine's own.
        original_value: What the machine has itself; "" where that has no name.
        current: What is chosen now.

    Returns:
        The value that is chosen; "" for the machine's own.
    """
    labels = label_values(name, values, original_value)
    numbers = [value for value in values if value != UNCHANGED]
    chosen: str | int
    if name == "nics" or not all(isinstance(value, int) for value in [original_value, *numbers]):
        chosen = choose(f"part_{name}", t(f"parts.{name}"), labels, current)
        return chosen
    # One click and not two. The machine's own value stands among the others, in their order.
    labels[UNCHANGED] = label_value(name, original_value)
    ordered = sorted(labels, key=lambda value: int(value or original_value))
    chosen = choose_segment(f"part_{name}", ordered, current, labels.__getitem__, t(f"parts.{name}"))
    return chosen


def label_values(name: str, values: list[str | int], original_value: str | int) -> dict[str | int, str]:
    """What the values of a part are called; the first one, "", is the machine's own.

    Args:
        name: The part.
        values: What it could be.
        original_value: What the machine has itself; "" where that has no name.
    """
    first = t("parts.own")
    if name == "nics":  # another network has one card a node unless their number is said
        original_value = UNCHANGED
    if original_value != UNCHANGED:
        first = t("parts.own.value", value=label_value(name, original_value))
    return {UNCHANGED: first} | {
        value: label_value(name, value) for value in values if value not in (UNCHANGED, original_value)
    }


def label_value(name: str, value: str | int) -> str:
    """What a value of a part is called.

    Args:
        name: The part.
        value: What it is.
    """
    if name == "nic" and value in load_nics():
        return load_nics()[str(value)].cable.label
    if has_text(f"parts.{name}.{value}"):
        return t(f"parts.{name}.{value}")
    if name == "oversubscription":
        return f"{value} : 1"
    return str(value)


def _draw_steps(choice: MachineChoice) -> None:
    history = get_history()
    # A row that wraps: three equal columns of the sidebar are narrower than the words.
    with st.container(horizontal=True, gap="small"):
        able = history is not None and len(history.states) > 1
        st.button(t("parts.undo"), key="parts_undo", on_click=undo, disabled=not able)
        able = history is not None and bool(history.undone)
        st.button(t("parts.redo"), key="parts_redo", on_click=redo, disabled=not able)
        able = bool(choice.parts or choice.edits)
        st.button(t("parts.reset"), key="parts_reset", on_click=reset, disabled=not able)


def _draw_export(choice: MachineChoice) -> None:
    """The machine as a file that `load_topology` reads; a changed one can be taken along to the other pages."""
    try:
        text = build_topology(choice).to_yaml()
    except CollsimError:
        return
    st.download_button(t("parts.yaml"), text, "machine.yaml", key="parts_yaml", on_click="ignore")
    if choice.parts or choice.edits:
        open_in(t("parts.open_in"), "open_in_parts", lambda shared: replace(shared, **choice.machine_fields))
