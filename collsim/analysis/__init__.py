"""What follows from runs: differences, reasons, and the best choice."""

from .calibration import calibrate
from .critical import CriticalPath, critical_path
from .differences import Comparison, compare
from .search import Best, best, cheapest, crossover
from .sensitivity import sensitivity

__all__ = [
    "Best",
    "Comparison",
    "CriticalPath",
    "best",
    "calibrate",
    "cheapest",
    "compare",
    "critical_path",
    "crossover",
    "sensitivity",
]
