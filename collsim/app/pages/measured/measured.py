"""Measured: a published run or one's own log beside the prediction, how far off that is, and what would explain the
gap."""

from __future__ import annotations

import html
import math
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from collsim.errors import CollsimError
from collsim.nccl import Crossover, Facts, Gap, Run, choices, published, ring_and_tree, together
from collsim.nccl.predict import BUSBW
from collsim.units import format_bandwidth, format_bytes, format_time

from ...scenario.choice import MOST_NODES
from ...scenario.mistakes import told
from ...shell.address import enter, leave, remembered
from ...shell.controls import complain, mistake, place_label
from ...shell.look import chart_look, color
from ...shell.results import latest
from ...shell.session import is_dark, language, session, t
from ...shell.ticks import axis
from . import compared, nccl_log, osu
from .compared import OWN, Shown
from .fitting import calibration

PAGE = "measured"
#: Factor within which a prediction counts as near (docs/accuracy.md).
NEAR = 1.25
NBSP = "\N{NO-BREAK SPACE}"
_BANDS = (("large", 2**24, 2**62), ("middle", 2**16, 2**24), ("small", 0, 2**16))
_MOST_TRIED = 7
#: What the map of choices shows: numbers of nodes, where something joins them, and sizes a factor of four apart.
_MAP_NODES = (1, 2, 4, 8, 16, 32)
#: Colours of NCCL's algorithms on the map.
_HUES = {"Ring": "room", "Tree": "done", "NVLS": "full", "NVLSTree": "edge", "PAT": "ink3"}


@st.cache_data(show_spinner=False)
def kept_all() -> pd.DataFrame:
    """All published runs."""
    return together()


@st.cache_data(max_entries=64, show_spinner=False)
def kept_choices(collective: str, facts: Facts) -> pd.DataFrame:
    """What NCCL runs on such nodes over size and number of nodes."""
    return choices(collective, facts, nodes=_MAP_NODES if facts.net != "none" else (facts.nodes,))


@st.cache_data(max_entries=64, show_spinner=False)
def kept_crossing(facts: Facts) -> Crossover:
    """Allreduce by ring and by tree on this machine."""
    return ring_and_tree(facts)


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, compared.read)


def page() -> None:
    """Draw the page: controls, the verdict, the curves, what was tried, all runs."""
    shown: Shown = remembered()[PAGE]
    shown = _controls(shown)
    if shown.own:
        shown = _own(shown)
    leave(PAGE, shown, compared.write(shown))
    complain(session().complaints)
    if shown.own and not shown.text:
        st.html(f'<div class="cs-note">{html.escape(t("measured.empty"))}</div>')
        return
    if shown.own and osu.looks(shown.text):
        _over_mpi(shown)
        return
    if shown.own and nccl_log.looks(shown.text):
        _graphs(shown)
        return
    found = latest(compared.prepared, shown, expected=compared.expected_prepared, only=True)
    if found is None:
        return
    run, table, gap = found[0]
    _verdict(table, gap)
    _curves(table, gap, run)
    if shown.own:
        calibration(shown)
    left, right = st.columns([1, 1.15], gap="small")
    with left:
        _tried(gap)
        _scatter(shown)
        _python(compared.python_of(shown))
    with right:
        _every(shown)
    if run.facts.ranks > 1:
        left, right = st.columns([1.15, 1], gap="small")
        with left:
            _map(run)
        with right:
            _crossing(run)
    _rows(run, table)


def _over_mpi(shown: Shown) -> None:
    """An OSU log: its curves beside the MPI model's, which knows neither NCCL's choices nor causes of a gap."""
    try:
        table, case = compared.over_mpi(shown)
    except CollsimError as error:
        mistake(told(error, language()))
        return
    figures = "".join(
        _figure(name, table[(table["nbytes"] >= low) & (table["nbytes"] < high)]) for name, low, high in _BANDS
    )
    where = t("measured.host" if case.gpu == "none" else "measured.gpus")
    words = t("measured.mpi", ranks=case.ranks, nodes=case.nodes, where=where)
    why = f'<div class="cs-why"><b>{html.escape(words)}</b><span>{html.escape(t("measured.mpi.note"))}</span></div>'
    st.html(f'<div class="cs-head">{figures}{why}</div>')
    _legend(tuner=False, under=False)
    for column, what in zip(st.columns(2, gap="small"), ("time", "busbw"), strict=True):
        with column, st.container(border=True, key=f"card_measured_{what}"):
            _curve(table, what)
    _python(osu.python_of(case))


