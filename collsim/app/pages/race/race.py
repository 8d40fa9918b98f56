"""Two to four runs side by side on one clock, with a finish line: who is first, and one sentence why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from collsim.simulate import ENGINES
from collsim.units import format_bytes
from collsim.viz.race.race_document import RacingRun, Runner

from ...classroom.class_sessions import PosedQuestion
from ...classroom.question_card import draw_class_button, is_leading_class
from ...classroom.question_panel import draw_class_beside
from ...scenario.address_parameters import shorten
from ...scenario.choice import (
    MAX_NODES,
    MAX_RANKS,
    SHAPES,
    Choice,
    can_reduce,
    has_shape,
    list_networks,
    list_own_options,
    list_played_collectives,
)
from ...scenario.custom_machine import OWN
from ...shell import codebox, filebox, player
from ...shell.address import finish_controls, get_remembered, remember
from ...shell.controls import (
    NODES,
    SIZES,
    add_space,
    choose,
    choose_machine,
    choose_quantity,
    choose_segment,
    choose_start,
    describe_algorithm,
    draw_folded,
    label_algorithm,
    label_choice,
    label_machine,
    label_nodes,
    label_values,
    list_algorithms,
    number,
    start,
    switch,
)
from ...shell.machine_box import draw_machine_popover, offer_machine
from ...shell.notes import draw_heading, draw_mistake, draw_note, explain, format_title
from ...shell.page import register_page
from ...shell.results import get_latest
from ...shell.session import forget_widgets, get_language, get_session, t
from ...texts import has_text, write_texts
from . import lineup

PAGE = "race"
#: The algorithm's own options that change a race most: chunks, channels and where a server sits.
_OPTIONS: dict[str, list[Any]] = {
    "chunks": [1, 4, 16, 64, 256],
    "channels": [None, 1, 2, 4, 8],
    "server": ["rank", "helper"],
}


@register_page(PAGE, 20, address=lineup.ADDRESS, moment=("t",), on_machine=lineup.build_race)
def draw() -> None:
    """Draw the page: controls in one row, the runners to choose, the race."""
    runners: tuple[Choice, ...] = get_remembered(PAGE)
    top, notes = st.container(), st.container()
    offer_machine(next((runner.machine_text for runner in runners if runner.machine_text), ""))
    with st.expander(t("race.runners")):
        runners = _choose(runners)
        draw_machine_popover(PAGE)
    with top:
        runners = _draw_top(runners)
    with notes:
        finish_controls(runners)
    _draw_race(runners, get_session().start.get("t"))


# ---- controls ------------------------------------------------------------------------------------------------------


def _draw_top(runners: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Title, which race, and what all runners share."""
    first = runners[0]
    head, which, what, size, engine = st.columns([2.6, 3, 1.7, 1.5, 1.8], vertical_alignment="bottom", gap="small")
    head.html(format_title(t("race.title"), t("race.nominal")))
    with which:
        names = {name: t(f"race.{name}") for name in (*lineup.READY, "own")}
        choose_start("race", t("race.pick"), names, lineup.name_ready_race(runners), _on_race_picked)
    with what:
        collective = choose("r_collective", t("collective"), label_values(list_played_collectives()), first.collective)
    with size:
        nbytes = choose_quantity("nbytes", SIZES, first.nbytes, prefix="r_")
    with engine:
        chosen = choose_segment(
            "r_engine", list(ENGINES), first.engine, partial(label_choice, "engine"), t("engine"), t("engine.help")
        )
    wanted = {"collective": collective, "nbytes": nbytes, "engine": chosen}
    changed = {name: value for name, value in wanted.items() if value != getattr(first, name)}
    shared_runners = lineup.share_fields(runners, **changed)
    if collective != first.collective:  # the runners' controls, drawn already, must start again
        remember(PAGE, shared_runners)
        _forget_runners()
        st.rerun()
    return shared_runners


def _on_race_picked(name: str, _: str) -> None:
    """A ready race was picked: its runners, at the size it comes with."""
    if name in lineup.READY:
        remember(PAGE, lineup.READY[name])
        forget_widgets("r_")


