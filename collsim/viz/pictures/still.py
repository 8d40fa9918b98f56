"""A still picture of a run: the machine, every link as wide as its capacity and coloured by its use, with bytes and
busy share."""

from __future__ import annotations

import warnings
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
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Zen Hei",
    "Noto Sans CJK JP",
)
_ROW = 22.0  # height of a line of the table under the picture
_HEAD = 64.0


def fonts(lang: str = "en") -> list[str]:
    """Families that are installed, for a text in this language."""
    from matplotlib import font_manager

    have = {font.name for font in font_manager.fontManager.ttflist}
    wanted = LATIN + CHINESE if lang == "zh" else LATIN
    return [name for name in wanted if name in have] or ["DejaVu Sans"]


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
    made = timeline(trace)
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
    _head(ax, made, lang, family)
    _stage(ax, made, lang, family, left, _HEAD)
    _table(ax, made, lang, family, _HEAD + tall + 14, wide)
    return figure


def text_of(value: Any, lang: str) -> str:
    """A text of the timeline in one language; plain strings are the same in both."""
    return str(value.get(lang, value.get("en", ""))) if isinstance(value, dict) else str(value)


def _head(ax: Axes, made: dict[str, Any], lang: str, family: list[str]) -> None:
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
    ax.text(16, 48, " · ".join(parts), fontsize=8.5, family=family, color=palette.INK2)


def shares(made: dict[str, Any]) -> list[float]:
    """Per link of a timeline: the part of the run in which it could not have carried more."""
    spent = made["figures"]["spent"]
    rates = made["links"]["bandwidth"]
    return [b / (rate * spent) if spent else 0.0 for b, rate in zip(made["figures"]["link_bytes"], rates, strict=True)]