def _graphs(shown: Shown) -> None:
    """A log of NCCL: its rings and trees beside those that the search finds on the machine."""
    try:
        job = nccl_log.read(shown.text, compared.place_of(shown))
    except CollsimError as error:
        mistake(told(error, language()))
        return
    version = f" {job.version}" if job.version else ""
    words = t(
        "graphs.job",
        version=version,
        ranks=job.ranks,
        nodes=job.nodes,
        rings=job.rings.channels,
        trees=job.trees.channels,
    )
    ways = t("fit.comma").join(f"{name} × {count}" for name, count in job.transports)
    via = t("graphs.via", ways=ways) if ways else t("graphs.novia")
    st.html(
        '<div class="cs-head"><div '
        f'class="cs-why"><b>{html.escape(words)}</b><span>{html.escape(via)}</span></div></div>'
    )
    for kind, orders in (("rings", job.rings), ("trees", job.trees)):
        with st.container(border=True, key=f"card_graphs_{kind}"):
            st.markdown(f"**{t(f'graphs.{kind}')}** {_alike(orders)}")
            for column, side, those in zip(
                st.columns(2, gap="small"), ("logged", "found"), (orders.logged, orders.found), strict=True
            ):
                rows = [(" ".join("–" if rank < 0 else str(rank) for rank in order), count) for order, count in those]
                table = pd.DataFrame(rows, columns=[t(f"graphs.{side}"), t("graphs.channels")])
                column.dataframe(table, hide_index=True, width="stretch")
    st.html(f'<div class="cs-note">{html.escape(t("graphs.note"))}</div>')


def _alike(orders: nccl_log.Orders) -> str:
    if orders.alike is None:
        return t("graphs.nothing")
    return t("graphs.alike", count=orders.alike, channels=orders.channels)


# ---- controls
# --------------------------------------------------------------------------------------------------------------------


def _controls(shown: Shown) -> Shown:
    """One row: title, which run, what the model is told."""
    title, which, said = st.columns([3.2, 3.6, 2.6], vertical_alignment="bottom", gap="small")
    title.html(
        f'<h1 class="cs-title">{html.escape(t("measured.title"))}</h1><div '
        f'class="cs-note">{html.escape(t("measured.note"))}</div>'
    )
    with which:
        run = _pick("run", t("measured.run"), {name: _title(name) for name in (*published(), OWN)}, shown.run)
    if run != shown.run:
        shown = replace(shown, run=run, plain=False)
        st.session_state.pop("w_e_told", None)
    tells = run != OWN and published()[run].plain is not None
    with said:
        words = {name: t(f"measured.told.{name}") for name in ("all", "plain")}
        key = _start("told", "plain" if shown.plain and tells else "all", words)
        look: dict[str, Any] = {"width": "stretch", "disabled": not tells, "help": t("measured.told.help")}
        picked = st.segmented_control(
            t("measured.told"), list(words), format_func=words.__getitem__, key=key, required=True, **look
        )
    return replace(shown, plain=tells and picked == "plain")


def _title(name: str) -> str:
    return t("measured.own") if name == OWN else published()[name].title[language() == "zh"]


