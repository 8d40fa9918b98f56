"""What to buy first, beside a run: prices, sentences, a row for each part, and the same GPUs with other wires."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

import streamlit as st

from collsim.errors import CollsimError
from collsim.locale import LANGUAGES

from ..scenario.choice import Choice
from ..scenario.mistakes import write_sentence
from ..scenario.run_upgrades import (
    LONGEST_PRICES,
    Cells,
    UpgradesView,
    estimate_run_upgrades,
    list_run_upgrades,
    read_prices,
)
from ..shell.charts import draw_table
from ..shell.controls import draw_folded
from ..shell.notes import draw_heading, draw_mistake, format_verdict
from ..shell.results import get_latest
from ..shell.session import choose_text, get_language, t


def draw_run_upgrades(choice: Choice) -> None:
    """Draw the panel of a collective, folded; nothing on a network that is no machine.

    Args:
        choice: The run that is chosen.
    """
    if not choice.on_machine:
        return
    compiled = choice.engine == "event"
    draw = partial(draw_upgrades, list_run_upgrades, choice, estimate_run_upgrades, compiled)
    draw_folded("upgrades", t("upgrades.title"), draw)


def draw_upgrades(
    list_upgrades: Callable[..., UpgradesView], choice: Hashable, expected: Callable[..., float], compiled: bool
) -> None:
    """Draw what is in the panel: prices, and what they lead to.

    Args:
        list_upgrades: Computes it from the choice and the prices.
        choice: The run that is chosen.
        expected: Seconds that it should take, from the same arguments.
        compiled: Whether it needs the event engine.
    """
    text = st.text_input(
        t("upgrades.prices"),
        key="w_upgrade_prices",
        placeholder="nic=2400, nvlink=60000",
        help=t("upgrades.prices.help"),
        max_chars=LONGEST_PRICES,
    )
    try:
        prices = read_prices(text)
    except CollsimError as error:
        draw_mistake(write_sentence(error, get_language()))
        return
    latest_result = get_latest(
        list_upgrades, choice, prices, expected=expected, compiled=compiled, exact_only=True, draw_partial=draw_cells
    )
    if latest_result is None:
        return
    panel: UpgradesView = latest_result[0]
    st.html(format_verdict(choose_text(panel.explanation), style="flex:none", token="done"))
    draw_cells(panel.cells)
    draw_heading(t("upgrades.wires"))
    draw_cells(panel.wires)


def draw_cells(cells: Cells | None) -> None:
    """Draw rows in the language of the page.

    Args:
        cells: The rows in each language; None where there are none yet.
    """
    if cells is None:
        return
    rows = cells[LANGUAGES.index(get_language())]
    if rows:
        draw_table({head: ([row[head] for row in rows], head) for head in rows[0]})
