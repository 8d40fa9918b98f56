"""What to buy first, beside a run: prices, sentences, a row for each part, and the same GPUs with other wires."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

import streamlit as st

from collsim.errors import CollsimError
from collsim.locale import LANGUAGES

from ..scenario.choice import Choice
from ..scenario.run_upgrades import LONGEST_PRICES, Cells, UpgradesView, list_run_upgrades, read_prices
from ..shell.charts import draw_table
from ..shell.controls import draw_folded
from ..shell.notes import draw_error, draw_heading, format_verdict
from ..shell.results import get_exact
from ..shell.session import choose_text, get_language, t


def draw_run_upgrades(choice: Choice) -> None:
    """Draw the panel of a collective, folded; nothing on a network that is no machine.

    Args:
        choice: The run that is chosen.
    """
    if not choice.on_machine:
        return
    draw_folded("upgrades", t("upgrades.title"), partial(draw_upgrades, list_run_upgrades, choice))


def draw_upgrades(list_upgrades: Callable[..., UpgradesView], choice: Hashable) -> None:
    """Draw what is in the panel: prices, and what they lead to.

    Args:
        list_upgrades: Computes it from the choice and the prices.
        choice: The run that is chosen.
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
        draw_error(error)
        return
    panel: UpgradesView | None = get_exact(list_upgrades, choice, prices, draw_partial=draw_cells)
    if panel is None:
        return
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
        draw_table({head: ([row[head] for row in rows], st.column_config.TextColumn(head)) for head in rows[0]})
