"""From a Schedule to an MSCCL program that real GPUs run.

Every transfer between ranks becomes a message: `s` at its sender, `r` (copy) or `rrc` (reduce) at its receiver;
neighbouring chunks of one step travel as one. Each connection (peer, channel) gets a thread block; where a gpu sends on
what it has just received, both connections share one and the pair is fused (`rcs`, `rrcs`), as in NCCL's own rings.
Reads come before writes within a step, and whatever a step must not overtake is written as a dependency; several of
them as `nop`s in front, as the runtime wants.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...collective import get_collective
from ...errors import FormatError, ScheduleError, describe_unknown
from ...schedule import Schedule
from ...steps import Step
from .interpreter import COLLECTIVES, BufferLayout, interpret
from .msccl_program import MAX_CHANNEL_BLOCKS, MAX_COUNT, Block, GpuProgram, Instruction, Program, describe_excess

_MAX_TRANSFERS = 2_000_000
_SLOTS_IN_FLIGHT = 4  # messages that a connection holds under the Simple protocol (NCCL_STEPS / MSCCL_SLICESTEPS)

Span = tuple[str, int]  # buffer, offset


@dataclass
class Operation:
    """One instruction to be.

    Attributes:
        gpu: whose it is.
        type: MSCCL's word, a key of `TYPES`.
        peer: rank at the other end of its connection; -1: local.
        channel: of its connection.
        src: (buffer, offset in chunks) that is read.
        dst: (buffer, offset in chunks) that is written.
        count: chunks.
        step: of the schedule, from 0.
    """

    gpu: int
    type: str
    peer: int
    channel: int
    src: Span
    dst: Span
    count: int
    step: int = 0

    def reads(self) -> list[Span]:
        spans = []
        if self.type in ("s", "cpy", "re"):
            spans = [self.src]
        spans += [self.dst] if self.type in ("re", "rrc") else []
        return [(b, o + k) for b, o in spans for k in range(self.count)]

    def writes(self) -> list[Span]:
        if self.type == "s":
            return []
        return [(self.dst[0], self.dst[1] + k) for k in range(self.count)]


def compile_schedule(
    schedule: Schedule, *, name: str | None = None, protocol: str = "Simple", inplace: bool | None = None
) -> Program:
    """Compile a schedule to a program, checked against the runtime's limits and run on symbols before it is returned.

    Args:
        schedule: What is compiled.
        name: Of the program; that of the schedule unless given.
        protocol: Simple, LL or LL128.
        inplace: Input and output share memory (the default, except for alltoall which has no such form).

    Returns:
        The program.

    Raises:
        ScheduleError: For a schedule that MSCCL cannot express.
        FormatError: If the schedule is wrong in itself.
    """
    kind = get_collective(schedule.collective)
    _require_expressible(schedule, kind.name, protocol)
    is_inplace = not kind.has_separate_result and (inplace is None or inplace)
    buffers = BufferLayout(kind, schedule.ranks, schedule.chunks, schedule.root, is_inplace)
    operations = list(_list_operations(schedule, _Memory(schedule, buffers)))
    # A block that passes on what it receives saves a wait, but a send behind a receive can close a circle. Then sends
    # and receives get separate blocks, as long as the runtime has enough of them.
    programs = (_assemble(schedule, operations, pairing) for pairing in (True, False))
    return _choose_first_right(schedule, programs, buffers, (name or schedule.name, protocol, (is_inplace,)))


def _choose_first_right(
    schedule: Schedule, programs: Iterator[Program], buffers: BufferLayout, head: tuple[str, str, tuple[bool, ...]]
) -> Program:
    """The first program, with name, protocol and layouts of `head`, that is right; else what is wrong with the
    first."""
    failed: FormatError | None = None
    for program in programs:
        program.name, program.protocol, program.layouts = head
        too_much = describe_excess(program)
        if too_much is not None:
            raise ScheduleError("{label} is beyond MSCCL: {too_much}", label=schedule.label, too_much=too_much)
        try:
            interpret(program, schedule.label, buffers, depth=_SLOTS_IN_FLIGHT)
        except FormatError as error:
            failed = failed or error
        else:
            return program
    assert failed is not None
    raise failed


def _require_expressible(schedule: Schedule, kind: str, protocol: str) -> None:
    label = schedule.label
    if kind not in COLLECTIVES:
        known = describe_unknown("collective", kind, COLLECTIVES)
        raise ScheduleError("{label}: MSCCL has no such collective: {unknown}", label=label, unknown=known)
    if schedule.endpoints > schedule.ranks:
        message = "{label} has {helpers} helper endpoints; MSCCL runs on the ranks alone"
        raise ScheduleError(message, label=label, helpers=schedule.endpoints - schedule.ranks)
    if protocol not in ("Simple", "LL", "LL128"):
        raise ScheduleError(describe_unknown("protocol", protocol, ("Simple", "LL", "LL128")))
    if len(schedule) > _MAX_TRANSFERS:
        message = "{label} has {transfers:,} transfers; a program of the runtime has at most {most:,}"
        raise ScheduleError(message, label=label, transfers=len(schedule), most=_MAX_TRANSFERS)


class _Memory:
    """Where the slots of a schedule lie. Out of place the input stays as it is: the work is done in the output or in
    scratch."""

    def __init__(self, schedule: Schedule, buffers: BufferLayout):
        self.schedule, self.buffers = schedule, buffers
        kind = buffers.kind
        self.natural = kind.slots(schedule.chunks)
        touched = kind.has_separate_result and any((p.into < schedule.chunks).any() for p in schedule.patterns)
        small = kind.after in ("own", "root")
        self.work = "i" if kind.reduces else "o"
        self.moved = False  # slots 0..chunks-1 lie elsewhere than the input
        if kind.has_separate_result:
            self.work, self.moved = ("s", True) if touched else ("i", False)
        elif not buffers.inplace:
            self.work, self.moved = ("s" if small else "o"), True
        self.offset = schedule.chunks if self.work == "s" else 0

    def span(self, slot: int) -> Span:
        if slot < self.schedule.chunks:
            return self.work, slot
        if slot < self.natural:
            return "o", slot - self.schedule.chunks
        return "s", slot - self.natural + self.offset

    def prologue(self) -> Iterator[tuple[int, Span, Span]]:
        """(gpu, from, to): the input goes to where the work is done."""
        if self.moved:
            for (gpu, buffer, offset), _, slot in self.buffers.start():
                yield gpu, (buffer, offset), self.span(slot)

    def epilogue(self) -> Iterator[tuple[int, Span, Span]]:
        """(gpu, from, to): results that were made in scratch go to the output."""
        if self.work == "s" and not self.buffers.kind.has_separate_result:
            for (gpu, buffer, offset), slot, _, _ in self.buffers.end():
                yield gpu, self.span(slot), (buffer, offset)


# ---- operations in the order of the steps


def _list_operations(schedule: Schedule, memory: _Memory) -> Iterator[Operation]:
    """All instructions, in an order in which they may run: in each step what is sent, then what is local, then what is
    received."""
    yield from _list_copies(memory.prologue(), -1)
    for number, step in enumerate(schedule.each_step()):
        messages = list(_merge_messages(step, memory))
        for src, dst, channel, a, b, count, _ in messages:
            yield Operation(src, "s", dst, channel, a, b, count, number)
        yield from _list_local_copies(step, memory, number)
        for src, dst, channel, a, b, count, reduces in messages:
            yield Operation(dst, "rrc" if reduces else "r", src, channel, b if reduces else a, b, count, number)
    yield from _list_copies(memory.epilogue(), schedule.steps)


def _list_copies(moves: Iterator[tuple[int, Span, Span]], number: int) -> Iterator[Operation]:
    for gpu, a, b, count in _split_runs(sorted(moves)):
        yield Operation(gpu, "cpy", -1, 0, a, b, count, number)


def _split_runs(moves: list[tuple[Any, Span, Span]]) -> Iterator[tuple[Any, Span, Span, int]]:
    """Neighbouring moves of the same key joined, up to the runtime's largest count."""
    start = 0
    while start < len(moves):
        key, (a, i), (b, j) = moves[start]
        count = 1
        while (
            start + count < len(moves)
            and count < MAX_COUNT
            and moves[start + count] == (key, (a, i + count), (b, j + count))
        ):
            count += 1
        yield key, (a, i), (b, j), count
        start += count


