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

from collsim.errors import CollsimError
from collsim.markup import escape_text
from collsim.nccl import Gap, MeasuredRun, load_published_runs
from collsim.nccl.nccl_prediction import BUSBW
from collsim.units import format_bandwidth, format_bytes, format_time

from ...scenario.choice import MOST_NODES
from ...scenario.mistakes import sentence
from ...shell.address import leave, remembered
from ...shell.charts import show_frame
from ...shell.controls import choose, folded, forget, place_label, start
from ...shell.notes import complain, figure, heading, headline, mistake, note, small, title, verdict
from ...shell.page import page
from ...shell.results import latest
from ...shell.session import language, session, t
from . import compared, nccl_log, osu, plots
from .compared import OWN, Selection
from .fitting import calibration

PAGE = "measured"
_BANDS = (("large", 2**24, 2**62), ("middle", 2**16, 2**24), ("small", 0, 2**16))


@page(PAGE, 70, address=compared.ADDRESS)
def draw() -> None:
    """Draw the page: controls, the verdict, the curves, what was tried, all runs."""
    shown: Selection = _controls(remembered(PAGE))
    if shown.own:
        shown = _own(shown)
    leave(shown)
    complain(session().complaints)
    if not shown.own:
        _over_nccl(shown)
    elif not shown.text:
        note(t("measured.empty"))
    elif osu.looks(shown.text):
        _readable(_over_mpi, shown)
    elif nccl_log.looks(shown.text):
        _readable(_graphs, shown)
    else:
        _over_nccl(shown)


def _readable(part: Callable[[Selection], None], shown: Selection) -> None:
    """Draw a part of the page; a log that cannot be read leaves a sentence."""
    try:
        part(shown)
    except CollsimError as error:
        mistake(sentence(error, language()))


def _over_nccl(shown: Selection) -> None:
    """A run beside what the model of NCCL predicts."""
    found = latest(compared.prepared, shown, expected=compared.expected_prepared, only=True)
    if found is None:
        return
    run, table, gap = found[0]
    _verdict(table, gap)
    if shown.own:
        note(compared.release_of(run, shown).text(language()))
    plots.curves(table, gap, run)
    if shown.own:
        calibration(shown)
    left, right = st.columns([1, 1.15], gap="small")
    with left:
        plots.tried(gap)
        plots.bought(run)
        plots.scatter(shown)
        _python(compared.python_of(shown))
    with right:
        plots.every(shown)
    if run.facts.ranks > 1:
        left, right = st.columns([1.15, 1], gap="small")
        with left:
            plots.map_(run)
        with right:
            plots.crossing(run)
    _rows(run, table)


def _over_mpi(shown: Selection) -> None:
    """An OSU log: its curves beside the MPI model's, which knows neither NCCL's choices nor causes of a gap."""
    table, case = compared.over_mpi(shown)
    where = t("measured.host" if case.gpu == "none" else "measured.gpus")
    words = t("measured.mpi", ranks=case.ranks, nodes=case.nodes, where=where)
    headline(_errors(table), verdict(words, t("measured.mpi.note")))
    plots.legend(tuner=False, under=False)
    plots.both_curves(table)
    _python(osu.python_of(case))


def _graphs(shown: Selection) -> None:
    """A log of NCCL: its rings and trees beside those that the search finds on the machine."""
    job = nccl_log.read(shown.text, compared.place_of(shown))
    version = f" {job.version}" if job.version else ""
    counts = {"rings": job.rings.channels, "trees": job.trees.channels}
    ways = t("fit.comma").join(f"{name} × {count}" for name, count in job.transports)
    headline(
        verdict(
            t("graphs.job", version=version, ranks=job.ranks, nodes=job.nodes, **counts),
            t("graphs.via", ways=ways) if ways else t("graphs.novia"),
        )
    )
    for kind, orders in (("rings", job.rings), ("trees", job.trees)):
        with st.container(border=True, key=f"card_graphs_{kind}"):
            heading(t(f"graphs.{kind}"), _alike(orders))
            _orders(orders)
    note(t("graphs.note"))


def _orders(orders: nccl_log.Orders) -> None:
    """Those of the log and those that were found, side by side."""
    sides = {"logged": orders.logged, "found": orders.found}
    for column, (side, those) in zip(st.columns(2, gap="small"), sides.items(), strict=True):
        rows = [(" ".join("–" if rank < 0 else str(rank) for rank in order), count) for order, count in those]
        table = pd.DataFrame(rows, columns=[t(f"graphs.{side}"), t("graphs.channels")])
        with column:
            show_frame(table)


