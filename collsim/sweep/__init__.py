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

#: What reads plans and keeps results on disk is loaded when it is asked for.
_LATE = {"best_parallel": "split_sweep", "read_plan": "plan"}

__all__ = [
    "close_gap",
    "read_plan",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _LATE:
        answer_for_package(__name__, __all__)(name)
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
