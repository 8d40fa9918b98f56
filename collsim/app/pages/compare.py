"""Algorithms on one machine over sizes: time and busbw on logarithmic axes, and where the lead changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

import collsim as cs
from collsim import nccl
from collsim.analysis.standing import in_order
from collsim.errors import CollsimError
from collsim.files import format_csv
from collsim.markup import escape_text
from collsim.simulate.variants import Search
from collsim.sweep.synthesized import SYNTHESIZED, can_be
from collsim.units import format_bandwidth, format_bytes, format_time

from ..scenario.address import size_word
from ..scenario.choice import Choice, usual_algorithms
from ..scenario.mistakes import sentence, tight
from ..scenario.outcome import Crossing, build_place, compare, compared, crossings, expected_compare
from ..scenario.panels import FULL
from ..shell import charts, codebox, filebox
from ..shell.address import leave, menu
from ..shell.charts import Picture, show_frame
from ..shell.controls import algorithm_label, folded, place_label
from ..shell.look import SERIES, color
from ..shell.notes import complain, heading, mistake, note, title, verdict
from ..shell.page import page
from ..shell.results import latest
from ..shell.session import forget_widgets, is_dark, language, session, t
from ..shell.sidebar import sidebar
from ..synthesis.box import offer
from ..synthesis.found import expected_of_run, reasons

_FEW_SIZES = "1KiB:1GiB:1024"  # of the comparison that stands in where the first one asked for cannot be made
_TALL = 440  # pixels of a chart
DASHES = [[1, 0], [8, 4], [2, 3], [12, 2, 2, 2]]


@page("compare", 30, choice=True)
def draw() -> None:
    """Draw the page. A choice that cannot run leaves a sentence and the last comparison that worked."""
    sidebar("compare")
    leave()
    now = session()
    st.html(title(t("compare.title")))
    complain(now.complaints)
    event = now.choice.engine == "event"
    made = latest(compare, now.choice, expected=expected_compare, compiled=event, otherwise=(Choice(sizes=_FEW_SIZES),))
    if made is None:
        _coming(now.choice)
        return
    table, (choice,) = made
    _lead(choice)
    good = _able(table, choice)
    note(t("compare.caveat"))
    if st.toggle(t("compare.nccl"), key="w_compare_nccl"):
        good = _with_nccl(good, choice)
    if not good.empty:
        _comparison(table, good, choice)


def _synthesis(choice: Choice) -> None:
    """The button that puts what is synthesized among the lines; then why it is as fast as it is at the largest size."""
    if not can_be(choice.collective):
        return
    if SYNTHESIZED not in choice.algorithms:
        offer("synthesis_add", t("synthesis.add"), t("synthesis.add.help"), _added)
        return
    nbytes = cs.size_range(choice.sizes)[-1]
    largest = replace(choice, nbytes=size_word(nbytes), algorithms=(), sizes=Choice.sizes)
    with st.container(border=True, key="card_synthesis"):
        head, button = st.columns([5, 1.4], vertical_alignment="center", gap="small")
        with head:
            heading(t("synthesis.at", nbytes=format_bytes(nbytes)))
        if button.button(t("synthesis.watch"), key="synthesis_watch", width="stretch"):
            _watch(largest.nbytes)
        found = latest(reasons, largest, expected=expected_of_run, compiled=True, only=True, in_worker=True)
        if found is not None:
            first, *lines = (pair[language() == "zh"] for pair in found[0])
            engine = t(
                "synthesis.engine" if choice.engine == "event" else "synthesis.other_engine", engine=choice.engine
            )
            st.html(verdict(first, *lines, engine, token="done", status=True))


def _added() -> None:
    now = session()
    usual = now.choice.algorithms or usual_algorithms(now.choice.collective)
    now.choice = replace(now.choice, algorithms=(*usual, SYNTHESIZED))
    forget_widgets("algorithms")


def _watch(nbytes: str) -> None:
    """Explore at this size, with the race open."""
    now = session()
    now.choice = replace(now.choice, nbytes=nbytes)
    now.panels = replace(now.panels, mode=FULL, synthesize=True, way="", seed=None)
    st.switch_page(menu()["explore"])


def _able(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The rows of algorithms that could run, with their names; a sentence for each of the others."""
    for name, why in table.attrs["refusals"].items():
        mistake(t("compare.failed", name=algorithm_label(name, choice.collective), why=sentence(why, language())))
    good = table[table["error"].isna()]
    good.attrs = {}  # said above; Arrow would warn of sentences that it cannot write
    return good.assign(name=[algorithm_label(name, choice.collective) for name in good["algorithm"]])


