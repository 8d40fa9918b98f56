"""Sweeps: the product of algorithms, topologies, rank orders, sizes and engines, as one tidy table that survives a
crash."""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package
from .compare_algorithms import compare as compare
from .gap_closing import close_gap
from .sweep_runner import sweep as sweep

if TYPE_CHECKING:
    from .plan import read_plan
    from .split_sweep import best_parallel as best_parallel

#: What reads plans and keeps results on disk is loaded when it is first used.
_LATE = {"plan": ("read_plan",), "split_sweep": ("best_parallel",)}

__all__ = ["close_gap", "read_plan"]


if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(__name__, __all__, _LATE)
