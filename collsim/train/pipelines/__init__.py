"""Pipelines: in which order each rank runs its forward and backward passes, and when."""

from .clock import PipelineTiming, timed
from .forms import PipelineForm, form
from .orders import SCHEDULES, Action, Order, order, rank_order, stage_ranks

__all__ = [
    "SCHEDULES",
    "Action",
    "Order",
    "PipelineForm",
    "PipelineTiming",
    "form",
    "order",
    "rank_order",
    "stage_ranks",
    "timed",
]
