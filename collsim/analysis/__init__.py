"""What follows from runs: differences, reasons, and the best choice."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package
from .calibration import calibrate
from .critical_transfers import CriticalPath, critical_path
from .differences import Comparison, compare_runs
from .link_sensitivity import sensitivity
from .routing_times import RoutingTimes, compare_routing, count_uplink_flows, expected_maximum_load
from .search import Best, cheapest
from .search import best as best
from .search import crossover as crossover

__all__ = [
    "Best",
    "Comparison",
    "CriticalPath",
    "RoutingTimes",
    "calibrate",
    "cheapest",
    "compare_routing",
    "compare_runs",
    "count_uplink_flows",
    "critical_path",
    "expected_maximum_load",
    "sensitivity",
]


if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(__name__, __all__)
