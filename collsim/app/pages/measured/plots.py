"""Charts of the Measured page: curves over size, hypotheses, all published runs, NCCL's choices."""

from __future__ import annotations

import math

import altair as alt
import pandas as pd
import streamlit as st

from collsim.markup import escape_text
from collsim.nccl import (
    Crossover,
    Facts,
    Gap,
    MeasuredRun,
    compare_ring_and_tree,
    compare_runs,
    evaluate_measurement_value,
    predict_choices,
)
from collsim.nccl.nccl_prediction import BUSBW
from collsim.units import format_bandwidth, format_bytes, format_time

from ...shell import charts
from ...shell.charts import Picture
from ...shell.look import color
from ...shell.notes import heading, note
from ...shell.session import is_dark, language, t
from .compared import Selection

#: Factor within which a prediction counts as near (docs/accuracy.md).
NEAR = 1.25
_MOST_TRIED = 7
#: What the map of choices shows: numbers of nodes, where something joins them, and sizes a factor of four apart.
_MAP_NODES = (1, 2, 4, 8, 16, 32)
#: Colours of NCCL's algorithms on the map.
_HUES = {"Ring": "room", "Tree": "done", "NVLS": "full", "NVLSTree": "edge", "PAT": "ink3"}
#: Lines of a curve: column, colour, dashes, width (pixels).
_LINES = (
    ("tuner", "edge", [2, 4], 2.0),
    ("predicted", "room", [1, 0], 3.0),
    ("under", "full", [8, 5], 2.6),
)


@st.cache_data(show_spinner=False)
def kept_all() -> pd.DataFrame:
    """All published runs."""
    return compare_runs()


@st.cache_data(max_entries=64, show_spinner=False)
def kept_choices(collective: str, facts: Facts) -> pd.DataFrame:
    """What NCCL runs on such nodes over size and number of nodes."""
    return predict_choices(collective, facts, nodes=_MAP_NODES if facts.net != "none" else (facts.nodes,))


@st.cache_data(max_entries=64, show_spinner=False)
def kept_crossing(facts: Facts) -> Crossover:
    """Allreduce by ring and by tree on this machine."""
    return compare_ring_and_tree(facts)


def parts(distance: float) -> tuple[str, str]:
    """A distance as percent, from two on as a factor: number and unit."""
    factor = math.exp(distance)
    return (f"{100 * (factor - 1):.0f}", " %") if factor < 2 else (f"{factor:.2g}", "×")


def cause(key: str) -> str:
    """What would explain a gap, in words."""
    return t(f"gap.{key}")


# ---- curves --------------------------------------------------------------------------------------------------------


def curves(table: pd.DataFrame, gap: Gap, run: MeasuredRun) -> None:
    """Time and busbw over size: dots measured, a line predicted, dashes for the tuner and for the hypothesis."""
    table = table.sort_values("nbytes")
    if gap.best is not None:
        factor = BUSBW[run.collective](run.facts.ranks)
        under = pd.Series(gap.best.predicted, index=table.index)
        table = table.assign(under=under, under_busbw=factor * table["nbytes"] / under)
    legend(tuner=bool(table["tuner"].notna().any()), under="under" in table)
    both_curves(table)


def both_curves(table: pd.DataFrame) -> None:
    """The two curves side by side."""
    for column, what in zip(st.columns(2, gap="small"), ("time", "busbw"), strict=True):
        with column, st.container(border=True, key=f"card_measured_{what}"):
            charts.chart(f"measured_{what}", _curve, table, what)


def legend(tuner: bool, under: bool) -> None:
    """What dots and lines mean; `tuner`, `under`: there are such lines."""
    dark = is_dark()
    dot = f'<b style="color:{color("ink", dark)};font-size:22px;line-height:0">●</b>'
    items = [f"<span>{dot}{escape_text(t('measured.dots'))}</span>"]
    lines = {
        "line": ("solid", "room"),
        "band": ("solid", "room"),
        "tuner": ("dotted", "edge"),
        "under": ("dashed", "full"),
    }
    there = {"line": True, "band": True, "tuner": tuner, "under": under}
    for key, (kind, token) in lines.items():
        if there[key]:
            thick = "14px" if key == "band" else "4px"
            faint = ";opacity:.25" if key == "band" else ""
            stroke = f'<i style="border-top:{thick} {kind} {color(token, dark)}{faint}"></i>'
            items.append(f"<span>{stroke}{escape_text(t(f'measured.{key}'))}</span>")
    st.html(f'<div class="cs-legend">{"".join(items)}</div>')


