"""How long a GPU computes: from a catalogue of GPUs and few constants, or from what was measured."""

from .compute_costs import ComputeCosts, estimate_compute_costs
from .eager_speed import EagerSpeed, get_eager_speed
from .gpu_speeds import GpuSpeed, get_gpu_speed, list_gpus
from .torch_profile import TorchProfile, read_profile

__all__ = [
    "ComputeCosts",
    "EagerSpeed",
    "GpuSpeed",
    "TorchProfile",
    "estimate_compute_costs",
    "get_eager_speed",
    "get_gpu_speed",
    "list_gpus",
    "read_profile",
]
