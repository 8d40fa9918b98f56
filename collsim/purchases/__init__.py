"""What to buy first: what every part of a machine that could be better would save, and what a step costs."""

from .other_wires import WireVariant, compare_wires
from .part_changes import PART_NAMES, PartChange
from .running_costs import RunningCost, estimate_costs, estimate_training_days, find_gpu_watts, tabulate_costs
from .upgrades_table import Upgrade, Upgrades
from .upgrades_table import upgrades as upgrades

__all__ = [
    "PART_NAMES",
    "PartChange",
    "RunningCost",
    "Upgrade",
    "Upgrades",
    "WireVariant",
    "compare_wires",
    "estimate_costs",
    "estimate_training_days",
    "find_gpu_watts",
    "tabulate_costs",
]


def __dir__() -> list[str]:
    return sorted(__all__)
