"""Whose data a slot holds, and how often: contributions, counted in whole numbers that never wrap around.

A contribution is named by its cell before the first step, (rank, chunk). Numbers beyond 2^63 stay at `MANY`, which no
right result reaches. Modulo 2^64 they would not do: two ranks that add to one another double a value in every step,
and after 64 steps it would count as none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..collective import EVERY, NOTHING, get_collective
from ..dtypes import Bools
from ..errors import ScheduleError, Sentence, Words
from ..replay import apply_step, are_reads_filled, mark_initial_slots
from ..schedule import Schedule
from ..steps import Step

#: An endpoint and a slot of its buffer.
Cell = tuple[int, int]
#: How often each contribution is in a sum: 1 or more, `MANY` where it is more than 2^63.
Terms = Mapping[Cell, int]
Counts = npt.NDArray[np.uint64]

MANY = 2**63 + 1
_MANY = np.uint64(MANY)
_MAX_ADDITIONS = 5_000_000  # of terms, 100 bytes and 0.2 µs each


@dataclass(frozen=True)
class Write:
    """What a cell holds from one step on.

    Attributes:
        step: the step that wrote it, from 0; -1 for what is there before the first.
        terms: the contributions in it.
        senders: the cells that were copied or added in this step.
        adds: it was added to what the cell held before.
    """

    step: int
    terms: Terms
    senders: tuple[Cell, ...] = ()
    adds: bool = False


def draw_weights(ranks: int, count: int) -> Counts:
    """Weights of contributions: independent, uniform on 0 .. 2^`count_weight_bits(ranks)` - 1, and new in every call.

    They come from the operating system's source of randomness, so that nobody who writes a schedule can know them.

    Args:
        ranks: how many of them the sum of a right result has at most.
        count: how many to draw.
    """
    return np.frombuffer(os.urandom(8 * count), np.uint64) >> np.uint64(64 - count_weight_bits(ranks))


def count_weight_bits(ranks: int) -> int:
    """Bits of a weight, so that the weights of all ranks add up to less than 2^63.

    >>> count_weight_bits(8), count_weight_bits(1024)
    (59, 52)

    Args:
        ranks: 1 or more.
    """
    return 63 - ranks.bit_length()


def add_counts(first: Counts, second: Counts) -> Counts:
    """Sums of counts, element by element; what is beyond 2^63 becomes `MANY`.

    >>> add_counts(np.array([3, 2**63], np.uint64), np.array([4, 2**63], np.uint64)).tolist() == [7, MANY]
    True

    Args:
        first: Any shape.
        second: The same shape.
    """
    total: Counts = np.minimum(first, _MANY - second) + second
    return total


def add_terms(parts: Iterable[Terms]) -> Terms:
    """The sum of several sums; what is beyond 2^63 becomes `MANY`.

    >>> add_terms([{(0, 0): 1}, {(0, 0): 2, (1, 0): 1}])
    {(0, 0): 3, (1, 0): 1}

    Args:
        parts: Counts by contribution; may be empty.
    """
    total: dict[Cell, int] = {}
    for terms in parts:
        for contribution, count in terms.items():
            total[contribution] = min(MANY, total.get(contribution, 0) + count)
    return total


def format_terms(terms: Terms, chunk: int | None = None, most: int = 8) -> Words:
    """A sum as people write it, its first terms and the last.

    Args:
        terms: how often each contribution is in the sum.
        chunk: contributions of this chunk are written without it.
        most: terms that are written out.

    >>> print(format_terms({(0, 0): 2, (1, 0): 1, (2, 5): 2**64}, chunk=0))
    2·r0 + r1 + >2^63·r2[chunk 5]
    """
    if not terms:
        return Sentence("nothing")
    listed = sorted(terms)
    if len(listed) > most:
        listed = [*listed[: most - 1], listed[-1]]
    texts = [_format_term(*contribution, terms[contribution], chunk) for contribution in listed]
    if len(terms) > most:
        texts.insert(-1, "...")
    return " + ".join(texts)


def _format_term(rank: int, slot: int, count: int, chunk: int | None) -> str:
    times = f"{count}·"
    if count == 1:
        times = ""
    elif count >= MANY:
        times = ">2^63·"
    if slot == chunk:
        return f"{times}r{rank}"
    return f"{times}r{rank}[chunk {slot}]"


def find_expected_terms(schedule: Schedule, rank: int, slot: int) -> Terms:
    """The contributions that the collective wants in one cell at the end, each once."""
    contributor, chunk = get_collective(schedule.collective).find_expected_contributions(
        schedule.ranks, schedule.chunks, schedule.root
    )
    contributing_rank, what = int(contributor[rank, slot]), int(chunk[rank, slot])
    return {(r, what): 1 for r in (range(schedule.ranks) if contributing_rank == EVERY else (contributing_rank,))}


def list_contributions(schedule: Schedule, rank: int, slot: int) -> list[tuple[int, Terms]]:
    """What one endpoint's slot holds over time: `(step, terms)`, an entry for the start (step -1) and one for each step
    that writes the slot.

    Args:
        schedule: what is followed.
        rank: the endpoint.
        slot: the slot at that endpoint.

    Raises:
        ScheduleError: As `trace_contributions` does.
    """
    return [(write.step, write.terms) for write in trace_contributions(schedule, (rank, slot))[rank, slot]]


def trace_contributions(schedule: Schedule, cell: Cell) -> dict[Cell, list[Write]]:
    """The writes of one cell, and of every cell from which something reaches it, in the order of steps.

    Walks back from the cell over the transfers that can reach it, then forward over those alone. Writes to another cell
    after the last one that matters are left out.

    Args:
        schedule: Right or wrong.
        cell: (endpoint, slot).

    Raises:
        ScheduleError: Where that adds up too many terms.
    """
    filled = mark_initial_slots(schedule)
    writes: dict[Cell, list[Write]] = {}

    # A cell that no step has written holds its own contribution, or nothing.
    def find_terms(key: Cell) -> Terms:
        if key not in writes:
            writes[key] = [Write(-1, {key: 1} if filled[key] else {})]
        return writes[key][-1].terms

    find_terms(cell)
    additions = 0
    # Forward over the steps that matter, which the walk back has listed last first.
    for number, arrivals in reversed(_find_arrivals(schedule, cell, filled.shape)):
        written = []  # only now do they count: all transfers of a step read what was there before it
        for target, (senders, adds) in arrivals.items():
            parts = [find_terms(sender) for sender in senders]
            if adds:
                parts.append(find_terms(target))
                additions += sum(map(len, parts))
                _require_few(schedule, additions)
            written.append((target, Write(number, add_terms(parts) if adds else parts[0], tuple(senders), adds)))
        for target, write in written:
            find_terms(target)
            writes[target].append(write)
    return writes


def _require_few(schedule: Schedule, additions: int) -> None:
    if additions > _MAX_ADDITIONS:
        message = "{label} adds up too many contributions to say which; ask for fewer ranks"
        raise ScheduleError(message, label=schedule.label)


def _find_arrivals(
    schedule: Schedule, cell: Cell, shape: tuple[int, ...]
) -> list[tuple[int, dict[Cell, tuple[list[Cell], bool]]]]:
    """The steps in which something arrives that can reach the cell, the last one first: the cells that are written,
    with those that send and whether they are added."""
    relevant = np.zeros(shape, bool)
    relevant[cell] = True
    number, total = schedule.steps, 0
    steps = []
    for pattern in reversed(schedule.patterns):
        for repetition in reversed(range(pattern.times)):
            number -= 1
            step = pattern.repetition(repetition)
            # Only transfers into a cell that reaches the goal matter; what they read becomes relevant before that
            # step.
            rows = np.flatnonzero(relevant[step.dst, step.into])
            if not len(rows):
                continue
            total += len(rows)
            _require_few(schedule, total)
            relevant[step.src[rows], step.chunk[rows]] = True
            columns = (step.src, step.chunk, step.dst, step.into, step.reduce)
            arrivals: dict[Cell, tuple[list[Cell], bool]] = {}
            for src, chunk, dst, into, adds in zip(*(column[rows].tolist() for column in columns), strict=True):
                arrivals.setdefault((dst, into), ([], adds))[0].append((src, chunk))
            steps.append((number, arrivals))
    return steps


class StepCounts(NamedTuple):
    """How many contributions one step moves, every rank counted as often as it was added.

    Attributes:
        step: its transfers.
        sent: (transfers,) contributions in the slots that it sends.
        before: (transfers,) contributions in the slots that it writes, before it.
        after: (transfers,) contributions in the slots that it writes, after it.
        table: (endpoints, slots) in all slots after it; the same array in every step.
    """

    step: Step
    sent: Counts
    before: Counts
    after: Counts
    table: Counts


class CountedReplay:
    """One replay of a schedule that counts contributions step by step, and finds out whether the schedule is right.

    Counts alone cannot tell whose contributions they are, so each travels with its random weight (see `verify`).

    Attributes:
        is_right: after the last step, whether `verify` would accept the schedule; False before.
    """

    def __init__(self, schedule: Schedule) -> None:
        """A replay that has not begun.

        Args:
            schedule: Right or wrong; a slot that is read while it is empty counts 0.
        """
        self.schedule = schedule
        self.is_right = False

    def __iter__(self) -> Iterator[StepCounts]:
        """The steps in order."""
        schedule = self.schedule
        filled = mark_initial_slots(schedule)
        values = np.zeros((*filled.shape, 2), np.uint64)  # of each slot: its count, its weight
        values[filled, 0], values[filled, 1] = 1, draw_weights(schedule.ranks, int(filled.sum()))
        first_weights = values[: schedule.ranks, :, 1].copy()
        every = np.ones(filled.shape, bool)  # an empty slot counts 0, so that wrong schedules can be counted, too
        reads_filled = True
        counts = values[..., 0]
        for step in schedule.each_step():
            reads_filled = reads_filled and are_reads_filled(schedule, step, filled)
            sent, before = counts[step.src, step.chunk], counts[step.dst, step.into]
            apply_step(step, values, every, add_counts)
            filled[step.dst, step.into] = True
            yield StepCounts(step, sent, before, counts[step.dst, step.into], counts)
        self.is_right = reads_filled and not find_wrong_cells(schedule, first_weights, values[..., 1], filled).any()


def find_wrong_cells(schedule: Schedule, first_weights: Counts, weights: Counts, filled: Bools) -> Bools:
    """Cells that do not hold at the end what the collective promises.

    Args:
        schedule: What ran on the weights.
        first_weights: (ranks, slots) weights before the first step, 0 where a slot was empty.
        weights: (endpoints, slots) weights after the last step.
        filled: (endpoints, slots) which slots hold data after it.

    Returns:
        (ranks, slots of the result).
    """
    kind, ranks = get_collective(schedule.collective), slice(schedule.ranks)
    contributor, chunk = kind.find_expected_contributions(schedule.ranks, schedule.chunks, schedule.root)
    columns = slice(contributor.shape[1])
    if kind.reduces:
        want = first_weights.sum(axis=0, dtype=np.uint64)[chunk]
    else:
        want = first_weights[np.maximum(contributor, 0), chunk]
    wrong: Bools = (weights[ranks, columns] != want) | ~filled[ranks, columns]
    wrong &= contributor != NOTHING
    return wrong
