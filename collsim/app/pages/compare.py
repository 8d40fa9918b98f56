"""Algorithms on one machine over sizes: time and busbw on logarithmic axes, and where the lead changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

import collsim as cs
from collsim import nccl
from collsim.analysis.ranking import sort_table
from collsim.display.markup import escape_text
from collsim.display.palette import SERIES
from collsim.errors import CollsimError
from collsim.files import format_csv
from collsim.simulate.variants import VariantSearch
from collsim.sweep.synthesized_algorithm import SYNTHESIZED, can_synthesize
from collsim.units import format_bandwidth, format_bytes, format_time
from collsim.viz.sentences.words import name_kind

from ..editor.machine_card import draw_machine_card
from ..editor.sidebar import draw_sidebar
from ..editor.upgrades_panel import draw_run_upgrades
from ..scenario.address_parameters import write_size
from ..scenario.choice import Choice, list_usual_algorithms
from ..scenario.mistakes import remove_chinese_spaces
from ..scenario.outcome import (
    Crossing,
    build_topology,
    compare,
    find_crossings,
    find_load_of_miss,
    find_near_misses,
    uses_events,
)
from ..scenario.panels import FULL
from ..shell import charts, codebox, filebox
from ..shell.address import get_menu, write_page_address
from ..shell.charts import Picture, show_frame
from ..shell.controls import draw_folded, label_algorithm, label_choice, label_machine
from ..shell.look import color
from ..shell.notes import (
    complain,
    draw_assumptions,
    draw_choice_notes,
    draw_heading,
    draw_mistake,
    draw_note,
    explain,
    format_title,
    format_verdict,
)
from ..shell.page import register_page
from ..shell.results import get_exact, get_latest
from ..shell.session import choose_text, forget_widgets, get_session, is_dark, set_panels, t
from ..synthesis.box import offer
from ..synthesis.synthesis_result import explain_synthesis

_FEW_SIZES = "1KiB:1GiB:1024"  # of the comparison that stands in where the first one asked for cannot be made
_TALL = 440  # pixels of a chart
#: Lengths of stroke and gap in px; the legend shows the last as a double line, as CSS has no such dashes.
DASHES = [[1, 0], [8, 4], [2, 3], [12, 2, 2, 2]]


@register_page("compare", 30, choice=True)
def draw() -> None:
    """Draw the page. A choice that cannot run leaves a sentence and the last comparison that worked."""
    draw_sidebar("compare")
    write_page_address()
    now = get_session()
    st.html(format_title(t("compare.title")))
    complain()
    event = uses_events(now.choice)
    draw_partial = partial(_draw_coming, now.choice) if event else None
    latest_result = get_latest(compare, now.choice, fallback=(Choice(sizes=_FEW_SIZES),), draw_partial=draw_partial)
    if latest_result is None:
        if not event:
            _draw_coming(now.choice, None)
        return
    table, (choice,) = latest_result
    runnable = _select_runnable(table, choice)
    if st.toggle(t("compare.nccl"), key="w_compare_nccl"):
        runnable = _with_nccl(runnable, choice)
    if not runnable.empty:
        _draw_comparison(table, runnable, choice)
    _build_lead(choice)
    draw_note(t("compare.caveat"))
    draw_machine_card(now.choice)
    largest = write_size(cs.size_range(now.choice.sizes)[-1])
    draw_run_upgrades(replace(now.choice, nbytes=largest))


def _draw_synthesis(choice: Choice) -> None:
    """The button that puts what is synthesized among the lines; then why it is as fast as it is at the largest size."""
    if not can_synthesize(choice.collective):
        return
    if SYNTHESIZED not in choice.algorithms:
        offer("synthesis_add", t("synthesis.add"), t("synthesis.add.help"), _add_synthesized)
        return
    nbytes = cs.size_range(choice.sizes)[-1]
    largest = replace(choice, nbytes=write_size(nbytes), algorithms=(), sizes=Choice.sizes)
    with st.container(border=True, key="card_synthesis"):
        head, button = st.columns([5, 1.4], vertical_alignment="center", gap="small")
        with head:
            draw_heading(t("synthesis.at", nbytes=format_bytes(nbytes)))
        if button.button(t("synthesis.watch"), key="synthesis_watch", width="stretch"):
            _watch(largest.nbytes)
        sentences = get_exact(explain_synthesis, largest)
        if sentences is not None:
            first, *lines = (choose_text(pair) for pair in sentences)
            engine = t(
                "synthesis.engine" if choice.engine == "event" else "synthesis.other_engine",
                engine=label_choice("engine", choice.engine),
            )
            st.html(format_verdict(first, *lines, engine, token="done", status=True))


def _add_synthesized() -> None:
    now = get_session()
    names = now.choice.algorithms or list_usual_algorithms(now.choice.collective)
    now.choice = replace(now.choice, algorithms=(*names, SYNTHESIZED))
    forget_widgets("algorithms")


def _watch(nbytes: str) -> None:
    """Explore at this size, with the race open."""
    now = get_session()
    now.choice = replace(now.choice, nbytes=nbytes)
    set_panels(mode=FULL, synthesize=True, fault="", seed=None)
    st.switch_page(get_menu()["explore"])


def _select_runnable(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The rows of algorithms that could run, with their names; a sentence for each of the others."""
    for name, reason in table.attrs["refusals"].items():
        draw_mistake(t("compare.failed", name=label_algorithm(name, choice.collective), reason=explain(reason)))
    return _name_rows(table, choice)