def _own(shown: Shown) -> Shown:
    """A log of one's own, and where it ran."""
    before = shown
    drop, where, nodes, p2p, gdr = st.columns([2.9, 2, 1.05, 1.75, 1.9], vertical_alignment="bottom", gap="small")
    with drop:
        given = st.file_uploader(t("measured.file"), type=["txt", "log", "out", "json"], key="w_e_file")
        pressed = given is None and not shown.text and st.button(t("measured.sample"), key="w_e_sample")
    text = compared.sample() if pressed else compared.asked_of(given.getvalue()) if given is not None else shown.text
    if text != shown.text:
        shown = compared.guessed(text, replace(shown, text=text, table=0, collective=""))
        shown = replace(shown, machine=compared.SAMPLE_MACHINE, nodes=2) if pressed else shown
        for name in ("machine", "nodes", "table", "collective"):
            st.session_state.pop(f"w_e_{name}", None)
    with where:
        known = {name: place_label(name) for name in compared.machines()}
        shown = replace(shown, machine=_pick("machine", t("measured.machine"), known, shown.machine))
    with nodes:
        count = st.number_input(
            t("nodes"), 1, MOST_NODES, key=_start("nodes", shown.nodes, range(1, MOST_NODES + 1)), step=1
        )
    shown = replace(shown, nodes=int(count))
    shown = replace(shown, p2p=_switch(p2p, "p2p", shown.p2p), gdr=_switch(gdr, "gdr", shown.gdr, off=shown.nodes == 1))
    if osu.looks(shown.text):
        with drop:
            shown = _ranks(shown, before)
    return _which(shown) if shown.text else shown


def _ranks(shown: Shown, before: Shown) -> Shown:
    """Ranks of an OSU log: one per GPU, until somebody says otherwise of this log on this machine."""
    if (shown.machine, shown.nodes) != (before.machine, before.nodes) or (before.text and shown.text != before.text):
        shown = replace(shown, ranks=0)
        st.session_state.pop("w_e_ranks", None)
    key = _start("ranks", compared.ranks_of(shown), range(2, compared.MOST_MPI + 1))
    said = int(st.number_input(t("measured.ranks"), 2, compared.MOST_MPI, key=key, step=1))
    return replace(shown, ranks=0 if said == compared.ranks_of(replace(shown, ranks=0)) else said)


def _which(shown: Shown) -> Shown:
    """What the log leaves open: which of its tables, and which collective."""
    try:
        log = compared.read_log(shown.text)
    except CollsimError:
        return shown  # the page says what is wrong with it
    tables = log["table"].nunique()
    if tables > 1:
        shown = replace(
            shown, table=_pick("table", t("measured.table"), {k: str(k + 1) for k in range(tables)}, shown.table)
        )
    if log["collective"].isna().any():
        names = {"": t("measured.unknown"), **{name: name for name in BUSBW}}
        shown = replace(shown, collective=_pick("collective", t("collective"), names, shown.collective))
    return shown


def _pick(name: str, label: str, words: dict[Any, str], now: Any) -> Any:
    """A menu of values with what each is called."""
    return st.selectbox(label, list(words), format_func=words.__getitem__, key=_start(name, now, words))


def _switch(box: Any, name: str, now: bool, off: bool = False) -> bool:
    return bool(box.toggle(t(name), key=_start(name, now, (True, False)), help=t(f"{name}.help"), disabled=off))


def _start(name: str, value: Any, known: Any) -> str:
    key = f"w_e_{name}"
    if key not in st.session_state or st.session_state[key] not in known:
        st.session_state[key] = value if value in known else next(iter(known))
    return key


# ---- verdict
# ---------------------------------------------------------------------------------------------------------------------


def _verdict(table: pd.DataFrame, gap: Gap) -> None:
    """Error by band of sizes, and what would explain the gap."""
    figures = "".join(
        _figure(name, table[(table["nbytes"] >= low) & (table["nbytes"] < high)]) for name, low, high in _BANDS
    )
    small, lead, note = t("measured.gap"), *_explained(gap)
    hue = "done" if gap.small else "full"
    why = (
        f'<div class="cs-why" style="border-color:var(--cs-{hue})"><small '
        f'style="color:var(--cs-ink2)">{html.escape(small)}</small>'
    )
    st.html(
        f'<div class="cs-head">{figures}{why}<b>{html.escape(lead)}</b><span>{html.escape(note)}</span></div></div>'
    )


def _figure(name: str, band: pd.DataFrame) -> str:
    if band.empty:
        return ""
    ratio = float(np.exp(np.median(np.log(band["ratio"]))))
    way = "even" if abs(ratio - 1) < 0.03 else "slower" if ratio > 1 else "faster"
    count = t("measured.sizes.one") if len(band) == 1 else t("measured.sizes.many", count=len(band))
    number, unit = _parts(abs(math.log(ratio)))
    words = f"<small>{html.escape(t(f'measured.{name}'))}</small><b>{number}<i>{unit}</i></b>"
    return (
        "<div "
        f'class="cs-fig">{words}<span>{html.escape(t(f"measured.off.{way}"))}</span><span>{html.escape(count)}</span></div>'
    )