def _merge_messages(step: Step, memory: _Memory) -> Iterator[tuple[int, int, int, Span, Span, int, bool]]:
    """(src, dst, channel, from, to, count, reduces) of a step, connections in the order of their first row."""
    away = np.flatnonzero(step.src != step.dst)
    groups: dict[tuple[int, int, int, bool], list[tuple[Any, Span, Span]]] = defaultdict(list)
    for k in away.tolist():
        key = int(step.src[k]), int(step.dst[k]), int(step.channel[k]), bool(step.reduce[k])
        groups[key].append((key, memory.span(int(step.chunk[k])), memory.span(int(step.into[k]))))
    for moves in groups.values():
        for key, a, b, count in _split_runs(sorted(moves)):
            yield (*key[:3], a, b, count, key[3])


def _list_local_copies(step: Step, memory: _Memory, number: int) -> Iterator[Operation]:
    """Copies and reduces within a gpu: who reads goes before who overwrites; in a circle, values go through scratch
    first."""
    todo = [_build_local_operation(step, k, memory, number) for k in np.flatnonzero(step.src == step.dst).tolist()]
    aside = memory.schedule.slots
    while todo:
        free = _free(todo)
        if free:
            yield from free
            done = set(map(id, free))
            todo = [op for op in todo if id(op) not in done]
            continue
        first, spare = todo[0], memory.span(aside)
        aside += 1
        yield Operation(first.gpu, "cpy", -1, first.channel, first.src, spare, 1, number)
        first.src = spare


