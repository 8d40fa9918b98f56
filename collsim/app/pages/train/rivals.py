"""One step by each strategy on one clock: DDP, DataParallel with NCCL and with copies, a parameter server.

All of them take what the links alone take: NCCL's model knows no parameter server, and a race in which only some pay
for launches and protocols would be none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.errors import CollsimError
from collsim.locale import Text
from collsim.train import StepTrace
from collsim.train.step_explanation import write_sentences
from collsim.viz.race.race_document import explain_time
from collsim.viz.training.step_document import (
    SendPattern,
    StepDocument,
    build_run_document,
    build_step_document,
    describe_pattern,
    describe_patterns,
)

from ...jobs.job_spec import is_compiled, job, report_progress
from ...scenario.choice import Choice
from ...scenario.outcome import build_topology, run_choice
from ..race.lineup import estimate_field
from . import step_scenarios
from .step_scenarios import time_step
from .training_choice import TrainingChoice, select_timed

#: The runners, and what each is asked for.
STRATEGIES: dict[str, dict[str, Any]] = {
    "ddp": {"strategy": "ddp"},
    "data_parallel": {"strategy": "data_parallel", "nccl": True},
    "copies": {"strategy": "data_parallel", "nccl": False},
    "parameter_server": {"strategy": "parameter_server", "servers": 1, "servers_on": "host", "wait": True},
}

#: Seconds of a rank: DataParallel sends to each and receives from each, on the links (measured on 72 ranks: 5.5 s).
_SECONDS_OF_RANK = 0.075


@dataclass(frozen=True)
class RacedStep:
    """One strategy of the race.

    Attributes:
        strategy: Its name.
        time: Seconds of its step.
        exposed: Seconds in which a GPU waits for the network.
        bubble: Seconds in which a GPU idles.
        sent: Bytes that its busiest GPU sends.
        memory: Bytes that its fullest GPU holds.
        reason: Why it takes as long.
        document: What is drawn of it.
        patterns: Who sends to whom, by collective.
    """

    strategy: str
    time: float
    exposed: float
    bubble: float
    sent: int
    memory: int
    reason: Text
    document: StepDocument
    patterns: dict[str, SendPattern]


@dataclass(frozen=True)
class StepRace:
    """A race of strategies.

    Attributes:
        machine: What it runs on, as text.
        runners: The strategies that run.
        failed: Those that cannot run, with the reason.
    """

    machine: str
    runners: tuple[RacedStep, ...]
    failed: tuple[tuple[str, CollsimError], ...]


def build_common_choice(choice: TrainingChoice) -> TrainingChoice:
    """What all runners share: on one node, because DataParallel is one process, without what only one of them has.

    Args:
        choice: The step of training that is chosen.
    """
    names = {name for options in STRATEGIES.values() for name in options} | {"timing", "changes"}
    defaults = {name: getattr(TrainingChoice, name) for name in names}
    return replace(select_timed(choice), nodes=1, **defaults)


def estimate_race(choice: TrainingChoice) -> float:
    """Seconds that `race_strategies` should take.

    Args:
        choice: The step of training that is chosen.
    """
    layers = len(cs.model(choice.model).layers)
    return 0.5 + len(STRATEGIES) * layers * 3e-4 + _SECONDS_OF_RANK * build_topology(choice).ranks


@job(estimate_race, compiled=is_compiled)
def race_strategies(choice: TrainingChoice) -> StepRace:
    """Run them all; one that cannot does not keep the others from it.

    Args:
        choice: The step of training that is chosen.
    """
    runners, failed = [], []
    for number, (name, parallel) in enumerate(STRATEGIES.items(), 1):
        try:
            runners.append(_build_runner(name, time_step(replace(choice, **parallel), "links")))
        except CollsimError as error:
            failed.append((name, error))
        report_progress("run", number / len(STRATEGIES))
    return StepRace(build_topology(choice).name, tuple(runners), tuple(failed))


def estimate_pinned(pinned: TrainingChoice | Choice, choice: TrainingChoice) -> float:
    """Seconds that `race_pinned` should take.

    Args:
        pinned: The step that is pinned, or the run of one collective.
        choice: The step that is chosen.
    """
    if isinstance(pinned, Choice):
        return estimate_field((pinned,)) + step_scenarios.estimate_step(choice)
    return step_scenarios.estimate_step(pinned) + step_scenarios.estimate_step(choice)


def _needs_engine(pinned: TrainingChoice | Choice, choice: TrainingChoice) -> bool:
    return isinstance(pinned, Choice) or any(map(step_scenarios.needs_engine, (pinned, choice)))


@job(estimate_pinned, compiled=_needs_engine)
def race_pinned(pinned: TrainingChoice | Choice, choice: TrainingChoice) -> StepRace:
    """Two steps on one clock, or one collective and a step, timed as their pages time each alone.

    Args:
        pinned: The step that is pinned, or the run of one collective.
        choice: The step that is chosen.
    """
    runners, failed = [], []
    for number, (name, step) in enumerate((("pinned", pinned), ("chosen", choice)), 1):
        try:
            if isinstance(step, Choice):
                runners.append(_build_collective(name, run_choice(step)))
            else:
                runners.append(_build_runner(name, step_scenarios.time_switched_step(step)))
        except CollsimError as error:
            failed.append((name, error))
        report_progress("run", number / 2)
    return StepRace(build_topology(choice).name, tuple(runners), tuple(failed))


def _build_runner(name: str, trace: StepTrace) -> RacedStep:
    return RacedStep(
        name,
        trace.time,
        trace.exposed,
        trace.bubble,
        max(trace.sent_bytes.values(), default=0),
        trace.memory.max(),
        write_sentences(trace)["network"],
        build_step_document(trace),
        describe_patterns(trace),
    )


def _build_collective(name: str, facts: RunFacts) -> RacedStep:
    trace = facts.trace
    return RacedStep(
        name,
        trace.time,
        exposed=0.0,
        bubble=0.0,
        sent=int(trace.sent_bytes.max(initial=0)),
        memory=int(trace.nbytes),
        reason=explain_time(facts),
        document=build_run_document(trace),
        patterns={trace.schedule.collective: describe_pattern(trace.schedule)},
    )
