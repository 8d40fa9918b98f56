"""What to buy first for the step of the page Train: run for every part that could be better. No Streamlit here."""

from __future__ import annotations

from ...jobs.job_spec import job
from ...jobs.worker import ReportProgress
from ...scenario.outcome import ignore_progress
from ...scenario.run_upgrades import Prices, UpgradesView, describe_upgrades
from . import step_scenarios
from .training_choice import TrainingChoice

_RUNS = 60  # so many changes at most, with their pairs


@job(
    lambda choice, _: _RUNS * step_scenarios.estimate_step(choice) / len(step_scenarios.CAPS),
    compiled=step_scenarios.needs_engine,
)
def list_upgrades(
    choice: TrainingChoice, prices: Prices, report_progress: ReportProgress = ignore_progress
) -> UpgradesView:
    """Run the step for every part that could be better, with the switches of the page that are on.

    Args:
        choice: Of the page.
        prices: What parts cost.
        report_progress: Called with "run", the share done, 0 to 1, and the rows so far.
    """
    step = step_scenarios.apply_switches(choice, step_scenarios.time_step(step_scenarios.strip_switches(choice)))
    return describe_upgrades(step, prices, report_progress)
