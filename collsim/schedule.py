"""A schedule is data: a read-only table of transfers, with no clock and no bytes in it.

An algorithm yields steps, made with `copy`, `reduce` and `repeat`; `freeze` checks them and makes a `Schedule`.
All transfers of a step read the buffers as they were when the step began. Buffers are `(endpoints, slots)`: slots
`0..chunks-1` are the chunks of the collective's buffer, slots beyond are scratch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ScheduleError
from .units import parse_count

Ints = npt.NDArray[np.int32]

#: One row per transfer: chunk is the slot read at src, into the slot written at dst.
TRANSFER = np.dtype([("step", "i4"), ("src", "i4"), ("dst", "i4"), ("chunk", "i4"), ("into", "i4"), ("reduce", "?"), ("channel", "i4")])
_COLUMNS = ("src", "dst", "chunk", "into", "reduce", "channel")
_MOST_TRANSFERS = 4_000_000_000_000  # expanded; a careless `while True: yield` stops at _MOST_ROWS long before
_MOST_ROWS = 60_000_000
_MOST_IN_TABLE = 200_000_000
_MOST_STEPS = 50_000  # as yielded; repeat(...) is one


@dataclass(frozen=True, eq=False)
class Step:
    """Transfers that run together, as equal-length arrays; `times` > 1 means the pattern repeats with chunks shifted.

    In repetition k a chunk c becomes `c - c % modulus + (c % modulus + k * shift) % modulus`: it moves by `shift` inside its own
    group of `modulus` chunks.
    """

    src: Ints
    dst: Ints
    chunk: Ints
    into: Ints
    reduce: npt.NDArray[np.bool_]
    channel: Ints
    times: int = 1
    shift: int = 0
    modulus: int = 1

    def __len__(self) -> int:
        return len(self.src)

    def __add__(self, other: Step) -> Step:
        """Both at the same moment: one step with the transfers of both."""
        if not isinstance(other, Step):
            return NotImplemented
        if self.times != 1 or other.times != 1:
            raise ScheduleError("a repeated step cannot be joined with another; join first, then repeat")
        return _concatenated([self, other])

    def at(self, k: int) -> Step:
        """Repetition k of the pattern, as a single step."""
        if self.times == 1:
            return self
        return replace(self, chunk=self._shifted(self.chunk, k), into=self._shifted(self.into, k), times=1)

    def placed(self, ranks: npt.ArrayLike, chunks: npt.ArrayLike, channel: npt.ArrayLike = 0) -> Step:
        """The same transfers somewhere else: rank r stands for `ranks[r]` and chunk c for all of `chunks[c]`.

        Args:
            ranks: shape `(ranks,)`, or `(copies, ranks)` to have the pattern run in several places at once.
            chunks: shape `(chunks,)`, `(chunks, pieces)` or `(copies, chunks, pieces)`.
            channel: of each copy.
        """
        if self.times != 1:
            raise ScheduleError("a repeated step cannot be placed; write its repetitions out first, with at(k)")
        rank, slot = np.atleast_2d(np.asarray(ranks)), np.asarray(chunks)
        slot = slot[:, None] if slot.ndim == 1 else slot
        slot = np.broadcast_to(slot, (len(rank), *slot.shape[-2:]))
        src, dst, reduces = rank[:, self.src, None], rank[:, self.dst, None], self.reduce[None, :, None]
        lane = np.broadcast_to(channel, len(rank))[:, None, None]
        columns = np.broadcast_arrays(src, dst, slot[:, self.chunk], slot[:, self.into], reduces, lane)
        s, d, c, i, r, ch = (np.ascontiguousarray(a).ravel() for a in columns)
        return Step(s.astype(np.int32), d.astype(np.int32), c.astype(np.int32), i.astype(np.int32), r, ch.astype(np.int32))

    def _shifted(self, slot: Ints, k: int) -> Ints:
        offset = slot % self.modulus
        return (slot - offset + (offset + np.int64(k) * self.shift) % self.modulus).astype(np.int32)


def copy(src: Any, dst: Any, chunk: Any, into: Any = None, channel: Any = 0) -> Step:
    """Transfers that replace: slot `into` (the same as `chunk` unless given) of `dst` becomes slot `chunk` of `src`.

    Every argument is a whole number or an array of them; they are broadcast together, one transfer per element.
    """
    return _step(src, dst, chunk, into, channel, False)


def reduce(src: Any, dst: Any, chunk: Any, into: Any = None, channel: Any = 0) -> Step:
    """Transfers that add: slot `into` of `dst` becomes itself combined with slot `chunk` of `src`. Arguments as in `copy`."""
    return _step(src, dst, chunk, into, channel, True)


def repeat(step: Step, times: int, shift: int, modulus: int) -> Step:
    """`times` steps of one pattern; in each, every chunk moves by `shift` inside its group of `modulus` chunks."""
    if not isinstance(step, Step):
        raise ScheduleError(f"repeat wants a step made with copy(...) or reduce(...), got {step!r}")
    if not all(isinstance(value, Integral) for value in (times, shift, modulus)):
        raise ScheduleError(f"repeat(times={times!r}, shift={shift!r}, modulus={modulus!r}): all three are whole numbers; use // to divide")
    if times < 0 or modulus < 1:
        raise ScheduleError(f"repeat(times={times}, modulus={modulus}): times is 0 or more and modulus 1 or more")
    return replace(step, times=int(times), shift=int(shift), modulus=int(modulus))


def pipeline(rounds: Iterable[Step | Iterable[Step]], chunks: int, stride: int = 1) -> Iterator[Step]:
    """Every chunk goes through the same rounds, one step behind the chunk before it: `len(rounds) + chunks - 1` steps.

    The rounds are written for the first chunk (or the first `stride` chunks); copy c of them works on chunks `c * stride` further on.
    """
    for what, value, least in (("chunks", chunks, 1), ("stride", stride, 0)):
        if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value < 2**31:
            raise ScheduleError(f"pipeline({what}={value!r}): {what} is a whole number from {least} to 2^31; use // to divide")
    listed = list(each_single(rounds))
    for now in range(len(listed) + chunks - 1 if listed else 0):
        late = range(max(0, now - len(listed) + 1), min(chunks, now + 1))
        parts = [listed[now - c] for c in late]
        shift = np.repeat(np.array(late) * stride, [len(p) for p in parts])
        step = _concatenated(parts)
        yield replace(step, chunk=(step.chunk + shift).astype(np.int32), into=(step.into + shift).astype(np.int32))


def reverse(steps: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    """The same steps backwards in time: receivers send to senders, what was copied is reduced and what was reduced is copied.

    It makes a reduce of a broadcast, a reduce_scatter of an allgather, a gather of a scatter, at the same cost
    (Chan et al. 2007, section 3: the dual of a collective). A repeated pattern stays repeated.
    """
    for item in reversed(list(_several("reverse", steps))):
        step = item if isinstance(item, Step) else _joined("reverse", item)
        chunk, into = step._shifted(step.chunk, step.times - 1), step._shifted(step.into, step.times - 1)
        yield replace(step, src=step.dst, dst=step.src, chunk=into, into=chunk, reduce=~step.reduce, shift=-step.shift)


def together(*parts: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    """Several sequences of steps side by side: the first steps of all of them at the same moment, then the second steps ..."""
    for steps in zip_longest(*(each_single(part) for part in parts)):
        yield _joined("together", [s for s in steps if s is not None])


def each_single(steps: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    """The steps one at a time: lists joined, repetitions written out."""
    for item in _several("a sequence of steps", steps):
        step = item if isinstance(item, Step) else _joined("a sequence of steps", item)
        for k in range(step.times):
            yield step.at(k)


def _several(who: str, steps: Any) -> Iterable[Any]:
    """Steps to iterate over; one alone is a sequence of one."""
    if isinstance(steps, Step):
        return [steps]
    if isinstance(steps, Schedule):
        return steps.each_step()
    if isinstance(steps, Iterable) and not isinstance(steps, str | bytes):
        return steps
    raise ScheduleError(f"{who}: {steps!r} is not a list of steps; a step is made with copy(...) or reduce(...)")


def _step(src: Any, dst: Any, chunk: Any, into: Any, channel: Any, is_reduce: bool) -> Step:
    given = {"src": src, "dst": dst, "chunk": chunk, "into": chunk if into is None else into, "channel": channel}
    arrays = [_whole(name, value) for name, value in given.items()]
    try:
        s, d, c, i, ch = (np.array(a, dtype=np.int32).ravel() for a in np.broadcast_arrays(*arrays))
    except ValueError as error:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in given.items())
        raise ScheduleError(f"the arrays of one step differ in length: {shapes}") from error
    return Step(s, d, c, i, np.full(len(s), is_reduce), ch)


def _whole(name: str, value: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ScheduleError(f"{name} has rows of different lengths: {value!r}; it is one whole number per transfer") from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        shown = array.ravel()[0] if array.size else value
        raise ScheduleError(f"{name} must be whole numbers, got {shown!r} ({array.dtype}); for division use // instead of /")
    if array.max() > 2**31 - 1 or array.min() < -(2**31):
        raise ScheduleError(f"{name} holds {array.max()}, which is beyond any rank or chunk")
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """The finished plan of one collective. Made by an Algorithm or by `freeze`; never changed.

    Attributes:
        name: the algorithm's name, with `+` between parts of a composition.
        collective: name of the collective it promises.
        ranks, endpoints: participants, and participants plus helpers (a parameter server, a switch that reduces).
        chunks, slots: pieces of the collective's buffer, and slots per endpoint (scratch included).
        steps: number of steps.
        patterns: the steps as given; one with `times` > 1 stands for many.
        root: the root rank, where the collective has one.
        options: what the algorithm was called with.
        depends: explicit dependencies, `(start, row)`: transfer i starts after transfers `row[start[i]:start[i+1]]` (rows of
            `transfers`) instead of after those of earlier steps on its channel. None for most; imported schedules carry them.
        helpers_on: what the helper endpoints are: a `host` of their own (a parameter server), or a `switch` that reduces.
    """

    name: str
    collective: str
    ranks: int
    endpoints: int
    chunks: int
    slots: int
    patterns: tuple[Step, ...]
    root: int = 0
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    helpers_on: str = "host"
    depends: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: the patterns, not the table built from them (and a plain dict, for pickle)."""
        return {**{k: v for k, v in vars(self).items() if k != "transfers"}, "options": dict(self.options)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, options=MappingProxyType(state["options"]))

    @cached_property
    def steps(self) -> int:
        """Number of steps, repetitions counted."""
        return sum(p.times for p in self.patterns)

    def __len__(self) -> int:
        """Number of transfers."""
        return sum(p.times * len(p) for p in self.patterns)

    @cached_property
    def channels(self) -> int:
        """Number of channels in use."""
        return 1 + max((int(p.channel.max()) for p in self.patterns), default=0)

    def each_step(self) -> Iterator[Step]:
        """The steps in order, repetitions written out one at a time."""
        for pattern in self.patterns:
            for k in range(pattern.times):
                yield pattern.at(k)

    @cached_property
    def transfers(self) -> npt.NDArray[Any]:
        """Structured array (dtype TRANSFER), one row per transfer, ordered by step. Read-only; built when first asked for."""
        if len(self) > _MOST_IN_TABLE:
            raise ScheduleError(
                f"{self.label} has {len(self):,} transfers, too many for one table; each_step() gives them a step at a time"
            )
        table = np.empty(len(self), TRANSFER)
        row = 0
        for number, step in enumerate(self.each_step()):
            part = table[row : row + len(step)]
            part["step"] = number
            for name in _COLUMNS:
                part[name] = getattr(step, name)
            row += len(step)
        table.setflags(write=False)
        return table

    def by_step(self, step: int) -> npt.NDArray[Any]:
        """The transfers of one step."""
        rows: npt.NDArray[Any] = self.transfers[self.transfers["step"] == self._within("step", step, self.steps)]
        return rows

    def by_rank(self, rank: int) -> npt.NDArray[Any]:
        """The transfers that one endpoint sends or receives."""
        t = self.transfers
        rank = self._within("rank", rank, self.endpoints)
        rows: npt.NDArray[Any] = t[(t["src"] == rank) | (t["dst"] == rank)]
        return rows

    def by_chunk(self, chunk: int) -> npt.NDArray[Any]:
        """The transfers that read or write one slot number."""
        t = self.transfers
        chunk = self._within("chunk", chunk, self.slots)
        rows: npt.NDArray[Any] = t[(t["chunk"] == chunk) | (t["into"] == chunk)]
        return rows

    def _within(self, what: str, value: int, end: int) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= value < end:
            raise ScheduleError(f"{self.label}: there is no {what} {value!r}; {what}s are 0 to {end - 1}")
        return int(value)

    @property
    def label(self) -> str:
        """`allreduce_tree(8, chunks=4)`: how to ask for it again."""
        extra = "".join(f", {k}={v!r}" for k, v in self.options.items())
        return f"{self.name}({self.ranks}{extra})"

    def who(self, endpoint: int) -> str:
        """`rank 3`, or `helper 0` for an endpoint beyond the ranks."""
        return _who(self.ranks, endpoint)

    def __add__(self, other: Schedule) -> Schedule:
        """One after the other: `reduce_scatter_ring(n) + allgather_ring(n)` is an allreduce."""
        if not isinstance(other, Schedule):
            return NotImplemented
        if self.depends is not None or other.depends is not None:
            raise ScheduleError(f"cannot join {self.label} and {other.label}: one of them has explicit dependencies")
        for what in ("ranks", "chunks", "root"):
            if getattr(self, what) != getattr(other, what):
                raise ScheduleError(
                    f"cannot join {self.label} and {other.label}: {what} {getattr(self, what)} and {getattr(other, what)} differ"
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

    def diagram(self, most_ranks: int = 33, most_steps: int = 32) -> str:
        """Text picture: a row per endpoint, a column per step; `+2←3` adds chunk 2 from rank 3, `=2←3` copies it.

        Rows and columns beyond the limits are left out and counted in the last line.
        """
        most_ranks, most_steps = parse_count(most_ranks, "most_ranks", least=0), parse_count(most_steps, "most_steps", least=0)
        names, cells = self.diagram_cells(most_ranks, most_steps)
        shown = min(self.steps, most_steps)
        header = ["", *(f"step {k}" for k in range(shown))]
        lines = [header, *([name, *row] for name, row in zip(names, cells, strict=True))]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        text = [repr(self)[1:-1].removeprefix("Schedule ")]
        text += ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        left_out = []
        if self.endpoints > len(names):
            left_out.append(f"{self.endpoints - len(names)} more endpoints")
        if self.steps > shown:
            left_out.append(f"{self.steps - shown} more steps")
        if left_out:
            text.append(f"({' and '.join(left_out)} not shown)")
        return "\n".join(text)

    def diagram_cells(self, most_ranks: int, most_steps: int) -> tuple[list[str], list[list[str]]]:
        """Row names and cells of `diagram`: what each endpoint receives in each step."""
        rows = min(self.endpoints, most_ranks)
        names = [self.who(r) for r in range(rows)]
        cells: list[list[str]] = [[] for _ in range(rows)]
        for number, step in enumerate(self.each_step()):
            if number >= most_steps:
                break
            received: dict[int, list[tuple[str, int, str]]] = {}
            seen = step.dst < rows
            columns = (column[seen].tolist() for column in (step.src, step.dst, step.chunk, step.into, step.reduce))
            for s, d, c, i, r in zip(*columns, strict=True):
                slot = f"{c}" if c == i else f"{c}→{i}"
                received.setdefault(d, []).append(("+" if r else "=", s, slot))
            for row in range(rows):
                cells[row].append(_cell(received.get(row, [])))
        return names, cells


def _cell(received: list[tuple[str, int, str]]) -> str:
    """`+0←1,2,3 =4,5←6`: what one endpoint gets in one step, senders of the same chunks together."""
    chunks: dict[tuple[str, int], list[str]] = {}
    for op, src, slot in received:
        chunks.setdefault((op, src), []).append(slot)
    senders: dict[tuple[str, str], list[str]] = {}
    for (op, src), slots in chunks.items():
        senders.setdefault((op, _listed(slots)), []).append(str(src))
    return " ".join(f"{op}{slots}←{_listed(sources)}" for (op, slots), sources in senders.items()) or "·"


def _listed(items: list[str]) -> str:
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
    options: Mapping[str, Any] | None = None,
    helpers_on: str = "host",
) -> Schedule:
    """Check steps and make a Schedule of them.

    Args:
        steps: `Step`s, or lists of `Step`s that happen at the same moment; empty ones are dropped.
        chunks: pieces of the buffer; when None, the largest slot used plus one, rounded up to a multiple of `block`.
        slots: slots per endpoint; when None, as many as are used.
        helpers, helpers_on: endpoints beyond the ranks, and what they are: a `host` or a `switch`.

    Raises ScheduleError (step, rank, chunk named) for an index out of range, a send to itself, or two transfers into one slot in
    one step of which one is a copy.
    """
    label = f"{name}({ranks})"
    endpoints = ranks + helpers
    patterns = tuple(_collect(label, steps))
    used = 1 + max((max(int(p.chunk.max()), int(p.into.max())) for p in patterns), default=-1)
    reach = 1 + max((_group_end(p) for p in patterns if p.times > 1), default=-1)
    used = max(used, reach)
    if chunks is None:
        chunks = max(1, -(-used // block)) * block
    if slots is None:
        slots = max(chunks, used)
    number = 0
    for pattern in patterns:
        _check(label, number, pattern, ranks, endpoints, slots)
        for name_ in _COLUMNS:
            getattr(pattern, name_).setflags(write=False)
        number += pattern.times
    return Schedule(name, collective, ranks, endpoints, chunks, slots, patterns, root, MappingProxyType(dict(options or {})), helpers_on)


def _collect(label: str, steps: Iterable[Step | Iterable[Step]]) -> Iterator[Step]:
    rows = transfers = 0
    for number, item in enumerate(steps):
        if number >= _MOST_STEPS:
            raise ScheduleError(f"{label} yields more than {_MOST_STEPS:,} steps and has not ended; does a loop never stop?")
        step = item if isinstance(item, Step) else _joined(label, item)
        if len(step) == 0 or step.times == 0:
            continue
        rows += len(step)
        transfers += len(step) * step.times
        if rows > _MOST_ROWS or transfers > _MOST_TRANSFERS:
            raise ScheduleError(f"{label} yields more than {_MOST_ROWS:,} transfers and has not ended; does a loop never stop?")
        yield step


def _joined(label: str, parts: Any) -> Step:
    listed: list[Any]
    try:
        listed = [parts] if isinstance(parts, str | bytes) else list(parts)
    except TypeError:
        listed = [parts]
    wrong = [p for p in listed if not isinstance(p, Step)]
    if wrong:
        raise ScheduleError(f"{label} yields {wrong[0]!r}; a step is made with copy(...) or reduce(...), or a list of them")
    if not listed:
        return _EMPTY
    if len(listed) == 1:
        only: Step = listed[0]
        return only
    if any(p.times != 1 for p in listed):
        raise ScheduleError(f"{label}: a repeated step cannot be joined with another; join first, then repeat")
    return _concatenated(listed)


_EMPTY = copy([], [], [])


def _concatenated(steps: list[Step]) -> Step:
    src, dst, chunk, into, is_reduce, channel = (np.concatenate([getattr(s, name) for s in steps]) for name in _COLUMNS)
    return Step(src, dst, chunk, into, is_reduce, channel)


def _group_end(p: Step) -> int:
    """Largest slot that any repetition can reach."""
    top = max(int(p.chunk.max()), int(p.into.max()))
    return top // p.modulus * p.modulus + p.modulus - 1 if p.shift else top


def _check(label: str, number: int, step: Step, ranks: int, endpoints: int, slots: int) -> None:
    who = f"ranks are 0 to {ranks - 1}" + (f", helpers up to {endpoints - 1}" if endpoints > ranks else "")
    for name, end, what in (("src", endpoints, who), ("dst", endpoints, who), ("chunk", slots, ""), ("into", slots, "")):
        array = getattr(step, name)
        bad = np.flatnonzero((array < 0) | (array >= end))
        if len(bad):
            row = bad[0]
            rule = what or f"slots are 0 to {end - 1}"
            _refuse(label, number, step, row, f"{name}={array[row]} does not exist; {rule}", ranks)
    own = np.flatnonzero((step.src == step.dst) & (step.chunk == step.into))
    if len(own):
        _refuse(label, number, step, own[0], "an endpoint sends a chunk to itself", ranks)
    if (step.channel < 0).any():
        _refuse(label, number, step, int(np.argmin(step.channel)), "a channel is 0 or more", ranks)
    target = step.dst.astype(np.int64) * slots + step.into
    if not step.reduce.all():
        order = np.argsort(target, kind="stable")
        twice = np.flatnonzero(target[order][1:] == target[order][:-1])
        for at in twice:
            first, second = order[at], order[at + 1]
            if not (step.reduce[first] and step.reduce[second]):
                why = f"{_who(ranks, int(step.src[first]))} writes the same slot in this step; which of them lasts is undefined"
                _refuse(label, number, step, second, why, ranks)


def _refuse(label: str, number: int, step: Step, row: int, why: str, ranks: int) -> None:
    s, d, c, i = (int(getattr(step, name)[row]) for name in ("src", "dst", "chunk", "into"))
    what = f"{'reduce' if step.reduce[row] else 'copy'} of chunk {c} from {_who(ranks, s)} to {_who(ranks, d)}"
    where = "" if c == i else f" into slot {i}"
    raise ScheduleError(f"{label}, step {number}: {what}{where}: {why}", step=number, rank=d, chunk=i)


def _who(ranks: int, endpoint: int) -> str:
    return f"rank {endpoint}" if endpoint < ranks else f"helper {endpoint - ranks}"