def _build_local_operation(step: Step, k: int, memory: _Memory, number: int) -> Operation:
    """Transfer `k` of a step, from a gpu to itself, as one instruction."""
    kind = "cpy"
    if step.reduce[k]:
        kind = "re"
    src, dst = memory.span(int(step.chunk[k])), memory.span(int(step.into[k]))
    return Operation(int(step.src[k]), kind, -1, int(step.channel[k]), src, dst, 1, number)


def _free(todo: list[Operation]) -> list[Operation]:
    """Those that overwrite nothing that another still has to read."""
    sources = Counter((op.gpu, op.src) for op in todo)
    return [op for op in todo if sources[op.gpu, op.dst] == (op.src == op.dst)]


# ---- thread blocks and dependencies


@dataclass
class _Place:
    """An assembled operation: its thread block and step there, and for each thread block the step known to be finished
    by then."""

    block: int
    step: int
    knows: dict[int, int]


@dataclass
class _Assembly:
    """One gpu: its thread blocks, and who wrote and read each chunk last."""

    blocks: list[Block] = field(default_factory=list)
    knows: list[dict[int, int]] = field(default_factory=list)
    owner: dict[tuple[str, int, int], int] = field(default_factory=dict)
    writer: dict[Span, _Place] = field(default_factory=dict)
    readers: dict[Span, list[_Place]] = field(default_factory=lambda: defaultdict(list))
    last: dict[int, tuple[Operation, _Place]] = field(default_factory=dict)

    def block(self, side: str, peer: int, channel: int) -> int:
        """The thread block of a connection, made when first needed."""
        key = side, peer, channel
        if key not in self.owner:
            self.blocks.append(Block(-1, -1, channel))
            self.knows.append({})
            self.owner[key] = len(self.blocks) - 1
        number = self.owner[key]
        if side == "send":
            self.blocks[number].send = peer
        elif side == "recv":
            self.blocks[number].recv = peer
        return number


def _assemble(schedule: Schedule, operations: list[Operation], pairing: bool) -> Program:
    gpus = [_Assembly() for _ in range(schedule.ranks)]
    for gpu, channel, peer_from, peer_to in _list_pairs(operations, pairing):
        shared = gpus[gpu].block("recv", peer_from, channel)
        gpus[gpu].owner["send", peer_to, channel] = shared
        gpus[gpu].blocks[shared].send = peer_to
    for op in operations:
        _place(gpus[op.gpu], op)
    sizes = [_list_sizes(operations, g) for g in range(schedule.ranks)]
    programs = [GpuProgram(size, gpu.blocks) for size, gpu in zip(sizes, gpus, strict=True)]
    for part in programs:
        for block in part.blocks:
            for step in block.steps:
                if step.waits is not None:
                    part.blocks[step.waits[0]].steps[step.waits[1]].signals = True
    return Program("", schedule.collective, schedule.chunks, programs, root=schedule.root)


def _list_sizes(operations: list[Operation], gpu: int) -> dict[str, int]:
    """Chunks in use of each buffer."""
    spans = [span for op in operations if op.gpu == gpu for span in op.reads() + op.writes()]
    return {b: max((offset + 1 for buffer, offset in spans if buffer == b), default=0) for b in "ios"}


def _list_pairs(operations: list[Operation], fuse: bool) -> Iterator[tuple[int, int, int, int]]:
    """(gpu, channel, peer it receives from, peer it sends to) that share a thread block: those that pass most on, and,
    where a channel would have too many thread blocks, others in the order in which they are first used."""
    taken: set[tuple[int, int, str, int]] = set()
    passed = {}
    if fuse:
        passed = _count_forwards(operations)
    for gpu, channel, a, b in sorted(passed, key=lambda k: -passed[k]):
        if not {(gpu, channel, "recv", a), (gpu, channel, "send", b)} & taken:
            taken |= {(gpu, channel, "recv", a), (gpu, channel, "send", b)}
            yield gpu, channel, a, b
    for (gpu, channel), peers in _list_peers(operations).items():
        sends = [p for p in peers["send"] if (gpu, channel, "send", p) not in taken]
        receives = [p for p in peers["recv"] if (gpu, channel, "recv", p) not in taken]
        shared = len(peers["send"]) - len(sends)
        if len(sends) + len(receives) + shared >= MAX_CHANNEL_BLOCKS:
            yield from ((gpu, channel, a, b) for a, b in zip(receives, sends, strict=False))