def _with_nccl(good: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The same rows and those of NCCL's model at their sizes; a sentence where it has none."""
    place, sizes = build_place(choice), sorted(set(good["nbytes"]))
    try:
        found = [nccl.predict(choice.collective, place, nbytes=int(size)) for size in sizes if size]
    except CollsimError as error:
        mistake(t("compare.nccl.none", why=sentence(error, language())))
        return good
    rows = [
        {
            "name": t("compare.nccl.name"),
            "nbytes": p.nbytes,
            "time": p.time,
            "busbw": p.busbw,
            "channels": 1,
            "chunks": 1,
        }
        for p in found
    ]
    return pd.concat([good, pd.DataFrame(rows)], ignore_index=True)


def _comparison(table: pd.DataFrame, good: pd.DataFrame, choice: Choice) -> None:
    """Who leads, both charts, the table, and the same as files and as code."""
    leaders, found = crossings(table)
    _sentences(choice, leaders, found)
    _legend(list(dict.fromkeys(good["name"])))
    for (what, card), marked in zip(_cards(), (found, []), strict=True):
        with card:
            _chart(good, what, marked)
    _synthesis(choice)
    _table(good, choice)
    folded("files", t("tab.files"), partial(filebox.of_comparison, choice))
    folded("code", t("compare.code"), partial(_code, choice))


def _code(choice: Choice) -> None:
    place = build_place(choice)
    codebox.of_comparison(choice, compared(choice, place), place.ranks)


def _cards() -> Iterator[tuple[str, Any]]:
    """The two cards side by side, each with its title."""
    for column, what in zip(st.columns(2, gap="small"), ("time", "busbw"), strict=True):
        card = column.container(border=True, key=f"card_{what}")
        with card:
            heading(t(f"compare.{what}"))
        yield what, card


def _coming(choice: Choice) -> None:
    """Before the first result: what is compared, and where the charts will stand."""
    _lead(choice)
    for _, card in _cards():
        card.html(f'<div style="height:{_TALL}px;border-radius:6px;background:var(--cs-sunk)"></div>')


def _lead(choice: Choice) -> None:
    """What is compared, and among which channels and chunks each algorithm was let choose."""
    place = place_label(choice.place) + (f" × {choice.copies}" if choice.copies > 1 else "")
    topology = build_place(choice)
    words = t("compare.lead", collective=choice.collective, place=place, ranks=topology.ranks, engine=choice.engine)
    note(f"{words} {t('compare.search', search=Search.on(topology))}")


def _sentences(choice: Choice, leaders: list[str], found: list[Crossing]) -> None:
    def named(name: str) -> str:
        return algorithm_label(name, choice.collective)

    lines = [
        t("compare.cross", first=named(c.first), second=named(c.second), nbytes=format_bytes(c.nbytes)) for c in found
    ] or [t("compare.nocross", first=named(name)) for name in leaders[:1]]
    st.html(verdict([tight(line) for line in lines], token="done") if lines else "<span></span>")


# ---- charts --------------------------------------------------------------------------------------------------------


def _legend(names: list[str]) -> None:
    """One line for both charts: a stroke, and the name."""
    dark = is_dark()
    items = []
    for i, name in enumerate(names):
        hue, dash = _stroke(i, dark)
        kind = ("solid", "dashed", "dotted", "double")[DASHES.index(dash)]
        items.append(f'<span><i style="border-top:4px {kind} {hue}"></i>{escape_text(name)}</span>')
    st.html(f'<div class="cs-legend">{"".join(items)}</div>')


def _stroke(index: int, dark: bool) -> tuple[str, list[int]]:
    """Hue and dashes of a line; both change, so that no two of the first two dozen are alike."""
    return color(SERIES[index % len(SERIES)], dark), DASHES[(index // len(SERIES) + index % 2) % len(DASHES)]


def _chart(good: pd.DataFrame, what: str, found: list[Crossing]) -> None:
    said = format_time if what == "time" else format_bandwidth
    frame = good[["nbytes", "name", "chunks", what]].assign(said=[said(value) for value in good[what]])
    frame = frame.assign(size=[format_bytes(n) for n in frame["nbytes"]])
    frame = frame[frame[what] > 0]
    if frame.empty:  # a single rank has no busbw
        note(t("compare.nothing"))
        return
    charts.chart(what, _picture, frame, what, list(dict.fromkeys(good["name"])), found)


def _picture(frame: pd.DataFrame, what: str, names: list[str], found: list[Crossing]) -> Picture:
    """Lines over sizes, what the pointer over them shows, and where the lead changes."""
    lines = _lines(frame, what, names)
    tips = charts.tips(name="algorithm", size="nbytes", said=f"compare.{what}.axis", chunks="option.chunks")
    near = lines.mark_point(size=90, opacity=0).encode(tooltip=tips)
    near_axis = float(frame["nbytes"].min()) * (frame["nbytes"].max() / frame["nbytes"].min()) ** 0.2
    layers = lines, near, *_marks(found, near_axis, is_dark())
    look = {"height": _TALL, "description": t(f"compare.{what}"), "padding": charts.ROOM}
    made: Picture = alt.layer(*layers).properties(**look)
    return made


def _lines(frame: pd.DataFrame, what: str, names: list[str]) -> alt.Chart:
    """A line for each algorithm, in its hue and dashes."""
    hues, dashes = zip(*(_stroke(i, is_dark()) for i in range(len(names))), strict=True)
    upwards = charts.axis(frame[what], 10)
    made: alt.Chart = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.8)
        .encode(
            x=charts.size_axis(frame["nbytes"]),
            y=alt.Y(f"{what}:Q", scale=alt.Scale(type="log"), title=t(f"compare.{what}.axis"), axis=upwards),
            color=alt.Color("name:N", scale=alt.Scale(domain=names, range=list(hues)), legend=None),
            strokeDash=alt.StrokeDash("name:N", scale=alt.Scale(domain=names, range=list(dashes)), legend=None),
        )
    )
    return made


def _marks(found: list[Crossing], near: float, dark: bool) -> list[Any]:
    """A rule, a ring and a label where the lead changes; `near` are the bytes below which a label has no room to its
    left."""
    if not found:
        return []
    frame = pd.DataFrame([{"nbytes": c.nbytes, "time": c.time, "label": format_bytes(c.nbytes)} for c in found])
    ink = color("ink", dark)
    base = alt.Chart(frame).encode(x=alt.X("nbytes:Q"))
    rule = base.mark_rule(color=ink, strokeDash=[4, 4], strokeWidth=1.2)
    dot = base.mark_point(color=ink, filled=False, size=150, strokeWidth=2, opacity=1).encode(y=alt.Y("time:Q"))
    return [rule, dot, *(_mark_label(frame.iloc[[i]], i % 5, near, ink) for i in range(len(frame)))]


def _mark_label(frame: pd.DataFrame, line: int, near: float, ink: str) -> Any:
    """A label, each on a line of its own: to the right of a mark near the axis, to the left of any other."""
    side: Any = {"align": "left", "dx": 6} if frame["nbytes"].iloc[0] < near else {"align": "right", "dx": -6}
    label = alt.Chart(frame).mark_text(color=ink, fontSize=14, fontWeight="bold", baseline="top", **side)
    down: Any = alt.YValue(4 + 19 * line)  # type: ignore[no-untyped-call]
    return label.encode(x=alt.X("nbytes:Q"), y=down, text=alt.Text("label:N"))


# ---- table ---------------------------------------------------------------------------------------------------------


def _cell(row: Mapping[Any, Any]) -> str:
    """A time, with the channels and chunks that were chosen where they are more than one each."""
    chosen = "" if row["channels"] == row["chunks"] == 1 else f" ({row['channels']} × {row['chunks']})"
    return format_time(row["time"]) + chosen


def _table(good: pd.DataFrame, choice: Choice) -> None:
    head, button = st.columns([4, 1], vertical_alignment="bottom")
    with head:
        heading(t("compare.table"))
    csv = format_csv(good.drop(columns=["error", "name"]))
    button.download_button(
        t("compare.csv"), csv, f"collsim-{choice.collective}.csv", "text/csv", on_click="ignore", width="stretch"
    )
    first = in_order(good, "nbytes", "time", "algorithm").drop_duplicates("nbytes")
    cells = good.assign(cell=[_cell(row) for row in good.to_dict("records")])
    shown = cells.pivot_table(index="nbytes", columns="name", values="cell", aggfunc="first", sort=False).sort_index()
    shown.insert(0, t("nbytes"), [format_bytes(n) for n in shown.index])
    shown[t("compare.fastest")] = first.set_index("nbytes")["name"]
    show_frame(shown, height=min(520, 38 + 35 * len(shown)))