def _forget_runners() -> None:
    """Let the runners' controls start again from the choice."""
    for n in range(1, lineup.MAX_RUNNERS + 1):
        for key in [key for key in st.session_state if str(key).startswith("w_r_") and str(key).endswith(str(n))]:
            del st.session_state[key]


def _choose(runners: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """How many runners, and a column of controls for each."""
    counts = list(range(lineup.MIN_RUNNERS, lineup.MAX_RUNNERS + 1))
    key = start("r_count", len(runners), counts)
    count: Any = st.segmented_control(t("race.count"), counts, key=key, required=True)
    runners = lineup.resize(runners, count or len(runners))
    choices = []
    for n, (column, runner) in enumerate(zip(st.columns(len(runners), gap="medium"), runners, strict=True), 1):
        with column:
            draw_heading(t("race.runner", number=n))
            choices.append(_choose_options(_choose_machine(_choose_algorithm(runner, n), n), n))
    return tuple(choices)


def _choose_algorithm(runner: Choice, n: int) -> Choice:
    labels = {name: describe_algorithm(name, runner.collective) for name in list_algorithms(runner.collective)}
    algorithm = choose(f"r_algorithm{n}", t("algorithm"), labels, runner.algorithm)
    if algorithm == runner.algorithm:
        return runner
    return replace(runner, algorithm=algorithm, options=())


def _choose_machine(runner: Choice, n: int) -> Choice:
    """The place of one runner, and what can be set of it."""
    machine_name = choose_machine(f"r_place{n}", runner.machine)
    own_machine = ""
    if machine_name == OWN:
        own_machine = get_session().choice.machine_text
    runner = replace(runner, machine=machine_name, machine_text=own_machine)
    if "nodes" in runner.takes:
        runner = replace(runner, nodes=number(f"r_nodes{n}", runner.nodes, 1, min(MAX_NODES, max(NODES)), t("nodes")))
    if "p2p" in runner.takes:
        return replace(runner, **_choose_switches(runner, n))
    if machine_name == OWN:
        return runner  # a network from a file is as the file has it
    if has_shape(machine_name):
        shapes = list(dict.fromkeys([*([runner.shape] if runner.shape else []), *SHAPES[machine_name]]))
        return replace(runner, shape=choose(f"r_shape{n}", t("shape"), label_values(shapes), runner.shape or shapes[0]))
    runner = replace(runner, ranks=number(f"r_ranks{n}", runner.ranks, 1, MAX_RANKS, t("ranks")))
    if can_reduce(machine_name):
        return replace(runner, reduces=switch(f"r_reduces{n}", runner.reduces, t("reduces"), t("reduces.help")))
    return runner


def _choose_switches(runner: Choice, n: int) -> dict[str, Any]:
    values = {}
    for box, name in zip(st.columns(2), ("p2p", "gdr"), strict=True):
        with box:
            values[name] = switch(f"r_{name}{n}", getattr(runner, name), t(name), t(f"{name}.help"))
    return values


def _choose_options(runner: Choice, n: int) -> Choice:
    known, values = list_own_options(runner.algorithm), dict(runner.options)
    for name, offered in _OPTIONS.items():
        if name in known and (name != "channels" or runner.on_machine):
            default = None
            if name != "channels":
                default = known[name].default
            now = values.get(name, default)
            labels = {value: _label_option(name, value) for value in dict.fromkeys([*offered, now])}
            picked = choose(f"r_{runner.algorithm}_{name}{n}", t(f"option.{name}"), labels, now)
            if picked == default:
                picked = None
            runner = lineup.set_options(runner, **{name: picked})
    return runner


def _label_option(name: str, value: object) -> str:
    return t("race.all") if value is None else label_choice(f"option.{name}", value)


# ---- the race ------------------------------------------------------------------------------------------------------


def _draw_race(runners: tuple[Choice, ...], seconds: float | None) -> None:
    """Those that can start, and a sentence for each that cannot; under a bar the race before."""
    latest_result = get_latest(lineup.run_field, runners, fallback=(lineup.READY["algorithms"],))
    if latest_result is None:
        return
    race_field: lineup.Field = latest_result[0]
    (runners,) = latest_result[1]
    names = [_build_name(runners, n) for n in range(len(runners))]
    started = _select_started(race_field, names)
    if not started:
        draw_mistake(t("race.nobody"))
        return
    if race_field.overtaking is not None:
        first, other, size = race_field.overtaking
        draw_note(t("race.cross", nbytes=format_bytes(size), other=names[other], first=names[first]))
    entries = [RacingRun(runner, names[n], _build_note(runners, n)) for n, runner in started.items()]
    choices = tuple(runners[n] for n in started)
    labels = tuple((entry.name, entry.note) for entry in entries)
    exports = filebox.build_exports(
        "race",
        lambda kind, moment: (
            lineup.build_race_file,
            (choices, labels, kind, get_language(), moment if kind == "html" else None),
        ),
    )
    question = lineup.ask_who_ends_first(entries)
    ident = json.dumps(lineup.ADDRESS.write(runners))
    if question is not None and is_leading_class():
        posed = PosedQuestion(f"race-{ident}", 0, 1, question, topic=write_texts("race.title"))
        picture, hides = draw_class_beside(posed)
    else:
        picture, hides = st.container(), False
    with picture:
        player.mount_race(entries, ident, "race", seconds, exports, hides=hides)
    if hides:
        return
    if question is not None and not is_leading_class():
        draw_class_button()
    draw_folded("code", t("code.title"), partial(codebox.draw_race_code, choices))
    draw_folded("files", t("tab.files"), lambda: filebox.draw_race_downloads([(names[n], runners[n]) for n in started]))


def _select_started(race_field: lineup.Field, names: list[str]) -> Mapping[int, Runner]:
    """Those that can start, by their position; a sentence for each that cannot."""
    for name, result in zip(names, race_field.runners, strict=False):
        if not isinstance(result, Runner):
            draw_mistake(t("race.failed", name=name, reason=explain(result)))
    return {n: result for n, result in enumerate(race_field.runners) if isinstance(result, Runner)}


def _build_name(runners: tuple[Choice, ...], n: int) -> str:
    """A runner by what tells it apart."""
    runner, by = runners[n], lineup.find_difference(runners)
    if by == "algorithm":
        name = label_algorithm(runner.algorithm, runner.collective)
        if len({other.collective for other in runners}) > 1:  # two of them may have an algorithm of one name
            return f"{runner.collective} {name}"
        return name[:1].upper() + name[1:]
    if by == "machine":
        return label_machine(runner.machine)
    if by in ("p2p", "gdr"):
        return t("race.on" if getattr(runner, by) else "race.off", what=t(by))
    if by == "copies":
        return t("race.nodes", machine=label_machine(runner.machine), count=runner.nodes)
    if by == "nbytes":
        return add_space(runner.nbytes)
    if by == "load":
        load = str(lineup.find_load(runner))
        return label_choice("option.load", load) if has_text(f"option.load.{load}") else shorten(load)
    return t("race.runner", number=n + 1)


def _build_note(runners: tuple[Choice, ...], n: int) -> str:
    """What else a runner is: its algorithm, its machine, its own options."""
    runner, by = runners[n], lineup.find_difference(runners)
    parts = []
    if by != "algorithm":
        parts = [label_algorithm(runner.algorithm, runner.collective)]
    if by not in ("machine", "copies"):
        parts.append(_label_machine(runner))
    for name in lineup.OWN_FIELDS:  # where runners differ in it
        is_named = by == name or (by, name) == ("algorithm", "collective")
        if not is_named and len({getattr(other, name) for other in runners}) > 1:
            parts.append(add_space(getattr(runner, name)))
    options = dict(runner.options)
    if options.get("chunks", 1) != 1:
        parts.append(t("race.chunks", count=options["chunks"]))
    if server := list_own_options(runner.algorithm).get("server"):
        parts.append(t(f"race.server.{options.get('server', server.default)}"))
    return t("comma").join(parts)


def _label_machine(runner: Choice) -> str:
    if runner.machine in list_networks():
        words = {"ranks": runner.ranks, "bandwidth": add_space(runner.bandwidth), "alpha": add_space(runner.alpha)}
        return t("race.network", machine=label_choice("network", runner.machine), **words)
    return label_nodes(runner)
