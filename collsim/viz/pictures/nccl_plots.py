"""Pictures of predictions: the curve beside what was measured, residuals by machine, what NCCL chooses, where ring and
tree cross.

Like `plots`: each draws into `ax` or a figure of its own and returns the Axes; `language` is `en` or `zh`. Measured is
always ink dots, the prediction a blue line, NCCL's tuner grey dashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import CollsimError, Sentence
from ...units import format_bytes
from ..sentences import words
from . import colours
from .machine_picture import choose_language, write_label
from .plots import _build_cell, _clean_axes, _format_tick, _get_axes, _label_cells

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ...nccl import Crossover

#: Factors between which a prediction counts as near, and as fair (docs/accuracy.md).
NEAR, FAIR = 1.25, 1.6
_MAX_RUNS = 40
#: Colours of NCCL's algorithms, the same in every map.
_HUES = dict(
    zip(
        ("Ring", "Tree", "NVLS", "NVLSTree", "PAT", "P2P"),
        (colours.SERIES[k] for k in (0, 2, 4, 1, 3, 5)),
        strict=True,
    )
)
_SCALES = {"time": 1.0, "busbw": 1e-9}


def curve(table: pd.DataFrame, what: str = "time", ax: Axes | None = None, language: str = "en") -> Axes:
    """Measured, predicted, and what NCCL's tuner believes, over size, both axes logarithmic. `table` is what
    `nccl.compare_run` returns.

    `what`: `time` (seconds) or `busbw` (GB/s).

    Args:
        table: A table as `nccl.compare_run` returns it, a row for each size.
        what: `time` (seconds) or `busbw` (GB/s).
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    if what not in _SCALES:
        raise CollsimError("what={what!r} must be 'time' or 'busbw'", what=what)
    _require_columns(
        table,
        {"nbytes", "time", "predicted", "tuner", "busbw", "predicted_busbw", "tuner_busbw", "ratio"},
        "compare_run",
    )
    ax = _get_axes(ax, 7.2, 4.4)
    ours, believed = ("predicted_busbw", "tuner_busbw")
    if what == "time":
        ours, believed = ("predicted", "tuner")
    line, x, scale = table.sort_values("nbytes"), np.sort(table["nbytes"].to_numpy(float)), _SCALES[what]
    y = line[ours].to_numpy() * scale
    within = write_label(language, "nccl_plots.within", near=f"{NEAR:g}")
    # The band is what the documentation calls near: a factor on both sides, hence a constant width on this axis.
    ax.fill_between(x, y / NEAR, y * NEAR, color=colours.USE["room"], alpha=0.16, linewidth=0, label=within)
    if line[believed].notna().any():
        tuner = write_label(language, "nccl_plots.nccl_s_tuner_believes")
        ax.plot(x, line[believed].to_numpy() * scale, "--", color=colours.EDGE, linewidth=1.4, label=tuner)
    ax.plot(x, y, color=colours.USE["room"], linewidth=2.2, label=write_label(language, "nccl_plots.predicted"))
    measured = write_label(language, "nccl_plots.measured")
    ax.plot(x, line[what].to_numpy() * scale, "o", color=colours.INK, markersize=5, label=measured)
    _format_size_axis(ax, language)
    ax.set_yscale("log")
    if what == "time":
        ax.yaxis.set_major_formatter(lambda value, _: words.format_duration(value))
        ax.set_ylabel(write_label(language, "nccl_plots.time"))
    else:
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_ylabel("busbw, GB/s")
    ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "both", language)


