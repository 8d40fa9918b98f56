"""Costs and energy of the step on the page Train: fields for prices, and a row for the step, an epoch and a run."""

from __future__ import annotations

from dataclasses import fields

import streamlit as st

import collsim as cs

from ...editor.upgrades_panel import draw_cells
from ...shell.notes import draw_note
from ...shell.results import get_exact
from ...shell.session import choose_text, t
from .step_costs import CostOptions, CostsView, list_costs
from .training_choice import TrainingChoice

_MAX = 1e12
#: What only models that read tokens are asked for.
_OF_TOKENS = ("tokens", "parameters", "gpus", "tflops")
_HELP = {"watts": "costs.watts.help", **dict.fromkeys(_OF_TOKENS[1:], "costs.days.help")}


def draw_costs(choice: TrainingChoice) -> None:
    """Draw the fields and the table; what is left empty has no column or no row.

    Args:
        choice: Of the page, as far as it decides about times.
    """
    names = [entry.name for entry in fields(CostOptions)]
    if not cs.model(choice.model).tokens:
        names = [name for name in names if name not in _OF_TOKENS]
    with st.container(horizontal=True, gap="small"):
        options = CostOptions(**{name: _ask(name) for name in names})
    costs: CostsView | None = get_exact(list_costs, choice, options)
    if costs is None:
        return
    draw_cells(costs.cells)
    if costs.days is not None:
        draw_note(t("costs.days", sentence=choose_text(costs.days)))
    if costs.watts is None:
        draw_note(t("costs.unknown"))


def _ask(name: str) -> float | None:
    """A number above 0, or nothing."""
    help = None
    if name in _HELP:
        help = t(_HELP[name])
    key = f"w_cost_{name}"
    return st.number_input(t(f"costs.{name}"), 0.0, _MAX, None, format="%.10g", key=key, help=help, width=190) or None
