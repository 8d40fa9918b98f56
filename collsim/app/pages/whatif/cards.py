"""Six questions that people ask of a run, each one click: what is changed stands in the menus below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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


def _suggest_rdma(choice: Choice) -> Edit | None:
    several = choice.copies > 1 and "gdr" in choice.takes
    if several:
        return replace(run_edits.PLAIN, gdr="off" if choice.gdr else "on")
    return None


def _slow(choice: Choice) -> Edit | None:
    ranks = run_edits.count_ranks(choice)
    if ranks > 1:
        return replace(run_edits.PLAIN, straggler=min(3, ranks - 1), straggler_fault="slow2")
    return None


def _suggest_network(choice: Choice) -> Edit | None:
    known = run_edits.list_link_kinds(choice)
    kind = next((name for name in _NETWORK if name in known), None)
    if kind is None:
        return None
    return replace(run_edits.PLAIN, link_kind=kind, factor="double")


def _suggest_job(choice: Choice) -> Edit | None:
    if run_edits.count_ranks(choice) > 1:
        return replace(run_edits.PLAIN, traffic="all")
    return None


def _order(choice: Choice) -> Edit | None:
    if choice.copies > 1:
        return replace(run_edits.PLAIN, placement="round-robin")
    return None


def _suggest_gpudirect(choice: Choice) -> Edit | None:
    if "p2p" in choice.takes:
        return replace(run_edits.PLAIN, p2p="off" if choice.p2p else "on")
    return None


def _suggest_jitter(choice: Choice) -> Edit | None:
    if run_edits.count_ranks(choice) > 1:
        return replace(run_edits.PLAIN, jitter="10us")
    return None


_ASKED: dict[str, Callable[[Choice], Edit | None]] = {
    "rdma": _suggest_rdma,
    "slow": _slow,
    "network": _suggest_network,
    "cable": lambda choice: None,  # needs the cables of a run, see `list_questions`
    "broken": lambda choice: None,  # the same
    "job": _suggest_job,
    "order": _order,
    "direct": _suggest_gpudirect,
    "jitter": _suggest_jitter,
}


def list_questions(choice: Choice, cables: Iterable[str]) -> Iterator[tuple[str, Edit]]:
    """The questions that make sense of a run, at most six, and the change that each stands for; `cables` of it, the
    busiest first.

    Args:
        choice: The run that is chosen.
        cables: Cables by their ends, `a~b`.
    """
    changes = {name: make(choice) for name, make in _ASKED.items()}
    few = [*islice(cables, _MAX_CUT)]
    for busiest in few[:1]:
        changes["cable"] = replace(run_edits.PLAIN, cable=busiest, cable_change="tenth")
    for cable in islice(
        (name for name in few if can_synthesize(choice.collective) and run_edits.can_lose(choice, name)), 1
    ):
        changes["broken"] = replace(run_edits.PLAIN, cable=cable, cable_change="cut", synthesize=True)
    able = [(name, edit) for name, edit in changes.items() if edit is not None]
    yield from able[:MAX_CARDS]


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
