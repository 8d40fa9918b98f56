"""Time over the number of chunks for one algorithm: too few do not overlap, too many pay alpha; the best is marked."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from collsim.analysis.ranking import round_time
from collsim.units import format_time

from ...scenario.choice import Choice
from ...shell import charts
from ...shell.look import color
from ...shell.notes import draw_note, format_verdict
from ...shell.results import get_exact
from ...shell.session import is_dark, t
from .chunk_search import search_chunks


def draw(choice: Choice) -> None:
    """Asked for by a button: it takes many runs.

    Args:
        choice: The run that is chosen.
    """
    if st.button(t("chunks.find"), key="chunks_find"):
        st.session_state["chunks_asked"] = choice
    draw_note(t("chunks.note"))
    if st.session_state.get("chunks_asked") != choice:
        return
    table: pd.DataFrame | None = get_exact(search_chunks, choice)
    if table is None:
        return
    best = min(table.to_dict("records"), key=lambda row: round_time(row["time"]))
    st.html(format_verdict(t("chunks.best", count=best["chunks"], time=format_time(best["time"])), token="done"))
    charts.draw_chart("chunks", _build_picture, table)


def _build_picture(table: pd.DataFrame) -> charts.Picture:
    dark = is_dark()
    frame = table.assign(text=[format_time(value) for value in table["time"]])
    upwards = charts.build_axis(frame["time"], 10)
    base = alt.Chart(frame).encode(
        x=alt.X("chunks:Q", scale=alt.Scale(type="log", base=2, nice=False), title=t("option.chunks")),
        y=alt.Y("time:Q", scale=alt.Scale(type="log"), title=t("compare.time.axis"), axis=upwards),
        tooltip=charts.build_tips(chunks="option.chunks", text="compare.time.axis"),
    )
    line = base.mark_line(color=color("room", dark), strokeWidth=2.8)
    dots = base.mark_point(color=color("room", dark), filled=True, size=60, opacity=1)
    best = base.transform_filter(alt.datum.time == float(table["time"].min()))
    top = best.mark_point(color=color("ink", dark), size=220, strokeWidth=2)
    return charts.layer(line, dots, top, height=300, description=t("tab.chunks"))
