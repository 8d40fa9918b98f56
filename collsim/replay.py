"""Replay moves data: a schedule run on real arrays, in the dtype and the order of additions that the algorithm has.

`apply_schedule` is the interpreter of `replay` and `verify`. It knows slots and steps, not what the values mean:
all transfers of a step read the buffers as they were when it began; several reduces into one slot are added one after
another in the order of the schedule's rows, as a receiver works through its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .collective import NOTHING, Collective, get_collective
from .dtypes import Bools, Longs
from .errors import CollsimError, ScheduleError, format_value, require_short_range, require_word
from .errors.arguments import check_arguments
from .limits import Extent, require_extent
from .schedule import Schedule, format_endpoint
from .steps import Step

Array = npt.NDArray[Any]
Combine = Callable[[Array, Array], Array]

#: Reduction operators of NCCL (nccl.h ncclRedOp_t). avg has steps of its own before and after.
OPERATORS: dict[str, Combine] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "avg": np.add,
}


#: Runs a schedule in place on `values` (endpoints, slots, ...) and `filled` (endpoints, slots), as
#: `apply_schedule` does.
Mover = Callable[[Schedule, Array, Bools, Combine], None]


@check_arguments
def replay(schedule: Schedule, buffers: npt.ArrayLike, op: str = "sum", layout: str | None = None) -> Array:
    """Run a schedule on data.

    Args:
        schedule: from `cs.schedule(...)`, an algorithm called with n, or a file.
        buffers: shape `(ranks, elements)`, what each rank passes to the collective.
        op: `sum`, `prod`, `max`, `min` or `avg`. As in NCCL, avg scales floats by 1/n before they are added, and
            divides integers by n at the end, towards zero.
        layout: `"inplace"`: every rank's one buffer, as NCCL lays it out; for collectives of n blocks `elements` is the
            whole array and rank r's own block is the r-th. `"out-of-place"`: the send buffer; for allgather and gather
            that is one block, so that n blocks come back, for reduce_scatter and scatter n blocks of which one comes
            back. None: in place; alltoall and sendrecv, which NCCL has no in-place form of, out of place.

    Returns:
        A new array in the same dtype, shape `(ranks, elements of the result)`. Elements of which the collective says
        nothing are as they were given (in place), or 0 (out of place).

    Raises:
        CollsimError: for a wrong shape, layout or operator.
        ScheduleError: for a schedule that sends what it does not hold.

    Examples:
        >>> import collsim as cs
        >>> cs.replay(cs.schedule("allreduce_ring", ranks=2), [[1, 2], [10, 20]]).tolist()
        [[11, 22], [11, 22]]
    """
    return replay_with(schedule, buffers, op, layout, apply_schedule)


def replay_with(schedule: Schedule, buffers: npt.ArrayLike, op: str, layout: str | None, mover: Mover) -> Array:
    """Replay a schedule whose data another function moves, for example processes of this computer.

    Args:
        schedule: As in `replay`.
        buffers: As in `replay`.
        op: As in `replay`.
        layout: As in `replay`.
        mover: Stands for `apply_schedule`.

    Raises:
        CollsimError: As `replay`.
    """
    combine = OPERATORS[require_word("reduction op", op, OPERATORS)]
    kind = get_collective(require_schedule(schedule).collective)
    array = parse_buffers(buffers)
    if array.ndim != 2 or array.shape[0] != schedule.ranks:
        message = "buffers have shape {shape}; {label} wants (ranks, elements) = ({ranks}, any number)"
        raise CollsimError(message, shape=array.shape, label=schedule.label, ranks=schedule.ranks)
    if array.dtype.kind not in "iufV" or array.dtype.names:  # V: the small floats of ml_dtypes
        raise CollsimError("buffers are {dtype}; replay adds whole numbers and floats", dtype=array.dtype)
    contents, has_own_result = _lay_out_buffers(schedule, kind, array, layout)
    average = op == "avg" and kind.reduces
    integers = array.dtype.kind in "iu"
    work = contents
    if average and not integers:
        work = (contents * array.dtype.type(1 / schedule.ranks)).astype(array.dtype)
    if has_own_result:
        out = np.zeros_like(contents)
    else:
        out = contents.copy()
    if not kind.reduces:
        combine = np.add
    for elements, (ranks, values) in _collect_results(schedule, kind, work, combine, mover):
        out[ranks, elements] = _divide_towards_zero(values, schedule.ranks) if average and integers else values
    if has_own_result and kind.after == "own":
        return np.take_along_axis(
            out.reshape(schedule.ranks, schedule.ranks, -1), np.arange(schedule.ranks)[:, None, None], 1
        )[:, 0]
    return out


def parse_buffers(buffers: npt.ArrayLike) -> Array:
    """What ranks pass to a collective, as an array; of its shape nothing is checked.

    Args:
        buffers: As in `replay`.

    Raises:
        CollsimError: It has rows of different lengths, or a range that is too long.
    """
    rows = buffers if isinstance(buffers, list | tuple) else [buffers]
    for row in rows:
        require_short_range("buffers", row)
    try:
        return np.asarray(buffers)
    except ValueError:
        raise CollsimError("buffers have rows of different lengths; every rank passes as many elements") from None


def require_schedule(value: object) -> Schedule:
    """The schedule, if it is one.

    Args:
        value: What a user gave.

    Raises:
        CollsimError: It is something else; the message says how to make one.
    """
    if not isinstance(value, Schedule):
        message = "{value} is not a schedule; make one with schedule('allreduce_ring', ranks=8)"
        raise CollsimError(message, value=format_value(value))
    return value


def _lay_out_buffers(schedule: Schedule, kind: Collective, array: Array, layout: str | None) -> tuple[Array, bool]:
    """The whole array of every rank, and whether the result goes to a buffer of its own."""
    n = schedule.ranks
    if layout is not None:
        require_word("layout", layout, ("inplace", "out-of-place"))
    if layout == "inplace" and kind.has_separate_result:
        raise CollsimError("{name} has no in-place form (nor has NCCL); use layout='out-of-place'", name=kind.name)
    if layout == "out-of-place" and kind.has_targets:
        raise CollsimError("{name} has blocks of different sizes; use layout='inplace'", name=kind.name)
    has_own_result = layout == "out-of-place" or kind.has_separate_result
    if has_own_result and kind.before == "own":
        layers = np.zeros((n, n, array.shape[1]), array.dtype)
        layers[np.arange(n), np.arange(n)] = array
        return layers.reshape(n, -1), True
    if has_own_result and kind.has_blocks and array.shape[1] % n:
        message = "{elements} elements do not make {n} equal blocks; {name} out of place wants a multiple of {n}"
        raise CollsimError(message, elements=array.shape[1], n=n, name=kind.name)
    return array, has_own_result


def _collect_results(
    schedule: Schedule, kind: Collective, work: Array, combine: Combine, mover: Mover
) -> Iterator[tuple[slice, tuple[Array, Array]]]:
    """Run it; for each chunk: its elements, the ranks that hold its result, and the result."""
    sizes = kind.chunk_sizes(work.shape[1], schedule.ranks, schedule.chunks, schedule.shares)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    spans = [slice(int(a), int(b)) for a, b in pairwise(offsets)]
    filled = mark_initial_slots(schedule)
    longest = max(1, int(sizes.max(initial=1)))
    require_memory(schedule, filled.size * longest * work.itemsize // 8)
    padded = np.zeros((*filled.shape, longest), work.dtype)
    for c, elements in enumerate(spans):
        padded[: schedule.ranks, c, : sizes[c]] = work[:, elements]
    mover(schedule, padded, filled, combine)
    contributor, _ = kind.find_expected_contributions(schedule.ranks, schedule.chunks, schedule.root)
    # Where the results lie, for collectives that have slots of their own for them.
    first = contributor.shape[1] - schedule.chunks
    for c, elements in enumerate(spans):
        ranks = np.flatnonzero(contributor[:, first + c] != NOTHING)
        yield elements, (ranks, padded[ranks, first + c, : sizes[c]])


def _divide_towards_zero(values: Array, by: int) -> Array:
    """Integer division towards zero without a detour through float64, which cannot hold every int64."""
    return np.where(values >= 0, values // by, -(-values // by)).astype(values.dtype)


def mark_initial_slots(schedule: Schedule) -> Bools:
    """(endpoints, slots): what holds data before the first step, from the collective's condition.

    At least as many slots as the condition speaks of, also where the schedule uses fewer.

    Args:
        schedule: Its collective's condition before decides.
    """
    kind = get_collective(schedule.collective)
    shape = schedule.endpoints, max(schedule.slots, kind.slots(schedule.chunks))
    require_memory(schedule, shape[0] * shape[1])
    filled = np.zeros(shape, bool)
    slots = slice(kind.slots(schedule.chunks))
    filled[: schedule.ranks, slots] = kind.mark_initial_slots(schedule.ranks, schedule.chunks, schedule.root)
    return filled


def require_memory(schedule: Schedule, numbers: int) -> None:
    """Raises ScheduleError where a schedule has too many slots for so many numbers of 8 bytes to be held at once."""
    require_extent(
        schedule.label, Extent(numbers=numbers), "replay or verify it with fewer ranks and slots", ScheduleError
    )


def apply_schedule(
    schedule: Schedule,
    values: Array,
    filled: Bools,
    combine: Combine,
    watch: Callable[[int, Step], None] | None = None,
) -> None:
    """Run a schedule in place on `values` (endpoints, slots, ...) and `filled` (endpoints, slots).

    A helper's empty slot takes the first contribution as it is (its buffer starts at the operator's neutral element);
    reducing into a rank's empty slot is an error, as is sending one. `watch` is called before each step, before
    anything moves.

    Args:
        schedule: Repeated steps are expanded one at a time.
        values: (endpoints, slots, ...) contents; changed in place.
        filled: (endpoints, slots) bool, which slots hold data; changed in place.
        combine: What a reduce does with what is there and what comes.
        watch: Called with number and step before each, before anything moves; None for no calls.

    Raises:
        ScheduleError: Naming step, rank and chunk.
    """
    for number, step in enumerate(schedule.each_step()):
        if watch is not None:
            watch(number, step)
        _require_filled(schedule, number, step, filled)
        apply_step(step, values, filled, combine)


def apply_step(step: Step, values: Array, filled: Bools, combine: Combine) -> None:
    """Run one step in place, as `apply_schedule` does, but do not check that the slots that it reads hold data.

    Args:
        step: With a row for every transfer.
        values: As in `apply_schedule`.
        filled: As in `apply_schedule`.
        combine: As in `apply_schedule`.
    """
    moving = values[step.src, step.chunk]
    if step.reduce.all():
        _add(values, filled, step.dst, step.into, moving, combine)
    elif not step.reduce.any():
        values[step.dst, step.into] = moving
    else:
        adds = step.reduce
        values[step.dst[~adds], step.into[~adds]] = moving[~adds]
        _add(values, filled, step.dst[adds], step.into[adds], moving[adds], combine)
    filled[step.dst, step.into] = True


def are_reads_filled(schedule: Schedule, step: Step, filled: Bools) -> bool:
    """Does every slot that a step reads hold data?

    Args:
        schedule: Whose step it is.
        step: With a row for every transfer.
        filled: (endpoints, slots) which slots hold data before the step.
    """
    sends_empty, adds_to_empty = _find_empty_reads(schedule, step, filled)
    return not (sends_empty.any() or adds_to_empty.any())


def _find_empty_reads(schedule: Schedule, step: Step, filled: Bools) -> tuple[Bools, Bools]:
    """(transfers,) which send an empty slot, and which reduce into a rank's empty one."""
    sends_empty = ~filled[step.src, step.chunk]
    return sends_empty, step.reduce & (step.dst < schedule.ranks) & ~filled[step.dst, step.into]


