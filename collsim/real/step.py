"""A step of training for real: every rank is a process whose computing is a sleep and whose buckets are really sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..bar import told
from ..errors import CollsimError
from ..schedule import Schedule
from ..topology import Topology
from ..training import DDP, Parallel, StepTrace, TrainingStep, ddp, training_step
from ..training.workload.collectives import Collectives
from ..training.workload.model import Model
from ..units import format_bytes, parse_bandwidth, parse_time
from .launch import led
from .prediction import imitated
from .ranks.network import ImitatedNetwork
from .ranks.process import RankTask
from .ranks.program import Move, RankProgram, programs
from .ranks.stepping import RankStep, StepBox, StepOutcome
from .ranks.wire import new_token
from .real_step import RealStep
from .run import (
    ALPHA,
    BANDWIDTH,
    MOST_BYTES,
    MOST_RANKS,
    MOST_SECONDS,
    TIME_LIMIT,
    RealRun,
    check,
    expected_of,
    processors,
    require_time,
)

_TYPES = {"fp16": "float16", "bf16": "bfloat16", None: "float32"}
_COMPUTE = "20ms"


@dataclass(frozen=True, eq=False)
class _Asked:
    """A step that is to be run, checked: its prediction, the network, how often and how long."""

    predicted: StepTrace
    network: ImitatedNetwork
    algorithm: str
    repeat: int
    time_limit: float

    @property
    def step(self) -> TrainingStep:
        return self.predicted.step


def training_step_for_real(
    model: Model | str,
    ranks: int = 4,
    *,
    parallel: Parallel | None = None,
    compute: Any = _COMPUTE,
    alpha: Any = ALPHA,
    bandwidth: Any = BANDWIDTH,
    algorithm: str = "allreduce_ring",
    step: int = 2,
    slow: Mapping[int, float] | None = None,
    repeat: int = 1,
    time_limit: Any = TIME_LIMIT,
    progress: Any = None,
) -> RealStep:
    """Run one step of DDP on processes of this computer: computing sleeps, buckets are sent as they fill.

    Args:
        model: a Model, or a name of the catalogue; at most 64 MiB of parameters.
        ranks: processes, a GPU each. parallel: `ddp(...)` with any of its options.
        compute: as in `training_step`: how long computing takes; each rank sleeps for as long.
        alpha, bandwidth: of the network that is imitated, as in `run_for_real`.
        algorithm: of the allreduces. step: which step of the run, from 1: the first has one bucket.
        slow: {rank: factor} by which one computes (sleeps) longer.
        repeat: so many runs after one to warm up; the columns are those of the median run.
        time_limit: s for all of it. progress: True for a bar, or a function of (runs done, in all).

    Returns:
        A RealStep: the predicted StepTrace, all runs, and the measured StepTrace. Every sum of every run is compared
        with `replay`, bit for bit.

    Raises:
        CollsimError for what cannot be run, a rank that fails or is killed, a time limit, or a wrong number.
    """
    parallel = ddp() if parallel is None else parallel
    asked = _asked(model, ranks, parallel, compute, (alpha, bandwidth), algorithm, step, slow)
    asked = _within(replace(asked, repeat=repeat, time_limit=parse_time(time_limit, "time_limit")))
    runs, cores = _collectives(asked), processors()
    tasks = _rank_steps(asked, runs)
    with told(progress, "runs", "runs done", "in all") as tell:
        found: list[list[StepOutcome]] = led(tasks, asked.repeat, asked.time_limit, tell)
    _require_right(found)
    begin, end = (np.array([[one.moments[k] for one in outcomes] for outcomes in found]) for k in (0, 1))
    checked = sum(one.checked for outcomes in found for one in outcomes)
    return RealStep(asked.predicted, begin, end, asked.network, cores, checked)


def predicted_step(
    model: Model | str,
    ranks: int,
    parallel: Parallel,
    compute: Any,
    alpha: Any = ALPHA,
    bandwidth: Any = BANDWIDTH,
    algorithm: str = "allreduce_ring",
    step: int = 2,
    slow: Mapping[int, float] | None = None,
) -> StepTrace:
    """What `training_step` says of a step on the network that the ranks imitate. Raises CollsimError."""
    return training_step(
        model,
        _network(ranks, alpha, bandwidth),
        parallel=parallel,
        batch=ranks * (getattr(parallel, "accumulate", None) or 1),
        compute=compute,
        collectives="links",
        algorithm=algorithm,
        optimizer="none",
        interference=0.0,
        step=step,
        slow=slow,
    )


def _network(ranks: int, alpha: Any, bandwidth: Any) -> Topology:
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 2 <= ranks <= MOST_RANKS:
        raise CollsimError("ranks={ranks!r} must be from 2 to {most}", ranks=ranks, most=MOST_RANKS)
    if bandwidth is None:
        raise CollsimError("a step of training is paced: give bandwidth='10MB/s'")
    return imitated(ranks, parse_time(alpha), parse_bandwidth(bandwidth))


def _asked(
    model: Any, ranks: Any, parallel: Any, compute: Any, network: tuple[Any, Any], algorithm: str, step: int, slow: Any
) -> _Asked:
    """The prediction, and the network. Raises CollsimError."""
    if not isinstance(parallel, DDP):
        raise CollsimError("parallel={parallel!r} is not run for real; use ddp(...)", parallel=parallel)
    predicted = predicted_step(model, ranks, parallel, compute, *network, algorithm, step, slow)
    if predicted.step.model.nbytes > MOST_BYTES:
        why = "{size} is more than {most}, the most that is run for real here"
        raise CollsimError(why, size=format_bytes(predicted.step.model.nbytes), most=format_bytes(MOST_BYTES))
    alpha, bandwidth = parse_time(network[0]), parse_bandwidth(network[1])
    return _Asked(predicted, ImitatedNetwork(alpha, bandwidth), algorithm, 1, MOST_SECONDS)


def _within(asked: _Asked) -> _Asked:
    """Raises CollsimError where it is more than a computer bears, or than the time allows."""
    plans = plans_of(asked)
    if not plans:
        raise CollsimError("{name} has no parameters, so nothing would be sent", name=asked.step.model.name)
    check(plans[0], 4, repeat=asked.repeat, time_limit=asked.time_limit)
    require_time(asked.predicted.time, asked.repeat, asked.time_limit)
    return asked


# ---- what each rank is told


def plans_of(asked: _Asked) -> list[Schedule]:
    """The schedules of the step's collectives, in their order."""
    predicted = asked.predicted
    known = Collectives(predicted.topology, "links", asked.algorithm)
    tasks = [asked.step.tasks[number] for number in asked.step.collectives]
    return [known.plan(asked.step.group(task), task) for task in tasks]


