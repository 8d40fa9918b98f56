"""One step of training: what PyTorch sends when, how long it takes, and where the time goes.

A `Model` is a table of layers. A way of splitting (`ddp()`, `data_parallel()`, `parameter_server()`) makes a
`TrainingStep` of it: a finished DAG of compute and collectives on streams, without a clock. `training_step` times it on
a machine and returns a `StepTrace`.
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from .compute.eager_speed import EagerSpeed, get_eager_speed
    from .compute.gpu_speeds import GpuSpeed, get_gpu_speed, list_gpus
    from .compute.torch_profile import read_profile
    from .concurrent_steps import ConcurrentSteps, time_concurrent_steps
    from .memory import Memory
    from .model_families import model as model
    from .model_families import models as models
    from .parallel.combined_split import Split
    from .parallel.data_parallel_strategy import DataParallel, data_parallel
    from .parallel.ddp_strategy import DDP, ddp
    from .parallel.model_parallel import (
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
    from .parallel.parameter_server_strategy import ParameterServer, parameter_server
    from .parallel.sharded_parallel import FSDP, Zero, fsdp, zero
    from .parallel.strategy import ParallelStrategy, count_state_bytes
    from .parallel.strategy_parser import parse_strategy
    from .pipelines.pass_timing import PipelineTiming
    from .scaling_study import measure_scaling, time_faults
    from .step_differences import StepComparison, compare_steps
    from .step_request import training_step as training_step
    from .step_trace import StepTrace
    from .workload.model import Layer, Model
    from .workload.step_graph import StepTask, TrainingStep
    from .workload.transformer import count_activation_bytes, count_first_stage_bytes, transformer

__all__ = [
    "DDP",
    "FSDP",
    "ConcurrentSteps",
    "ContextParallel",
    "DataParallel",
    "EagerSpeed",
    "ExpertParallel",
    "GpuSpeed",
    "Layer",
    "Memory",
    "Model",
    "ParallelStrategy",
    "ParameterServer",
    "Pipeline",
    "PipelineTiming",
    "Split",
    "StepComparison",
    "StepTask",
    "StepTrace",
    "TensorParallel",
    "TrainingStep",
    "Zero",
    "compare_steps",
    "context",
    "count_activation_bytes",
    "count_first_stage_bytes",
    "count_state_bytes",
    "data_parallel",
    "ddp",
    "expert",
    "fsdp",
    "get_eager_speed",
    "get_gpu_speed",
    "list_gpus",
    "measure_scaling",
    "parameter_server",
    "parse_strategy",
    "pipeline",
    "read_profile",
    "tensor",
    "time_concurrent_steps",
    "time_faults",
    "time_schedules",
    "transformer",
    "zero",
]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            "compute.eager_speed": ("EagerSpeed", "get_eager_speed"),
            "compute.gpu_speeds": ("GpuSpeed", "get_gpu_speed", "list_gpus"),
            "compute.torch_profile": ("read_profile",),
            "concurrent_steps": ("ConcurrentSteps", "time_concurrent_steps"),
            "memory": ("Memory",),
            "model_families": ("model", "models"),
            "parallel.combined_split": ("Split",),
            "parallel.data_parallel_strategy": ("DataParallel", "data_parallel"),
            "parallel.ddp_strategy": ("DDP", "ddp"),
            "parallel.model_parallel": (
                "ContextParallel",
                "ExpertParallel",
                "Pipeline",
                "TensorParallel",
                "context",
                "expert",
                "pipeline",
                "tensor",
                "time_schedules",
            ),
            "parallel.parameter_server_strategy": ("ParameterServer", "parameter_server"),
            "parallel.sharded_parallel": ("FSDP", "Zero", "fsdp", "zero"),
            "parallel.strategy": ("ParallelStrategy", "count_state_bytes"),
            "parallel.strategy_parser": ("parse_strategy",),
            "pipelines.pass_timing": ("PipelineTiming",),
            "scaling_study": ("measure_scaling", "time_faults"),
            "step_differences": ("StepComparison", "compare_steps"),
            "step_request": ("training_step",),
            "step_trace": ("StepTrace",),
            "workload.model": ("Layer", "Model"),
            "workload.step_graph": ("StepTask", "TrainingStep"),
            "workload.transformer": ("count_activation_bytes", "count_first_stage_bytes", "transformer"),
        },
    )