def _curve(table: pd.DataFrame, what: str) -> Picture:
    """One chart; columns of a busbw have `_busbw` in their name, times have not."""
    said = format_bandwidth if what == "busbw" else format_time
    names = {name: f"{name}_busbw" if what == "busbw" else name for name, *_ in _LINES}
    frame = table.assign(
        size=[format_bytes(int(n)) for n in table["nbytes"]],
        said=table[what].map(said),
        ours=table[names["predicted"]].map(said),
        choice=table["algorithm"] + " " + table["protocol"],
    )
    title = t(f"compare.{what}.axis")
    base = alt.Chart(frame).encode(x=charts.size_axis(frame["nbytes"]))
    tips = charts.tips(size="nbytes", said="measured.dots", ours="measured.line", choice="measured.col.choice")
    dots = base.mark_point(filled=True, size=75, color=color("ink", is_dark()), opacity=1)
    layers = [
        *_band(base, frame, what),
        *_lines(base, frame, what, names, title),
        dots.encode(y=alt.Y(f"{what}:Q"), tooltip=tips),
    ]
    made: Picture = alt.layer(*layers).properties(height=380, description=title, padding=charts.ROOM)
    return made


def _band(base: alt.Chart, frame: pd.DataFrame, what: str) -> list[alt.Chart]:
    """Where four in five measurements lie, where that is known."""
    low, high = (f"{end}_busbw" if what == "busbw" else end for end in ("low", "high"))
    if low not in frame:
        return []
    shade = base.mark_area(color=color("room", is_dark()), opacity=0.18, clip=True)
    return [shade.encode(y=alt.Y(f"{low}:Q", scale=alt.Scale(type="log")), y2=f"{high}:Q")]


def _lines(base: alt.Chart, frame: pd.DataFrame, what: str, names: dict[str, str], title: str) -> list[alt.Chart]:
    """The lines that there are values for."""
    ends = [f"{end}_busbw" if what == "busbw" else end for end in ("low", "high")]
    upwards = charts.axis(pd.concat([frame[c] for c in (what, *names.values(), *ends) if c in frame]).dropna(), 10)
    made = []
    for key, token, dash, wide in _LINES:
        if names[key] in frame and frame[names[key]].notna().any():
            y = alt.Y(f"{names[key]}:Q", scale=alt.Scale(type="log"), title=title, axis=upwards)
            line = base.mark_line(color=color(token, is_dark()), strokeWidth=wide, strokeDash=dash)
            made.append(line.encode(y=y))
    return made


# ---- what was tried, and all runs ----------------------------------------------------------------------------------


def tried(gap: Gap) -> None:
    """A bar per hypothesis: the gap that it leaves."""
    with st.container(border=True, key="card_tried"):
        heading(t("measured.tried"))
        charts.chart("tried", _bars, gap)


def _bars(gap: Gap) -> Picture:
    best = {c.key for c in (gap.best, *gap.alternatives) if c is not None}
    rows = [(t("measured.asis"), gap.distance, "edge")]
    rows += [(cause(c.key), c.distance, "full" if c.key in best else "room") for c in gap.candidates[:_MOST_TRIED]]
    frame = pd.DataFrame(rows, columns=["cause", "left", "hue"])
    frame["said"], dark, tokens = ["".join(parts(left)) for left in frame["left"]], is_dark(), ["edge", "full", "room"]
    scale = alt.Scale(domain=[0, 1.5 * max(float(frame["left"].max()), 0.01)], nice=False)
    hues = alt.Scale(domain=tokens, range=[color(token, dark) for token in tokens])
    y = charts.labels_axis("cause", labelPadding=8)
    base = alt.Chart(frame).encode(x=alt.X("left:Q", title=None, axis=None, scale=scale), y=y)
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text=alt.Text("said:N"))
    bars = base.mark_bar(size=18).encode(color=alt.Color("hue:N", legend=None, scale=hues))
    made: Picture = alt.layer(bars, words).properties(height=alt.Step(30), description=t("measured.tried"))
    return made


