"""A still picture of a run: the machine, every link as wide as its capacity and coloured by its use, with bytes and
busy share."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import require_language
from ...errors.collected_warnings import warn
from ...errors.dependencies import matplotlib as mpl
from ...errors.dependencies import require_package
from ...locale import translate
from ...package_data import read_toml
from ...units import format_percent
from ..layout.geometry import Box
from ..sentences import words
from ..timeline.timeline_document import build_timeline
from ..timeline.timeline_types import Timeline, TimelineDevices, TimelinePanel
from . import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...simulate import Trace

Floats = npt.NDArray[np.float64]
_FONTS: dict[str, list[str]] = read_toml(__file__, "machine_picture.toml")
LATIN, CHINESE = tuple(_FONTS["latin"]), tuple(_FONTS["chinese"])

_ROW = 22.0  # height of a line of the table under the picture
_HEAD = 64.0
_LETTER = 1.25  # points of a font whose letters are a pixel wide on average


def find_fonts(language: str = "en") -> list[str]:
    """Families that are installed, for a text in this language.

    Args:
        language: `en` or `zh`.
    """
    have = _list_families()
    if language == "zh" and not have & set(CHINESE):
        _register_new_fonts()
        have = _list_families()
    return [name for name in (LATIN + CHINESE if language == "zh" else LATIN) if name in have] or ["DejaVu Sans"]


def _list_families() -> set[str]:
    require_package("matplotlib")
    from matplotlib import font_manager

    return {font.name for font in font_manager.fontManager.ttflist}


@cache
def _register_new_fonts() -> None:
    """Fonts that were installed after matplotlib wrote its list of them, which it does once."""
    from matplotlib import font_manager

    known = {font.fname for font in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            with suppress(OSError, RuntimeError):  # not one that it can read
                font_manager.fontManager.addfont(path)


def choose_language(language: str) -> str:
    """The language in which labels can be written here: English where no font has the characters, and says so.

    Args:
        language: `en` or `zh`.
    """
    if language == "zh" and not any(name in CHINESE for name in find_fonts("zh")):
        warn("no Chinese font is installed (for example Noto Sans CJK SC); the picture is labelled in English")
        return "en"
    return require_language(language)


def write_label(language: str, key: str, **values: object) -> str:
    """A text of the catalog of pictures in a language, in English where no font has its characters.

    Args:
        language: `en` or `zh`.
        key: Of the text.
        values: What stands in its braces.
    """
    return translate(choose_language(language), "pictures", key, **values)


def write_machine_picture(trace: Trace, path: Path, language: str = "en", dpi: int = 144) -> None:
    """Write the picture as PNG or SVG by the path's suffix; text in an SVG stays text.

    Args:
        trace: The run.
        path: The file to write.
        language: `en` or `zh`.
        dpi: Dots per inch.
    """
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "collsim"}):
        figure = draw_machine_figure(trace, language)
        metadata: dict[str, str | None] = {"Software": "collsim"}
        if path.suffix.lower() == ".svg":
            metadata = {"Date": None}
        figure.savefig(path, format=path.suffix[1:].lower(), dpi=dpi, metadata=metadata)


def draw_machine_figure(trace: Trace, language: str = "en") -> Figure:
    """The machine with its title, figures and the table of links that are alike, as a matplotlib Figure.

    Args:
        trace: The run.
        language: `en` or `zh`.
    """
    require_package("matplotlib")
    from matplotlib.figure import Figure

    language = choose_language(language)
    document = build_timeline(trace, inside=False)
    family = find_fonts(language)
    wide, tall = max(640.0, document["stage"]["w"]), document["stage"]["h"]
    lines = len(document["rows"])
    height = _HEAD + tall + 14 + _ROW * (lines + 1) * bool(lines) + 12
    figure = Figure(figsize=(wide / 100, height / 100), facecolor=colours.CARD)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, wide)
    ax.set_ylim(height, 0)
    ax.axis("off")
    left = (wide - document["stage"]["w"]) / 2
    _draw_head(ax, document, language, family, wide)
    _draw_stage(ax, document, language, family, left, _HEAD)
    _draw_table(ax, document, language, family, _HEAD + tall + 14, wide)
    return figure


def get_text(value: str | Mapping[str, str], language: str) -> str:
    """A text of the timeline in one language; plain strings are the same in both.

    Args:
        value: A text, or `{"en": ..., "zh": ...}`.
        language: `en` or `zh`.
    """
    if isinstance(value, dict):
        return str(value.get(language, value.get("en", "")))
    return str(value)


def _draw_head(ax: Axes, document: Timeline, language: str, family: list[str], wide: float) -> None:
    figures = document["figures"]
    title = get_text(document["meta"]["title"], language)
    size = max(8.5, min(12.0, 0.9 * _LETTER * (wide - 32) / len(title)))  # bold letters are wider
    ax.text(16, 26, title, fontsize=size, fontweight="bold", family=family, color=colours.INK)
    parts = [
        words.format_duration(figures["time"]),
        f"algbw {words.format_rate(figures['algbw'])}",
        f"busbw {words.format_rate(figures['busbw'])}",
    ]
    if document["bottleneck"]:
        parts.append(get_text(document["bottleneck"]["text"], language))
    figures_text = " · ".join(parts)
    size = max(8.5, min(11.0, _LETTER * (wide - 32) / _count_letters(figures_text)))  # as large as it fits
    lines = textwrap.wrap(figures_text, int(_LETTER * (wide - 32) / size), max_lines=2)
    if _count_letters(max(lines, key=_count_letters)) * size > _LETTER * (wide - 32):
        lines = [" · ".join(parts[:3]), *parts[3:]]  # Chinese has no spaces at which a line could end
    ax.text(16, 38 + 10 * len(lines), "\n".join(lines), fontsize=size, family=family, color=colours.INK2)


def _count_letters(text: str) -> int:
    """The width of a text in Latin letters; a Chinese character is as wide as two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def compute_shares(document: Timeline) -> list[float]:
    """Per link of a timeline: the part of the run in which it could not have carried more.

    Args:
        document: A timeline, as `build_timeline` makes it.
    """
    duration = document["figures"]["duration"]
    rates, link_bytes = document["links"]["bandwidth"], document["figures"]["link_bytes"]
    if not duration:
        return [0.0] * len(rates)
    return [nbytes / (rate * duration) for nbytes, rate in zip(link_bytes, rates, strict=True)]