def _collectives(asked: _Asked) -> list[RealRun]:
    """What is sent, bucket by bucket."""
    hook = getattr(asked.predicted.request.parallel, "hook", None)
    found = []
    for number, plan in zip(asked.step.collectives, plans_of(asked), strict=True):
        task = asked.step.tasks[number]
        kind = np.dtype(_TYPES[hook] if task.kind == "allreduce" else "float32")
        kind = kind if task.nbytes % kind.itemsize == 0 else np.dtype("uint8")
        found.append(RealRun(plan, task.nbytes, kind, "sum", asked.network, asked.repeat, asked.time_limit, "here"))
    return found


def _rank_steps(asked: _Asked, runs: list[RealRun]) -> list[RankStep]:
    """The same step for each rank: what it sleeps, and its part of each collective, rows counted through all."""
    token, step = new_token(), asked.step
    beyond = tuple(np.cumsum([len(run.schedule) for run in runs]).tolist())
    parts = [_parts(run, first, token) for run, first in zip(runs, (0, *beyond), strict=False)]
    slow = asked.predicted.request.slow
    return [
        RankStep(
            rank, asked.network, token, _boxes(asked, slow.get(rank, 1.0)), tuple(of[rank] for of in parts), beyond
        )
        for rank in range(step.ranks)
    ]


def _parts(run: RealRun, first: int, token: bytes) -> list[RankTask]:
    """The parts of one collective, a rank each; its first row has that number."""
    values, held, expected = expected_of(run)
    return [
        RankTask(_counted(program, first), run.network, token, values[e], run.sizes, "add", expected.get(e, {}))
        for e, program in enumerate(programs(run.schedule, held))
    ]


def _counted(program: RankProgram, first: int) -> RankProgram:
    """With rows that count from another number."""

    def counted(moves: tuple[Move, ...]) -> tuple[Move, ...]:
        return tuple(replace(move, row=move.row + first) for move in moves)

    return replace(program, sends=counted(program.sends), receives=counted(program.receives))


def _boxes(asked: _Asked, factor: float) -> tuple[StepBox, ...]:
    """The tasks as one rank sees them; a straggler sleeps longer."""
    slow = asked.predicted.request.slow
    own = (asked.predicted.costs.seconds / max([1.0, *slow.values()])).tolist()  # the prediction's lane is the slowest
    numbers = {task: k for k, task in enumerate(asked.step.collectives)}
    return tuple(
        StepBox(before, 0.0 if number in numbers else own[number] * factor, numbers.get(number, -1))
        for number, before in enumerate(asked.step.before)
    )


def _require_right(found: list[list[StepOutcome]]) -> None:
    for number, outcomes in enumerate(found):
        for rank, outcome in enumerate(outcomes):
            if outcome.wrong:
                why = "{label}: run {number} left {count:,} elements of rank {rank} other than replay has them"
                raise CollsimError(why, label="ddp", number=number + 1, count=outcome.wrong, rank=rank)