def _alike(orders: nccl_log.Orders) -> str:
    if orders.alike is None:
        return t("graphs.nothing")
    return t("graphs.alike", count=orders.alike, channels=orders.channels)


# ---- controls ------------------------------------------------------------------------------------------------------


def _controls(shown: Selection) -> Selection:
    """One row: title, which run, what the model is told."""
    heading, which, said = st.columns([3.2, 3.6, 2.6], vertical_alignment="bottom", gap="small")
    heading.html(title(t("measured.title"), t("measured.note")))
    with which:
        names = {name: _title(name) for name in (*load_published_runs(), OWN)}
        run = choose("e_run", t("measured.run"), names, shown.run)
    if run != shown.run:
        shown = replace(shown, run=run, plain=False)
        forget("e_told")
    tells = run != OWN and load_published_runs()[run].plain_run is not None
    with said:
        words = {name: t(f"measured.told.{name}") for name in ("all", "plain")}
        key = start("e_told", "plain" if shown.plain and tells else "all", words)
        look: dict[str, Any] = {"width": "stretch", "disabled": not tells, "help": t("measured.told.help")}
        picked = st.segmented_control(
            t("measured.told"), list(words), format_func=words.__getitem__, key=key, required=True, **look
        )
    return replace(shown, plain=tells and picked == "plain")


def _title(name: str) -> str:
    return t("measured.own") if name == OWN else load_published_runs()[name].title[language() == "zh"]


def _own(shown: Selection) -> Selection:
    """A log of one's own, and where it ran."""
    before = shown
    drop, *places = st.columns([2.9, 2, 1.05, 1.75, 1.9], vertical_alignment="bottom", gap="small")
    with drop:
        shown = _log(shown)
    shown = _where(shown, places)
    if osu.looks(shown.text):
        with drop:
            shown = _ranks(shown, before)
    return _which(shown) if shown.text else shown


def _log(shown: Selection) -> Selection:
    """The log that was given, or the sample; another one begins with what it says of its machine."""
    given = st.file_uploader(t("measured.file"), type=["txt", "log", "out", "json"], key="w_e_file")
    pressed = given is None and not shown.text and st.button(t("measured.sample"), key="w_e_sample")
    text = compared.sample() if pressed else compared.text_of(given.getvalue()) if given is not None else shown.text
    if text == shown.text:
        return shown
    forget(*(f"e_{name}" for name in ("machine", "nodes", "table", "collective", "version")))
    shown = compared.guessed(text, replace(shown, text=text, table=0, collective=""))
    return replace(shown, machine=compared.SAMPLE_MACHINE, nodes=2) if pressed else shown


def _where(shown: Selection, columns: list[Any]) -> Selection:
    """On which machine, on how many, and what was switched off."""
    where, nodes, p2p, gdr = columns
    with where:
        known = {name: place_label(name) for name in compared.machines()}
        shown = replace(shown, machine=choose("e_machine", t("measured.machine"), known, shown.machine))
    with nodes:
        key = start("e_nodes", shown.nodes, range(1, MOST_NODES + 1))
        shown = replace(shown, nodes=int(st.number_input(t("nodes"), 1, MOST_NODES, key=key, step=1)))
    return replace(
        shown, p2p=_switch(p2p, "p2p", shown.p2p), gdr=_switch(gdr, "gdr", shown.gdr, disabled=shown.nodes == 1)
    )


def _ranks(shown: Selection, before: Selection) -> Selection:
    """Ranks of an OSU log: one per GPU, until somebody says otherwise of this log on this machine."""
    if (shown.machine, shown.nodes) != (before.machine, before.nodes) or (before.text and shown.text != before.text):
        shown = replace(shown, ranks=0)
        forget("e_ranks")
    key = start("e_ranks", compared.ranks_of(shown), range(2, compared.MOST_MPI + 1))
    said = int(st.number_input(t("measured.ranks"), 2, compared.MOST_MPI, key=key, step=1))
    return replace(shown, ranks=0 if said == compared.ranks_of(replace(shown, ranks=0)) else said)


