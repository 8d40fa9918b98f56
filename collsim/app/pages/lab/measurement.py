"""Predict and measure what is chosen on the page Lab: a collective, or a step of training."""

from __future__ import annotations

from ...jobs.job_spec import is_compiled, job
from .collective_figures import LabView, estimate_collective, measure_collective, predict_collective
from .lab_choice import LabChoice
from .training_figures import estimate_step, measure_step, predict_sheet

_SECONDS_OF_PREDICTION = {"collective": 0.3, "step": 0.5}


@job(lambda choice: _SECONDS_OF_PREDICTION[choice.sheet], compiled=is_compiled)
def predict_choice(choice: LabChoice) -> LabView:
    """The prediction alone.

    Args:
        choice: What is chosen on the page Lab.
    """
    if choice.sheet == "step":
        return predict_sheet(choice)
    return predict_collective(choice)


def estimate_measurement(choice: LabChoice, repetition: int) -> float:
    """Seconds that `measure_choice` takes.

    Args:
        choice: What is chosen on the page Lab.
        repetition: As in `measure_choice`.

    Raises:
        CollsimError: For what cannot be run.
    """
    if choice.sheet == "step":
        return estimate_step(choice)
    return estimate_collective(choice)


@job(estimate_measurement, compiled=is_compiled, exclusive=True)
def measure_choice(choice: LabChoice, repetition: int) -> LabView:
    """Run it.

    Args:
        choice: What is chosen on the page Lab.
        repetition: Number of the measurement, which tells one measurement of the same choice from the next.

    Raises:
        CollsimError: For what cannot be run.
    """
    if choice.sheet == "step":
        return measure_step(choice)
    return measure_collective(choice)
