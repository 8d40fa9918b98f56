"""Real moves data and time at once: a schedule run by processes of this computer, beside its prediction."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .real_run import MAX_BYTES, MAX_RANKS, run_for_real
    from .real_step import RealStep
    from .real_step_run import training_step_for_real
    from .real_trace import RealTrace

__all__ = ["MAX_BYTES", "MAX_RANKS", "RealStep", "RealTrace", "run_for_real", "training_step_for_real"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "real_run": ("MAX_BYTES", "MAX_RANKS", "run_for_real"),
            "real_step": ("RealStep",),
            "real_step_run": ("training_step_for_real",),
            "real_trace": ("RealTrace",),
        },
    )
