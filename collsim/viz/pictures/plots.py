"""Plots that are good without touching anything. Each draws into `ax` or a figure of its own, and returns the Axes.

`language` is `en` or `zh`. Lines differ in marker and dash, bars in length and print, cells in number: all read the
same in grey. matplotlib's object-oriented interface only: no global state, safe in a server's threads.
"""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ...analysis.ranking import round_time, sort_table
from ...analysis.run_facts import RunFacts
from ...display.markup import bind_units
from ...errors import CollsimError
from ...errors.arguments import check_arguments
from ...units import format_bytes, format_percent
from ..layout.arrangement import lay_out
from ..sentences import words
from ..timeline.link_rows import build_rows
from ..timeline.node_stages import build_drawing
from . import colours
from .figure import create_figure, darken, show_in_notebook
from .lines import MARKERS, PlotLine, draw_lines, name_ends
from .machine_picture import choose_language, find_fonts, write_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

    from ...analysis import Comparison
    from ...schedule import Schedule
    from ...simulate import Trace

__all__ = [
    "busbw_over_size",
    "darken",
    "differences",
    "gantt",
    "link_utilisation",
    "time_over_chunks",
    "time_over_size",
    "tornado",
    "volume_over_time",
    "winner_map",
]

Floats = npt.NDArray[np.float64]
_DPI = 110
_MAX_BARS = 24
_MAX_LANES = 64
_MAX_MARKS = 20_000
_LONGEST_LINE = 66  # characters of a title
_LONGEST_ENTRY = 95  # letters of a line of a legend, which is smaller
_DASHES = ("-", (0, (5, 3)), (0, (1, 1.5)), (0, (7, 2, 1, 2)), (0, (2, 4)))  # lines that lie on each other show through


