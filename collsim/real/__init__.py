"""Real moves data and time at once: a schedule run by processes of this computer, beside its prediction."""

from .run import MOST_BYTES, MOST_RANKS, run_for_real
from .trace import RealTrace

__all__ = ["MOST_BYTES", "MOST_RANKS", "RealTrace", "run_for_real"]
