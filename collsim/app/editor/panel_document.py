"""What the panel on the picture of a machine offers and marks, as the document that `viz/player/edit` reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypedDict

import collsim as cs
from collsim.errors import CollsimError
from collsim.topology.cables import load_nics
from collsim.topology.fabrics import FABRICS
from collsim.topology.network import DEVICE_KINDS
from collsim.units import format_bandwidth

from ..scenario import snippets
from ..scenario.choice import MAX_NODES, MachineChoice
from ..scenario.machine_edits import MachineEdit
from ..scenario.machine_parts import find_original_values, list_part_values
from ..scenario.outcome import build_topology
from ..shell.controls import NODES, label_choice
from ..shell.notes import explain
from ..shell.session import t
from .machine_history import get_history
from .parts_shelf import UNCHANGED, label_value, label_values

#: Settings that the panel of a device offers, by its kind in the picture.
_WORDS_OF_DEVICE = {
    "gpu": ("gpu", "gpus", "nvlink", "p2p"),
    "nic": ("nic", "nics", "gdr"),
    "switch": ("nic", "fabric", "oversubscription", "nodes"),
    "nvswitch": ("nvlink", "gpus"),
    "pcie": ("pcie", "nics", "gdr", "p2p"),
    "cpu": ("cpu", "pcie"),
    "memory": ("cpu",),
    "host": ("nodes", "gpus", "nics", "nic"),
}
#: The same for cables; those of network cards are added.
_WORDS_OF_LINK = {"pcie": ("pcie",), "nvlink": ("nvlink",), "xgmi": ("nvlink",), "upi": ("cpu",), "memory": ("cpu",)}
#: Kinds of devices and links of the picture that a part belongs to, for its mark.
_MARKED_DEVICES = {"gpu": ("gpu",), "gpus": ("gpu",), "nics": ("nic",), "nic": ("nic",), "cpu": ("cpu",)}
_MARKED_LINKS = {"pcie": ("pcie",), "nvlink": ("nvlink", "xgmi")}
_NAMES_OF_FACTORS = {"x0.5": "½", "x0.1": "1/10", "x2": "×2"}

Option: TypeAlias = tuple[str, str]


class PanelRow(TypedDict):
    """One setting: what it is called, what is chosen, and its values with their labels."""

    label: str
    value: str
    options: list[Option]


class PanelEdit(TypedDict):
    """What was changed of a cable or device, in words."""

    target: str
    value: str
    text: str


class PanelTag(TypedDict):
    """A mark at a part that was changed."""

    key: str
    text: str


class PanelDocument(TypedDict):
    """All that the editor on a picture needs.

    Attributes:
        rows: settings by name.
        devices: names of rows by kind of device; `links` by kind of cable.
        names: devices that there are, as the picture may fold some into one.
        edits: what was changed of single parts.
        tags: marks of everything that was changed.
        code: Python that builds the machine.
        yaml: the machine as a file that `load_topology` reads.
        undo, redo, reset: whether there is something to undo, redo or give back.
        error: why the last edit could not be.
    """

    rows: dict[str, PanelRow]
    devices: dict[str, list[str]]
    links: dict[str, list[str]]
    names: list[str]
    edits: list[PanelEdit]
    tags: list[PanelTag]
    code: str
    yaml: str
    undo: bool
    redo: bool
    reset: bool
    error: str


def describe_panel(choice: MachineChoice, drawn: MachineChoice | None = None) -> PanelDocument | None:
    """Describe what can be changed of a machine, and what was.

    Args:
        choice: The run that is chosen.
        drawn: The run in the picture, while that is an earlier one: names of devices and tags are of it.

    Returns:
        The document; None where the machine cannot be built, so that there is no picture to edit.
    """
    try:
        topology = build_topology(choice)
        pictured = topology if drawn is None else build_topology(drawn)
    except CollsimError:
        return None
    history = get_history()
    error = ""
    if history is not None and history.error is not None:
        error = explain(history.error)
    rows = _list_rows(choice, topology)
    return {
        "rows": rows,
        "devices": {kind: [word for word in words if word in rows] for kind, words in _WORDS_OF_DEVICE.items()},
        "links": {kind: [word for word in words if word in rows] for kind, words in _list_link_words().items()},
        "names": list(pictured.devices.name),
        "edits": [{"target": edit.target, "value": edit.value, "text": describe_edit(edit)} for edit in choice.edits],
        "tags": _list_tags(drawn or choice, pictured),
        "code": snippets.write_machine(choice).replace("'", '"'),
        "yaml": topology.to_yaml(),
        "undo": history is not None and len(history.states) > 1,
        "redo": history is not None and bool(history.undone),
        "reset": bool(choice.parts or choice.edits),
        "error": error,
    }


def _list_link_words() -> dict[str, tuple[str, ...]]:
    cards = {nic.cable.kind: ("nic", "nics") for nic in load_nics().values()}
    return {**cards, **_WORDS_OF_LINK}


def describe_edit(edit: MachineEdit) -> str:
    """An edit in words: `node0/nic0 – fabric/switch0: ×0.5`.

    Args:
        edit: The edit.
    """
    what = edit.target.replace("~", " – ")
    if edit.action in ("cut", "off"):
        return t("parts.edit.removed", what=what)
    if edit.action == "scale":
        return t("parts.edit.scaled", what=what, value=_label_rate(edit.value))
    return t("parts.edit.rate", what=what, value=_label_rate(edit.value))


def _label_rate(value: str) -> str:
    if value.startswith("x"):
        return f"×{float(value[1:]):g}"
    return format_bandwidth(cs.units.parse_bandwidth(value))


# ---- settings


def _list_rows(choice: MachineChoice, topology: cs.Topology) -> dict[str, PanelRow]:
    values, original_values, current = list_part_values(topology), find_original_values(topology), dict(choice.parts)
    rows: dict[str, PanelRow] = {}
    for name, each in values.items():
        labels = label_values(name, [*each, current.get(name, UNCHANGED)], original_values.get(name, UNCHANGED))
        rows[name] = _build_row(t(f"parts.{name}"), current.get(name, UNCHANGED), list(labels.items()))
    takes = choice.takes
    switches = [("on", t("parts.on")), ("off", t("parts.off"))]
    for name in ("p2p", "gdr"):
        if name in takes:
            value = "off"
            if getattr(choice, name):
                value = "on"
            rows[name] = _build_row(t(name), value, switches)
    if "nodes" in takes:
        counts = sorted({*NODES, min(choice.nodes, MAX_NODES)})
        rows["nodes"] = _build_row(t("nodes"), choice.nodes, [(count, str(count)) for count in counts])
        rows["fabric"] = _build_row(
            t("fabric"), choice.fabric, [(name, label_choice("fabric", name)) for name in FABRICS]
        )
    return rows


def _build_row(label: str, value: object, options: Sequence[tuple[object, str]]) -> PanelRow:
    return {"label": label, "value": str(value), "options": [(str(name), text) for name, text in options]}


# ---- marks


def _list_tags(choice: MachineChoice, topology: cs.Topology) -> list[PanelTag]:
    """A mark at each device and cable that was changed, with what it was."""
    devices, links, original_values = topology.devices, topology.links, find_original_values(topology)
    texts: dict[str, list[str]] = {}
    for name, _ in choice.parts:
        was = ""
        if name in original_values:
            was = t("parts.was", value=label_value(name, original_values[name]))
        kinds = _MARKED_DEVICES.get(name, ())
        for device, code in zip(devices.name, devices.kind.tolist(), strict=True):
            if DEVICE_KINDS[code] in kinds or (name == "oversubscription" and device.startswith("fabric/")):
                texts.setdefault(device, []).append(was)
        marked = [kind for kind, cable in enumerate(links.cables) if cable.kind in _MARKED_LINKS.get(name, ())]
        for a, b, kind in zip(links.src.tolist(), links.dst.tolist(), links.cable.tolist(), strict=True):
            if kind in marked and a < b:
                texts.setdefault(f"{devices.name[a]}~{devices.name[b]}", []).append("")
    for edit in choice.edits:
        for target in _list_marked(edit, topology):
            texts.setdefault(target, []).append(_label_mark(edit))
    return [{"key": key, "text": ", ".join(filter(None, each))} for key, each in texts.items()]


def _list_marked(edit: MachineEdit, topology: cs.Topology) -> list[str]:
    """Where an edit is marked: at its part, at the ends of a cable that is gone, at all cables of a kind."""
    if edit.action == "cut":
        return edit.target.split("~")
    if edit.action != "scale":
        return [edit.target]
    links, names = topology.links, topology.devices.name
    return [
        f"{names[a]}~{names[b]}"
        for a, b, kind in zip(links.src.tolist(), links.dst.tolist(), links.cable.tolist(), strict=True)
        if a < b and links.cables[kind].kind == edit.target
    ]


def _label_mark(edit: MachineEdit) -> str:
    if edit.action == "cut":
        return t("parts.mark.cut")
    if edit.action == "off":
        return t("parts.mark.off")
    return _NAMES_OF_FACTORS.get(edit.value) or _label_rate(edit.value)