@st.cache_data(max_entries=64, show_spinner=False)
def kept_worth(run: MeasuredRun) -> pd.DataFrame:
    """What each point of this run buys."""
    return evaluate_measurement_value(run)


def bought(run: MeasuredRun) -> None:
    """A row for no point of this run and for one, two, three: error and width at its other sizes."""
    table = kept_worth(run).dropna()
    added = [format_bytes(int(n)) if n else t("worth.none") for n in table["added"]]
    shown = pd.DataFrame(
        {
            t("worth.added"): added,
            t("worth.error"): table["error"].map("{:.0%}".format),
            t("worth.wide"): table["wide"].map("{:.2f}×".format),
        }
    )
    with st.container(border=True, key="card_worth"):
        heading(t("worth.title"))
        note(t("worth.note"))
        charts.show_frame(shown)


def _this() -> alt.ColorValue:
    """The run on the page in colour, the others grey."""
    dark = is_dark()
    here = {"test": "datum.this", "value": color("full", dark)}
    return alt.ColorValue(color("ink3", dark), condition=here)


def _published(run: str) -> pd.DataFrame:
    """Every size of every published run, with its title and whether it is of the run on the page."""
    table = kept_all()
    name = table["title_zh" if language() == "zh" else "title"]
    return table.assign(name=name, this=table["run"] == run, size=table["nbytes"].map(format_bytes))


def every(shown: Selection) -> None:
    """Predicted over measured for every published run, the one on the page in colour."""
    with st.container(border=True, key="card_every"):
        heading(t("measured.every"))
        note(t("measured.every.note"))
        charts.chart("every", _every, shown.run)


