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

from typing import TYPE_CHECKING, Any

from . import algorithms as _algorithms  # imports every algorithm, so that each registers itself
from . import limits, topology
from .analysis import best, calibrate, cheapest, critical_path, crossover, sensitivity
from .bounds import Bound, lower_bound
from .collective import Collective, collective, collectives
from .dtypes import dtypes
from .errors import CollsimError, FormatError, ScheduleError, TopologyError
from .registry import Algorithm, algorithm, algorithms, schedule
from .replay import replay
from .schedule import Schedule, Step, copy, pipeline, reduce, repeat, reverse, together
from .simulate import Flows, Together, Trace, expected_cost, simulate, simulate_flows, simulate_many
from .simulate.trace import views as _views
from .sweep import compare, sweep
from .topology import Topology, load_topology, machine, machines
from .topology.network import views as _topology_views
from .units import format_bandwidth, format_bytes, format_time, parse_bandwidth, parse_bytes, parse_time, size_range
from .verify import verify

if TYPE_CHECKING:
    from . import nccl, synthesis, training
    from .exchange import convert, formats, load, read_msccl, save, write_msccl
    from .synthesis import synthesize
    from .teach import break_it, exercise, exercises, grade, progress, questions
    from .training import (
        Layer,
        Model,
        StepTrace,
        data_parallel,
        ddp,
        model,
        models,
        parameter_server,
        steps_together,
        training_step,
        transformer,
    )

__version__ = "0.1.0"

#: Rooms that bring heavy libraries (tables, file formats) are loaded when one of their names is first asked for.
_LATE = {
    "Layer": "training",
    "Model": "training",
    "StepTrace": "training",
    "break_it": "teach",
    "convert": "exchange",
    "data_parallel": "training",
    "ddp": "training",
    "exercise": "teach",
    "exercises": "teach",
    "formats": "exchange",
    "grade": "teach",
    "load": "exchange",
    "model": "training",
    "models": "training",
    "parameter_server": "training",
    "progress": "teach",
    "questions": "teach",
    "read_msccl": "exchange",
    "save": "exchange",
    "steps_together": "training",
    "synthesize": "synthesis",
    "training_step": "training",
    "transformer": "training",
    "write_msccl": "exchange",
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
    "break_it",
    "calibrate",
    "cheapest",
    "collective",
    "collectives",
    "compare",
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
    "format_bandwidth",
    "format_bytes",
    "format_time",
    "formats",
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
    "together",
    "topology",
    "training",
    "training_step",
    "transformer",
    "verify",
    "write_msccl",
]

del _algorithms


def _late(module: str, name: str) -> Any:
    """A function of a room that is only loaded when it is first called (pictures and tables bring heavy libraries)."""

    def call(*args: Any, **kwargs: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"collsim.{module}"), name)(*args, **kwargs)

    return call


_views.update(
    questions=_late("teach", "questions"),
    animate=_late("viz", "animate"),
    html=_late("viz", "html"),
    picture=_late("viz", "save"),
    save=_late("exchange", "save"),
    step_animate=_late("viz.training.page", "animate"),
    step_html=_late("viz.training.page", "shown"),
    step_page=_late("viz.training.page", "page"),
    step_picture=_late("viz.pictures.training_plots", "picture"),
    step_plot=_late("viz.pictures.training_plots", "plot"),
)
_topology_views.update(draw=_late("viz.pictures.draw", "draw"))


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("nccl", "synthesis", "training"):
        return import_module(f"collsim.{name}")
    if name in _LATE:
        found = getattr(import_module(f"collsim.{_LATE[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'collsim' has no attribute {name!r}")
