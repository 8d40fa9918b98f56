"""How the step of the page Train scales over nodes, and what the whole job loses to a slow GPU or a broken cable, as
plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

import collsim as cs
from collsim.errors import CollsimError
from collsim.purchases import Goodput, estimate_goodput
from collsim.train import StepTrace, measure_scaling, time_faults
from collsim.train.scaling_study import SCALING_KINDS

from ...jobs.job_spec import is_compiled, job, report_progress
from ...scenario.outcome import build_topology
from . import step_scenarios
from .training_choice import TrainingChoice

NODES = (1, 2, 4, 8, 16)
#: GPUs of long runs.
_RUN_GPUS = (128, 1024, 16_384)
#: s of a step on so many GPUs, and of a search of its rings without a cable; measured with ResNet-50 and VGG-16 on
#: DGX A100, the page on 2 cores.
_SECONDS, _CABLE = 0.08, 1.0


@dataclass(frozen=True)
class GrownStep:
    """What is shown.

    Attributes:
        machine: its name.
        kinds: the tables of `train.measure_scaling` by kind; none where the machine has no nodes.
        refusal: why not, where the first row cannot be.
        time: s of the step.
        ranks: its GPUs.
        lost: the table of `train.time_faults`.
        runs: what failures cost a run on the GPUs of the step, and on more.
    """

    machine: str
    kinds: dict[str, pd.DataFrame]
    refusal: CollsimError | None
    time: float
    ranks: int
    lost: pd.DataFrame
    runs: tuple[Goodput, ...]


def has_nodes(choice: TrainingChoice) -> bool:
    """Does the machine come in any number of nodes?

    Args:
        choice: The step of training that is chosen.
    """
    return "nodes" in choice.takes


def estimate_growth(choice: TrainingChoice) -> float:
    """Seconds that `measure_growth` should take.

    Args:
        choice: The step of training that is chosen.
    """
    layers = len(cs.model(choice.model).layers) / 100
    seconds = 0.5 + 2 * len(NODES) * _SECONDS * layers + 4 * (_CABLE + _SECONDS * layers)
    return seconds + 2 * len(NODES) * step_scenarios.estimate_link_runs(choice)


@job(estimate_growth, compiled=is_compiled)
def measure_growth(choice: TrainingChoice) -> GrownStep:
    """The tables; without the switches of the page, as those are of one step.

    Args:
        choice: The step of training that is chosen.
    """
    now = step_scenarios.time_step(step_scenarios.strip_switches(choice))
    report_progress("run", 0.1)
    kinds: dict[str, pd.DataFrame] = {}
    refusal: CollsimError | None = None
    for number, kind in enumerate(SCALING_KINDS if has_nodes(choice) else ()):
        try:
            kinds[kind] = _scale_step(choice, now, kind)
        except CollsimError as error:
            refusal = error
        report_progress("run", 0.3 + 0.2 * number)
    sizes = [now.step.ranks, *(gpus for gpus in _RUN_GPUS if gpus > now.step.ranks)]
    runs = tuple(estimate_goodput(now, run_gpus=gpus) for gpus in sizes)
    return GrownStep(now.topology.name, kinds, refusal, now.time, now.step.ranks, time_faults(now), runs)


def _scale_step(choice: TrainingChoice, now: StepTrace, kind: str) -> pd.DataFrame:
    """On 1 to 16 nodes; the batch of the first row has what the page asks of a GPU."""
    step_request = now.request
    # The batch of a GPU stays what the page says, from one node on.
    single_node = build_topology(replace(choice, nodes=1))
    return measure_scaling(
        now.step.model,
        lambda nodes: build_topology(replace(choice, nodes=nodes)),
        parallel=step_request.parallel,
        nodes=NODES,
        batch=choice.samples * single_node.ranks,
        kind=kind,
        dtype=step_request.dtype,
        optimizer=step_request.optimizer,
        compute=step_request.compute,
        interference=step_request.interference,
        network=step_request.network,
        collectives=step_request.collectives,
    )
