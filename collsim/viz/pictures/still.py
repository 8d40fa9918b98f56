"""A still picture of a run: the machine, every link as wide as its capacity and coloured by its use, with bytes and
busy share."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import cache
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..layout.geometry import Box
from ..sentences import words
from ..timeline.document import timeline
from . import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...simulate import Trace

LATIN = ("Source Sans 3", "Segoe UI", "Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans")
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Noto Serif CJK SC",
    "PingFang SC",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Zen Hei",
    "Noto Sans CJK JP",
)
_ROW = 22.0  # height of a line of the table under the picture
_HEAD = 64.0
_LETTER = 1.25  # points of a font whose letters are a pixel wide on average


def fonts(lang: str = "en") -> list[str]:
    """Families that are installed, for a text in this language."""
    have = _families()
    if lang == "zh" and not have & set(CHINESE):
        _look_again()
        have = _families()
    return [name for name in (LATIN + CHINESE if lang == "zh" else LATIN) if name in have] or ["DejaVu Sans"]


def _families() -> set[str]:
    from matplotlib import font_manager

    return {font.name for font in font_manager.fontManager.ttflist}


@cache
def _look_again() -> None:
    """Fonts that were installed after matplotlib wrote its list of them, which it does once."""
    from matplotlib import font_manager

    known = {font.fname for font in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            with suppress(OSError, RuntimeError):  # not one that it can read
                font_manager.fontManager.addfont(path)


def language(lang: str) -> str:
    """The language in which labels can be written here: English where no font has the characters, and says so."""
    if lang == "zh" and not any(name in CHINESE for name in fonts("zh")):
        warnings.warn(
            "no Chinese font is installed (for example Noto Sans CJK SC); the picture is labelled in English",
            stacklevel=3,
        )
        return "en"
    return lang


def machine_picture(trace: Trace, path: Path, lang: str = "en", dpi: int = 144) -> None:
    """Write the picture as PNG or SVG by the path's suffix; text in an SVG stays text."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "collsim"}):
        figure = machine_figure(trace, lang)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": "collsim"}
        figure.savefig(path, format=path.suffix[1:].lower(), dpi=dpi, metadata=metadata)


def machine_figure(trace: Trace, lang: str = "en") -> Figure:
    """The machine with its title, figures and the table of links that are alike, as a matplotlib Figure."""
    from matplotlib.figure import Figure

    lang = language(lang)
    made = timeline(trace, inside=False)
    family = fonts(lang)
    wide, tall = max(640.0, made["stage"]["w"]), made["stage"]["h"]
    lines = len(made["rows"])
    height = _HEAD + tall + 14 + _ROW * (lines + 1) * bool(lines) + 12
    figure = Figure(figsize=(wide / 100, height / 100), facecolor=palette.CARD)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, wide)
    ax.set_ylim(height, 0)
    ax.axis("off")
    left = (wide - made["stage"]["w"]) / 2
    _head(ax, made, lang, family, wide)
    _stage(ax, made, lang, family, left, _HEAD)
    _table(ax, made, lang, family, _HEAD + tall + 14, wide)
    return figure


def text_of(value: Any, lang: str) -> str:
    """A text of the timeline in one language; plain strings are the same in both."""
    return str(value.get(lang, value.get("en", ""))) if isinstance(value, dict) else str(value)


def _head(ax: Axes, made: dict[str, Any], lang: str, family: list[str], wide: float) -> None:
    figures = made["figures"]
    ax.text(
        16, 26, text_of(made["meta"]["title"], lang), fontsize=12, fontweight="bold", family=family, color=palette.INK
    )
    parts = [
        words.time(figures["time"]),
        f"algbw {words.rate(figures['algbw'])}",
        f"busbw {words.rate(figures['busbw'])}",
    ]
    if made["bottleneck"]:
        parts.append(text_of(made["bottleneck"]["text"], lang))
    said = " · ".join(parts)
    size = max(8.5, min(11.0, _LETTER * (wide - 32) / len(said)))  # as large as it fits
    ax.text(16, 48, said, fontsize=size, family=family, color=palette.INK2)


