"""Six questions that people ask of a run, each one click: what is changed stands in the menus below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

import streamlit as st

from collsim.sweep.synthesized import can_be

from ...scenario.choice import Choice
from ...shell.address import remember
from ...shell.session import forget_widgets, t
from . import edits
from .edits import Edit

MOST_CARDS = 6
_MOST_CUT = 3  # cables of a run that are tried for one that it can lose
_NETWORK = ("infiniband", "ethernet", "cable", "nvlink", "xgmi", "ici", "pcie")  # the first of them that a place has


def _rdma(choice: Choice) -> Edit | None:
    several = choice.copies > 1 and "gdr" in choice.takes
    return replace(edits.PLAIN, gdr="off" if choice.gdr else "on") if several else None


def _slow(choice: Choice) -> Edit | None:
    ranks = edits.ranks(choice)
    return replace(edits.PLAIN, straggler=min(3, ranks - 1), how="slow2") if ranks > 1 else None


def _network(choice: Choice) -> Edit | None:
    known = edits.kinds(choice)
    kind = next((one for one in _NETWORK if one in known), None)
    return None if kind is None else replace(edits.PLAIN, kind=kind, factor="double")


def _job(choice: Choice) -> Edit | None:
    return replace(edits.PLAIN, traffic="all") if edits.ranks(choice) > 1 else None


def _order(choice: Choice) -> Edit | None:
    return replace(edits.PLAIN, placement="round-robin") if choice.copies > 1 else None


def _direct(choice: Choice) -> Edit | None:
    return replace(edits.PLAIN, p2p="off" if choice.p2p else "on") if "p2p" in choice.takes else None


def _jitter(choice: Choice) -> Edit | None:
    return replace(edits.PLAIN, jitter="10us") if edits.ranks(choice) > 1 else None


_ASKED: dict[str, Callable[[Choice], Edit | None]] = {
    "rdma": _rdma,
    "slow": _slow,
    "network": _network,
    "cable": lambda choice: None,  # needs the cables of a run, see `asked`
    "broken": lambda choice: None,  # the same
    "job": _job,
    "order": _order,
    "direct": _direct,
    "jitter": _jitter,
}


def asked(choice: Choice, cables: Iterable[str]) -> Iterator[tuple[str, Edit]]:
    """The questions that make sense of a run, at most six, and the change that each stands for; `cables` of it, the
    busiest first."""
    found = {name: make(choice) for name, make in _ASKED.items()}
    few = [*islice(cables, _MOST_CUT)]
    for busiest in few[:1]:
        found["cable"] = replace(edits.PLAIN, cable=busiest, do="tenth")
    for cable in islice((name for name in few if can_be(choice.collective) and edits.can_lose(choice, name)), 1):
        found["broken"] = replace(edits.PLAIN, cable=cable, do="cut", synthesize=True)
    able = [(name, edit) for name, edit in found.items() if edit is not None]
    yield from able[:MOST_CARDS]


def cards(choice: Choice, edit: Edit, page: str, cables: Iterable[str]) -> None:
    """Draw them; a click makes its change the only one."""
    found = list(asked(choice, cables))
    with st.container(key="whatif_cards"):
        for column, (name, change) in zip(st.columns(len(found) or 1, gap="small"), found, strict=False):
            column.button(
                _question(name, change, choice),
                key=f"ask_{name}",
                type="primary" if replace(edit, synthesize=change.synthesize) == change else "secondary",
                width="stretch",
                on_click=_take,
                args=(page, change),
            )


def _question(name: str, change: Edit, choice: Choice) -> str:
    turned = {"rdma": choice.gdr, "direct": choice.p2p}.get(name, True)
    return t(f"whatif.ask.{name}{'' if turned else '.on'}", rank=change.straggler)


def _take(page: str, change: Edit) -> None:
    remember(page, change)
    forget_widgets("x_")
