"""Plots that are good without touching anything. Each draws into `ax` or a figure of its own, and returns the Axes.

matplotlib's object-oriented interface only: no global state, safe in a server's threads.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import CollsimError
from ..units import format_bytes
from . import palette, words
from .layout import layout
from .rows import rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..simulate import Trace

_MOST_BARS = 24
_MOST_LANES = 64
_MOST_MARKS = 20_000


def time_over_size(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Time against message size, a line per algorithm and topology, both axes logarithmic. `frame` is what `sweep` returns."""
    return _over_size(frame, "time", "time", ax, logarithmic=True)


def busbw_over_size(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Bus bandwidth (nccl-tests) against message size, a line per algorithm and topology."""
    return _over_size(frame, "busbw", "busbw, GB/s", ax, logarithmic=False)


def link_utilisation(trace: Trace, ax: Axes | None = None) -> Axes:
    """A bar per link in use, the busiest on top: the part of the run in which it could not have carried more, and its bytes."""
    ax = _axes(ax, 7.2, 4.2)
    used = np.flatnonzero(trace.link_bytes > 0)
    share = trace.link_busy / trace.time if trace.time else trace.link_busy * 0
    order = used[np.argsort(-share[used], kind="stable")][:_MOST_BARS]
    names, links = trace.topology.devices.name, trace.topology.links
    y = np.arange(len(order))
    ax.barh(y, 100 * share[order], color=[palette.USE[palette.use(s)] for s in share[order]], height=0.72)
    ax.set_yticks(y, [f"{names[links.src[i]]} → {names[links.dst[i]]}" for i in order], fontsize=8)
    for row, link in enumerate(order):
        ax.text(101, row, format_bytes(int(trace.link_bytes[link])), va="center", fontsize=8, color=palette.INK2)
    ax.invert_yaxis()
    ax.set_xlim(0, 116)
    ax.set_xticks(range(0, 101, 20))
    ax.set_xlabel("busy, % of the run (bytes ÷ bandwidth ÷ time, one direction)")
    left_out = len(used) - len(order)
    ax.set_title(
        _title(trace)
        + (
            f"\n{left_out} more links, none above {words.percent(float(share[used].min()) if not len(order) else float(share[order[-1]]))}"
            if left_out > 0
            else ""
        ),
        fontsize=10,
        loc="left",
    )
    return _clean(ax, "x")


def volume_over_time(trace: Trace, ax: Axes | None = None) -> Axes:
    """Bytes that have crossed each class of links so far (one link of it), against time."""
    ax = _axes(ax, 7.2, 4.2)
    unit, factor = _time_unit(trace.time)
    made = layout(trace.topology, trace.link_bytes)
    for number, row in enumerate(rows(trace, made)):
        label = f"{row['label']['en']} ({row['note']['en']})" if row["note"]["en"] else row["label"]["en"]
        at, carried = _carried(trace, np.flatnonzero(np.isin(made.picture.link_of, row["links"])))
        ax.plot(
            at * factor,
            carried / 2**20,
            label=label,
            color=palette.SERIES[number % len(palette.SERIES)],
            linewidth=2.4 if row["hot"] else 1.6,
        )
    ax.set_xlabel(f"time, {unit}")
    ax.set_ylabel("bytes so far, busiest link of a class, MiB")
    ax.set_ylim(bottom=0)
    ax.set_xlim(0, max(trace.time * factor, 1e-12))
    ax.set_title(_title(trace), fontsize=10, loc="left")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    return _clean(ax, "y")


def gantt(trace: Trace, ax: Axes | None = None) -> Axes:
    """When each rank sends: a lane per endpoint; reduces in blue, copies in green."""
    ax = _axes(ax, 8.0, 4.2)
    s, t = trace.schedule, trace.schedule.transfers
    unit, factor = _time_unit(trace.time)
    if len(t) > _MOST_MARKS:
        raise CollsimError(
            f"{s.label} has {len(t):,} transfers; a Gantt chart of more than {_MOST_MARKS:,} is a black wall. Use link_utilisation"
        )
    lanes = min(s.endpoints, _MOST_LANES)
    for adds, color, name in ((True, palette.USE["room"], "reduce"), (False, palette.DONE, "copy")):
        mine = (t["reduce"] == adds) & (t["src"] < lanes)
        start, length = trace.start[mine] * factor, (trace.finish - trace.start)[mine] * factor
        ax.barh(
            t["src"][mine],
            length,
            left=start,
            height=0.7,
            color=color,
            edgecolor=palette.CARD,
            linewidth=0.5,
            label=name if mine.any() else None,
        )
    names = [f"rank {e}" if e < s.ranks else f"helper {e - s.ranks}" for e in range(lanes)]
    every = max(1, lanes // 24)
    ax.set_yticks(range(0, lanes, every), names[::every], fontsize=8)
    ax.set_ylim(lanes - 0.4, -0.6)
    ax.set_xlabel(f"time, {unit}" + (f"; {s.endpoints - lanes} more endpoints not shown" if s.endpoints > lanes else ""))
    ax.set_title(_title(trace) + ": who sends when", fontsize=10, loc="left")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper right", bbox_to_anchor=(1, 1.12))
    return _clean(ax, "x")


# ---- parts -----------------------------------------------------------------------------------------------------------------


def _axes(ax: Axes | None, wide: float, tall: float) -> Axes:
    """The axes given, or those of a figure of their own (never pyplot's)."""
    if ax is not None:
        return ax
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, tall), layout="constrained", facecolor=palette.CARD)
    FigureCanvasAgg(figure)
    made: Axes = figure.add_subplot()
    shown: Any
    for shown in (figure, made):  # without pyplot a notebook does not know how to show them
        shown._repr_png_ = partial(_png, figure)
    return made