def _which(shown: Selection) -> Selection:
    """What the log leaves open: which of its tables, and which collective."""
    try:
        log = compared.read_log(shown.text)
    except CollsimError:
        return shown  # the page says what is wrong with it
    tables = log["table"].nunique()
    if tables > 1:
        names = {k: str(k + 1) for k in range(tables)}
        shown = replace(shown, table=choose("e_table", t("measured.table"), names, shown.table))
    if log["collective"].isna().any():
        known = {"": t("measured.unknown"), **{name: name for name in BUSBW}}
        shown = replace(shown, collective=choose("e_collective", t("collective"), known, shown.collective))
    if osu.looks(shown.text) or not compared.on_nccl(shown):
        return replace(shown, version="")
    versions = {"": t("measured.unknown"), **{name: name for name in compared.VERSIONS}}
    return replace(shown, version=choose("e_version", t("measured.version"), versions, shown.version))


def _switch(box: Any, name: str, now: bool, disabled: bool = False) -> bool:
    key = start(f"e_{name}", now, (True, False))
    return bool(box.toggle(t(name), key=key, help=t(f"{name}.help"), disabled=disabled))


# ---- verdict -------------------------------------------------------------------------------------------------------


def _verdict(table: pd.DataFrame, gap: Gap) -> None:
    """Error by band of sizes, and what would explain the gap."""
    lead, below = _explained(gap)
    name = small(t("measured.gap"), "color:var(--cs-ink2)")
    headline(_errors(table), verdict(lead, below, name=name, token="done" if gap.is_agreement else "full"))


def _errors(table: pd.DataFrame) -> str:
    """How far off the prediction is, by band of sizes."""
    bands = [(name, table[(table["nbytes"] >= low) & (table["nbytes"] < high)]) for name, low, high in _BANDS]
    return "".join(_error(name, band) for name, band in bands if not band.empty)


def _error(name: str, band: pd.DataFrame) -> str:
    ratio = float(np.exp(np.median(np.log(band["ratio"]))))
    way = "even" if abs(ratio - 1) < 0.03 else "slower" if ratio > 1 else "faster"
    count = t("measured.sizes.one") if len(band) == 1 else t("measured.sizes.many", count=len(band))
    number, unit = plots.parts(abs(math.log(ratio)))
    return figure(small(t(f"measured.{name}")), number, unit, t(f"measured.off.{way}"), count)


def _apart(distance: float) -> str:
    number, unit = plots.parts(distance)
    return t("measured.factor", factor=number) if unit == "×" else number + unit


def _explained(gap: Gap) -> tuple[str, str]:
    """The lead and the note of the verdict."""
    way, apart = ("slower" if gap.ratio < 1 else "faster"), _apart(gap.distance)
    if gap.is_agreement:
        return t("measured.agree", apart=apart), t("measured.agree.note")
    if gap.verdict == "within":
        return t("measured.within", apart=apart), t("measured.within.note")
    if gap.verdict == "several":
        causes = t("measured.or").join(plots.cause(c.key) for c in gap.alternatives)
        return t("measured.several", cause=causes), t("measured.several.note", apart=apart, count=len(gap.alternatives))
    if gap.best is None:
        return t("measured.none", count=len(gap.candidates)), t(f"measured.none.{way}", apart=apart)
    causes = t("measured.or").join(plots.cause(c.key) for c in (gap.best, *gap.alternatives))
    return t("measured.guess", cause=causes), t(f"measured.guess.{way}", apart=apart, left=_apart(gap.best.distance))


def _python(script: str) -> None:
    with st.expander(t("measured.python")):
        st.code(script, language="python")


def _rows(run: MeasuredRun, table: pd.DataFrame) -> None:
    """Every size as a table, and where the figures come from."""
    if run.source:
        words = ", ".join(f"{name} {value}" for name, value in run.table_words if value)
        where = f'href="{html.escape(run.source, quote=True)}" target="_blank" rel="noopener"'
        link = f'<a style="color:inherit" {where}>{escape_text(t("measured.source", year=run.year))}</a>'
        st.html(f'<div class="cs-note">{link}. {escape_text(t("measured.words", words=words))}</div>')
    folded("rows", t("measured.rows"), lambda: _figures(table))


def _figures(table: pd.DataFrame) -> None:
    formats = {
        "nbytes": ("nbytes", format_bytes),
        "measured.col.time": ("time", format_time),
        "measured.col.predicted": ("predicted", format_time),
        "measured.col.ratio": ("ratio", "{:.2f}".format),
        "measured.col.busbw": ("busbw", format_bandwidth),
        "measured.col.pbusbw": ("predicted_busbw", format_bandwidth),
    }
    shown = pd.DataFrame({t(key): table[column].map(said) for key, (column, said) in formats.items()})
    shown[t("measured.col.choice")] = table["algorithm"] + " " + table["protocol"]
    show_frame(shown, height=38 + 35 * len(shown))
