"""The schedule that the messages of a program make, where they make one.

What each message holds is known (`rank_engine.provenance`). Elements that always travel together are a chunk; a message
is in the step after the messages that both its ends had waited for. A value that a rank receives is added to the
chunk's slot where only sums with it are used later, overwrites it where the old value is not used any more, and goes
into a scratch slot where both are. The schedule is verified like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..collective import Collective
from ..errors import CollsimError, Sentence
from ..faults import find_fault
from ..rank_engine.engine import RankEvent
from ..rank_engine.execute import Execution, Piece, Provenance
from ..rank_engine.provenance import make_contents
from ..schedule import Schedule, freeze
from ..steps import Step, copy, reduce
from .program_timing import MessageWalk, require_events

_MAX_SUMMANDS = 12  # received values of one chunk among which a sum is looked for


class _NoSchedule(Exception):
    """The messages make no schedule, and why."""

    def __init__(self, reason: Sentence) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _Row(NamedTuple):
    """A transfer of the schedule; `moment` orders the steps."""

    moment: float
    src: int
    dst: int
    slot: int
    into: int
    adds: bool


@dataclass
class _Use:
    """A value of one chunk that a rank needs.

    Attributes:
        message: the number of the message that it is sent in; -1: the result.
        content: the value.
        line: of the send.
        values: the values that the rank holds and that add up to it: -1 its own, else the number of a message.
    """

    message: int
    content: int
    line: int
    values: frozenset[int] = frozenset()


@dataclass
class _Arrival:
    """A value of one chunk that a rank receives, by message `message`."""

    message: int
    content: int


@dataclass
class _Slots:
    """Where the values of one rank and chunk are kept."""

    chunk: int
    chunks: int
    slot: dict[int, int] = field(default_factory=dict)  # of each value, as in `_Use`; several in one slot are a sum
    read: float = -1.0  # the last step in which the chunk's slot is read so far

    def list_values(self, slot: int) -> frozenset[int]:
        """The values whose sum a slot holds."""
        return frozenset(value for value, at_slot in self.slot.items() if at_slot == slot)

    def find_free(self) -> int:
        """A scratch slot that holds nothing."""
        slot = self.chunk + self.chunks
        while slot in self.slot.values():
            slot += self.chunks
        return slot


def build_message_schedule(
    execution: Execution, provenance: Provenance, collective: Collective, ranks: int
) -> Schedule | Sentence:
    """Build the schedule that the messages of a program make.

    Args:
        execution: what the ranks did.
        provenance: what their messages hold.
        collective: what the program should do.
        ranks: how many ranks there are.

    Returns:
        A right schedule of that collective, or why there is none.
    """
    for event in execution.events:
        if event.kind == "collective":
            message = "line {line} calls {call}: the library chooses its messages"
            return Sentence(message, line=event.line, call=event.call)
    if provenance.reason is not None:
        return provenance.reason
    try:
        schedule = _build(execution, provenance, collective, ranks)
    except _NoSchedule as error:
        return error.reason
    except CollsimError as error:
        return Sentence.from_words(error)
    fault = find_fault(schedule)
    if fault is not None:
        return Sentence("its messages do not make a right schedule: {fault}", fault=fault)
    return schedule


def _build(execution: Execution, provenance: Provenance, collective: Collective, ranks: int) -> Schedule:
    # Chunks are cut where some message begins or ends, so that every message is whole chunks.
    bounds = _cut_chunks(provenance, collective, ranks)
    levels, order = _find_levels(execution.events, execution.groups, ranks)
    messages = [_split_pieces(pieces, bounds) for pieces in provenance.messages]
    results = [_split_pieces(pieces, bounds) for pieces in provenance.results]
    rows: list[_Row] = []
    chunks, contents_of_ranks, last = len(bounds) - 1, make_contents(ranks), max(levels, default=0) + 1
    sources: dict[tuple[int, int], int] = {}  # the slot in which a message finds a chunk at its source
    landings: dict[tuple[int, int], tuple[int, bool]] = {}  # into which slot it goes at its end, and whether it adds
    for rank in range(ranks):
        histories: dict[int, list[_Use | _Arrival]] = {}  # in the order of the program
        for is_send, message, line in order[rank]:
            for chunk, content in messages[message].items():
                item: _Use | _Arrival = _Arrival(message, content)
                if is_send:
                    item = _Use(message, content, line)
                histories.setdefault(chunk, []).append(item)
        for chunk, content in results[rank].items():
            # A reduce promises something to the root alone.
            if collective.name != "reduce" or rank == 0:
                histories.setdefault(chunk, []).append(_Use(-1, content, 0))
        for chunk, history in histories.items():
            _explain_uses(history, contents_of_ranks[rank], rank)
            slots = _Slots(chunk, chunks)
            rows += _place_values(history, slots, rank, levels, last, sources, landings)
    for number, sent in enumerate(execution.messages):
        for chunk in messages[number]:
            if (number, chunk) not in landings:
                raise _NoSchedule(Sentence("nobody received the message of line {line}", line=sent.send_line))
            into, adds = landings[number, chunk]
            source = sources[number, chunk]
            rows.append(_Row(levels[number], sent.src, sent.dst, source, into, adds))
    return freeze("program", collective.name, ranks, _build_steps(rows), chunks=chunks)


def _build_steps(rows: Sequence[_Row]) -> Iterator[list[Step]]:
    moves = {True: reduce, False: copy}
    for moment in sorted({row.moment for row in rows}):
        step = sorted(row for row in rows if row.moment == moment)
        yield [moves[row.adds](row.src, row.dst, chunk=row.slot, into=row.into) for row in step]


# ---- chunks and steps ----------------------------------------------------------------------------------------------


def _cut_chunks(provenance: Provenance, collective: Collective, ranks: int) -> tuple[int, ...]:
    """The first elements of chunks, and the end: the fewest chunks of a schedule between which all messages are cut."""
    cuts = {0, provenance.elements}
    for pieces in (*provenance.messages, *provenance.results):
        for piece in pieces:
            cuts |= {piece.first, piece.first + piece.count}
    for chunks in range(len(cuts) - 1, provenance.elements + 1):
        ends = np.cumsum(collective.chunk_sizes(provenance.elements, ranks, chunks)).tolist()
        if cuts <= {0, *ends}:
            return (0, *ends)
    raise _NoSchedule(Sentence("its pieces are no whole elements"))


def _split_pieces(pieces: Sequence[Piece], bounds: Sequence[int]) -> dict[int, int]:
    """The content of each chunk that a message holds."""
    contents: dict[int, int] = {}
    for piece in pieces:
        chunk = int(np.searchsorted(bounds, piece.first))
        while bounds[chunk] < piece.first + piece.count:
            if chunk in contents:
                raise _NoSchedule(Sentence("a message holds the same elements twice"))
            contents[chunk] = piece.content
            chunk += 1
    return contents


def _find_levels(
    events: Sequence[RankEvent], groups: Sequence[Sequence[int]], ranks: int
) -> tuple[list[int], list[list[tuple[bool, int, int]]]]:
    """The step of each message; and for each rank its sends and receipts in order: is it a send, which message, which
    line."""
    require_events(events, groups, ranks)
    walk = MessageWalk.start(events, groups, range(ranks), [0.0] * ranks)
    walk.run()
    depth: list[int] = []
    for launch in walk.launches:
        depth.append(max((depth[entry] for entry in launch.after), default=-1) + (launch.schedule is not None))
    sends = [k for k, event in enumerate(events) if event.kind == "send" and not event.is_internal]
    numbers = {position: number for number, position in enumerate(sends)}
    levels = [depth[walk.entry.get(position, 0)] for position in sends]
    order: list[list[tuple[bool, int, int]]] = [[] for _ in range(ranks)]
    received: set[int] = set()
    latest = [0] * ranks  # the last step in which each rank has sent so far
    for position, event in enumerate(events):
        if position in numbers:
            number = numbers[position]
            order[event.rank].append((True, number, event.line))
            latest[event.rank] = max(latest[event.rank], levels[number])
        elif event.kind == "wait" and events[event.other].kind == "receive" and events[event.other].other in numbers:
            number = numbers[events[event.other].other]
            if number not in received:
                received.add(number)
                order[event.rank].append((False, number, event.line))
                levels[number] = max(levels[number], latest[event.rank])  # what was sent before did not have it
    return levels, order


# ---- which values make a value -------------------------------------------------------------------------------------


def _explain_uses(history: Sequence[_Use | _Arrival], input_content: int, rank: int) -> None:
    """Find for each use the values that add up to it."""
    # A rank knows its own input and what has arrived so far; each use must be a sum of these.
    known = {-1: input_content}
    total = frozenset([-1])  # the values in the largest sum so far
    for item in history:
        if isinstance(item, _Arrival):
            known[item.message] = item.content
            continue
        values = _find_summands(item.content, known, total)
        if values is None:
            reason = Sentence("rank {rank} ends with numbers that are no sum of what it received", rank=rank)
            if item.message >= 0:
                message = "line {line} of rank {rank} sends numbers that are no sum of what it has received"
                reason = Sentence(message, line=item.line, rank=rank)
            raise _NoSchedule(reason)
        item.values = values
        if len(values) > 1:
            # Sums grow: the largest one so far is tried first for the next use.
            total = values


def _find_summands(content: int, known: Mapping[int, int], total: frozenset[int]) -> frozenset[int] | None:
    """Values that add up to a content: one of them, the sum so far with all or some of the others, any."""
    for value in reversed(known):
        if known[value] == content:
            return frozenset([value])
    for start in (total, frozenset([-1]), frozenset[int]()):
        rest = content - sum(known[value] for value in start)
        others = [value for value in known if value not in start]
        if rest == sum(known[value] for value in others):
            return start | frozenset(others)
        for count in range(len(others[:_MAX_SUMMANDS])):
            for chosen in combinations(others[-_MAX_SUMMANDS:], count):
                if sum(known[value] for value in chosen) == rest:
                    return start | frozenset(chosen)
    return None


def _place_values(
    history: Sequence[_Use | _Arrival],
    slots: _Slots,
    rank: int,
    levels: Sequence[int],
    last: int,
    sources: dict[tuple[int, int], int],
    landings: dict[tuple[int, int], tuple[int, bool]],
) -> Iterator[_Row]:
    """Give each value of a rank's chunk a slot, and say which copies and additions inside of the rank that takes."""
    items, chunk = history, slots.chunk
    slots.slot[-1] = chunk
    for position, item in enumerate(items):
        later = [use for use in items[position + 1 :] if isinstance(use, _Use)]
        if isinstance(item, _Arrival):
            _land(item, later, slots, landings)
            continue
        moment = float(last)
        if item.message >= 0:
            moment = levels[item.message]
        slot = chunk
        if len(item.values) > 1:
            yield from _add_up(item, slots, rank, moment, levels)
        else:
            slot = slots.slot.get(min(item.values), -1)
        # A value that was added into its slot is gone; a schedule has no hidden copies.
        if slots.list_values(slot) != item.values:
            raise _NoSchedule(Sentence("rank {rank} needs a value again that it has added to", rank=rank))
        if item.message >= 0:
            sources[item.message, chunk] = slot
        elif slot != chunk:
            yield _Row(moment, rank, rank, slot, chunk, False)
        if slot == chunk:
            slots.read = max(slots.read, moment)
        # A slot whose value is not read again may take another one.
        live = {value for use in later for value in use.values}
        slots.slot = {value: slot for value, slot in slots.slot.items() if value in live or slot == chunk}


