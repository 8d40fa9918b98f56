"""Edits of single cables and devices of a machine, as the picture makes them: in the address, as calls of Python, and
applied. Nothing here knows Streamlit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import quote, unquote

import collsim as cs
from collsim.errors import CollsimError, describe_unknown

Action: TypeAlias = Literal["rate", "cut", "off", "scale"]
ACTIONS: tuple[Action, ...] = get_args(Action)
#: Characters that all edits take in an address.
LONGEST = 2000
#: Edits of one machine.
MAX_EDITS = 24
_LONGEST_NAME = 80
_FACTOR = re.compile(r"x(\d{1,4}(?:\.\d{1,6})?|\.\d{1,6})")


class MachineEdit(NamedTuple):
    """One change of a cable, a device, or all cables of a kind.

    Attributes:
        action: `rate` (another rate on a cable), `cut` (a cable less), `off` (a device less) or `scale` (all cables of
            a kind).
        target: a cable `a~b` by its ends, a device, or a kind of link.
        value: of `rate` a factor (`x0.5`) or a rate (`12.5GB/s`), of `scale` a factor; else empty.
    """

    action: Action
    target: str
    value: str = ""


#: Edits in the order in which they were made; one for each target.
Edits: TypeAlias = tuple[MachineEdit, ...]


def read_edits(text: str) -> Edits:
    """Read edits as an address has them: `rate:node0/nic0~fabric/switch0:x0.5,cut:gpu0~gpu1`.

    Args:
        text: The text; names are quoted as in a URL.

    Returns:
        The edits; the last one of a target counts.

    Raises:
        CollsimError: An action is unknown, a target is empty, or a value does not belong to it.
    """
    edits: Edits = ()
    words = [word for word in text.split(",") if word]
    if len(words) > MAX_EDITS:
        raise CollsimError("{count} edits are too many; use at most {most}", count=len(words), most=MAX_EDITS)
    for word in words:
        action, target, value = [*word.split(":"), "", ""][:3]
        edits = add_edit(edits, parse_edit(action, "~".join(map(unquote, target.split("~"))), unquote(value)))
    return edits


def parse_edit(action: str, target: str, value: str = "") -> MachineEdit:
    """An edit from its words, checked as far as it can be without the machine.

    Args:
        action: A name in `ACTIONS`.
        target: As in `MachineEdit`.
        value: As in `MachineEdit`.

    Raises:
        CollsimError: An action is unknown, a target is empty, or a value does not belong to it.
    """
    if action not in ACTIONS:
        raise CollsimError(describe_unknown("edit", action[:20], ACTIONS))
    ends = target.split("~")
    is_cable = action in ("rate", "cut")
    if not all(0 < len(end) <= _LONGEST_NAME for end in ends) or len(ends) != 1 + is_cable:
        message = "{target!r} is no target of {action}; a cable is named by its ends, such as gpu0~gpu1"
        raise CollsimError(message, target=target[:_LONGEST_NAME], action=action)
    if action in ("cut", "off"):
        value = ""
    elif not _FACTOR.fullmatch(value) or not float(value[1:]):
        if action == "scale" or value.startswith("x"):
            message = "{value!r} is no factor of a rate; write for example x0.5"
            raise CollsimError(message, value=value[:20])
        cs.units.parse_bandwidth(value)
    return MachineEdit(action, target, value)  # type: ignore[arg-type]


def write_edits(edits: Edits) -> str:
    """The edits as an address has them.

    Args:
        edits: The edits.
    """
    return ",".join(":".join(filter(None, (edit.action, _quote(edit.target), edit.value))) for edit in edits)


def _quote(target: str) -> str:
    """A target as an address has it: what separates words is quoted within names."""
    return "~".join(quote(end, safe="/ ") for end in target.split("~"))


def add_edit(edits: Iterable[MachineEdit], edit: MachineEdit) -> Edits:
    """The edits with another one, which takes the place of those of the same target.

    Args:
        edits: The edits.
        edit: The edit.
    """
    return (*drop_edit(edits, edit.target), edit)


def drop_edit(edits: Iterable[MachineEdit], target: str) -> Edits:
    """The edits without those of a target; a cable is the same from both ends.

    Args:
        edits: The edits.
        target: A cable, a device, or a kind of link.
    """
    ends = set(target.split("~"))
    return tuple(edit for edit in edits if set(edit.target.split("~")) != ends)


def apply_edits(topology: cs.Topology, edits: Edits) -> cs.Topology:
    """The topology with the edits made.

    Args:
        topology: As it was.
        edits: The edits.

    Raises:
        CollsimError: For a cable or device that is not there, and ranks that are cut off.
    """
    for edit in edits:
        topology = _apply_edit(topology, edit)
    return topology


def _apply_edit(topology: cs.Topology, edit: MachineEdit) -> cs.Topology:
    a, _, b = edit.target.partition("~")
    if edit.action == "rate":
        return topology.with_link(a, b, bandwidth=edit.value)
    if edit.action == "cut":
        return topology.without_link(a, b)
    if edit.action == "off":
        return topology.without_device(a)
    return topology.scaled(a, float(edit.value[1:]))


def select_possible_edits(topology: cs.Topology, edits: Edits) -> Edits:
    """The edits that this machine can have: with other parts a cable may have gone.

    Args:
        topology: The machine without them.
        edits: The edits.
    """
    possible: list[MachineEdit] = []
    for edit in edits:
        try:
            topology = _apply_edit(topology, edit)
        except CollsimError:
            continue
        possible.append(edit)
    return tuple(possible)


def write_edit_calls(edits: Edits) -> str:
    """The calls of Python that make the edits, behind the one that makes the machine.

    Args:
        edits: The edits.
    """
    return "".join(map(_write_edit_call, edits))


def _write_edit_call(edit: MachineEdit) -> str:
    a, _, b = edit.target.partition("~")
    if edit.action == "rate":
        return f".with_link({a!r}, {b!r}, bandwidth={edit.value!r})"
    if edit.action == "cut":
        return f".without_link({a!r}, {b!r})"
    if edit.action == "off":
        return f".without_device({a!r})"
    return f".scaled({a!r}, {float(edit.value[1:]):g})"