def _stage(ax: Axes, made: dict[str, Any], lang: str, family: list[str], dx: float, dy: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    def box(x: float, y: float, w: float, h: float, fill: str, edge: str, radius: float, line: float) -> None:
        style = f"round,pad=0,rounding_size={min(radius, w / 2, h / 2)}"
        ax.add_patch(
            FancyBboxPatch(
                (x + dx, y + dy),
                w,
                h,
                boxstyle=style,
                facecolor=fill,
                edgecolor=edge,
                linewidth=line,
                zorder=4 if radius < 9 else 1,
            )
        )

    for p in made["panels"]:
        box(p["x"], p["y"], p["w"], p["h"], palette.SUNK, palette.LINE, 10, 0.7)
        ax.text(
            p["x"] + 14 + dx,
            (p["y"] + p["h"] - 11 if p["foot"] else p["y"] + 19) + dy,
            text_of(p["label"], lang),
            fontsize=9,
            fontweight="bold",
            family=family,
            color=palette.INK,
            zorder=5,
        )
    _links(ax, made, dx, dy)
    d = made["devices"]
    used = {
        i
        for link, b in enumerate(made["figures"]["link_bytes"])
        if b
        for i in (made["links"]["src"][link], made["links"]["dst"][link])
    }
    for i, kind in enumerate(d["kind"]):
        on, host = i in used, kind in ("cpu", "memory")
        fill = palette.HOST if host and on else palette.SUNK if host else palette.CARD
        box(
            d["x"][i], d["y"][i], d["w"][i], d["h"][i], fill, palette.INK if on else palette.EDGE, 4, 1.2 if on else 0.7
        )
        _name(ax, d, i, text_of(d["label"][i], lang), on, family, dx, dy)


def _name(ax: Axes, d: dict[str, Any], i: int, label: str, on: bool, family: list[str], dx: float, dy: float) -> None:
    rank = d["endpoint"][i] >= 0
    name_box(ax, Box(d["x"][i] + dx, d["y"][i] + dy, d["w"][i], d["h"][i]), label, family, rank=rank, strong=rank or on)


def name_box(
    ax: Axes, box: Box, label: str, family: list[str], *, rank: bool, strong: bool, scale: float = 1.0
) -> None:
    """The label inside its box, upright in tall ones, left out where it would not be legible. `scale`: of the text, in
    narrow Axes."""
    letters = max(1, len(label))
    upright = box.h > 1.7 * box.w or (box.h > box.w and box.w < 6 * letters)
    room, deep = (box.h, box.w) if upright else (box.w, box.h)
    size = scale * min(13 if rank else 9, 1.05 * room / letters, deep * 0.5)
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
    from matplotlib.collections import LineCollection

    links, part = made["links"], shares(made)
    pipe = made["stage"]["pipe"]
    shift = np.array([dx, dy])
    paths = [np.array(p).reshape(-1, 2) + shift for p in links["path"]]
    for busy in (False, True):
        chosen = [i for i in range(len(paths)) if (part[i] > 0) is busy]
        widths = [max(1.5, pipe * sqrt(links["bandwidth"][i] / 1e9)) * 0.72 for i in chosen]
        colors = [palette.TINT[palette.use(part[i])] if busy else palette.IDLE for i in chosen]
        if busy:
            ax.add_collection(
                LineCollection(
                    [paths[i] for i in chosen], linewidths=[w + 1.2 for w in widths], colors=palette.EDGE, zorder=2
                )
            )
        ax.add_collection(LineCollection([paths[i] for i in chosen], linewidths=widths, colors=colors, zorder=2))
        hollow = [q for q, w in enumerate(widths) if w > 6]
        if not busy and hollow:
            inner = LineCollection(
                [paths[chosen[q]] for q in hollow],
                linewidths=[widths[q] - 1.6 for q in hollow],
                colors=palette.SUNK,
                zorder=2,
            )
            ax.add_collection(inner)
        if busy:
            core = [max(1.0, w * sqrt(min(1.0, part[i]))) for i, w in zip(chosen, widths, strict=True)]
            ax.add_collection(
                LineCollection(
                    [paths[i] for i in chosen],
                    linewidths=core,
                    colors=[palette.USE[palette.use(part[i])] for i in chosen],
                    zorder=3,
                )
            )
    for number, row in enumerate(made["rows"], start=1):
        x, y = _middle(paths[row["links"][0]])
        color = palette.USE[palette.use(max(part[i] for i in row["links"]))]
        ax.text(
            x,
            y,
            str(number),
            fontsize=7,
            fontweight="bold",
            color=palette.CARD,
            ha="center",
            va="center",
            zorder=6,
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": color, "edgecolor": palette.CARD, "linewidth": 0.8},
        )


def _middle(path: Any) -> tuple[float, float]:
    """The point half-way along a polyline."""
    step = np.hypot(*np.diff(path, axis=0).T)
    half = step.sum() / 2
    at = np.concatenate([[0.0], np.cumsum(step)])
    return float(np.interp(half, at, path[:, 0])), float(np.interp(half, at, path[:, 1]))


def _table(ax: Axes, made: dict[str, Any], lang: str, family: list[str], top: float, wide: float) -> None:
    if not made["rows"]:
        return
    part, link_bytes = shares(made), made["figures"]["link_bytes"]
    head = ("bytes, busiest link", "busy") if lang == "en" else ("字节（最忙的一条）", "占用")
    right = min(wide - 24, 700.0)
    for x, word, side in ((right - 90, head[0], "right"), (right, head[1], "right")):
        ax.text(x, top + 14, word, fontsize=8, family=family, color=palette.INK3, ha=side)
    for number, row in enumerate(made["rows"], start=1):
        y = top + 14 + number * _ROW
        busiest = max(row["links"], key=lambda i: part[i])
        color = palette.USE[palette.use(part[busiest])]
        ax.text(
            24,
            y - 4,
            str(number),
            fontsize=7,
            fontweight="bold",
            color=palette.CARD,
            ha="center",
            va="center",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": color, "edgecolor": color},
        )
        ax.text(
            42,
            y,
            text_of(row["label"], lang),
            fontsize=9,
            fontweight="bold" if row["hot"] else "normal",
            family=family,
            color=palette.INK,
        )
        ax.text(300, y, text_of(row["note"], lang), fontsize=8, family=family, color=palette.INK3)
        ax.text(
            right - 90, y, words.size(link_bytes[busiest]), fontsize=9, family=family, color=palette.INK, ha="right"
        )
        ax.text(
            right,
            y,
            words.percent(part[busiest]),
            fontsize=9,
            fontweight="bold",
            family=family,
            color=color,
            ha="right",
        )
