"""Where a wrong result begins: the first step, and the cell in it, that a right schedule would have treated otherwise.

What is wrong in the end was often made long before, at another rank: a send lost in a reduce-scatter shows in every
copy of the sum. The place is found by comparison with a right schedule: the one that a broken copy was made of
(`Schedule.original`), else the algorithm of the library that the schedule resembles most, where they share two
transfers in three. Where there is none (`find_origin_of_cell`) the contributions are followed back: a rank counted
twice to the step that added it again, a contribution that is missing to the step that sent the sum on without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import numpy as np

from ..collective import get_collective
from ..errors import CollsimError, Sentence
from ..registry import algorithms
from ..schedule import Schedule, format_endpoint
from ..steps import Step
from .contributions import Cell, Terms, Write

Row = tuple[int, int, int, int, bool]  # src, dst, chunk, into, reduce

_MAX_TRANSFERS = 50_000
_MAX_RANKS = 64
_ALIKE = 2 / 3


@dataclass(frozen=True)
class Origin:
    """Where a wrong result begins.

    Attributes:
        kind: a write that is not there (`lost`), one too many (`extra`), one of other data (`changed`), the sending on
            of a sum that is not complete (`early`), or no write of the rest (`never`).
        step: from 0; the number of steps where a step is missing at the end.
        rank: endpoint of the cell.
        chunk: slot of the cell.
        row: of `schedule.transfers`, the transfer that does it; None where it is not there.
        ends: the schedule has no such step any more.
    """

    kind: Literal["lost", "extra", "changed", "early", "never"]
    step: int
    rank: int
    chunk: int
    row: int | None = None
    ends: bool = False

    def sentence(self, schedule: Schedule) -> Sentence:
        """A sentence of where it begins; steps are counted from 1.

        Args:
            schedule: Says which endpoints are ranks and which are helpers.
        """
        where: dict[str, Any] = {"who": format_endpoint(schedule.ranks, self.rank), "chunk": self.chunk}
        step = self.step + 1
        match self.kind:
            # "never" means that no step at all brings it; "lost" that one is missing where others are there.
            case "never":
                return Sentence("No step brings the rest into chunk {chunk} of {who}.", **where)
            case "lost" if self.ends:
                message = "Step {step} is missing: {who} gets nothing more into chunk {chunk}."
                return Sentence(message, step=step, **where)
            case "lost":
                what = Sentence("{who} gets nothing into chunk {chunk}", **where)
            case "extra":
                what = Sentence("{who} gets something too much into chunk {chunk}", **where)
            case "changed":
                what = Sentence("{who} gets the wrong data into chunk {chunk}", **where)
            case "early":
                what = Sentence("{who} sends chunk {chunk} on too early", **where)
        return Sentence("It begins in step {step}: {what}.", step=step, what=what)


def find_origin(schedule: Schedule) -> Origin | None:
    """The first difference from the right schedule that it is a copy of, or resembles; None where there is none.

    Args:
        schedule: one that does not do what its collective promises.

    Returns:
        The place; None where the schedule is right, or no place can be named.
    """
    if schedule.original is not None:
        return _find_first_difference(schedule, schedule.original)
    similar = _find_similar(schedule)
    if similar is None:
        return None
    return _find_first_difference(schedule, similar)


def _find_first_difference(schedule: Schedule, original: Schedule) -> Origin | None:
    """The first step in which two schedules do not move the same; a step that only one of them has counts as that."""
    rows, original_rows = [_count_rows(s) for s in schedule.each_step()], [_count_rows(s) for s in original.each_step()]
    step = _find_first_differing_step(rows, original_rows)
    here, there = rows[step : step + 1], original_rows[step : step + 1]
    if not here and not there:
        return None
    # A whole step that has no partner on the other side is reported as too many or missing, not as changed rows.
    if not there or rows[step + 1 : step + 2] == there:  # a step too many
        lost, extra = Counter[Row](), here[0]
    elif not here or original_rows[step + 1 : step + 2] == here:  # a step too few
        lost, extra = there[0], Counter[Row]()
    else:
        lost, extra = there[0] - here[0], here[0] - there[0]
    if not extra:
        _, rank, _, slot, _ = min(lost)
        return Origin("lost", step, rank, slot, ends=not here)
    row = min(extra)
    return Origin("changed" if lost else "extra", step, row[1], row[3], _find_row(schedule, step, row))


def _count_rows(step: Step) -> Counter[Row]:
    columns = (step.src, step.dst, step.chunk, step.into, step.reduce)
    return Counter(zip(*(c.tolist() for c in columns), strict=True))


def _find_row(schedule: Schedule, step: int, row: Row) -> int:
    """The last row of the table that is this transfer of this step."""
    t, columns = schedule.transfers, ("step", "src", "dst", "chunk", "into", "reduce")
    same = [t[name] == value for name, value in zip(columns, (step, *row), strict=True)]
    return int(np.flatnonzero(np.all(same, axis=0))[-1])


def _find_similar(schedule: Schedule) -> Schedule | None:
    """The algorithm of the library that shares most transfers with a schedule, whatever their steps, two in three at
    least; of equals the one that it follows longest."""
    if schedule.ranks > _MAX_RANKS or not 0 < len(schedule) <= _MAX_TRANSFERS:
        return None
    steps, best, most = [_count_rows(s) for s in schedule.each_step()], None, (_ALIKE, -1)
    root = None
    if get_collective(schedule.collective).rooted:
        root = schedule.root
    for other, rows in _list_library(schedule.collective, schedule.ranks, root):
        fits = (other.chunks, other.endpoints) == (schedule.chunks, schedule.endpoints)
        # Different sizes cannot be the same algorithm with a mistake in it.
        if not fits or min(len(schedule), len(other)) < _ALIKE * max(len(schedule), len(other)):
            continue
        alike, until = _measure_similarity(steps, rows)
        # A schedule that is the library's own moves the same in every step and has no mistake to find.
        if (alike, until) > most and steps != rows:
            best, most = other, (alike, until)
    return best


def _measure_similarity(own_rows: list[Counter[Row]], original_rows: list[Counter[Row]]) -> tuple[float, int]:
    """The share of transfers that two schedules have in the same steps, or one step apart after the first difference;
    and the step of that."""
    step = _find_first_differing_step(own_rows, original_rows)
    same = sum(rows.total() for rows in own_rows[:step])
    after = max(
        sum((a & b).total() for a, b in zip(own_rows[step + i :], original_rows[step + j :], strict=False))
        for i, j in ((0, 0), (0, 1), (1, 0))
    )
    most = max(sum(rows.total() for rows in steps) for steps in (own_rows, original_rows))
    return (same + after) / most, step


def _find_first_differing_step(rows: list[Counter[Row]], original_rows: list[Counter[Row]]) -> int:
    """The first step in which two schedules differ."""
    differ = (k for k, (a, b) in enumerate(zip(rows, original_rows, strict=False)) if a != b)
    return next(differ, min(len(rows), len(original_rows)))


@lru_cache(8)
def _list_library(name: str, ranks: int, root: int | None) -> list[tuple[Schedule, list[Counter[Row]]]]:
    """The library's schedules for a collective, with their transfers."""
    entries = []
    for algorithm in algorithms(name).values():
        if not (algorithm.function.__module__ or "").startswith("collsim.algorithms."):
            continue
        try:
            schedule = algorithm(ranks, **({} if root is None else {"root": root}))
        except CollsimError:  # not for this number of ranks
            continue
        if 0 < len(schedule) <= _MAX_TRANSFERS:
            entries.append((schedule, [_count_rows(step) for step in schedule.each_step()]))
    return entries


