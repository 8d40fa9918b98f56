"""Real moves data and time at once: a schedule run by processes of this computer, beside its prediction."""

from .real_run import MAX_BYTES, MAX_RANKS, run_for_real
from .real_step import RealStep
from .real_trace import RealTrace
from .step import training_step_for_real

__all__ = ["MAX_BYTES", "MAX_RANKS", "RealStep", "RealTrace", "run_for_real", "training_step_for_real"]


def __dir__() -> list[str]:
    return sorted(__all__)
