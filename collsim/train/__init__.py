"""One step of training: what PyTorch sends when, how long it takes, and where the time goes.

A `Model` is a table of layers. A way of splitting (`ddp()`, `data_parallel()`, `parameter_server()`) makes a
`TrainingStep` of it: a finished DAG of compute and collectives on streams, without a clock. `training_step` times it on
a machine and returns a `StepTrace`.
"""

from .compute import Speed, gpus, read_profile, speed
from .memory import Memory
from .models import model, models
from .parallel import (
    DDP,
    FSDP,
    ContextParallel,
    DataParallel,
    ExpertParallel,
    Parallel,
    ParameterServer,
    Pipeline,
    Split,
    TensorParallel,
    Zero,
    context,
    data_parallel,
    ddp,
    every_schedule,
    expert,
    fsdp,
    parameter_server,
    pipeline,
    tensor,
    zero,
)
from .parallel.spoken import spoken
from .parallel.strategy import state_bytes
from .pipelines import PipelineTiming
from .run import training_step
from .scaling import losses, scaling
from .together import StepsTogether, steps_together
from .trace import StepTrace
from .workload.model import Layer, Model
from .workload.step_graph import StepTask, TrainingStep
from .workload.transformer import count_activation_bytes, count_first_stage_bytes, transformer

__all__ = [
    "DDP",
    "FSDP",
    "ContextParallel",
    "DataParallel",
    "ExpertParallel",
    "Layer",
    "Memory",
    "Model",
    "Parallel",
    "ParameterServer",
    "Pipeline",
    "PipelineTiming",
    "Speed",
    "Split",
    "StepTask",
    "StepTrace",
    "StepsTogether",
    "TensorParallel",
    "TrainingStep",
    "Zero",
    "context",
    "count_activation_bytes",
    "count_first_stage_bytes",
    "data_parallel",
    "ddp",
    "every_schedule",
    "expert",
    "fsdp",
    "gpus",
    "losses",
    "model",
    "models",
    "parameter_server",
    "pipeline",
    "read_profile",
    "scaling",
    "speed",
    "spoken",
    "state_bytes",
    "steps_together",
    "tensor",
    "training_step",
    "transformer",
    "zero",
]
