"""The one ES module player, hosted by a Streamlit component: one mount, one key, a timeline under an id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from collsim.viz.hosts.page import player_source

from .session import is_dark, language


@st.fragment
def player(
    timeline: dict[str, Any],
    ident: str,
    start: Mapping[str, Any],
    report: Callable[[dict[str, Any]], None] = lambda moment: None,
) -> None:
    """Mount the player. It keeps playing over reruns; what it reports reruns only this fragment.

    Args:
        timeline: as `collsim.viz.timeline.encode` returns it.
        ident: names the run; the same name means the same picture, and nothing starts again.
        start: `t` (s) and `view` at which it begins, as far as they are given.
        report: is told `t` and `view` whenever somebody pauses, seeks or turns to the other view.
    """
    mount = st.components.v2.component("collsim_player", js=player_source())
    data = {
        "id": ident,
        "timeline": timeline,
        "lang": language(),
        "theme": "dark" if is_dark() else "light",
        "t": start.get("t"),
        "view": start.get("view"),
    }
    reported = mount(key="player", data=data, on_state_change=lambda: None).get("state")
    if reported:
        report({key: reported[key] for key in ("t", "view") if key in reported})