def _png(figure: Figure) -> bytes:
    """The figure as a notebook shows it."""
    from io import BytesIO

    out = BytesIO()
    figure.savefig(out, format="png", dpi=110)
    return out.getvalue()


def _clean(ax: Axes, grid: Literal["both", "x", "y"]) -> Axes:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(palette.EDGE)
    ax.grid(axis=grid, color=palette.GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=palette.INK2, labelsize=8)
    return ax


def _title(trace: Trace) -> str:
    return f"{trace.schedule.label} on {trace.topology.name}, {format_bytes(trace.nbytes)}: {words.time(trace.time)}"


def _time_unit(seconds: float) -> tuple[str, float]:
    """Unit of an axis, and how many of it are in a second."""
    return next(((unit, factor) for unit, factor, least in (("s", 1.0, 1.0), ("ms", 1e3, 1e-3)) if seconds >= least), ("µs", 1e6))


def _carried(trace: Trace, links: npt.NDArray[np.int64]) -> tuple[Any, Any]:
    """(seconds, bytes so far) of the busiest of some links: the integral of its rate."""
    link = int(links[np.argmax(trace.link_bytes[links])])
    usage = trace.usage(link)
    so_far = np.concatenate([[0.0], np.cumsum(np.diff(usage.time) * usage.rate[:-1])])
    return np.concatenate([[0.0], usage.time, [trace.time]]), np.concatenate([[0.0], so_far, so_far[-1:]])


def _over_size(frame: pd.DataFrame, column: str, label: str, ax: Axes | None, *, logarithmic: bool) -> Axes:
    missing = {"nbytes", "algorithm", column} - set(frame.columns)
    if missing:
        raise CollsimError(f"the table has no column {', '.join(sorted(missing))}; give what collsim.sweep(...) returns")
    ax = _axes(ax, 7.2, 4.4)
    good = frame[frame[column].notna() & (frame["nbytes"] > 0)]
    by = ["algorithm"] + (["topology"] if "topology" in good.columns and good["topology"].nunique() > 1 else [])
    factor = 1e-9 if column == "busbw" else 1.0
    for number, (name, part) in enumerate(good.groupby(by, sort=False)):
        line = part.sort_values("nbytes")
        said = ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        ax.plot(
            line["nbytes"].to_numpy(), line[column].to_numpy() * factor, label=said, color=palette.SERIES[number % len(palette.SERIES)],
            marker="osD^v"[number % 5], markersize=4, linewidth=1.8, linestyle="-" if number < len(palette.SERIES) else "--",
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    if logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: words.time(value))
    else:
        ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(lambda value, _: format_bytes(round(value)) if value >= 1 else "")
    ax.set_xlabel("size (nccl-tests)")
    ax.set_ylabel(label)
    if len(good):
        ax.legend(frameon=False, fontsize=8)
    return _clean(ax, "both")
