"""Measured: a published run or one's own log beside the prediction, how far off that is, and what would explain the
gap."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from collsim.display.markup import escape_text
from collsim.errors import CollsimError
from collsim.locale import translate
from collsim.nccl import Gap, MeasuredRun, load_published_runs
from collsim.nccl.libraries import mpi
from collsim.nccl.model.relative_error import BANDS
from collsim.nccl.nccl_prediction import BUSBW
from collsim.units import format_bandwidth, format_bytes, format_time

from ...scenario.choice import MAX_NODES
from ...shell.address import finish_controls, get_menu, get_remembered
from ...shell.charts import show_frame
from ...shell.controls import choose, choose_segment, draw_folded, forget, label_machine, number, switch
from ...shell.notes import (
    draw_assumptions,
    draw_card,
    draw_error,
    draw_headline,
    draw_note,
    format_figure,
    format_title,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.results import get_exact
from ...shell.session import choose_text, get_language, t
from . import comparison, measured_charts, nccl_log_comparison, osu_comparison
from .comparison import OWN, Selection
from .fitting import draw_calibration

PAGE = "measured"
_BANDS = tuple((name, low, high) for name, (_, low, high) in zip(("large", "middle", "small"), BANDS, strict=True))


@register_page(PAGE, 70, address=comparison.ADDRESS)
def draw() -> None:
    """Draw the page: controls, the verdict, the curves, what was tried, all runs."""
    selection: Selection = _draw_controls(get_remembered(PAGE))
    if selection.has_own_log:
        selection = _draw_own_log(selection)
    finish_controls(selection)
    if not selection.has_own_log:
        _draw_nccl_comparison(selection)
    elif not selection.text:
        draw_note(t("measured.empty"))
    elif osu_comparison.is_osu_log(selection.text):
        _draw_readable(_draw_mpi_comparison, selection)
    elif nccl_log_comparison.is_nccl_log(selection.text):
        _draw_readable(_draw_graphs, selection)
    else:
        _draw_nccl_comparison(selection)


def _draw_readable(part: Callable[[Selection], None], selection: Selection) -> None:
    """Draw a part of the page; a log that cannot be read leaves a sentence."""
    try:
        part(selection)
    except CollsimError as error:
        draw_error(error)


def _draw_nccl_comparison(selection: Selection) -> None:
    """A run beside what the model of NCCL predicts."""
    compared = get_exact(comparison.compare_with_model, selection)
    if compared is None:
        return
    run, table, gap = compared
    _draw_verdict(table, gap)
    if selection.has_own_log:
        draw_note(comparison.describe_release(run, selection).text(get_language()))
    measured_charts.draw_curves(table, gap, run)
    largest = comparison.predict_largest_size(run)
    draw_assumptions(largest.nbytes, largest.time, largest.interval(), largest.assumptions)
    if selection.has_own_log:
        draw_calibration(selection)
    left, right = st.columns([1, 1.15], gap="small")
    with left:
        measured_charts.draw_hypotheses(gap)
        measured_charts.list_worth(run)
        measured_charts.draw_scatter(selection)
        _draw_python(comparison.build_python(selection))
    with right:
        measured_charts.draw_every_run(selection)
    if run.facts.ranks > 1:
        left, right = st.columns([1.15, 1], gap="small")
        with left:
            measured_charts.map_(run)
        with right:
            measured_charts.draw_crossing(run)
    _draw_rows(run, table)


def _draw_mpi_comparison(selection: Selection) -> None:
    """An OSU log: its curves beside the MPI model's, which knows neither NCCL's choices nor causes of a gap."""
    table, case = comparison.compare_with_mpi(selection)
    where = t("measured.host" if case.gpu == "none" else "measured.gpus")
    words = t("measured.mpi", ranks=case.ranks, nodes=case.nodes, where=where)
    draw_headline(_format_errors(table), format_verdict(words, t("measured.mpi.note")))
    measured_charts.draw_legend(tuner=False, under=False)
    measured_charts.draw_charts(table)
    nbytes = int(table["nbytes"].max())
    interval, assumptions = mpi.predict_mpi_interval(case, nbytes), mpi.list_mpi_assumptions(case, nbytes)
    draw_assumptions(nbytes, interval.middle, interval, assumptions)
    _draw_python(osu_comparison.build_python(case))


def _draw_graphs(selection: Selection) -> None:
    """A log of NCCL: its rings and trees beside those that the search finds on the machine."""
    job = nccl_log_comparison.read_logged_job(selection.text, comparison.build_topology(selection))
    version = ""
    if job.version:
        version = f" {job.version}"
    counts = {"rings": job.rings.channels, "trees": job.trees.channels}
    transports = t("fit.comma").join(f"{name} × {count}" for name, count in job.transports)
    via = t("graphs.novia")
    if transports:
        via = t("graphs.via", ways=transports)
    draw_headline(format_verdict(t("graphs.job", version=version, ranks=job.ranks, nodes=job.nodes, **counts), via))
    for line in _describe_statements(job):
        draw_note(line)
    st.page_link(get_menu()["diagnosis"], label=t("measured.evidence"), icon=":material/troubleshoot:")
    for kind, orders in (("rings", job.rings), ("trees", job.trees)):
        with draw_card(f"graphs_{kind}", t(f"graphs.{kind}"), _format_equal_orders(orders)):
            _draw_orders(orders)
    draw_note(t("graphs.note"))


def _describe_statements(job: nccl_log_comparison.LoggedJob) -> list[str]:
    """What the log states of slow calls: their causes, fewer channels than the machine has, and variables."""
    lines = []
    if job.causes:
        causes = [translate(get_language(), "diagnosis", f"{cause}.title") for cause in job.causes]
        lines.append(t("graphs.causes", causes=choose_text((" ", "")).join(causes)))
    if job.causes and job.rings.channels < job.searched_channels:
        lines.append(t("graphs.fewchannels", logged=job.rings.channels, searched=job.searched_channels))
    if job.variables:
        lines.append(t("graphs.variables", variables=t("fit.comma").join(job.variables)))
    return lines


def _draw_orders(orders: nccl_log_comparison.Orders) -> None:
    """Those of the log and those that were found, side by side."""
    sides = {"logged": orders.logged, "found": orders.searched}
    for column, (side, counted_orders) in zip(st.columns(2, gap="small"), sides.items(), strict=True):
        rows = [(" ".join("–" if rank < 0 else str(rank) for rank in order), count) for order, count in counted_orders]
        table = pd.DataFrame(rows, columns=[t(f"graphs.{side}"), t("graphs.channels")])
        with column:
            show_frame(table)


def _format_equal_orders(orders: nccl_log_comparison.Orders) -> str:
    if orders.alike is None:
        return t("graphs.nothing")
    return t("graphs.alike", count=orders.alike, channels=orders.channels)


# ---- controls ------------------------------------------------------------------------------------------------------


def _draw_controls(selection: Selection) -> Selection:
    """One row: title, which run, what the model is told."""
    heading, which, facts_column = st.columns([3.2, 3.6, 2.6], vertical_alignment="bottom", gap="small")
    heading.html(format_title(t("measured.title"), t("measured.note")))
    with which:
        names = {name: _build_title(name) for name in (*load_published_runs(), OWN)}
        run = choose("e_run", t("measured.run"), names, selection.run)
    if run != selection.run:
        selection = replace(selection, run=run, plain=False)
        forget("e_told")
    tells = run != OWN and load_published_runs()[run].plain_run is not None
    with facts_column:
        words = {name: t(f"measured.told.{name}") for name in ("all", "plain")}
        facts_value = "all"
        if selection.plain and tells:
            facts_value = "plain"
        look: dict[str, Any] = {"disabled": not tells, "help": t("measured.told.help")}
        picked = choose_segment("e_told", list(words), facts_value, words.__getitem__, t("measured.told"), **look)
    return replace(selection, plain=tells and picked == "plain")


def _build_title(name: str) -> str:
    if name == OWN:
        return t("measured.own")
    return choose_text(load_published_runs()[name].title)


def _draw_own_log(selection: Selection) -> Selection:
    """A log of one's own, and where it ran."""
    before = selection
    drop, *columns = st.columns([2.9, 2, 1.05, 1.75, 1.9], vertical_alignment="bottom", gap="small")
    with drop:
        selection = _log(selection)
    selection = _choose_machine(selection, columns)
    if osu_comparison.is_osu_log(selection.text):
        with drop:
            selection = _choose_ranks(selection, before)
    if selection.text:
        return _choose_table(selection)
    return selection


