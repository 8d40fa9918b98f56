"""Sweeps: the product of algorithms, topologies, rank orders, sizes and engines, as one tidy table that survives a
crash."""

from .compare import compare
from .plan import read_plan
from .run import sweep
from .splits import best_parallel

__all__ = ["best_parallel", "compare", "read_plan", "sweep"]