def _parts(distance: float) -> tuple[str, str]:
    """A distance as percent, from two on as a factor: number and unit."""
    factor = math.exp(distance)
    return (f"{100 * (factor - 1):.0f}", f"{NBSP}%") if factor < 2 else (f"{factor:.2g}", "×")


def _apart(distance: float) -> str:
    number, unit = _parts(distance)
    return t("measured.factor", factor=number) if unit == "×" else number + unit


def _explained(gap: Gap) -> tuple[str, str]:
    """The lead and the note of the verdict."""
    way, apart = ("slower" if gap.ratio < 1 else "faster"), _apart(gap.distance)
    if gap.small:
        return t("measured.agree", apart=apart), t("measured.agree.note")
    if gap.best is None:
        return t("measured.none", count=len(gap.tried)), t(f"measured.none.{way}", apart=apart)
    causes = t("measured.or").join(_cause(c.key) for c in (gap.best, *gap.as_well))
    return t("measured.guess", cause=causes), t(f"measured.guess.{way}", apart=apart, left=_apart(gap.best.distance))


def _cause(key: str) -> str:
    return t(f"gap.{key}")


# ---- curves
# ----------------------------------------------------------------------------------------------------------------------


def _curves(table: pd.DataFrame, gap: Gap, run: Run) -> None:
    """Time and busbw over size: dots measured, a line predicted, dashes for the tuner and for the hypothesis."""
    table = table.sort_values("nbytes")
    if gap.best is not None:
        factor = BUSBW[run.collective](run.facts.ranks)
        under = pd.Series(gap.best.predicted, index=table.index)
        table = table.assign(under=under, under_busbw=factor * table["nbytes"] / under)
    _legend(tuner=bool(table["tuner"].notna().any()), under="under" in table)
    for column, what in zip(st.columns(2, gap="small"), ("time", "busbw"), strict=True):
        with column, st.container(border=True, key=f"card_measured_{what}"):
            _curve(table, what)


def _legend(tuner: bool, under: bool) -> None:
    dark = is_dark()
    items = [
        "<span><b "
        f'style="color:{color("ink", dark)};font-size:22px;line-height:0">●</b>{html.escape(t("measured.dots"))}</span>'
    ]
    for key, kind, token, there in (
        ("line", "solid", "room", True), ("tuner", "dotted", "edge", tuner), ("under", "dashed", "full", under)
    ):  # fmt: skip
        if there:
            name = html.escape(t(f"measured.{key}"))
            items.append(f'<span><i style="border-top:4px {kind} {color(token, dark)}"></i>{name}</span>')
    st.html(f'<div class="cs-legend">{"".join(items)}</div>')


def _curve(table: pd.DataFrame, what: str) -> None:
    """One chart; columns of a busbw have `_busbw` in their name, times have not."""
    dark, busbw = is_dark(), what == "busbw"
    said = format_bandwidth if busbw else format_time
    names = {name: f"{name}_busbw" if busbw else name for name in ("predicted", "tuner", "under")}
    frame = table.assign(
        size=[format_bytes(int(n)) for n in table["nbytes"]],
        said=table[what].map(said),
        ours=table[names["predicted"]].map(said),
        choice=table["algorithm"] + " " + table["protocol"],
    )
    x = alt.X(
        "nbytes:Q",
        scale=alt.Scale(type="log", base=2, nice=False),
        title=t("compare.size.axis"),
        axis=axis(frame["nbytes"], 2),
    )
    upwards = axis(pd.concat([frame[c] for c in (what, *names.values()) if c in frame]).dropna(), 10)
    title, scale, base, layers = t(f"compare.{what}.axis"), alt.Scale(type="log"), alt.Chart(frame).encode(x=x), []
    for key, token, dash, wide in (
        ("tuner", "edge", [2, 4], 2.0),
        ("predicted", "room", [1, 0], 3.0),
        ("under", "full", [8, 5], 2.6),
    ):
        if names[key] in frame and frame[names[key]].notna().any():
            line = base.mark_line(color=color(token, dark), strokeWidth=wide, strokeDash=dash)
            layers.append(line.encode(y=alt.Y(f"{names[key]}:Q", scale=scale, title=title, axis=upwards)))
    heads = {"size": "nbytes", "said": "measured.dots", "ours": "measured.line", "choice": "measured.col.choice"}
    tips = [alt.Tooltip(f"{column}:N", title=t(key)) for column, key in heads.items()]
    layers.append(
        base.mark_point(filled=True, size=75, color=color("ink", dark), opacity=1).encode(
            y=alt.Y(f"{what}:Q"), tooltip=tips
        )
    )
    room = {"left": 4, "right": 24, "top": 8, "bottom": 4}
    picture = alt.layer(*layers).properties(height=380, description=title, padding=room)
    st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key=f"chart_measured_{what}")


