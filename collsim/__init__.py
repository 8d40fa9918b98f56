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

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from . import interrupts as _interrupts  # before all that takes time to load

# isort: split
from . import algorithms as _algorithms  # knows which there are; each is imported when it is first asked for
from . import analysis, limits, steps, topology
from .analysis import best, crossover
from .bounds import lower_bound
from .collective import collectives, get_collective
from .errors import CollsimError, FormatError, ScheduleError, TopologyError
from .errors.attributes import answer_for_package as _answer_for_package
from .package_data import __version__ as __version__
from .registry import Algorithm, algorithm, algorithms, registered, schedule
from .replay import replay
from .schedule import Schedule
from .schedule import views as _schedule_views
from .simulate import Trace, simulate, simulate_many
from .simulate.trace import views as _views
from .steps import copy, reduce
from .sweep import compare, sweep
from .topology import Topology, load_topology, machine
from .topology.machines import machines
from .topology.network import views as _topology_views
from .units import format_bandwidth, format_bytes, format_time, size_range
from .verify import verify

if TYPE_CHECKING:
    from . import diagnosis, inference, io, lab, nccl, programs, purchases, synthesis, teach, train
    from .diagnosis import diagnose
    from .display.glossary_lookup import glossary as glossary
    from .io import load as load
    from .io import save as save
    from .lab import run_for_real as run_for_real
    from .programs.program_entry import program as program
    from .purchases import upgrades as upgrades
    from .sweep import best_parallel
    from .synthesis import synthesize as synthesize
    from .teach import exercise as exercise
    from .teach import grade as grade
    from .train import context as context
    from .train import data_parallel as data_parallel
    from .train import ddp as ddp
    from .train import expert as expert
    from .train import fsdp as fsdp
    from .train import model, models, training_step
    from .train import parameter_server as parameter_server
    from .train import pipeline as pipeline
    from .train import tensor as tensor
    from .train import zero as zero
    from .viz.program.notebook import Shell

#: What brings heavy libraries (tables, file formats) is loaded when one of its names is first used. Those that are not
#: in `__all__` work at the top, too (`cs.ddp()` for `cs.train.ddp()`), because people write them most: they are
#: promised to stay, and listed in their package.
_LATE_NAMES = {
    "diagnosis": ("diagnose", "diagnosis"),
    "display.glossary_lookup": ("glossary",),
    "inference": ("inference",),
    "io": ("io", "load", "save"),
    "lab": ("lab", "run_for_real"),
    "nccl": ("nccl",),
    "programs": ("programs",),
    "programs.program_entry": ("program",),
    "purchases": ("purchases", "upgrades"),
    "sweep": ("best_parallel",),
    "synthesis": ("synthesis", "synthesize"),
    "teach": ("exercise", "grade", "teach"),
    "train": (
        *("context", "data_parallel", "ddp", "expert", "fsdp", "model", "models", "parameter_server", "pipeline"),
        *("tensor", "train", "training_step", "zero"),
    ),
}

__all__ = [
    "Algorithm",
    "CollsimError",
    "FormatError",
    "Schedule",
    "ScheduleError",
    "Topology",
    "TopologyError",
    "Trace",
    "algorithm",
    "algorithms",
    "analysis",
    "best",
    "best_parallel",
    "collectives",
    "compare",
    "copy",
    "crossover",
    "diagnose",
    "diagnosis",
    "format_bandwidth",
    "format_bytes",
    "format_time",
    "inference",
    "io",
    "lab",
    "limits",
    "load_topology",
    "lower_bound",
    "machine",
    "machines",
    "model",
    "models",
    "nccl",
    "program",
    "programs",
    "purchases",
    "reduce",
    "registered",
    "replay",
    "schedule",
    "simulate",
    "simulate_many",
    "size_range",
    "steps",
    "sweep",
    "synthesis",
    "teach",
    "topology",
    "train",
    "training_step",
    "upgrades",
    "verify",
]

del _algorithms, _interrupts


