"""What NCCL would do and how long it would take: its own tuner beside a model of the algorithm over the machine's
links.

`predict` answers with both, `trace` simulates the algorithm it chose, `accuracy` holds the model against tables of
published runs, `calibrate` fits it to a cluster of one's own, `backend` says what to give to torch.distributed.
`published` are measured runs, `explain` names the hypothesis that fits a gap best, `choices` and `ring_and_tree` say
what NCCL would do over sizes and nodes, `search` the rings, trees and heads of NVLS it finds on a machine's links.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .algorithm_choices import Crossover, choices, ring_and_tree
from .difference import Apart, apart, beside_simulation
from .machine.facts import Facts
from .machine.topology_facts import Searched, facts_of, search
from .model.links import Parameters
from .model.prediction_interval import Interval
from .model.tuner import Communicator, Graph, TunerChoice, TunerCost, choose, cost_table
from .predicted_schedule import trace
from .prediction import Prediction, predict
from .search.nvls_heads import Heads
from .search.ring_tree_search import Rings, Trees
from .tuner_graphs import communicator

if TYPE_CHECKING:
    from .libraries import mpi
    from .libraries.backends import Advice, backend, supports
    from .libraries.gloo import gloo_interval, gloo_time
    from .link_calibration import Calibration, calibrate
    from .machine.machine_words import facts
    from .measured.gaps import Gap, explain
    from .measured.measurement_value import worth
    from .measured.prediction_accuracy import Accuracy, accuracy
    from .measured.published_runs import Run, against, own_run, published, published_run, together

#: What is held beside a prediction (other libraries, tables of measured runs, a fit) is loaded when it is asked for.
_LATE = {
    "mpi": "libraries",
    **dict.fromkeys(("Advice", "backend", "supports"), "libraries.backends"),
    **dict.fromkeys(("gloo_interval", "gloo_time"), "libraries.gloo"),
    **dict.fromkeys(("Accuracy", "accuracy"), "measured.prediction_accuracy"),
    **dict.fromkeys(("Calibration", "calibrate"), "link_calibration"),
    "facts": "machine.machine_words",
    **dict.fromkeys(("Gap", "explain"), "measured.gaps"),
    **dict.fromkeys(("Run", "against", "own_run", "published", "published_run", "together"), "measured.published_runs"),
    "worth": "measured.measurement_value",
}

__all__ = [
    "Accuracy",
    "Advice",
    "Apart",
    "Calibration",
    "Communicator",
    "Crossover",
    "Facts",
    "Gap",
    "Graph",
    "Heads",
    "Interval",
    "Parameters",
    "Prediction",
    "Rings",
    "Run",
    "Searched",
    "Trees",
    "TunerChoice",
    "TunerCost",
    "accuracy",
    "against",
    "apart",
    "backend",
    "beside_simulation",
    "calibrate",
    "choices",
    "choose",
    "communicator",
    "cost_table",
    "explain",
    "facts",
    "facts_of",
    "gloo_interval",
    "gloo_time",
    "mpi",
    "own_run",
    "predict",
    "published",
    "published_run",
    "ring_and_tree",
    "search",
    "supports",
    "together",
    "trace",
    "worth",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f"{__name__}.{_LATE[name]}")
    found = import_module(f"{room.__name__}.mpi") if name == "mpi" else getattr(room, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