def shares(made: dict[str, Any]) -> list[float]:
    """Per link of a timeline: the part of the run in which it could not have carried more."""
    spent = made["figures"]["spent"]
    rates = made["links"]["bandwidth"]
    return [b / (rate * spent) if spent else 0.0 for b, rate in zip(made["figures"]["link_bytes"], rates, strict=True)]


def _stage(ax: Axes, made: dict[str, Any], lang: str, family: list[str], dx: float, dy: float) -> None:
    for p in made["panels"]:
        _panel(ax, p, lang, family, dx, dy)
    _links(ax, made, dx, dy)
    used = _used(made)
    for i in range(len(made["devices"]["kind"])):
        _device(ax, made["devices"], i, i in used, lang, family, dx, dy)


def _panel(ax: Axes, p: dict[str, Any], lang: str, family: list[str], dx: float, dy: float) -> None:
    """What stands around the devices of a node, with its name."""
    _box(ax, Box(p["x"] + dx, p["y"] + dy, p["w"], p["h"]), palette.SUNK, palette.LINE, radius=10, line=0.7, zorder=1)
    down = p["h"] - 11 if p["foot"] else 19
    look: dict[str, Any] = {"fontsize": 9, "fontweight": "bold", "family": family, "color": palette.INK, "zorder": 5}
    ax.text(p["x"] + 14 + dx, p["y"] + down + dy, text_of(p["label"], lang), **look)


def _device(ax: Axes, d: dict[str, Any], i: int, on: bool, lang: str, family: list[str], dx: float, dy: float) -> None:
    """One device; on: does it carry anything?"""
    host = d["kind"][i] in ("cpu", "memory")
    fill = palette.HOST if host and on else palette.SUNK if host else palette.CARD
    where = Box(d["x"][i] + dx, d["y"][i] + dy, d["w"][i], d["h"][i])
    edge, line = (palette.INK, 1.2) if on else (palette.EDGE, 0.7)
    _box(ax, where, fill, edge, radius=4, line=line, zorder=4)
    rank = d["endpoint"][i] >= 0
    name_box(ax, where, text_of(d["label"][i], lang), family, rank=rank, strong=rank or on)


def _box(ax: Axes, box: Box, fill: str, edge: str, *, radius: float, line: float, zorder: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={min(radius, box.w / 2, box.h / 2)}"
    look: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "linewidth": line, "zorder": zorder}
    ax.add_patch(FancyBboxPatch((box.x, box.y), box.w, box.h, boxstyle=style, **look))


def _used(made: dict[str, Any]) -> set[int]:
    """Devices at either end of a link that carries anything."""
    links = made["links"]
    busy = [link for link, carried in enumerate(made["figures"]["link_bytes"]) if carried]
    return {links[end][link] for link in busy for end in ("src", "dst")}


def name_box(
    ax: Axes, box: Box, label: str, family: list[str], *, rank: bool, strong: bool, scale: float = 1.0
) -> None:
    """The label inside its box, upright in tall ones, left out where it would not be legible. `scale`: of the text, in
    narrow Axes."""
    letters = max(1, len(label))
    upright = box.h > 1.7 * box.w or (box.h > box.w and box.w < 6 * letters)
    room, deep = (box.h, box.w) if upright else (box.w, box.h)
    size = scale * min(13 if rank else 11, 1.05 * room / letters, deep * 0.5)
    if size < 4.5 or not label:
        return
    ax.text(
        box.cx,
        box.cy,
        label,
        ha="center",
        va="center",
        rotation=90 if upright else 0,
        fontsize=size,
        fontweight="bold" if strong else "normal",
        family=family,
        color=palette.INK if strong else palette.INK3,
        zorder=5,
    )