def _log(selection: Selection) -> Selection:
    """The log that was given, or the sample; another one begins with what it says of its machine."""
    uploaded_file = st.file_uploader(t("measured.file"), type=["txt", "log", "out", "json", "gz"], key="w_e_file")
    pressed = uploaded_file is None and not selection.text and st.button(t("measured.sample"), key="w_e_sample")
    if pressed:
        text = comparison.sample()
    elif uploaded_file is not None:
        text = comparison.decode_text(uploaded_file.getvalue())
        if not text.strip():
            draw_error(CollsimError("{key} is empty", key=uploaded_file.name))
    else:
        text = selection.text
    if text == selection.text:
        return selection
    forget(*(f"e_{name}" for name in ("machine", "nodes", "table", "collective", "version")))
    selection = comparison.guess_machine(text, replace(selection, text=text, table=0, collective=""))
    if pressed:
        return replace(selection, machine=comparison.SAMPLE_MACHINE, nodes=2)
    return selection


def _choose_machine(selection: Selection, columns: list[Any]) -> Selection:
    """On which machine, on how many, and what was switched off."""
    where, nodes, p2p, gdr = columns
    with where:
        known = {name: label_machine(name) for name in comparison.list_machines()}
        selection = replace(selection, machine=choose("e_machine", t("measured.machine"), known, selection.machine))
    with nodes:
        selection = replace(selection, nodes=number("e_nodes", selection.nodes, 1, MAX_NODES, t("nodes")))
    switched: dict[str, Any] = {}
    for box, name in ((p2p, "p2p"), (gdr, "gdr")):
        is_idle = name == "gdr" and selection.nodes == 1
        with box:
            help = t(f"{name}.help")
            switched[name] = switch(f"e_{name}", getattr(selection, name), t(name), help, disabled=is_idle)
    return replace(selection, **switched)