# ---- what was tried, and all runs
# -------------------------------------------------------------------------------------------------


def _tried(gap: Gap) -> None:
    """A bar per hypothesis: the gap that it leaves."""
    best = {c.key for c in (gap.best, *gap.as_well) if c is not None}
    rows = [(t("measured.asis"), gap.distance, "edge")]
    rows += [(_cause(c.key), c.distance, "full" if c.key in best else "room") for c in gap.tried[:_MOST_TRIED]]
    frame = pd.DataFrame(rows, columns=["cause", "left", "hue"])
    frame["said"], dark, tokens = ["".join(_parts(left)) for left in frame["left"]], is_dark(), ["edge", "full", "room"]
    y = alt.Y(
        "cause:N", sort=None, title=None, axis=alt.Axis(labelLimit=420, ticks=False, domain=False, labelPadding=8)
    )
    x = alt.X(
        "left:Q",
        title=None,
        axis=None,
        scale=alt.Scale(domain=[0, 1.5 * max(float(frame["left"].max()), 0.01)], nice=False),
    )
    hues = alt.Color(
        "hue:N", legend=None, scale=alt.Scale(domain=tokens, range=[color(token, dark) for token in tokens])
    )
    base = alt.Chart(frame).encode(x=x, y=y)
    words = base.mark_text(align="left", dx=6, fontSize=14, color=color("ink", dark)).encode(text="said:N")
    bars = base.mark_bar(size=18).encode(color=hues)
    picture = alt.layer(bars, words).properties(height=alt.Step(30), description=t("measured.tried"))
    with st.container(border=True, key="card_tried"):
        st.markdown(f"**{t('measured.tried')}**")
        st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_tried")


def _every(shown: Shown) -> None:
    """Predicted over measured for every published run, the one on the page in colour."""
    table, dark = kept_all(), is_dark()
    name = table["title_zh" if language() == "zh" else "title"]
    frame = table.assign(name=name, this=table["run"] == shown.run, size=table["nbytes"].map(format_bytes))
    large = frame[frame["nbytes"] >= 2**24]
    middle = large.groupby(["name", "this"], sort=False)["ratio"].median().reset_index()
    ticks = alt.Axis(values=[0.1, 0.25, 0.5, 1, 2, 4], labelExpr="format(datum.value, '~r') + '×'")
    x = alt.X("ratio:Q", scale=alt.Scale(type="log", domain=[0.05, 4], clamp=True), title=None, axis=ticks)
    y = alt.Y(
        "name:N", sort=list(dict.fromkeys(name)), title=None, axis=alt.Axis(labelLimit=420, ticks=False, domain=False)
    )
    hue = alt.condition("datum.this", alt.value(color("full", dark)), alt.value(color("ink3", dark)))
    near = alt.Chart(pd.DataFrame([{"low": 1 / NEAR, "high": NEAR}]))
    shade = near.mark_rect(color=color("room", dark), opacity=0.2).encode(x=alt.X("low:Q"), x2="high:Q")
    tips = ["name:N", "size:N", alt.Tooltip("ratio:Q", format=".2f")]
    dots = alt.Chart(frame).mark_point(filled=True, size=34, opacity=0.55).encode(x=x, y=y, color=hue, tooltip=tips)
    rings = alt.Chart(middle).mark_point(size=130, strokeWidth=2.4, filled=False, opacity=1).encode(x=x, y=y, color=hue)
    picture = alt.layer(shade, dots, rings).properties(height=alt.Step(21), description=t("measured.every"))
    with st.container(border=True, key="card_every"):
        st.markdown(f"**{t('measured.every')}**")
        st.html(f'<div class="cs-note">{html.escape(t("measured.every.note"))}</div>')
        st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_every")


