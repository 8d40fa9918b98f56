"""Charts of the Measured page: curves over size, hypotheses, all published runs, NCCL's choices."""

from __future__ import annotations

import math
import pickle
import textwrap
from collections.abc import Callable

import altair as alt
import pandas as pd
import streamlit as st

from collsim.display.markup import escape_text
from collsim.nccl import (
    Crossover,
    Facts,
    Gap,
    MeasuredRun,
    compare_published_runs,
    compare_ring_and_tree,
    evaluate_measurement_value,
    predict,
    predict_choices,
)
from collsim.nccl.nccl_prediction import BUSBW
from collsim.units import format_bandwidth, format_bytes, format_time

from ...shell import charts
from ...shell.charts import Picture
from ...shell.look import color
from ...shell.notes import draw_card, draw_choice_notes, draw_note
from ...shell.session import choose_text, get_language, is_dark, t
from .comparison import Selection

#: Factor within which a prediction counts as near (docs/accuracy.md).
NEAR = 1.25
_MAX_TRIED = 7
#: Characters of a line beside a bar, in English and in Chinese: on a phone half of the width is left for the bars.
_LABEL_WIDTH = (26, 18)
#: What the map of choices shows: numbers of nodes, where something joins them, and sizes a factor of four apart.
_MAP_NODES = (1, 2, 4, 8, 16, 32)
#: Colours of NCCL's algorithms on the map.
_HUES = {"Ring": "room", "Tree": "done", "NVLS": "full", "NVLSTree": "hostink", "PAT": "ink3"}
#: Lines of a curve: column, colour, dashes, width (pixels).
_LINES = (
    ("tuner", "edge", [2, 4], 2.0),
    ("predicted", "room", [1, 0], 3.0),
    ("under", "full", [8, 5], 2.6),
)


@st.cache_data(show_spinner=False)
def load_all_runs() -> pd.DataFrame:
    """All published runs."""
    return compare_published_runs()


@st.cache_data(max_entries=64, show_spinner=False)
def load_choices(collective: str, facts: Facts) -> pd.DataFrame:
    """What NCCL runs on such nodes over size and number of nodes.

    Args:
        collective: Name of the collective.
        facts: What NCCL finds out about the machine.
    """
    if facts.net == "none":
        return predict_choices(collective, facts, nodes=(facts.nodes,))
    return predict_choices(collective, facts, nodes=_MAP_NODES)


@st.cache_data(max_entries=64, show_spinner=False)
def load_crossing(facts: Facts) -> Crossover:
    """Allreduce by ring and by tree on this machine.

    Args:
        facts: What NCCL finds out about the machine.
    """
    return compare_ring_and_tree(facts)


def format_distance(distance: float) -> tuple[str, str]:
    """A distance as percent, from two on as a factor: number and unit.

    Args:
        distance: How far the prediction is off, a share.
    """
    factor = math.exp(distance)
    if factor < 2:
        return (f"{100 * (factor - 1):.0f}", " %")
    return (f"{factor:.2g}", "×")


def name_cause(key: str) -> str:
    """What would explain a gap, in words.

    Args:
        key: Key of the text or control.
    """
    return t(f"gap.{key}")


# ---- curves --------------------------------------------------------------------------------------------------------


def draw_curves(table: pd.DataFrame, gap: Gap, run: MeasuredRun) -> None:
    """Time and busbw over size: dots measured, a line predicted, dashes for the tuner and for the hypothesis.

    Args:
        table: A row for each size.
        gap: What would explain the difference to the model.
        run: The measured run.
    """
    table = table.sort_values("nbytes")
    if gap.best is not None:
        factor = BUSBW[run.collective](run.facts.ranks)
        under = pd.Series(gap.best.predicted, index=table.index)
        table = table.assign(under=under, under_busbw=factor * table["nbytes"] / under)
    draw_legend(tuner=bool(table["tuner"].notna().any()), under="under" in table)
    draw_charts(table)


