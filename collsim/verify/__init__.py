"""Verify counts contributions: each rank's part must be in every result exactly once.

Counting with integers, never with booleans: a checker that ORs contributions accepts a rank that was added twice
(SCCL's own did). Every rank's chunk gets a random 64-bit weight and the schedule runs on the weights, modulo 2^64; a
slot is right when it holds the sum of the weights it should. A wrong schedule passes with a chance of about 2^-64 per
slot (Freivalds 1977 is the idea). Only when something is wrong are exact counts made, to say in a sentence what is
there and what should be.
"""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt

from ..collective import EVERY, NOTHING, collective
from ..errors import ScheduleError, Sentence, Words
from ..replay import require_schedule, run, starting
from ..schedule import Schedule, Step
from .origin import Origin, begun, origin

Counts = npt.NDArray[np.int64]


def verify(schedule: Schedule) -> None:
    """Return None if the schedule does what its collective promises; raise ScheduleError with a sentence otherwise.

    The error's `rank`, `chunk` and `step` say where it begins, as `origin` finds it: for what never arrives, where the
    write is missing (`step` is the number of steps where one is missing at the end).
    """
    kind = collective(require_schedule(schedule).collective)
    held = starting(schedule)
    slots = held.shape[1]
    drawn = Random(schedule.ranks).randbytes(8 * schedule.ranks * slots)  # numpy.random takes longer to load
    weight = np.frombuffer(drawn, np.uint64).reshape(schedule.ranks, slots)
    values = np.zeros(held.shape, np.uint64)
    values[: schedule.ranks][held[: schedule.ranks]] = weight[held[: schedule.ranks]]
    try:
        run(schedule, values, held, np.add)
    except ScheduleError as error:
        raise _traced(schedule, error) from None

    contributor, chunk = kind.wanted(schedule.ranks, schedule.chunks, schedule.root)
    slots = contributor.shape[1]
    want = np.zeros((schedule.ranks, slots), np.uint64)
    every = contributor == EVERY
    total = weight.sum(axis=0, dtype=np.uint64)
    want[every] = total[chunk[every]]
    single = contributor >= 0
    want[single] = weight[contributor[single], chunk[single]]
    asked = contributor != NOTHING
    wrong = asked & ((values[: schedule.ranks, :slots] != want) | ~held[: schedule.ranks, :slots])
    if wrong.any():
        raise _explain(schedule, wrong)


def wanted_in(schedule: Schedule, rank: int, slot: int) -> Counts:
    """(ranks, slots): the contributions that the collective wants in one cell at the end."""
    contributor, chunk = collective(schedule.collective).wanted(schedule.ranks, schedule.chunks, schedule.root)
    want = np.zeros((schedule.ranks, schedule.slots), np.int64)
    who = int(contributor[rank, slot])
    want[slice(None) if who == EVERY else who, chunk[rank, slot]] = 1
    return want


def contributions(schedule: Schedule, rank: int, slot: int) -> list[tuple[int, Counts]]:
    """What one endpoint's slot holds over time, exactly: `(step, counts)` with counts of shape (ranks, slots), one
    entry for the start (step -1) and one for each step that writes the slot.

    Walks back from the slot over the transfers that can reach it, then forward over those alone, so large schedules
    stay cheap.
    """
    held = starting(schedule)
    relevant: set[tuple[int, int]] = {(rank, slot)}
    steps = list(schedule.each_step())
    keep: list[tuple[int, Step, npt.NDArray[np.intp]]] = []
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        rows = np.array(
            [k for k, key in enumerate(zip(step.dst.tolist(), step.into.tolist(), strict=True)) if key in relevant],
            np.intp,
        )
        if len(rows):
            keep.append((number, step, rows))
            relevant |= set(zip(step.src[rows].tolist(), step.chunk[rows].tolist(), strict=True))
    state: dict[tuple[int, int], Counts] = {}
    for key in relevant:
        counts = np.zeros((schedule.ranks, schedule.slots), np.int64)
        if key[0] < schedule.ranks and held[key]:
            counts[key] = 1
        state[key] = counts
    history = [(-1, state[rank, slot].copy())]
    for number, step, rows in reversed(keep):
        moved = [(int(step.src[k]), int(step.chunk[k])) for k in rows]
        reading = [state[key].copy() for key in moved]
        wrote = False
        for k, arriving in zip(rows, reading, strict=True):
            key = int(step.dst[k]), int(step.into[k])
            state[key] = state[key] + arriving if step.reduce[k] else arriving
            wrote |= key == (rank, slot)
        if wrote:
            history.append((number, state[rank, slot].copy()))
    return history


def _traced(schedule: Schedule, error: ScheduleError) -> ScheduleError:
    """What a step reads before it is there should have come earlier, where a right schedule says so."""
    found = origin(schedule)
    if found is None or error.step is None or (found.step, found.rank) == (error.step, error.rank):
        return error
    made = ScheduleError(
        "{error}. {begin}",
        error=error.sentence,
        begin=found.sentence(schedule),
        step=found.step,
        rank=found.rank,
        chunk=found.chunk,
    )
    made.origin, made.cell = found, (error.rank, error.chunk)
    return made


def _explain(schedule: Schedule, wrong: npt.NDArray[np.bool_]) -> ScheduleError:
    found = origin(schedule)
    rank, slot = _shown(wrong, found)
    history = contributions(schedule, rank, slot)
    want = wanted_in(schedule, rank, slot)
    if found is None:
        found = begun(schedule, (rank, slot), want, lambda cell: contributions(schedule, *cell))
    last, final = history[-1]
    how = Sentence("No step writes it.") if last < 0 else Sentence("It was never replaced.")
    error = ScheduleError(
        "{label}: after the last step rank {cell} has chunk {slot} = {has}, but {collective} wants {wants}. {how}",
        label=schedule.label,
        cell=rank,
        slot=slot,
        has=_sum(final, slot),
        collective=schedule.collective,
        wants=_sum(want, slot),
        how=how if found is None else found.sentence(schedule),
        step=0 if found is None else found.step,
        rank=rank if found is None else found.rank,
        chunk=slot if found is None else found.chunk,
    )
    error.from_start = found is None
    error.origin, error.cell = found, None if found is None else (rank, slot)
    return error


def _shown(wrong: npt.NDArray[np.bool_], found: Origin | None) -> tuple[int, int]:
    """The cell whose end is told: the one where it begins, if that is wrong at the end; else another of its chunk."""
    cells = np.argwhere(wrong)
    if found is not None:
        for alike in ((cells == (found.rank, found.chunk)).all(axis=1), cells[:, 1] == found.chunk):
            if alike.any():
                cells = cells[alike]
                break
    return int(cells[0][0]), int(cells[0][1])


def _sum(counts: Counts, chunk: int, most: int = 8) -> Words:
    """`2·r0 + r1 + r3`; contributions of another chunk are written `r1[chunk 5]`."""
    terms = []
    for r, c in np.argwhere(counts):
        times = f"{counts[r, c]}·" if counts[r, c] != 1 else ""
        terms.append(f"{times}r{r}" + (f"[chunk {c}]" if c != chunk else ""))
    if not terms:
        return Sentence("nothing")
    if len(terms) > most:
        terms = [*terms[: most - 1], "...", terms[-1]]
    return " + ".join(terms)