@check_arguments
def time_over_size(frame: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """Time against message size, a line per algorithm and topology, both axes logarithmic. `frame` is what `sweep`
    returns.

    Of many lines the six foremost (the fastest at some size, then at the largest) have a colour and their name, the
    rest are grey. Names stand at the ends of the lines; in `ax` of a figure without a layout engine, in a legend.

    Args:
        frame: A table as `sweep` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> frame = cs.sweep(
        ...     collective="allreduce", topology=["switch(4)", "switch(8)"], nbytes=["1KiB", "1MiB", "64MiB"]
        ... )
        >>> plots.time_over_size(frame).get_ylabel()
        'time'
    """
    return _plot_over_size(frame, "time", write_label(language, "plots.time"), ax, language, logarithmic=True)


@check_arguments
def busbw_over_size(frame: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """Bus bandwidth (nccl-tests) against message size, a line per algorithm and topology; of many the six foremost are
    named, as in `time_over_size`.

    Args:
        frame: A table as `sweep` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> frame = cs.sweep(
        ...     collective="allreduce", topology=["switch(4)", "switch(8)"], nbytes=["1KiB", "1MiB", "64MiB"]
        ... )
        >>> plots.busbw_over_size(frame).get_ylabel()
        'busbw, GB/s'
    """
    return _plot_over_size(frame, "busbw", "busbw, GB/s", ax, language, logarithmic=False)


@check_arguments
def link_utilisation(trace: Trace, ax: Axes | None = None, language: str = "en") -> Axes:
    """A bar per link in use, the busiest on top: the part of the run in which it could not have carried more, and its
    bytes.

    Args:
        trace: The run.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), nbytes="1MiB")
        >>> plots.link_utilisation(trace).get_xlabel()
        'busy, % of the run (bytes ÷ bandwidth ÷ time, one direction)'
    """
    ax = _get_axes(ax, 7.2, 4.2)
    # Links without traffic are no news.
    used = np.flatnonzero(trace.link_bytes > 0)
    if trace.duration:
        share = trace.link_busy / trace.duration
    else:
        share = trace.link_busy * 0
    order = used[np.argsort(-share[used], kind="stable")][:_MAX_BARS]
    names, links = trace.topology.devices.name, trace.topology.links
    y = np.arange(len(order))
    colors = [colours.USE[colours.classify_use(s)] for s in share[order]]
    ax.barh(y, 100 * share[order], color=colors, height=0.72)
    ax.set_yticks(y, [f"{names[links.src[i]]} → {names[links.dst[i]]}" for i in order], fontsize=8)
    # Bytes stand beside the bars: a busy link need not carry much.
    for row, link in enumerate(order):
        ax.text(101, row, format_bytes(int(trace.link_bytes[link])), va="center", fontsize=8, color=colours.INK2)
    ax.invert_yaxis()
    ax.set_xlim(0, 116)
    ax.set_xticks(range(0, 101, 20))
    ax.set_xlabel(write_label(language, "plots.busy_run_bytes_bandwidth"))
    more = ""
    if left_out := len(used) - len(order):
        top = format_percent(float(share[order[-1]]))
        more = "\n" + write_label(language, "plots.more_links_none_above", left_out=left_out, top=top)
    ax.set_title(_build_title(trace, language) + more, fontsize=10, loc="left")
    return _clean_axes(ax, "x", language)


@check_arguments
def volume_over_time(trace: Trace, ax: Axes | None = None, language: str = "en") -> Axes:
    """Bytes that have crossed each class of links so far (one link of it), against time.

    Args:
        trace: The run.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), nbytes="1MiB")
        >>> plots.volume_over_time(trace).get_xlabel()
        'time, µs'
    """
    language = choose_language(language)
    ax = _get_axes(ax, 7.2, 4.2)
    unit, factor = _choose_time_unit(trace.time)
    facts = RunFacts(trace)
    drawing = build_drawing(lay_out(trace.topology, trace.link_bytes), facts, inside=True)
    for number, row in enumerate(build_rows(facts, drawing)):
        if row["note"][language]:
            label = f"{row['label'][language]} ({row['note'][language]})"
        else:
            label = row["label"][language]
        seconds, carried = _sum_carried_bytes(trace, np.flatnonzero(np.isin(drawing.link_of, row["links"])))
        color, dash = colours.SERIES[number % len(colours.SERIES)], _DASHES[number % len(_DASHES)]
        width = 2.4 if row["hot"] else 1.6
        ax.plot(seconds * factor, carried / 2**20, label=label, color=color, linewidth=width, linestyle=dash)
    ax.set_xlabel(write_label(language, "plots.time_in", unit=unit))
    ax.set_ylabel(write_label(language, "plots.bytes_so_far_busiest"))
    ax.set_ylim(bottom=0)
    ax.set_xlim(0, max(trace.time * factor, 1e-12))
    ax.set_title(_build_title(trace, language), fontsize=10, loc="left")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "y", language)


@check_arguments
def gantt(trace: Trace, ax: Axes | None = None, language: str = "en") -> Axes:
    """When each rank sends: a lane per endpoint; reduces in blue, copies in green.

    Args:
        trace: The run.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Raises:
        CollsimError: The run has more transfers than a chart of bars can show; the message names another plot.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), nbytes="1MiB")
        >>> plots.gantt(trace).get_xlabel()
        'time, µs'
    """
    ax = _get_axes(ax, 8.0, 4.2)
    s, t = trace.schedule, trace.schedule.transfers
    unit, factor = _choose_time_unit(trace.time)
    # A chart of so many marks is one dark surface.
    if len(t) > _MAX_MARKS:
        raise CollsimError(
            "{label} has {transfers:,} transfers; a Gantt chart of more than {most:,} is a black wall. "
            "Use link_utilisation",
            label=s.label,
            transfers=len(t),
            most=_MAX_MARKS,
        )
    # More lanes than fit are counted in the axis label.
    lanes = min(s.endpoints, _MAX_LANES)
    for adds, color, name in ((True, colours.USE["room"], "reduce"), (False, colours.DONE, "copy")):
        is_member = (t["reduce"] == adds) & (t["src"] < lanes)
        start, length = trace.start[is_member] * factor, (trace.finish - trace.start)[is_member] * factor
        look: dict[str, Any] = {"color": color, "edgecolor": colours.CARD, "linewidth": 0.5}
        ax.barh(t["src"][is_member], length, 0.7, start, label=name if is_member.any() else None, **look)
    _label_lanes(ax, s, lanes)
    hidden = s.endpoints - lanes
    more = ""
    if hidden:
        more = write_label(language, "plots.more_endpoints_not_shown", hidden=hidden)
    ax.set_xlabel(write_label(language, "plots.time_in", unit=unit) + more)
    ax.set_title(_build_title(trace, language, "plots.title_who_sends_when"), fontsize=10, loc="left")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper right", bbox_to_anchor=(1, -0.06))
    return _clean_axes(ax, "x", language)


def _label_lanes(ax: Axes, schedule: Schedule, lanes: int) -> None:
    """Name the lanes of a Gantt chart from the top down, about 24 of them at most."""
    names = [f"rank {rank}" for rank in range(schedule.ranks)]
    names += [f"helper {k}" for k in range(schedule.endpoints - schedule.ranks)]
    every = max(1, lanes // 24)
    ax.set_yticks(range(0, lanes, every), names[:lanes:every], fontsize=8)
    ax.set_ylim(lanes - 0.4, -0.6)


@check_arguments
def winner_map(frame: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """The fastest algorithm over size and number of ranks: a cell each, coloured and numbered. `frame` is what `sweep`
    returns for one collective.

    Args:
        frame: A table as `sweep` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> frame = cs.sweep(
        ...     collective="allreduce", topology=["switch(4)", "switch(8)"], nbytes=["1KiB", "1MiB", "64MiB"]
        ... )
        >>> plots.winner_map(frame).get_ylabel()
        'ranks'
    """
    _require_columns(frame, {"nbytes", "ranks", "algorithm", "time"}, "sweep")
    _require_one_collective(frame)
    ax = _get_axes(ax, 7.6, 3.8)
    # Equal times are decided by name, so that the map does not depend on the order of rows.
    best = (
        sort_table(frame[frame["time"].notna()], "time", "algorithm")
        .groupby(["ranks", "nbytes"], as_index=False)
        .first()
    )
    sizes, ranks, names = (sorted(best[c].unique()) for c in ("nbytes", "ranks", "algorithm"))
    for row in best.to_dict("records"):
        x, y, number = sizes.index(row["nbytes"]), ranks.index(row["ranks"]), names.index(row["algorithm"])
        ax.add_patch(_build_cell(x, y, colours.SERIES[number % len(colours.SERIES)]))
        ax.text(x, y, str(number + 1), ha="center", va="center", color=colours.CARD, fontsize=9, fontweight="bold")
    for number, name in enumerate(names):
        color = colours.SERIES[number % len(colours.SERIES)]
        ax.plot([], [], "s", color=color, label=f"{number + 1} {name}")
    _label_cells(ax, sizes, ranks, 6, language)
    ax.set_ylabel(write_label(language, "plots.ranks"))
    ax.set_title(write_label(language, "plots.fastest_algorithm"), fontsize=10, loc="left")
    if names:
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    _clean_axes(ax, "both", language)
    ax.grid(visible=False)
    return ax


@check_arguments
def tornado(frame: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """What doubling each link would save, the largest on top. `frame` is what `sensitivity` returns.

    Args:
        frame: A table as `sensitivity` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> trace = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), nbytes="1MiB")
        >>> plots.tornado(cs.analysis.sensitivity(trace)).get_xlabel()
        'time saved by twice the bandwidth, %'
    """
    _require_columns(frame, {"what", "name", "doubled"}, "sensitivity")
    ax = _get_axes(ax, 7.2, 0.9 + 0.34 * min(len(frame), _MAX_BARS))
    top = frame.sort_values("doubled", ascending=False, kind="stable").head(_MAX_BARS)
    y = np.arange(len(top))
    # a bar for all links of a kind is full and red, one for a single link blue and hatched
    looks = {"kind": (colours.USE["full"], "", write_label(language, "plots.all"))}
    bars = [looks.get(what, (colours.USE["room"], "//", "{}")) for what in top["what"]]
    colors, hatches = [color for color, _, _ in bars], [hatch for _, hatch, _ in bars]
    ax.barh(y, 100 * top["doubled"], 0.66, color=colors, hatch=hatches, edgecolor=colours.CARD)
    names = [template.format(name) for (_, _, template), name in zip(bars, top["name"], strict=True)]
    ax.set_yticks(y, names, fontsize=8)
    for row, saved in enumerate(top["doubled"]):
        text = format_percent(float(saved))
        ax.text(max(100 * saved, 0) + 1, row, text, va="center", fontsize=8, color=colours.INK2)
    ax.invert_yaxis()
    ax.set_xlim(0, max([10.0, *(115 * top["doubled"])]))
    ax.set_xlabel(write_label(language, "plots.time_saved_twice_bandwidth"))
    return _clean_axes(ax, "x", language)


@check_arguments
def time_over_chunks(frame: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """Time against the number of chunks, a line per algorithm, the best ringed and named: too few do not overlap, too
    many pay alpha.

    `frame` is `best(...).tried`, or a sweep over `chunks`.

    Args:
        frame: `best(...).tried`, or a sweep over `chunks`.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> frame = cs.best("broadcast", cs.topology.line(8), "64MiB", algorithm=["broadcast_chain"]).tried
        >>> plots.time_over_chunks(frame).get_xlabel()
        'chunks'
    """
    _require_columns(frame, {"algorithm", "options", "time"}, "best")
    from matplotlib.ticker import LogLocator, NullFormatter

    ax = _get_axes(ax, 7.2, 4.2)
    chunked = frame.assign(chunks=[json.loads(options).get("chunks") for options in frame["options"]])
    # Algorithms without chunks have no curve.
    chunked = chunked.dropna(subset=["chunks", "time"]).sort_values("chunks").astype({"chunks": int})
    for number, (name, part) in enumerate(chunked.groupby("algorithm", sort=False)):
        low = min(part.to_dict("records"), key=lambda row: round_time(row["time"]))
        color = colours.SERIES[number % len(colours.SERIES)]
        label = f"{name}, {low['chunks']}: {words.format_duration(low['time'])}"
        marker = MARKERS[number % len(MARKERS)]
        ax.plot(part["chunks"], part["time"], label=label, color=color, marker=marker, markersize=4, linewidth=1.8)
        # The best number is ringed: the curve is flat around it.
        ax.plot(low["chunks"], low["time"], "o", markersize=11, fillstyle="none", color=color)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 1.2, 1.5, 2, 3, 5, 7)))  # the curve rarely spans a power of ten
    ax.yaxis.set_major_formatter(lambda value, _: words.format_duration(value))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(write_label(language, "plots.chunks"))
    ax.set_ylabel(write_label(language, "plots.time"))
    if len(chunked):
        ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "both", language)


@check_arguments
def differences(comparison: Comparison, ax: Axes | None = None, language: str = "en") -> Axes:
    """Bytes over every kind of link in two runs, and the times. `comparison` is what `compare` returns.

    Args:
        comparison: What `compare` returns.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.

    Returns:
        The axes, to be changed or saved with `.figure.savefig(...)`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.viz import plots
        >>> runs = [
        ...     cs.simulate(cs.schedule(name, ranks=4), cs.topology.switch(4), nbytes="1MiB")
        ...     for name in ("allreduce_ring", "allreduce_tree")
        ... ]
        >>> plots.differences(cs.analysis.compare_runs(*runs)).get_xlabel()
        'bytes over all links of a kind, MiB'
    """
    ax = _get_axes(ax, 7.2, 3.6)
    kinds = comparison.kinds
    y = np.arange(len(kinds))
    for shift, column, color, hatch, trace in (
        (-0.19, "bytes_a", colours.EDGE, "", comparison.a),
        (0.19, "bytes_b", colours.USE["room"], "//", comparison.b),
    ):
        label = f"{trace.schedule.label}, {trace.topology.name}: {words.format_duration(trace.time)}"
        look: dict[str, Any] = {"color": color, "hatch": hatch, "edgecolor": colours.CARD}
        ax.barh(y + shift, kinds[column] / 2**20, 0.36, label=textwrap.fill(label, _LONGEST_ENTRY), **look)
    ax.set_yticks(y, list(kinds.index))
    ax.invert_yaxis()
    ax.set_xlabel(write_label(language, "plots.bytes_over_all_links"))
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    return _clean_axes(ax, "x", language)


# ---- parts


def _require_columns(frame: pd.DataFrame, columns: set[str], maker: str) -> None:
    missing = columns - set(frame.columns)
    if missing:
        message = "the table has no column {missing}; give what collsim.{maker}(...) returns"
        raise CollsimError(message, missing=", ".join(sorted(missing)), maker=maker)


def _require_one_collective(frame: pd.DataFrame) -> None:
    names = []
    if "collective" in frame:
        names = sorted(frame["collective"].unique())
    if len(names) > 1:
        message = "the table has rows of {collectives}, whose times say nothing about one another; give those of one"
        raise CollsimError(message, collectives=", ".join(names))


def _build_cell(x: int, y: int, color: str) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=color, edgecolor=colours.CARD, linewidth=1.5)


