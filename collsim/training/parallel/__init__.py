"""Ways to split a training step over GPUs. Each is a value that knows how to write the TrainingStep of a model."""

from .data_parallel import DataParallel, data_parallel
from .ddp import DDP, ddp
from .parameter_server import ParameterServer, parameter_server
from .strategy import Parallel, Workload

__all__ = ["DDP", "DataParallel", "Parallel", "ParameterServer", "Workload", "data_parallel", "ddp", "parameter_server"]
