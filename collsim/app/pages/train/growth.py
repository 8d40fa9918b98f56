"""How the step of the page Train scales over nodes, and what the whole job loses to a slow GPU or a broken cable, as
plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

import collsim as cs
from collsim.errors import CollsimError
from collsim.train import StepTrace, measure_scaling, time_faults
from collsim.train.scaling_study import SCALING_KINDS

from ...jobs.worker import ReportProgress
from ...scenario.outcome import build_place, quietly
from . import steps
from .asked import TrainingChoice

NODES = (1, 2, 4, 8, 16)
#: s of a step on so many GPUs, and of a search of its rings without a cable; measured with ResNet-50 and VGG-16 on
#: DGX A100, the page on 2 cores.
_SECONDS, _CABLE = 0.08, 1.0


@dataclass(frozen=True)
class GrownStep:
    """What is shown.

    Attributes:
        place: its name. kinds: the tables of `train.measure_scaling` by kind; none where the place has no nodes.
            trouble: why not, where the first row cannot be. time: s of the step. ranks: its GPUs. lost: the table of
            `train.time_faults`.
    """

    place: str
    kinds: dict[str, pd.DataFrame]
    trouble: CollsimError | None
    time: float
    ranks: int
    lost: pd.DataFrame


def has_nodes(choice: TrainingChoice) -> bool:
    """Does the place come in any number of nodes?"""
    return "nodes" in choice.where.takes


def expected(choice: TrainingChoice) -> float:
    """Seconds that `grown` should take."""
    layers = len(cs.model(choice.model).layers) / 100
    return 0.5 + 2 * len(NODES) * _SECONDS * layers + 4 * (_CABLE + _SECONDS * layers)


def grown(choice: TrainingChoice, report_progress: ReportProgress = quietly) -> GrownStep:
    """The tables; without the switches of the page, as those are of one step."""
    now = steps.run(steps.bare(choice))
    report_progress("run", 0.1)
    kinds: dict[str, pd.DataFrame] = {}
    trouble: CollsimError | None = None
    for number, kind in enumerate(SCALING_KINDS if has_nodes(choice) else ()):
        try:
            kinds[kind] = _scaled(choice, now, kind)
        except CollsimError as error:
            trouble = error
        report_progress("run", 0.3 + 0.2 * number)
    return GrownStep(now.topology.name, kinds, trouble, now.time, now.step.ranks, time_faults(now))


def _scaled(choice: TrainingChoice, now: StepTrace, kind: str) -> pd.DataFrame:
    """On 1 to 16 nodes; the batch of the first row has what the page asks of a GPU."""
    asked = now.request
    one = build_place(replace(choice, nodes=1))
    return measure_scaling(
        now.step.model,
        lambda nodes: build_place(replace(choice, nodes=nodes)),
        parallel=asked.parallel,
        nodes=NODES,
        batch=choice.samples * one.ranks,
        kind=kind,
        dtype=asked.dtype,
        optimizer=asked.optimizer,
        compute=asked.compute,
        interference=asked.interference,
        network=asked.network,
        collectives=asked.collectives,
    )