def _choose_ranks(selection: Selection, before: Selection) -> Selection:
    """Ranks of an OSU log: one per GPU, until somebody says otherwise of this log on this machine."""
    if (selection.machine, selection.nodes) != (before.machine, before.nodes) or (
        before.text and selection.text != before.text
    ):
        selection = replace(selection, ranks=0)
        forget("e_ranks")
    most = comparison.MAX_MPI_RANKS
    count = number("e_ranks", comparison.count_ranks(selection), 2, most, t("measured.ranks"))
    if count == comparison.count_ranks(replace(selection, ranks=0)):
        count = 0
    return replace(selection, ranks=count)


def _choose_table(selection: Selection) -> Selection:
    """What the log leaves open: which of its tables, and which collective."""
    try:
        log = comparison.read_log(selection.text)
    except CollsimError:
        return selection  # the page says what is wrong with it
    tables = log["table"].nunique()
    if tables > 1:
        names = {k: str(k + 1) for k in range(tables)}
        selection = replace(selection, table=choose("e_table", t("measured.table"), names, selection.table))
    if log["collective"].isna().any():
        known = {"": t("measured.unknown"), **{name: name for name in BUSBW}}
        selection = replace(selection, collective=choose("e_collective", t("collective"), known, selection.collective))
    if osu_comparison.is_osu_log(selection.text) or not comparison.runs_on_nccl(selection):
        return replace(selection, version="")
    versions = {"": t("measured.unknown"), **{name: name for name in comparison.VERSIONS}}
    return replace(selection, version=choose("e_version", t("measured.version"), versions, selection.version))


# ---- verdict -------------------------------------------------------------------------------------------------------


