"""Outside the sandbox: what a function yielded, as Schedules that were checked again as if a stranger had sent them.

Nothing here fails, whatever the frames say: what is no table of transfers, or too much, becomes a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np

from ..collective import get_collective
from ..errors import CollsimError, ScheduleError, Sentence
from ..schedule import Schedule, freeze
from ..steps import Step
from .frames import Ending, Kind, read_numbers, read_text, split_frames
from .learner_tables import COLUMNS, FunctionRequest
from .resource_limits import MAX_PRINTED, MAX_SLOTS, Limits

_NOT_A_TABLE = Sentence("the process of the function sent something that is not a table of transfers")
_MAX_CHANNEL = 1_023
_LONGEST_NAME = 60


class Translated(Sentence):
    """What another process said, in both languages; whatever stands in it, it is no template."""

    __slots__ = ("chinese",)

    def __init__(self, english: str, chinese: str) -> None:
        """A sentence whose translation came along with it.

        Args:
            english: Finished, without values to fill in.
            chinese: Finished.
        """
        super().__init__(english)
        self.chinese = chinese

    def text(self, language: str = "en") -> str:
        """The sentence in one language.

        Args:
            language: "zh", else English.
        """
        if language == "zh":
            return self.chinese
        return self.key

    def __reduce__(self) -> tuple[Any, ...]:
        return Translated, (self.key, self.chinese)


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        data: The frames that it sent.
        how: An `Ending`, or minus the number of a signal.
    """

    data: bytes = b""
    how: int = Ending.BADLY


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a function yielded: a Schedule for every number of ranks up to the first that failed, and why that one
    failed.

    Attributes:
        schedules: number of ranks -> what the function yielded.
        failed: the number of ranks at which it stopped; None where none failed.
        error: why it stopped; None where none failed.
        printed: the first 2,000 characters that it printed.
    """

    schedules: dict[int, Schedule] = field(default_factory=dict)
    failed: int | None = None
    error: ScheduleError | None = None
    printed: str = ""


def read_attempt(ended: Ended, request: FunctionRequest, limits: Limits) -> Attempt:
    """Read schedules from the frames of a job. Nothing is raised, whatever the frames hold.

    Args:
        ended: the frames, and how the job ended.
        request: what the function was called for.
        limits: of all its calls together.
    """
    schedules: dict[int, Schedule] = {}
    printed, done = "", False
    error: ScheduleError | None = None
    failed: int | None = None
    for kind, body in split_frames(ended.data):
        if kind == Kind.DONE:
            printed, done = read_text(body, MAX_PRINTED), True
        elif error is None:
            failed = next((n for n in request.ranks if n not in schedules), request.ranks[-1])
            try:
                schedules[failed] = _read_schedule(kind, body, failed, request, _subtract_used(limits, schedules))
            except ScheduleError as wrong:
                error = wrong
    missing = next((n for n in request.ranks if n not in schedules), None)
    if error is None and (not done or missing is not None):
        failed, error = missing or request.ranks[-1], ScheduleError(describe_ending(ended.how, limits))
    return Attempt(schedules, None if error is None else failed, error, printed)


def describe_ending(how: int, limits: Limits) -> Sentence:
    """Describe how the process of a function ended, where it did not end well.

    Args:
        how: `Ending`, or minus the number of a signal.
        limits: of the function.
    """
    if how == Ending.LATE:
        return Sentence(
            "the function did not end within {seconds:g} seconds; does a loop never stop?", seconds=limits.seconds
        )
    if how == Ending.TOO_MUCH:
        return Sentence("the process of the function sent more than is read")
    if how < 0:
        return Sentence("the process of the function was ended by signal {signal}", signal=-how)
    return Sentence("the process of the function ended before it was done (exit, or more memory than it may use)")


def read_failure(body: memoryview) -> Translated:
    """Why a function failed, as another process said it.

    Args:
        body: what follows the head of a frame of the kind `FAILED`.

    Returns:
        The sentence, in both languages.
    """
    (*_, length), texts = read_numbers(body, 5)
    return Translated(read_text(texts[:length], MAX_PRINTED), read_text(texts[length:], MAX_PRINTED))


def _subtract_used(limits: Limits, schedules: dict[int, Schedule]) -> Limits:
    """What is left of steps and transfers: they are for all numbers of ranks together, as what they cost here is."""
    steps, transfers = sum(s.steps for s in schedules.values()), sum(len(s) for s in schedules.values())
    return replace(limits, steps=limits.steps - steps, transfers=limits.transfers - transfers)


def _read_schedule(kind: int, body: memoryview, n: int, request: FunctionRequest, limits: Limits) -> Schedule:
    """The schedule for n ranks, or the ScheduleError that the frame is or deserves."""
    if kind == Kind.FAILED:
        (_, *position, _), _ = read_numbers(body, 5)
        step, rank, chunk = (number if 0 <= number <= MAX_SLOTS else None for number in position)
        raise ScheduleError(read_failure(body), step=step, rank=rank, chunk=chunk)
    (ranks, chunks, slots, count), rest = read_numbers(body, 4)
    if kind != Kind.TABLE or ranks != n or not 0 <= count <= len(rest) // 32:
        raise ScheduleError(_NOT_A_TABLE)
    if count > limits.steps:
        raise _build_too_much(limits)
    try:
        shapes = np.frombuffer(rest, "<i8", 4 * count).reshape(-1, 4).tolist()
        _refuse_too_much(shapes, max(chunks, slots), n + request.helpers, limits)
        return _freeze_schedule(shapes, rest[32 * count :], chunks, slots, n, request)
    except CollsimError as wrong:
        raise ScheduleError(wrong.sentence) from wrong
    except Exception as wrong:  # the border: whatever a stranger thought of, it ends here as a sentence
        raise ScheduleError(_NOT_A_TABLE) from wrong


def _refuse_too_much(shapes: list[list[int]], slots: int, endpoints: int, limits: Limits) -> None:
    """What the caller's process would have to hold or walk through stays within bounds, whoever made the table."""
    if any(rows < 0 or times < 1 or modulus < 1 for rows, times, _, modulus in shapes):
        raise ScheduleError("a pattern is repeated less than once")
    if any(modulus > MAX_SLOTS or abs(shift) > MAX_SLOTS for _, _, shift, modulus in shapes):
        raise ScheduleError("a pattern is repeated with shift or modulus above {most:,}", most=MAX_SLOTS)
    _refuse_too_many_slots(slots, endpoints)
    transfers = sum(rows * times for rows, times, _, _ in shapes)
    if transfers > limits.transfers or sum(times for _, times, _, _ in shapes) > limits.steps:
        raise _build_too_much(limits)


