"""Sweeps: the product of algorithms, topologies, rank orders, sizes and engines, as one tidy table that survives a
crash."""

from .closing import close_gap
from .compare import compare
from .plan import read_plan
from .run import sweep
from .splits import best_parallel

__all__ = ["best_parallel", "close_gap", "compare", "read_plan", "sweep"]
