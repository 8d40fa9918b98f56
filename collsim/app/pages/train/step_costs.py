"""What the step of the page Train costs, and an epoch and a run of it. No Streamlit here."""

from __future__ import annotations

from dataclasses import dataclass

from collsim.locale import LANGUAGES
from collsim.purchases import estimate_costs, find_gpu_watts

from ...jobs.worker import ReportProgress
from ...scenario.outcome import ignore_progress
from ...scenario.run_upgrades import Cells
from . import step_scenarios
from .training_choice import TrainingChoice

#: Tokens are typed in billions.
_BILLION = 1e9


@dataclass(frozen=True)
class CostOptions:
    """What a person typed; None for what was left empty.

    Attributes:
        gpu_hour: price of an hour of one GPU.
        watts: of one GPU.
        kwh: price of a kilowatt-hour.
        epoch: samples of an epoch.
        tokens: of the run, in billions.
    """

    gpu_hour: float | None = None
    watts: float | None = None
    kwh: float | None = None
    epoch: float | None = None
    tokens: float | None = None


@dataclass(frozen=True)
class CostsView:
    """What the panel shows, as plain data.

    Attributes:
        cells: a row for the step, the epoch and the run.
        watts: of one GPU, by the data sheet or as typed; None where it is not known.
    """

    cells: Cells
    watts: float | None


def list_costs(
    choice: TrainingChoice, options: CostOptions, report_progress: ReportProgress = ignore_progress
) -> CostsView:
    """What the step costs, with the switches of the page that are on.

    Args:
        choice: Of the page.
        options: Prices, power and lengths.
        report_progress: Called with "run" and the share done, 0 to 1.

    Raises:
        CollsimError: A number is not above 0; tokens of a model without any.
    """
    report_progress("run", 0.0)
    step = step_scenarios.apply_switches(choice, step_scenarios.time_step(step_scenarios.strip_switches(choice)))
    tokens = options.tokens
    if tokens is not None:
        tokens *= _BILLION
    costs = estimate_costs(
        step, gpu_hour=options.gpu_hour, watts=options.watts, kwh=options.kwh, epoch=options.epoch, tokens=tokens
    )
    cells = tuple(tuple(cost.list_cells(language) for cost in costs) for language in LANGUAGES)
    return CostsView(cells, options.watts or find_gpu_watts(step.topology))


def estimate_time(choice: TrainingChoice, _options: CostOptions) -> float:
    """Seconds that `list_costs` should take.

    Args:
        choice: Of the page.
        _options: They change no time.
    """
    return step_scenarios.estimate_step(choice) / len(step_scenarios.CAPS)
