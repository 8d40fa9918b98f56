"""The part of the Measured page that calibrates a machine to a log of one's own, and hands it on."""

from __future__ import annotations

import html
from dataclasses import replace

import altair as alt
import pandas as pd
import streamlit as st

from collsim.units import format_bytes, format_time

from ...scenario.choice import filed
from ...shell.look import chart_look, color
from ...shell.results import latest
from ...shell.session import is_dark, t
from ...shell.ticks import axis
from ..open_in import onward
from . import compared
from .compared import Fitted, Shown

_FILE = "calibrated.yaml"
_ASKED = "measured_fit"
#: Median error at sizes left out that a calibration should stay within.
GOOD = 0.05


def calibration(shown: Shown) -> None:
    """The button, and what the calibration found once it was asked for."""
    with st.container(border=True, key="card_fit"):
        words, button = st.columns([4, 1.2], vertical_alignment="center", gap="medium")
        words.html(f'<b>{html.escape(t("fit.title"))}</b><div class="cs-note">{html.escape(t("fit.note"))}</div>')
        if button.button(t("fit.do"), key="fit_do", type="primary", width="stretch"):
            st.session_state[_ASKED] = shown
        if st.session_state.get(_ASKED) != shown:
            return
        found = latest(compared.fitted, shown, expected=compared.expected_fitted, only=True)
        if found is not None:
            _found(found[0])


def _found(fitted: Fitted) -> None:
    _verdict(fitted)
    left, right = st.columns([1, 1.15], gap="medium")
    with left:
        _parameters(fitted)
    with right:
        _residuals(fitted)
    save, use = st.columns([1.2, 3], vertical_alignment="center", gap="medium")
    save.download_button(
        t("fit.download"), fitted.yaml, _FILE, "text/yaml", key="fit_yaml", on_click="ignore", width="stretch"
    )
    with use:
        onward(t("fit.onward"), "onward_fit", lambda choice: replace(choice, **filed(fitted.yaml)))


def _verdict(fitted: Fitted) -> None:
    figures = [("fit.before", fitted.before), ("fit.after", fitted.after), ("fit.held", fitted.held_out)]
    parts = "".join(
        f"<div class='cs-fig'><small>{html.escape(t(key))}</small><b>{'–' if value is None else f'{100 * value:.1f}'}"
        f"<i>{'' if value is None else chr(0xA0) + '%'}</i></b></div>"
        for key, value in figures
    )
    said = "fit.few" if fitted.held_out is None else "fit.good" if fitted.held_out <= GOOD else "fit.poor"
    hue, held = "done" if said == "fit.good" else "full", t("fit.held.note")
    st.html(
        f'<div class="cs-head">{parts}<div class="cs-why" '
        f'style="border-color:var(--cs-{hue})"><b>{html.escape(t(said))}</b>'
        f"<span>{html.escape(held)}</span></div></div>"
    )


def _parameters(fitted: Fitted) -> None:
    """Every knob that was turned, and what cables were found to carry."""
    rows = [(t(f"knob.{name}"), f"× {factor:.2f}") for name, factor in fitted.factors.items()]
    rows += [
        (
            t("fit.link", kind=kind),
            t("fit.carries", share=f"{100 * share:.0f}\N{NO-BREAK SPACE}%", alpha=format_time(alpha)),
        )
        for kind, (share, alpha) in fitted.links.items()
    ]
    table = pd.DataFrame(rows, columns=[t("fit.parameter"), t("fit.found")])
    st.dataframe(table, hide_index=True, width="stretch", height=38 + 35 * len(table))
    if fitted.unknown:
        names = t("fit.comma").join(t(f"knob.{name}") for name in fitted.unknown)
        st.html(f'<div class="cs-note">{html.escape(t("fit.unknown"))} {html.escape(names)}</div>')


def _residuals(fitted: Fitted) -> None:
    """Predicted over measured at every size, before and after."""
    dark, names = is_dark(), {"before": t("fit.before"), "after": t("fit.after")}
    frame = fitted.rows.melt(["collective", "nbytes", "measured"], ["before", "after"], "when", "seconds")
    frame = frame.assign(
        ratio=frame["seconds"] / frame["measured"],
        name=frame["when"].map(names),
        size=[format_bytes(int(n)) for n in frame["nbytes"]],
    )
    x = alt.X(
        "nbytes:Q",
        scale=alt.Scale(type="log", base=2, nice=False),
        title=t("compare.size.axis"),
        axis=axis(frame["nbytes"], 2),
    )
    ticks = alt.Axis(values=[0.1, 0.25, 0.5, 0.8, 1, 1.25, 2, 4, 10], labelExpr="format(datum.value, '~r') + '×'")
    y = alt.Y("ratio:Q", scale=alt.Scale(type="log", nice=False, padding=12), title=t("fit.ratio"), axis=ticks)
    hues = alt.Scale(domain=list(names.values()), range=[color("ink3", dark), color("room", dark)])
    hue = alt.Color("name:N", scale=hues, legend=alt.Legend(title=None, orient="top"))
    tips = ["collective:N", "size:N", "name:N", alt.Tooltip("ratio:Q", format=".3f")]
    dots = alt.Chart(frame).mark_point(filled=True, size=60, opacity=0.85).encode(x=x, y=y, color=hue, tooltip=tips)
    even = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=color("edge", dark)).encode(y="one:Q")
    picture = alt.layer(even, dots).properties(height=300, description=t("fit.ratio"))
    st.altair_chart(picture.configure(**chart_look(dark)), width="stretch", theme=None, key="chart_fit")
