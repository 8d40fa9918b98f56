"""One run, everything about it: the figures, the player, the traffic, and the same run as code."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

import collsim as cs
from collsim.units import format_bandwidth, format_bytes, format_time
from collsim.viz.timeline.document import MOST_TRANSFERS

from ...classroom import questions
from ...scenario import snippets
from ...scenario.choice import Choice, own_options, to_query
from ...scenario.mistakes import told
from ...scenario.outcome import Figures, Outcome, build_place, expected_outcome, options_used, outcome
from ...shell import codebox, filebox
from ...shell.controls import bound_note, complain, mistake
from ...shell.player import player
from ...shell.results import latest
from ...shell.session import language, session, t
from ...texts.catalogue import TEXTS
from . import breaking, chunk_plot

MICRO = 1e6
MEBI = 2**20


def page() -> None:
    """Draw the page. A choice that cannot run leaves a sentence and the last run that worked."""
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
    questions.buttons()
    broken = breaking.panel(now.good)
    asks = broken is None and questions.panel(now.good)
    if broken is None and not asks:
        _headline(shown)
    if asks and not questions.peeks():
        return  # the run would answer the question
    if broken is not None and broken.timeline is not None:
        _play(broken.timeline, f"{_ident(now.good)}&{now.panels}")
    elif shown.timeline is None:
        st.html(
            "<div "
            f'class="cs-note">'
            f"{t('player.large', transfers=f'{shown.figures.transfers:,}', limit=f'{MOST_TRANSFERS:,}')}</div>"
        )
    else:
        _play(shown.timeline, _ident(now.good))
    if broken is None and not asks:  # the tables are those of the whole run
        _tables(shown, now.good)


def _from_file(choice: Choice) -> None:
    """A schedule that was uploaded: whether it is right, and the run of it."""
    found = filebox.played(choice)
    if found is None:
        return
    (shown, label, wrong), (upload, on) = found
    if wrong:
        mistake(t("files.wrong", name=upload.name, why=told(wrong, language())))
    else:
        _note(t("files.right", name=upload.name, label=label))
    _headline(shown)
    if shown.timeline is None:
        _note(t("player.large", transfers=f"{shown.figures.transfers:,}", limit=f"{MOST_TRANSFERS:,}"))
    else:
        _play(shown.timeline, f"{_ident(on)}&file={hash(upload)}")
    _tables(shown, choice)


def _play(timeline: dict[str, Any], ident: str) -> None:
    """The player, from the moment of the address; where it is paused is where the page opens again."""
    now = session()
    stands_in = (
        filebox.uploaded() is None and now.good != now.choice
    )  # the moment is one of the run that is still to come
    player(timeline, ident, {key: now.start[key] for key in now.start if key == "view" or not stands_in}, _moment)


def _moment(reported: dict[str, Any]) -> None:
    session().now = reported


def _ident(choice: Choice) -> str:
    """A name for what is played; what the second page compares is not part of it."""
    return "&".join(f"{k}={v}" for k, v in to_query(choice).items() if k not in ("algorithms", "sizes"))


# ---- headline
# -------------------------------------------------------------------------------------------------------------------


def _headline(shown: Outcome) -> None:
    f = shown.figures
    steps = t("steps.one") if f.steps == 1 else t("steps.many", count=f"{f.steps:,}")
    boxes = [
        _figure("time", format_time(f.time), t("time.note", ranks=f.ranks, steps=steps)),
        _figure("algbw", format_bandwidth(f.algbw), t("algbw.note", nbytes=format_bytes(f.nbytes))),
        _figure("busbw", format_bandwidth(f.busbw), t("busbw.note", factor=snippets.factor(f.factor, f.ranks))),
        _figure("bound", format_time(f.bound), bound_note(f.bound, f.gap)),
        _why(shown),
    ]
    st.html(f'<div class="cs-head">{"".join(boxes)}</div>')


def _figure(name: str, value: str, note: str) -> str:
    number, _, unit = value.partition("\N{NO-BREAK SPACE}")
    return f'<div class="cs-fig">{_named(name)}<b>{number} <i>{unit}</i></b><span>{html.escape(note)}</span></div>'


def _named(name: str) -> str:
    """What a figure is called; the pointer over it says what it means."""
    label = t(name) if name in TEXTS else name
    return f'<small title="{html.escape(t(f"{name}.help"))}">{html.escape(label)}</small>'


def _why(shown: Outcome) -> str:
    """The bottleneck, what would change it, and what one channel would give."""
    neck = shown.bottleneck
    first = neck["text"][language()] if neck else t("bottleneck.none")
    more = [neck["more"][language()]] if neck and neck.get("more") else []
    if shown.alone is not None:
        alone: Figures = shown.alone
        more.append(
            t(
                "channels.one",
                channels=shown.channels,
                time=format_time(alone.time),
                busbw=format_bandwidth(alone.busbw),
            )
        )
    lines = "".join(f"<span>{html.escape(line)}</span>" for line in more)
    return f'<div class="cs-why">{_named("bottleneck")}<b>{html.escape(first)}</b>{lines}</div>'


# ---- tables
# --------------------------------------------------------------------------------------------------------------------


def _tables(shown: Outcome, choice: Choice) -> None:
    parts: dict[str, Callable[[Outcome, Choice], None]] = {
        "tab.links": _links,
        "tab.ranks": _endpoints,
        "tab.steps": _steps,
    }
    if filebox.uploaded() is None:
        parts["tab.about"] = _about
        if "chunks" in own_options(choice.algorithm):
            parts["tab.chunks"] = _chunks
        parts["tab.elsewhere"] = _elsewhere
    parts["tab.files"] = _files
    for tab, draw in zip(st.tabs([t(name) for name in parts]), parts.values(), strict=True):
        with tab:
            draw(shown, choice)


def _files(_shown: Outcome, choice: Choice) -> None:
    filebox.downloads(choice)


def _chunks(_shown: Outcome, choice: Choice) -> None:
    chunk_plot.draw(choice)


def _links(shown: Outcome, _choice: Choice) -> None:
    table = shown.links
    used = table[table["bytes"] > 0]
    _note(t("links.note", used=len(used), all=len(table)))
    frame = table if st.toggle(t("links.idle"), key="w_idle") else used
    frame = frame.sort_values("share", ascending=False, kind="stable")
    _table(
        pd.DataFrame(
            {
                "link": frame["link"],
                "cable": frame["label"],
                "bandwidth": frame["bandwidth"] / 1e9,
                "mib": frame["bytes"] / MEBI,
                "busy": 100 * frame["share"],
            }
        ),
        {
            "link": st.column_config.TextColumn(t("col.link"), width="large"),
            "cable": st.column_config.TextColumn(t("col.cable")),
            "bandwidth": st.column_config.NumberColumn(t("col.bandwidth"), format="%.4g"),
            "mib": st.column_config.NumberColumn("MiB", format="%.4g"),
            "busy": st.column_config.ProgressColumn(t("col.busy"), format="%.1f %%", min_value=0, max_value=100),
        },
    )


def _endpoints(shown: Outcome, _choice: Choice) -> None:
    table = shown.endpoints
    _note(t("ranks.note"))
    ranks = int((~table["helper"]).sum())
    names = [
        t("endpoint.rank", index=i) if i < ranks else t("endpoint.helper", index=i - ranks) for i in table["endpoint"]
    ]
    most = float(max(table["sent"].max(), table["received"].max(), 1)) / MEBI
    bar: dict[str, Any] = {"format": "%.4g", "min_value": 0, "max_value": most}
    _table(
        pd.DataFrame({"endpoint": names, "sent": table["sent"] / MEBI, "received": table["received"] / MEBI}),
        {
            "endpoint": st.column_config.TextColumn(t("col.endpoint")),
            "sent": st.column_config.ProgressColumn(t("col.sent"), **bar),
            "received": st.column_config.ProgressColumn(t("col.received"), **bar),
        },
    )


def _steps(shown: Outcome, _choice: Choice) -> None:
    table = shown.steps
    _note(t("steps.note"))
    _table(
        pd.DataFrame(
            {
                "step": table["step"] + 1,
                "start": table["start"] * MICRO,
                "time": table["time"] * MICRO,
                "transfers": table["transfers"],
                "mib": table["bytes"] / MEBI,
            }
        ),
        {
            "step": st.column_config.NumberColumn(t("col.step"), format="%d"),
            "start": st.column_config.NumberColumn(t("col.start"), format="%.5g"),
            "time": st.column_config.NumberColumn(t("col.length"), format="%.5g"),
            "transfers": st.column_config.NumberColumn(t("col.transfers"), format="%d"),
            "mib": st.column_config.NumberColumn("MiB", format="%.4g"),
        },
    )


def _about(shown: Outcome, choice: Choice) -> None:
    """What the algorithm does, what it claims to cost and who says so, beside what this run did."""
    entry = cs.algorithms()[choice.algorithm]
    chinese = language() == "zh"
    _note(entry.says[chinese])
    steps, sent = shown.claimed
    counts = [
        (t("about.steps"), "" if steps is None else f"{steps:g}", f"{shown.figures.steps}"),
        (t("about.sent"), "" if sent is None else format_bytes(sent), format_bytes(int(shown.endpoints["sent"].max()))),
    ]
    st.dataframe(
        pd.DataFrame(counts, columns=["what", "claimed", "here"]),
        column_config={"what": "", "claimed": t("about.claimed"), "here": t("about.here")},
        hide_index=True,
        width="content",
    )
    for key, words in (("about.formula", entry.formula), ("about.source", entry.source)):
        if words:
            _note(f"{t(key)}{t('colon')}{words}")


def _table(frame: pd.DataFrame, columns: dict[str, Any]) -> None:
    st.dataframe(
        frame, column_config=columns, hide_index=True, width="stretch", height=min(420, 38 + 35 * max(1, len(frame)))
    )


def _note(text: str) -> None:
    st.html(f'<div class="cs-note">{html.escape(text)}</div>')


def _elsewhere(shown: Outcome, choice: Choice) -> None:
    used = options_used(choice.algorithm, dict(choice.options), build_place(choice), choice.on_machine)
    codebox.of_run(choice, used, shown.figures.ranks)
