"""Two to four runs side by side on one clock, with a finish line: who is first, and one sentence why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from collsim.markup import escape_markdown
from collsim.simulate import ENGINES
from collsim.units import format_bytes
from collsim.viz.race.race import Runner

from ...scenario import custom_machine
from ...scenario.choice import (
    MOST_NODES,
    MOST_RANKS,
    SHAPES,
    Choice,
    dropped,
    filed,
    has_shape,
    may_reduce,
    networks,
    own_options,
    played_collectives,
)
from ...scenario.custom_machine import OWN
from ...scenario.mistakes import sentence
from ...scenario.outcome import build_place, options_used
from ...shell import codebox, filebox, player
from ...shell.address import leave, remember, remembered
from ...shell.controls import (
    NODES,
    SIZES,
    algorithm_choice,
    algorithm_label,
    algorithms_offered,
    choose,
    choose_place,
    folded,
    number,
    place_label,
    quantity,
    segment,
    spaced,
    start,
    switch,
)
from ...shell.machine_box import ownbox
from ...shell.notes import complain, heading, mistake, note, title
from ...shell.page import page
from ...shell.results import latest
from ...shell.session import forget_widgets, language, session, t
from . import lineup

PAGE = "race"
#: The algorithm's own options that change a race most: chunks, channels and where a server sits.
_OPTIONS: dict[str, list[Any]] = {
    "chunks": [1, 4, 16, 64, 256],
    "channels": [None, 1, 2, 4, 8],
    "server": ["rank", "helper"],
}


@page(PAGE, 20, address=lineup.ADDRESS, moment=("t",), on_machine=lineup.on)
def draw() -> None:
    """Draw the page: controls in one row, the runners to choose, the race."""
    runners: tuple[Choice, ...] = remembered(PAGE)
    top, said = st.container(), st.container()
    _offer(runners)
    with st.expander(t("race.runners")):
        runners = _choose(runners)
        text = session().choice.own
        label = t("own.change", file=custom_machine.facts(text).file) if text else t("own.give")
        with st.popover(escape_markdown(label)):
            ownbox(text, PAGE, _take, _drop)
    with top:
        runners = _top(runners)
    leave(runners)
    with said:
        complain(session().complaints)
    _race(runners, session().start.get("t"))


def _offer(runners: tuple[Choice, ...]) -> None:
    """A machine of one's own that an address brought can be chosen by every runner."""
    brought = next((one.own for one in runners if one.own), "")
    if brought and brought != session().choice.own:
        session().choice = replace(session().choice, own=brought)


def _take(text: str) -> None:
    """All runners on a machine of one's own."""
    session().choice = replace(session().choice, own=text)
    remember(PAGE, tuple(replace(one, **filed(text)) for one in remembered(PAGE)))


def _drop() -> None:
    session().choice = dropped(session().choice)
    remember(PAGE, tuple(map(dropped, remembered(PAGE))))


# ---- controls ------------------------------------------------------------------------------------------------------


