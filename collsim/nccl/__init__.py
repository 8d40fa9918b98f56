"""What NCCL would do and how long it would take: its own tuner beside a model of the algorithm over the machine's links.

`predict` answers with both; `accuracy` holds the model against tables of published runs.
"""

from .accuracy import Accuracy, accuracy
from .facts import Facts
from .graphs import communicator
from .machines import facts_of
from .predict import Prediction, predict
from .tuner import Choice, Communicator, Cost, Graph, choose, cost_table
from .words import facts

__all__ = [
    "Accuracy",
    "Choice",
    "Communicator",
    "Cost",
    "Facts",
    "Graph",
    "Prediction",
    "accuracy",
    "choose",
    "communicator",
    "cost_table",
    "facts",
    "facts_of",
    "predict",
]
