"""Costs and energy of the step on the page Train: fields for prices, and a row for the step, an epoch and a run."""

from __future__ import annotations

import streamlit as st

import collsim as cs

from ...editor.upgrades_panel import draw_cells
from ...shell.notes import draw_note
from ...shell.results import get_exact
from ...shell.session import choose_text, t
from .step_costs import CostOptions, CostsView, list_costs
from .training_choice import TrainingChoice

_MAX = 1e12


def draw_costs(choice: TrainingChoice) -> None:
    """Draw the fields and the table; what is left empty has no column or no row.

    Args:
        choice: Of the page, as far as it decides about times.
    """
    has_tokens = bool(cs.model(choice.model).tokens)
    with st.container(horizontal=True, gap="small"):
        options = CostOptions(
            gpu_hour=_ask("gpu_hour"),
            watts=_ask("watts", t("costs.watts.help")),
            kwh=_ask("kwh"),
            epoch=_ask("epoch"),
            tokens=_ask("tokens") if has_tokens else None,
            parameters=_ask("parameters", t("costs.days.help")) if has_tokens else None,
            gpus=_ask("gpus", t("costs.days.help")) if has_tokens else None,
            tflops=_ask("tflops", t("costs.days.help")) if has_tokens else None,
        )
    costs: CostsView | None = get_exact(list_costs, choice, options)
    if costs is None:
        return
    draw_cells(costs.cells)
    if costs.days is not None:
        draw_note(t("costs.days", sentence=choose_text(costs.days)))
    if costs.watts is None:
        draw_note(t("costs.unknown"))


def _ask(name: str, help: str | None = None) -> float | None:
    """A number above 0, or nothing."""
    value = st.number_input(
        t(f"costs.{name}"),
        min_value=0.0,
        max_value=_MAX,
        value=None,
        format="%.10g",
        key=f"w_cost_{name}",
        help=help,
        width=190,
    )
    return value or None
