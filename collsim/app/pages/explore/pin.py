"""A run that is pinned: it stays while another one is chosen, and both are played on one clock."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ...scenario.choice import Choice
from ...shell.address import get_menu, remember
from ...shell.session import get_session, set_panels, t
from ..race import lineup
from ..race.race import PAGE as RACE


def draw_pin(choice: Choice) -> None:
    """Draw the button that pins the run; while another one is pinned, the one that races both.

    Args:
        choice: The run that is shown.
    """
    pinned, text = get_session().panels.pinned, lineup.write_runner(choice, without=())
    icon, pin = ":material/keep:", partial(st.button, help=t("pin.start.help"), key="pin_start")
    if not pinned:
        pin(t("pin.start"), icon=icon, on_click=set_panels, kwargs={"pinned": text})
        return
    if pinned == text:
        pin(t("pin.pinned"), icon=icon, disabled=True)
    elif st.button(t("pin.race"), key="pin_race", type="primary", icon=icon, help=t("pin.race.help", run=pinned)):
        _race(pinned, choice)
    st.button(t("pin.end"), key="pin_end", type="tertiary", on_click=set_panels, kwargs={"pinned": ""})


def _race(pinned: str, choice: Choice) -> None:
    """Open the race of the pinned run and the one that is shown."""
    runners, complaints = lineup.build_pinned_race(pinned, choice)
    get_session().complaints = complaints
    remember(RACE, runners)
    st.switch_page(get_menu()[RACE])
