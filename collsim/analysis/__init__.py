"""What follows from runs: differences, reasons, and the best choice."""

from .calibration import calibrate
from .critical_transfers import CriticalPath, critical_path
from .differences import Comparison, compare_runs
from .link_sensitivity import sensitivity
from .search import Best, cheapest
from .search import best as best
from .search import crossover as crossover

__all__ = [
    "Best",
    "Comparison",
    "CriticalPath",
    "calibrate",
    "cheapest",
    "compare_runs",
    "critical_path",
    "sensitivity",
]


def __dir__() -> list[str]:
    return sorted(__all__)
