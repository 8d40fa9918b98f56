"""A schedule is data: a read-only table of transfers, with no clock and no bytes in it.

An algorithm yields steps, made with `copy`, `reduce` and `repeat` (see `steps`); `freeze` checks them and makes a
`Schedule`. All transfers of a step read the buffers as they were when the step began. Buffers are `(endpoints, slots)`:
slots `0..chunks-1` are the chunks of the collective's buffer, slots beyond are scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .display.markup import align_columns
from .dtypes import Longs, are_equal
from .errors import ScheduleError, Sentence, Words, require_word
from .errors.arguments import check_call
from .errors.attributes import NamesNearAttributes
from .errors.dependencies import pandas as pd
from .limits import Extent, find_row_limit, require_extent
from .steps import COLUMNS, HELPER_LOCATIONS, HelperLocation, Step, join_steps, merge
from .units import parse_count

#: Filled by packages above (`collsim/__init__.py`), so that a schedule can show itself in a notebook.
views: dict[str, Callable[..., Any]] = {}

#: One row per transfer: chunk is the slot read at src, into the slot written at dst.
TRANSFER = np.dtype(
    [("step", "i4"), ("src", "i4"), ("dst", "i4"), ("chunk", "i4"), ("into", "i4"), ("reduce", "?"), ("channel", "i4")]
)
#: Records of TRANSFER, which numpy's types cannot tell from others.
Transfers: TypeAlias = npt.NDArray[Any]
_MAX_TRANSFERS = 4_000_000_000_000  # written out; a careless `while True: yield` stops at `find_row_limit` long before
#: Rows, of 25 bytes: a table of 5 GB.
_MAX_IN_TABLE = 200_000_000
_MAX_STEPS = 50_000  # as yielded; repeat(...) is one
_CHECKED_ROWS = 2**12  # of several steps at once
MAX_CHANNEL = 2**15 - 1  # NCCL has 64; endpoints keep something for each
_NUMBERS_PER_SLOT, _NUMBERS_PER_STEP = 4, 4  # in a run: bytes and places of a slot; begin, end and length of a step


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(NamesNearAttributes):
    """The finished plan of one collective. Made by an Algorithm or by `freeze`; never changed.

    Attributes:
        name: the algorithm's name, with `+` between parts of a composition.
        collective: name of the collective it promises.
        ranks: participants.
        endpoints: participants plus helpers (a parameter server, a switch that reduces), which follow the ranks.
        chunks: pieces of the collective's buffer.
        slots: slots per endpoint, `chunks` and scratch.
        patterns: the steps as given; one with `times` > 1 stands for many, one with `width` > 1 for ranges of chunks.
        root: the root rank, where the collective has one.
        options: what the algorithm was called with.
        helpers_on: what the helper endpoints are: a `host` of their own (a parameter server), or a switch that reduces:
            the `nvswitch` of each node, the `fabric` switch between nodes, or any `switch`.
        depends: explicit dependencies, `(start, row)`: transfer i starts after transfers `row[start[i]:start[i+1]]`
            (rows of `transfers`) instead of after those of earlier steps on its channel. None for most; imported
            schedules carry them.
        shares: (chunks,) share of each chunk in the buffer, in an alltoallv; None: as even as whole elements allow.
        original: the right schedule that this is a broken copy of (`teach.break_it`); None for all others.

    Examples:
        >>> import collsim as cs
        >>> schedule = cs.schedule("broadcast_binomial", ranks=4)
        >>> print(schedule)
        broadcast_binomial(4): 1 chunk, 2 steps, 3 transfers
                step 1  step 2
        rank 0  ·       ·
        rank 1  =0←0    ·
        rank 2  ·       =0←0
        rank 3  ·       =0←1
    """

    _functions = ("replay", "save", "simulate", "verify")

    name: str
    collective: str
    ranks: int
    endpoints: int
    chunks: int
    slots: int
    patterns: tuple[Step, ...]
    root: int = 0
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    helpers_on: HelperLocation = "host"
    depends: tuple[Longs, Longs] | None = None
    original: Schedule | None = None
    shares: tuple[float, ...] | None = None

    def __getstate__(self) -> dict[str, object]:
        """What travels to another process: the patterns, not the table built from them (and a plain dict, for
        pickle)."""
        return {**{k: v for k, v in vars(self).items() if k != "transfers"}, "options": dict(self.options)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, options=MappingProxyType(state["options"]))

    @cached_property
    def steps(self) -> int:
        """Number of steps, repetitions counted."""
        return sum(p.times for p in self.patterns)

    def __len__(self) -> int:
        """Number of transfers."""
        return sum(p.transfers for p in self.patterns)

    def __iter__(self) -> Iterator[np.void]:
        """The transfers in order, one record of `transfers` at a time."""
        return iter(self.transfers)

    def __getitem__(self, index: int | slice | npt.NDArray[np.generic]) -> Any:
        """One transfer as a record, or several as an array: `schedule[0]`, `schedule[-8:]`."""
        try:
            return self.transfers[index]
        except (IndexError, ValueError):
            raise ScheduleError(
                "{label}[{index!r}]: there are {transfers:,} transfers, counted from 0; give a number or a slice",
                label=self.label,
                index=index,
                transfers=len(self),
            ) from None

    def __eq__(self, other: object) -> bool:
        """Whether both are the same algorithm with the same options and make the same transfers in the same steps."""
        if self is other:
            return True
        if not isinstance(other, Schedule):
            return NotImplemented
        return (
            self._identity == other._identity
            and dict(self.options) == dict(other.options)
            and self.original == other.original
            and are_equal(self.depends, other.depends)
            and all(a.has_same_rows(b) for a, b in zip(self.each_step(), other.each_step(), strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.name, self.collective, self.ranks, self.endpoints, self.chunks, self.slots))

    @property
    def _identity(self) -> tuple[object, ...]:
        """What is cheap to compare; schedules that differ in it are not equal."""
        shape = (self.ranks, self.endpoints, self.chunks, self.slots, self.steps, len(self))
        return (self.name, self.collective, self.root, self.helpers_on, self.shares, *shape)

    def to_frame(self) -> pd.DataFrame:
        """The table of transfers as a pandas frame.

        Returns:
            One row for each transfer, in the order of `transfers`: `step`, `src`, `dst`, `chunk`, `into`, `reduce`,
            `channel`; steps, endpoints and slots count from 0.

        Raises:
            ScheduleError: for more transfers than fit in one table.

        Examples:
            >>> import collsim as cs
            >>> cs.schedule("broadcast_binomial", ranks=4).to_frame()
               step  src  dst  chunk  into  reduce  channel
            0     0    0    1      0     0   False        0
            1     1    0    2      0     0   False        0
            2     1    1    3      0     0   False        0
        """
        return pd.DataFrame({name: self.transfers[name] for name in TRANSFER.names or ()})

    @cached_property
    def channels(self) -> int:
        """Number of channels in use."""
        return 1 + max((int(p.channel.max()) for p in self.patterns), default=0)

    def each_step(self) -> Iterator[Step]:
        """The steps in order, repetitions written out one at a time, a row for every transfer."""
        for pattern in self.patterns:
            for k in range(pattern.times):
                yield pattern.repetition(k)

    @cached_property
    def transfers(self) -> Transfers:
        """Structured array (dtype TRANSFER), one row per transfer, ordered by step. Read-only; built when first asked
        for."""
        if len(self) > _MAX_IN_TABLE:
            message = (
                "{label} has {transfers:,} transfers, too many for one table; each_step() gives them a step at a time"
            )
            raise ScheduleError(message, label=self.label, transfers=len(self))
        table = np.empty(len(self), TRANSFER)
        row = 0
        for number, step in enumerate(self.each_step()):
            part = table[row : row + len(step)]
            part["step"] = number
            for name in COLUMNS:
                part[name] = getattr(step, name)
            row += len(step)
        table.setflags(write=False)
        return table

    @check_call
    def by_step(self, step: int) -> Transfers:
        """The transfers of one step.

        Args:
            step: its number, from 0.

        Returns:
            The records of the transfers.

        Raises:
            ScheduleError: For a step that there is not.
        """
        rows: Transfers = self.transfers[self.transfers["step"] == self._require_index("step", step, self.steps)]
        return rows

    @check_call
    def by_rank(self, rank: int) -> Transfers:
        """The transfers that one endpoint sends or receives.

        Args:
            rank: an endpoint, from 0; helpers follow the ranks.

        Returns:
            The records of the transfers, in order.

        Raises:
            ScheduleError: For an endpoint that there is not.
        """
        t = self.transfers
        rank = self._require_index("rank", rank, self.endpoints)
        rows: Transfers = t[(t["src"] == rank) | (t["dst"] == rank)]
        return rows

    @check_call
    def by_chunk(self, chunk: int) -> Transfers:
        """The transfers that read or write one slot number.

        Args:
            chunk: a slot, from 0; scratch slots follow the chunks.

        Returns:
            The records of the transfers, in order.

        Raises:
            ScheduleError: For a slot that there is not.
        """
        t = self.transfers
        chunk = self._require_index("chunk", chunk, self.slots)
        rows: Transfers = t[(t["chunk"] == chunk) | (t["into"] == chunk)]
        return rows

    def _require_index(self, what: str, value: int, end: int) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= value < end:
            message = "{label}: there is no {what} {value!r}; {what}s are 0 to {last}"
            raise ScheduleError(message, label=self.label, what=what, value=value, last=end - 1)
        return int(value)

    @property
    def label(self) -> str:
        """`allreduce_tree(8, chunks=4)`: how to ask for it again."""
        extra = "".join(f", {k}={v!r}" for k, v in self.options.items())
        return f"{self.name}({self.ranks}{extra})"

    @check_call
    def name_endpoint(self, endpoint: int) -> str:
        """`rank 3`, or `helper 0` for an endpoint beyond the ranks.

        Args:
            endpoint: Number of a rank, or of a helper counted on from the ranks.
        """
        return str(format_endpoint(self.ranks, endpoint))

    def __add__(self, other: Schedule) -> Schedule:
        """One after the other: `reduce_scatter_ring(n) + allgather_ring(n)` is an allreduce."""
        if not isinstance(other, Schedule):
            return NotImplemented
        if self.depends is not None or other.depends is not None:
            message = "cannot join {label} and {other_label}: one of them has explicit dependencies"
            raise ScheduleError(message, label=self.label, other_label=other.label)
        for what in ("ranks", "chunks", "root"):
            if getattr(self, what) != getattr(other, what):
                raise ScheduleError(
                    "cannot join {label} and {other_label}: {what} {one} and {two} differ",
                    label=self.label,
                    other_label=other.label,
                    what=what,
                    one=getattr(self, what),
                    two=getattr(other, what),
                )
        return Schedule(
            name=f"{self.name}+{other.name}",
            collective=f"{self.collective}+{other.collective}",
            ranks=self.ranks,
            endpoints=max(self.endpoints, other.endpoints),
            chunks=self.chunks,
            slots=max(self.slots, other.slots),
            patterns=self.patterns + other.patterns,
            root=self.root,
            options=MappingProxyType({**self.options, **other.options}),
            helpers_on=other.helpers_on if self.endpoints == self.ranks else self.helpers_on,
        )

    def __repr__(self) -> str:
        chunks = f"{self.chunks} chunk{'s' * (self.chunks != 1)}"
        return f"<Schedule {self.label}: {chunks}, {self.steps} steps, {len(self):,} transfers>"

    def __str__(self) -> str:
        return self.diagram()

    def _repr_html_(self) -> str | None:
        return views["html"](self) if "html" in views else None

    @check_call
    def diagram(self, most_ranks: int = 33, most_steps: int = 32) -> str:
        """Text picture: a row per endpoint, a column per step, counted from 1; `+2←3` adds chunk 2 from rank 3, `=2←3`
        copies it.

        Rows and columns beyond the limits are left out and counted in the last line.

        Args:
            most_ranks: rows, at most.
            most_steps: columns, at most.

        Returns:
            Lines of text.
        """
        most_ranks = parse_count(most_ranks, "most_ranks", least=0)
        most_steps = parse_count(most_steps, "most_steps", least=0)
        names, cells = self.diagram_cells(most_ranks, most_steps)
        columns = min(self.steps, most_steps)
        header = ["", *(f"step {k}" for k in range(1, columns + 1))]
        lines = [header, *([name, *row] for name, row in zip(names, cells, strict=True))]
        text = [repr(self)[1:-1].removeprefix("Schedule "), align_columns(lines)]
        left_out = []
        if self.endpoints > len(names):
            left_out.append(f"{self.endpoints - len(names)} more endpoints")
        if self.steps > columns:
            left_out.append(f"{self.steps - columns} more steps")
        if left_out:
            text.append(f"({' and '.join(left_out)} not shown)")
        return "\n".join(text)

    @check_call
    def diagram_cells(self, most_ranks: int, most_steps: int) -> tuple[list[str], list[list[str]]]:
        """Row names and cells of `diagram`: what each endpoint receives in each step.

        Args:
            most_ranks: rows, at most.
            most_steps: columns, at most.

        Returns:
            Names of the rows, and for each row a text for each step.
        """
        rows = min(self.endpoints, most_ranks)
        names = [self.name_endpoint(r) for r in range(rows)]
        cells: list[list[str]] = [[] for _ in range(rows)]
        for number, step in enumerate(self.each_step()):
            if number >= most_steps:
                break
            received: dict[int, list[tuple[str, int, str]]] = {}
            seen = step.dst < rows
            columns = (column[seen].tolist() for column in (step.src, step.dst, step.chunk, step.into, step.reduce))
            for s, d, c, i, r in zip(*columns, strict=True):
                if c == i:
                    slot = f"{c}"
                else:
                    slot = f"{c}→{i}"
                received.setdefault(d, []).append(("+" if r else "=", s, slot))
            for row in range(rows):
                cells[row].append(_format_cell(received.get(row, [])))
        return names, cells


def _format_cell(received: list[tuple[str, int, str]]) -> str:
    """`+0←1,2,3 =4,5←6`: what one endpoint gets in one step, senders of the same chunks together."""
    chunks: dict[tuple[str, int], list[str]] = {}
    for op, src, slot in received:
        chunks.setdefault((op, src), []).append(slot)
    senders: dict[tuple[str, str], list[str]] = {}
    for (op, src), slots in chunks.items():
        senders.setdefault((op, _format_slots(slots)), []).append(str(src))
    return " ".join(f"{op}{slots}←{_format_slots(sources)}" for (op, slots), sources in senders.items()) or "·"


def _format_slots(items: list[str]) -> str:
    """`0,1,2,3` as `0-3`; anything else joined by commas."""
    if len(items) > 2 and all(i.isdigit() for i in items) and all(int(b) == int(a) + 1 for a, b in pairwise(items)):
        return f"{items[0]}-{items[-1]}"
    return ",".join(items)


def freeze(
    name: str,
    collective: str,
    ranks: int,
    steps: Iterable[Step | Iterable[Step]],
    *,
    chunks: int | None = None,
    slots: int | None = None,
    block: int = 1,
    helpers: int = 0,
    root: int = 0,
    options: Mapping[str, object] | None = None,
    helpers_on: HelperLocation = "host",
) -> Schedule:
    """Check steps and make a Schedule of them.

    Args:
        name: name of the algorithm; the label of the schedule begins with it.
        collective: name of the collective that it promises.
        ranks: number of participants.
        steps: `Step`s, or lists of `Step`s that happen at the same moment; empty ones are dropped.
        chunks: pieces of the buffer; when None, the largest slot used plus one, rounded up to a multiple of `block`.
        slots: slots per endpoint; when None, as many as are used.
        block: `chunks` is rounded up to a multiple of it: the number of ranks where each has its own block, else 1.
        helpers: number of endpoints beyond the ranks.
        helpers_on: what they are: a `host`, or a switch that reduces (`nvswitch`, `fabric`, or any `switch`).
        root: the root rank, where the collective has one.
        options: keywords with which the algorithm was called, for the label.

    Returns:
        The schedule; its arrays are read-only.

    Raises:
        ScheduleError: with step, rank and chunk, for an index out of range, a send to itself, or two transfers into
            one slot in one step of which one is a copy.

    Examples:
        >>> import collsim as cs
        >>> from collsim.schedule import freeze
        >>> freeze("mine", "broadcast", 2, [cs.copy(0, 1, chunk=0)])
        <Schedule mine(2): 1 chunk, 1 steps, 1 transfers>
    """
    ranks, helpers, block = parse_count(ranks, "ranks"), parse_count(helpers, "helpers", 0), parse_count(block, "block")
    root = _parse_root(root, ranks)
    require_word("helpers_on", helpers_on, HELPER_LOCATIONS)
    if options is not None and not isinstance(options, Mapping):
        message = "options={options!r} must be a dict of an algorithm's options, for example {{'root': 0}}"
        raise ScheduleError(message, options=options)
    label, endpoints = f"{name}({ranks})", ranks + helpers
    patterns = tuple(_iterate_checked(label, steps))
    used = 1 + max((_find_last_slot(p) for p in patterns), default=-1)
    chunks, slots = _size_buffer(chunks, slots, used, block)
    _require_capacity(label, patterns, endpoints, slots)
    _check_and_lock(label, patterns, ranks, endpoints, slots)
    fixed = MappingProxyType({**(options or {})})
    return Schedule(name, collective, ranks, endpoints, chunks, slots, patterns, root, fixed, helpers_on)


def _parse_root(root: object, ranks: int) -> int:
    number = parse_count(root, "root", 0)
    if number >= ranks:
        message = "root={root} is not a rank; with {n} ranks it is 0 to {last}"
        raise ScheduleError(message, root=number, n=ranks, last=ranks - 1)
    return number


def _size_buffer(chunks: int | None, slots: int | None, used: int, block: int) -> tuple[int, int]:
    """Chunks and slots; those that are not given follow from the slots in use."""
    if chunks is None:
        count = max(1, -(-used // block)) * block
    else:
        count = parse_count(chunks, "chunks")
    if slots is None:
        return count, max(count, used)
    return count, parse_count(slots, "slots", count)


def _require_capacity(label: str, patterns: Sequence[Step], endpoints: int, slots: int) -> None:
    steps = sum(pattern.times for pattern in patterns)
    numbers = endpoints + _NUMBERS_PER_SLOT * slots + _NUMBERS_PER_STEP * steps
    extent = Extent(rows=sum(map(len, patterns)), numbers=numbers)
    require_extent(label, extent, "use fewer chunks, slots and steps", ScheduleError)


def _check_and_lock(label: str, patterns: Sequence[Step], ranks: int, endpoints: int, slots: int) -> None:
    """Check all patterns, and make their arrays read-only: schedules share them."""
    number = 0
    for steps in _join_short_steps(patterns):
        try:
            _check_steps(label, number, steps, ranks, endpoints, slots)
        except ScheduleError:
            # The message names the first step that is wrong.
            for i, step in enumerate(steps):
                _check_steps(label, number + i, [step], ranks, endpoints, slots)
        for step in steps:
            for name in COLUMNS:
                getattr(step, name).setflags(write=False)
            number += step.times


def _join_short_steps(patterns: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps that follow one another and are checked together: of one width, without repetitions, with few rows."""
    steps: list[Step] = []
    rows = 0
    for step in patterns:
        rows += len(step)
        if steps and (rows > _CHECKED_ROWS or step.width != steps[0].width or step.times * steps[0].times > 1):
            yield steps
            steps, rows = [], len(step)
        steps.append(step)
    if steps:
        yield steps