def _draw_verdict(table: pd.DataFrame, gap: Gap) -> None:
    """Error by band of sizes, and what would explain the gap."""
    lead, below = _explain_gap(gap)
    token = "full"
    if gap.is_agreement:
        token = "done"
    draw_headline(
        _format_errors(table),
        format_verdict(lead, below, name=t("measured.gap"), name_style="color:var(--cs-ink2)", token=token),
    )
    if not gap.is_agreement:
        st.page_link(get_menu()["diagnosis"], label=t("measured.evidence"), icon=":material/troubleshoot:")


def _format_errors(table: pd.DataFrame) -> str:
    """How far off the prediction is, by band of sizes."""
    bands = [(name, table[(table["nbytes"] >= low) & (table["nbytes"] < high)]) for name, low, high in _BANDS]
    return "".join(_format_error(name, band) for name, band in bands if not band.empty)


def _format_error(name: str, band: pd.DataFrame) -> str:
    ratio = float(np.exp(np.median(np.log(band["ratio"]))))
    if abs(ratio - 1) < 0.03:
        direction = "even"
    elif ratio > 1:
        direction = "slower"
    else:
        direction = "faster"
    count = t("measured.sizes", count=len(band))
    number, unit = measured_charts.format_distance(abs(math.log(ratio)))
    return format_figure(t(f"measured.{name}"), number, unit, t(f"measured.off.{direction}"), count)


def _format_distance(distance: float) -> str:
    number, unit = measured_charts.format_distance(distance)
    if unit == "×":
        return t("measured.factor", factor=number)
    return number + unit


def _explain_gap(gap: Gap) -> tuple[str, str]:
    """The lead and the note of the verdict."""
    direction, distance = ("slower" if gap.ratio < 1 else "faster"), _format_distance(gap.distance)
    if gap.is_agreement:
        return t("measured.agree", apart=distance), t("measured.agree.note")
    if gap.verdict == "within":
        return t("measured.within", apart=distance), t("measured.within.note")
    if gap.verdict == "several":
        causes = t("measured.or").join(measured_charts.name_cause(c.key) for c in gap.alternatives)
        return t("measured.several", cause=causes), t(
            "measured.several.note", apart=distance, count=len(gap.alternatives)
        )
    if gap.best is None:
        return t("measured.none", count=len(gap.candidates)), t(f"measured.none.{direction}", apart=distance)
    causes = t("measured.or").join(measured_charts.name_cause(c.key) for c in (gap.best, *gap.alternatives))
    return t("measured.guess", cause=causes), t(
        f"measured.guess.{direction}", apart=distance, left=_format_distance(gap.best.distance)
    )


def _draw_python(script: str) -> None:
    with st.expander(t("measured.python")):
        st.code(script, language="python")


def _draw_rows(run: MeasuredRun, table: pd.DataFrame) -> None:
    """Every size as a table, and where the figures come from."""
    if run.source:
        words = ", ".join(f"{name} {value}" for name, value in run.table_words if value)
        where = f'href="{html.escape(run.source, quote=True)}" target="_blank" rel="noopener"'
        link = f'<a style="color:inherit" {where}>{escape_text(t("measured.source", year=run.year))}</a>'
        st.html(f'<div class="cs-note">{link}. {escape_text(t("measured.words", words=words))}</div>')
    draw_folded("rows", t("measured.rows"), lambda: _build_figures(table))


def _build_figures(table: pd.DataFrame) -> None:
    formats = {
        "nbytes": ("nbytes", format_bytes),
        "measured.col.time": ("time", format_time),
        "measured.col.predicted": ("predicted", format_time),
        "measured.col.ratio": ("ratio", "{:.2f}".format),
        "measured.col.busbw": ("busbw", format_bandwidth),
        "measured.col.pbusbw": ("predicted_busbw", format_bandwidth),
    }
    figures = pd.DataFrame({t(key): table[column].map(format_value) for key, (column, format_value) in formats.items()})
    figures[t("measured.col.choice")] = table["algorithm"] + " " + table["protocol"]
    show_frame(figures, height=38 + 35 * len(figures))