def _draw_stage(ax: Axes, document: Timeline, language: str, family: list[str], dx: float, dy: float) -> None:
    for p in document["panels"]:
        _draw_panel(ax, p, language, family, dx, dy)
    _draw_links(ax, document, dx, dy)
    used = _find_used_devices(document)
    for i in range(len(document["devices"]["kind"])):
        _draw_device(ax, document["devices"], i, i in used, language, family, dx, dy)


def _draw_panel(ax: Axes, p: TimelinePanel, language: str, family: list[str], dx: float, dy: float) -> None:
    """What stands around the devices of a node, with its name."""
    box = Box(p["x"] + dx, p["y"] + dy, p["w"], p["h"])
    draw_box(ax, box, colours.SUNK, colours.LINE, radius=10, line=0.7, zorder=1)
    y = box.y + 19
    if p["foot"]:
        y = box.bottom - 11
    look: dict[str, Any] = {"fontsize": 9, "fontweight": "bold", "family": family, "color": colours.INK, "zorder": 5}
    ax.text(box.x + 14, y, get_text(p["label"], language), **look)


def _draw_device(
    ax: Axes, d: TimelineDevices, i: int, is_used: bool, language: str, family: list[str], dx: float, dy: float
) -> None:
    """One device; on: does it carry anything?"""
    host = d["kind"][i] in ("cpu", "memory")
    if host and is_used:
        fill = colours.HOST
    elif host:
        fill = colours.SUNK
    else:
        fill = colours.CARD
    box = Box(d["x"][i] + dx, d["y"][i] + dy, d["w"][i], d["h"][i])
    edge, line = (colours.EDGE, 0.7)
    if is_used:
        edge, line = (colours.INK, 1.2)
    draw_box(ax, box, fill, edge, radius=4, line=line, zorder=4)
    rank = d["endpoint"][i] >= 0
    draw_box_label(ax, box, get_text(d["label"][i], language), family, rank=rank, strong=rank or is_used)


def draw_box(ax: Axes, box: Box, fill: str, edge: str, *, radius: float, line: float, zorder: int) -> None:
    """A rectangle with round corners.

    Args:
        ax: Axes to draw into.
        box: The rectangle in CSS pixels.
        fill: Its colour.
        edge: Colour of its outline.
        radius: Of its corners, CSS pixels; less in a small box.
        line: Width of its outline, points.
        zorder: What is drawn later has more.
    """
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={min(radius, box.w / 2, box.h / 2)}"
    look: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "linewidth": line, "zorder": zorder}
    ax.add_patch(FancyBboxPatch((box.x, box.y), box.w, box.h, boxstyle=style, **look))


def _find_used_devices(document: Timeline) -> set[int]:
    """Devices at either end of a link that carries anything."""
    links = document["links"]
    busy = [link for link, carried in enumerate(document["figures"]["link_bytes"]) if carried]
    return {links[end][link] for link in busy for end in ("src", "dst")}


def draw_box_label(
    ax: Axes, box: Box, label: str, family: list[str], *, rank: bool, strong: bool, scale: float = 1.0
) -> None:
    """The label inside its box, upright in tall ones, left out where it would not be legible. `scale`: of the text, in
    narrow Axes.

    Args:
        ax: Axes to draw into.
        box: A rectangle in CSS pixels.
        label: The text.
        family: Font families, the first that is installed first.
        rank: Whether the device is a rank, whose label is larger.
        strong: Whether the label is bold.
        scale: Factor of the text's size, smaller in narrow Axes.
    """
    letters = max(1, len(label))
    # Upright in tall boxes, and where a wide label would not fit across.
    upright = box.h > 1.7 * box.w or (box.h > box.w and box.w < 6 * letters)
    length, thickness, rotation = box.w, box.h, 0
    if upright:
        length, thickness, rotation = box.h, box.w, 90
    largest = 11
    if rank:
        largest = 13
    size = scale * min(largest, 1.05 * length / letters, thickness * 0.5)
    # Below this size nobody can read it on a projector.
    if size < 4.5 or not label:
        return
    weight, color = "normal", colours.INK3
    if strong:
        weight, color = "bold", colours.INK
    look: dict[str, Any] = {"fontsize": size, "fontweight": weight, "family": family, "color": color, "zorder": 5}
    ax.text(box.cx, box.cy, label, ha="center", va="center", rotation=rotation, **look)