def residuals(table: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """Predicted over measured time, a row per run and a dot per size, larger for larger sizes. `table` is what
    `nccl.compare_published_runs` returns.

    Args:
        table: A table as `nccl.compare_published_runs` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    _require_columns(table, {"nbytes", "ratio", "run", "title", "title_zh"}, "compare_published_runs")
    runs = list(dict.fromkeys(table["run"]))
    if len(runs) > _MAX_RUNS:
        raise CollsimError("{runs} runs do not fit in one picture; give at most {most}", runs=len(runs), most=_MAX_RUNS)
    ax = _get_axes(ax, 7.6, 1.3 + 0.24 * len(runs))
    ax.axvspan(1 / FAIR, FAIR, color=colours.USE["room"], alpha=0.10, linewidth=0)
    ax.axvspan(1 / NEAR, NEAR, color=colours.USE["room"], alpha=0.16, linewidth=0)
    ax.axvline(1, color=colours.EDGE, linewidth=1)
    titles = []
    for row, run in enumerate(runs):
        part = table[table["run"] == run]
        titles.append(part["title_zh" if choose_language(language) == "zh" else "title"].iloc[0])
        # Dots grow with the logarithm of the size.
        grown = 6 + 2.4 * np.clip(np.log2(part["nbytes"].to_numpy(float)) - 6, 0, 26)
        ax.scatter(part["ratio"], np.full(len(part), row), s=grown, color=colours.INK, alpha=0.45, linewidths=0)
        # The median of large sizes marks the bandwidth, which small sizes would hide.
        large = part[part["nbytes"] >= 2**24]["ratio"]
        if len(large):
            middle = np.exp(np.log(large).median())
            ax.plot(middle, row, "|", color=colours.USE["full"], markersize=12, markeredgewidth=2.4)
    ax.set_yticks(range(len(runs)), titles)
    ax.set_ylim(len(runs) - 0.4, -0.6)
    ax.set_xscale("log")
    ax.set_xlim(min(0.4, table["ratio"].min() / 1.1), max(2.5, table["ratio"].max() * 1.1))
    ticks = [t for t in (0.1, 0.25, 0.5, 1, 2, 4, 10) if ax.get_xlim()[0] <= t <= ax.get_xlim()[1]]
    ax.set_xticks(ticks, [f"{t:g}×" for t in ticks])
    ax.minorticks_off()
    ax.set_xlabel(write_label(language, "nccl_plots.predicted_over_measured"))
    return _clean_axes(ax, "x", language)


def choice_map(table: pd.DataFrame, ax: Axes | None = None, language: str = "en") -> Axes:
    """What NCCL runs over size and number of nodes: a cell each, coloured by algorithm, lettered by protocol.

    `table` is what `nccl.predict_choices` returns.

    Args:
        table: A table as `nccl.predict_choices` returns it.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    _require_columns(table, {"nodes", "nbytes", "algorithm", "protocol"}, "predict_choices")
    ax = _get_axes(ax, 8.6, 1.6 + 0.46 * table["nodes"].nunique())
    sizes, nodes = sorted(table["nbytes"].unique()), sorted(table["nodes"].unique())
    present = set(table["algorithm"])
    names = [*(name for name in _HUES if name in present), *sorted(present - set(_HUES))]
    hues = {name: _HUES.get(name, colours.SERIES[5]) for name in names}
    for row in table.to_dict("records"):
        x, y = sizes.index(row["nbytes"]), nodes.index(row["nodes"])
        ax.add_patch(_build_cell(x, y, hues[row["algorithm"]]))
        text = f"{row['algorithm']}\n{row['protocol']}"
        ax.text(x, y, text, ha="center", va="center", color=colours.CARD, fontsize=7.5)
    for name in names:
        ax.plot([], [], "s", color=hues[name], label=name)
    _label_cells(ax, sizes, nodes, 12, language)
    ax.set_ylabel(write_label(language, "nccl_plots.nodes"))
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    _clean_axes(ax, "both", language)
    ax.grid(visible=False)
    return ax


def crossover(result: Crossover, ax: Axes | None = None, language: str = "en") -> Axes:
    """Ring and tree over size, and the size from which on the ring is faster. `found` is what
    `nccl.compare_ring_and_tree` returns.

    Args:
        result: What `nccl.compare_ring_and_tree` returns.
        ax: Axes to draw into; None for a figure of its own.
        language: `en` or `zh`.
    """
    ax = _get_axes(ax, 7.2, 4.4)
    table = result.table
    x = table["nbytes"].to_numpy(float)
    for name, color, marker in (("ring", colours.USE["room"], "o"), ("tree", colours.DONE, "s")):
        predicted = write_label(language, "nccl_plots.predicted_of", name=name)
        ax.plot(x, table[name], color=color, marker=marker, markersize=4, linewidth=2, label=predicted)
        believed = write_label(language, "nccl_plots.tuner_of", name=name)
        ax.plot(x, table[f"{name}_tuner"], "--", color=color, linewidth=1.2, alpha=0.8, label=believed)
    _format_size_axis(ax, language)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda v, _: words.format_duration(v))
    ax.set_ylabel(write_label(language, "nccl_plots.time"))
    lines = []
    for crossing, style, key, column in (
        (result.crossing, "-", "predicted", ""),
        (result.tuner_crossing, "--", "tuner", "_tuner"),
    ):
        source = write_label(language, f"nccl_plots.{key}")
        if crossing is not None:
            ax.axvline(crossing, color=colours.INK, linewidth=1.2, linestyle=style)
            size = format_bytes(_round_bytes(crossing))
            lines.append(write_label(language, "nccl_plots.ring_ahead_from_on", source=source, size=size))
        else:
            # Without a crossing the last row says who is ahead.
            last = table.iloc[-1]
            key = "ring_never_overtakes_tree"
            if last[f"ring{column}"] <= last[f"tree{column}"]:
                key = "ring_ahead_at_every"
            lines.append(write_label(language, f"nccl_plots.{key}", source=source))
    ax.set_title("\n".join(lines), fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=8)
    return _clean_axes(ax, "both", language)


# ---- parts


def _require_columns(table: pd.DataFrame, columns: set[str], maker: str) -> None:
    missing, what = columns - set(getattr(table, "columns", ())), Sentence("the table has no row")
    if missing:
        what = Sentence("the table has no column {missing}", missing=", ".join(sorted(missing)))
    if missing or not len(table):
        raise CollsimError("{what}; give what collsim.nccl.{maker}(...) returns", what=what, maker=maker)


def _format_size_axis(ax: Axes, language: str) -> None:
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(_format_tick)
    ax.set_xlabel(write_label(language, "nccl_plots.size_nccl_tests"))


def _round_bytes(nbytes: float) -> int:
    """Two significant digits in binary units: a crossing is no more exact than that."""
    unit = 1024 ** max(0, int(np.log2(max(nbytes, 1)) // 10))
    rounded: int = round(float(f"{nbytes / unit:.2g}") * unit)
    return rounded
