"""All collectives of one or more steps on one network at the same time: what is under way together shares links.

Each collective is its schedule, run by the event engine, behind a pause. Where NCCL's model says how long it takes by
itself, the pause is what the links alone do not explain (launch, protocol, copies); where the model is faster than the
links of the schedule (which has fewer channels), the schedule carries so much less. Either way a collective that shares
nothing takes as long as with `network="alone"`. Computing is a pause too; while its GPUs communicate it is slower by
the interference, which is found by running again until nothing moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CollsimError
from ..simulate import Launch, OrderedRun, simulate, simulate_ordered
from .timing import alone
from .workload.collectives import Collectives
from .workload.step import StepTask, TrainingStep

Floats = npt.NDArray[np.float64]
#: How long computing takes depends on how long collectives beside it do: at most so many runs, until that moves by
#: less than this part of the time; from a run on the mean of two goes on, for those that swing.
_ROUNDS, _STILL, _PATIENT = 60, 1e-12, 8


@dataclass(frozen=True, eq=False)
class Part:
    """One step of a shared run: its tasks, their seconds by themselves, and the interference."""

    step: TrainingStep
    seconds: Floats
    interference: float


@dataclass(frozen=True, eq=False)
class SharedPart:
    """When a step's tasks ran, and the bytes that they put on each link."""

    begin: Floats
    end: Floats
    link_bytes: npt.NDArray[np.int64]


def shared(parts: Sequence[Part], network: Collectives, background: Any = None) -> list[SharedPart]:
    """Run the steps at the same time. Raises CollsimError for asynchronous workers, who have no common moment."""
    if any(part.step.staleness for part in parts):
        raise CollsimError("asynchronous workers have no common moment at which they share links; use network='alone'")
    entries = [_entries(part, network) for part in parts]
    took = [part.seconds for part in parts]  # of collectives: by themselves, to begin with
    for turn in range(_ROUNDS):
        times = _run(parts, entries, [_computing(*both) for both in zip(parts, took, strict=True)], network, background)
        seen = [_taken(part, begin, end) for part, (begin, end, _) in zip(parts, times, strict=True)]
        moved = max(float(np.abs(new - old).max(initial=0.0)) for new, old in zip(seen, took, strict=True))
        if moved <= _STILL * max(float(end.max(initial=0.0)) for _, end, _ in times):
            break
        took = seen if turn < _PATIENT else [(new + old) / 2 for new, old in zip(seen, took, strict=True)]
    return [SharedPart(begin, end, carried) for begin, end, carried in times]


def _computing(part: Part, took: Floats) -> Floats:
    """Seconds of each task if collectives take so long: computing beside them is slower by the interference."""
    begin, end = alone(part.step, took, part.interference)
    return end - begin


def _taken(part: Part, begin: Floats, end: Floats) -> Floats:
    """Seconds of each collective as it ran; of computing by itself."""
    out = part.seconds.copy()
    for i in part.step.collectives:
        out[i] = end[i] - begin[i]
    return out


# ---- collectives ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Entry:
    """A collective as the engine runs it: a pause, then its schedule with so many bytes (0: of so much that it carries
    `scale` times)."""

    pause: float
    schedule: Any
    nbytes: int
    scale: float


def _entries(part: Part, network: Collectives) -> dict[int, _Entry]:
    known: dict[Any, _Entry] = {}
    out = {}
    for i in part.step.collectives:
        task, group = part.step.tasks[i], part.step.group(part.step.tasks[i])
        key = group, task.kind, task.nbytes, task.algorithm, task.options
        if key not in known:
            known[key] = _entry(group, task, float(part.seconds[i]), network)
        out[i] = known[key]
    return out


def _entry(group: tuple[int, ...], task: StepTask, seconds: float, network: Collectives) -> _Entry:
    """The pause and the bytes with which a collective takes `seconds` by itself."""
    plan = network.plan(group, task)
    if not len(plan):
        return _Entry(seconds, None, 0, 1.0)
    if not network.predicted(group, task):
        return _Entry(0.0, plan, task.nbytes, 1.0)

    def links(nbytes: int) -> float:
        return simulate(plan, network.topology, nbytes, engine="event", ranks=list(group)).time

    whole, least, nbytes = links(task.nbytes), links(0), task.nbytes
    if seconds <= least:
        return _Entry(seconds, None, 0, 1.0)  # nothing but latency: it has no bytes to share links with
    took = whole
    while took > seconds and nbytes:
        nbytes = min(nbytes - 1, int(nbytes * (seconds - least) / (took - least)))
        took = links(nbytes)
    return _Entry(seconds - took, plan, nbytes, task.nbytes / nbytes if nbytes else 1.0)


# ---- running --------------------------------------------------------------------------------------------------------


def _run(
    parts: Sequence[Part],
    entries: Sequence[dict[int, _Entry]],
    spent: Sequence[Floats],
    network: Collectives,
    background: Any,
) -> list[tuple[Floats, Floats, npt.NDArray[np.int64]]]:
    """Begin and end of every step's tasks, and bytes on links."""
    launches: list[Launch] = []
    chains: list[list[list[int]]] = []
    for part, own, seconds in zip(parts, entries, spent, strict=True):
        chains.append(_chains(part.step))
        first, number = len(launches), {task: i for i, chain in enumerate(chains[-1]) for task in chain}
        for chain in chains[-1]:
            after = tuple(sorted({first + number[b] for b in part.step.before[chain[0]]}))
            entry = own.get(chain[0])
            if entry is None:
                launches.append(Launch(after, float(seconds[chain].sum())))
            else:
                group = part.step.group(part.step.tasks[chain[0]])
                launches.append(Launch(after, entry.pause, entry.schedule, entry.nbytes, group))
    run = simulate_ordered(launches, network.topology, background=background)
    out, at = [], 0
    for part, own, seconds, listed in zip(parts, entries, spent, chains, strict=True):
        out.append(_times(part.step, own, seconds, listed, run, at))
        at += len(listed)
    return out


def _chains(step: TrainingStep) -> list[list[int]]:
    """Tasks in entries of the run: computing that nothing comes between is one entry."""
    waited = np.zeros(len(step.tasks), int)
    for before in step.before:
        for b in before:
            waited[b] += 1
    out: list[list[int]] = []
    last: dict[int, int] = {}
    for number, (task, before) in enumerate(zip(step.tasks, step.before, strict=True)):
        if task.computes and len(before) == 1 and waited[before[0]] == 1 and step.tasks[before[0]].computes:
            out[last[before[0]]].append(number)
            last[number] = last[before[0]]
        else:
            out.append([number])
            last[number] = len(out) - 1
    return out


def _times(
    step: TrainingStep,
    entries: dict[int, _Entry],
    seconds: Floats,
    chains: list[list[int]],
    run: OrderedRun,
    first: int,
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    begin, end, carried = np.zeros(len(step.tasks)), np.zeros(len(step.tasks)), np.zeros(len(run.topology.links))
    for number, chain in enumerate(chains, first):
        own = seconds[chain] if len(chain) > 1 else np.array([run.end[number] - run.begin[number]])
        ends = run.begin[number] + np.cumsum(own)
        end[chain], begin[chain] = ends, ends - own
        timing = run.timings[number]
        if timing is not None:
            carried += timing.link_bytes * entries[chain[0]].scale
    return begin, end, np.rint(carried).astype(np.int64)
