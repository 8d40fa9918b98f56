"""The view of the page Train on scaling and on what one slow GPU or one broken cable costs."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from collsim.units import format_time
from collsim.viz.sentences.words import name_kind

from ...scenario.mistakes import sentence
from ...shell import charts
from ...shell.look import color
from ...shell.notes import mistake, note, part, title
from ...shell.results import latest
from ...shell.session import is_dark, language, t
from . import growth
from .asked import PLAIN, TrainingChoice
from .growth import GrownStep

_ROW = 64  # px of a trouble: its name, and two bars below it
_AXIS = 104  # px of the axis below the bars and the names of their colours above
_ROOM = 1.5  # of the longest bar, so that what is written behind it has room on a telephone
#: One trouble's colour for what all lose, and for what the slow GPU takes longer itself.
_HUES = {"lost": "full", "own": "room"}


def draw(choice: TrainingChoice, top: Any) -> None:
    """Curves and bars, each with its table."""
    with top:
        found = latest(growth.grown, choice, expected=growth.expected, compiled=True, otherwise=(PLAIN,))
    if found is None:
        return
    made: GrownStep = found[0]
    with top:
        below = t("train.scaling.below", place=made.place, time=format_time(made.time))
        st.html(title(t("train.show.scaling"), below))
    part(t("train.scaling"))
    if made.trouble is not None:
        mistake(sentence(made.trouble, language()))
    if made.kinds:
        frame = _long(made.kinds)
        note(t("train.scaling.note"))
        charts.chart("scaling", _curves, frame)
        charts.table(_columns(made.kinds))
    elif made.trouble is None:
        note(t("train.scaling.one"))
    part(t("train.loss"), "next")
    note(t("train.loss.note", gpus=made.ranks))
    charts.chart("losses", _bars, _troubles(made.lost))
    for row in made.lost.to_dict("records"):
        if row["error"]:
            note(t("train.loss.why", name=_said(row), why=_why(made, row["name"])))
    charts.table(_lost(made.lost))


def _long(kinds: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """A row for each point of each curve."""
    rows = [
        {
            "gpus": str(row["gpus"]),
            "efficiency": 100 * row[f"efficiency_{against}"],
            "kind": t(f"train.scaling.{kind}"),
            "against": t(f"train.scaling.{against}"),
        }
        for kind, table in kinds.items()
        for against in ("node", "gpu")
        for row in table.to_dict("records")
    ]
    return pd.DataFrame(rows).dropna()


def _curves(frame: pd.DataFrame) -> charts.Picture:
    """A line for each kind of scaling and what it is held against: its colour is the kind, dashes stand for one GPU."""
    dark = is_dark()
    frame = frame.assign(line=frame["kind"] + t("train.scaling.joint") + frame["against"])
    lines, kinds, against = (list(dict.fromkeys(frame[column])) for column in ("line", "kind", "against"))
    hue = dict(zip(kinds, [color("room", dark), color("full", dark)], strict=False))
    dash = dict(zip(against, [[1, 0], [6, 4]], strict=False))
    firsts = frame.drop_duplicates("line")
    hues = alt.Scale(domain=lines, range=[hue[kind] for kind in firsts["kind"]])
    dashes = alt.Scale(domain=lines, range=[dash[one] for one in firsts["against"]])
    names = alt.Legend(orient="top", columns=2, symbolType="stroke", symbolSize=260, columnPadding=6)
    base = alt.Chart(frame).encode(
        x=alt.X("gpus:O", sort=None, title=t("train.scaling.gpus"), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("efficiency:Q", scale=alt.Scale(domain=[0, 105]), title=t("train.scaling.efficiency")),
        color=alt.Color("line:N", scale=hues, title=None, legend=names),
        tooltip=[
            alt.Tooltip("line:N", title=t("train.scaling")),
            alt.Tooltip("efficiency:Q", title=t("train.scaling.efficiency"), format=".1f"),
        ],
    )
    drawn = base.mark_line(strokeWidth=2.6)
    drawn = drawn.encode(strokeDash=alt.StrokeDash("line:N", scale=dashes, title=None, legend=names))
    dots = base.mark_point(filled=True, size=60, opacity=1)
    picture: charts.Picture = alt.layer(drawn, dots).properties(
        height=320, description=t("train.show.scaling"), padding=charts.ROOM
    )
    return picture


def _columns(kinds: dict[str, pd.DataFrame]) -> dict[str, tuple[Any, Any]]:
    """Both kinds below each other."""
    tables = [table.assign(kind=t(f"train.scaling.{kind}")) for kind, table in kinds.items()]
    both = pd.concat(tables, ignore_index=True)
    return {
        "kind": (both["kind"], charts.text_column("train.scaling")),
        "gpus": (both["gpus"], charts.number_column("train.scaling.gpus", "%d")),
        "batch": (both["batch"], charts.number_column("split.batch", "%d")),
        "time": (_times(both["time"]), charts.text_column("train.time")),
        "node": (_shares(both["efficiency_node"], ".1f"), charts.text_column("train.scaling.node")),
        "gpu": (_shares(both["efficiency_gpu"], ".1f"), charts.text_column("train.scaling.gpu")),
    }


def _shares(values: pd.Series[Any], form: str) -> list[str]:
    return ["–" if pd.isna(value) else f"{100 * value:{form}} %" for value in values]


def _times(values: pd.Series[Any]) -> list[str]:
    return ["–" if pd.isna(value) else format_time(value) for value in values]


def _losses(values: pd.Series[Any]) -> list[str]:
    return ["–" if pd.isna(value) else _lost_time(value) for value in values]


def _said(row: dict[Any, Any]) -> str:
    if row["what"] == "slow":
        return t("train.loss.slow", name=row["name"], factor=f"{row['factor']:g}")
    kind, _, ends = row["name"].partition(", ")
    called = t("train.loss.link") if kind == "cable" else name_kind(kind)[0 if language() == "en" else 1]
    return t("train.loss.cable", kind=called, ends=ends)


def _lost_time(seconds: float) -> str:
    """A loss, or the word for none."""
    return format_time(seconds) if seconds else t("train.loss.none")


def _why(made: GrownStep, name: str) -> str:
    """Why a job stops without a cable, which is named already, and so is not once more as a part of the place."""
    said = sentence(made.lost.attrs["stops"][name], language())
    colon = ": " if language() == "en" else "："
    return said.partition(colon)[2] if said.startswith(made.place) and colon in said else said


def _troubles(lost: pd.DataFrame) -> pd.DataFrame:
    """A row for each bar: what all lose, and what the slow one takes longer; 0 where the job stops, with a word."""
    rows = []
    for row in lost.to_dict("records"):
        stops = pd.isna(row["lost"])
        for whose in ("lost", "own"):
            if whose == "lost" or not pd.isna(row["own"]):
                seconds = 0.0 if stops else row[whose]
                word = t("train.loss.stops") if stops else _lost_time(seconds)
                rows.append({"name": _said(row), "whose": t(f"train.loss.{whose}"), "seconds": seconds, "said": word})
    return pd.DataFrame(rows)


def _bars(frame: pd.DataFrame) -> charts.Picture:
    """Bars with their trouble written above them and not beside: on a telephone there is no room beside."""
    dark = is_dark()
    whose, names = [t(f"train.loss.{name}") for name in _HUES], list(dict.fromkeys(frame["name"]))
    hues = alt.Scale(domain=whose, range=[color(name, dark) for name in _HUES.values()])
    y = alt.Y("name:N", sort=names, axis=None, scale=alt.Scale(paddingInner=0.12))
    offset = alt.YOffset("whose:N", sort=["", *whose], scale=alt.Scale(domain=["", *whose]))
    room = alt.Scale(domain=[0, _ROOM * max(float(frame["seconds"].max()), 1e-9)], nice=False)
    unit, scale = next((u for u in reversed(charts.TIMES) if frame["seconds"].max() >= u[1]), charts.TIMES[0])
    ticks = alt.Axis(tickCount=5, labelExpr=f"format(datum.value/{scale}, '~r') + ' {unit}'")
    base = alt.Chart(frame).encode(
        y=y,
        yOffset=offset,
        x=alt.X("seconds:Q", title=t("train.loss.seconds"), scale=room, axis=ticks),
        tooltip=[alt.Tooltip(f"{column}:N", title=None) for column in ("name", "whose", "said")],
    )
    legend = alt.Legend(orient="top", direction="vertical", labelLimit=400)
    bars = base.mark_bar().encode(color=alt.Color("whose:N", scale=hues, title=None, legend=legend))
    look: dict[str, Any] = {"align": "left", "fontSize": 13, "baseline": "middle"}
    words = base.mark_text(dx=4, color=color("ink2", dark), **look).encode(text=alt.Text("said:N"))
    titles = alt.Chart(pd.DataFrame({"name": names, "whose": ""})).encode(y=y, yOffset=offset, x=alt.value(0))
    titles = titles.mark_text(color=color("ink", dark), **look).encode(text=alt.Text("name:N"))
    picture: charts.Picture = alt.layer(bars, words, titles).properties(
        height=_ROW * len(names) + _AXIS, description=t("train.loss"), padding=charts.ROOM
    )
    return picture


def _lost(lost: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    rows = lost.to_dict("records")
    times = [t("train.loss.stops") if pd.isna(row["time"]) else format_time(row["time"]) for row in rows]
    return {
        "name": ([_said(row) for row in rows], charts.text_column("train.loss.what")),
        "time": (times, charts.text_column("train.time")),
        "more": (_shares(lost["more"], ".3g"), charts.text_column("train.loss.more")),
        "lost": (_losses(lost["lost"]), charts.text_column("train.loss.lost")),
        "own": (_losses(lost["own"]), charts.text_column("train.loss.own")),
    }
