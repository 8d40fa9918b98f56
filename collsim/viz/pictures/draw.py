"""A topology as a still picture: devices where people draw them, links coloured by their kind and as wide as their
bandwidth."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError, TopologyError, describe_unknown
from ...topology import Topology
from ...units import format_bandwidth
from ..layout.geometry import Box
from ..layout.reduction import MOST_RANKS, MOST_RANKS_IN_ROW
from ..layout.shapes import StageLayout, layout
from ..sentences import words
from . import palette
from .figure import own_figure, shown
from .still import fonts, language, name_box, text_of

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
    "infiniband": "#A63A00",
    "ethernet": "#A87000",
    "cable": "#45535B",
}
_PIXELS = 100.0  # to the inch
_KEY = 22.0
_HEAD = 30.0


def draw(topology: Topology, ax: Axes | None = None, lang: str = "en") -> Axes:
    """Draw a topology; see `Topology.draw`."""
    if lang not in ("en", "zh"):
        raise CollsimError(describe_unknown("language", lang, ("en", "zh")))
    lang = language(lang)
    made = layout(topology, shown_links(topology))
    family = fonts(lang)
    entries = _kinds(topology, made, lang)
    wide, tall = max(made.w, 420.0), _HEAD + made.h + 10 + _KEY * len(entries)
    ax = _figure(wide, tall) if ax is None else ax
    scale = _points(ax, wide, tall)
    ax.set_xlim(0, wide)
    ax.set_ylim(tall, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    dx = (wide - made.w) / 2
    ax.text(16, 20, topology.name, fontsize=11 * scale, fontweight="bold", family=family, color=palette.INK)
    _panels(ax, made, lang, family, scale, dx)
    _links(ax, made, scale, dx)
    _devices(ax, made, lang, family, scale, dx)
    _key(ax, entries, _HEAD + made.h + 10, family, scale)
    return ax


def shown_links(topology: Topology) -> npt.NDArray[np.bool_] | None:
    """Which links are drawn: of three nodes and more, and of a rack, only those that data between ranks cross, for want
    of room; None for all."""
    nodes = 1 + int(topology.devices.node.max(initial=-1))
    rack = nodes == 1 and 16 < topology.ranks <= MOST_RANKS
    if not rack and (nodes < 3 or topology.ranks > MOST_RANKS_IN_ROW):
        return None
    try:
        crossed = topology.routes(*np.divmod(np.arange(topology.ranks**2), topology.ranks)).link
    except TopologyError:  # ranks that cannot reach each other: everything may matter
        return None
    return np.bincount(crossed, minlength=len(topology.links)) > 0


def _figure(wide: float, tall: float) -> Axes:
    """Axes that fill a figure of their own (never pyplot's), which a notebook shows."""
    figure = shown(own_figure(wide / _PIXELS, tall / _PIXELS), _PIXELS)
    ax: Axes = shown(figure.add_axes((0, 0, 1, 1)), _PIXELS)
    return ax


def _points(ax: Axes, wide: float, tall: float) -> float:
    """How much smaller than in a figure of its own everything is in these Axes."""
    box = ax.get_position()
    inches = ax.get_figure(root=True).get_size_inches()  # type: ignore[union-attr]
    return float(min(box.width * inches[0] / wide, box.height * inches[1] / tall) * _PIXELS)


def _width(made: StageLayout, bandwidth: float) -> float:
    """Width of one direction of a cable, in points of a figure of its own (72 to the inch); thinner where nodes are
    small."""
    room = 0.6 if len(made.panels) > 2 else 1.0
    return max(0.8, made.pipe * room * sqrt(bandwidth / 1e9) * 72 / _PIXELS)


def _kinds(topology: Topology, made: StageLayout, lang: str) -> list[tuple[str, str, float]]:
    """A line of the key per kind and product: kind, text, width of its widest link."""
    what, links = made.picture, topology.links
    found: dict[tuple[str, str], float] = {}
    for kind, label, rate in zip(what.link_kind, what.link_label, what.bandwidth.tolist(), strict=True):
        found[kind, label] = max(rate, found.get((kind, label), 0.0))
    order = {kind: i for i, kind in enumerate(KINDS)}
    entries = []
    for (kind, label), rate in sorted(found.items(), key=lambda item: (order.get(item[0][0], len(order)), -item[1])):
        mine = np.array([(c.kind, c.label) == (kind, label) for c in links.cables])[links.cable]
        entries.append((kind, _said(kind, label, rate, float(links.bandwidth[mine].max()), lang), _width(made, rate)))
    return entries


def _said(kind: str, label: str, rate: float, one: float, lang: str) -> str:
    """`IB NDR, 50 GB/s each way`; `4 × IB NDR, ...` where a drawn link stands for several."""
    rated = f"{format_bandwidth(rate)} 每个方向" if lang == "zh" else f"{format_bandwidth(rate)} each way"
    if label == format_bandwidth(one):  # a generic cable is called by its rate
        return rated
    several = f"{rate / one:.3g} × " if rate > 1.01 * one else ""
    return f"{several}{label or words.capital(words.kind_name(kind)[lang == 'zh'])}, {rated}"


def _colour(kind: str) -> str:
    return KINDS.get(kind, KINDS["cable"])


def _panels(ax: Axes, made: StageLayout, lang: str, family: list[str], scale: float, dx: float) -> None:
    for panel in made.panels:
        _box(ax, panel.box.moved(dx, _HEAD), palette.SUNK, palette.LINE, 10, 0.7 * scale, 1)
        note = text_of(panel.note, lang)
        text = text_of(panel.label, lang) + (f" {note}" if note.startswith("×") else f" · {note}" if note else "")
        x, y = panel.box.x + 14 + dx, (panel.box.bottom - 11 if panel.foot else panel.box.y + 19) + _HEAD
        ax.text(
            x,
            y,
            text,
            fontsize=8.5 * scale,
            fontweight="bold",
            family=family,
            color=palette.INK2,
            zorder=5,
            clip_on=True,
        )


def _links(ax: Axes, made: StageLayout, scale: float, dx: float) -> None:
    """The widest below, so that a thin cable that crosses them is seen; a light rim tells apart what crosses."""
    from matplotlib.collections import LineCollection

    what = made.picture
    order = sorted(range(len(made.lines)), key=lambda i: -float(what.bandwidth[i]))
    shift = np.array([dx, _HEAD])
    paths, widths, colours = [], [], []
    for i in order:
        width = _width(made, float(what.bandwidth[i])) * scale
        paths += [np.array(made.lines[i]) + shift] * 2
        widths += [width + 1.4 * scale, width]
        colours += [palette.SUNK, _colour(what.link_kind[i])]
    ax.add_collection(LineCollection(paths, linewidths=widths, colors=colours, zorder=2))


def _devices(ax: Axes, made: StageLayout, lang: str, family: list[str], scale: float, dx: float) -> None:
    what = made.picture
    for device, box in enumerate(made.boxes):
        host = what.kind[device] in ("cpu", "memory")
        rank = what.endpoint[device] >= 0 or what.kind[device] == "gpu"
        place = box.moved(dx, _HEAD)
        _box(
            ax,
            place,
            palette.HOST if host else palette.CARD,
            palette.INK if rank else palette.EDGE,
            4,
            (1.2 if rank else 0.8) * scale,
            4,
        )
        name_box(ax, place, text_of(made.labels[device], lang), family, rank=rank, strong=rank, scale=scale)


def _box(ax: Axes, box: Box, fill: str, edge: str, radius: float, line: float, order: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={min(radius, box.w / 2, box.h / 2)}"
    patch: Any = FancyBboxPatch(
        (box.x, box.y), box.w, box.h, boxstyle=style, facecolor=fill, edgecolor=edge, linewidth=line, zorder=order
    )
    ax.add_patch(patch)


def _key(ax: Axes, entries: list[tuple[str, str, float]], top: float, family: list[str], scale: float) -> None:
    for i, (kind, text, width) in enumerate(entries):
        y = top + (i + 0.5) * _KEY
        ax.plot([16, 56], [y, y], color=_colour(kind), linewidth=width * scale, solid_capstyle="butt")
        ax.text(66, y, text, fontsize=11 * scale, family=family, color=palette.INK2, va="center")
