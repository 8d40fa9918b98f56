"""Which numbers each message holds: found by running the program again with inputs that give numbers away.

A program that adds and passes on arrays is linear in its inputs. Where the inputs are `1 + base * position`, a number
of a message is `count + base * count * position`: how many contributions it is the sum of, and which element it is.
With a random weight for each rank it holds the sum of the weights of the ranks that are in it. Two weights make one
integer, the content; contents add up as the numbers do, and two sums of different ranks are equal with a probability of
about 2^-34.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import Sentence
from .execute import Execution, Piece, Provenance, StartPlan, execute

#: Why it may not be known; nothing else leaves the sandbox.
_SILENT = Sentence("the ranks send no messages")
_DEPENDENT = Sentence("which messages are sent depends on the numbers")
_NO_SUM = Sentence("line {line} sends numbers that are no sums of the same element of all ranks", line=0)
_EMPTY = Sentence("line {line} sends an array without elements; a larger nbytes gives each part some", line=0)
REASONS = tuple(sentence.key for sentence in (_SILENT, _DEPENDENT, _NO_SUM, _EMPTY))
_EXACT = 1 << 24  # float32 has all whole numbers up to here
_MAX_ELEMENTS = 4_096  # of an input
# Sums of 64 weights are exact, and a sum says how many weights it is of, by a factor of 2.
_MIN_WEIGHT, _MAX_WEIGHT = 1 << 17, 1 << 18
_SHIFT = 1 << 26  # a content is the first sum plus so many times the second
_BATCH = 1 << 18  # elements of payloads that are read at once


def make_contents(ranks: int) -> tuple[int, ...]:
    """The content of each rank's own input.

    Args:
        ranks: how many ranks there are.

    Returns:
        An integer for each rank; a sum of inputs has the sum of these.
    """
    first, second = _make_weights(ranks)
    return tuple(int(a) + _SHIFT * int(b) for a, b in zip(first, second, strict=True))


def _make_weights(ranks: int) -> np.ndarray:
    return np.random.default_rng(ranks).integers(_MIN_WEIGHT, _MAX_WEIGHT, (2, ranks))


def find_provenance(plan: StartPlan, first: Execution) -> Provenance:
    """Find out what the messages of a program hold.

    Args:
        plan: the program and its inputs.
        first: its execution, which has ended.

    Returns:
        The pieces of all messages, or why they are not known.
    """
    if plan.is_single or not first.messages:
        return Provenance(reason=_SILENT)
    elements = _choose_elements(plan.elements, plan.ranks)
    ranks = range(plan.ranks)
    base = math.isqrt(_EXACT // elements)  # sums of fewer contributions are exact and told apart
    positions = 1.0 + base * np.arange(elements)
    inputs = [[positions] * plan.ranks, *([np.full(elements, n) for n in row] for row in _make_weights(plan.ranks))]
    plans = [
        replace(plan, make_input=[array.astype(plan.dtype) for array in arrays].__getitem__, elements=elements)
        for arrays in inputs
    ]
    executions = [execute(changed, first.mode, "payloads") for changed in plans]
    # Provenance is only meaningful where values do not decide which messages are sent.
    for execution in executions:
        if not _has_same_messages(first, execution, elements / plan.elements):
            return Provenance(reason=_DEPENDENT)
    payloads = list(zip(*(execution.payloads for execution in executions), strict=True))
    messages = []
    for message, values, pieces in zip(first.messages, payloads, _read_pieces(payloads, elements, base), strict=True):
        if isinstance(values[0], np.ndarray) and not values[0].size:
            return Provenance(reason=Sentence(_EMPTY.key, line=message.send_line))
        if pieces is None:
            return Provenance(reason=Sentence(_NO_SUM.key, line=message.send_line))
        messages.append(pieces)
    results = [[execution.results[rank] for execution in executions] for rank in ranks]
    pieces_of_results = tuple(pieces or () for pieces in _read_pieces(results, elements, base))
    return Provenance(elements, tuple(messages), pieces_of_results)


def _choose_elements(elements: int, ranks: int) -> int:
    """As many elements as the input has; where these are too many, fewer that can be cut as those can."""
    most = min(_MAX_ELEMENTS, _EXACT // (ranks + 1) ** 2)  # `base` is more than there are ranks
    if elements <= most:
        return elements
    fewer = ranks * max(1, most // ranks)
    while fewer > ranks and elements % fewer:
        fewer -= ranks
    return fewer


def _has_same_messages(first: Execution, second: Execution, scale: float) -> bool:
    """Whether an execution with inputs `scale` times as long sends the same messages, `scale` times as long."""
    if second.hangs or second.errors or len(first.messages) != len(second.messages):
        return False
    return all(
        (a.src, a.dst, a.send_line, a.recv_line) == (b.src, b.dst, b.send_line, b.recv_line)
        and (scale == 1 or a.nbytes * scale == b.nbytes)
        for a, b in zip(first.messages, second.messages, strict=True)
    )


def _read_pieces(payloads: Sequence[Sequence[object]], elements: int, base: int) -> Iterator[tuple[Piece, ...] | None]:
    """The pieces of payloads, of each of which is given what it holds for positions and two weights; None for those
    that are no sums."""
    # Many payloads are read at once: most have a few elements, and numpy takes longer to begin than to compute.
    batch: list[np.ndarray | None] = []
    size = 0
    for values in payloads:
        numbers = _read_numbers(values)
        batch.append(numbers)
        if numbers is not None:
            size += numbers.shape[1]
        if size > _BATCH:
            yield from _read_batch(batch, elements, base)
            batch, size = [], 0
    yield from _read_batch(batch, elements, base)


def _read_numbers(values: Sequence[object]) -> np.ndarray | None:
    """(values, elements) numbers of a payload; None where it has none."""
    try:
        numbers = np.array(values, np.float64).reshape(len(values), -1)
    except (TypeError, ValueError):
        return None
    if not numbers.size:
        return None
    return numbers


def _read_batch(batch: Sequence[np.ndarray | None], elements: int, base: int) -> Iterator[tuple[Piece, ...] | None]:
    """The pieces of payloads, read in one go."""
    known = [numbers for numbers in batch if numbers is not None]
    if not known:
        yield from [None] * len(batch)
        return
    numbers = np.concatenate(known, axis=1)
    starts = np.cumsum([0, *(numbers.shape[1] for numbers in known)])
    # What is infinite or missing is no sum, and has no integer that could be computed with.
    positions, first, second = np.where(np.isfinite(numbers), numbers, 0)
    is_sum = ((numbers >= 1) & (numbers < _SHIFT) & (numbers == np.rint(numbers))).all(axis=0)
    # What is no sum is computed as if it were one: its numbers are used nowhere.
    counts = np.where(is_sum, positions % base, 1)
    # More contributions than `base` would pass for fewer, but then the weights are more than those of so few.
    is_sum &= (first >= counts * _MIN_WEIGHT) & (first < counts * _MAX_WEIGHT)
    index = np.where(is_sum, positions // base / np.maximum(counts, 1), 0)
    is_sum &= (index == np.rint(index)) & (index < elements)
    contents = np.where(is_sum, first + _SHIFT * second, 0).astype(np.int64)
    has_break = np.ones(len(index), bool)
    has_break[1:] = (index[1:] != index[:-1] + 1) | (contents[1:] != contents[:-1])
    # A piece ends with its payload, even where the next one goes on with the next position.
    has_break[starts[:-1]] = True
    breaks = np.flatnonzero(has_break)
    pieces = list(
        map(
            Piece,
            index[breaks].astype(int).tolist(),
            np.diff([*breaks, len(index)]).tolist(),
            contents[breaks].tolist(),
        )
    )
    ends = np.searchsorted(breaks, starts).tolist()
    are_sums = np.logical_and.reduceat(is_sum, starts[:-1]).tolist()
    position = 0
    for payload in batch:
        if payload is None:
            yield None
            continue
        pieces_of_payload = None
        if are_sums[position]:
            pieces_of_payload = tuple(pieces[ends[position] : ends[position + 1]])
        yield pieces_of_payload
        position += 1