def draw_charts(table: pd.DataFrame) -> None:
    """The curves side by side.

    Args:
        table: A row for each size.
    """
    for column, what in zip(st.columns(2, gap="small"), ("time", "busbw"), strict=True):
        with column, st.container(border=True, key=f"card_measured_{what}"):
            charts.draw_chart(f"measured_{what}", _build_curve, table, what)


def draw_legend(tuner: bool, under: bool) -> None:
    """What dots and lines mean; `tuner`, `under`: there are such lines.

    Args:
        tuner: Whether there is a line for NCCL's tuner.
        under: Whether there is a line for the hypothesis.
    """
    dark = is_dark()
    dot = f'<b style="color:{color("ink", dark)};font-size:22px;line-height:0">●</b>'
    items = [f"<span>{dot}{escape_text(t('measured.dots'))}</span>"]
    strokes = {"line": ("4px solid", "room"), "band": ("14px solid", "room")}
    if tuner:
        strokes["tuner"] = ("4px dotted", "edge")
    if under:
        strokes["under"] = ("4px dashed", "full")
    for key, (stroke, token) in strokes.items():
        faint = ";opacity:.25" if key == "band" else ""
        line = f'<i style="border-top:{stroke} {color(token, dark)}{faint}"></i>'
        items.append(f"<span>{line}{escape_text(t(f'measured.{key}'))}</span>")
    st.html(f'<div class="cs-legend">{"".join(items)}</div>')


def _build_curve(table: pd.DataFrame, what: str) -> Picture:
    """One chart; columns of a busbw have `_busbw` in their name, times have not."""
    format_value: Callable[[float], str] = format_time
    names = {name: name for name, *_ in _LINES}
    if what == "busbw":
        format_value = format_bandwidth
        names = {name: f"{name}_busbw" for name in names}
    frame = table.assign(
        size=[format_bytes(int(n)) for n in table["nbytes"]],
        text=table[what].map(format_value),
        ours=table[names["predicted"]].map(format_value),
        choice=table["algorithm"] + " " + table["protocol"],
    )
    title = t(f"compare.{what}.axis")
    base = alt.Chart(frame).encode(x=charts.build_size_axis(frame["nbytes"]))
    tips = charts.build_tips(size="nbytes", text="measured.dots", ours="measured.line", choice="measured.col.choice")
    dots = base.mark_point(filled=True, size=75, color=color("ink", is_dark()), opacity=1)
    layers = [
        *_build_band(base, frame, what),
        *_build_lines(base, frame, what, names, title),
        dots.encode(y=alt.Y(f"{what}:Q"), tooltip=tips),
    ]
    return charts.layer(*layers, height=380, description=title, padding=charts.ROOM)


def _build_band(base: alt.Chart, frame: pd.DataFrame, what: str) -> list[alt.Chart]:
    """Where four in five measurements lie, where that is known."""
    low, high = "low", "high"
    if what == "busbw":
        low, high = "low_busbw", "high_busbw"
    if low not in frame:
        return []
    shade = base.mark_area(color=color("room", is_dark()), opacity=0.18, clip=True)
    return [shade.encode(y=alt.Y(f"{low}:Q", scale=alt.Scale(type="log")), y2=f"{high}:Q")]


def _build_lines(base: alt.Chart, frame: pd.DataFrame, what: str, names: dict[str, str], title: str) -> list[alt.Chart]:
    """The lines that there are values for."""
    ends = ["low", "high"]
    if what == "busbw":
        ends = ["low_busbw", "high_busbw"]
    upwards = charts.build_axis(
        pd.concat([frame[c] for c in (what, *names.values(), *ends) if c in frame]).dropna(), 10
    )
    layers = []
    for key, token, dash, wide in _LINES:
        if names[key] in frame and frame[names[key]].notna().any():
            y = alt.Y(f"{names[key]}:Q", scale=alt.Scale(type="log"), title=title, axis=upwards)
            line = base.mark_line(color=color(token, is_dark()), strokeWidth=wide, strokeDash=dash)
            layers.append(line.encode(y=y))
    return layers


