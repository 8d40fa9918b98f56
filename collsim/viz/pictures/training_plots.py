"""Plots of training steps: the timeline, two lanes for each kind of GPU and a colour for each bucket; how a step
scales; and what a job loses to one slow GPU or one broken cable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import require_word
from ...errors.dependencies import matplotlib as mpl
from ...errors.dependencies import require_package
from ...files import replace_file
from ...train.scaling_study import SCALING_KINDS
from ...train.workload.step_graph import COMPUTE
from ..sentences.words import format_duration
from . import colours
from .figure import render_png
from .film import save_gif, save_mp4
from .machine_picture import write_label
from .plots import _clean_axes, _get_axes, _require_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from PIL.Image import Image

    from ...train import StepTrace
    from ...train.workload.step_graph import StepTask

#: Dots per inch of a picture, and pictures of a film: a GIF of nine seconds, an MP4 of eight.
_DPI, _GIF_FRAMES, _MP4_FRAMES = 150, 60, 240
_FORWARD, _BACKWARD, _OTHER = colours.TINT["room"], colours.USE["room"], colours.IDLE


def plot(trace: StepTrace, ax: Axes | None = None, language: str = "en") -> Axes:
    """Draw a step into `ax` or a figure of its own; the Axes.

    A bucket has one colour on the network lane, waits for the network are hatched, the critical chain has a dark edge.
    Computing is light forward and dark backward. `language` is en or zh.

    Args:
        trace: The step of training.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    lanes = trace.step.lanes
    ax = _get_axes(ax, 9.0, 1.2 + 1.1 * len(lanes))
    critical = set(trace.critical_path)
    for number, task in enumerate(trace.step.tasks):
        begin, spent = 1e3 * trace.begin[number], 1e3 * (trace.end[number] - trace.begin[number])
        if spent > 0:
            if number in critical and not task.is_compute:
                edge: dict[str, Any] = {"edgecolor": colours.INK, "linewidth": 0.8}
            else:
                edge = {}
            for lane in task.lanes:
                row = 2 * lane + (task.stream != COMPUTE)
                ax.barh(row, spent, 0.8, begin, color=_get_colour(task), **edge)
    _draw_waits(trace, ax)
    ax.set_yticks(range(2 * len(lanes)))
    streams = [write_label(language, f"training_plots.{stream}") for stream in ("compute", "network")]
    ax.set_yticklabels([f"{_name_lane(ranks)}, {stream}" for ranks in lanes for stream in streams])
    ax.set_ylim(2 * len(lanes) - 0.4, -0.6)
    ax.set_xlim(0, max(1e3 * trace.time, 1e-9))
    ax.set_xlabel(write_label(language, "training_plots.time"))
    ax.set_title(f"{trace.step.model.name}, {trace.step.label}", loc="left")
    return _clean_axes(ax, "x", language)


def _get_colour(task: StepTask) -> str:
    if task.is_compute:
        return {"forward": _FORWARD, "backward": _BACKWARD}.get(task.kind, _OTHER)
    if task.bucket >= 0:
        return colours.SERIES[task.bucket % len(colours.SERIES)]
    return colours.SERIES[4]


def _name_lane(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"GPU {ranks[0]}"
    return f"GPU {ranks[0]}–{ranks[-1]}"


def _draw_waits(trace: StepTrace, ax: Axes) -> None:
    """Hatch the times in which GPUs communicate and do not compute."""
    for lane, spans in enumerate(trace.exposed_spans):
        for begin, end in spans:
            look: dict[str, Any] = {"color": "none", "edgecolor": colours.USE["full"], "hatch": "////"}
            ax.barh(2 * lane, 1e3 * (end - begin), 0.8, 1e3 * begin, linewidth=0.0, **look)


def scaling(tables: Mapping[str, pd.DataFrame], ax: Axes | None = None, language: str = "en") -> Axes:
    """Draw tables of `train.measure_scaling` by their kind, {"weak": ..., "strong": ...}: efficiency over GPUs, solid
    against the nodes of the first row, dashed against one GPU by itself. Rows that cannot be are left out.

    Args:
        tables: Tables of `train.measure_scaling` by their kind: `weak`, `strong`.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Raises:
        CollsimError: For a kind that is neither.
    """
    ax = _get_axes(ax, 7.0, 4.2)
    for number, (kind, table) in enumerate(tables.items()):
        require_word("kind of scaling", kind, SCALING_KINDS)
        _require_columns(table, {"gpus", "efficiency_node", "efficiency_gpu"}, "train.measure_scaling")
        for column, style in (("efficiency_node", "-"), ("efficiency_gpu", "--")):
            present = table.dropna(subset=[column])
            if len(present):
                label = ", ".join(write_label(language, f"training_plots.{key}") for key in (kind, column))
                look: dict[str, Any] = {"color": colours.SERIES[number], "linestyle": style, "marker": "o"}
                ax.plot(present["gpus"], 100 * present[column], label=label, **look)
    counts = sorted({int(n) for table in tables.values() for n in table["gpus"]})
    ax.set_xscale("log", base=2)
    ax.set_xticks(counts, [str(n) for n in counts])
    ax.minorticks_off()
    ax.set_ylim(0, 105)
    ax.set_xlabel(write_label(language, "training_plots.gpus"))
    ax.set_ylabel(write_label(language, "training_plots.efficiency"))
    ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "both", language)


