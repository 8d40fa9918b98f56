"""A synthesized schedule on a page: the sentences, the race, and the parts of each gap."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import streamlit as st

from collsim.sweep.closing import RUN
from collsim.sweep.synthesized import SYNTHESIZED
from collsim.units import format_time
from collsim.viz.sentences.words import capitalise

from ..jobs.computation import build_job_key
from ..shell import player
from ..shell.charts import number_column, table, text_column
from ..shell.controls import algorithm_label, folded, switch
from ..shell.notes import heading, note, verdict
from ..shell.results import latest, leave
from ..shell.session import language, session, t
from .found import Synthesized

GIGA, MICRO = 1e9, 1e6


def offer(key: str, label: str, help: str, ask: Callable[[], None]) -> None:
    """The button that asks for what is synthesized."""
    st.button(label, key=key, help=help, icon=":material/route:", on_click=ask)


def let_switches(on: bool, turn: Callable[[bool], None]) -> None:
    """May switches of the machine that reduce be used? `turn` is called when the answer changes."""
    chosen = switch("synthesis_switches", on, t("synthesis.switches"), t("synthesis.switches.help"))
    if chosen != on:
        turn(chosen)
        st.rerun()


def box(
    function: Callable[..., Synthesized],
    *arguments: Hashable,
    expected: Callable[..., float],
    close: Callable[[], None],
    run: str = "",
    code: Callable[[], None] | None = None,
) -> None:
    """What `function(*arguments)` finds, in a card of its own; a bar that can be stopped while it is looked for, and a
    sentence where there is nothing to find.

    Args:
        close: called when the card is closed. run: what the run that is to be beaten is called here. code: draws the
        same as code.
    """
    with st.container(border=True, key="card_synthesis"):
        head, button = st.columns([6, 1], vertical_alignment="center", gap="small")
        with head:
            heading(t("synthesis.title"))
        stop = partial(_closed, function, close)
        button.button(t("synthesis.close"), key="synthesis_close", on_click=stop, width="stretch")
        found = latest(function, *arguments, expected=expected, compiled=True, only=True, in_worker=True)
        if found is not None:
            _shown(found[0], repr(arguments), run)
            if code is not None:
                folded("synthesis_code", t("synthesis.code"), code)


def _closed(function: Callable[..., Synthesized], close: Callable[[], None]) -> None:
    """Nobody waits for it any more."""
    leave(build_job_key(function, ())[0])
    close()


def _shown(shown: Synthesized, ident: str, run: str) -> None:
    chinese = language() == "zh"
    head, *lines = (pair[chinese] for pair in (*shown.says, shown.found))
    st.html(verdict(head, *lines, t("synthesis.engine"), token="done", status=True))
    _race(shown, ident, run)
    folded("synthesis_parts", t("synthesis.parts"), lambda: _parts(shown, run))


def _race(shown: Synthesized, ident: str, run: str) -> None:
    """Side by side on one clock; what has too many transfers for that is told of."""
    if shown.thinned is not None:
        few, all_, time = shown.thinned
        note(t("synthesis.thinned", few=few, all=all_, time=format_time(time)))
    absent = [name_of(row, run) for row in shown.rows if row["run"] not in shown.runners]
    if absent:
        note(t("synthesis.unplayed", names=t("comma").join(absent)))
    rows = [row for row in shown.rows if row["run"] in shown.runners]
    entries = [(shown.runners[row["run"]], name_of(row, run), _note(row)) for row in rows]
    if entries:
        player.race(entries, f"synthesis {ident}", "synthesis", session().start.get("t"))


def name_of(row: dict[str, Any], run: str = "") -> str:
    """A run as it is called on screen."""
    if row["run"] == SYNTHESIZED:
        return capitalise(t("synthesis.name"))
    label = algorithm_label(row["algorithm"], row["collective"])
    if row["run"] == RUN:
        return run or t("synthesis.run", name=label)
    return capitalise(label)


def _note(row: dict[str, Any]) -> str:
    """Its channels and chunks, where it has any, and how far from the bound it is."""
    given = [f"{name} {row['options'][name]}" for name in ("channels", "chunks", "pieces") if name in row["options"]]
    return t("comma").join([*given, t("synthesis.times", gap=f"{row['gap']:.3g}")])


def _parts(shown: Synthesized, run: str) -> None:
    """Every run's time, and where it goes beyond the bound."""
    rows = shown.rows
    note(t("synthesis.parts.note", bound=format_time(rows[0]["bound"])))
    named = {"cut": "synthesis.cut", "chunks": "synthesis.chunks", "latency": "synthesis.latency"}
    parts = {part: ([MICRO * row[part] for row in rows], number_column(key)) for part, key in named.items()}
    table(
        {
            "run": ([name_of(row, run) for row in rows], text_column("synthesis.schedule", width="medium")),
            "time": ([MICRO * row["time"] for row in rows], number_column("synthesis.time", "%.5g")),
            "busbw": ([row["busbw"] / GIGA for row in rows], number_column("synthesis.busbw")),
            "gap": ([row["gap"] for row in rows], number_column("synthesis.gap")),
            **parts,
            "steps": ([row["steps"] for row in rows], number_column("synthesis.steps", "%d")),
        }
    )
