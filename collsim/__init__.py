"""collsim: see collective communication move, check it, and trust the numbers.

>>> import collsim as cs
>>> s = cs.schedule("allreduce_ring", ranks=8)
>>> cs.verify(s)
>>> t = cs.simulate(s, cs.topology.switch(8, bandwidth="25GB/s", alpha="1us"), nbytes="64MiB")
>>> round(t.time * 1e3, 3)
4.726

A schedule is data; `replay` moves data over it, `simulate` moves time, `viz` only reads what they return.
Sizes are bytes, times seconds, rates bytes per second, each one direction of a cable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import algorithms as _algorithms  # says which there are; each is imported when it is asked for
from . import limits, topology
from .analysis import best, calibrate, cheapest, critical_path, crossover, sensitivity
from .bounds import Bound, lower_bound
from .collective import Collective, collective, collectives
from .dtypes import dtypes
from .errors import CollsimError, FormatError, ScheduleError, TopologyError
from .registry import Algorithm, algorithm, algorithms, schedule
from .replay import replay
from .schedule import Schedule, Step, copy, reduce, repeat, reverse, together
from .schedule import pipeline as _pipelined
from .schedule import views as _schedule_views
from .simulate import Flows, Together, Trace, expected_cost, simulate, simulate_flows, simulate_many
from .simulate.trace import views as _views
from .sweep import close_gap, compare, sweep
from .topology import Topology, load_topology, machine, machines
from .topology.network import views as _topology_views
from .units import format_bandwidth, format_bytes, format_time, parse_bandwidth, parse_bytes, parse_time, size_range
from .verify import verify

if TYPE_CHECKING:
    from . import nccl, synthesis, train
    from .io import convert, formats, load, read_msccl, save, write_msccl
    from .lab import RealStep, RealTrace, run_for_real, training_step_for_real
    from .sweep import best_parallel
    from .synthesis import synthesize
    from .teach import break_it, exercise, exercises, grade, progress, questions
    from .train import (
        Layer,
        Model,
        StepTrace,
        context,
        data_parallel,
        ddp,
        expert,
        fsdp,
        model,
        models,
        parameter_server,
        steps_together,
        tensor,
        training_step,
        transformer,
        zero,
    )

__version__ = "1.0.0"

#: Rooms that bring heavy libraries (tables, file formats) are loaded when one of their names is first asked for.
_LATE = {
    "Layer": "train",
    "Model": "train",
    "RealStep": "lab",
    "RealTrace": "lab",
    "StepTrace": "train",
    "best_parallel": "sweep",
    "break_it": "teach",
    "context": "train",
    "convert": "io",
    "data_parallel": "train",
    "ddp": "train",
    "exercise": "teach",
    "exercises": "teach",
    "expert": "train",
    "formats": "io",
    "fsdp": "train",
    "grade": "teach",
    "load": "io",
    "model": "train",
    "models": "train",
    "parameter_server": "train",
    "progress": "teach",
    "questions": "teach",
    "read_msccl": "io",
    "run_for_real": "lab",
    "save": "io",
    "steps_together": "train",
    "synthesize": "synthesis",
    "tensor": "train",
    "training_step": "train",
    "training_step_for_real": "lab",
    "transformer": "train",
    "write_msccl": "io",
    "zero": "train",
}

__all__ = [
    "Algorithm",
    "Bound",
    "Collective",
    "CollsimError",
    "Flows",
    "FormatError",
    "Layer",
    "Model",
    "RealStep",
    "RealTrace",
    "Schedule",
    "ScheduleError",
    "Step",
    "StepTrace",
    "Together",
    "Topology",
    "TopologyError",
    "Trace",
    "algorithm",
    "algorithms",
    "best",
    "best_parallel",
    "break_it",
    "calibrate",
    "cheapest",
    "close_gap",
    "collective",
    "collectives",
    "compare",
    "context",
    "convert",
    "copy",
    "critical_path",
    "crossover",
    "data_parallel",
    "ddp",
    "dtypes",
    "exercise",
    "exercises",
    "expected_cost",
    "expert",
    "format_bandwidth",
    "format_bytes",
    "format_time",
    "formats",
    "fsdp",
    "grade",
    "limits",
    "load",
    "load_topology",
    "lower_bound",
    "machine",
    "machines",
    "model",
    "models",
    "nccl",
    "parameter_server",
    "parse_bandwidth",
    "parse_bytes",
    "parse_time",
    "pipeline",
    "progress",
    "questions",
    "read_msccl",
    "reduce",
    "repeat",
    "replay",
    "reverse",
    "run_for_real",
    "save",
    "schedule",
    "sensitivity",
    "simulate",
    "simulate_flows",
    "simulate_many",
    "size_range",
    "steps_together",
    "sweep",
    "synthesis",
    "synthesize",
    "tensor",
    "together",
    "topology",
    "train",
    "training_step",
    "training_step_for_real",
    "transformer",
    "verify",
    "write_msccl",
    "zero",
]

del _algorithms


def pipeline(*args: Any, **options: Any) -> Any:
    """Steps in which every chunk follows the one before, or, of a number, pipeline parallelism on so many GPUs.

    `pipeline(rounds, chunks, stride=1)`: every chunk goes through the same rounds of an algorithm, one step behind the
    chunk before it. `pipeline(4, schedule="1f1b", interleave=None)`: a way of splitting a training step; see
    `collsim.train.pipeline`. Raises CollsimError.
    """
    what = args[0] if args else options.get("rounds")
    rounds = isinstance(what, Iterable) and not isinstance(what, str) and getattr(what, "shape", None) != ()
    if rounds and (len(args) > 1 or "chunks" in options):
        return _pipelined(*args, **options)
    return _pipeline_parallel(*args, **options)


def _late(module: str, name: str) -> Any:
    """A function of a room that is only loaded when it is first called (pictures and tables bring heavy libraries)."""

    def call(*args: Any, **kwargs: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"collsim.{module}"), name)(*args, **kwargs)

    return call


_pipeline_parallel = _late("train", "pipeline")
_views.update(
    questions=_late("teach", "questions"),
    animate=_late("viz", "animate"),
    close_gap=_late("sweep.closing", "close_gap_of"),
    html=_late("viz", "html"),
    picture=_late("viz", "save"),
    save=_late("io", "save"),
    step_animate=_late("viz.training.page", "animate"),
    step_html=_late("viz.training.page", "shown"),
    step_page=_late("viz.training.page", "page"),
    step_picture=_late("viz.pictures.training_plots", "picture"),
    step_plot=_late("viz.pictures.training_plots", "plot"),
)
_topology_views.update(draw=_late("viz.pictures.draw", "draw"), html=_late("viz.hosts.figures", "topology"))
_schedule_views.update(html=_late("viz.hosts.figures", "schedule"))


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("nccl", "synthesis", "train"):
        return import_module(f"collsim.{name}")
    if name in _LATE:
        found = getattr(import_module(f"collsim.{_LATE[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'collsim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
