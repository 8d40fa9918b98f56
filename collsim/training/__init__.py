"""One step of training: what PyTorch sends when, how long it takes, and where the time goes.

A `Model` is a table of layers. A way of splitting (`ddp()`, `data_parallel()`, `parameter_server()`) makes a
`TrainingStep` of it: a finished DAG of compute and collectives on streams, without a clock. `training_step` times it on
a machine and returns a `StepTrace`.
"""

from .compute import Speed, gpus, read_profile, speed
from .memory import Memory
from .models import model, models
from .parallel import DDP, DataParallel, Parallel, ParameterServer, data_parallel, ddp, parameter_server
from .parallel.strategy import state_bytes
from .run import training_step
from .together import StepsTogether, steps_together
from .trace import StepTrace
from .workload.model import Layer, Model
from .workload.step import StepTask, TrainingStep
from .workload.transformer import first_stage_activations, layer_activations, transformer

__all__ = [
    "DDP",
    "DataParallel",
    "Layer",
    "Memory",
    "Model",
    "Parallel",
    "ParameterServer",
    "Speed",
    "StepTask",
    "StepTrace",
    "StepsTogether",
    "TrainingStep",
    "data_parallel",
    "ddp",
    "first_stage_activations",
    "gpus",
    "layer_activations",
    "model",
    "models",
    "parameter_server",
    "read_profile",
    "speed",
    "state_bytes",
    "steps_together",
    "training_step",
    "transformer",
]