# ---- what was tried, and all runs ----------------------------------------------------------------------------------


def draw_hypotheses(gap: Gap) -> None:
    """A bar per hypothesis: the gap that it leaves.

    Args:
        gap: What would explain the difference to the model.
    """
    with draw_card("tried", t("measured.tried")):
        charts.draw_chart("tried", _build_bars, gap)


def _build_bars(gap: Gap) -> Picture:
    best = {c.key for c in (gap.best, *gap.alternatives) if c is not None}
    rows = [(t("measured.asis"), gap.distance, "edge")]
    rows += [(name_cause(c.key), c.distance, "full" if c.key in best else "room") for c in gap.candidates[:_MAX_TRIED]]
    frame = pd.DataFrame(rows, columns=["cause", "left", "hue"])
    labels = [textwrap.wrap(cause, _LABEL_WIDTH[get_language() == "zh"]) for cause in frame["cause"]]
    frame["cause"] = ["\n".join(lines) for lines in labels]
    frame["text"], dark, tokens = (
        ["".join(format_distance(left)) for left in frame["left"]],
        is_dark(),
        ["edge", "full", "room"],
    )
    scale = alt.Scale(domain=[0, 1.5 * max(float(frame["left"].max()), 0.01)], nice=False)
    hues = alt.Scale(domain=tokens, range=[color(token, dark) for token in tokens])
    y = charts.build_labels_axis("cause", labelPadding=8, labelExpr="split(datum.label, '\\n')")
    base = alt.Chart(frame).encode(x=alt.X("left:Q", title=None, axis=None, scale=scale), y=y)
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text=alt.Text("text:N"))
    bars = base.mark_bar(size=18).encode(color=alt.Color("hue:N", legend=None, scale=hues))
    step = 18 * max(map(len, labels)) + 8
    return charts.layer(bars, words, height=alt.Step(step), description=t("measured.tried"))


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={MeasuredRun: pickle.dumps})  # it holds a topology
def load_worth(run: MeasuredRun) -> pd.DataFrame:
    """What each point of this run buys.

    Args:
        run: The measured run.
    """
    return evaluate_measurement_value(run)


def list_worth(run: MeasuredRun) -> None:
    """A row for no point of this run and for one, two, three: error and width at its other sizes.

    Args:
        run: The measured run.
    """
    table = load_worth(run).dropna()
    added = [format_bytes(int(n)) if n else t("worth.none") for n in table["added"]]
    worth = pd.DataFrame(
        {
            t("worth.added"): added,
            t("worth.error"): table["error"].map("{:.0%}".format),
            t("worth.wide"): table["wide"].map("{:.2f}×".format),
        }
    )
    with draw_card("worth", t("worth.title")):
        draw_note(t("worth.note"))
        charts.show_frame(worth)


def _color_this_run() -> alt.ColorValue:
    """The run on the page in colour, the others grey."""
    dark = is_dark()
    this_run = {"test": "datum.this", "value": color("full", dark)}
    return alt.ColorValue(color("ink3", dark), condition=this_run)


def _list_published_sizes(run: str) -> pd.DataFrame:
    """Every size of every published run, with its title and whether it is of the run on the page."""
    table = load_all_runs()
    name = table[choose_text(("title", "title_zh"))]
    return table.assign(name=name, this=table["run"] == run, size=table["nbytes"].map(format_bytes))