def _draw_links(ax: Axes, document: Timeline, dx: float, dy: float) -> None:
    """Casing as wide as capacity, core as wide as what it carried; a number on the first link of each line of the
    table."""
    links, part = document["links"], compute_shares(document)
    paths = [np.array(p).reshape(-1, 2) + np.array([dx, dy]) for p in links["path"]]
    width = [max(1.5, document["stage"]["pipe"] * sqrt(rate / 1e9)) * 0.72 for rate in links["bandwidth"]]
    idle = [i for i in range(len(paths)) if part[i] == 0]
    busy = [i for i in range(len(paths)) if part[i] > 0]
    use = {i: colours.classify_use(part[i]) for i in busy}

    def draw(chosen: list[int], widths: list[float], colors: str | list[str], zorder: int = 2) -> None:
        _draw_lines(ax, [paths[i] for i in chosen], widths, colors, zorder)

    draw(idle, [width[i] for i in idle], colours.IDLE)
    # Wide links without traffic are hollow, so that they do not look busy.
    hollow = [i for i in idle if width[i] > 6]
    draw(hollow, [width[i] - 1.6 for i in hollow], colours.SUNK)
    draw(busy, [width[i] + 1.2 for i in busy], colours.EDGE)
    draw(busy, [width[i] for i in busy], [colours.TINT[use[i]] for i in busy])
    # The core's width grows with the square root of the share, as areas are compared by eye.
    core = [max(1.0, width[i] * sqrt(min(1.0, part[i]))) for i in busy]
    draw(busy, core, [colours.USE[use[i]] for i in busy], zorder=3)
    for number, row in enumerate(document["rows"], start=1):
        color = colours.USE[colours.classify_use(max(part[i] for i in row["links"]))]
        middle = _find_middle(paths[row["links"][0]])
        _draw_number(ax, number, middle, color, edgecolor=colours.CARD, linewidth=0.8, zorder=6)


def _draw_lines(ax: Axes, paths: list[Floats], widths: list[float], colors: str | list[str], zorder: int) -> None:
    from matplotlib.collections import LineCollection

    if paths:
        ax.add_collection(LineCollection(paths, linewidths=widths, colors=colors, zorder=zorder))


def _draw_number(
    ax: Axes, number: int, point: tuple[float, float], color: str, *, zorder: float = 3, **edge: Any
) -> None:
    """The number of a line of the table, in a disc."""
    disc = {"boxstyle": "circle,pad=0.25", "facecolor": color, "edgecolor": color, **edge}
    style: dict[str, Any] = {"fontsize": 7, "fontweight": "bold", "color": colours.CARD, "zorder": zorder}
    ax.text(*point, str(number), ha="center", va="center", bbox=disc, **style)


def _find_middle(path: Floats) -> tuple[float, float]:
    """The point half-way along a polyline."""
    step = np.hypot(*np.diff(path, axis=0).T)
    half = step.sum() / 2
    distances = np.concatenate([[0.0], np.cumsum(step)])
    return float(np.interp(half, distances, path[:, 0])), float(np.interp(half, distances, path[:, 1]))


def _draw_table(ax: Axes, document: Timeline, language: str, family: list[str], top: float, wide: float) -> None:
    """A line for each number on the machine: what the links are, the bytes of the busiest of them, how busy it is."""
    if not document["rows"]:
        return
    part, link_bytes = compute_shares(document), document["figures"]["link_bytes"]
    right = min(wide - 24, 700.0)

    def put(x: float, y: float, text: str, size: float, color: str, bold: bool = False, side: str = "left") -> None:
        weight = "normal"
        if bold:
            weight = "bold"
        ax.text(x, y, text, fontsize=size, fontweight=weight, family=family, color=color, ha=side)

    for key, x in (("still.bytes_of_busiest", right - 90), ("still.busy", right)):
        put(x, top + 14, translate(language, "pictures", key), 10, colours.INK3, side="right")
    for number, row in enumerate(document["rows"], start=1):
        y = top + 14 + number * _ROW
        busiest = max(row["links"], key=lambda i: part[i])
        color = colours.USE[colours.classify_use(part[busiest])]
        _draw_number(ax, number, (24, y - 4), color)
        put(42, y, get_text(row["label"], language), 11, colours.INK, bold=row["hot"])
        put(300, y, get_text(row["note"], language), 10, colours.INK3)
        put(right - 90, y, words.format_size(link_bytes[busiest]), 11, colours.INK, side="right")
        put(right, y, format_percent(part[busiest]), 11, color, bold=True, side="right")
