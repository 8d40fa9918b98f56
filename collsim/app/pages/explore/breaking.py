"""Break it: one thing of the run on Explore goes wrong, the checker or the clock says what, and the player shows
where."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from collsim.teach.breaking import WAYS

from ...scenario.choice import Choice
from ...scenario.panels import MOST_SEEDS
from ...scenario.run_questions import BrokenRun, broken, expected_broken
from ...shell.notes import small, verdict
from ...shell.results import latest
from ...shell.session import language, session, t


def panel(choice: Choice) -> BrokenRun | None:
    """Draw what is broken and what came of it, in place of the figures of the whole run. None: the run is whole."""
    panels = session().panels
    if not panels.way:
        return None
    with st.container(border=True, key="card_broken"):
        _controls(panels.way, panels.place)
        wanted = (choice, panels.way, panels.place, language())
        found = latest(broken, *wanted, expected=expected_broken, only=True)
        if found is None:
            return None
        shown: BrokenRun = found[0]
        token, unplayed = "done" if shown.right else "full", [] if shown.timeline else [t("break.unplayed")]
        st.html(verdict(shown.says, *unplayed, name=small(shown.what), token=token, status=True))
    return shown


def _controls(way: str, place: int) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.session_state["break_way"] = way
        names = {name: t(f"break.{name}") for name in WAYS}
        st.segmented_control(
            t("break.label"),
            list(WAYS),
            format_func=names.__getitem__,
            key="break_way",
            required=True,
            label_visibility="collapsed",
            on_change=_picked,
        )
        st.button(t("break.other"), key="break_other", on_click=_moved)
        st.button(t("break.mend"), key="break_mend", type="primary", on_click=_mended)
        with st.popover(t("break.python")):
            st.code(
                f'broken = cs.teach.break_it(trace, "{way}", seed={place})  # trace = cs.simulate(...)\nprint(broken)',
                language="python",
            )


def _picked() -> None:
    now = session()
    now.panels = replace(now.panels, way=str(st.session_state["break_way"]), place=0)


def _moved() -> None:
    now = session()
    now.panels = replace(now.panels, place=(now.panels.place + 1) % (MOST_SEEDS + 1))


def _mended() -> None:
    now = session()
    now.panels = replace(now.panels, way="", place=0)