def _iterate_checked(label: str, steps: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    rows = transfers = 0
    for number, item in enumerate(steps):
        if number >= _MAX_STEPS:
            message = "{label} yields more than {most:,} steps and has not ended; does a loop never stop?"
            raise ScheduleError(message, label=label, most=_MAX_STEPS)
        step = join_steps(label, item)
        if len(step) == 0 or step.times == 0:
            continue
        if step.width > 1 and step.times > 1:
            message = "{label}, step {step}: ranges of chunks (width={width}) do not repeat (times={times})"
            raise ScheduleError(message, label=label, width=step.width, times=step.times, step=number)
        rows += len(step)
        transfers += step.transfers
        if rows > (most := find_row_limit()) or transfers > _MAX_TRANSFERS:
            message = "{label} yields more than {most:,} transfers and has not ended; does a loop never stop?"
            raise ScheduleError(message, label=label, most=min(most, _MAX_TRANSFERS))
        yield step


def _find_last_slot(p: Step) -> int:
    """Largest slot that any row reaches in any repetition."""
    top = max(int(p.chunk.max()), int(p.into.max())) + p.width - 1
    if p.times > 1 and p.shift:
        return top // p.modulus * p.modulus + p.modulus - 1
    return top


def _check_steps(label: str, number: int, steps: Sequence[Step], ranks: int, endpoints: int, slots: int) -> None:
    """Check steps of one width, the first of which has a number; a message that names a step is right for one alone."""
    step = steps[0] if len(steps) == 1 else merge(*steps)
    known_endpoints = Sentence("ranks are 0 to {last}", last=ranks - 1)
    if endpoints > ranks:
        known_endpoints += Sentence(", helpers up to {last}", last=endpoints - 1)
    first = slots - step.width + 1
    for name, end, what in (
        ("src", endpoints, known_endpoints),
        ("dst", endpoints, known_endpoints),
        ("chunk", first, None),
        ("into", first, None),
    ):
        array = getattr(step, name)
        if array.min() < 0 or array.max() >= end:
            row = int(np.argmax((array < 0) | (array >= end)))
            wide = what is None and step.width > 1
            reason = Sentence(
                "{name}={value}{wide} does not exist; {rule}",
                name=name,
                value=array[row],
                wide=Sentence(" and the {count} after it", count=step.width - 1) if wide else "",
                rule=what or Sentence("slots are 0 to {last}", last=slots - 1),
            )
            _refuse(label, number, step, row, reason, ranks, endpoints)
    if step.times > 1 and step.shift:
        _check_groups(label, number, step, ranks, slots)
    to_itself = (step.src == step.dst) & (step.chunk == step.into)
    if to_itself.any():
        _refuse(label, number, step, int(np.argmax(to_itself)), "an endpoint sends a chunk to itself", ranks)
    wrong_channel = (step.channel < 0) | (step.channel > MAX_CHANNEL)
    if wrong_channel.any():
        row = int(np.argmax(wrong_channel))
        reason = Sentence(
            "there is no channel {channel}; channels are 0 to {most}", channel=step.channel[row], most=MAX_CHANNEL
        )
        _refuse(label, number, step, row, reason, ranks)
    if not step.reduce.all() and (len(steps) > 1 or np.bincount(step.dst).max() > 1):
        moment = np.repeat(np.arange(len(steps)), [len(each) for each in steps])
        _check_written_once(label, number, step, ranks, slots, moment * endpoints)


def _check_groups(label: str, number: int, step: Step, ranks: int, slots: int) -> None:
    """A repeated pattern moves every chunk inside its group of `modulus` slots, and all of these exist."""
    for name in ("chunk", "into"):
        last = (getattr(step, name) // step.modulus + 1) * step.modulus - 1
        if last.max() >= slots:
            row = int(np.argmax(last))
            reason = Sentence(
                "in its repetitions {name} reaches slots {first} to {last} (modulus={modulus}); slots are 0 to {most}",
                name=name,
                first=int(last[row]) - step.modulus + 1,
                last=int(last[row]),
                modulus=step.modulus,
                most=slots - 1,
            )
            _refuse(label, number, step, row, reason, ranks)


def _check_written_once(label: str, number: int, step: Step, ranks: int, slots: int, before: Longs) -> None:
    """No slot is written twice in one step, of which once by a copy. Of rows that meet in a slot, some are neighbours
    in the order of slots; `before` counts the endpoints of earlier steps for each row."""
    target = (step.dst + before) * slots + step.into
    order = np.argsort(target, kind="stable")
    first, second = order[:-1], order[1:]
    overlaps = (target[second] - target[first] < step.width) & ~(step.reduce[first] & step.reduce[second])
    if overlaps.any():
        position = int(np.argmax(overlaps))
        reason = Sentence(
            "{who} writes the same slot in this step; which of them lasts is undefined",
            who=format_endpoint(ranks, int(step.src[first[position]])),
        )
        _refuse(label, number, step, int(second[position]), reason, ranks)


def _refuse(
    label: str, number: int, step: Step, row: int, reason: Words, ranks: int, endpoints: int | None = None
) -> None:
    """Raise ScheduleError for a row of a step; an endpoint beyond `endpoints` does not exist, and is no helper."""

    def describe(endpoint: int) -> Sentence:
        exists = endpoints is None or 0 <= endpoint < endpoints
        if exists:
            return format_endpoint(ranks, endpoint)
        return Sentence("rank {rank}", rank=endpoint)

    s, d, c, i = (int(getattr(step, name)[row]) for name in ("src", "dst", "chunk", "into"))
    many = Sentence("chunks {first} to {last}", first=c, last=c + step.width - 1)
    raise ScheduleError(
        "{label}, step {step}: {op} of {what} from {src} to {dst}{where}: {reason}",
        label=label,
        op="reduce" if step.reduce[row] else "copy",
        what=many if step.width > 1 else Sentence("chunk {chunk}", chunk=c),
        src=describe(s),
        dst=describe(d),
        where="" if c == i else Sentence(" into slot {slot}", slot=i),
        reason=Sentence.from_words(reason),
        step=number,
        rank=d,
        chunk=i,
    )


def format_endpoint(ranks: int, endpoint: int) -> Sentence:
    """`rank 3`, or `helper 0` for an endpoint beyond the ranks."""
    if endpoint < ranks:
        return Sentence("rank {rank}", rank=endpoint)
    return Sentence("helper {helper}", helper=endpoint - ranks)
