"""Break it: one thing of the run on Explore goes wrong, the checker or the clock says what, and the player shows
where."""

from __future__ import annotations

import streamlit as st

from collsim.teach.breaking import BREAKAGES

from ...scenario.choice import Choice
from ...scenario.panels import MAX_SEEDS
from ...scenario.run_questions import BrokenRun, break_run
from ...shell.notes import format_verdict
from ...shell.results import get_exact
from ...shell.session import get_language, get_session, set_panels, t


def draw_broken_run(choice: Choice) -> BrokenRun | None:
    """Draw what is broken and what came of it, in place of the figures of the whole run. None: the run is whole.

    Args:
        choice: The run that is chosen.
    """
    panels = get_session().panels
    if not panels.fault:
        return None
    with st.container(border=True, key="card_broken"):
        _draw_controls(panels.fault, panels.fault_seed)
        request = (choice, panels.fault, panels.fault_seed, get_language())
        broken_run: BrokenRun | None = get_exact(break_run, *request)
        if broken_run is None:
            return None
        token, unplayed = "done" if broken_run.right else "full", [] if broken_run.timeline else [t("break.unplayed")]
        st.html(format_verdict(broken_run.verdict, *unplayed, name=broken_run.what, token=token, status=True))
    return broken_run


def _draw_controls(fault: str, seed: int) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.session_state["break_way"] = fault
        names = {name: t(f"break.{name}") for name in BREAKAGES}
        st.segmented_control(
            t("break.label"),
            list(BREAKAGES),
            format_func=names.__getitem__,
            key="break_way",
            required=True,
            label_visibility="collapsed",
            on_change=_on_kind_picked,
        )
        moved = {"fault_seed": (seed + 1) % (MAX_SEEDS + 1)}
        st.button(t("break.other"), key="break_other", on_click=set_panels, kwargs=moved)
        whole = {"fault": "", "fault_seed": 0}
        st.button(t("break.fix"), key="break_fix", type="primary", on_click=set_panels, kwargs=whole)
        with st.popover(t("break.python")):
            call = f'broken = cs.teach.break_it(trace, "{fault}", seed={seed})  # trace = cs.simulate(...)'
            st.code(f"{call}\nprint(broken)", language="python")


def _on_kind_picked() -> None:
    set_panels(fault=str(st.session_state["break_way"]), fault_seed=0)