def _name_rows(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The rows of what could run, with the names of their algorithms."""
    runnable = table[table["error"].isna()]
    runnable.attrs = {}  # the page has them; Arrow would warn of sentences that it cannot write
    return runnable.assign(name=[label_algorithm(name, choice.collective) for name in runnable["algorithm"]])


def predict_sizes(choice: Choice, sizes: Iterable[int]) -> list[nccl.Prediction]:
    """NCCL's model at some sizes.

    Args:
        choice: The collective and the machine.
        sizes: Bytes.

    Raises:
        CollsimError: where NCCL does not run there
    """
    topology = build_topology(choice)
    return [nccl.predict(choice.collective, topology, nbytes=int(size)) for size in sizes]


def _with_nccl(runnable: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The same rows and those of NCCL's model at their sizes; a sentence where it has none, and what a program that
    registers its buffers would get instead."""
    try:
        predictions = predict_sizes(choice, (size for size in sorted(set(runnable["nbytes"])) if size))
    except CollsimError as error:
        draw_mistake(t("compare.nccl.none", reason=explain(error)))
        return runnable
    draw_choice_notes(predictions)
    if predictions:
        last, lead = predictions[-1], t("compare.nccl.name") + t("colon")
        draw_assumptions(last.nbytes, last.time, last.interval(), last.assumptions, lead)
    rows = [{"nbytes": p.nbytes, "time": p.time, "busbw": p.busbw, "channels": 1, "chunks": 1} for p in predictions]
    return pd.concat([runnable, pd.DataFrame(rows).assign(name=t("compare.nccl.name"))], ignore_index=True)


def _draw_comparison(table: pd.DataFrame, runnable: pd.DataFrame, choice: Choice) -> None:
    """Who leads, both charts, the table, and the same as files and as code."""
    leaders, lead_changes = find_crossings(table)
    _draw_sentences(choice, leaders, lead_changes, table)
    _draw_legend(list(dict.fromkeys(runnable["name"])))
    for (what, card), marked in zip(_create_cards(), (lead_changes, []), strict=True):
        with card:
            _draw_chart(runnable, what, marked)
    _draw_synthesis(choice)
    _draw_table(runnable, choice)
    draw_folded("files", t("tab.files"), partial(filebox.draw_comparison_downloads, choice))
    draw_folded("code", t("compare.code"), partial(codebox.draw_comparison_code, choice))


def _create_cards() -> Iterator[tuple[str, Any]]:
    """The two cards side by side, each with its title."""
    for column, what in zip(st.columns(2, gap="small"), ("time", "busbw"), strict=True):
        card = column.container(border=True, key=f"card_{what}")
        with card:
            draw_heading(t(f"compare.{what}"))
        yield what, card


def _draw_coming(choice: Choice, table: pd.DataFrame | None) -> None:
    """Before the result: what is compared, and the curves of the sizes that are done, or where they will be."""
    if table is not None and not (runnable := _name_rows(table, choice)).empty:
        _draw_legend(list(dict.fromkeys(runnable["name"])))
        for what, card in _create_cards():
            with card:
                _draw_chart(runnable, what, [])
    else:
        for _, card in _create_cards():
            card.html(f'<div style="height:{_TALL}px;border-radius:6px;background:var(--cs-sunk)"></div>')
    _build_lead(choice)


def _build_lead(choice: Choice) -> None:
    """What is compared, and among which channels and chunks each algorithm was let choose."""
    machine_label = label_machine(choice.machine) + (f" × {choice.copies}" if choice.copies > 1 else "")
    topology = build_topology(choice)
    words = t(
        "compare.lead",
        collective=choice.collective,
        machine=machine_label,
        ranks=topology.ranks,
        engine=label_choice("engine", choice.engine),
    )
    draw_note(f"{words} {t('compare.search', search=VariantSearch.for_topology(topology))}")


def _draw_sentences(choice: Choice, leaders: list[str], lead_changes: list[Crossing], table: pd.DataFrame) -> None:
    def format_name(name: str) -> str:
        """The label of an algorithm.

        Args:
            name: The name.
        """
        return label_algorithm(name, choice.collective)

    lines = [
        t("compare.cross", first=format_name(c.first), second=format_name(c.second), nbytes=format_bytes(c.nbytes))
        for c in lead_changes
    ] or [t("compare.nocross", first=format_name(name)) for name in leaders[:1]]
    for miss in find_near_misses(table)[:1]:
        names = {"name": format_name(miss.algorithm), "first": format_name(miss.first)}
        nbytes = format_bytes(miss.nbytes)
        if (ratio := f"{miss.ratio:.3g}") == "1":
            lines.append(t("compare.beside", **names, nbytes=nbytes))
        else:
            lines.append(t("compare.behind", **names, nbytes=nbytes, ratio=ratio))
        if (load := find_load_of_miss(choice, table, miss)) is not None:
            loads = {"slower": format_bytes(load.slower), "faster": format_bytes(load.faster)}
            lines.append(t("compare.load", **names, **loads, nbytes=nbytes, kind=choose_text(name_kind(load.kind))))
    lines = [remove_chinese_spaces(line[:1].upper() + line[1:]) for line in lines]
    st.html(format_verdict(lines, token="done") if lines else "<span></span>")


# ---- charts --------------------------------------------------------------------------------------------------------


def _draw_legend(names: list[str]) -> None:
    """One line for both charts: a stroke, and the name."""
    dark = is_dark()
    items = []
    for i, name in enumerate(names):
        hue, dash = _choose_stroke(i, dark)
        kind = ("solid", "dashed", "dotted", "double")[DASHES.index(dash)]
        items.append(f'<span><i style="border-top:4px {kind} {hue}"></i>{escape_text(name)}</span>')
    st.html(f'<div class="cs-legend">{"".join(items)}</div>')


def _choose_stroke(index: int, dark: bool) -> tuple[str, list[int]]:
    """Hue and dashes of a line; both change, so that no two of the first two dozen are alike."""
    return color(SERIES[index % len(SERIES)], dark), DASHES[(index // len(SERIES) + index % 2) % len(DASHES)]


def _draw_chart(runnable: pd.DataFrame, what: str, lead_changes: list[Crossing]) -> None:
    format_value: Callable[[float], str] = format_bandwidth
    if what == "time":
        format_value = format_time
    frame = runnable[["nbytes", "name", "chunks", what]].assign(text=[format_value(value) for value in runnable[what]])
    frame = frame.assign(size=[format_bytes(n) for n in frame["nbytes"]])
    frame = frame[frame[what] > 0]
    if frame.empty:  # a single rank has no busbw
        draw_note(t("compare.nothing"))
        return
    charts.draw_chart(what, _build_picture, frame, what, list(dict.fromkeys(runnable["name"])), lead_changes)


def _build_picture(frame: pd.DataFrame, what: str, names: list[str], lead_changes: list[Crossing]) -> Picture:
    """Lines over sizes, what the pointer over them shows, and where the lead changes."""
    lines = _build_lines(frame, what, names)
    tips = charts.build_tips(name="algorithm", size="nbytes", text=f"compare.{what}.axis", chunks="option.chunks")
    near = lines.mark_point(size=90, opacity=0).encode(tooltip=tips)
    near_axis = float(frame["nbytes"].min()) * (frame["nbytes"].max() / frame["nbytes"].min()) ** 0.2
    layers = lines, near, *_build_marks(lead_changes, near_axis, is_dark())
    look = {"height": _TALL, "description": t(f"compare.{what}"), "padding": charts.ROOM}
    return charts.layer(*layers, **look)


def _build_lines(frame: pd.DataFrame, what: str, names: list[str]) -> alt.Chart:
    """A line for each algorithm, in its hue and dashes."""
    hues, dashes = zip(*(_choose_stroke(i, is_dark()) for i in range(len(names))), strict=True)
    upwards = charts.build_axis(frame[what], 10)
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.8)
        .encode(
            x=charts.build_size_axis(frame["nbytes"]),
            y=alt.Y(f"{what}:Q", scale=alt.Scale(type="log"), title=t(f"compare.{what}.axis"), axis=upwards),
            color=alt.Color("name:N", scale=alt.Scale(domain=names, range=list(hues)), legend=None),
            strokeDash=alt.StrokeDash("name:N", scale=alt.Scale(domain=names, range=list(dashes)), legend=None),
        )
    )
    return chart


def _build_marks(lead_changes: list[Crossing], near: float, dark: bool) -> list[object]:
    """A rule, a ring and a label where the lead changes; `near` are the bytes below which a label has no room to its
    left."""
    if not lead_changes:
        return []
    frame = pd.DataFrame([{"nbytes": c.nbytes, "time": c.time, "label": format_bytes(c.nbytes)} for c in lead_changes])
    ink = color("ink", dark)
    base = alt.Chart(frame).encode(x=alt.X("nbytes:Q"))
    rule = base.mark_rule(color=ink, strokeDash=[4, 4], strokeWidth=1.2)
    dot = base.mark_point(color=ink, filled=False, size=150, strokeWidth=2, opacity=1).encode(y=alt.Y("time:Q"))
    return [rule, dot, *(_mark_label(frame.iloc[[i]], i % 5, near, ink) for i in range(len(frame)))]


def _mark_label(frame: pd.DataFrame, line: int, near: float, ink: str) -> object:
    """A label, each on a line of its own: to the right of a mark near the axis, to the left of any other."""
    if frame["nbytes"].iloc[0] < near:
        side: Any = {"align": "left", "dx": 6}
    else:
        side = {"align": "right", "dx": -6}
    label = alt.Chart(frame).mark_text(color=ink, fontSize=14, fontWeight="bold", baseline="top", **side)
    down: object = alt.YValue(4 + 19 * line)  # type: ignore[no-untyped-call]
    return label.encode(x=alt.X("nbytes:Q"), y=down, text=alt.Text("label:N"))


# ---- table ---------------------------------------------------------------------------------------------------------


def _format_cell(row: Mapping[Any, Any]) -> str:
    """A time, with the channels and chunks that were chosen where they are more than one each."""
    if row["channels"] == row["chunks"] == 1:
        chosen = ""
    else:
        chosen = f" ({row['channels']} × {row['chunks']})"
    return format_time(row["time"]) + chosen


def _draw_table(runnable: pd.DataFrame, choice: Choice) -> None:
    head, button = st.columns([4, 1], vertical_alignment="bottom")
    with head:
        draw_heading(t("compare.table"))
    csv = format_csv(runnable.drop(columns=["error", "name"]))
    button.download_button(
        t("compare.csv"), csv, f"collsim-{choice.collective}.csv", on_click="ignore", width="stretch"
    )
    first = sort_table(runnable, "nbytes", "time", "algorithm").drop_duplicates("nbytes")
    cells = runnable.assign(cell=[_format_cell(row) for row in runnable.to_dict("records")])
    pivot = cells.pivot_table(index="nbytes", columns="name", values="cell", aggfunc="first", sort=False).sort_index()
    pivot.insert(0, t("nbytes"), [format_bytes(n) for n in pivot.index])
    pivot[t("compare.fastest")] = first.set_index("nbytes")["name"]
    show_frame(pivot, height=min(520, 38 + 35 * len(pivot)))
