"""What to buy first for the step of the page Train: run for every part that could be better. No Streamlit here."""

from __future__ import annotations

from dataclasses import dataclass

import collsim as cs
from collsim.errors import CollsimError
from collsim.locale import LANGUAGES, Text

from ...jobs.worker import ReportProgress
from ...scenario.outcome import ignore_progress
from . import step_scenarios
from .training_choice import TrainingChoice

#: Prices by part or change, as `cs.upgrades` takes them.
Prices = tuple[tuple[str, float], ...]
_RUNS = 60  # so many changes at most, with their pairs
#: Characters of the field with prices.
LONGEST_PRICES = 200


@dataclass(frozen=True)
class UpgradesView:
    """What the panel shows, as plain data.

    Attributes:
        explanation: the sentences.
        cells: in each language the rows, a cell by its heading.
    """

    explanation: Text
    cells: tuple[tuple[dict[str, str], ...], ...]


def read_prices(text: str) -> Prices:
    """Read prices as a person types them: `nic=2400, nvlink=60000`.

    Args:
        text: The text.

    Raises:
        CollsimError: A price is no number, or its part is unknown.
    """
    prices: dict[str, float] = {}
    for word in filter(None, (part.strip() for part in text[:LONGEST_PRICES].split(","))):
        name, equals, number = word.rpartition("=")
        try:
            prices[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise CollsimError("{word!r} is not part=price, for example nic=2400", word=word)
    return tuple(prices.items())


def list_upgrades(
    choice: TrainingChoice, prices: Prices, report_progress: ReportProgress = ignore_progress
) -> UpgradesView:
    """Run the step for every part that could be better, with the switches of the page that are on.

    Args:
        choice: Of the page.
        prices: What parts cost.
        report_progress: Called with "run" and the share done, 0 to 1.
    """
    step = step_scenarios.apply_switches(choice, step_scenarios.time_step(step_scenarios.strip_switches(choice)))
    table = cs.upgrades(
        step, prices=dict(prices), progress=lambda done, count, _: report_progress("run", done / max(1, count))
    )
    explanation = tuple(table.explanation(language) for language in LANGUAGES)
    return UpgradesView(explanation, tuple(tuple(table.list_cells(language)) for language in LANGUAGES))


def estimate_upgrades(choice: TrainingChoice, _prices: Prices) -> float:
    """Seconds that `list_upgrades` should take.

    Args:
        choice: Of the page.
        _prices: They change no time.
    """
    return _RUNS * step_scenarios.estimate_step(choice) / len(step_scenarios.CAPS)