def _scatter(shown: Shown) -> None:
    """Predicted against measured busbw, a dot per size of every published run; on the diagonal they agree."""
    table, dark = kept_all(), is_dark()
    frame = table[table["busbw"] > 0].assign(
        measured=table["busbw"],
        ours=table["predicted_busbw"],
        said=table["busbw"].map(format_bandwidth),
        predicted_said=table["predicted_busbw"].map(format_bandwidth),
        this=table["run"] == shown.run,
        name=table["title_zh" if language() == "zh" else "title"],
        size=table["nbytes"].map(format_bytes),
    )
    ends = [float(frame[["measured", "ours"]].min().min()) / 1.5, float(frame[["measured", "ours"]].max().max()) * 1.5]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    marks = axis(pd.Series(ends), 10)
    x = alt.X("measured:Q", scale=scale, title=t("measured.scatter.x"), axis=marks)
    y = alt.Y("ours:Q", scale=scale, title=t("measured.scatter.y"), axis=marks)
    line = pd.DataFrame(
        {"measured": ends, "ours": ends, "low": [v / NEAR for v in ends], "high": [v * NEAR for v in ends]}
    )
    shade = (
        alt.Chart(line)
        .mark_area(color=color("room", dark), opacity=0.2, clip=True)
        .encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q")
    )
    even = alt.Chart(line).mark_line(color=color("edge", dark), strokeWidth=1.4).encode(x=x, y=y)
    hue = alt.condition("datum.this", alt.value(color("full", dark)), alt.value(color("ink3", dark)))
    words = {"said": "measured.scatter.x", "predicted_said": "measured.scatter.y"}
    tips = ["name:N", "size:N", *(alt.Tooltip(f"{column}:N", title=t(key)) for column, key in words.items())]
    dots = alt.Chart(frame).mark_point(filled=True, size=40, opacity=0.6).encode(x=x, y=y, color=hue, tooltip=tips)
    picture = alt.layer(shade, even, dots).properties(height=340, description=t("measured.scatter"))
    with st.container(border=True, key="card_scatter"):
        st.markdown(f"**{t('measured.scatter')}**")
        st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_scatter")


def _map(run: Run) -> None:
    """NCCL's choice over size and number of nodes: a cell each, coloured by algorithm, lettered by protocol."""
    collective = run.collective if run.collective not in ("alltoall", "sendrecv") else "allreduce"
    table, dark = kept_choices(collective, run.facts), is_dark()
    sizes = table["nbytes"].sort_values().map(format_bytes).unique().tolist()
    frame = table.assign(size=table["nbytes"].map(format_bytes), said=table["time"].map(format_time))
    there = [name for name in _HUES if name in set(frame["algorithm"])]
    hues = alt.Scale(domain=there, range=[color(_HUES[name], dark) for name in there])
    x = alt.X(
        "size:O", sort=sizes, title=t("compare.size.axis"), axis=alt.Axis(labelAngle=-45, ticks=False, domain=False)
    )
    y = alt.Y("nodes:O", sort="descending", title=t("nodes"), axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    tips = [
        alt.Tooltip(f"{name}:N", title=t(key))
        for name, key in (("size", "nbytes"), ("algorithm", "measured.col.choice"))
    ]
    tips += [
        alt.Tooltip("protocol:N", title=t("measured.protocol")),
        alt.Tooltip("said:N", title=t("measured.col.predicted")),
    ]
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=tips)
    cells = base.mark_rect(stroke=color("card", dark), strokeWidth=2).encode(
        color=alt.Color("algorithm:N", scale=hues, legend=alt.Legend(orient="top", title=None))
    )
    words = base.mark_text(fontSize=12, fontWeight="bold", color=color("card", dark)).encode(text="protocol:N")
    picture = alt.layer(cells, words).properties(
        height=alt.Step(36), description=t("measured.map", collective=collective)
    )
    with st.container(border=True, key="card_map"):
        st.markdown(f"**{t('measured.map', collective=collective)}**")
        st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_map")


