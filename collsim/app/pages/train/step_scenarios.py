"""Steps of training for the page Train: run, changed by each switch, over bucket sizes. No Streamlit here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import collsim as cs
from collsim.errors import CollsimError
from collsim.locale import Text
from collsim.registry import get_algorithm
from collsim.schedule import Schedule
from collsim.simulate import expected_cost
from collsim.teach import questions
from collsim.teach.quiz.question import Question
from collsim.train import StepTrace
from collsim.train.parallel import buckets
from collsim.train.parallel.strategy_parser import STRATEGIES
from collsim.train.step_explanation import explain_change, explain_exposed, write_sentences
from collsim.train.workload.collective_model import CollectiveModel, CollectiveSource
from collsim.train.workload.step_graph import Ranks, StepTask
from collsim.viz.timeline.timeline_document import build_encoded_timeline
from collsim.viz.training.step_document import CollectiveRow, StepDocument, build_step_document

from ...jobs.job_spec import is_compiled, job, report_progress
from ...scenario.choice import list_own_options, to_query
from ...scenario.outcome import build_topology
from ...scenario.panels import MAX_QUESTIONS
from ...scenario.pytorch import StepCode, write_step_code
from .training_choice import CHANGES, TrainingChoice, build_model, build_speed, list_options

#: Sizes of buckets over which the step is run, in bytes: powers of two from 16 KiB to 512 MiB, closer round the usual
#: ones.
CAPS = tuple(sorted([2**k for k in range(14, 30)] + [3 * 2**k for k in (21, 22, 23, 24, 25)]))
_SECONDS_OF_TASK = 4e-5  # of one task of one run, measured
_SHARED = 20  # times as long where the event engine runs all of a step at once
_SECONDS_OF_PLACE = 0.4  # the search of NCCL's rings on a machine, once


@dataclass(frozen=True)
class ChangedStep:
    """What one switch does to a step.

    Attributes:
        name: Name of the switch.
        on: Whether the switch is on.
        before: Seconds of the step without the switch, for the same samples.
        after: Seconds of the step with it.
        reason: Why the time changes.
        refusal: Why the step cannot be changed so; None where it can.
    """

    name: str
    on: bool
    before: float
    after: float
    reason: Text
    refusal: CollsimError | None = None


@dataclass(frozen=True)
class StepView:
    """All that the page shows of one step, as plain data.

    Attributes:
        machine: its name.
        figures: as `StepTrace.row`.
        sentences: by what they are about, English and Chinese.
        network: what the network costs, and why where it costs something.
        document: what is drawn.
        ghost: the network's boxes (t0, t1) without the switches that are on.
        changes: a row for each switch.
        curve: (bytes, seconds, s) over bucket sizes; empty where there are no buckets.
        bucket_bytes: bytes of a bucket as the step has it; 0 where it has none.
        torch: the PyTorch script, the line that starts it, and those that start it by hand; or why there is none.
    """

    machine: str
    figures: dict[str, Any]
    sentences: dict[str, Text]
    network: tuple[Text, ...]
    document: StepDocument
    ghost: list[list[float]]
    changes: tuple[ChangedStep, ...]
    curve: tuple[tuple[int, float], ...]
    bucket_bytes: int
    torch: StepCode


@dataclass(frozen=True)
class CollectiveOpened:
    """One collective of a step, as its player shows it.

    Attributes:
        name: the task of the step.
        seconds: what its schedule takes on the links alone.
        label: of the schedule.
        algorithm: name of the algorithm.
        channels: how many it uses.
        steps: of the schedule.
        query: the address of Explore with it; None where Explore cannot show the same.
        timeline: None where there are too many transfers; then `refusal` says so.
    """

    name: str
    seconds: float
    label: str
    algorithm: str
    channels: int
    steps: int
    query: dict[str, str] | None
    timeline: dict[str, object] | None
    refusal: CollsimError | None = None


@lru_cache(maxsize=16)
def time_step(choice: TrainingChoice, collectives: CollectiveSource = "nccl") -> StepTrace:
    """The step without the switches; `collectives` as in `training_step`. Raises CollsimError for what cannot be."""
    return cs.training_step(
        build_model(choice),
        build_topology(choice),
        parallel=STRATEGIES[choice.strategy](**list_options(choice)),
        micro_batch=choice.samples,
        dtype=choice.dtype,
        optimizer=choice.optimizer,
        compute=build_speed(choice),
        interference=float(choice.interference) if choice.interference else None,
        network=choice.timing,
        collectives=collectives,
    )


def strip_switches(choice: TrainingChoice) -> TrainingChoice:
    """The same without its switches."""
    return replace(choice, changes=())


def apply_switches(choice: TrainingChoice, plain: StepTrace) -> StepTrace:
    """The step with the switches that are on."""
    return plain.what_if(**choice.switched) if choice.switched else plain


def time_switched_step(choice: TrainingChoice) -> StepTrace:
    """The step as the page shows it, with the switches that are on.

    Args:
        choice: Of the page, its switches included.
    """
    return apply_switches(choice, time_step(strip_switches(choice)))


# ---- the step ------------------------------------------------------------------------------------------------------


def estimate_step(choice: TrainingChoice) -> float:
    """Seconds that `compute_step` should take. Raises what cannot be, as far as it is seen without the event engine.

    Args:
        choice: Of the page.

    Raises:
        CollsimError: The step cannot be, as far as it is seen without the event engine.
    """
    tasks = 2 * len(cs.model(choice.model).layers) + 20
    if not needs_engine(choice):
        tasks = len(time_step(strip_switches(choice)).step.tasks)
    runs = len(CAPS) + 2 * len(CHANGES) if choice.strategy == "ddp" else 8
    sharing_factor = _SHARED if choice.timing == "shared" else 1
    # each switch changes the bytes or the links of all buckets, so that all of them run once more
    on_links = estimate_link_runs(choice, CAPS) + (1 + len(CHANGES)) * estimate_link_runs(choice)
    return _SECONDS_OF_PLACE + runs * tasks * _SECONDS_OF_TASK * sharing_factor + on_links


def needs_engine(choice: TrainingChoice, *_: object) -> bool:
    """Whether the event engine times something of it."""
    return choice.strategy != "ddp" or choice.timing == "shared" or not _is_predicted(choice)


def _is_predicted(choice: TrainingChoice) -> bool:
    """Whether NCCL's model says how long the allreduces of DDP take there; else they run on the links."""
    network, group, task = _build_allreduce(choice)
    return network.is_predicted(group, task)


