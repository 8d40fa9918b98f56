"""Ways to split a training step over GPUs. Each is a value that knows how to write the TrainingStep of a model."""

from .data_parallel import DataParallel, data_parallel
from .ddp import DDP, ddp
from .parameter_server import ParameterServer, parameter_server
from .strategy import Parallel, Workload

#: The functions that make a way of splitting, by name: what files and command lines call.
WAYS = {"ddp": ddp, "data_parallel": data_parallel, "parameter_server": parameter_server}

__all__ = [
    "DDP",
    "WAYS",
    "DataParallel",
    "Parallel",
    "ParameterServer",
    "Workload",
    "data_parallel",
    "ddp",
    "parameter_server",
]
