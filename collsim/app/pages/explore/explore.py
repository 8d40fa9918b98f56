"""One run, everything about it: the figures, the player, the traffic, and the same run as code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from collsim.registry import get_algorithm
from collsim.units import format_bandwidth, format_bytes, format_time
from collsim.viz.timeline.timeline_document import MAX_TRANSFERS

from ...classroom import question_panel
from ...editor.machine_card import hear_edit
from ...editor.panel_document import describe_panel
from ...editor.sidebar import draw_sidebar
from ...editor.upgrades_panel import draw_run_upgrades
from ...scenario import panels, snippets
from ...scenario.choice import Choice, list_own_options
from ...scenario.outcome import Outcome, compute_outcome
from ...scenario.run_questions import BrokenRun
from ...scenario.simple_run import run_name
from ...shell import codebox, filebox
from ...shell.address import finish_controls
from ...shell.charts import MEBI, build_bar_column, build_text_column, draw_table, number_column, show_frame
from ...shell.controls import draw_tabs
from ...shell.notes import (
    describe_bound,
    draw_headline,
    draw_mistake,
    draw_note,
    explain,
    format_quantity,
    format_verdict,
)
from ...shell.page import register_page
from ...shell.player import Hidden, mount_player
from ...shell.results import get_latest
from ...shell.session import choose_text, get_language, get_session, t
from ...texts import has_text
from . import chunk_plot, fault_panel, first, gap_panel
from .pin import draw_pin

MICRO = 1e6


@register_page(
    "explore",
    10,
    address=panels.ADDRESS,
    choice=True,
    moment=("t", "view", "node"),
    run=lambda _: None,
    settle=panels.settle_mode,
)
def draw() -> None:
    """Draw the page. A choice that cannot run leaves a sentence and the last run that worked."""
    if get_session().panels.mode == panels.SIMPLE and filebox.get_upload() is None:
        first.draw()
        return
    draw_sidebar("explore")
    finish_controls()
    now = get_session()
    if filebox.get_upload() is not None:
        _from_file(now.choice)
        return
    latest_result = get_latest(compute_outcome, now.choice, fallback=(Choice(),))
    if latest_result is None:
        return
    run_shown, (choice_shown,) = latest_result
    now.last_good_choice = choice_shown
    question_panel.draw_buttons()
    broken = fault_panel.draw_broken_run(choice_shown)
    if broken is not None:
        _play_broken(broken, run_shown)
    elif now.panels.seed is not None:
        _ask(run_shown, choice_shown, now.panels.seed)
    else:
        _draw_headline(run_shown)
        for pair in run_shown.notes:
            draw_note(choose_text(pair))
        with st.container(key="run_actions", horizontal=True, gap="small"):
            gap_panel.draw_offer(choice_shown, run_shown)
            draw_pin(choice_shown)
        if not gap_panel.draw_closing(choice_shown):
            _play_whole(run_shown, run_name(choice_shown))
        _draw_tables(run_shown, choice_shown)
        draw_run_upgrades(choice_shown)


def _ask(outcome: Outcome, choice: Choice, seed: int) -> None:
    """A question beside the run, whose figures follow the answer."""
    text, picture = question_panel.create_columns()
    with text:
        is_hidden = question_panel.draw_panel(choice, seed)
    with picture:
        _play_whole(outcome, run_name(choice), hides="figures" if is_hidden else "")
    if not is_hidden:
        _draw_headline(outcome)
        _draw_tables(outcome, choice)


def _play_broken(broken: BrokenRun, outcome: Outcome) -> None:
    """The run with one thing broken; the whole one where it cannot be played."""
    now = get_session()
    if broken.timeline is not None:
        _play(broken.timeline, f"{run_name(now.last_good_choice)}&{now.panels}")
    else:
        _play_whole(outcome, run_name(now.last_good_choice))


def _play_whole(outcome: Outcome, ident: str, hides: Hidden = "") -> None:
    """The run in the player; a sentence where it is too large for that."""
    if outcome.timeline is None:
        draw_note(t("player.large", transfers=f"{outcome.figures.transfers:,}", limit=f"{MAX_TRANSFERS:,}"))
    else:
        _play(outcome.timeline, ident, hides)


def _from_file(choice: Choice) -> None:
    """A schedule that was uploaded: whether it is right, and the run of it."""
    played = filebox.get_played(choice)
    if played is None:
        return
    (outcome, label, wrong), (upload, on) = played
    if wrong:
        draw_mistake(t("files.wrong", name=upload.name, reason=explain(wrong)))
    else:
        draw_note(t("files.right", name=upload.name, label=label))
    _draw_headline(outcome)
    _play_whole(outcome, f"{run_name(on)}&file={hash(upload)}")
    _draw_tables(outcome, choice)


def _play(timeline: dict[str, object], ident: str, hides: Hidden = "") -> None:
    """The player, from the moment of the address."""
    now = get_session()
    # Until the chosen run is ready an earlier one stands in, which the moment of the address is not about.
    stands_in = filebox.get_upload() is None and now.last_good_choice != now.choice
    start = {key: now.start[key] for key in now.start if key == "view" or not stands_in}
    panel = None
    if filebox.get_upload() is None and not hides:
        panel = describe_panel(now.choice, now.last_good_choice if stands_in else None)
    exports = filebox.build_run_exports("player", now.last_good_choice)
    mount_player(
        timeline, ident, start, hides=hides, panel=panel, exports=exports, on_edit=partial(hear_edit, "player")
    )


# ---- headline


def _draw_headline(outcome: Outcome) -> None:
    f = outcome.figures
    steps = t("steps", count=f"{f.steps:,}")
    rows = {
        "time": (format_time(f.time), t("time.note", ranks=f.ranks, steps=steps)),
        "algbw": (format_bandwidth(f.algbw), t("algbw.note", nbytes=format_bytes(f.nbytes))),
        "busbw": (format_bandwidth(f.busbw), t("busbw.note", factor=snippets.write_factor(f.factor, f.ranks))),
        "bound": (format_time(f.bound), describe_bound(f.bound, f.gap)),
    }
    draw_headline(
        *(format_quantity(_name_figure(name), value, of, t(f"{name}.help")) for name, (value, of) in rows.items()),
        _describe_bottleneck(outcome),
    )


def _name_figure(name: str) -> str:
    return t(name) if has_text(name) else name


def _describe_bottleneck(outcome: Outcome) -> str:
    """The bottleneck, what would change it, and what one channel would give."""
    neck = outcome.bottleneck
    more = []
    if neck and neck.get("more"):
        more = [neck["more"][get_language()]]
    if outcome.alone is not None:
        words = {"time": format_time(outcome.alone.time), "busbw": format_bandwidth(outcome.alone.busbw)}
        more.append(t("channels.one", channels=outcome.channels, **words))
    head = neck["text"][get_language()] if neck else t("bottleneck.none")
    return format_verdict(head, *more, name=t("bottleneck"), about=t("bottleneck.help"))


# ---- tables


def _draw_tables(outcome: Outcome, choice: Choice) -> None:
    parts: dict[str, Callable[[Outcome, Choice], None]] = {
        "tab.links": _draw_links,
        "tab.ranks": _draw_endpoints,
        "tab.steps": _draw_steps,
    }
    if filebox.get_upload() is None:
        parts["tab.about"] = _draw_algorithm
        if "chunks" in list_own_options(choice.algorithm):
            parts["tab.chunks"] = lambda _, choice: chunk_plot.draw(choice)
        parts["tab.code"] = lambda _, choice: codebox.draw_run_code(choice)
    parts["tab.files"] = lambda _, choice: filebox.draw_downloads(choice)
    draw_tabs("tables", {name: partial(draw, outcome, choice) for name, draw in parts.items()})


def _draw_links(outcome: Outcome, _choice: Choice) -> None:
    links = outcome.links
    used = links[links["bytes"] > 0]
    draw_note(t("links.note", used=len(used), all=len(links)))
    frame = used
    if st.toggle(t("links.idle"), key="w_idle"):
        frame = links
    frame = frame.sort_values("share", ascending=False, kind="stable")
    draw_table(
        {
            "link": (frame[get_language()], build_text_column("col.link", width="large")),
            "cable": (frame["label"], "col.cable"),
            "bandwidth": (frame["bandwidth"] / 1e9, number_column("col.bandwidth")),
            "mib": (frame["bytes"] / MEBI, number_column("MiB")),
            "busy": (100 * frame["share"], build_bar_column("col.busy")),
        }
    )


def _draw_endpoints(outcome: Outcome, _choice: Choice) -> None:
    ends = outcome.endpoints
    draw_note(t("ranks.note"))
    most = float(max(ends["sent"].max(), ends["received"].max(), 1)) / MEBI
    moved = {name: (ends[name] / MEBI, build_bar_column(f"col.{name}", most, "%.4g")) for name in ("sent", "received")}
    draw_table({"endpoint": (ends[get_language()], "col.endpoint"), **moved})


def _draw_steps(outcome: Outcome, _choice: Choice) -> None:
    steps = outcome.steps
    draw_note(t("steps.note"))
    draw_table(
        {
            "step": (steps["step"] + 1, number_column("col.step", "%d")),
            "start": (steps["start"] * MICRO, number_column("col.start", "%.5g")),
            "time": (steps["time"] * MICRO, number_column("col.length", "%.5g")),
            "transfers": (steps["transfers"], number_column("col.transfers", "%d")),
            "mib": (steps["bytes"] / MEBI, number_column("MiB")),
        }
    )


def _draw_algorithm(outcome: Outcome, choice: Choice) -> None:
    """What the algorithm does, what it claims to cost and who says so, beside what this run did."""
    entry = get_algorithm(choice.algorithm)
    draw_note(choose_text(entry.summary))
    steps, sent = outcome.claimed
    counts = [
        (t("about.steps"), "" if steps is None else f"{steps:g}", f"{outcome.figures.steps}"),
        (
            t("about.sent"),
            "" if sent is None else format_bytes(sent),
            format_bytes(int(outcome.endpoints["sent"].max())),
        ),
    ]
    show_frame(
        pd.DataFrame(counts, columns=["what", "claimed", "here"]),
        column_config={"what": "", "claimed": t("about.claimed"), "here": t("about.here")},
        width="content",
    )
    for key, words in (("about.formula", choose_text(entry.formula)), ("about.source", entry.source)):
        if words:
            draw_note(f"{t(key)}{t('colon')}{words}")