def _land(
    arrival: _Arrival, later: Sequence[_Use], slots: _Slots, landings: dict[tuple[int, int], tuple[int, bool]]
) -> None:
    """Where a value that arrives goes: added to the chunk's slot, in place of what is there, or into a scratch slot."""
    message, chunk = arrival.message, slots.chunk
    uses = [use for use in later if message in use.values]
    others = {value for use in later for value in use.values} - {message}
    in_slot = slots.list_values(chunk)
    is_read_without = any(use.values & in_slot for use in later if message not in use.values)
    is_alone = any(use.values == {message} for use in uses)
    if uses and in_slot and not is_alone and not is_read_without and in_slot <= uses[0].values:
        landings[message, chunk] = chunk, True
        slots.slot[message] = chunk
    elif not in_slot & others:
        for value in in_slot:
            del slots.slot[value]
        landings[message, chunk] = chunk, False
        slots.slot[message] = chunk
    else:
        free = slots.find_free()
        landings[message, chunk] = free, False
        slots.slot[message] = free


def _add_up(use: _Use, slots: _Slots, rank: int, moment: float, levels: Sequence[int]) -> Iterator[_Row]:
    """The additions inside of a rank that bring a sum into the chunk's slot."""
    chunk, in_slot = slots.chunk, slots.list_values(slots.chunk)
    for value in sorted(use.values - in_slot):
        if value not in slots.slot or not in_slot <= use.values:
            raise _NoSchedule(Sentence("rank {rank} needs a value again that it has added to", rank=rank))
        after = -1
        if value >= 0:
            after = levels[value]
        step = max(slots.read, min(after + 1.0, moment - 0.5))
        yield _Row(step, rank, rank, slots.slot[value], chunk, bool(slots.list_values(chunk)))
        slots.slot[value] = chunk
