"""Pipelines: in which order each rank runs its forward and backward passes, and when."""

from .clock import PipelineTiming, timed
from .orders import SCHEDULES, Action, Order, order, stage_ranks

__all__ = ["SCHEDULES", "Action", "Order", "PipelineTiming", "order", "stage_ranks", "timed"]
