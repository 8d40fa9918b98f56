"""Pipelines: in which order each rank runs its forward and backward passes, and when."""

from .pass_orders import SCHEDULES, assign_stages, build_orders, build_rank_order
from .pass_timing import PipelineTiming, time_passes
from .passes import Action, PassOrder
from .pipeline_formulas import PipelineFormulas, evaluate_formulas

__all__ = [
    "SCHEDULES",
    "Action",
    "PassOrder",
    "PipelineFormulas",
    "PipelineTiming",
    "assign_stages",
    "build_orders",
    "build_rank_order",
    "evaluate_formulas",
    "time_passes",
]
