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


def shared(
    parts: Sequence[Part], network: Collectives, background: Any = None, eager: bool = False
) -> list[SharedPart]:
    """Run the steps at the same time, under either rule of sending.

    Raises CollsimError for asynchronous workers, who have no common moment.
    """
    if any(part.step.staleness for part in parts):
        raise CollsimError("asynchronous workers have no common moment at which they share links; use network='alone'")
    entries = [_entries(part, network) for part in parts]
    took = [part.seconds for part in parts]  # of collectives: by themselves, to begin with
    for turn in range(_ROUNDS):
        computing = [_computing(*both) for both in zip(parts, took, strict=True)]
        times = _run(parts, entries, computing, network, background, eager)
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


def _entries(part: Part, network: Collectives) -> dict[int, list[tuple[tuple[int, ...], _Entry]]]:
    """Of each collective its groups and what each of them runs."""
    known: dict[Any, _Entry] = {}
    out: dict[int, list[tuple[tuple[int, ...], _Entry]]] = {}
    for i in part.step.collectives:
        task = part.step.tasks[i]
        out[i] = []
        for group in part.step.groups(task):
            key = group, task.kind, task.nbytes, task.algorithm, task.options
            if key not in known:
                known[key] = _entry(group, task, network.seconds(group, task), network)
            out[i].append((group, known[key]))
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
    entries: Sequence[dict[int, list[tuple[tuple[int, ...], _Entry]]]],
    spent: Sequence[Floats],
    network: Collectives,
    background: Any,
    eager: bool,
) -> list[tuple[Floats, Floats, npt.NDArray[np.int64]]]:
    """Begin and end of every step's tasks, and bytes on links."""
    launches: list[Launch] = []
    listed: list[list[_Chain]] = []
    for part, own, seconds in zip(parts, entries, spent, strict=True):
        last: dict[int, tuple[int, ...]] = {}  # of each task the launches with which it has ended
        listed.append([])
        for chain in _chains(part.step):
            after = tuple(sorted({n for b in part.step.before[chain[0]] for n in last[b]}))
            rows = _launched(launches, after, own.get(chain[0]), part.step.tasks[chain[0]].times, seconds[chain])
            last.update(dict.fromkeys(chain, tuple(row[-1] for row in rows)))
            listed[-1].append((chain, rows))
    run = simulate_ordered(launches, network.topology, background=background, eager=eager)
    return [_times(p.step, own, s, rows, run) for p, own, s, rows in zip(parts, entries, spent, listed, strict=True)]


#: Tasks that are one entry of the run, and for each group the numbers of its launches, one behind another.
_Chain = tuple[list[int], list[list[int]]]


def _launched(
    launches: list[Launch],
    after: tuple[int, ...],
    entry: list[tuple[tuple[int, ...], _Entry]] | None,
    times: int,
    seconds: Floats,
) -> list[list[int]]:
    """Launches of a chain of computing, or of a collective: of each group as many as it comes often."""
    if entry is None:
        launches.append(Launch(after, float(seconds.sum())))
        return [[len(launches) - 1]]
    rows = []
    for group, one in entry:
        row: list[int] = []
        for _ in range(times):
            waits = (row[-1],) if row else after
            launches.append(Launch(waits, one.pause, one.schedule, one.nbytes, group))
            row.append(len(launches) - 1)
        rows.append(row)
    return rows


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
    entries: dict[int, list[tuple[tuple[int, ...], _Entry]]],
    seconds: Floats,
    chains: list[_Chain],
    run: OrderedRun,
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    begin, end, carried = np.zeros(len(step.tasks)), np.zeros(len(step.tasks)), np.zeros(len(run.topology.links))
    for chain, rows in chains:
        first = min(run.begin[row[0]] for row in rows)
        own = seconds[chain] if len(chain) > 1 else np.array([max(run.end[row[-1]] for row in rows) - first])
        ends = first + np.cumsum(own)
        end[chain], begin[chain] = ends, ends - own
        for row, (_, entry) in zip(rows, entries.get(chain[0], ()), strict=False):
            for timing in (run.timings[number] for number in row):
                if timing is not None:
                    carried += timing.link_bytes * entry.scale
    return begin, end, np.rint(carried).astype(np.int64)
