"""A step of training as the PyTorch script that runs it, and the lines that start it.

What the scripts do was run with torch 2.13.0 on CPU processes (gloo), with env:// and with tcp://. Each prints the time
of the first step and of those after it. Sources: torch/distributed/run.py (torchrun), docs/source/distributed.md
(initialization), and those that each module names.
"""

from __future__ import annotations

from ...errors import CollsimError
from ..parallel import DDP, DataParallel, Split
from ..trace import StepTrace
from .parts import launch
from .pipelines import pipelines


def script(trace: StepTrace) -> str:
    """The script. Raises CollsimError for ways of splitting that PyTorch has no module for."""
    parallel = trace.request.parallel
    if isinstance(parallel, DDP | DataParallel):
        from .replicas import script as of_replicas

        return of_replicas(trace)
    if isinstance(parallel, Split):
        from .products import script as of_product

        return of_product(trace, parallel)
    why = "{says}: PyTorch has no module that does this; ddp(), data_parallel() and products of ways have a script"
    raise CollsimError(why, says=parallel.says)


__all__ = ["launch", "pipelines", "script"]
