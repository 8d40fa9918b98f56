"""What follows from runs: differences, reasons, and the best choice."""

from .calibration import calibrate
from .critical_transfers import CriticalPath, critical_path
from .differences import Comparison, compare_runs
from .link_sensitivity import sensitivity
from .search import Best, best, cheapest, crossover

__all__ = [
    "Best",
    "Comparison",
    "CriticalPath",
    "best",
    "calibrate",
    "cheapest",
    "compare_runs",
    "critical_path",
    "crossover",
    "sensitivity",
]
