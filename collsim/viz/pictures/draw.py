"""A topology as a still picture: devices where people draw them, links coloured by their kind and as wide as their
bandwidth."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import TopologyError, require_language
from ...locale import LANGUAGES, translate
from ...topology import Topology
from ...units import format_bandwidth
from ..layout.arrangement import lay_out
from ..layout.reduction import MAX_RANKS, MAX_RANKS_IN_ROW
from ..layout.shapes import StageLayout
from ..sentences import words
from . import colours
from .figure import create_figure, show_in_notebook
from .machine_picture import choose_language, draw_box, draw_box_label, find_fonts, get_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of links by kind: the palette's hues; a kind that is not here gets the last.
KINDS = {
    "nvlink": "#00664A",
    "xgmi": "#00664A",
    "c2c": "#4FA68A",
    "ici": "#00664A",
    "pcie": "#3F8FC8",
    "upi": "#7A3E68",
    "memory": "#B58BB0",
    "gpu_memory": "#00664A",
    "infiniband": "#A63A00",
    "ethernet": "#A87000",
    "cable": "#45535B",
}
_PIXELS = 100.0  # to the inch
_KEY = 22.0
_HEAD = 30.0


def draw_topology(topology: Topology, ax: Axes | None = None, language: str = "en") -> Axes:
    """Draw a topology; see `Topology.draw`.

    Args:
        topology: The machine or network.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    language = choose_language(require_language(language))
    stage = lay_out(topology, select_links(topology))
    family = find_fonts(language)
    entries = _list_kinds(topology, stage, language)
    # Room for the key is part of the size, so that saving never cuts it.
    wide, tall = max(stage.w, 420.0), _HEAD + stage.h + 10 + _KEY * len(entries)
    if ax is None:
        ax = _create_axes(wide, tall)
    scale = _get_scale(ax, wide, tall)
    ax.set_xlim(0, wide)
    ax.set_ylim(tall, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    dx = (wide - stage.w) / 2
    ax.text(16, 20, topology.name, fontsize=11 * scale, fontweight="bold", family=family, color=colours.INK)
    _draw_panels(ax, stage, language, family, scale, dx)
    _draw_links(ax, stage, scale, dx)
    _draw_devices(ax, stage, language, family, scale, dx)
    _draw_key(ax, entries, _HEAD + stage.h + 10, family, scale)
    return ax


def select_links(topology: Topology) -> npt.NDArray[np.bool_] | None:
    """Which links are drawn: of three nodes and more, and of a rack, only those that data between ranks cross, for want
    of room; None for all.

    Args:
        topology: The machine or network.
    """
    nodes = 1 + int(topology.devices.node.max(initial=-1))
    rack = nodes == 1 and 16 < topology.ranks <= MAX_RANKS
    if not rack and (nodes < 3 or topology.ranks > MAX_RANKS_IN_ROW):
        return None
    try:
        crossed = topology.routes(*np.divmod(np.arange(topology.ranks**2), topology.ranks)).link
    except TopologyError:  # ranks that cannot reach each other: everything may matter
        return None
    return np.bincount(crossed, minlength=len(topology.links)) > 0


def _create_axes(wide: float, tall: float) -> Axes:
    """Axes that fill a figure of their own (never pyplot's), which a notebook shows."""
    figure = show_in_notebook(create_figure(wide / _PIXELS, tall / _PIXELS), _PIXELS)
    ax: Axes = show_in_notebook(figure.add_axes((0, 0, 1, 1)), _PIXELS)
    return ax


def _get_scale(ax: Axes, wide: float, tall: float) -> float:
    """How much smaller than in a figure of its own everything is in these Axes."""
    box = ax.get_position()
    inches = ax.get_figure(root=True).get_size_inches()  # type: ignore[union-attr]
    return float(min(box.width * inches[0] / wide, box.height * inches[1] / tall) * _PIXELS)


def _get_line_width(stage: StageLayout, bandwidth: float) -> float:
    """Width of one direction of a cable, in points of a figure of its own (72 to the inch); thinner where nodes are
    small."""
    room = 1.0
    if len(stage.panels) > 2:
        room = 0.6
    return max(0.8, stage.pipe * room * sqrt(bandwidth / 1e9) * 72 / _PIXELS)


def _list_kinds(topology: Topology, stage: StageLayout, language: str) -> list[tuple[str, str, float]]:
    """A line of the key per kind and product: kind, text, width of its widest link."""
    picture, links = stage.picture, topology.links
    widest: dict[tuple[str, str], float] = {}
    for kind, label, rate in zip(picture.link_kind, picture.link_label, picture.bandwidth.tolist(), strict=True):
        widest[kind, label] = max(rate, widest.get((kind, label), 0.0))
    order = {kind: i for i, kind in enumerate(KINDS)}
    entries = []
    for (kind, label), rate in sorted(widest.items(), key=lambda item: (order.get(item[0][0], len(order)), -item[1])):
        is_member = np.array([(c.kind, c.label) == (kind, label) for c in links.cables])[links.cable]
        text = _describe_kind(kind, label, rate, float(links.bandwidth[is_member].max()), language)
        entries.append((kind, text, _get_line_width(stage, rate)))
    return entries


def _describe_kind(kind: str, label: str, rate: float, cable_rate: float, language: str) -> str:
    """`IB NDR, 50 GB/s each way`; `4 × IB NDR, ...` where a drawn link stands for several."""
    rated = translate(language, "pictures", "draw.each_way", rate=format_bandwidth(rate))
    if label == format_bandwidth(cable_rate):  # a generic cable is called by its rate
        return rated
    several = ""
    if rate > 1.01 * cable_rate:
        several = f"{rate / cable_rate:.3g} × "
    return f"{several}{label or words.capitalise(words.name_kind(kind)[LANGUAGES.index(language)])}, {rated}"


def _get_colour(kind: str) -> str:
    return KINDS.get(kind, KINDS["cable"])


def _draw_panels(ax: Axes, stage: StageLayout, language: str, family: list[str], scale: float, dx: float) -> None:
    for panel in stage.panels:
        box = panel.box.shift(dx, _HEAD)
        draw_box(ax, box, colours.SUNK, colours.LINE, radius=10, line=0.7 * scale, zorder=1)
        text, note = get_text(panel.label, language), get_text(panel.note, language)
        if note.startswith("×"):
            text += f" {note}"
        elif note:
            text += f" · {note}"
        y = box.y + 19
        if panel.foot:
            y = box.bottom - 11
        look: dict[str, Any] = {"fontsize": 8.5 * scale, "fontweight": "bold", "family": family, "zorder": 5}
        ax.text(box.x + 14, y, text, color=colours.INK2, clip_on=True, **look)


def _draw_links(ax: Axes, stage: StageLayout, scale: float, dx: float) -> None:
    """The widest below, so that a thin cable that crosses them is seen; a light rim tells apart what crosses."""
    from matplotlib.collections import LineCollection

    picture = stage.picture
    order = sorted(range(len(stage.lines)), key=lambda i: -float(picture.bandwidth[i]))
    shift = np.array([dx, _HEAD])
    paths, widths, link_colours = [], [], []
    for i in order:
        width = _get_line_width(stage, float(picture.bandwidth[i])) * scale
        paths += [np.array(stage.lines[i]) + shift] * 2
        widths += [width + 1.4 * scale, width]
        link_colours += [colours.SUNK, _get_colour(picture.link_kind[i])]
    ax.add_collection(LineCollection(paths, linewidths=widths, colors=link_colours, zorder=2))


def _draw_devices(ax: Axes, stage: StageLayout, language: str, family: list[str], scale: float, dx: float) -> None:
    picture = stage.picture
    for device, box in enumerate(stage.boxes):
        rank = picture.endpoint[device] >= 0 or picture.kind[device] == "gpu"
        fill, edge, line = colours.CARD, colours.EDGE, 0.8
        if picture.kind[device] in ("cpu", "memory"):
            fill = colours.HOST
        if rank:
            edge, line = colours.INK, 1.2
        device_box = box.shift(dx, _HEAD)
        draw_box(ax, device_box, fill, edge, radius=4, line=line * scale, zorder=4)
        label = get_text(stage.labels[device], language)
        draw_box_label(ax, device_box, label, family, rank=rank, strong=rank, scale=scale)


def _draw_key(ax: Axes, entries: list[tuple[str, str, float]], top: float, family: list[str], scale: float) -> None:
    for i, (kind, text, width) in enumerate(entries):
        y = top + (i + 0.5) * _KEY
        ax.plot([16, 56], [y, y], color=_get_colour(kind), linewidth=width * scale, solid_capstyle="butt")
        ax.text(66, y, text, fontsize=11 * scale, family=family, color=colours.INK2, va="center")