def _every(run: str) -> Picture:
    frame = _published(run)
    large = frame[frame["nbytes"] >= 2**24]
    middle = large.groupby(["name", "this"], sort=False)["ratio"].median().reset_index()
    ticks = alt.Axis(values=[0.1, 0.25, 0.5, 1, 2, 4], labelExpr="format(datum.value, '~r') + '×'")
    x = alt.X("ratio:Q", scale=alt.Scale(type="log", domain=[0.05, 4], clamp=True), title=None, axis=ticks)
    y, hue = charts.labels_axis("name").sort(list(dict.fromkeys(frame["name"]))), _this()
    near = alt.Chart(pd.DataFrame([{"low": 1 / NEAR, "high": NEAR}]))
    shade = near.mark_rect(color=color("room", is_dark()), opacity=0.2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    tips = [alt.Tooltip("name:N"), alt.Tooltip("size:N"), alt.Tooltip("ratio:Q", format=".2f")]
    dots = alt.Chart(frame).mark_point(filled=True, size=34, opacity=0.55).encode(x=x, y=y, color=hue, tooltip=tips)
    rings = alt.Chart(middle).mark_point(size=130, strokeWidth=2.4, filled=False, opacity=1).encode(x=x, y=y, color=hue)
    made: Picture = alt.layer(shade, dots, rings).properties(height=alt.Step(21), description=t("measured.every"))
    return made


def scatter(shown: Selection) -> None:
    """Predicted against measured busbw, a dot per size of every published run; on the diagonal they agree."""
    with st.container(border=True, key="card_scatter"):
        heading(t("measured.scatter"))
        charts.chart("scatter", _scatter, shown.run)


def _scatter(run: str) -> Picture:
    frame = _published(run)
    frame = frame[frame["busbw"] > 0]
    frame = frame.assign(
        measured=frame["busbw"],
        ours=frame["predicted_busbw"],
        said=frame["busbw"].map(format_bandwidth),
        predicted_said=frame["predicted_busbw"].map(format_bandwidth),
    )
    ends = [float(frame[["measured", "ours"]].min().min()) / 1.5, float(frame[["measured", "ours"]].max().max()) * 1.5]
    scale, marks = alt.Scale(type="log", domain=ends, nice=False), charts.axis(pd.Series(ends), 10)
    x = alt.X("measured:Q", scale=scale, title=t("measured.scatter.x"), axis=marks)
    y = alt.Y("ours:Q", scale=scale, title=t("measured.scatter.y"), axis=marks)
    tips = [
        alt.Tooltip("name:N"),
        alt.Tooltip("size:N"),
        *charts.tips(said="measured.scatter.x", predicted_said="measured.scatter.y"),
    ]
    dots = alt.Chart(frame).mark_point(filled=True, size=40, opacity=0.6).encode(x=x, y=y, color=_this(), tooltip=tips)
    layers = (*_diagonal(ends, x, y, scale), dots)
    made: Picture = alt.layer(*layers).properties(height=340, description=t("measured.scatter"))
    return made


def _diagonal(ends: list[float], x: alt.X, y: alt.Y, scale: alt.Scale) -> list[alt.Chart]:
    """Where both agree, and the shade in which a prediction counts as near."""
    dark = is_dark()
    near = {"low": [v / NEAR for v in ends], "high": [v * NEAR for v in ends]}
    base = alt.Chart(pd.DataFrame({"measured": ends, "ours": ends, **near}))
    shade = base.mark_area(color=color("room", dark), opacity=0.2, clip=True)
    line = base.mark_line(color=color("edge", dark), strokeWidth=1.4)
    return [shade.encode(x=x, y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")), line.encode(x=x, y=y)]


# ---- NCCL's choices ------------------------------------------------------------------------------------------------


def map_(run: MeasuredRun) -> None:
    """NCCL's choice over size and number of nodes: a cell each, coloured by algorithm, lettered by protocol."""
    collective = run.collective if run.collective not in ("alltoall", "sendrecv") else "allreduce"
    title = t("measured.map", collective=collective)
    with st.container(border=True, key="card_map"):
        heading(title)
        charts.chart("map", _cells, kept_choices(collective, run.facts), title)


def _cells(table: pd.DataFrame, title: str) -> Picture:
    dark = is_dark()
    sizes = table["nbytes"].sort_values().map(format_bytes).unique().tolist()
    frame = table.assign(size=table["nbytes"].map(format_bytes), said=table["time"].map(format_time))
    there = [name for name in _HUES if name in set(frame["algorithm"])]
    hues = alt.Scale(domain=there, range=[color(_HUES[name], dark) for name in there])
    tilted = alt.Axis(labelAngle=-45, ticks=False, domain=False)
    x = alt.X("size:O", sort=sizes, title=t("compare.size.axis"), axis=tilted)
    y = alt.Y("nodes:O", sort="descending", title=t("nodes"), axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    tips = charts.tips(
        size="nbytes", algorithm="measured.col.choice", protocol="measured.protocol", said="measured.col.predicted"
    )
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=tips)
    legend = alt.Legend(orient="top", title=None)
    cells = base.mark_rect(stroke=color("card", dark), strokeWidth=2)
    words = base.mark_text(fontSize=12, fontWeight="bold", color=color("card", dark)).encode(
        text=alt.Text("protocol:N")
    )
    cells = cells.encode(color=alt.Color("algorithm:N", scale=hues, legend=legend))
    made: Picture = alt.layer(cells, words).properties(height=alt.Step(36), description=title)
    return made


def crossing(run: MeasuredRun) -> None:
    """Allreduce by ring and by tree: predicted as lines, NCCL's tuner as dashes, and from which size on the ring is
    ahead."""
    found = kept_crossing(run.facts)
    key = "measured.crossing.never" if found.crossing is None else "measured.crossing.at"
    said = t(key, **({} if found.crossing is None else {"size": _about(found.crossing)}))
    with st.container(border=True, key="card_crossing"):
        heading(t("measured.crossing"), said)
        note(t("measured.crossing.note"))
        charts.chart("crossing", _ratios, found.table, said)


def _ratios(table: pd.DataFrame, said: str) -> Picture:
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
        x=charts.size_axis(frame["nbytes"]),
        y=charts.factor_axis("ratio", [0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8, 16, 32], title, padding=14),
        color=alt.Color("who:N", scale=hues, legend=alt.Legend(title=None, orient="top", labelLimit=320)),
        strokeDash=alt.StrokeDash("who:N", scale=dashes, legend=None),
        tooltip=["size:N", "who:N", alt.Tooltip("ratio:Q", format=".2f", title=title)],
    )
    even = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=color("ink3", dark)).encode(y=alt.Y("one:Q"))
    made: Picture = alt.layer(even, lines).properties(height=250, description=said)
    return made


def _about(nbytes: float) -> str:
    """The power of two nearest to a crossing, which is no more exact than that."""
    return format_bytes(2 ** round(math.log2(nbytes)))
