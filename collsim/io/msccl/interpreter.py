"""Run an MSCCL program on symbols: does it end, is everything it reads defined, and is the result right?

Rules (microsoft/msccl src/collectives/device/msccl_interpreter.h): a thread block runs its steps in order; messages
between a sender, a receiver and a channel are first in, first out; a step waits until the step it depends on is
finished. Each rank's chunk is a random number, and sums beyond 2^63 stay there, as in `verify`: a wrong result passes
with a probability of at most 2^-k for weights of k bits (`collsim.verify`).
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ...collective import EVERY, NOTHING, Collective, get_collective
from ...errors import FormatError, Sentence, Words, join_words
from ...files import FilePath, refuse
from ...verify.contributions import MANY, Terms, add_terms, draw_weights, format_terms
from .msccl_program import BUFFERS, Block, Instruction, Program, format_position

#: A place in a gpu's memory, after in-place buffers became one: (gpu, buffer, offset).
Cell = tuple[int, str, int]
#: An instruction: (gpu, thread block, step).
Spot = tuple[int, int, int]
_WORDS = {
    "reducescatter": "reduce_scatter",
    "all_reduce": "allreduce",
    "all_gather": "allgather",
    "all_to_all": "alltoall",
}
#: Who goes first: a number for each (gpu, thread block).
Order = Callable[[tuple[int, int]], float]
#: Collectives that MSCCL's `coll` knows.
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall")
_UNMATCHED = "unmatched send: gpu {peer} never receives this message on channel {channel}"


@dataclass(frozen=True)
class BufferLayout:
    """Where a collective's data lie in the buffers of a program.

    Attributes:
        kind: the collective.
        ranks: number of them.
        chunks: of the whole operation.
        root: the root rank.
        inplace: input and output share memory.
    """

    kind: Collective
    ranks: int
    chunks: int
    root: int
    inplace: bool

    @property
    def per(self) -> int:
        return self.chunks // self.ranks

    def cell(self, gpu: int, buffer: str, offset: int) -> Cell:
        """The memory behind an operand: in place, one rank's block lies inside the whole array.

        Args:
            gpu: Of the operand.
            buffer: "i" for input, "o" for output, "s" for scratch.
            offset: In chunks.
        """
        if not self.inplace or buffer == "s":
            return gpu, buffer, offset
        if self.kind.name == "reduce_scatter":
            return gpu, "i", offset + (gpu * self.per if buffer == "o" else 0)
        return gpu, "o", offset + (gpu * self.per if buffer == "i" and self.kind.before == "own" else 0)

    def size(self, buffer: str) -> int:
        """Chunks that the collective itself gives a buffer (scratch: none).

        Args:
            buffer: `i`, `o` or `s`.
        """
        small = {"i": self.kind.before == "own", "o": self.kind.after == "own"}
        if buffer == "s":
            return 0
        if small[buffer]:
            return self.per
        return self.chunks

    def start(self) -> Iterator[tuple[Cell, int, int]]:
        """(cell, rank, slot) of everything that is there before the first step."""
        initial = self.kind.mark_initial_slots(self.ranks, self.chunks, self.root)
        for rank, slot in zip(*initial.nonzero(), strict=True):
            offset = int(slot) - (int(rank) * self.per if self.kind.before == "own" else 0)
            yield self.cell(int(rank), "i", offset), int(rank), int(slot)

    def end(self) -> Iterator[tuple[Cell, int, int, int]]:
        """(cell, slot, contributor, chunk) of everything that the collective asks for afterwards."""
        contributor, chunk = self.kind.find_expected_contributions(self.ranks, self.chunks, self.root)
        for rank, slot in zip(*(contributor != NOTHING).nonzero(), strict=True):
            r, s = int(rank), int(slot)
            before = {"peer": self.chunks, "own": r * self.per}.get(self.kind.after, 0)
            yield self.cell(r, "o", s - before), s, int(contributor[r, s]), int(chunk[r, s])


@dataclass(frozen=True)
class InterpretedRun:
    """What happened when a program was interpreted.

    Attributes:
        buffers: Where each buffer begins in the row of slots.
        order: The instructions in an order in which they can run, each with the sender of the message that it received.
    """

    buffers: BufferLayout
    order: list[tuple[Spot, Spot | None]]


def find_collective_kind(program: Program, path: FilePath, name: str | None = None) -> Collective:
    """The collective that a program is for.

    Args:
        program: whose attribute `coll` says it.
        path: of its file, for errors.
        name: of a collective, in place of what the file says.

    Raises:
        FormatError: For `custom` and others that say nothing about a result.
    """
    word = (name or program.collective).lower()
    word = _WORDS.get(word, word)
    if word not in COLLECTIVES:
        message = "coll={word!r} does not say what the result should be; give collective=, one of {collectives}"
        refuse(path, "<algo>", message, word=word, collectives=", ".join(COLLECTIVES))
    kind = get_collective(word)
    if kind.has_blocks and program.chunks % program.ranks:
        message = "nchunksperloop={chunks} is not a multiple of ngpus={ranks}, which {word} needs"
        refuse(path, "<algo>", message, chunks=program.chunks, ranks=program.ranks, word=word)
    return kind


def interpret(
    program: Program, path: FilePath, buffers: BufferLayout, depth: int | None = None, first: Order | None = None
) -> InterpretedRun:
    """Run a program once.

    Args:
        program: What runs.
        path: Of its file, for errors.
        buffers: where the data of its collective lie.
        depth: Number of messages that a connection holds before a sender waits (None: any number).
        first: Of the thread blocks that can run, the one for which this is smallest runs; without it, in turns.

    Returns:
        What happened.

    Raises:
        FormatError: Naming gpu, thread block and step for a deadlock, a message nobody receives, a read of what was
            never written, and a wrong result.
    """
    machine = _Machine(program, path, buffers, depth)
    machine.run(first)
    machine.require_finished()
    machine.require_result()
    return InterpretedRun(buffers, machine.order)


class _Machine:
    def __init__(self, program: Program, path: FilePath, buffers: BufferLayout, depth: int | None):
        self.program, self.path, self.buffers, self.depth = program, path, buffers, depth
        self.blocks: dict[tuple[int, int], Block] = {
            (g, b): tb for g, gpu in enumerate(program.gpus) for b, tb in enumerate(gpu.blocks)
        }
        self.now = dict.fromkeys(self.blocks, 0)
        self.flying: dict[tuple[int, int, int], deque[tuple[Spot, list[int]]]] = {}
        self.waiting: dict[object, list[tuple[int, int]]] = {}
        self.order: list[tuple[Spot, Spot | None]] = []
        self.writer: dict[Cell, Spot] = {}
        self.owners: dict[tuple[str, int, int, int], tuple[int, int]] = {}
        cells = itertools.product(range(buffers.ranks), range(buffers.chunks))
        # A random number for each contribution: a sum of them says which contributions it holds, with no list to
        # carry along.
        weights = draw_weights(buffers.ranks, buffers.ranks * buffers.chunks).tolist()
        self.weight: dict[tuple[int, int], int] = dict(zip(cells, weights, strict=True))
        self.value: dict[Cell, int] = {cell: self.weight[r, s] for cell, r, s in buffers.start()}

    def run(self, first: Order | None) -> None:
        """Let every thread block go on until it is blocked, or (with an order) let the first one make a step at a
        time."""
        # Without an order, thread blocks queue up: the count is the number in the queue. A heap does for both.
        turn = itertools.count()
        ready = [(first(key) if first else next(turn), key) for key in self.blocks]
        heapq.heapify(ready)
        while ready:
            _, key = heapq.heappop(ready)
            for spot in self.runnable(key):
                self.execute(spot)
                for event in self.events(spot):
                    for other in self.waiting.pop(event, ()):
                        heapq.heappush(ready, (first(other) if first else next(turn), other))
                # With an order, another block may come before this one after each single step.
                if first:
                    heapq.heappush(ready, (first(key), key))
                    break

    def runnable(self, key: tuple[int, int]) -> Iterator[Spot]:
        """The instructions of a thread block that can run, in order; where it has to stop, it is among the waiting."""
        while self.now[key] < len(self.blocks[key].steps):
            spot = (*key, self.now[key])
            reason = self.blocked(spot)
            if reason is not None:
                self.waiting.setdefault(reason, []).append(key)
                return
            self.now[key] += 1
            yield spot

    def blocked(self, spot: Spot) -> Any:
        """What an instruction waits for: a step, a message, room in a connection; None if it can run."""
        g, b, s = spot
        tb = self.blocks[g, b]
        step = tb.steps[s]
        # `now` is the number of the next step of a block, so the step waited for is done where it is beyond it.
        if step.waits is not None and self.now[g, step.waits[0]] <= step.waits[1]:
            return ("step", g, *step.waits)
        if step.receives and not self.flying.get((tb.recv, g, tb.channel)):
            return ("message", tb.recv, g, tb.channel)
        if step.sends and self.depth is not None and len(self.flying.get((g, tb.send, tb.channel), ())) >= self.depth:
            return ("room", g, tb.send, tb.channel)
        return None

    def events(self, spot: Spot) -> list[object]:
        """What an instruction that has just run makes possible."""
        g, b, s = spot
        tb = self.blocks[g, b]
        step = tb.steps[s]
        done: list[object] = [("step", *spot)]
        if step.sends:
            done.append(("message", g, tb.send, tb.channel))
        if step.receives:
            done.append(("room", tb.recv, g, tb.channel))
        return done

    def execute(self, spot: Spot) -> None:
        g, b, s = spot
        tb = self.blocks[g, b]
        step = tb.steps[s]
        # A message is taken in before anything is read: a fused instruction reads what it combines with the message.
        sender, moving = self.receive(spot, tb) if step.receives else (None, [])
        if step.reads:
            read = self.read(spot, step, step.src, "srcoff")
            if step.receives:
                moving = _add_contributions(moving, read)
            else:
                moving = read
        if step.type in ("re", "ra"):
            moving = _add_contributions(moving, self.read(spot, step, step.dst, "dstoff"))
        if step.writes:
            cells = self.cells(spot, step, step.dst, "dstoff")
            self.value.update(zip(cells, moving, strict=True))
            self.writer.update(dict.fromkeys(cells, spot))
        if step.sends:
            self.flying.setdefault((g, tb.send, tb.channel), deque()).append((spot, moving))
        self.order.append((spot, sender))

    def receive(self, spot: Spot, tb: Block) -> tuple[Spot, list[int]]:
        """The message that comes next, and the instruction that sent it."""
        sender, moving = self.flying[tb.recv, spot[0], tb.channel].popleft()
        count = tb.steps[spot[2]].count
        if len(moving) != count:
            message = "receives {count} chunks, but {sender} sends {sent}"
            refuse(
                self.path,
                format_position(*spot),
                message,
                count=count,
                sender=format_position(*sender),
                sent=len(moving),
            )
        return sender, moving

    def cells(self, spot: Spot, step: Instruction, operand: tuple[str, int], name: str) -> list[Cell]:
        buffer, offset = operand
        size = max(self.program.gpus[spot[0]].sizes[buffer], self.buffers.size(buffer))
        if offset + step.count > size:
            message = Sentence(
                "{name}={offset} with cnt={count} is beyond the {buffer} buffer, which has {size} chunks",
                name=name,
                offset=offset,
                count=step.count,
                buffer=BUFFERS[buffer],
                size=size,
            )
            refuse(self.path, format_position(*spot), message)
        return [self.buffers.cell(spot[0], buffer, offset + k) for k in range(step.count)]

    def read(self, spot: Spot, step: Instruction, operand: tuple[str, int], name: str) -> list[int]:
        cells = self.cells(spot, step, operand, name)
        missing = next((k for k, cell in enumerate(cells) if cell not in self.value), None)
        if missing is not None:
            self.refuse_unwritten(spot, step, self.name_chunk(operand[0], operand[1] + missing))
        return [self.value[cell] for cell in cells]

    def refuse_unwritten(self, spot: Spot, step: Instruction, where: Words) -> NoReturn:
        message = "undefined read: {type} reads {where}, in which nothing was written yet"
        refuse(self.path, format_position(*spot), message, type=step.type, where=where)

    @staticmethod
    def name_chunk(buffer: str, chunk: int) -> Sentence:
        return Sentence("chunk {chunk} of the {buffer} buffer", chunk=chunk, buffer=BUFFERS[buffer])

    # ---- what can be wrong

    def require_finished(self) -> None:
        # Messages that nobody received come second: in a deadlock many are left, and say nothing of its cause.
        stuck = next((key for key, tb in self.blocks.items() if self.now[key] < len(tb.steps)), None)
        if stuck is not None:
            self.explain(stuck)
        for (_, peer, channel), queue in self.flying.items():
            if not queue:
                continue
            refuse(self.path, format_position(*queue[0][0]), _UNMATCHED, peer=peer, channel=channel)

    def explain(self, stuck: tuple[int, int]) -> None:
        """Follow who waits for whom until somebody waits for nothing, or for one who was there before."""
        chain: dict[tuple[int, int], int] = {}
        says: list[Words] = []
        key = stuck
        # Everybody waits for somebody here, so following the waits must close a circle.
        while key not in chain:
            chain[key] = len(chain)
            spot = (*key, self.now[key])
            message, key = self.waits_for(spot)
            says.append(
                Sentence(
                    "{at} ({type}) waits for {reason}",
                    at=format_position(*spot),
                    type=self.step(spot).type,
                    reason=message,
                )
            )
        circle = says[chain[key] :]
        lines = circle
        if len(circle) > 6:
            lines = [*circle[:5], Sentence("... {more} more", more=len(circle) - 5)]
        raise FormatError(
            "{path}: deadlock: {shown}; and so round in a circle",
            path=Path(self.path).name,
            shown=join_words(lines, "{first}; {then}"),
        )

    def waits_for(self, spot: Spot) -> tuple[Sentence, tuple[int, int]]:
        """What a blocked instruction waits for, and the thread block that should bring it. Raises FormatError where
        there is none."""
        what, a, b, c = self.blocked(spot)
        if what == "step":
            return Sentence("step {number} of thread block {block}", number=c, block=b), (a, b)
        if what == "message":
            return Sentence("a message from gpu {gpu} on channel {channel}", gpu=a, channel=c), self.sender(
                spot, a, b, c
            )
        receiver = self.unfinished(b, a, c, "recv")
        if receiver is None:
            refuse(self.path, format_position(*spot), _UNMATCHED, peer=b, channel=c)
        room = "room on channel {channel} to gpu {gpu}, which holds {depth} messages"
        return Sentence(room, channel=c, gpu=b, depth=self.depth), receiver

    def sender(self, spot: Spot, gpu: int, receiver: int, channel: int) -> tuple[int, int]:
        """The thread block of `gpu` that should send what an instruction waits for."""
        if (sender := self.unfinished(gpu, receiver, channel, "send")) is None:
            message = "unmatched receive: {type} waits for a message that gpu {gpu} never sends on channel {channel}"
            refuse(self.path, format_position(*spot), message, type=self.step(spot).type, gpu=gpu, channel=channel)
        return sender

    def unfinished(self, gpu: int, peer: int, channel: int, side: str) -> tuple[int, int] | None:
        """The thread block of `gpu` that has this connection, if it still has steps to run."""
        key = self.owner(gpu, peer, channel, side)
        if key is None or self.now[key] == len(self.blocks[key].steps):
            return None
        return key

    def step(self, spot: Spot) -> Instruction:
        g, b, s = spot
        return self.blocks[g, b].steps[s]

    def owner(self, gpu: int, peer: int, channel: int, side: str) -> tuple[int, int] | None:
        """The thread block of `gpu` that has this connection."""
        if not self.owners:
            blocks = self.blocks.items()
            self.owners = {(end, g, peer, tb.channel): (g, b) for (g, b), tb in blocks for end, peer in tb.ends()}
        return self.owners.get((side, gpu, peer, channel))

    def require_result(self) -> None:
        total = [sum(self.weight[r, s] for r in range(self.buffers.ranks)) for s in range(self.buffers.chunks)]
        for cell, _, contributor, chunk in self.buffers.end():
            if contributor == EVERY:
                want = total[chunk]
            else:
                want = self.weight[contributor, chunk]
            if self.value.get(cell) != want:
                self.wrong(cell, contributor, chunk)

    def wrong(self, cell: Cell, contributor: int, chunk: int) -> None:
        gpu, buffer, offset = cell
        of = Sentence("every gpu, added")
        if contributor != EVERY:
            of = format_position(contributor)
        what = self.name_chunk(buffer, offset)
        wants = Sentence("{name} wants chunk {chunk} of {of}", name=self.buffers.kind.name, chunk=chunk, of=of)
        last = self.writer.get(cell)
        if cell not in self.value:
            message = "wrong result: nothing writes {what}; {wants} there"
            refuse(self.path, format_position(gpu), message, what=what, wants=wants)
        has = _count_contributions(self.program, self.buffers, self.order, cell)
        where, by = format_position(gpu), Sentence("no step writes it")
        if last is not None:
            where, by = format_position(*last), Sentence("this step writes it last")
        message = "wrong result: {what} ends as {has}, but {wants}; {by}"
        refuse(self.path, where, message, what=what, has=has, wants=wants, by=by)


def _count_contributions(
    program: Program, buffers: BufferLayout, order: list[tuple[Spot, Spot | None]], target: Cell
) -> Words:
    """What a cell holds at the end, exactly: `2·r0 + r1`; only the values that can reach it are followed."""
    value: dict[Cell, Terms] = {cell: {(r, s): 1} for cell, r, s in buffers.start()}
    sent: dict[Spot, list[Terms]] = {}
    work = 0
    for spot, sender in order:
        g, b, s = spot
        step = program.gpus[g].blocks[b].steps[s]
        dst = [buffers.cell(g, step.dst[0], step.dst[1] + k) for k in range(step.count)]
        parts = []
        if sender is not None:
            parts = [sent[sender]]
        if step.reads:
            parts.append([value.get(buffers.cell(g, step.src[0], step.src[1] + k), {}) for k in range(step.count)])
        parts += [[value.get(c, {}) for c in dst]] if step.type in ("re", "ra") else []
        moving = []
        if parts:
            moving = [add_terms(terms) for terms in zip(*parts, strict=True)]
        work += sum(map(len, moving))
        # It is only for the message, and a second of work is enough for that.
        if work > 5_000_000:
            return Sentence("something else")
        if step.writes:
            value.update(zip(dst, moving, strict=True))
        if step.sends:
            sent[spot] = moving
    return format_terms(value[target])


def _add_contributions(a: list[int], b: list[int]) -> list[int]:
    return [min(MANY, x + y) for x, y in zip(a, b, strict=True)]
