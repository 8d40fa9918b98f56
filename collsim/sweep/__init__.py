"""Sweeps: the product of algorithms, topologies, rank orders, sizes and engines, as one tidy table that survives a
crash."""

from .compare import compare
from .plan import read_plan
from .run import sweep

__all__ = ["compare", "read_plan", "sweep"]
