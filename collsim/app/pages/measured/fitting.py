"""The part of the Measured page that calibrates a machine to a log of one's own, and hands it on."""

from __future__ import annotations

from dataclasses import replace

import altair as alt
import pandas as pd
import streamlit as st

from collsim.display.markup import escape_text
from collsim.units import format_bytes, format_time

from ...scenario.choice import read_file_fields
from ...shell import charts
from ...shell.charts import Picture
from ...shell.look import color
from ...shell.notes import draw_headline, draw_note, format_figure, format_note, format_verdict
from ...shell.open_in import open_in
from ...shell.results import get_exact
from ...shell.session import is_dark, t
from . import comparison
from .comparison import Fitted, Selection

_FILE = "calibrated.yaml"
_ASKED = "measured_fit"
#: Median error at sizes left out that a calibration should stay within.
GOOD = 0.05


def draw_calibration(selection: Selection) -> None:
    """The button, and what the calibration found once it was asked for.

    Args:
        selection: The run that is chosen on the page Measured.
    """
    with st.container(border=True, key="card_fit"):
        words, button = st.columns([4, 1.2], vertical_alignment="center", gap="medium")
        words.html(f"<b>{escape_text(t('fit.title'))}</b>{format_note(t('fit.note'))}")
        if button.button(t("fit.do"), key="fit_do", type="primary", width="stretch"):
            st.session_state[_ASKED] = selection
        if st.session_state.get(_ASKED) != selection:
            return
        fitted: Fitted | None = get_exact(comparison.fit_machine, selection)
        if fitted is not None:
            _draw_fit(fitted)


def _draw_fit(fitted: Fitted) -> None:
    _draw_verdict(fitted)
    left, right = st.columns([1, 1.15], gap="medium")
    with left:
        _draw_parameters(fitted)
    with right:
        charts.draw_chart("fit", _draw_residuals, fitted.rows)
    save, use = st.columns([1.2, 3], vertical_alignment="center", gap="medium")
    save.download_button(t("fit.download"), fitted.yaml, _FILE, key="fit_yaml", on_click="ignore", width="stretch")
    with use:
        open_in(t("fit.open_in"), "open_in_fit", lambda choice: replace(choice, **read_file_fields(fitted.yaml)))


def _draw_verdict(fitted: Fitted) -> None:
    errors = {"fit.before": fitted.before, "fit.after": fitted.after, "fit.held": fitted.held_out}
    figures = [
        format_figure(t(key), *(("–", "") if value is None else (f"{100 * value:.1f}", " %")))
        for key, value in errors.items()
    ]
    key, token = "fit.poor", "full"
    if fitted.held_out is None:
        key = "fit.few"
    elif fitted.held_out <= GOOD:
        key, token = "fit.good", "done"
    draw_headline(*figures, format_verdict(t(key), t("fit.held.note"), token=token))


def _draw_parameters(fitted: Fitted) -> None:
    """Every knob that was turned, and what cables were found to carry."""
    rows = [(t(f"knob.{name}"), f"× {factor:.2f}") for name, factor in fitted.factors.items()]
    rows += [
        (
            t("fit.link", kind=kind),
            t("fit.carries", share=f"{100 * share:.0f} %", alpha=format_time(alpha)),
        )
        for kind, (share, alpha) in fitted.links.items()
    ]
    table = pd.DataFrame(rows, columns=[t("fit.parameter"), t("fit.found")])
    charts.show_frame(table, height=38 + 35 * len(table))
    if fitted.unknown:
        names = t("fit.comma").join(t(f"knob.{name}") for name in fitted.unknown)
        draw_note(f"{t('fit.unknown')} {names}")


def _draw_residuals(rows: pd.DataFrame) -> Picture:
    """Predicted over measured at every size, before and after."""
    dark, names = is_dark(), {"before": t("fit.before"), "after": t("fit.after")}
    frame = rows.melt(["collective", "nbytes", "measured"], ["before", "after"], "when", "seconds")
    frame = frame.assign(
        ratio=frame["seconds"] / frame["measured"],
        name=frame["when"].map(names),
        size=[format_bytes(int(n)) for n in frame["nbytes"]],
    )
    hues = alt.Scale(domain=list(names.values()), range=[color("ink3", dark), color("room", dark)])
    dots = alt.Chart(frame).mark_point(filled=True, size=60, opacity=0.85)
    dots = dots.encode(
        x=charts.build_size_axis(frame["nbytes"]),
        y=charts.build_factor_axis([0.1, 0.25, 0.5, 0.8, 1, 1.25, 2, 4, 10], t("fit.ratio"), padding=12),
        color=alt.Color("name:N", scale=hues, legend=alt.Legend(title=None, orient="top")),
        tooltip=[*map(alt.Tooltip, ("collective:N", "size:N", "name:N")), alt.Tooltip("ratio:Q", format=".3f")],
    )
    even = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=color("edge", dark)).encode(y=alt.Y("one:Q"))
    return charts.layer(even, dots, height=300, description=t("fit.ratio"))
