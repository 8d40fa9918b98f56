"""Close the gap: one click shows what is synthesized for the run on Explore, raced against ring and tree."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ...scenario.choice import Choice
from ...scenario.outcome import Outcome
from ...shell.session import session, t
from ...synthesis.box import box
from ...synthesis.found import expected_of_run, of_run


def panel(choice: Choice, shown: Outcome) -> bool:
    """Draw the button, or what it shows in place of the run. False: the run is to be drawn."""
    if not session().panels.synthesize:
        if shown.figures.bound:
            st.button(
                t("synthesis.show"),
                key="synthesis_show",
                help=t("synthesis.show.help"),
                icon=":material/route:",
                on_click=_turned,
                args=(True,),
            )
        return False
    box(of_run, choice, expected=expected_of_run, close=_close)
    return True


def _close() -> None:
    _turned(False)


def _turned(on: bool) -> None:
    now = session()
    now.panels = replace(now.panels, synthesize=on)
