"""Ways to split a training step over GPUs. Each is a value that knows how to write the TrainingStep of a model."""

from .data_parallel import DataParallel, data_parallel
from .ddp import DDP, ddp
from .model_parallel import (
    ContextParallel,
    ExpertParallel,
    Pipeline,
    TensorParallel,
    context,
    every_schedule,
    expert,
    pipeline,
    tensor,
)
from .parameter_server import ParameterServer, parameter_server
from .sharding import FSDP, Zero, fsdp, zero
from .split import Split
from .strategy import Parallel, Workload

#: The functions that make a way of splitting, by name: what files and command lines call.
WAYS = {
    "ddp": ddp,
    "data_parallel": data_parallel,
    "parameter_server": parameter_server,
    "fsdp": fsdp,
    "zero": zero,
    "tensor": tensor,
    "pipeline": pipeline,
    "context": context,
    "expert": expert,
}

__all__ = [
    "DDP",
    "FSDP",
    "WAYS",
    "ContextParallel",
    "DataParallel",
    "ExpertParallel",
    "Parallel",
    "ParameterServer",
    "Pipeline",
    "Split",
    "TensorParallel",
    "Workload",
    "Zero",
    "context",
    "data_parallel",
    "ddp",
    "every_schedule",
    "expert",
    "fsdp",
    "parameter_server",
    "pipeline",
    "tensor",
    "zero",
]