def _build_allreduce(choice: TrainingChoice) -> tuple[CollectiveModel, Ranks, StepTask]:
    """The allreduce of one bucket of DDP: what times it, its ranks, the task."""
    topology = build_topology(choice)
    task = StepTask("bucket", "allreduce", (0,), nbytes=buckets.BUCKET_BYTES)
    return CollectiveModel(topology), tuple(range(topology.ranks)), task


def estimate_link_runs(choice: TrainingChoice, caps: Sequence[int] = ()) -> float:
    """Seconds of the event engine for the allreduces of DDP where NCCL's model predicts none: each size of a bucket
    runs on the links once.

    Args:
        choice: the step.
        caps: bytes that close a bucket; those of the step where none are given.
    """
    if choice.strategy != "ddp" or _is_predicted(choice):
        return 0.0
    network, group, task = _build_allreduce(choice)
    transfers = network.build_schedule(group, task)
    cost = expected_cost(transfers, network.topology, task.nbytes, engine="event", ranks=list(group))
    model = build_model(choice)
    layouts = [buckets.rebuild_buckets(model, cap, cap) for cap in caps or [_count_bucket_bytes(choice)]]
    return cost.seconds * len({sum(model.tensors[i][0] for i in bucket) for layout in layouts for bucket in layout})


@job(estimate_step, compiled=needs_engine)
def compute_step(choice: TrainingChoice) -> StepView:
    """Run a step, with and without its switches, and over bucket sizes.

    Args:
        choice: Of the page, its switches included.
    """
    # The page shows the step with and without its switches, so both are timed.
    without = strip_switches(choice)
    plain = time_step(without)
    now = apply_switches(choice, plain)
    report_progress("run", 0.2)
    changes = tuple(replace(change, on=change.name in choice.changes) for change in _time_changes(without))
    report_progress("run", 0.5)
    document = build_step_document(now)
    return StepView(
        machine=now.topology.name,
        figures=now.row(),
        sentences={**write_sentences(now), "range": now.interval.sentence.texts},
        network=tuple(part for part in explain_exposed(now) if part is not None),
        document=document,
        ghost=[[box["t0"], box["t1"]] for box in build_step_document(plain)["boxes"] if box["stream"] == "network"]
        if now is not plain
        else [],
        changes=changes,
        curve=_time_curve(now, choice),
        bucket_bytes=_count_bucket_bytes(choice),
        torch=write_step_code(now),
    )


@job(estimate_step, compiled=needs_engine)
def ask_about_step(choice: TrainingChoice) -> tuple[str, list[Question]]:
    """What a step is of, and questions about it.

    Args:
        choice: Of the page, its switches included.

    Raises:
        CollsimError: Nothing is sent in it.
    """
    report_progress("run", 0.0)
    now = time_switched_step(choice)
    return f"{choice.model}, {now.topology.name}", questions(now, 0, MAX_QUESTIONS)


