"""Steps: transfers that read the same moment's buffers, and how sequences of them are put together.

A step is made with `copy` and `reduce`. Two notations stand for more than they show, and everything downstream gives
the same answer either way: `width=` makes a row stand for a range of chunks, `repeat` makes a step stand for many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .dtypes import Bools, Ints
from .errors import ScheduleError, format_value, is_list, require_short_range
from .errors.arguments import check_arguments

#: What a helper endpoint is: a host of its own (a parameter server), the NVSwitch of a node (NVLS), the switch between
#: the nodes (SHARP), or either of these switches.
HelperLocation: TypeAlias = Literal["host", "switch", "nvswitch", "fabric"]
HELPER_LOCATIONS: tuple[HelperLocation, ...] = ("host", "switch", "nvswitch", "fabric")

__all__ = ["Step", "pipeline_chunks", "repeat", "reverse", "together"]


def __dir__() -> list[str]:
    return sorted(__all__)


COLUMNS = ("src", "dst", "chunk", "into", "reduce", "channel")
MAX_ROWS = 60_000_000  # of one step written out


@dataclass(frozen=True, eq=False)
class Step:
    """Transfers that run together, as equal-length arrays, a row each; two notations let a row stand for more of them.

    `width` > 1: row i stands for transfers of chunks `chunk[i]`, `chunk[i] + 1` ... `chunk[i] + width - 1`, into slots
    `into[i]` and on. `times` > 1: the step stands for so many, one after another. In repetition k a chunk c becomes
    `c - c % modulus + (c % modulus + k * shift) % modulus`: it moves by `shift` inside its own group of `modulus`
    chunks. At most one of the two is more than 1.

    Attributes:
        src: (rows,) endpoint that sends.
        dst: (rows,) endpoint that receives.
        chunk: (rows,) slot of the sender that is sent.
        into: (rows,) slot of the receiver that it is written to.
        reduce: (rows,) True: added to what the slot holds; False: it replaces that.
        channel: (rows,) transfers of different channels do not wait for each other in the event engine.
        times: repetitions that the step stands for.
        shift: chunks by which each repetition moves on.
        modulus: chunks of a group, inside which `shift` wraps around.
        width: chunks that each row stands for.

    Examples:
        >>> import collsim as cs
        >>> step = cs.copy([0, 1, 2], [1, 2, 3], chunk=0)
        >>> len(step), step.dst.tolist()
        (3, [1, 2, 3])
    """

    src: Ints
    dst: Ints
    chunk: Ints
    into: Ints
    reduce: Bools
    channel: Ints
    times: int = 1
    shift: int = 0
    modulus: int = 1
    width: int = 1

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.src)

    @property
    def transfers(self) -> int:
        """Number of transfers that all of them stand for."""
        return len(self) * self.width * self.times

    def has_same_rows(self, other: Step) -> bool:
        """Whether another step without repetitions has the same transfers in the same order.

        Args:
            other: The step to compare with.
        """
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in COLUMNS)

    def __add__(self, other: Step) -> Step:
        """Both at the same moment: one step with the transfers of both."""
        if not isinstance(other, Step):
            return NotImplemented
        if self.times != 1 or other.times != 1:
            raise ScheduleError("a repeated step cannot be joined with another; join first, then repeat")
        return merge(self, other)

    def repetition(self, k: int) -> Step:
        """Repetition k of the pattern, as a single step with a row for every transfer.

        Args:
            k: 0 to `times - 1`.
        """
        if self.times == 1:
            if self.width == 1:
                return self
            return self._expand_ranges()
        return replace(self, chunk=self._shift_slots(self.chunk, k), into=self._shift_slots(self.into, k), times=1)

    def _expand_ranges(self) -> Step:
        """The same with a row for every chunk of a range."""
        if self.transfers > MAX_ROWS:
            message = "a step of {transfers:,} transfers, in ranges of {width:,} chunks, is too long to be written out"
            raise ScheduleError(message, transfers=self.transfers, width=self.width)
        further = np.arange(self.width, dtype=np.int32)
        chunk, into = ((first[:, None] + further).ravel() for first in (self.chunk, self.into))
        src, dst, channel = (np.repeat(a, self.width) for a in (self.src, self.dst, self.channel))
        return Step(src, dst, chunk, into, np.repeat(self.reduce, self.width), channel)

    def map_to(self, ranks: npt.ArrayLike, chunks: npt.ArrayLike, channel: npt.ArrayLike = 0) -> Step:
        """The same transfers somewhere else: rank r stands for `ranks[r]` and chunk c for all of `chunks[c]`.

        Args:
            ranks: shape `(ranks,)`, or `(copies, ranks)` to have the pattern run in several places at once.
            chunks: shape `(chunks,)`, `(chunks, pieces)` or `(copies, chunks, pieces)`.
            channel: of each copy.
        """
        if self.times != 1:
            raise ScheduleError("a repeated step cannot be placed; write its repetitions out first, with repetition(k)")
        if self.width != 1:
            return self.repetition(0).map_to(ranks, chunks, channel)
        # All columns are brought to the shape (copies, rows, pieces) and flattened at the end.
        rank, slot = np.atleast_2d(np.asarray(ranks)), np.asarray(chunks)
        if slot.ndim == 1:
            slot = slot[:, None]
        slot = np.broadcast_to(slot, (len(rank), *slot.shape[-2:]))
        src, dst, reduces = rank[:, self.src, None], rank[:, self.dst, None], self.reduce[None, :, None]
        channel_of = np.broadcast_to(channel, len(rank))[:, None, None]
        columns = np.broadcast_arrays(src, dst, slot[:, self.chunk], slot[:, self.into], reduces, channel_of)
        s, d, c, i, r, ch = (np.ascontiguousarray(a).ravel() for a in columns)
        return Step(
            s.astype(np.int32), d.astype(np.int32), c.astype(np.int32), i.astype(np.int32), r, ch.astype(np.int32)
        )

    def _shift_slots(self, slot: Ints, k: int) -> Ints:
        # A slot stays in its group of `modulus` slots and moves inside it; int64, as k times the shift may pass 2^31.
        offset = slot % self.modulus
        return (slot - offset + (offset + np.int64(k) * self.shift) % self.modulus).astype(np.int32)


@check_arguments
def copy(
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    chunk: npt.ArrayLike,
    into: npt.ArrayLike | None = None,
    channel: npt.ArrayLike = 0,
    width: int = 1,
) -> Step:
    """Transfers that replace: slot `into` of `dst` becomes slot `chunk` of `src`.

    The arguments are broadcast together, one transfer per element.

    Args:
        src: the endpoint that sends, or an array of them; ranks count from 0, helpers follow the ranks.
        dst: the endpoint that receives, likewise.
        chunk: the slot that is read at `src`, from 0, likewise.
        into: the slot that is written at `dst`; None: the same as `chunk`.
        channel: the channel that the transfer belongs to, from 0.
        width: one number for all: each element stands for that many transfers, of `chunk` and the chunks that follow
            it.

    Returns:
        One step. Steps of the same moment are added: `copy(...) + reduce(...)`.

    Raises:
        ScheduleError: For what is no whole number, and for arrays of different lengths.

    Examples:
        >>> import collsim as cs
        >>> step = cs.copy(src=0, dst=[1, 2, 3], chunk=0)
        >>> len(step)
        3
    """
    return _build_step(src, dst, chunk, into, channel, width, False)


@check_arguments
def reduce(
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    chunk: npt.ArrayLike,
    into: npt.ArrayLike | None = None,
    channel: npt.ArrayLike = 0,
    width: int = 1,
) -> Step:
    """Transfers that add: slot `into` of `dst` becomes itself combined with slot `chunk` of `src`.

    The arguments are broadcast together, one transfer per element.

    Args:
        src: the endpoint that sends, or an array of them; ranks count from 0, helpers follow the ranks.
        dst: the endpoint that receives and adds, likewise.
        chunk: the slot that is read at `src`, from 0, likewise.
        into: the slot that is added to at `dst`; None: the same as `chunk`.
        channel: the channel that the transfer belongs to, from 0.
        width: one number for all: each element stands for that many transfers, of `chunk` and the chunks that follow
            it.

    Returns:
        One step.

    Raises:
        ScheduleError: For what is no whole number, and for arrays of different lengths.

    Examples:
        >>> import collsim as cs
        >>> cs.reduce(src=[1, 2, 3], dst=0, chunk=0, width=4).transfers
        12
    """
    return _build_step(src, dst, chunk, into, channel, width, True)


@check_arguments
def repeat(step: Step, times: int, shift: int, modulus: int) -> Step:
    """`times` steps of one pattern; in each, every chunk moves by `shift` inside its group of `modulus` chunks.

    Args:
        step: the pattern, made with `copy` or `reduce`, not itself repeated.
        times: number of steps, 0 or more.
        shift: chunks by which it moves from one step to the next; negative moves down.
        modulus: chunks of a group, inside which chunk numbers wrap around.

    Returns:
        One Step that stands for all of them.

    Raises:
        ScheduleError: For what is no step or no whole number, and for a step that is repeated already.

    Examples:
        >>> import collsim as cs
        >>> pattern = cs.steps.repeat(cs.reduce([0, 1], [1, 0], chunk=[0, 1]), times=2, shift=1, modulus=2)
        >>> [pattern.repetition(k).chunk.tolist() for k in range(2)]
        [[0, 1], [1, 0]]
    """
    if not isinstance(step, Step):
        raise ScheduleError("repeat wants a step made with copy(...) or reduce(...), got {value!r}", value=step)
    if not all(isinstance(value, Integral) for value in (times, shift, modulus)):
        raise ScheduleError(
            "repeat(times={times!r}, shift={shift!r}, modulus={modulus!r}): all three are whole numbers; use // to "
            "divide",
            times=times,
            shift=shift,
            modulus=modulus,
        )
    if times < 0 or not 1 <= modulus < 2**31 or not -(2**31) < shift < 2**31:
        message = (
            "repeat(times={times}, shift={shift}, modulus={modulus}): times is 0 or more, modulus 1 or more; "
            "no chunk moves by 2^31"
        )
        raise ScheduleError(
            message, times=format_value(times), shift=format_value(shift), modulus=format_value(modulus)
        )
    if step.times != 1:
        raise ScheduleError(
            "a repeated step cannot be repeated again; write its repetitions out first, with repetition(k)"
        )
    return replace(step.repetition(0), times=int(times), shift=int(shift), modulus=int(modulus))


@check_arguments
def pipeline_chunks(rounds: Iterable[Step | Iterable[Step]], chunks: int, stride: int = 1) -> Iterator[Step]:
    """Every chunk goes through the same rounds, one step behind the chunk before it: `len(rounds) + chunks - 1` steps.

    The rounds are written for the first chunk (or the first `stride` chunks); copy c of them works on chunks `c *
    stride` further on.

    Args:
        rounds: what happens to the first chunk, a step or a list of steps each.
        chunks: copies of the rounds, 1 or more.
        stride: chunks between one copy and the next.

    Yields:
        The steps, one at a time.

    Raises:
        ScheduleError: For numbers that are not whole or too small, and for what is no step.

    Examples:
        >>> import collsim as cs
        >>> chain = [cs.copy(0, 1, chunk=0), cs.copy(1, 2, chunk=0)]
        >>> len(list(cs.steps.pipeline_chunks(chain, chunks=4)))
        5
    """
    for what, value, least in (("chunks", chunks, 1), ("stride", stride, 0)):
        if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value < 2**31:
            message = (
                "pipeline_chunks({what}={value!r}): {what} is a whole number from {least} to 2^31; use // to divide"
            )
            raise ScheduleError(message, what=what, value=value, least=least)
    listed = list(expand_steps(rounds))
    step = copy([], [], [])
    for now in range(len(listed) + chunks - 1 if listed else 0):
        if len(listed) <= now < chunks:  # all rounds at once again, each with the next chunk
            step = replace(step, chunk=step.chunk + np.int32(stride), into=step.into + np.int32(stride))
        else:
            # Copy c is c rounds behind the first, so it makes round now - c, if it has begun and not ended.
            late = range(max(0, now - len(listed) + 1), min(chunks, now + 1))
            parts = [listed[now - c] for c in late]
            shift = np.repeat(np.array(late) * stride, [len(p) for p in parts])
            step = merge(*parts)
            step = replace(step, chunk=(step.chunk + shift).astype(np.int32), into=(step.into + shift).astype(np.int32))
        yield step


@check_arguments
def reverse(steps: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    """The same steps backwards in time: receivers send to senders, what was copied is reduced and what was reduced is
    copied.

    It makes a reduce of a broadcast, a reduce_scatter of an allgather, a gather of a scatter, at the same cost
    (Chan et al. 2007, section 3: the dual of a collective). A repeated pattern stays repeated.

    Args:
        steps: what an algorithm yields.

    Yields:
        The steps, the last one first.

    Raises:
        ScheduleError: For what is no step.

    Examples:
        >>> import collsim as cs
        >>> (step,) = cs.steps.reverse([cs.copy(src=0, dst=[1, 2], chunk=0)])
        >>> step.src.tolist(), step.dst.tolist(), step.reduce.tolist()
        ([1, 2], [0, 0], [True, True])
    """
    for item in reversed(list(_iterate_steps("reverse", steps))):
        step = join_steps("reverse", item)
        # The last repetition comes first, so the pattern begins where it ended, and shifts the other way.
        chunk, into = step._shift_slots(step.chunk, step.times - 1), step._shift_slots(step.into, step.times - 1)
        yield replace(step, src=step.dst, dst=step.src, chunk=into, into=chunk, reduce=~step.reduce, shift=-step.shift)


@check_arguments
def together(*parts: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    """Several sequences of steps side by side: the first steps of all of them at the same moment, then the second steps
    ...

    Args:
        parts: sequences of steps, of any lengths.

    Yields:
        As many steps as the longest part has.

    Raises:
        ScheduleError: For what is no step.

    Examples:
        >>> import collsim as cs
        >>> [len(step) for step in cs.steps.together([cs.copy(0, 1, chunk=0)] * 2, [cs.copy(2, 3, chunk=0)])]
        [2, 1]
    """
    for steps in zip_longest(*(expand_steps(part) for part in parts)):
        yield join_steps("together", [s for s in steps if s is not None])


def expand_steps(steps: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    """The steps one at a time, a row for every transfer: lists joined, repetitions and ranges written out.

    Args:
        steps: As an algorithm yields them.

    Returns:
        Steps without repetitions and of width 1.

    Examples:
        >>> import collsim as cs
        >>> from collsim.steps import expand_steps
        >>> shifted = cs.steps.repeat(cs.copy(0, 1, chunk=0), times=3, shift=1, modulus=4)
        >>> [step.chunk.tolist() for step in expand_steps([shifted])]
        [[0], [1], [2]]
    """
    for item in _iterate_steps("a sequence of steps", steps):
        step = join_steps("a sequence of steps", item)
        for k in range(step.times):
            yield step.repetition(k)


def _iterate_steps(caller: str, steps: object) -> Iterable[Step | Iterable[Step]]:
    """Steps to iterate over; one alone is a sequence of one."""
    if isinstance(steps, Step):
        return [steps]
    if hasattr(steps, "each_step"):  # a Schedule
        return steps.each_step()  # type: ignore[no-any-return]
    if is_list(steps):
        return steps
    message = "{who}: {steps!r} is not a list of steps; a step is made with copy(...) or reduce(...)"
    raise ScheduleError(message, who=caller, steps=steps)


def _build_step(
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    chunk: npt.ArrayLike,
    into: npt.ArrayLike | None,
    channel: npt.ArrayLike,
    width: int,
    is_reduce: bool,
) -> Step:
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or not 1 <= width < 2**31:
        message = "width={width!r}: one whole number for the whole step, 1 or more; use // to divide"
        raise ScheduleError(message, width=width)
    width = int(width)  # one of numpy overflows
    columns = {"src": src, "dst": dst, "chunk": chunk, "into": chunk if into is None else into, "channel": channel}
    arrays = [_parse_whole_numbers(name, value) for name, value in columns.items()]
    try:
        shape = np.broadcast(*arrays).shape
        s, d, c, i, ch = (_spread(array, shape) for array in arrays)
    except ValueError as error:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in columns.items())
        raise ScheduleError("the arrays of one step differ in length: {shapes}", shapes=shapes) from error
    if len(c) and max(c.max(), i.max()) > 2**31 - width:
        raise ScheduleError("width={width} from chunk {c} goes beyond any chunk", width=width, c=max(c.max(), i.max()))
    return Step(s, d, c, c if into is None else i, np.full(len(s), is_reduce), ch, width=width)


def _spread(array: npt.NDArray[Any], shape: tuple[int, ...]) -> Ints:
    """A column of a step: a new array with a number for each row."""
    column = np.empty(shape, np.int32)
    column[...] = array
    return column.ravel()


def _parse_whole_numbers(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    require_short_range(name, value, MAX_ROWS)
    try:
        array = np.asarray(value)
    except ValueError:
        message = "{name} has rows of different lengths: {value!r}; it is one whole number per transfer"
        raise ScheduleError(message, name=name, value=value) from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        example = value
        if array.size:
            example = array.ravel()[0]
        message = "{name} must be whole numbers, got {shown!r} ({dtype}); for division use // instead of /"
        raise ScheduleError(message, name=name, shown=example, dtype=array.dtype)
    if array.max() > 2**31 - 1 or array.min() < -(2**31):
        raise ScheduleError("{name} holds {value}, which is beyond any rank or chunk", name=name, value=array.max())
    return array


def join_steps(label: str, parts: object) -> Step:
    """A list of steps that happen at the same moment, as one.

    Args:
        label: Of the algorithm, for the message.
        parts: What it yielded: a step, or a list of them; an empty list is an empty step.

    Returns:
        One step with the rows of all.

    Raises:
        ScheduleError: Something in it is no step.

    Examples:
        >>> import collsim as cs
        >>> from collsim.steps import join_steps
        >>> step = join_steps("mine(4)", [cs.copy(0, 1, chunk=0), cs.reduce(2, 3, chunk=1)])
        >>> step.src.tolist(), step.reduce.tolist()
        ([0, 2], [False, True])
    """
    if isinstance(parts, Step):
        return parts
    items: list[object]
    try:
        items = [parts] if isinstance(parts, str | bytes) else list(parts)  # type: ignore[call-overload]
    except TypeError:
        items = [parts]
    listed = [item for item in items if isinstance(item, Step)]
    if len(listed) < len(items):
        wrong = next(item for item in items if not isinstance(item, Step))
        message = "{label} yields {item!r}; a step is made with copy(...) or reduce(...), or a list of them"
        raise ScheduleError(message, label=label, item=wrong)
    if not listed:
        return copy([], [], [])
    if len(listed) == 1:
        return listed[0]
    if any(p.times != 1 for p in listed):
        message = "{label}: a repeated step cannot be joined with another; join first, then repeat"
        raise ScheduleError(message, label=label)
    return merge(*listed)


def merge(*steps: Step) -> Step:
    """Several steps, none of them repeated, as one: their transfers happen at the same moment. Ranges of one width stay
    ranges.

    Args:
        steps: At least one, none of them repeated.

    Returns:
        One step with the rows of all.

    Examples:
        >>> import collsim as cs
        >>> from collsim.steps import merge
        >>> merge(cs.copy(0, 1, chunk=0), cs.copy(1, 0, chunk=1)).dst.tolist()
        [1, 0]
    """
    width = steps[0].width
    if any(s.width != width for s in steps):
        steps, width = tuple(s.repetition(0) for s in steps), 1
    src, dst, chunk, into, is_reduce, channel = (np.concatenate([getattr(s, name) for s in steps]) for name in COLUMNS)
    return Step(src, dst, chunk, into, is_reduce, channel, width=width)