def losses(table: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """Draw a table of `train.time_faults`: for each fault the GPU-seconds that all GPUs lose in a step, and beside
    those of a slow GPU what it takes longer itself; where the job stops, a word says so.

    Args:
        table: A table as `train.time_faults` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    _require_columns(table, {"what", "name", "factor", "own", "lost"}, "train.time_faults")
    ax = _get_axes(ax, 7.5, 0.9 + 0.5 * len(table))
    names = []
    for position, row in enumerate(table.to_dict("records")):
        key, factor = f"training_plots.{row['what']}", f"{row['factor']:g}"
        names.append(write_label(language, key, name=row["name"], factor=factor))
        if math.isnan(row["lost"]):
            text = f" {write_label(language, 'training_plots.stops')}"
            ax.text(0, position, text, va="center", color=colours.USE["full"])
            continue
        ax.barh(position - 0.18, row["lost"], 0.36, color=colours.SERIES[0])
        if not math.isnan(row["own"]):
            ax.barh(position + 0.18, row["own"], 0.36, color=colours.SERIES[1])
    for number, kind in enumerate(("lost", "own")):
        ax.barh(0, 0, color=colours.SERIES[number], label=write_label(language, f"training_plots.{kind}"))
    ax.set_yticks(range(len(table)), names)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.set_xlabel(write_label(language, "training_plots.seconds"))
    ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "x", language)


def write_step_picture(trace: StepTrace, path: Path, language: str = "en", t: float | None = None) -> Path:
    """Write the timeline as .png, .svg or .pdf.

    Args:
        trace: The step of training.
        path: The file to write.
        language: `en` or `zh`.
        t: A moment that is marked, seconds; None for none.
    """
    ax = plot(trace, language=language)
    if t is not None:
        _mark_moment(ax, t)
    figure: Any = ax.figure
    # Text in an SVG stays text, to be found and translated.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "collsim"}), replace_file(path) as temporary:
        figure.savefig(temporary, dpi=_DPI)
    return path


def _mark_moment(ax: Axes, t: float) -> None:
    """A line at a moment (s), and its time above it."""
    label, side = f" {format_duration(t)} ", "left"
    if 1e3 * t > 0.7 * ax.get_xlim()[1]:
        side = "right"
    ax.axvline(1e3 * t, color=colours.INK, linewidth=1.6, zorder=9)
    ax.text(1e3 * t, -0.6, label, ha=side, va="top", fontsize=9, fontweight="bold", color=colours.INK, zorder=9)


def write_step_film(trace: StepTrace, path: Path, language: str = "en") -> Path:
    """Write the timeline with a cursor that runs over it, as .gif or .mp4.

    Args:
        trace: The step of training.
        path: The file to write.
        language: `en` or `zh`.

    Raises:
        CollsimError: Where there is no ffmpeg to write an `.mp4`.
    """
    with replace_file(path) as temporary:
        if path.suffix.lower() == ".mp4":
            save_mp4(_render_step(trace, language, _MP4_FRAMES), temporary)
        else:
            save_gif(_render_step(trace, language, _GIF_FRAMES), temporary)
    return path


def _render_step(trace: StepTrace, language: str, frames: int) -> Iterator[Image]:
    """The pictures of the film: the timeline is drawn once, the cursor on each."""
    require_package("PIL")
    from PIL import Image, ImageDraw

    ax = plot(trace, language=language)
    still = Image.open(BytesIO(render_png(ax.figure, _DPI))).convert("RGB")
    # The picture is cut to what is drawn: the axes are found by their own pixels.
    (left, right), (top, bottom) = _find_axes(ax, still.height)
    for share in np.linspace(0.0, 1.0, frames):
        picture = still.copy()
        x = left + share * (right - left)
        ImageDraw.Draw(picture).line((x, top, x, bottom), fill=colours.INK, width=4)
        yield picture


def _find_axes(ax: Axes, height: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Left and right, top and bottom of the axes in the pixels of a picture that is so high."""
    figure: Any = ax.figure
    whole, box = figure.bbox, ax.get_window_extent()
    scale = height / whole.height
    return (box.x0 * scale, box.x1 * scale), ((whole.height - box.y1) * scale, (whole.height - box.y0) * scale)
