"""Controls of a page, drawn from the fields that its choice declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st

from collsim.units import format_time, parse_time

from ..scenario.address_parameters import Control, get_field
from ..texts import has_text
from .controls import (
    add_space,
    choose,
    choose_quantity,
    choose_segment,
    choose_several,
    label_choice,
    label_machine,
    label_with_collective,
    number,
    switch,
)
from .session import t

ChoiceT = TypeVar("ChoiceT", bound=Any)
#: What names the values of a field that are no texts of a page.
_LABELS: dict[str, Callable[[Any], str]] = {
    "machine": label_machine,
    "algorithm": label_with_collective,
    "time": lambda text: format_time(parse_time(text)),
    "share": lambda text: f"{100 * float(text):g} %",
}


def draw_fields(page: str, choice: ChoiceT, *names: str) -> ChoiceT:
    """Draw the controls of fields below each other. Returns the choice that they say.

    Args:
        page: Name of the page.
        choice: What is chosen now.
        names: The fields.
    """
    for name in names:
        choice = draw_field(page, choice, name)
    return choice


def draw_row(page: str, choice: ChoiceT, **widths: float) -> ChoiceT:
    """Draw the controls of fields beside each other. Returns the choice that they say.

    Args:
        page: Name of the page.
        choice: What is chosen now.
        widths: Width of each field's column, in parts of the whole.
    """
    columns = st.columns(list(widths.values()), vertical_alignment="bottom", gap="small")
    for column, name in zip(columns, widths, strict=True):
        with column:
            choice = draw_field(page, choice, name)
    return choice


def draw_field(page: str, choice: ChoiceT, name: str, *, text: str = "", most: int = 0) -> ChoiceT:
    """Draw the control of one field. Returns the choice that it says.

    Args:
        page: Name of the page.
        choice: What is chosen now.
        name: The field.
        text: Key of the label, where it is not always the same.
        most: The largest number, where the rest of the choice says it.
    """
    word, control = get_field(choice, name)
    text, key, current = text or control.text or f"{page}.{name}", f"{page}_{name}", getattr(choice, name)
    # A text that is borrowed from another page comes without its help.
    help, value = None, current
    if has_text(f"{page}.{name}.help"):
        help = t(f"{page}.{name}.help")
    if control.kind == "switch":
        value = switch(key, current, t(text), help)
    elif control.kind == "number":
        value = number(key, current, control.least, most or control.most, t(text), help)
    elif control.kind == "several":
        value = choose_several(key, list(control.known()), current, _build_labeler(control, text), t(text))
    elif control.kind == "quantity":
        empty = ""
        if "" in control.known():
            empty = t(f"{text}.own")
        value = choose_quantity(key, list(control.known()), current, t(text), word.read, help=help, empty=empty)
    else:
        value = _choose(key, control, current, text, help)
    return replace(choice, **{name: value})


def _choose(key: str, control: Control, current: object, text: str, help: str | None) -> object:
    """One of the values of a field; a number that is not on offer stands among the others."""
    values: Sequence[Any] = list(dict.fromkeys([*control.known(), current]))
    if isinstance(current, int):
        values = sorted(values)
    label_value = _build_labeler(control, text)
    if control.kind == "segments":
        return choose_segment(key, list(control.known()), current, label_value, t(text), help)
    return choose(key, t(text), {value: label_value(value) for value in values}, current, help=help)


def _build_labeler(control: Control, text: str) -> Callable[[Any], str]:
    """What the values of a field are called: "" is what is usual, which the text of the label has under `own`."""

    def label_value(value: Any) -> str:
        if value == "":
            return t(f"{text}.own")
        if control.names in _LABELS:
            return _LABELS[control.names](value)
        if isinstance(value, int):
            return f"{value:,}"
        return add_space(label_choice(control.names, value))

    return label_value