def _build_too_much(limits: Limits) -> ScheduleError:
    message = (
        "more than {transfers:,} transfers or {steps:,} steps, which is what is left of what may be yielded for "
        "all numbers of ranks together"
    )
    return ScheduleError(message, transfers=limits.transfers, steps=limits.steps)


def _refuse_too_many_slots(slots: int, endpoints: int) -> None:
    if slots * endpoints > MAX_SLOTS:
        message = "chunk {last:,} is used; with {endpoints} ranks at most {most:,} chunks are checked"
        raise ScheduleError(message, last=slots - 1, endpoints=endpoints, most=MAX_SLOTS // endpoints)


def _freeze_schedule(
    shapes: list[list[int]], rest: memoryview, chunks: int, slots: int, n: int, request: FunctionRequest
) -> Schedule:
    kind = get_collective(request.collective)
    if chunks < 1 or chunks % kind.count_blocks(n):
        message = "{chunks} chunks do not fit {collective} with {n} ranks"
        raise ScheduleError(message, chunks=chunks, collective=request.collective, n=n)
    rows = sum(shape[0] for shape in shapes)
    size = 4 * rows * len(COLUMNS)
    if len(rest) < size:
        raise ScheduleError(_NOT_A_TABLE)
    table = np.frombuffer(rest[:size], "<i4").reshape(len(COLUMNS), rows)
    if rows and not (table[-1].min() >= 0 and table[-1].max() <= _MAX_CHANNEL):
        raise ScheduleError("a channel is a number from 0 to {most:,}", most=_MAX_CHANNEL)
    name, steps = read_text(rest[size:], _LONGEST_NAME), _read_steps(shapes, table)
    schedule = freeze(
        name, request.collective, n, steps, chunks=chunks, block=kind.count_blocks(n), helpers=request.helpers
    )
    # A repeated pattern shifts its chunks, so its later repetitions may need more slots than its first.
    schedule = replace(schedule, slots=max(schedule.slots, slots, kind.slots(chunks)))
    _refuse_too_many_slots(schedule.slots, schedule.endpoints)
    return schedule


def _read_steps(shapes: list[list[int]], table: np.ndarray) -> list[Step]:
    ends = accumulate(rows for rows, *_ in shapes)
    return [_read_step(table[:, end - shape[0] : end], *shape[1:]) for shape, end in zip(shapes, ends, strict=True)]


def _read_step(part: np.ndarray, times: int, shift: int, modulus: int) -> Step:
    src, dst, chunk, into, reduces, channel = (np.array(column, np.int32) for column in part)
    return Step(src, dst, chunk, into, reduces != 0, channel, times, shift, modulus)
