"""Ways to split a training step over GPUs. Each is a value that knows how to write the TrainingStep of a model."""

from .combined_split import Split
from .data_parallel_strategy import DataParallel, data_parallel
from .ddp_strategy import DDP, ddp
from .model_parallel import (
    ContextParallel,
    ExpertParallel,
    Pipeline,
    TensorParallel,
    context,
    expert,
    pipeline,
    tensor,
    time_schedules,
)
from .parameter_server_strategy import ParameterServer, parameter_server
from .sharded_parallel import FSDP, Zero, fsdp, zero
from .strategy import STRATEGIES, ParallelStrategy, Workload

__all__ = [
    "DDP",
    "FSDP",
    "STRATEGIES",
    "ContextParallel",
    "DataParallel",
    "ExpertParallel",
    "ParallelStrategy",
    "ParameterServer",
    "Pipeline",
    "Split",
    "TensorParallel",
    "Workload",
    "Zero",
    "context",
    "data_parallel",
    "ddp",
    "expert",
    "fsdp",
    "parameter_server",
    "pipeline",
    "tensor",
    "time_schedules",
    "zero",
]
