"""What NCCL would do and how long it would take: its own tuner beside a model of the algorithm over the machine's
links.

`predict` answers with both, `trace` simulates the algorithm it chose, `accuracy` holds the model against tables of
published runs, `calibrate` fits it to a cluster of one's own, `backend` says what to give to torch.distributed.
`published` are measured runs, `explain` names the hypothesis that fits a gap best, `choices` and `ring_and_tree` say
what NCCL would do over sizes and nodes, `search` the rings, trees and heads of NVLS it finds on a machine's links.
"""

from .accuracy import Accuracy, accuracy
from .apart import Apart, apart, beside_simulation
from .backends import Advice, backend, supports
from .choices import Crossover, choices, ring_and_tree
from .facts import Facts
from .fit import Calibration, calibrate
from .gaps import Gap, explain
from .gloo import gloo_time
from .graphs import communicator
from .heads import Heads
from .links import Parameters
from .machines import Searched, facts_of, search
from .predict import Prediction, predict
from .published import Run, against, own_run, published, published_run, together
from .search import Rings, Trees
from .simulated import trace
from .tuner import Choice, Communicator, Cost, Graph, choose, cost_table
from .words import facts

__all__ = [
    "Accuracy",
    "Advice",
    "Apart",
    "Calibration",
    "Choice",
    "Communicator",
    "Cost",
    "Crossover",
    "Facts",
    "Gap",
    "Graph",
    "Heads",
    "Parameters",
    "Prediction",
    "Rings",
    "Run",
    "Searched",
    "Trees",
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
    "gloo_time",
    "own_run",
    "predict",
    "published",
    "published_run",
    "ring_and_tree",
    "search",
    "supports",
    "together",
    "trace",
]
