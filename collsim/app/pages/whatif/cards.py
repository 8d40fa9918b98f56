"""Six questions that people ask of a run, each one click: what is changed stands in the menus below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

import streamlit as st

from collsim.locale import Text
from collsim.sweep.synthesized_algorithm import can_synthesize

from ...scenario.choice import Choice
from ...shell.address import remember
from ...shell.session import choose_text, forget_widgets
from ...texts import write_texts
from . import run_edits
from .run_edits import Edit

MAX_CARDS = 6
_MAX_CUT = 3  # cables of a run that are tried for one that it can lose
_NETWORK = ("infiniband", "ethernet", "cable", "nvlink", "xgmi", "ici", "pcie")  # the first of them that a machine has


def _suggest_changes(choice: Choice, cables: Iterable[str]) -> Iterator[tuple[str, Edit]]:
    """Every change that makes sense of a run, by the name of its card, in the order of the cards."""
    has_several_ranks = run_edits.count_ranks(choice) > 1
    if choice.copies > 1 and "gdr" in choice.takes:
        yield "rdma", replace(run_edits.PLAIN, gdr="off" if choice.gdr else "on")
    if has_several_ranks:
        slow_rank = min(3, run_edits.count_ranks(choice) - 1)
        yield "slow", replace(run_edits.PLAIN, straggler=slow_rank, straggler_fault="slow2")
    known = run_edits.list_link_kinds(choice)
    for kind in [name for name in _NETWORK if name in known][:1]:
        yield "network", replace(run_edits.PLAIN, link_kind=kind, factor="double")
    few = [*islice(cables, _MAX_CUT)]
    for busiest in few[:1]:
        yield "cable", replace(run_edits.PLAIN, cable=busiest, cable_change="tenth")
    if can_synthesize(choice.collective):
        for cable in islice((name for name in few if run_edits.can_lose(choice, name)), 1):
            yield "broken", replace(run_edits.PLAIN, cable=cable, cable_change="cut", synthesize=True)
    if has_several_ranks:
        yield "job", replace(run_edits.PLAIN, traffic="all")
    if choice.copies > 1:
        yield "order", replace(run_edits.PLAIN, placement="round-robin")
    if "p2p" in choice.takes:
        yield "direct", replace(run_edits.PLAIN, p2p="off" if choice.p2p else "on")
    if has_several_ranks:
        yield "jitter", replace(run_edits.PLAIN, jitter="10us")


def list_questions(choice: Choice, cables: Iterable[str]) -> Iterator[tuple[str, Edit]]:
    """The questions that make sense of a run, at most six, and the change that each stands for; `cables` of it, the
    busiest first.

    Args:
        choice: The run that is chosen.
        cables: Cables by their ends, `a~b`.
    """
    return islice(_suggest_changes(choice, cables), MAX_CARDS)


def draw_cards(choice: Choice, edit: Edit, page: str, cables: Iterable[str]) -> None:
    """Draw them; a click makes its change the only one.

    Args:
        choice: The run that is chosen.
        edit: The change that is made to the run.
        page: Name of the page.
        cables: Cables by their ends, `a~b`.
    """
    names = list(list_questions(choice, cables))
    with st.container(key="whatif_cards"):
        for column, (name, change) in zip(st.columns(len(names) or 1, gap="small"), names, strict=False):
            column.button(
                choose_text(write_question(name, change, choice)),
                key=f"ask_{name}",
                type="primary" if replace(edit, synthesize=change.synthesize) == change else "secondary",
                width="stretch",
                on_click=_take,
                args=(page, change),
            )


def write_question(name: str, change: Edit, choice: Choice) -> Text:
    """What a card says.

    Args:
        name: Its name.
        change: The change that it makes.
        choice: The run that is chosen.
    """
    is_on = {"rdma": choice.gdr, "direct": choice.p2p}.get(name, True)
    return write_texts(f"whatif.ask.{name}{'' if is_on else '.on'}", rank=change.straggler)


def _take(page: str, change: Edit) -> None:
    remember(page, change)
    forget_widgets("x_")