def _label_cells(ax: Axes, sizes: list[int], rows: list[int], most: int, language: str) -> None:
    """Sizes below a map of cells, `most` of them at most, and the number of each row."""
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    every = max(1, math.ceil(len(sizes) / most))
    ax.set_xticks(range(0, len(sizes), every), [format_bytes(int(s)) for s in sizes[::every]])
    ax.set_yticks(range(len(rows)), [str(row) for row in rows])
    ax.set_xlabel(write_label(language, "plots.size_nccl_tests"))


def _get_axes(ax: Axes | None, wide: float, tall: float) -> Axes:
    """The axes given, or those of a figure of their own (never pyplot's)."""
    if ax is not None:
        return ax
    figure = show_in_notebook(create_figure(wide, tall, layout="constrained"), _DPI)
    created: Axes = show_in_notebook(figure.add_subplot(), _DPI)
    return created


def _clean_axes(ax: Axes, grid: Literal["both", "x", "y"], language: str) -> Axes:
    if language == "zh":
        from matplotlib.text import Text

        for text in ax.findobj(Text):
            text.set_fontfamily(find_fonts(language))  # type: ignore[attr-defined]
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(colours.EDGE)
    ax.grid(axis=grid, color=colours.GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=colours.INK2, labelsize=8)
    return ax