def draw_every_run(selection: Selection) -> None:
    """Predicted over measured for every published run, the one on the page in colour.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    with draw_card("every", t("measured.every")):
        draw_note(t("measured.every.note"))
        charts.draw_chart("every", _build_every_run, selection.run)


def _build_every_run(run: str) -> Picture:
    frame = _list_published_sizes(run)
    large = frame[frame["nbytes"] >= 2**24]
    middle = large.groupby(["name", "this"], sort=False)["ratio"].median().reset_index()
    ticks = alt.Axis(values=[0.1, 0.25, 0.5, 1, 2, 4], labelExpr="format(datum.value, '~r') + '×'")
    x = alt.X("ratio:Q", scale=alt.Scale(type="log", domain=[0.05, 4], clamp=True), title=None, axis=ticks)
    y, hue = charts.build_labels_axis("name").sort(list(dict.fromkeys(frame["name"]))), _color_this_run()
    near = alt.Chart(pd.DataFrame([{"low": 1 / NEAR, "high": NEAR}]))
    shade = near.mark_rect(color=color("room", is_dark()), opacity=0.2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    tips = [alt.Tooltip("name:N"), alt.Tooltip("size:N"), alt.Tooltip("ratio:Q", format=".2f")]
    dots = alt.Chart(frame).mark_point(filled=True, size=34, opacity=0.55).encode(x=x, y=y, color=hue, tooltip=tips)
    rings = alt.Chart(middle).mark_point(size=130, strokeWidth=2.4, filled=False, opacity=1).encode(x=x, y=y, color=hue)
    return charts.layer(shade, dots, rings, height=alt.Step(21), description=t("measured.every"))


def draw_scatter(selection: Selection) -> None:
    """Predicted against measured busbw, a dot per size of every published run; on the diagonal they agree.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    with draw_card("scatter", t("measured.scatter")):
        charts.draw_chart("scatter", _build_scatter, selection.run)


def _build_scatter(run: str) -> Picture:
    frame = _list_published_sizes(run)
    frame = frame[frame["busbw"] > 0]
    frame = frame.assign(
        measured=frame["busbw"],
        ours=frame["predicted_busbw"],
        text=frame["busbw"].map(format_bandwidth),
        predicted_text=frame["predicted_busbw"].map(format_bandwidth),
    )
    ends = [float(frame[["measured", "ours"]].min().min()) / 1.5, float(frame[["measured", "ours"]].max().max()) * 1.5]
    scale, marks = alt.Scale(type="log", domain=ends, nice=False), charts.build_axis(pd.Series(ends), 10)
    x = alt.X("measured:Q", scale=scale, title=t("measured.scatter.x"), axis=marks)
    y = alt.Y("ours:Q", scale=scale, title=t("measured.scatter.y"), axis=marks)
    tips = [
        alt.Tooltip("name:N"),
        alt.Tooltip("size:N"),
        *charts.build_tips(text="measured.scatter.x", predicted_text="measured.scatter.y"),
    ]
    dots = (
        alt.Chart(frame)
        .mark_point(filled=True, size=40, opacity=0.6)
        .encode(x=x, y=y, color=_color_this_run(), tooltip=tips)
    )
    layers = (*_build_diagonal(ends, x, y, scale), dots)
    return charts.layer(*layers, height=340, description=t("measured.scatter"))