def _links(ax: Axes, made: dict[str, Any], dx: float, dy: float) -> None:
    """Casing as wide as capacity, core as wide as what it carried; a number on the first link of each line of the
    table."""
    links, part = made["links"], shares(made)
    paths = [np.array(p).reshape(-1, 2) + np.array([dx, dy]) for p in links["path"]]
    width = [max(1.5, made["stage"]["pipe"] * sqrt(rate / 1e9)) * 0.72 for rate in links["bandwidth"]]
    idle = [i for i in range(len(paths)) if part[i] == 0]
    busy = [i for i in range(len(paths)) if part[i] > 0]
    use = {i: palette.use(part[i]) for i in busy}

    def draw(chosen: list[int], widths: list[float], colors: Any, zorder: int = 2) -> None:
        _lines(ax, [paths[i] for i in chosen], widths, colors, zorder)

    draw(idle, [width[i] for i in idle], palette.IDLE)
    hollow = [i for i in idle if width[i] > 6]
    draw(hollow, [width[i] - 1.6 for i in hollow], palette.SUNK)
    draw(busy, [width[i] + 1.2 for i in busy], palette.EDGE)
    draw(busy, [width[i] for i in busy], [palette.TINT[use[i]] for i in busy])
    core = [max(1.0, width[i] * sqrt(min(1.0, part[i]))) for i in busy]
    draw(busy, core, [palette.USE[use[i]] for i in busy], zorder=3)
    for number, row in enumerate(made["rows"], start=1):
        color = palette.USE[palette.use(max(part[i] for i in row["links"]))]
        _number(ax, number, _middle(paths[row["links"][0]]), color, edgecolor=palette.CARD, linewidth=0.8, zorder=6)


def _lines(ax: Axes, paths: list[Any], widths: list[float], colors: Any, zorder: int) -> None:
    from matplotlib.collections import LineCollection

    if paths:
        ax.add_collection(LineCollection(paths, linewidths=widths, colors=colors, zorder=zorder))


def _number(ax: Axes, number: int, at: tuple[float, float], color: str, *, zorder: float = 3, **edge: Any) -> None:
    """The number of a line of the table, in a disc."""
    disc = {"boxstyle": "circle,pad=0.25", "facecolor": color, "edgecolor": color, **edge}
    style: dict[str, Any] = {"fontsize": 7, "fontweight": "bold", "color": palette.CARD, "zorder": zorder}
    ax.text(*at, str(number), ha="center", va="center", bbox=disc, **style)


def _middle(path: Any) -> tuple[float, float]:
    """The point half-way along a polyline."""
    step = np.hypot(*np.diff(path, axis=0).T)
    half = step.sum() / 2
    at = np.concatenate([[0.0], np.cumsum(step)])
    return float(np.interp(half, at, path[:, 0])), float(np.interp(half, at, path[:, 1]))


def _table(ax: Axes, made: dict[str, Any], lang: str, family: list[str], top: float, wide: float) -> None:
    """A line for each number on the machine: what the links are, the bytes of the busiest of them, how busy it is."""
    if not made["rows"]:
        return
    part, link_bytes = shares(made), made["figures"]["link_bytes"]
    right = min(wide - 24, 700.0)

    def put(x: float, y: float, text: str, size: float, color: str, bold: bool = False, side: str = "left") -> None:
        weight = "bold" if bold else "normal"
        ax.text(x, y, text, fontsize=size, fontweight=weight, family=family, color=color, ha=side)

    head = ("bytes, busiest link", "busy") if lang == "en" else ("字节（最忙的一条）", "占用")
    put(right - 90, top + 14, head[0], 10, palette.INK3, side="right")
    put(right, top + 14, head[1], 10, palette.INK3, side="right")
    for number, row in enumerate(made["rows"], start=1):
        y = top + 14 + number * _ROW
        busiest = max(row["links"], key=lambda i: part[i])
        color = palette.USE[palette.use(part[busiest])]
        _number(ax, number, (24, y - 4), color)
        put(42, y, text_of(row["label"], lang), 11, palette.INK, bold=row["hot"])
        put(300, y, text_of(row["note"], lang), 10, palette.INK3)
        put(right - 90, y, words.size(link_bytes[busiest]), 11, palette.INK, side="right")
        put(right, y, words.percent(part[busiest]), 11, color, bold=True, side="right")
