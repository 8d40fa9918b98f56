"""A step of training as the PyTorch script that runs it, and the lines that start it.

What the scripts do was run with torch 2.13.0 on CPU processes (gloo), with env:// and with tcp://. Each prints the time
of the first step and of those after it. Sources: torch/distributed/run.py (torchrun), docs/source/distributed.md
(initialization), and those that the modules of `pytorch` name.
"""

from __future__ import annotations

import numpy as np

from ..errors import CollsimError
from ..units import format_time
from .compute.eager_speed import EagerSpeed
from .pytorch import product_scripts, replica_scripts
from .pytorch.script_parts import ScriptedStep, format_launch_lines
from .step_request import StepRequest, build_workload
from .step_trace import StepTrace

#: What writes the script of a step, by the module of PyTorch that runs it.
_WRITERS = {
    "DistributedDataParallel": replica_scripts.write_ddp_script,
    "DataParallel": replica_scripts.write_data_parallel_script,
    "DeviceMesh": product_scripts.write_product_script,
}


def write_script(trace: StepTrace) -> str:
    """Write the PyTorch script that runs and times a step.

    Args:
        trace: The step.

    Returns:
        The script.

    Raises:
        CollsimError: PyTorch has no module for its strategy.
    """
    parallel, step = trace.request.parallel, _build_scripted_step(trace)
    if parallel.torch_module not in _WRITERS:
        message = (
            "{says}: PyTorch has no module that does this; ddp(), data_parallel() and products of ways have a script"
        )
        raise CollsimError(message, says=parallel.label)
    return _WRITERS[parallel.torch_module](step)


def write_launch_lines(trace: StepTrace, init: str = "env://") -> str:
    """Write the lines that start the script.

    Args:
        trace: The step.
        init: `"env://"`: torchrun, once on every node, tells each process its rank; `"tcp://"`: a line for each
            process, which names the first node's address, the number of processes and its rank.

    Returns:
        The lines.

    Raises:
        CollsimError: `init` is another.
    """
    if init not in ("env://", "tcp://"):
        raise CollsimError("init={init!r} must be 'env://' (torchrun) or 'tcp://' (a line for each process)", init=init)
    return format_launch_lines(_build_scripted_step(trace), init)


def _build_scripted_step(trace: StepTrace) -> ScriptedStep:
    request = trace.request
    time, low, high = map(format_time, (trace.time, trace.interval.low, trace.interval.high))
    which = "a step"
    if request.step == 1:
        which = "the first step"
    peaks = tuple((ranks[0], sum(trace.memory.peak(ranks[0]).values())) for ranks in trace.step.lanes)
    text = f"{time} for {which} on {trace.topology.name}, likely {low} to {high}"
    if trace.eager_time:
        text += f", {format_time(trace.eager_time)} in eager PyTorch, as here"
    return ScriptedStep(
        build_workload(request), request.parallel, _count_even_nodes(request), text, peaks, *_find_kernels(trace)
    )


def _find_kernels(trace: StepTrace) -> tuple[str, str, str]:
    """How images lie in memory, the kernels of the optimizer, where its time is of certain ones, and the mode of
    torch.compile."""
    speed = trace.costs.speed
    if isinstance(speed, EagerSpeed):
        return speed.memory_format, speed.optimizer_kernels, speed.compile
    if speed is None:
        return "channels_first", "", "none"
    return speed.memory_format, "", "none"


def _count_even_nodes(request: StepRequest) -> int:
    """Nodes that have as many of the GPUs each; 1 where they have not."""
    places = request.topology.devices.node[request.topology.endpoint_device[list(request.ranks)]]
    nodes = len(np.unique(places))
    if len(request.ranks) % nodes == 0:
        return nodes
    return 1
