"""What to buy first for a run, and the same GPUs with other wires, as plain data. Nothing here knows Streamlit."""

from __future__ import annotations

import time
from dataclasses import dataclass

import collsim as cs
from collsim.locale import LANGUAGES, Text
from collsim.purchases import Upgrade, Upgrades, compare_wires
from collsim.purchases.part_prices import parse_price_texts
from collsim.purchases.timed_runs import wrap_run

from ..jobs.job_spec import job, report_progress
from .choice import Choice
from .outcome import estimate_outcome, simulate, uses_events

#: Prices by part or change, as `cs.upgrades` takes them.
Prices = tuple[tuple[str, float], ...]
#: Rows of a table in each language, a cell by its heading.
Cells = tuple[tuple[dict[str, str], ...], ...]
#: Runs of the changes and of their pairs, at most: the estimate is so many times that of one run.
_MAX_RUNS = 20
#: Characters of the field with prices.
LONGEST_PRICES = 200
#: Seconds between two reports of rows.
_REPORT_EVERY = 0.2


@dataclass(frozen=True)
class UpgradesView:
    """What the panel shows, as plain data.

    Attributes:
        explanation: the sentences.
        cells: the rows, what to buy first.
        wires: the same GPUs with other wires.
    """

    explanation: Text
    cells: Cells
    wires: Cells


def read_prices(text: str) -> Prices:
    """Read prices as a person types them: `nic=2400, nvlink=60000`.

    Args:
        text: The text.

    Raises:
        CollsimError: A price is no number above 0, or its part is unknown.
    """
    words = filter(None, (part.strip() for part in text[:LONGEST_PRICES].split(",")))
    return tuple(parse_price_texts(words).items())


def describe_upgrades(run: cs.StepTrace | cs.Trace, prices: Prices) -> UpgradesView:
    """Run it for every part that could be better, and with other wires.

    Args:
        run: As `cs.upgrades` takes it.
        prices: What parts cost.
    """
    rows: list[Upgrade] = []
    timed, reported = wrap_run(run), 0.0

    def report_row(done: int, count: int, row: Upgrade | None) -> None:
        """Report the rows so far, the free ones first as they are run first; not each of them to a page that looks now
        and then.

        Args:
            done: Changes that were run.
            count: Changes in all.
            row: What was found; None where a change is no row.
        """
        nonlocal reported
        rows.extend([row] if row is not None else [])
        if time.monotonic() - reported < _REPORT_EVERY:
            return
        reported = time.monotonic()
        so_far = Upgrades(run, timed.time, timed.computing_share, tuple(rows))
        cells = tuple(tuple(so_far.list_cells(language)) for language in LANGUAGES)
        report_progress("run", done / max(1, count), cells)

    table = cs.upgrades(run, prices=dict(prices), progress=report_row)
    wires = compare_wires(run)
    return UpgradesView(
        tuple(table.explanation(language) for language in LANGUAGES),
        tuple(tuple(table.list_cells(language)) for language in LANGUAGES),
        tuple(tuple(variant.list_cells(language) for variant in wires) for language in LANGUAGES),
    )


@job(lambda choice, _: _MAX_RUNS * estimate_outcome(choice), compiled=uses_events)
def list_run_upgrades(choice: Choice, prices: Prices) -> UpgradesView:
    """What to buy first for a collective.

    Args:
        choice: The run that is chosen.
        prices: What parts cost.

    Raises:
        CollsimError: The run or its machine cannot be.
    """
    return describe_upgrades(simulate(choice), prices)