def _crossing(run: Run) -> None:
    """Allreduce by ring and by tree: predicted as lines, NCCL's tuner as dashes, and from which size on the ring is
    ahead."""
    found, dark = kept_crossing(run.facts), is_dark()
    table = found.table
    ratios = pd.DataFrame(
        {
            "nbytes": table["nbytes"],
            "line": table["ring"] / table["tree"],
            "tuner": table["ring_tuner"] / table["tree_tuner"],
        }
    )
    frame = ratios.melt("nbytes", ["line", "tuner"], "which", "ratio").dropna()
    frame = frame.assign(
        who=[t(f"measured.{which}") for which in frame["which"]], size=[format_bytes(int(n)) for n in frame["nbytes"]]
    )
    x = alt.X(
        "nbytes:Q",
        scale=alt.Scale(type="log", base=2, nice=False),
        title=t("compare.size.axis"),
        axis=axis(frame["nbytes"], 2),
    )
    ticks = alt.Axis(values=[0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8, 16, 32], labelExpr="format(datum.value, '~r') + '×'")
    y = alt.Y(
        "ratio:Q", scale=alt.Scale(type="log", nice=False, padding=14), title=t("measured.crossing.axis"), axis=ticks
    )
    names = [t("measured.line"), t("measured.tuner")]
    hue = alt.Color(
        "who:N",
        scale=alt.Scale(domain=names, range=[color("room", dark), color("edge", dark)]),
        legend=alt.Legend(title=None, orient="top", labelLimit=320),
    )
    dash = alt.StrokeDash("who:N", scale=alt.Scale(domain=names, range=[[1, 0], [3, 4]]), legend=None)
    tips = ["size:N", "who:N", alt.Tooltip("ratio:Q", format=".2f", title=t("measured.crossing.axis"))]
    even = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=color("ink3", dark)).encode(y="one:Q")
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.6, point=True)
        .encode(x=x, y=y, color=hue, strokeDash=dash, tooltip=tips)
    )
    said = (
        t("measured.crossing.never")
        if found.crossing is None
        else t("measured.crossing.at", size=_about(found.crossing))
    )
    picture = alt.layer(even, lines).properties(height=250, description=said)
    with st.container(border=True, key="card_crossing"):
        title = t("measured.crossing")
        st.markdown(f"**{title}** {said}")
        st.html(f'<div class="cs-note">{html.escape(t("measured.crossing.note"))}</div>')
        st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_crossing")


def _about(nbytes: float) -> str:
    """The power of two nearest to a crossing, which is no more exact than that."""
    return format_bytes(2 ** round(math.log2(nbytes)))


def _python(script: str) -> None:
    with st.expander(t("measured.python")):
        st.code(script, language="python")


def _rows(run: Run, table: pd.DataFrame) -> None:
    """Every size as a table, and where the figures come from."""
    if run.source:
        words = ", ".join(f"{name} {value}" for name, value in run.words if value)
        where = f'href="{html.escape(run.source, quote=True)}" target="_blank" rel="noopener"'
        link = f'<a style="color:inherit" {where}>{html.escape(t("measured.source", year=run.year))}</a>'
        st.html(f'<div class="cs-note">{link}. {html.escape(t("measured.words", words=words))}</div>')
    with st.expander(t("measured.rows")):
        shown = pd.DataFrame(
            {
                t("nbytes"): table["nbytes"].map(format_bytes),
                t("measured.col.time"): table["time"].map(format_time),
                t("measured.col.predicted"): table["predicted"].map(format_time),
                t("measured.col.ratio"): table["ratio"].map(lambda r: f"{r:.2f}"),
                t("measured.col.busbw"): table["busbw"].map(format_bandwidth),
                t("measured.col.pbusbw"): table["predicted_busbw"].map(format_bandwidth),
                t("measured.col.choice"): table["algorithm"] + " " + table["protocol"],
            }
        )
        st.dataframe(shown, hide_index=True, width="stretch", height=38 + 35 * len(shown))
