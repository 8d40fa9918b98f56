"""One run, everything about it: the figures, the player, the traffic, and the same run as code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from collsim.registry import find
from collsim.units import format_bandwidth, format_bytes, format_time
from collsim.viz.timeline.document import MOST_TRANSFERS

from ...classroom import question_panel
from ...scenario import panels, snippets
from ...scenario.choice import Choice, own_options
from ...scenario.mistakes import sentence
from ...scenario.outcome import Outcome, build_place, expected_outcome, options_used, outcome
from ...scenario.run_questions import BrokenRun
from ...scenario.simple import run_name
from ...shell import codebox, filebox
from ...shell.address import leave
from ...shell.charts import MEBI, bar_column, number_column, show_frame, table, text_column
from ...shell.controls import tabs
from ...shell.notes import bound_note, complain, headline, mistake, note, quantity_figure, small, verdict
from ...shell.page import page
from ...shell.player import player
from ...shell.results import latest
from ...shell.session import language, session, t
from ...shell.sidebar import sidebar
from ...texts.catalogue import TEXTS
from . import breaking, chunk_plot, closing, first

MICRO = 1e6


@page(
    "explore",
    10,
    address=panels.ADDRESS,
    choice=True,
    moment=("t", "view", "node"),
    run=lambda _: None,
    settle=panels.settled,
)
def draw() -> None:
    """Draw the page. A choice that cannot run leaves a sentence and the last run that worked."""
    if session().panels.mode == panels.SIMPLE and filebox.uploaded() is None:
        first.draw()
        return
    sidebar("explore")
    leave()
    now = session()
    complain(now.complaints)
    if filebox.uploaded() is not None:
        _from_file(now.choice)
        return
    event = now.choice.engine == "event"
    found = latest(outcome, now.choice, expected=expected_outcome, compiled=event, otherwise=(Choice(),))
    if found is None:
        return
    shown, (now.good,) = found
    question_panel.draw_buttons()
    broken = breaking.panel(now.good)
    if broken is not None:
        _broken(broken, shown)
    elif not question_panel.draw_panel(now.good):
        _headline(shown)
        for pair in shown.notes:
            note(pair[language() == "zh"])
        if not closing.panel(now.good, shown):
            _whole(shown, run_name(now.good))
        _tables(shown, now.good)
    elif question_panel.is_run_visible():  # else the run would answer the question
        _whole(shown, run_name(now.good))


def _broken(broken: BrokenRun, shown: Outcome) -> None:
    """The run with one thing broken; the whole one where it cannot be played."""
    now = session()
    if broken.timeline is not None:
        _play(broken.timeline, f"{run_name(now.good)}&{now.panels}")
    else:
        _whole(shown, run_name(now.good))


def _whole(shown: Outcome, ident: str) -> None:
    """The run in the player; a sentence where it is too large for that."""
    if shown.timeline is None:
        note(t("player.large", transfers=f"{shown.figures.transfers:,}", limit=f"{MOST_TRANSFERS:,}"))
    else:
        _play(shown.timeline, ident)


def _from_file(choice: Choice) -> None:
    """A schedule that was uploaded: whether it is right, and the run of it."""
    found = filebox.played(choice)
    if found is None:
        return
    (shown, label, wrong), (upload, on) = found
    if wrong:
        mistake(t("files.wrong", name=upload.name, why=sentence(wrong, language())))
    else:
        note(t("files.right", name=upload.name, label=label))
    _headline(shown)
    _whole(shown, f"{run_name(on)}&file={hash(upload)}")
    _tables(shown, choice)


def _play(timeline: dict[str, Any], ident: str) -> None:
    """The player, from the moment of the address."""
    now = session()
    stands_in = (
        filebox.uploaded() is None and now.good != now.choice
    )  # the moment is one of the run that is still to come
    player(timeline, ident, {key: now.start[key] for key in now.start if key == "view" or not stands_in})


# ---- headline


def _headline(shown: Outcome) -> None:
    f = shown.figures
    steps = t("steps.one") if f.steps == 1 else t("steps.many", count=f"{f.steps:,}")
    rows = {
        "time": (format_time(f.time), t("time.note", ranks=f.ranks, steps=steps)),
        "algbw": (format_bandwidth(f.algbw), t("algbw.note", nbytes=format_bytes(f.nbytes))),
        "busbw": (format_bandwidth(f.busbw), t("busbw.note", factor=snippets.factor(f.factor, f.ranks))),
        "bound": (format_time(f.bound), bound_note(f.bound, f.gap)),
    }
    headline(*(quantity_figure(_named(name), value, of) for name, (value, of) in rows.items()), _why(shown))


def _named(name: str) -> str:
    """What a figure is called; the pointer over it says what it means."""
    return small(t(name) if name in TEXTS else name, about=t(f"{name}.help"))


def _why(shown: Outcome) -> str:
    """The bottleneck, what would change it, and what one channel would give."""
    neck = shown.bottleneck
    more = [neck["more"][language()]] if neck and neck.get("more") else []
    if shown.alone is not None:
        words = {"time": format_time(shown.alone.time), "busbw": format_bandwidth(shown.alone.busbw)}
        more.append(t("channels.one", channels=shown.channels, **words))
    return verdict(neck["text"][language()] if neck else t("bottleneck.none"), *more, name=_named("bottleneck"))


# ---- tables


def _tables(shown: Outcome, choice: Choice) -> None:
    parts: dict[str, Callable[[Outcome, Choice], None]] = {
        "tab.links": _links,
        "tab.ranks": _endpoints,
        "tab.steps": _steps,
    }
    if filebox.uploaded() is None:
        parts["tab.about"] = _about
        if "chunks" in own_options(choice.algorithm):
            parts["tab.chunks"] = lambda _, choice: chunk_plot.draw(choice)
        parts["tab.code"] = _code
    parts["tab.files"] = lambda _, choice: filebox.downloads(choice)
    tabs("tables", {name: partial(draw, shown, choice) for name, draw in parts.items()})


def _links(shown: Outcome, _choice: Choice) -> None:
    links = shown.links
    used = links[links["bytes"] > 0]
    note(t("links.note", used=len(used), all=len(links)))
    frame = links if st.toggle(t("links.idle"), key="w_idle") else used
    frame = frame.sort_values("share", ascending=False, kind="stable")
    table(
        {
            "link": (frame[language()], text_column("col.link", width="large")),
            "cable": (frame["label"], text_column("col.cable")),
            "bandwidth": (frame["bandwidth"] / 1e9, number_column("col.bandwidth")),
            "mib": (frame["bytes"] / MEBI, number_column("MiB")),
            "busy": (100 * frame["share"], bar_column("col.busy")),
        }
    )


def _endpoints(shown: Outcome, _choice: Choice) -> None:
    ends = shown.endpoints
    note(t("ranks.note"))
    ranks = int((~ends["helper"]).sum())
    names = [
        t("endpoint.rank", index=i) if i < ranks else t("endpoint.helper", index=i - ranks) for i in ends["endpoint"]
    ]
    most = float(max(ends["sent"].max(), ends["received"].max(), 1)) / MEBI
    moved = {name: (ends[name] / MEBI, bar_column(f"col.{name}", most, "%.4g")) for name in ("sent", "received")}
    table({"endpoint": (names, text_column("col.endpoint")), **moved})


def _steps(shown: Outcome, _choice: Choice) -> None:
    steps = shown.steps
    note(t("steps.note"))
    table(
        {
            "step": (steps["step"] + 1, number_column("col.step", "%d")),
            "start": (steps["start"] * MICRO, number_column("col.start", "%.5g")),
            "time": (steps["time"] * MICRO, number_column("col.length", "%.5g")),
            "transfers": (steps["transfers"], number_column("col.transfers", "%d")),
            "mib": (steps["bytes"] / MEBI, number_column("MiB")),
        }
    )


def _about(shown: Outcome, choice: Choice) -> None:
    """What the algorithm does, what it claims to cost and who says so, beside what this run did."""
    entry = find(choice.algorithm)
    chinese = language() == "zh"
    note(entry.says[chinese])
    steps, sent = shown.claimed
    counts = [
        (t("about.steps"), "" if steps is None else f"{steps:g}", f"{shown.figures.steps}"),
        (t("about.sent"), "" if sent is None else format_bytes(sent), format_bytes(int(shown.endpoints["sent"].max()))),
    ]
    show_frame(
        pd.DataFrame(counts, columns=["what", "claimed", "here"]),
        column_config={"what": "", "claimed": t("about.claimed"), "here": t("about.here")},
        width="content",
    )
    for key, words in (("about.formula", entry.formula), ("about.source", entry.source)):
        if words:
            note(f"{t(key)}{t('colon')}{words}")


def _code(shown: Outcome, choice: Choice) -> None:
    used = options_used(choice.algorithm, dict(choice.options), build_place(choice), choice.on_machine)
    codebox.of_run(choice, used, shown.figures.ranks)