def _top(runners: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Title, which race, and what all runners share."""
    first = runners[0]
    head, which, what, size, engine = st.columns([2.6, 3, 1.7, 1.5, 1.8], vertical_alignment="bottom", gap="small")
    head.html(title(t("race.title"), t("race.nominal")))
    with which:
        st.session_state["w_race"] = lineup.ready_name(runners)
        names = {name: t(f"race.{name}") for name in (*lineup.READY, "own")}
        st.selectbox(t("race.pick"), list(names), format_func=names.__getitem__, key="w_race", on_change=_picked)
    with what:
        collective = choose("r_collective", t("collective"), _texts(played_collectives()), first.collective)
    with size:
        nbytes = quantity("nbytes", SIZES, first.nbytes, prefix="r_")
    with engine:
        chosen = segment("r_engine", list(ENGINES), first.engine, label=t("engine"), help=t("engine.help"))
    made = lineup.shared(runners, collective=collective, nbytes=nbytes, engine=chosen)
    if collective != first.collective:  # the runners' controls, drawn already, must start again
        remember(PAGE, made)
        _forget_runners()
        st.rerun()
    return made


def _picked() -> None:
    """A ready race was picked: its runners, at the size it comes with."""
    name = st.session_state["w_race"]
    if name in lineup.READY:
        remember(PAGE, lineup.READY[name])
        forget_widgets("r_")


def _forget_runners() -> None:
    """Let the runners' controls start again from the choice."""
    for n in range(1, lineup.MOST + 1):
        for key in [key for key in st.session_state if str(key).startswith("w_r_") and str(key).endswith(str(n))]:
            del st.session_state[key]


def _choose(runners: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """How many runners, and a column of controls for each."""
    counts = list(range(lineup.LEAST, lineup.MOST + 1))
    key = start("r_count", len(runners), counts)
    count: Any = st.segmented_control(t("race.count"), counts, key=key, required=True)
    runners = lineup.resized(runners, count or len(runners))
    made = []
    for n, (column, one) in enumerate(zip(st.columns(len(runners), gap="medium"), runners, strict=True), 1):
        with column:
            heading(t("race.runner", number=n))
            made.append(_options(_where(_algorithm(one, n), n), n))
    return tuple(made)


def _texts(values: list[Any]) -> dict[Any, str]:
    return {value: str(value) for value in values}


def _algorithm(one: Choice, n: int) -> Choice:
    labels = {name: algorithm_choice(name, one.collective) for name in algorithms_offered(one.collective)}
    algorithm = choose(f"r_algorithm{n}", t("algorithm"), labels, one.algorithm)
    return replace(one, algorithm=algorithm, options=one.options if algorithm == one.algorithm else ())


def _where(one: Choice, n: int) -> Choice:
    """The place of one runner, and what can be set of it."""
    place = choose_place(f"r_place{n}", one.place)
    one = replace(one, place=place, own=session().choice.own if place == OWN else "")
    if "nodes" in one.takes:
        one = replace(one, nodes=number(f"r_nodes{n}", one.nodes, 1, min(MOST_NODES, max(NODES)), t("nodes")))
    if "p2p" in one.takes:
        return replace(one, **_switches(one, n))
    if place == OWN:
        return one  # a network from a file is as the file has it
    if has_shape(place):
        shapes = list(dict.fromkeys([*([one.shape] if one.shape else []), *SHAPES[place]]))
        return replace(one, shape=choose(f"r_shape{n}", t("shape"), _texts(shapes), one.shape or shapes[0]))
    one = replace(one, ranks=number(f"r_ranks{n}", one.ranks, 1, MOST_RANKS, t("ranks")))
    if may_reduce(place):
        return replace(one, reduces=switch(f"r_reduces{n}", one.reduces, t("reduces"), t("reduces.help")))
    return one


def _switches(one: Choice, n: int) -> dict[str, Any]:
    values = {}
    for box, name in zip(st.columns(2), ("p2p", "gdr"), strict=True):
        with box:
            values[name] = switch(f"r_{name}{n}", getattr(one, name), t(name), t(f"{name}.help"))
    return values


def _options(one: Choice, n: int) -> Choice:
    known, given = own_options(one.algorithm), dict(one.options)
    for name, offered in _OPTIONS.items():
        if name in known and (name != "channels" or one.on_machine):
            usual = None if name == "channels" else known[name].default
            now = given.get(name, usual)
            labels = {value: _option_label(value) for value in dict.fromkeys([*offered, now])}
            picked = choose(f"r_{one.algorithm}_{name}{n}", t(f"option.{name}"), labels, now)
            one = lineup.set_options(one, **{name: None if picked == usual else picked})
    return one


def _option_label(value: Any) -> str:
    return t("race.all") if value is None else t(f"race.server.{value}") if isinstance(value, str) else str(value)


# ---- the race ------------------------------------------------------------------------------------------------------


def _race(runners: tuple[Choice, ...], seconds: float | None) -> None:
    """Those that can start, and a sentence for each that cannot; under a bar the race before."""
    event = runners[0].engine == "event"
    found = latest(
        lineup.field, runners, expected=lineup.expected_field, compiled=event, otherwise=(lineup.READY["ways"],)
    )
    if found is None:
        return
    shown: lineup.Field = found[0]
    (runners,) = found[1]
    names = [_name(runners, n) for n in range(len(runners))]
    started = _started(shown, names)
    if not started:
        mistake(t("race.nobody"))
        return
    if shown.overtaking is not None:
        first, other, size = shown.overtaking
        note(t("race.cross", nbytes=format_bytes(size), other=names[other], first=names[first]))
    entries = [(runner, names[n], _note(runners, n)) for n, runner in started.items()]
    player.race(entries, json.dumps(lineup.ADDRESS.write(runners)), "race", seconds)
    folded("code", t("code.title"), lambda: codebox.of_race([_facts(runners[n]) for n in started]))
    folded("files", t("tab.files"), lambda: filebox.of_race([(names[n], runners[n]) for n in started]))


def _started(shown: lineup.Field, names: list[str]) -> Mapping[int, Runner]:
    """Those that can start, by their place; a sentence for each that cannot."""
    for name, one in zip(names, shown.runners, strict=False):
        if not isinstance(one, Runner):
            mistake(t("race.failed", name=name, why=sentence(one, language())))
    return {n: one for n, one in enumerate(shown.runners) if isinstance(one, Runner)}


def _facts(one: Choice) -> tuple[Choice, dict[str, Any], int]:
    """A runner with its options and its number of ranks, for code."""
    place = build_place(one)
    return one, options_used(one.algorithm, dict(one.options), place, one.on_machine), place.ranks


def _name(runners: tuple[Choice, ...], n: int) -> str:
    """A runner by what tells it apart."""
    one, by = runners[n], lineup.differing(runners)
    if by == "algorithm":
        return algorithm_label(one.algorithm, one.collective).capitalize()
    if by == "place":
        return place_label(one.place)
    if by in ("p2p", "gdr"):
        return t("race.on" if getattr(one, by) else "race.off", what=t(by))
    if by == "copies":
        return t("race.nodes", place=place_label(one.place), count=one.nodes)
    return t("race.runner", number=n + 1)


def _note(runners: tuple[Choice, ...], n: int) -> str:
    """What else a runner is: its algorithm, its place, its own options."""
    one, by = runners[n], lineup.differing(runners)
    parts = [] if by == "algorithm" else [algorithm_label(one.algorithm, one.collective)]
    if by not in ("place", "copies"):
        parts.append(_place(one))
    options = dict(one.options)
    if options.get("chunks", 1) != 1:
        parts.append(t("race.chunks", count=options["chunks"]))
    return t("comma").join(parts)


def _place(one: Choice) -> str:
    if one.place in networks():
        words = {"ranks": one.ranks, "bandwidth": spaced(one.bandwidth), "alpha": spaced(one.alpha)}
        return t("race.network", place=one.place.replace("_", " "), **words)
    return place_label(one.place) if one.copies == 1 else t("race.nodes", place=place_label(one.place), count=one.nodes)
