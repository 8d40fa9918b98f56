"""Replay moves data: a schedule run on real arrays, in the dtype and the order of additions that the algorithm has.

`run` is the interpreter that `replay` and `verify` share. It knows slots and steps, not what the values mean:
all transfers of a step read the buffers as they were when it began; several reduces into one slot are added one after another in
the order of the schedule's rows, as a receiver works through its channels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .collective import NOTHING, collective
from .errors import CollsimError, ScheduleError, unknown
from .schedule import Schedule, Step

Array = npt.NDArray[Any]
Combine = Callable[[Array, Array], Array]

#: Reduction operators of NCCL (nccl.h ncclRedOp_t). avg has steps of its own before and after.
OPERATORS: dict[str, Combine] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "avg": np.add}


def replay(schedule: Schedule, buffers: npt.ArrayLike, op: str = "sum") -> Array:
    """Run a schedule on data.

    Args:
        buffers: shape `(ranks, elements)`: every rank's buffer, in place as NCCL lays it out; for allgather and reduce_scatter
            `elements` is the whole array of n blocks and rank r's own block is the r-th.
        op: `sum`, `prod`, `max`, `min` or `avg`. As in NCCL, avg scales floats by 1/n before they are added, and divides
            integers by n at the end, towards zero.

    Returns:
        A new array of the same shape and dtype; elements of which the collective says nothing are as they were given.

    Raises:
        CollsimError for a wrong shape or operator; ScheduleError for a schedule that sends what it does not hold.
    """
    if op not in OPERATORS:
        raise CollsimError(unknown("reduction op", op, OPERATORS))
    given = np.asarray(buffers)
    if given.ndim != 2 or given.shape[0] != schedule.ranks:
        raise CollsimError(f"buffers have shape {given.shape}; {schedule.label} wants (ranks, elements) = ({schedule.ranks}, any number)")
    kind = collective(schedule.collective)
    start = kind.chunk_sizes(given.shape[1], schedule.ranks, schedule.chunks)
    average = op == "avg" and kind.reduces
    scaled = average and not np.issubdtype(given.dtype, np.integer)
    work = (given * given.dtype.type(1 / schedule.ranks)).astype(given.dtype) if scaled else given

    padded = np.zeros((schedule.endpoints, schedule.slots, max(1, int(start.max(initial=1)))), given.dtype)
    offsets = np.concatenate([[0], np.cumsum(start)])
    for c in range(schedule.chunks):
        padded[: schedule.ranks, c, : start[c]] = work[:, offsets[c] : offsets[c + 1]]
    held = starting(schedule)
    run(schedule, padded, held, OPERATORS[op] if kind.reduces else np.add)

    out = given.copy()
    contributor, _ = kind.wanted(schedule.ranks, schedule.chunks, schedule.root)
    first = contributor.shape[1] - schedule.chunks  # where the results lie, for collectives that have slots of their own for them
    for c in range(schedule.chunks):
        done = contributor[:, first + c] != NOTHING
        part = padded[: schedule.ranks, first + c, : start[c]][done]
        if average and not scaled:
            part = np.trunc(part / schedule.ranks).astype(given.dtype) if part.dtype.itemsize < 8 else _truncated(part, schedule.ranks)
        out[done, offsets[c] : offsets[c + 1]] = part
    return out


def _truncated(values: Array, by: int) -> Array:
    """Integer division towards zero without a detour through float64, which cannot hold every int64."""
    return np.where(values >= 0, values // by, -(-values // by)).astype(values.dtype)


def starting(schedule: Schedule) -> npt.NDArray[np.bool_]:
    """(endpoints, slots): what holds data before the first step, from the collective's condition."""
    kind = collective(schedule.collective)
    held = np.zeros((schedule.endpoints, schedule.slots), bool)
    before = kind.held(schedule.ranks, schedule.chunks, schedule.root)[:, : schedule.slots]
    held[: schedule.ranks, : before.shape[1]] = before
    return held


def run(
    schedule: Schedule,
    values: Array,
    held: npt.NDArray[np.bool_],
    combine: Combine,
    watch: Callable[[int, Step], None] | None = None,
) -> None:
    """Run a schedule in place on `values` (endpoints, slots, ...) and `held` (endpoints, slots).

    A helper's empty slot takes the first contribution as it is (its buffer starts at the operator's neutral element); reducing
    into a rank's empty slot is an error, as is sending one. `watch` is called before each step, before anything moves.

    Raises ScheduleError naming step, rank and chunk.
    """
    for number, step in enumerate(schedule.each_step()):
        if watch is not None:
            watch(number, step)
        _require_held(schedule, number, step, held)
        moving = values[step.src, step.chunk]
        if step.reduce.all():
            _add(values, held, step.dst, step.into, moving, combine)
        elif not step.reduce.any():
            values[step.dst, step.into] = moving
        else:
            adds = step.reduce
            values[step.dst[~adds], step.into[~adds]] = moving[~adds]
            _add(values, held, step.dst[adds], step.into[adds], moving[adds], combine)
        held[step.dst, step.into] = True


def _require_held(schedule: Schedule, number: int, step: Step, held: npt.NDArray[np.bool_]) -> None:
    empty = ~held[step.src, step.chunk]
    if empty.any():
        row = int(np.argmax(empty))
        rank, chunk = int(step.src[row]), int(step.chunk[row])
        raise ScheduleError(
            f"{schedule.label}, step {number}: rank {rank} sends chunk {chunk} to rank {step.dst[row]}, but holds nothing in it yet",
            step=number,
            rank=rank,
            chunk=chunk,
        )
    missing = step.reduce & (step.dst < schedule.ranks) & ~held[step.dst, step.into]
    if missing.any():
        row = int(np.argmax(missing))
        rank, chunk = int(step.dst[row]), int(step.into[row])
        raise ScheduleError(
            f"{schedule.label}, step {number}: rank {step.src[row]} reduces into chunk {chunk} of rank {rank}, which holds nothing yet; "
            "use copy for the first one",
            step=number,
            rank=rank,
            chunk=chunk,
        )


def _add(values: Array, held: npt.NDArray[np.bool_], dst: Array, into: Array, moving: Array, combine: Combine) -> None:
    """Combine arrivals into their slots, those of one slot one after another in row order."""
    target = dst.astype(np.int64) * values.shape[1] + into
    order = np.argsort(target, kind="stable")
    key = target[order]
    new = np.concatenate([[True], key[1:] != key[:-1]])
    if new.all():
        turns = [order]
    else:
        begin = np.maximum.accumulate(np.where(new, np.arange(len(key)), 0))
        turn = np.arange(len(key)) - begin
        by_turn = np.argsort(turn, kind="stable")
        turns = np.split(order[by_turn], np.flatnonzero(np.diff(turn[by_turn])) + 1)
    for rows in turns:
        d, i, arriving = dst[rows], into[rows], moving[rows]
        full = held[d, i]
        if full.all():
            values[d, i] = combine(values[d, i], arriving)
        else:
            values[d[~full], i[~full]] = arriving[~full]
            values[d[full], i[full]] = combine(values[d[full], i[full]], arriving[full])
            held[d, i] = True
