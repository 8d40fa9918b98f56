"""What NCCL would do and how long it would take: its own tuner beside a model of the algorithm over the machine's links.

`predict` answers with both, `trace` simulates the algorithm it chose, `accuracy` holds the model against tables of published runs,
`calibrate` fits it to a cluster of one's own, `backend` says what to give to torch.distributed.
"""

from .accuracy import Accuracy, accuracy
from .backends import Advice, backend, gloo_time
from .facts import Facts
from .fit import Calibration, calibrate, load_links
from .graphs import communicator
from .links import Parameters
from .machines import facts_of
from .predict import Prediction, predict
from .simulated import trace
from .tuner import Choice, Communicator, Cost, Graph, choose, cost_table
from .words import facts

__all__ = [
    "Accuracy",
    "Advice",
    "Calibration",
    "Choice",
    "Communicator",
    "Cost",
    "Facts",
    "Graph",
    "Parameters",
    "Prediction",
    "accuracy",
    "backend",
    "calibrate",
    "choose",
    "communicator",
    "cost_table",
    "facts",
    "facts_of",
    "gloo_time",
    "load_links",
    "predict",
    "trace",
]
