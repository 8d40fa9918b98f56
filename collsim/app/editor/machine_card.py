"""The machine of a page as a picture that is edited, where the page has no picture of a run that shows it."""

from __future__ import annotations

from functools import lru_cache, partial

import streamlit as st

from collsim.errors import CollsimError
from collsim.viz.timeline.machine_timeline import build_machine_timeline
from collsim.viz.timeline.timeline_types import EncodedTimeline

from ..scenario.choice import MachineChoice
from ..scenario.outcome import build_topology
from ..shell.notes import draw_note
from ..shell.player import mount_machine
from ..shell.session import queue_callback, t
from .machine_history import make_edit
from .panel_document import describe_panel


def draw_machine_card(choice: MachineChoice) -> None:
    """Draw the picture under its title; what is changed in it is run on the page again.

    Args:
        choice: The run that is chosen.
    """
    card = st.expander(t("machine.edit.title"), key="w_machine_card", on_change="rerun")
    if not card.open:
        return
    panel = describe_panel(choice)
    if panel is None:
        return
    machine = MachineChoice(**choice.machine_fields)
    try:
        timeline = _build_timeline(machine)
    except CollsimError:
        return  # it has more ranks than a picture
    with card:
        draw_note(t("machine.edit.note"))
        mount_machine(timeline, repr(machine), panel, partial(hear_edit, "machine_picture"))


@lru_cache(maxsize=16)
def _build_timeline(machine: MachineChoice) -> EncodedTimeline:
    return build_machine_timeline(build_topology(machine))


@queue_callback
def hear_edit(key: str) -> None:
    """Something was changed in a picture.

    Args:
        key: Key of its component.
    """
    make_edit((st.session_state.get(key) or {}).get("edit"))