class _ModuleBehindFunction(ModuleType):
    """A module of the package whose name at the top of the package is a function (`cs.simulate`).

    `import collsim.simulate.run` and what follows it look for `run` on that function, so the function has every
    attribute of its module, also those of submodules that are imported later.
    """

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if not name.startswith("__"):
            setattr(globals()[self.__name__.rpartition(".")[2]], name, value)


def _show_module_behind(function: Any) -> None:
    module = sys.modules[f"{__name__}.{function.__name__}"]
    module.__class__ = _ModuleBehindFunction
    for name, value in list(vars(module).items()):
        if not name.startswith("__"):
            setattr(function, name, value)


for _function in (algorithms, replay, schedule, simulate, sweep, verify):
    _show_module_behind(_function)


#: Modules that people call -> the call that they mean.
_MEANT_CALLS = {
    "collective": "cs.collectives()['allreduce'], or cs.schedule('allreduce_ring', ranks=8)",
    "topology": "cs.machine('dgx-a100'), or cs.topology.ring(8)",
}


class _UncalledModule(ModuleType):
    """A module whose name people take for a function: a call is answered with the one that they mean."""

    def __call__(self, *args: object, **keywords: object) -> NoReturn:
        name = self.__name__.rpartition(".")[2]
        if name == "collective" and args and isinstance(args[0], str):
            get_collective(args[0])  # a word of another library gets its answer first
        message = "cs.{name} is a module and no function; did you mean {call}?"
        raise CollsimError(message, name=name, call=_MEANT_CALLS[name])


# Python asks the class of an object whether it can be called; a function in the module would not be found.
for _name in _MEANT_CALLS:
    sys.modules[f"{__name__}.{_name}"].__class__ = _UncalledModule


def _late(module: str, name: str) -> Any:
    """A function of a package that is loaded when it is first called (pictures and tables bring heavy libraries)."""

    def call(*args: Any, **kwargs: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"collsim.{module}"), name)(*args, **kwargs)

    return call


_views.update(
    questions=_late("teach", "questions"),
    animate=_late("viz", "animate"),
    close_gap=_late("sweep.gap_closing", "close_gap_of"),
    fault=_late("faults", "find_fault"),
    html=_late("viz", "html"),
    picture=_late("viz", "save_run"),
    program_html=_late("viz.program", "format_run_html"),
    save=_late("io", "save"),
    step_animate=_late("viz.training.step_page", "animate"),
    step_html=_late("viz.training.step_page", "format_notebook_html"),
    step_page=_late("viz.training.step_page", "save_step_page"),
    step_picture=_late("viz.pictures.training_plots", "write_step_picture"),
    step_plot=_late("viz.pictures.training_plots", "plot"),
)
_topology_views.update(
    draw=_late("viz.pictures.draw", "draw_topology"), html=_late("viz.hosts.notebook_tables", "format_topology")
)
_schedule_views.update(html=_late("viz.hosts.notebook_tables", "format_schedule"))


def load_ipython_extension(shell: Shell) -> None:
    """`%load_ext collsim` in a notebook: the cell magic `%%program` runs its cell as a rank program.

    Args:
        shell: of IPython.
    """
    from .viz.program.notebook import register_program_magic

    register_program_magic(shell)


_get_late, __dir__ = _answer_for_package(__name__, __all__, _LATE_NAMES)


def __getattr__(name: str) -> Any:
    known = {*__all__, *(late for names in _LATE_NAMES.values() for late in names)}
    if name.lower() not in known and (call := _show_schedule(name)):
        raise AttributeError(call, name=name)
    return _get_late(name)


def _show_schedule(name: str) -> str:
    """The calls for a name that is that of a collective, here or in another library, or a part of that of an algorithm;
    empty for others."""
    from .locale.synonyms import find_synonyms, rank_name

    for collective in [*find_synonyms(name, collectives()), name]:
        if collective in collectives():
            example = min(algorithms(collective), key=rank_name)
            return f"cs.algorithms({collective!r}) has its algorithms, and cs.schedule({example!r}, ranks=8) builds one"
    for example in sorted(algorithms(), key=rank_name):
        if {*name.lower().split("_")} <= {*example.split("_")}:
            return f"cs.schedule({example!r}, ranks=8) builds its schedule"
    return ""