def _list_peers(operations: list[Operation]) -> dict[tuple[int, int], dict[str, dict[int, None]]]:
    """For each (gpu, channel) whom it sends to and receives from, in the order in which they are first used."""
    ends: dict[tuple[int, int], dict[str, dict[int, None]]] = defaultdict(lambda: {"send": {}, "recv": {}})
    for op in operations:
        if op.peer >= 0:
            ends[op.gpu, op.channel]["send" if op.type == "s" else "recv"][op.peer] = None
    return ends


def _count_forwards(operations: list[Operation]) -> dict[tuple[int, int, int, int], int]:
    """How often a gpu, on a channel, passes on to one peer just what it received from another."""
    passed: dict[tuple[int, int, int, int], int] = defaultdict(int)
    holds: dict[tuple[int, Span], Operation] = {}
    for op in operations:
        before = None
        if op.type == "s":
            before = holds.get((op.gpu, op.src))
        if before is not None and before.peer >= 0 and _has_same_span(before, op):
            passed[op.gpu, op.channel, before.peer, op.peer] += 1
        holds.update(((op.gpu, span), op) for span in op.writes())
    return passed


def _has_same_span(received: Operation, sent: Operation) -> bool:
    return (received.dst, received.count, received.channel) == (sent.src, sent.count, sent.channel)


def _place(gpu: _Assembly, op: Operation) -> None:
    """Append an operation to its thread block, with the dependencies it needs; fuse a send into the receive just before
    it."""
    side = "recv"
    if op.peer < 0:
        side = "local"
    elif op.type == "s":
        side = "send"
    number = gpu.block(side, op.peer, op.channel)
    before = _list_predecessors(gpu, op)
    previous = gpu.last.get(number)
    # A receive directly followed by the send of the same data is one instruction of MSCCL, which saves a step.
    if op.type == "s" and previous is not None and _is_fitting(previous, op, before):
        received, position = previous
        gpu.blocks[number].steps[position.step].type = "rcs" if received.type == "r" else "rrcs"
        gpu.last.pop(number)
    else:
        position = _append(gpu, op, number, before)
        gpu.last[number] = (op, position)
    for span in op.reads():
        gpu.readers[span].append(position)
    # What was read before must not be overwritten earlier, and what was written is known from here on.
    for span in op.writes():
        gpu.writer[span] = position
        gpu.readers[span] = []


def _append(gpu: _Assembly, op: Operation, number: int, before: list[_Place]) -> _Place:
    """Its instruction waits for the last of its dependencies; `nop`s in front of it wait for the others."""
    block, knows = gpu.blocks[number], gpu.knows[number]
    for other, step in _list_missing(before, knows, number):
        block.steps.append(Instruction("nop", ("i", -1), ("o", -1), 0, (other, step)))
    waits = None
    if block.steps and block.steps[-1].type == "nop":
        waits = block.steps.pop().waits
    block.steps.append(Instruction(op.type, op.src, op.dst, op.count, waits))
    return _Place(number, len(block.steps) - 1, dict(knows))


def _list_predecessors(gpu: _Assembly, op: Operation) -> list[_Place]:
    """What must be finished before an operation: who wrote what it reads or overwrites, who read what it overwrites."""
    predecessors = [gpu.writer[span] for span in op.reads() + op.writes() if span in gpu.writer]
    for span in op.writes():
        predecessors += gpu.readers[span]
    return predecessors


def _is_fitting(previous: tuple[Operation, _Place], op: Operation, before: list[_Place]) -> bool:
    """Does a send pass on exactly what its thread block's last instruction received?"""
    received, position = previous
    same = (received.dst, received.count) == (op.src, op.count)
    return received.type in ("r", "rrc") and same and all(p is position for p in before)


def _list_missing(before: list[_Place], knows: dict[int, int], block_number: int) -> list[tuple[int, int]]:
    """(thread block, step) to wait for that a thread block does not know to be finished; what follows from another one
    is left out."""
    # `knows` is a vector clock: for each thread block the last step that is known to be finished. Who waits for a
    # block also learns all that this block has waited for.
    predecessors: dict[int, _Place] = {}
    for predecessor in before:
        if predecessor.block != block_number and knows.get(predecessor.block, -1) < predecessor.step:
            known = predecessors.get(predecessor.block)
            if known is None or known.step < predecessor.step:
                predecessors[predecessor.block] = predecessor
    needed = []
    for block, predecessor in predecessors.items():
        if not any(
            other is not predecessor and other.knows.get(block, -1) >= predecessor.step
            for other in predecessors.values()
        ):
            needed.append((block, predecessor.step))
    for block, predecessor in predecessors.items():
        for other, step in {**predecessor.knows, block: predecessor.step}.items():
            knows[other] = max(knows.get(other, -1), step)
    return sorted(needed)