def _build_diagonal(ends: list[float], x: alt.X, y: alt.Y, scale: alt.Scale) -> list[alt.Chart]:
    """Where both agree, and the shade in which a prediction counts as near."""
    dark = is_dark()
    near = {"low": [v / NEAR for v in ends], "high": [v * NEAR for v in ends]}
    base = alt.Chart(pd.DataFrame({"measured": ends, "ours": ends, **near}))
    shade = base.mark_area(color=color("room", dark), opacity=0.2, clip=True)
    line = base.mark_line(color=color("edge", dark), strokeWidth=1.4)
    return [shade.encode(x=x, y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")), line.encode(x=x, y=y)]


# ---- NCCL's choices ------------------------------------------------------------------------------------------------


def map_(run: MeasuredRun) -> None:
    """NCCL's choice over size and number of nodes: a cell each, coloured by algorithm, lettered by protocol.

    Args:
        run: The measured run.
    """
    collective = "allreduce"
    if run.collective not in ("alltoall", "sendrecv"):
        collective = run.collective
    title = t("measured.map", collective=collective)
    with draw_card("map", title):
        charts.draw_chart("map", _build_cells, load_choices(collective, run.facts), title)
        draw_choice_notes(predict(collective, run.facts, size) for size in run.nbytes)


def _build_cells(table: pd.DataFrame, title: str) -> Picture:
    dark = is_dark()
    sizes = table["nbytes"].sort_values().map(format_bytes).unique().tolist()
    frame = table.assign(size=table["nbytes"].map(format_bytes), text=table["time"].map(format_time))
    there = [name for name in _HUES if name in set(frame["algorithm"])]
    hues = alt.Scale(domain=there, range=[color(_HUES[name], dark) for name in there])
    tilted = alt.Axis(labelAngle=-45, ticks=False, domain=False)
    x = alt.X("size:O", sort=sizes, title=t("compare.size.axis"), axis=tilted)
    y = alt.Y("nodes:O", sort="descending", title=t("nodes"), axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    tips = charts.build_tips(
        size="nbytes", algorithm="measured.col.choice", protocol="measured.protocol", text="measured.col.predicted"
    )
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=tips)
    legend = alt.Legend(orient="top", title=None)
    cells = base.mark_rect(stroke=color("card", dark), strokeWidth=2)
    # The blue of rings is too pale for a white text.
    ink = alt.condition("datum.algorithm === 'Ring'", alt.value(color("ink", False)), alt.value(color("card", dark)))
    words = base.mark_text(fontSize=12, fontWeight="bold").encode(text=alt.Text("protocol:N"), color=ink)
    cells = cells.encode(color=alt.Color("algorithm:N", scale=hues, legend=legend))
    return charts.layer(cells, words, height=alt.Step(36), description=title)


def draw_crossing(run: MeasuredRun) -> None:
    """Allreduce by ring and by tree: predicted as lines, NCCL's tuner as dashes, and from which size on the ring is
    ahead.

    Args:
        run: The measured run.
    """
    crossover = load_crossing(run.facts)
    key = "measured.crossing.at"
    if crossover.crossing is None:
        key = "measured.crossing.never"
    text = t(key, **({} if crossover.crossing is None else {"size": _round_to_power(crossover.crossing)}))
    with draw_card("crossing", t("measured.crossing"), text):
        draw_note(t("measured.crossing.note"))
        charts.draw_chart("crossing", _build_ratios, crossover.table, text)


def _build_ratios(table: pd.DataFrame, description: str) -> Picture:
    """Time of the ring over that of the tree; on the rule at 1 they are alike."""
    dark, sizes = is_dark(), table["nbytes"]
    by = {"line": table["ring"] / table["tree"], "tuner": table["ring_tuner"] / table["tree_tuner"]}
    frame = pd.DataFrame({"nbytes": sizes, **by}).melt("nbytes", list(by), "which", "ratio").dropna()
    frame = frame.assign(
        who=[t(f"measured.{which}") for which in frame["which"]], size=[format_bytes(int(n)) for n in frame["nbytes"]]
    )
    names, title = [t("measured.line"), t("measured.tuner")], t("measured.crossing.axis")
    hues = alt.Scale(domain=names, range=[color("room", dark), color("edge", dark)])
    dashes = alt.Scale(domain=names, range=[[1, 0], [3, 4]])
    lines = alt.Chart(frame).mark_line(strokeWidth=2.6, point=True)
    lines = lines.encode(
        x=charts.build_size_axis(frame["nbytes"]),
        y=charts.build_factor_axis([0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8, 16, 32], title, padding=14),
        color=alt.Color("who:N", scale=hues, legend=alt.Legend(title=None, orient="top", labelLimit=320)),
        strokeDash=alt.StrokeDash("who:N", scale=dashes, legend=None),
        tooltip=["size:N", "who:N", alt.Tooltip("ratio:Q", format=".2f", title=title)],
    )
    even = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=color("ink3", dark)).encode(y=alt.Y("one:Q"))
    return charts.layer(even, lines, height=250, description=description)


def _round_to_power(nbytes: float) -> str:
    """The power of two nearest to a crossing, which is no more exact than that."""
    return format_bytes(2 ** round(math.log2(nbytes)))
