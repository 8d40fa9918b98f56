"""The view of the page Train on scaling and on what one slow GPU or one broken cable costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from collsim.display.markup import escape_markdown
from collsim.purchases import Goodput
from collsim.purchases.run_failures import format_long_time
from collsim.units import format_percent, format_time
from collsim.viz.sentences.words import name_kind

from ...shell import charts
from ...shell.look import color
from ...shell.notes import draw_error, draw_note, draw_part, explain, format_title
from ...shell.results import get_latest
from ...shell.session import choose_text, get_language, is_dark, t
from . import growth
from .growth import GrownStep
from .training_choice import PLAIN, TrainingChoice

_ROW = 64  # px of a fault: its name, and two bars below it
_AXIS = 104  # px of the axis below the bars and the names of their colours above
_ROOM = 1.5  # lengths of the longest bar, so that the text after it has room on a phone
#: One fault's colour for what all lose, and for what the slow GPU takes longer itself.
_HUES = {"lost": "full", "own": "room"}


def draw(choice: TrainingChoice, top: Any) -> None:
    """Curves and bars, each with its table.

    Args:
        choice: The step of training that is chosen.
        top: Container of the page's title.
    """
    with top:
        latest_result = get_latest(growth.measure_growth, choice, fallback=(PLAIN,))
    if latest_result is None:
        return
    growth_result: GrownStep = latest_result[0]
    with top:
        below = t("train.scaling.below", machine=growth_result.machine, time=format_time(growth_result.time))
        st.html(format_title(t("train.show.scaling"), below))
    draw_part(t("train.scaling"))
    if growth_result.refusal is not None:
        # An error of one kind of scaling does not hide the other.
        draw_error(growth_result.refusal)
    if growth_result.kinds:
        frame = _build_long_table(growth_result.kinds)
        draw_note(t("train.scaling.note"))
        charts.draw_chart("scaling", _build_curves, frame)
        charts.draw_table(_draw_columns(growth_result.kinds))
    elif growth_result.refusal is None:
        draw_note(t("train.scaling.one"))
    draw_part(t("train.loss"), "next")
    draw_note(t("train.loss.note", gpus=growth_result.ranks))
    charts.draw_chart("losses", _build_bars, _build_fault_rows(growth_result.lost))
    for row in growth_result.lost.to_dict("records"):
        if row["error"]:
            draw_note(
                t(
                    "train.loss.why",
                    name=_name_fault(growth_result.lost, row),
                    reason=explain(growth_result.lost.attrs["stops"][row["name"]]),
                )
            )
    charts.draw_table(_draw_lost(growth_result.lost))
    _draw_runs(growth_result.runs)


def _draw_runs(runs: Sequence[Goodput]) -> None:
    """What failures cost a run of weeks on the GPUs of the step, and on more."""
    language = get_language()
    draw_part(t("train.failures"), "next")
    st.markdown(escape_markdown(runs[0].text(language)))
    draw_note(t("train.failures.note"))
    cells = {
        "train.failures.gpus": [f"{run.gpus:,}" for run in runs],
        "train.failures.mtbf": [format_long_time(run.mtbf, language) for run in runs],
        "train.failures.interval": [format_long_time(run.interval, language) for run in runs],
        "train.failures.goodput": [format_percent(run.goodput) for run in runs],
        "train.failures.hours": [f"{run.lost_gpu_hours_per_day:,.0f}" for run in runs],
    }
    charts.draw_table({key: (cell, key) for key, cell in cells.items()})
    for source in runs[0].sources:
        draw_note(t("train.failures.source", source=source))


def _build_long_table(kinds: dict[str, pd.DataFrame]) -> pd.DataFrame:
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


def _build_curves(frame: pd.DataFrame) -> charts.Picture:
    """A line for each kind of scaling and what it is held against: its colour is the kind, dashes stand for one GPU."""
    dark = is_dark()
    frame = frame.assign(line=frame["kind"] + t("train.scaling.joint") + frame["against"])
    lines, kinds, against = (list(dict.fromkeys(frame[column])) for column in ("line", "kind", "against"))
    # Colours tell the kind of scaling and dashes the reference, so that both can be read in print.
    hue = dict(zip(kinds, [color("room", dark), color("full", dark)], strict=False))
    dash = dict(zip(against, [[1, 0], [6, 4]], strict=False))
    firsts = frame.drop_duplicates("line")
    hues = alt.Scale(domain=lines, range=[hue[kind] for kind in firsts["kind"]])
    dashes = alt.Scale(domain=lines, range=[dash[name] for name in firsts["against"]])
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
    return charts.layer(drawn, dots, height=320, description=t("train.show.scaling"), padding=charts.ROOM)


def _draw_columns(kinds: dict[str, pd.DataFrame]) -> dict[str, tuple[object, object]]:
    """Both kinds below each other."""
    tables = [table.assign(kind=t(f"train.scaling.{kind}")) for kind, table in kinds.items()]
    both = pd.concat(tables, ignore_index=True)
    return {
        "kind": (both["kind"], "train.scaling"),
        "gpus": (both["gpus"], charts.number_column("train.scaling.gpus", "%d")),
        "batch": (both["batch"], charts.number_column("split.batch", "%d")),
        "time": (_format_values(both["time"], format_time), "train.time"),
        "node": (_format_values(both["efficiency_node"], _format_share), "train.scaling.node"),
        "gpu": (_format_values(both["efficiency_gpu"], _format_share), "train.scaling.gpu"),
    }


def _format_share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _format_values(values: Iterable[float], format_value: Callable[[float], str]) -> list[str]:
    """A text for each value, a dash where there is none."""
    texts = []
    for value in values:
        if pd.isna(value):
            texts.append("–")
        else:
            texts.append(format_value(value))
    return texts


def _name_fault(lost: pd.DataFrame, row: dict[object, Any]) -> str:
    if row["what"] == "slow":
        return t("train.loss.slow", name=row["name"], factor=f"{row['factor']:g}")
    kind, ends = lost.attrs["cables"][row["name"]]
    called = t("train.loss.link")
    if kind != "cable":
        called = choose_text(name_kind(kind))
    return t("train.loss.cable", kind=called, ends=ends)


def _format_loss(seconds: float) -> str:
    """A loss, or the word for none."""
    if seconds:
        return format_time(seconds)
    return t("train.loss.none")


def _build_fault_rows(lost: pd.DataFrame) -> pd.DataFrame:
    """A row for each bar: what all lose, and what the slow one takes longer; 0 where the job stops, with a word."""
    rows = []
    for row in lost.to_dict("records"):
        stops = bool(pd.isna(row["lost"]))
        for whose in ("lost", "own"):
            if whose == "own" and pd.isna(row["own"]):
                continue
            seconds, text = 0.0, t("train.loss.stops")
            if not stops:
                seconds, text = row[whose], _format_loss(row[whose])
            named = {"name": _name_fault(lost, row), "whose": t(f"train.loss.{whose}")}
            rows.append({**named, "seconds": seconds, "text": text})
    return pd.DataFrame(rows)


def _build_bars(frame: pd.DataFrame) -> charts.Picture:
    """Bars with their names written above them and not beside: on a telephone there is no room beside."""
    dark = is_dark()
    whose, names = [t(f"train.loss.{name}") for name in _HUES], list(dict.fromkeys(frame["name"]))
    hues = alt.Scale(domain=whose, range=[color(name, dark) for name in _HUES.values()])
    # Names stand above their bars: beside them there is no room on a telephone.
    y = alt.Y("name:N", sort=names, axis=None, scale=alt.Scale(paddingInner=0.12))
    offset = alt.YOffset("whose:N", sort=["", *whose], scale=alt.Scale(domain=["", *whose]))
    room = alt.Scale(domain=[0, _ROOM * max(float(frame["seconds"].max()), 1e-9)], nice=False)
    unit, scale = next((u for u in reversed(charts.TIMES) if frame["seconds"].max() >= u[1]), charts.TIMES[0])
    ticks = alt.Axis(tickCount=5, labelExpr=f"format(datum.value/{scale}, '~r') + ' {unit}'")
    base = alt.Chart(frame).encode(
        y=y,
        yOffset=offset,
        x=alt.X("seconds:Q", title=t("train.loss.seconds"), scale=room, axis=ticks),
        tooltip=[alt.Tooltip(f"{column}:N", title=None) for column in ("name", "whose", "text")],
    )
    legend = alt.Legend(orient="top", direction="vertical", labelLimit=400)
    bars = base.mark_bar().encode(color=alt.Color("whose:N", scale=hues, title=None, legend=legend))
    look: dict[str, Any] = {"align": "left", "fontSize": 13, "baseline": "middle"}
    words = base.mark_text(dx=4, color=color("ink2", dark), **look).encode(text=alt.Text("text:N"))
    titles = alt.Chart(pd.DataFrame({"name": names, "whose": ""})).encode(y=y, yOffset=offset, x=alt.value(0))
    titles = titles.mark_text(color=color("ink", dark), **look).encode(text=alt.Text("name:N"))
    return charts.layer(
        bars, words, titles, height=_ROW * len(names) + _AXIS, description=t("train.loss"), padding=charts.ROOM
    )


def _draw_lost(lost: pd.DataFrame) -> dict[str, tuple[object, object]]:
    rows = lost.to_dict("records")
    times = [t("train.loss.stops") if pd.isna(row["time"]) else format_time(row["time"]) for row in rows]
    return {
        "name": ([_name_fault(lost, row) for row in rows], "train.loss.what"),
        "time": (times, "train.time"),
        "more": (_format_values(lost["more"], format_percent), "train.loss.more"),
        "lost": (_format_values(lost["lost"], _format_loss), "train.loss.lost"),
        "own": (_format_values(lost["own"], _format_loss), "train.loss.own"),
    }
