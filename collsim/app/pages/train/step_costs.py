"""What the step of the page Train costs, an epoch and a run of it, and what to buy first for it. No Streamlit here."""

from __future__ import annotations

from dataclasses import dataclass

from collsim.locale import LANGUAGES, Text
from collsim.purchases import estimate_costs, estimate_days_like_step, find_gpu_watts

from ...jobs.job_spec import job, report_progress
from ...scenario.run_upgrades import Cells, Prices, UpgradesView, describe_upgrades
from . import step_scenarios
from .training_choice import TrainingChoice

#: Tokens and parameters are typed in billions.
_BILLION, _TERA = 1e9, 1e12
_RUNS = 60  # so many changes at most, with their pairs


@dataclass(frozen=True)
class CostOptions:
    """What a person typed; None for what was left empty.

    Attributes:
        gpu_hour: price of an hour of one GPU.
        watts: of one GPU.
        kwh: price of a kilowatt-hour.
        epoch: samples of an epoch.
        tokens: of the run, in billions.
        parameters: of the run's model, in billions; the step's where empty.
        gpus: of the run; the step's where empty.
        tflops: that each GPU of the run reaches; the step's where empty.
    """

    gpu_hour: float | None = None
    watts: float | None = None
    kwh: float | None = None
    epoch: float | None = None
    tokens: float | None = None
    parameters: float | None = None
    gpus: float | None = None
    tflops: float | None = None


@dataclass(frozen=True)
class CostsView:
    """What the panel shows, as plain data.

    Attributes:
        cells: a row for the step, the epoch and the run.
        watts: of one GPU, by the data sheet or as typed; None where it is not known.
        days: the run by the formula of Narayanan et al., in a sentence; None without tokens.
    """

    cells: Cells
    watts: float | None
    days: Text | None = None


@job(
    lambda choice, _: step_scenarios.estimate_step(choice) / len(step_scenarios.CAPS),
    compiled=step_scenarios.needs_engine,
)
def list_costs(choice: TrainingChoice, options: CostOptions) -> CostsView:
    """What the step costs, with the switches of the page that are on.

    Args:
        choice: Of the page.
        options: Prices, power and lengths.

    Raises:
        CollsimError: A number is not above 0; tokens of a model without any.
    """
    report_progress("run", 0.0)
    step = step_scenarios.time_switched_step(choice)
    tokens = _scale(options.tokens, _BILLION)
    costs = estimate_costs(
        step, gpu_hour=options.gpu_hour, watts=options.watts, kwh=options.kwh, epoch=options.epoch, tokens=tokens
    )
    cells = tuple(tuple(cost.list_cells(language) for cost in costs) for language in LANGUAGES)
    days = None
    if tokens is not None:
        run = estimate_days_like_step(
            step,
            tokens,
            parameters=_scale(options.parameters, _BILLION),
            gpus=options.gpus,
            flops_per_gpu=_scale(options.tflops, _TERA),
        )
        days = tuple(map(run.text, LANGUAGES))
    return CostsView(cells, options.watts or find_gpu_watts(step.topology), days)


def _scale(number: float | None, by: float) -> float | None:
    if number is None:
        return None
    return by * number


@job(
    lambda choice, _: _RUNS * step_scenarios.estimate_step(choice) / len(step_scenarios.CAPS),
    compiled=step_scenarios.needs_engine,
)
def list_upgrades(choice: TrainingChoice, prices: Prices) -> UpgradesView:
    """Run the step for every part that could be better, with the switches of the page that are on.

    Args:
        choice: Of the page.
        prices: What parts cost.
    """
    return describe_upgrades(step_scenarios.time_switched_step(choice), prices)
