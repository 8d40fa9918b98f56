"""The row of tabs that the page Train has in common with those on pipelines, splits, sharding and inference."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ...shell.address import get_menu, get_remembered, remember
from ...shell.controls import start
from ...shell.session import get_session, t
from . import training_choice

#: In the order of the row; the first are views of the page Train, the others pages.
PAGES = ("pipeline", "split", "sharding", "inference")
TABS = (*training_choice.VIEWS, *PAGES)


def draw_tabs(current: str) -> str:
    """Draw the row; turns to another page where its tab is chosen, else the one that is chosen.

    Args:
        current: What is chosen now.
    """
    key = start(f"train_show_{current}" if current in PAGES else "train_show", current, TABS)
    chosen = st.segmented_control(
        t("train.show"),
        list(TABS),
        format_func=lambda name: t(f"train.show.{name}"),
        key=key,
        required=True,
        label_visibility="collapsed",
    )
    chosen = chosen or current
    if chosen != current and (chosen in PAGES or current in PAGES):
        _open_tab(chosen)
    return chosen


def _open_tab(chosen: str) -> None:
    """To the page of a tab; one that was there already keeps what it had."""
    if chosen in training_choice.VIEWS:
        before = training_choice.PLAIN
        if "train" in get_session().page_values:
            before = get_remembered("train")
        remember("train", replace(before, show=chosen))
        st.switch_page(get_menu()["train"])
    st.switch_page(get_menu()[chosen])
