"""What to buy first: what every part of a machine that could be better would save; what a step and failures cost."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .other_wires import WireVariant, compare_wires
    from .part_changes import PART_NAMES, PartChange
    from .run_failures import Goodput, estimate_goodput, find_best_checkpoint_interval, tabulate_goodput
    from .running_costs import RunningCost, estimate_costs, find_gpu_watts, tabulate_costs
    from .training_days import TrainingDays, estimate_days_like_step, estimate_training_days
    from .upgrades_table import Upgrade, Upgrades
    from .upgrades_table import upgrades as upgrades

__all__ = [
    "PART_NAMES",
    "Goodput",
    "PartChange",
    "RunningCost",
    "TrainingDays",
    "Upgrade",
    "Upgrades",
    "WireVariant",
    "compare_wires",
    "estimate_costs",
    "estimate_days_like_step",
    "estimate_goodput",
    "estimate_training_days",
    "find_best_checkpoint_interval",
    "find_gpu_watts",
    "tabulate_costs",
    "tabulate_goodput",
]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "other_wires": ("WireVariant", "compare_wires"),
            "part_changes": ("PART_NAMES", "PartChange"),
            "run_failures": ("Goodput", "estimate_goodput", "find_best_checkpoint_interval", "tabulate_goodput"),
            "running_costs": ("RunningCost", "estimate_costs", "find_gpu_watts", "tabulate_costs"),
            "training_days": ("TrainingDays", "estimate_days_like_step", "estimate_training_days"),
            "upgrades_table": ("Upgrade", "Upgrades", "upgrades"),
        },
    )