def _count_bucket_bytes(choice: TrainingChoice) -> int:
    if choice.strategy == "data_parallel":
        return 0
    return int(cs.units.parse_bytes(choice.bucket, "bucket")) if choice.bucket else buckets.BUCKET_BYTES


@lru_cache(maxsize=16)
def _time_changes(without: TrainingChoice) -> tuple[ChangedStep, ...]:
    """Each switch by itself."""
    return tuple(_time_change(time_step(without), name) for name in without.offered)


def _time_change(plain: StepTrace, name: str) -> ChangedStep:
    try:
        new = plain.what_if(**CHANGES[name])
    except CollsimError as error:
        return ChangedStep(name, False, plain.time, plain.time, ("", ""), error)
    # Where NCCL's model does not know the changed links, these time the step before, too.
    before = (new.previous or plain).time
    return ChangedStep(name, False, before, new.time * plain.step.samples / new.step.samples, explain_change(new))


def _time_curve(now: StepTrace, choice: TrainingChoice) -> tuple[tuple[int, float], ...]:
    """Seconds of the step over bucket sizes; equal buckets are run once."""
    if choice.strategy == "data_parallel":
        return ()
    known: dict[object, float] = {}
    out = []
    for number, cap in enumerate(CAPS):
        same = _count_bucket_tensors(now, cap)
        if same not in known:
            known[same] = now.what_if(bucket=cap).time
        out.append((cap, known[same]))
        report_progress("run", 0.5 + 0.5 * (number + 1) / len(CAPS))
    return tuple(out)


def _count_bucket_tensors(now: StepTrace, cap: int) -> tuple[int, ...]:
    """Tensors in each bucket of so many bytes."""
    parallel = now.request.parallel.with_options(bucket=cap)
    return tuple(map(len, parallel.assign_tensors(now.step.model, now.request.step)))


# ---- one collective of it ------------------------------------------------------------------------------------------


def find_collective(rows: Sequence[CollectiveRow], name: str) -> CollectiveRow | None:
    """The collective of a name; for "" the one that GPUs wait for longest, buckets before others; None for none.

    Args:
        rows: The collectives of the step.
        name: Name of the collective; "" for the one that matters most.
    """
    if name:
        return next((row for row in rows if row["name"] == name), None)
    return max(rows, key=lambda row: (row["bucket"] >= 0, row["exposed"], row["end"]), default=None)


def estimate_collective(choice: TrainingChoice, task: int) -> float:
    """Seconds that `opened` should take: most of it goes into the picture, unless the step runs on the links."""
    return 0.1 + 3e-5 * min(20_000, build_topology(choice).ranks ** 2 * 16) + estimate_link_runs(choice)


@job(estimate_collective, compiled=is_compiled)
def open_collective(choice: TrainingChoice, task: int) -> CollectiveOpened:
    """The schedule of one collective of the step, run on the links.

    Args:
        choice: Of the page, its switches included.
        task: Number of the collective among the step's tasks.
    """
    now = time_switched_step(choice)
    report_progress("run", 0.1)
    collective_task, topology = now.step.tasks[task], now.topology
    plan = now.step.build_schedule(task, topology)
    trace = cs.simulate(
        plan, topology, collective_task.nbytes, engine="event", ranks=list(now.step.get_ranks(collective_task))
    )
    report_progress("run", 0.5)
    # A schedule too large for the player still has its figures.
    try:
        drawn, refusal = build_encoded_timeline(trace), None
    except CollsimError as error:
        drawn, refusal = None, error
    return CollectiveOpened(
        collective_task.name,
        trace.time,
        plan.label,
        plan.name,
        plan.channels,
        plan.steps,
        _build_explore_query(choice, plan, collective_task.nbytes, topology),
        drawn,
        refusal,
    )


def _build_explore_query(
    choice: TrainingChoice, plan: Schedule, nbytes: int, topology: cs.Topology
) -> dict[str, str] | None:
    """The address that asks Explore for the same collective on the same machine."""
    if "network" in choice.changes or plan.name not in cs.algorithms() or plan.ranks != topology.ranks:
        return None
    known = list_own_options(plan.name)
    options = tuple((k, v) for k, v in plan.options.items() if k in known and v != known[k].default and k != "per_node")
    entry = get_algorithm(plan.name)
    explore_choice = replace(
        choice.where,
        collective=entry.collective,
        algorithm=plan.name,
        options=options,
        nbytes=f"{nbytes}B",
        engine="event",
    )
    return to_query(explore_choice)
