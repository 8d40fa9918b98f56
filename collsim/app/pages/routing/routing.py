"""The same cluster, a hundred seeds: how long a collective takes where a hash sends flows over the same cable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from collsim.display.markup import escape_markdown
from collsim.units import format_time

from ...editor.sidebar import choose_where
from ...scenario import snippets
from ...scenario.machine_parts import order_parts
from ...scenario.panels import FULL
from ...shell import charts
from ...shell.address import get_menu, get_remembered, write_page_address
from ...shell.codebox import draw_code_box
from ...shell.controls import choose_quantity
from ...shell.form import draw_field
from ...shell.look import color
from ...shell.notes import complain, draw_note, draw_part, format_title
from ...shell.page import register_page
from ...shell.results import get_latest
from ...shell.session import get_session, is_dark, set_panels, t
from .routing_runs import (
    ADDRESS,
    NO_PXN,
    PLAIN,
    CollisionLoad,
    CollisionStudy,
    RoutingChoice,
    study_collisions,
)

PAGE = "routing"
SIZES = ("1MiB", "16MiB", "64MiB", "256MiB", "1GiB")
#: Bars of the histogram.
_BINS = 30
_TALL = 250  # pixels of a picture


@register_page(PAGE, 45, address=ADDRESS)
def draw() -> None:
    """Draw the page: what and where in the sidebar, the times of all seeds, and the cables of one of them."""
    with st.sidebar:
        draw_part(t("what"))
        choice: RoutingChoice = draw_field(PAGE, get_remembered(PAGE), "algorithm")
        choice = replace(choice, nbytes=choose_quantity("nbytes", SIZES, choice.nbytes, prefix="routing_"))
        choice = choose_where(draw_field(PAGE, choice, "seeds"))
    st.html(format_title(t("page.routing"), t("routing.below")))
    complain()
    latest_result = get_latest(study_collisions, choice.compared, fallback=(PLAIN.compared,))
    if latest_result is not None:
        study, (compared,) = latest_result
        choice = _draw_study(study, compared, choice)
    write_page_address(choice)
    draw_code_box(build_script(choice), build_command(choice))


def _draw_study(study: CollisionStudy, compared: RoutingChoice, choice: RoutingChoice) -> RoutingChoice:
    """The sentence, the histogram and the cables of one seed; returns the choice with the seed that is chosen."""
    st.markdown(escape_markdown(_describe(study)))
    charts.draw_chart("routing_times", build_histogram, study.times)
    draw_part(t("routing.cables"), "next")
    choice = draw_field(PAGE, choice, "which")
    load = study.loads[choice.which]
    st.markdown(
        t(
            "routing.load",
            routing=label_routing(load.routing),
            seed=load.seed,
            time=format_time(load.time),
            flows=f"{load.cables['flows'].max():g}",
        )
    )
    charts.draw_chart("routing_cables", build_cables, load.cables, float(study.loads["worst"].cables["flows"].max()))
    if study.expected is not None:
        values = {"leaving": study.leaving, "uplinks": study.uplinks, "expected": f"{study.expected:.2f}"}
        draw_note(t("routing.balls", **values))
    if load.routing != NO_PXN and st.button(t("routing.explore", seed=load.seed), key="routing_explore"):
        _explore(compared, load)
    charts.show_frame(pd.DataFrame([_format_row(row) for row in study.rows]))
    draw_note(t("routing.model"))
    return choice


def _explore(choice: RoutingChoice, load: CollisionLoad) -> None:
    """Explore the run of this seed."""
    parts = [*choice.compared.parts, ("routing", load.routing)]
    if load.seed:
        parts.append(("hash_seed", load.seed))
    get_session().choice = replace(choice.run, parts=order_parts(parts))
    set_panels(mode=FULL, synthesize=False, fault="", seed=None)
    st.switch_page(get_menu()["explore"])


def _describe(study: CollisionStudy) -> str:
    """Median and 99 % of the routing that hashes each flow, beside the one without collisions."""
    rows = {row["routing"]: row for row in study.rows}
    hashed = rows.get(NO_PXN, rows["ecmp"])
    ideal = rows["spray"]["median"]
    return t(
        "routing.verdict",
        routing=label_routing(hashed["routing"]),
        seeds=hashed["runs"],
        median=format_time(hashed["median"]),
        p99=format_time(hashed["p99"]),
        ideal=format_time(ideal),
        factor=f"{hashed['median'] / ideal:.2f}",
        receiver=format_time(rows["d-mod-k"]["median"]),
    )


def label_routing(name: str) -> str:
    """What a routing is called.

    Args:
        name: as `machine` takes it, or `NO_PXN`.
    """
    if name == NO_PXN:
        return t("routing.no_pxn")
    return t(f"parts.routing.{name}")


def _format_row(row: dict[str, Any]) -> dict[str, str]:
    times = {t(f"routing.{name}"): format_time(row[name]) for name in ("best", "median", "p99", "worst")}
    return {
        t("parts.routing"): label_routing(str(row["routing"])),
        t("routing.runs"): str(row["runs"]),
        **times,
        t("routing.worst_seed"): str(row["worst_seed"]) if row["runs"] != 1 else "–",
        t("routing.flows"): f"{row['flows']:.3g}",
    }


def build_histogram(times: pd.DataFrame) -> charts.Picture:
    """How many seeds take how long, a row for each routing with seeds; routings without are lines over all.

    Args:
        times: a row for each run, as in `CollisionStudy`.
    """
    dark = is_dark()
    counts = times.groupby("routing", sort=False)["seed"].transform("size")
    seeded, single = times[counts > 1], times[(counts == 1) & times["routing"].isin(["d-mod-k", "spray"])]
    least, most = float(times["time"].min()), float(times["time"].max())
    width = (most - least) / _BINS or max(most, 1e-9) / _BINS
    bin_number = ((seeded["time"] - least) / width).astype(int).clip(upper=_BINS - 1)
    bars = (
        seeded.assign(low=least + bin_number * width)
        .groupby(["routing", "low"], sort=False)
        .size()
        .reset_index(name="runs")
    )
    bars = bars.assign(high=bars["low"] + width, floor=0, name=[label_routing(name) for name in bars["routing"]])
    lines = single.assign(name=[label_routing(name) for name in single["routing"]])
    names = [label_routing(name) for name in dict.fromkeys([*seeded["routing"], *single["routing"]])]
    hues = dict(zip(names, [color(token, dark) for token in ("room", "full", "done", "near", "ink")], strict=False))
    scale = alt.Scale(domain=list(hues), range=list(hues.values()))
    legend = alt.Legend(orient="top", columns=2, labelLimit=320)
    shade = alt.Color("name:N", scale=scale, title=None, legend=legend)
    x = alt.X("low:Q", title=t("time"), scale=alt.Scale(domain=[0, most + 2 * width]), axis=_build_time_axis(most))
    histogram = (
        alt.Chart(bars)
        .mark_bar(opacity=0.75, stroke=color("card", dark))
        .encode(x=x, x2="high:Q", y=alt.Y("runs:Q", stack=None, title=t("routing.runs")), y2="floor:Q", color=shade)
        .encode(tooltip=[alt.Tooltip("name:N", title=None), alt.Tooltip("runs:Q", title=t("routing.runs"))])
    )
    rules = alt.Chart(lines).mark_rule(strokeWidth=3, strokeDash=[6, 3]).encode(x="time:Q", color=shade)
    return charts.layer(histogram, rules, height=_TALL, description=t("page.routing"), padding=charts.ROOM)


def _build_time_axis(most: float) -> alt.Axis:
    """Ticks with their unit, from 0."""
    unit, size = next((u, s) for u, s in reversed(charts.TIMES) if most >= s or s == charts.TIMES[0][1])
    return alt.Axis(labelExpr=f"format(datum.value/{size}, '~r') + ' {unit}'", tickCount=8)


def build_cables(cables: pd.DataFrame, most: float) -> charts.Picture:
    """Draw a field for each cable between switches, once upwards and once downwards, with the flows on it.

    Args:
        cables: as in `CollisionLoad`.
        most: flows of the darkest field.
    """
    dark = is_dark()
    names = {"up": t("routing.up"), "down": t("routing.down")}
    frame = cables.assign(
        row=[f"{switch} {names[way]}" for switch, way in zip(cables["switch"], cables["direction"], strict=True)],
        text=[f"{flows:g}" for flows in cables["flows"]],
    )
    most = max(2.0, most)
    scale = alt.Scale(
        domain=[0, 1, most], range=[color(hue, dark) for hue in ("sunk", "fulltint", "full")], interpolate="rgb"
    )
    base = alt.Chart(frame).encode(
        x=alt.X("cable:O", title=t("routing.cable"), axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=charts.build_labels_axis("row", 140),
    )
    fields = base.mark_rect(stroke=color("card", dark), strokeWidth=2).encode(
        color=alt.Color("flows:Q", scale=scale, legend=None),
        tooltip=[alt.Tooltip(f"{column}:N", title=None) for column in ("row", "cable", "text")],
    )
    # On the darkest fields the text takes the colour of the card.
    shade = alt.condition(alt.datum.flows > 0.7 * most, alt.value(color("card", dark)), alt.value(color("ink", dark)))
    numbers = base.mark_text(fontSize=13).encode(text="text:N", color=shade)
    return charts.layer(
        fields, numbers, height=70 + 24 * frame["row"].nunique(), description=t("routing.cables"), padding=charts.ROOM
    )


def build_script(choice: RoutingChoice) -> str:
    """Python that prints the same table.

    Args:
        choice: What runs and where.
    """
    return snippets.write_script(
        f"m = {snippets.write_machine(choice.compared)}",
        f"s = cs.schedule({choice.algorithm!r}, topology=m)",
        f"times = cs.analysis.compare_routing(s, m, {choice.nbytes!r}, seeds={choice.seeds})",
        "print(times)",
    )


def build_command(choice: RoutingChoice) -> str:
    """The command that prints the same table.

    Args:
        choice: What runs and where.
    """
    words = ["collsim", "routing", choice.algorithm, *snippets.write_machine_words(choice.compared)]
    words += ["--nbytes", choice.nbytes, "--seeds", str(choice.seeds)]
    return snippets.join_words(words)