def _require_filled(schedule: Schedule, number: int, step: Step, filled: Bools) -> None:
    empty, missing = _find_empty_reads(schedule, step, filled)
    if empty.any():
        row = int(np.argmax(empty))
        rank, chunk = int(step.src[row]), int(step.chunk[row])
        raise ScheduleError(
            "{label}, step {step}: {who} sends chunk {chunk} to {receiver}, but holds nothing in it yet",
            label=schedule.label,
            who=format_endpoint(schedule.ranks, rank),
            receiver=format_endpoint(schedule.ranks, int(step.dst[row])),
            step=number,
            rank=rank,
            chunk=chunk,
        )
    if missing.any():
        row = int(np.argmax(missing))
        rank, chunk = int(step.dst[row]), int(step.into[row])
        raise ScheduleError(
            "{label}, step {step}: {sender} reduces into chunk {chunk} of rank {rank}, which holds nothing yet; "
            "use copy for the first one",
            label=schedule.label,
            sender=format_endpoint(schedule.ranks, int(step.src[row])),
            step=number,
            rank=rank,
            chunk=chunk,
        )


def _add(values: Array, filled: Bools, dst: Array, into: Array, moving: Array, combine: Combine) -> None:
    """Combine arrivals into their slots, those of one slot one after another in row order."""
    for rows in _split_by_target(dst.astype(np.int64) * values.shape[1] + into):
        d, i, arriving = dst[rows], into[rows], moving[rows]
        full = filled[d, i]
        if full.all():
            values[d, i] = combine(values[d, i], arriving)
        else:
            values[d[~full], i[~full]] = arriving[~full]
            values[d[full], i[full]] = combine(values[d[full], i[full]], arriving[full])
            filled[d, i] = True


def _split_by_target(target: Longs) -> list[Longs]:
    """Rows in as few groups as no target is twice in a group, in row order for each target."""
    order = np.argsort(target, kind="stable")
    key = target[order]
    new = np.concatenate([[True], key[1:] != key[:-1]])
    if new.all():
        return [order]
    rank_in_group = np.arange(len(key)) - np.maximum.accumulate(np.where(new, np.arange(len(key)), 0))
    by_turn = np.argsort(rank_in_group, kind="stable")
    return np.split(order[by_turn], np.flatnonzero(np.diff(rank_in_group[by_turn])) + 1)