# ---- without a right schedule to compare with


def find_origin_of_cell(
    schedule: Schedule, cell: Cell, want: Terms, writes: Mapping[Cell, list[Write]]
) -> Origin | None:
    """Where the wrong content of a cell begins, by its contributions alone.

    Args:
        schedule: the wrong schedule.
        cell: endpoint and slot whose content is wrong at the end.
        want: what the cell should hold at the end.
        writes: of the cell, as `trace_contributions` gives it.

    Returns:
        The place; None where the cell is wrong from the start, or nothing ever writes it.
    """
    final = writes[cell][-1].terms
    if _is_doubled(final):
        return _find_doubled(schedule, cell, writes)
    if not final.keys() <= want.keys():
        step = next(write.step for write in writes[cell] if not write.terms.keys() <= want.keys())
        if step < 0:
            return None
        return Origin("changed", step, *cell, _find_writer(schedule, step, cell))
    if final:
        return _find_incomplete(schedule, cell, writes)
    return None


def _is_doubled(terms: Terms) -> bool:
    return any(count > 1 for count in terms.values())


def _find_doubled(schedule: Schedule, cell: Cell, writes: Mapping[Cell, list[Write]]) -> Origin:
    """The addition that counts a rank a second time: where what arrives was counted twice before, look there."""
    before = schedule.steps
    while True:
        write = next(write for write in writes[cell] if write.step < before and _is_doubled(write.terms))
        for sender in write.senders:
            if _is_doubled(_find_last_write(writes[sender], write.step).terms):
                cell, before = sender, write.step
                break
        else:
            return Origin("extra", write.step, *cell, _find_writer(schedule, write.step, cell))


def _find_incomplete(schedule: Schedule, cell: Cell, writes: Mapping[Cell, list[Write]]) -> Origin:
    """Back over the copies to the sum that lacks something: it was sent on too early, or nothing ever completed it."""
    write = writes[cell][-1]
    while write.step >= 0 and not write.adds:
        cell = write.senders[0]
        write = _find_last_write(writes[cell], write.step)
    row = 0
    for number, step in enumerate(schedule.each_step()):
        sends = (step.src == cell[0]) & (step.chunk == cell[1]) & ~step.reduce
        if number > write.step and sends.any():
            return Origin("early", number, *cell, row + int(np.argmax(sends)))
        row += len(step)
    return Origin("never", schedule.steps, *cell, ends=True)


def _find_last_write(writes: list[Write], step: int) -> Write:
    return next(write for write in reversed(writes) if write.step < step)


def _find_writer(schedule: Schedule, number: int, cell: Cell) -> int:
    """The last row of the table that writes a cell in a step."""
    *before, step = islice(schedule.each_step(), number + 1)
    return sum(map(len, before)) + int(np.flatnonzero((step.dst == cell[0]) & (step.into == cell[1]))[-1])
