"""The states that a machine had on a page, with undo, redo and reset; and edits that come from its picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

from collsim.errors import CollsimError

from ..scenario.choice import MACHINE_WORDS, WORDS, AnyMachineChoice, MachineChoice
from ..scenario.machine_edits import MAX_EDITS, Edits, add_edit, drop_edit, parse_edit, select_possible_edits
from ..scenario.machine_parts import PARTS, order_parts, read_parts
from ..scenario.outcome import build_any_topology, build_topology
from ..shell.controls import forget
from ..shell.session import forget_widgets, get_session

_MAX_STATES = 100
#: Controls that show a machine, beside the shelf of parts.
_CONTROLS = ("place", "shape", "ranks", "reduces", "bandwidth", "alpha", *MACHINE_WORDS)


@dataclass
class MachineHistory:
    """The states of a machine, the present one last.

    Attributes:
        states: as they were, the first one that of the preset or of the address.
        undone: those that were taken back, the next one last.
        wanted: what the next run of the page is to begin with; None for what the controls say.
        error: why the last edit could not be.
    """

    states: list[MachineChoice]
    undone: list[MachineChoice] = field(default_factory=list)
    wanted: MachineChoice | None = None
    error: CollsimError | None = None

    @property
    def present(self) -> MachineChoice:
        return self.states[-1]

    @property
    def preset(self) -> MachineChoice:
        """The machine without what was changed of it."""
        return replace(self.states[0], parts=(), edits=())


def get_history() -> MachineHistory | None:
    """The history of the machine of the page that is open; None before its controls were drawn."""
    history: MachineHistory | None = st.session_state.get(_name_key())
    return history


def _name_key() -> str:
    return f"machine_history_{get_session().page}"


def take_wanted(choice: AnyMachineChoice) -> AnyMachineChoice:
    """The choice with the machine that an edit wants; to be called before its controls are drawn.

    Args:
        choice: The run that is chosen.
    """
    history = get_history()
    if history is None or history.wanted is None:
        return choice
    choice = replace(choice, **history.wanted.machine_fields)
    history.wanted = None
    forget(*_CONTROLS)
    forget_widgets("part_")
    return choice


def record_machine(choice: AnyMachineChoice) -> AnyMachineChoice:
    """Record the machine of a choice; to be called once its controls were drawn.

    Args:
        choice: The run that is chosen.

    Returns:
        The choice without edits of cables that another change has taken away.
    """
    history, present = get_history(), _copy_machine(choice)
    if history is None or (history.present.machine, history.present.machine_text) != (
        present.machine,
        present.machine_text,
    ):
        history = st.session_state[_name_key()] = MachineHistory([present])
        if present != history.preset:
            history.states.insert(0, history.preset)
    if present == history.present:
        return choice
    if present.edits:
        choice = replace(choice, edits=_select_edits(choice))
        present = _copy_machine(choice)
    history.states.append(present)
    history.undone.clear()
    del history.states[1:-_MAX_STATES]
    return choice


def _copy_machine(choice: MachineChoice) -> MachineChoice:
    return MachineChoice(**choice.machine_fields)


def _select_edits(choice: MachineChoice) -> Edits:
    try:
        return select_possible_edits(build_any_topology(replace(choice, edits=())), choice.edits)
    except CollsimError:
        return choice.edits  # the page says why the machine cannot be


# ---- changes


def undo() -> None:
    """Go back by one state."""
    if (history := get_history()) is not None and len(history.states) > 1:
        history.undone.append(history.states.pop())
        _want(history)


def redo() -> None:
    """Go forward again by one state."""
    if (history := get_history()) is not None and history.undone:
        history.states.append(history.undone.pop())
        _want(history)


def reset() -> None:
    """Give back all that was changed."""
    if (history := get_history()) is not None and history.present != history.preset:
        history.states.append(history.preset)
        history.undone.clear()
        _want(history)


def _want(history: MachineHistory) -> None:
    history.wanted, history.error = history.present, None


_STEPS = {"undo": undo, "redo": redo, "reset": reset}


def make_edit(request: object) -> None:
    """Do what the picture of the machine asks for; what cannot be leaves the machine as it is, and says why.

    Args:
        request: What the panel sent: `{"history": "undo"}`, `{"word": name, "value": text}` for a part or a setting,
            `{"action", "target", "value"}` for a cable or device, `{"drop": target}` to give that back.
    """
    history = get_history()
    if history is None or not isinstance(request, Mapping):
        return
    texts = {str(name): str(value)[:160] for name, value in request.items()}
    if texts.get("history") in _STEPS:
        _STEPS[texts["history"]]()
        return
    try:
        wanted = change_machine(history.present, texts)
        build_topology(wanted)
    except CollsimError as error:
        history.error = error
        return
    history.error = None
    if wanted != history.present:
        history.states.append(wanted)
        history.undone.clear()
        history.wanted = wanted


def change_machine(machine: AnyMachineChoice, texts: Mapping[str, str]) -> AnyMachineChoice:
    """The machine with one edit of its picture.

    Args:
        machine: As it was.
        texts: The edit, as in `make_edit`.

    Raises:
        CollsimError: For words and values that there are not.
    """
    if "drop" in texts:
        return replace(machine, edits=drop_edit(machine.edits, texts["drop"]))
    if "action" in texts:
        edit = parse_edit(texts["action"], texts.get("target", ""), texts.get("value", ""))
        edits = add_edit(machine.edits, edit)
        if len(edits) > MAX_EDITS:
            raise CollsimError("{count} edits are too many; use at most {most}", count=len(edits), most=MAX_EDITS)
        return replace(machine, edits=edits)
    name, value = texts.get("word", ""), texts.get("value", "")
    if name in MACHINE_WORDS and (read := WORDS[name].read) is not None:
        changed = replace(machine, **{name: read(value)})
    else:
        parts = {part: present for part, present in machine.parts if part != name}
        if value or name not in PARTS:
            parts |= dict(read_parts(f"{name}:{value}"))
        changed = replace(machine, parts=order_parts(parts.items()))
    if not changed.edits:
        return changed
    return replace(changed, edits=_select_edits(changed))
