"""Verify counts contributions: each rank's part must be in every result exactly once.

Counting with integers, never with booleans: a checker that ORs contributions accepts a rank that was added twice
(SCCL's own did). Every contribution, a rank's chunk before the first step, gets a random weight of
k = 63 - bit_length(ranks) bits; the schedule runs on the weights in whole numbers, and a slot is right when it holds
the sum of the weights that it should (the idea is that of Freivalds 1977). Sums beyond 2^63 stay there
(`contributions.add_counts`) instead of wrapping around.

A right schedule always passes: the sum of `ranks` weights is below 2^63. **A wrong one passes with a probability of at
most 2^-k**: 2^-59 for 8 ranks, 2^-52 for 1,024. Proof: take a wrong slot; let contribution i be in it m_i times where
t_i (0 or 1) is wanted, with m_j != t_j for some j. If its sum went beyond 2^63, it is more than any right sum, and the
schedule is refused. Otherwise it is the whole number sum(m_i w_i), and equals sum(t_i w_i) only if
w_j = sum over i != j of (t_i - m_i) w_i, divided by (m_j - t_j). However the other weights came out, that is at most
one of the 2^k values that w_j takes with equal probability, independent of them. All wrong slots must pass at once, so
the bound for one of them holds for the schedule.

The bound has no term for how large the m_i are, though a schedule can double one in each step: nothing is reduced
modulo a number that could divide m_i - t_i. It holds against whoever knows this code, since the weights are drawn from
the operating system's randomness in each call, after the schedule was written: N tries pass with at most N 2^-k.

Only when something is wrong are exact counts made, to say in a sentence what is there and what should be.
"""

from __future__ import annotations

import numpy as np

from ..collective import get_collective
from ..dtypes import Bools
from ..errors import ScheduleError, Sentence
from ..errors.arguments import check_arguments
from ..replay import apply_schedule, mark_initial_slots, require_memory, require_schedule
from ..schedule import Schedule
from .contributions import (
    MANY,
    CountedReplay,
    Counts,
    StepCounts,
    Terms,
    add_counts,
    draw_weights,
    find_expected_terms,
    find_wrong_cells,
    format_terms,
    list_contributions,
    trace_contributions,
)
from .origin import Origin, find_origin, find_origin_of_cell

__all__ = [
    "MANY",
    "CountedReplay",
    "Counts",
    "StepCounts",
    "Terms",
    "find_expected_terms",
    "format_terms",
    "list_contributions",
    "verify",
]

_NUMBERS = 4  # of 8 bytes for each slot: its value and its weight; whose it should be; what it should hold


@check_arguments
def verify(schedule: Schedule) -> None:
    """Check that a schedule does what its collective promises; return None if it does.

    Data are moved as in `replay`, with a random 64-bit weight for every contribution in place of numbers.

    Args:
        schedule: from `cs.schedule(...)`, an algorithm called with n, or a file.

    Raises:
        ScheduleError: Says in a sentence what is wrong. `rank`, `chunk` and `step` say where it begins, as
            `find_origin` finds it: for what never arrives, where the write is missing (`step` is the number of steps
            where one is missing at the end).
        CollsimError: For what is no Schedule, or one that needs more memory than allowed.

    Examples:
        >>> import collsim as cs
        >>> cs.verify(cs.schedule("allreduce_ring", ranks=4))
        >>> @cs.algorithm("broadcast")
        ... def one_rank_forgotten(n):
        ...     yield cs.copy(0, range(1, n - 1), chunk=0)
        >>> cs.verify(one_rank_forgotten(4))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        collsim.errors.ScheduleError: ...: after the last step rank 3 has chunk 0 = nothing, but broadcast wants r0...
    """
    kind = get_collective(require_schedule(schedule).collective)
    cells = schedule.endpoints * max(schedule.slots, kind.slots(schedule.chunks))
    require_memory(schedule, _NUMBERS * cells)
    filled = mark_initial_slots(schedule)
    # Sums of random weights are compared instead of sets of terms: 64 bits make a chance agreement impossible in
    # practice.
    values = np.zeros(filled.shape, np.uint64)
    values[filled] = draw_weights(schedule.ranks, int(filled.sum()))
    first_weights = values[: schedule.ranks].copy()
    try:
        apply_schedule(schedule, values, filled, add_counts)
    except ScheduleError as error:
        # A read of an empty slot ends the replay early; its sentence gets the step where the fault began.
        raise _add_origin(schedule, error) from None

    wrong = find_wrong_cells(schedule, first_weights, values, filled)
    if wrong.any():
        raise _explain(schedule, wrong)


def _add_origin(schedule: Schedule, error: ScheduleError) -> ScheduleError:
    """What a step reads before it is there should have come earlier, where a right schedule says so."""
    start = find_origin(schedule)
    if start is None or error.step is None or (start.step, start.rank) == (error.step, error.rank):
        return error
    where = {"step": start.step, "rank": start.rank, "chunk": start.chunk}
    traced = ScheduleError("{error}. {begin}", error=error.sentence, begin=start.sentence(schedule), **where)
    traced.origin, traced.cell = start, (error.rank, error.chunk)
    return traced


def _explain(schedule: Schedule, wrong: Bools) -> ScheduleError:
    start = find_origin(schedule)
    rank, slot = _choose_cell(wrong, start)
    want = find_expected_terms(schedule, rank, slot)
    from_start = False
    # What a cell has may have grown exponentially in a wrong schedule; then it is not written out.
    try:
        writes = trace_contributions(schedule, (rank, slot))
    except ScheduleError as too_many:
        has, how = Sentence("something else"), Sentence("{error}.", error=too_many)
    else:
        last = writes[rank, slot][-1]
        has, how = Sentence.from_words(format_terms(last.terms, slot)), Sentence("It was never replaced.")
        if last.step < 0:
            how = Sentence("No step writes it.")
        # No library algorithm is near: the fault is looked for in the history of this cell alone.
        if start is None:
            start = find_origin_of_cell(schedule, (rank, slot), want, writes)
        from_start = start is None
    where = {"step": 0, "rank": rank, "chunk": slot}
    if start is not None:
        how, where = start.sentence(schedule), {"step": start.step, "rank": start.rank, "chunk": start.chunk}
    error = ScheduleError(
        "{label}: after the last step rank {cell} has chunk {slot} = {has}, but {collective} wants {wants}. {how}",
        label=schedule.label,
        cell=rank,
        slot=slot,
        has=has,
        collective=schedule.collective,
        wants=format_terms(want, slot),
        how=how,
        **where,
    )
    error.from_start = from_start
    error.origin, error.cell = start, None if start is None else (rank, slot)
    return error


def _choose_cell(wrong: Bools, start: Origin | None) -> tuple[int, int]:
    """The cell whose end is told: the one where it begins, if that is wrong at the end; else another of its chunk."""
    cells = np.argwhere(wrong)
    if start is not None:
        for alike in ((cells == (start.rank, start.chunk)).all(axis=1), cells[:, 1] == start.chunk):
            if alike.any():
                cells = cells[alike]
                break
    return int(cells[0][0]), int(cells[0][1])