def _build_title(trace: Trace, language: str, key: str = "plots.title") -> str:
    """What ran where, in as many lines as it needs."""
    title = write_label(
        language,
        key,
        what=trace.schedule.label,
        where=trace.topology.name,
        size=format_bytes(trace.nbytes),
        took=words.format_duration(trace.time),
    )
    return textwrap.fill(bind_units(title), _LONGEST_LINE)


def _choose_time_unit(seconds: float) -> tuple[str, float]:
    """Unit of an axis, and how many of it are in a second."""
    return next(
        ((unit, factor) for unit, factor, least in (("s", 1.0, 1.0), ("ms", 1e3, 1e-3)) if seconds >= least),
        ("µs", 1e6),
    )


def _sum_carried_bytes(trace: Trace, links: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """(seconds, bytes so far) of the busiest of some links: the integral of its rate."""
    link = int(links[np.argmax(trace.link_bytes[links])])
    usage = trace.usage(link)
    so_far = np.concatenate([[0.0], np.cumsum(np.diff(usage.time) * usage.rate[:-1])])
    return np.concatenate([[0.0], usage.time, [trace.time]]), np.concatenate([[0.0], so_far, so_far[-1:]])


def _plot_over_size(
    frame: pd.DataFrame, column: str, label: str, ax: Axes | None, language: str, *, logarithmic: bool
) -> Axes:
    _require_columns(frame, {"nbytes", "algorithm", column}, "sweep")
    ax = _get_axes(ax, 7.2, 4.4)
    timed = frame[frame[column].notna() & (frame["nbytes"] > 0)]
    by = ["algorithm"]
    # Several topologies in one table are lines of their own.
    if "topology" in timed.columns and timed["topology"].nunique() > 1:
        by.append("topology")
    lines = _build_lines(timed, by, column, {"busbw": 1e-9}.get(column, 1.0))
    drawn = draw_lines(ax, lines, logarithmic, write_label(language, "plots.count_more"))
    ax.set_xscale("log", base=2)
    if logarithmic:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: words.format_duration(value))
    else:
        ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(_format_tick)
    ax.set_xlabel(write_label(language, "plots.size_nccl_tests"))
    ax.set_ylabel(label)
    if ax.get_figure(root=True).get_layout_engine() is not None:  # type: ignore[union-attr]
        name_ends(ax, lines, drawn)
        _count_grey_lines(ax)
    elif lines:
        ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "both", language)


def _format_tick(value: float, position: object) -> str:
    """A size in bytes at an axis; `position` is matplotlib's and not needed."""
    if value < 1:
        return ""
    return format_bytes(round(value))


def _count_grey_lines(ax: Axes) -> None:
    """How many lines are grey, in a legend of its own."""
    grey = [line for line in ax.lines if line.get_color() == colours.IDLE and str(line.get_label())[:1] != "_"]
    if grey:
        ax.legend(handles=grey, frameon=False, fontsize=8, loc="upper left")


def _build_lines(timed: pd.DataFrame, by: list[str], column: str, factor: float) -> list[PlotLine]:
    """A line for each algorithm, and topology where there are several."""
    lines = []
    for name, part in timed.groupby(by, sort=False):
        line = part.sort_values("nbytes")
        if isinstance(name, tuple):
            label = ", ".join(map(str, name))
        else:
            label = str(name)
        lines.append(PlotLine(label, line["nbytes"].to_numpy(float), line[column].to_numpy(float) * factor))
    return lines
