"""The ES module players, hosted by Streamlit components: one mount each, one key, a timeline under an id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from collsim.viz.hosts.page import player_source
from collsim.viz.race.race import Runner, course, race_source
from collsim.viz.simple.simple import simple_source

from .session import is_dark, language, queue_reruns

_HEARD = ("state", "cards", "predict")


def look() -> dict[str, str]:
    """The language and the theme, as every component takes them."""
    return {"lang": language(), "theme": "dark" if is_dark() else "light"}


@st.fragment
@queue_reruns
def player(
    timeline: dict[str, Any],
    ident: str,
    start: Mapping[str, Any],
    report: Callable[[dict[str, Any]], None] = lambda moment: None,
    key: str = "player",
) -> None:
    """Mount the player. It keeps playing over reruns; what it reports reruns only this fragment.

    Args:
        timeline: as `collsim.viz.timeline.encode` returns it.
        ident: names the run; the same name means the same picture, and nothing starts again.
        start: `t` (s), `view` and open `node` at which it begins, as far as they are given.
        report: is told `t`, `view` and `node` whenever somebody pauses, seeks, turns to the other view or opens a node.
        key: of the component, another one on every page.
    """
    mount = st.components.v2.component("collsim_player", js=player_source())
    data = {
        "id": ident,
        "timeline": timeline,
        **look(),
        "t": start.get("t"),
        "view": start.get("view"),
        "node": start.get("node"),
    }
    reported = mount(key=key, data=data, on_state_change=lambda: None).get("state")
    if reported:
        report({name: reported[name] for name in ("t", "view", "node") if name in reported})


def _noted() -> None:
    """What came is read where the component stands."""


@st.fragment
@queue_reruns
def simple_page(
    data: dict[str, Any], start: Mapping[str, Any], report: Callable[[str, Any], None] = lambda name, value: None
) -> None:
    """Mount the simple page; `data` as the module `simple.js` takes it. `report` is told what a reader does: `state`
    (its `t`), `cards` and `predict` (on or off), each when it changes."""
    mount = st.components.v2.component("collsim_simple", js=simple_source())
    said = mount(
        key="simple_page",
        data={**data, **look(), "t": start.get("t")},
        on_state_change=_noted,
        on_cards_change=_noted,
        on_predict_change=_noted,
    )
    known: dict[str, Any] = st.session_state.setdefault("simple_said", {})
    for name in _HEARD:
        if said.get(name) is not None and said.get(name) != known.get(name):
            known[name] = said.get(name)
            report(name, said.get(name))


def race(runners: Sequence[tuple[Runner, str, str]], ident: str, key: str, seconds: float | None) -> None:
    """Mount runs side by side on one clock: each with its name and a note, from a moment (s) if one is given."""
    facts = course([runner for runner, _, _ in runners])
    entries = [
        {**of, "name": name, "note": note, "why": runner.why[language() == "zh"]}
        for of, (runner, name, note) in zip(facts, runners, strict=True)
    ]
    mount = st.components.v2.component("collsim_race", js=race_source())
    data = {"id": ident, "runners": entries, **look()} | ({} if seconds is None else {"t": seconds})
    mount(key=key, data=data, on_state_change=lambda: None)
