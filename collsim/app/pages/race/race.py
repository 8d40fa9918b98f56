"""Two to four runs side by side on one clock, with a finish line: who is first, and one sentence why."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from typing import Any

import streamlit as st

import collsim as cs
from collsim.errors import CollsimError
from collsim.simulate import ENGINES
from collsim.units import format_bytes
from collsim.viz.race.race import Runner, course, race_source

from ...scenario import custom_machine
from ...scenario.choice import (
    MOST_NODES,
    MOST_RANKS,
    READERS,
    SHAPES,
    Choice,
    dropped,
    filed,
    has_shape,
    moment,
    networks,
    own_options,
    played_collectives,
)
from ...scenario.custom_machine import OWN
from ...scenario.mistakes import told
from ...scenario.outcome import build_place, options_used
from ...shell import codebox, filebox
from ...shell.address import enter, leave, remembered
from ...shell.controls import NODES, SIZES, algorithm_label, complain, mistake, place_label, spaced
from ...shell.machine_box import ownbox
from ...shell.results import latest
from ...shell.session import is_dark, language, session, t
from . import lineup

PAGE = "race"


def arrive() -> None:
    """Take the address over before anything is drawn."""
    enter(PAGE, lineup.read)


def page() -> None:
    """Draw the page: controls in one row, the runners to choose, the race."""
    seconds: float | None = moment(st.query_params.to_dict())[0].get("t")
    runners: tuple[Choice, ...] = remembered()[PAGE]
    top, said = st.container(), st.container()
    _offer(runners)
    with st.expander(t("race.runners")):
        runners = _choose(runners)
        with st.popover(
            t("own.change", file=custom_machine.facts(text).file) if (text := session().choice.own) else t("own.give")
        ):
            ownbox(text, PAGE, _take, _drop)
    with top:
        runners = _top(runners)
    leave(
        PAGE,
        runners,
        lineup.write(runners) | ({"t": f"{seconds:g}"} if seconds is not None and "t" in st.query_params else {}),
    )
    with said:
        complain(session().complaints)
    _race(runners, seconds)


def _offer(runners: tuple[Choice, ...]) -> None:
    """A machine of one's own that an address brought can be chosen by every runner."""
    brought = next((one.own for one in runners if one.own), "")
    if brought and brought != session().choice.own:
        session().choice = replace(session().choice, own=brought)


def _take(text: str) -> None:
    """All runners on a machine of one's own."""
    session().choice = replace(session().choice, own=text)
    remembered()[PAGE] = tuple(replace(one, **filed(text)) for one in remembered()[PAGE])


def _drop() -> None:
    session().choice = dropped(session().choice)
    remembered()[PAGE] = tuple(map(dropped, remembered()[PAGE]))


# ---- controls
# --------------------------------------------------------------------------------------------------------------------


