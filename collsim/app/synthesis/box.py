"""A synthesized schedule on a page: the sentences, the race, and the parts of each gap."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import streamlit as st

from collsim.sweep.gap_closing import RUN
from collsim.sweep.synthesized_algorithm import SYNTHESIZED
from collsim.units import format_time
from collsim.viz.race.race_document import RacingRun
from collsim.viz.sentences.words import capitalise

from ..jobs.computation import build_job_key
from ..shell import player
from ..shell.charts import build_text_column, draw_table, number_column
from ..shell.controls import draw_folded, label_algorithm, switch
from ..shell.notes import draw_heading, draw_note, format_verdict
from ..shell.results import cancel_request, get_exact
from ..shell.session import choose_text, get_session, t
from .synthesis_result import Synthesized

GIGA, MICRO = 1e9, 1e6


def offer(key: str, label: str, help: str, ask: Callable[[], None]) -> None:
    """The button that asks for what is synthesized.

    Args:
        key: Key of the text or control.
        label: The text beside the control.
        help: Text under the question mark.
        ask: Called when the button is pressed.
    """
    st.button(label, key=key, help=help, icon=":material/route:", on_click=ask)


def let_switches(on: bool, set_switches: Callable[[bool], None]) -> None:
    """May switches of the machine that reduce be used? `set_switches` is called when the answer changes.

    Args:
        on: Whether they may be used now.
        set_switches: Called when the answer changes.
    """
    chosen = switch("synthesis_switches", on, t("synthesis.switches"), t("synthesis.switches.help"))
    if chosen != on:
        set_switches(chosen)
        st.rerun()


def draw_box(
    function: Callable[..., Synthesized],
    *arguments: Hashable,
    close: Callable[[], None],
    run: str = "",
    code: Callable[[], None] | None = None,
) -> None:
    """What `function(*arguments)` finds, in a card of its own; a bar that can be stopped while it is looked for, and a
    sentence where there is nothing to find.

    Args:
        function: Synthesizes the schedule; it runs in a worker.
        *arguments: Arguments of `function`.
        close: Called when the card is closed.
        run: Name of the run that is to be beaten; "" for none.
        code: Draws the same as code; None for none.
    """
    with st.container(border=True, key="card_synthesis"):
        head, button = st.columns([6, 1], vertical_alignment="center", gap="small")
        with head:
            draw_heading(t("synthesis.title"))
        stop = partial(_on_closed, function, close)
        button.button(t("synthesis.close"), key="synthesis_close", on_click=stop, width="stretch")
        synthesized: Synthesized | None = get_exact(function, *arguments)
        if synthesized is not None:
            _draw_synthesized(synthesized, repr(arguments), run)
            if code is not None:
                draw_folded("synthesis_code", t("synthesis.code"), code)


def _on_closed(function: Callable[..., Synthesized], close: Callable[[], None]) -> None:
    """Nobody waits for it any more."""
    cancel_request(build_job_key(function, ())[0])
    close()


def _draw_synthesized(synthesized: Synthesized, ident: str, run: str) -> None:
    head, *reasons = (choose_text(pair) for pair in (*synthesized.sentences, synthesized.provenance))
    st.html(format_verdict(head, t("synthesis.engine"), token="done", status=True))
    _draw_race(synthesized, ident, run)
    draw_folded("synthesis_parts", t("synthesis.parts"), lambda: _draw_parts(synthesized, run, reasons))


def _draw_race(synthesized: Synthesized, ident: str, run: str) -> None:
    """Side by side on one clock; what has too many transfers for that is told of."""
    if synthesized.thinned is not None:
        few, all_, time = synthesized.thinned
        draw_note(t("synthesis.thinned", few=few, all=all_, time=format_time(time)))
    absent = [name_of(row, run) for row in synthesized.rows if row["run"] not in synthesized.runners]
    if absent:
        draw_note(t("synthesis.unplayed", names=t("comma").join(absent)))
    rows = [row for row in synthesized.rows if row["run"] in synthesized.runners]
    entries = [RacingRun(synthesized.runners[row["run"]], name_of(row, run), _write_note(row)) for row in rows]
    if entries:
        player.mount_race(entries, f"synthesis {ident}", "synthesis", get_session().start.get("t"))


def name_of(row: dict[str, Any], run: str = "") -> str:
    """A run as it is called on screen.

    Args:
        row: A row of the table.
        run: Name of the run that it is compared with.
    """
    if row["run"] == SYNTHESIZED:
        return capitalise(t("synthesis.name"))
    label = label_algorithm(row["algorithm"], row["collective"])
    if row["run"] == RUN:
        return run or t("synthesis.run", name=label)
    return capitalise(label)


def _write_note(row: dict[str, Any]) -> str:
    """Its channels and chunks, where it has any, and how far from the bound it is."""
    words = [f"{name} {row['options'][name]}" for name in ("channels", "chunks", "pieces") if name in row["options"]]
    return t("comma").join([*words, t("synthesis.times", gap=f"{row['gap']:.3g}")])


def _draw_parts(synthesized: Synthesized, run: str, reasons: list[str]) -> None:
    """Every run's time, and where it goes beyond the bound: a table, and the reasons below it."""
    rows = synthesized.rows
    draw_note(t("synthesis.parts.note", bound=format_time(rows[0]["bound"])))
    named = {"cut": "synthesis.cut", "chunks": "synthesis.chunks", "latency": "synthesis.latency"}
    parts = {part: ([MICRO * row[part] for row in rows], number_column(key)) for part, key in named.items()}
    draw_table(
        {
            "run": ([name_of(row, run) for row in rows], build_text_column("synthesis.schedule", width="medium")),
            "time": ([MICRO * row["time"] for row in rows], number_column("synthesis.time", "%.5g")),
            "busbw": ([row["busbw"] / GIGA for row in rows], number_column("synthesis.busbw")),
            "gap": ([row["gap"] for row in rows], number_column("synthesis.gap")),
            **parts,
            "steps": ([row["steps"] for row in rows], number_column("synthesis.steps", "%d")),
        }
    )
    for reason in reasons:
        draw_note(reason)
