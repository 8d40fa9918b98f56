"""Language, theme and a link to what is on the screen, at the top right of every page."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from collsim.locale import LANGUAGES, translate
from collsim.viz.hosts.bundle import read_bundle

from ..scenario.panels import ALL_CARDS, FULL, MODES
from ..scenario.simple_run import use_all_channels, use_single_channel
from ..styles import read_style
from .address import get_address_theme
from .session import get_language, get_session, is_dark, t

_HTML = (
    '<button class="link" type="button"></button><span class="says" role="status"></span>'
    '<div class="seg" role="group"></div><i class="ground"></i>'
)
_CSS = read_style("switches")


def draw_switches(pages: list[str]) -> None:
    """Draw them. `pages` are the paths of all pages: the theme is kept for each.

    Args:
        pages: Paths of all pages.
    """
    with st.container(key="switches", horizontal=True, width="content"):
        if get_session().page == "explore":
            _draw_mode()
        # The control shows the language of the address at the first run, and its own choice from then on.
        if "w_language" not in st.session_state:
            st.session_state["w_language"] = get_language()
        st.segmented_control(
            t("language"),
            list(LANGUAGES),
            format_func=lambda language: translate(language, "words", "language.label"),
            key="w_language",
            required=True,
            label_visibility="collapsed",
        )
        theme = st.components.v2.component("collsim_theme", html=_HTML, css=_CSS, js=read_bundle("switches"))
        words = {
            "light": t("theme.light"),
            "dark": t("theme.dark"),
            "label": t("theme"),
            "link": t("link.page"),
            "copied": t("link.copied"),
        }
        theme(
            key="theme",
            data={**words, "isDark": is_dark(), "pages": pages, "theme": get_address_theme()},
            width="content",
            height="content",
            on_isDark_change=lambda: None,  # drawing again is all there is to do
        )


def _draw_mode() -> None:
    """Simple or full: the same run at the same moment."""
    st.session_state["w_mode"] = get_session().panels.mode
    st.segmented_control(
        t("mode"),
        list(MODES),
        format_func=lambda name: t(f"mode.{name}"),
        key="w_mode",
        required=True,
        label_visibility="collapsed",
        on_change=_turn_mode,
    )


def _turn_mode() -> None:
    now = get_session()
    mode = st.session_state.get("w_mode") or now.panels.mode
    if mode == FULL:
        cards, now.choice = "", now.choice if now.panels.cards else use_single_channel(now.choice)
    else:
        cards, now.choice = (
            ALL_CARDS if use_single_channel(now.choice) != now.choice else "",
            use_all_channels(now.choice),
        )
    now.panels = replace(now.panels, mode=mode, cards=cards, predict=False)
    now.start = dict(now.moments.get("explore", {}))
    now.last_run = now.choice, None  # the same run: its moment stays