def _top(runners: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Title, which race, and what all runners share."""
    first = runners[0]
    title, which, what, size, engine = st.columns([2.6, 3, 1.7, 1.5, 1.8], vertical_alignment="bottom", gap="small")
    title.html(
        f'<h1 class="cs-title">{html.escape(t("race.title"))}</h1><div '
        f'class="cs-note">{html.escape(t("race.nominal"))}</div>'
    )
    with which:
        st.session_state["w_race"] = lineup.ready_name(runners)
        names = {name: t(f"race.{name}") for name in (*lineup.READY, "own")}
        st.selectbox(t("race.pick"), list(names), format_func=names.__getitem__, key="w_race", on_change=_picked)
    with what:
        collective = _select("collective", t("collective"), played_collectives(), first.collective)
    with size:
        nbytes = _quantity("nbytes", SIZES, first.nbytes)
    with engine:
        chosen: Any = st.segmented_control(
            t("engine"),
            list(ENGINES),
            key=_start("engine", first.engine),
            required=True,
            width="stretch",
            help=t("engine.help"),
        )
    made = lineup.shared(runners, collective=collective, nbytes=nbytes, engine=chosen or first.engine)
    if collective != first.collective:  # the runners' controls, drawn already, must start again
        remembered()[PAGE] = made
        _forget()
        st.rerun()
    return made


def _picked() -> None:
    """A ready race was picked: its runners, at the size it comes with."""
    name = st.session_state["w_race"]
    if name in lineup.READY:
        remembered()[PAGE] = lineup.READY[name]
        _forget(everything=True)


def _choose(runners: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """How many runners, and a column of controls for each."""
    count: Any = st.segmented_control(
        t("race.count"), list(range(lineup.LEAST, lineup.MOST + 1)), key=_start("count", len(runners)), required=True
    )
    runners = lineup.resized(runners, count or len(runners))
    made = []
    for number, (column, one) in enumerate(zip(st.columns(len(runners), gap="medium"), runners, strict=True), 1):
        with column:
            st.markdown(f"**{t('race.runner', number=number)}**")
            made.append(_one(one, number))
    return tuple(made)


def _one(one: Choice, number: int) -> Choice:
    """The controls of one runner."""
    known = list(cs.algorithms(one.collective))
    algorithm = _select(
        f"algorithm{number}", t("algorithm"), known, one.algorithm, lambda name: algorithm_label(name, one.collective)
    )
    values: dict[str, Any] = {"algorithm": algorithm, "options": one.options if algorithm == one.algorithm else ()}
    places = [*([OWN] if session().choice.own else []), *cs.topology.machines(), *networks()]
    place = values["place"] = _select(f"place{number}", t("place"), places, one.place, place_label)
    values["own"] = session().choice.own if place == OWN else ""
    takes = replace(one, place=place, own=values["own"]).takes
    if "nodes" in takes:
        values["nodes"] = _number(f"nodes{number}", t("nodes"), one.nodes, 1, min(MOST_NODES, max(NODES)))
    if "p2p" in takes:
        left, right = st.columns(2)
        for box, name in ((left, "p2p"), (right, "gdr")):
            values[name] = bool(
                box.toggle(t(name), key=_start(f"{name}{number}", getattr(one, name)), help=t(f"{name}.help"))
            )
    elif place == OWN:
        pass  # a network from a file is as the file has it
    elif has_shape(place):
        shapes = list(dict.fromkeys([*([one.shape] if one.shape else []), *SHAPES[place]]))
        values["shape"] = _select(f"shape{number}", t("shape"), shapes, one.shape or shapes[0])
    else:
        values["ranks"] = _number(f"ranks{number}", t("ranks"), one.ranks, 1, MOST_RANKS)
    return _set(replace(one, **values), number)


def _set(one: Choice, number: int) -> Choice:
    """Chunks, channels and where a server sits: what changes a race most."""
    known, given = own_options(one.algorithm), dict(one.options)
    for name, choices in (
        ("chunks", [1, 4, 16, 64, 256]),
        ("channels", [None, 1, 2, 4, 8]),
        ("server", ["rank", "helper"]),
    ):
        if name not in known or (name == "channels" and not one.on_machine):
            continue
        usual = None if name == "channels" else known[name].default
        now = given.get(name, usual)
        offered: list[Any] = choices if now in choices else [*choices, now]
        picked = _select(f"{one.algorithm}_{name}{number}", t(f"option.{name}"), offered, now, _option_label)
        one = lineup.set_options(one, **{name: None if picked == usual else picked})
    return one


def _option_label(value: Any) -> str:
    return t("race.all") if value is None else t(f"race.server.{value}") if isinstance(value, str) else str(value)


def _start(name: str, value: Any) -> str:
    key = f"w_r_{name}"
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def _forget(everything: bool = False) -> None:
    """Let the runners' controls start again from the choice."""
    for key in [str(k) for k in st.session_state]:
        if key.startswith("w_r_") and (everything or key[-1].isdigit()):
            del st.session_state[key]


def _select(name: str, label: str, options: list[Any], current: Any, shown: Any = str) -> Any:
    key = _start(name, current if current in options else options[0])
    if st.session_state[key] not in options:
        st.session_state[key] = current if current in options else options[0]
    return st.selectbox(label, options, format_func={value: shown(value) for value in options}.__getitem__, key=key)


def _number(name: str, label: str, current: int, least: int, most: int) -> int:
    key = _start(name, min(max(current, least), most))
    return int(st.number_input(label, least, most, key=key, step=1))


def _quantity(name: str, options: list[str], current: str) -> str:
    """A text with a unit, from the list or typed; one that cannot be read gets a sentence, and the last good one
    counts."""
    key = _start(name, current)
    offered = list(dict.fromkeys([*options, current, st.session_state[key]]))
    typed = st.selectbox(t(name), offered, key=key, format_func=spaced, accept_new_options=True, help=t(f"{name}.help"))
    try:
        return str(READERS[name](str(typed or current)))
    except CollsimError as error:
        mistake(told(error, language()))
        return current


# ---- the race
# --------------------------------------------------------------------------------------------------------------------


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
    started: list[tuple[int, Runner]] = []
    for n, one in enumerate(shown.runners):
        if isinstance(one, Runner):
            started.append((n, one))
        else:
            mistake(t("race.failed", name=names[n], why=told(one, language())))
    if not started:
        mistake(t("race.nobody"))
        return
    both = zip(started, course([r for _, r in started]), strict=True)
    entries = [
        {**facts, "name": names[n], "note": _note(runners, n), "why": r.why[language() == "zh"]}
        for (n, r), facts in both
    ]
    if shown.overtaking is not None:
        first, other, size = shown.overtaking
        words = t("race.cross", nbytes=format_bytes(size), other=names[other], first=names[first])
        st.html(f'<div class="cs-note">{html.escape(words)}</div>')
    data = {
        "id": json.dumps(lineup.write(runners)),
        "runners": entries,
        "lang": language(),
        "theme": "dark" if is_dark() else "light",
    }
    mount = st.components.v2.component("collsim_race", js=race_source())
    mount(key="race", data=data | ({} if seconds is None else {"t": seconds}), on_state_change=lambda: None)
    with st.expander(t("code.title")):
        codebox.of_race([_facts(runners[n]) for n, _ in started])
    with st.expander(t("tab.files")):
        filebox.of_race([(names[n], runners[n]) for n, _ in started])


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
    return (
        t("race.nodes", place=place_label(one.place), count=one.nodes)
        if by == "copies"
        else t("race.runner", number=n + 1)
    )


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
