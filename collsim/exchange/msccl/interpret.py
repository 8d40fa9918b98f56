"""Run an MSCCL program on symbols: does it end, is everything it reads defined, and is the result right?

Rules (microsoft/msccl src/collectives/device/msccl_interpreter.h): a thread block runs its steps in order; messages
between a sender, a receiver and a channel are first in, first out; a step waits until the step it depends on is
finished. Each rank's chunk is a random 64-bit number and sums are modulo 2^64, as in `verify`, so a contribution that
is there twice is seen.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...collective import EVERY, NOTHING, Collective, collective
from ...errors import FormatError, Sentence, Words, in_a_row
from ...files import refuse
from .program import BUFFERS, Block, Instruction, Program, at

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
_MASK = 2**64 - 1
_MANY = 10**9


@dataclass(frozen=True)
class Meaning:
    """Where a collective's data lie in the buffers of a program.

    Attributes:
        kind, ranks, chunks, root: the collective (chunks: of the whole operation).
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
        """The memory behind an operand: in place, one rank's block lies inside the whole array."""
        if not self.inplace or buffer == "s":
            return gpu, buffer, offset
        if self.kind.name == "reduce_scatter":
            return gpu, "i", offset + (gpu * self.per if buffer == "o" else 0)
        return gpu, "o", offset + (gpu * self.per if buffer == "i" and self.kind.before == "own" else 0)

    def size(self, buffer: str) -> int:
        """Chunks that the collective itself gives a buffer (scratch: none)."""
        small = {"i": self.kind.before == "own", "o": self.kind.after == "own"}
        return 0 if buffer == "s" else self.per if small[buffer] else self.chunks

    def start(self) -> Iterator[tuple[Cell, int, int]]:
        """(cell, rank, slot) of everything that is there before the first step."""
        held = self.kind.held(self.ranks, self.chunks, self.root)
        for rank, slot in zip(*held.nonzero(), strict=True):
            offset = int(slot) - (int(rank) * self.per if self.kind.before == "own" else 0)
            yield self.cell(int(rank), "i", offset), int(rank), int(slot)

    def end(self) -> Iterator[tuple[Cell, int, int, int]]:
        """(cell, slot, contributor, chunk) of everything that the collective asks for afterwards."""
        contributor, chunk = self.kind.wanted(self.ranks, self.chunks, self.root)
        for rank, slot in zip(*(contributor != NOTHING).nonzero(), strict=True):
            r, s = int(rank), int(slot)
            offset = (
                s - self.chunks if self.kind.after == "peer" else s - r * self.per if self.kind.after == "own" else s
            )
            yield self.cell(r, "o", offset), s, int(contributor[r, s]), int(chunk[r, s])


@dataclass(frozen=True)
class InterpretedRun:
    """What happened: the instructions in an order in which they can run, each with the sender of the message it
    received."""

    meaning: Meaning
    order: list[tuple[Spot, Spot | None]]


def meaning_of(program: Program, path: Any, name: str | None = None) -> Collective:
    """The collective that a program is for. Raises FormatError for `custom` and others that say nothing about a
    result."""
    word = (name or program.collective).lower()
    word = _WORDS.get(word, word)
    if word not in COLLECTIVES:
        refuse(
            path,
            "<algo>",
            "coll={word!r} does not say what the result should be; give collective=, one of {collectives}",
            word=word,
            collectives=", ".join(COLLECTIVES),
        )
    kind = collective(word)
    if kind.blocks and program.chunks % program.ranks:
        refuse(
            path,
            "<algo>",
            "nchunksperloop={chunks} is not a multiple of ngpus={ranks}, which {word} needs",
            chunks=program.chunks,
            ranks=program.ranks,
            word=word,
        )
    return kind


def interpret(
    program: Program, path: Any, meaning: Meaning, depth: int | None = None, first: Order | None = None
) -> InterpretedRun:
    """Run a program once.

    Args:
        depth: number of messages that a connection holds before a sender waits (None: any number).
        first: of the thread blocks that can run, the one for which this is smallest goes on; without it, in turns.

    Raises FormatError naming gpu, thread block and step for a deadlock, a message nobody receives, a read of what was
    never written, and a wrong result.
    """
    machine = _Machine(program, path, meaning, depth)
    machine.run(first)
    machine.require_finished()
    machine.require_result()
    return InterpretedRun(meaning, machine.order)


class _Machine:
    def __init__(self, program: Program, path: Any, meaning: Meaning, depth: int | None):
        self.program, self.path, self.meaning, self.depth = program, path, meaning, depth
        self.blocks: dict[tuple[int, int], Block] = {
            (g, b): tb for g, gpu in enumerate(program.gpus) for b, tb in enumerate(gpu.blocks)
        }
        self.now = dict.fromkeys(self.blocks, 0)
        self.flying: dict[tuple[int, int, int], deque[tuple[Spot, list[int]]]] = {}
        self.waiting: dict[Any, list[tuple[int, int]]] = {}
        self.order: list[tuple[Spot, Spot | None]] = []
        self.writer: dict[Cell, Spot] = {}
        self.owners: dict[tuple[str, int, int, int], tuple[int, int]] = {}
        draw = random.Random(program.chunks)
        self.weight = {(r, s): draw.getrandbits(64) for r in range(meaning.ranks) for s in range(meaning.chunks)}
        self.value: dict[Cell, int] = {cell: self.weight[r, s] for cell, r, s in meaning.start()}

    def run(self, first: Order | None) -> None:
        """Let every thread block go on until it is blocked, or (with an order) let the first one make a step at a
        time."""
        turn = itertools.count()
        ready = [(first(key) if first else next(turn), key) for key in self.blocks]
        heapq.heapify(ready)
        while ready:
            _, key = heapq.heappop(ready)
            tb = self.blocks[key]
            while self.now[key] < len(tb.steps):
                spot = (*key, self.now[key])
                reason = self.blocked(spot)
                if reason is not None:
                    self.waiting.setdefault(reason, []).append(key)
                    break
                self.execute(spot)
                self.now[key] += 1
                for event in self.events(spot):
                    for other in self.waiting.pop(event, ()):
                        heapq.heappush(ready, (first(other) if first else next(turn), other))
                if first:
                    heapq.heappush(ready, (first(key), key))
                    break

    def blocked(self, spot: Spot) -> Any:
        """What an instruction waits for: a step, a message, room in a connection; None if it can run."""
        g, b, s = spot
        tb = self.blocks[g, b]
        step = tb.steps[s]
        if step.waits is not None and self.now[g, step.waits[0]] <= step.waits[1]:
            return ("step", g, *step.waits)
        if step.receives and not self.flying.get((tb.recv, g, tb.channel)):
            return ("message", tb.recv, g, tb.channel)
        if step.sends and self.depth is not None and len(self.flying.get((g, tb.send, tb.channel), ())) >= self.depth:
            return ("room", g, tb.send, tb.channel)
        return None

    def events(self, spot: Spot) -> list[Any]:
        """What an instruction that has just run makes possible."""
        g, b, s = spot
        tb = self.blocks[g, b]
        step = tb.steps[s]
        done: list[Any] = [("step", *spot)]
        if step.sends:
            done.append(("message", g, tb.send, tb.channel))
        if step.receives:
            done.append(("room", tb.recv, g, tb.channel))
        return done

    def execute(self, spot: Spot) -> None:
        g, b, s = spot
        tb = self.blocks[g, b]
        step = tb.steps[s]
        sender = None
        moving: list[int] = []
        if step.receives:
            sender, moving = self.flying[tb.recv, g, tb.channel].popleft()
            if len(moving) != step.count:
                why = Sentence(
                    "receives {count} chunks, but {sender} sends {sent}",
                    count=step.count,
                    sender=at(*sender),
                    sent=len(moving),
                )
                refuse(self.path, at(*spot), why)
        if step.reads:
            read = self.read(spot, step, step.src, "srcoff")
            moving = [(x + y) & _MASK for x, y in zip(moving, read, strict=True)] if step.receives else read
        if step.type in ("re", "ra"):
            moving = [(x + y) & _MASK for x, y in zip(moving, self.read(spot, step, step.dst, "dstoff"), strict=True)]
        if step.writes:
            for k, cell in enumerate(self.cells(spot, step, step.dst, "dstoff")):
                self.value[cell] = moving[k]
                self.writer[cell] = spot
        if step.sends:
            self.flying.setdefault((g, tb.send, tb.channel), deque()).append((spot, moving))
        self.order.append((spot, sender))

    def cells(self, spot: Spot, step: Instruction, operand: tuple[str, int], name: str) -> list[Cell]:
        buffer, offset = operand
        size = max(self.program.gpus[spot[0]].sizes[buffer], self.meaning.size(buffer))
        if offset + step.count > size:
            why = Sentence(
                "{name}={offset} with cnt={count} is beyond the {buffer} buffer, which has {size} chunks",
                name=name,
                offset=offset,
                count=step.count,
                buffer=BUFFERS[buffer],
                size=size,
            )
            refuse(self.path, at(*spot), why)
        return [self.meaning.cell(spot[0], buffer, offset + k) for k in range(step.count)]

    def read(self, spot: Spot, step: Instruction, operand: tuple[str, int], name: str) -> list[int]:
        cells = self.cells(spot, step, operand, name)
        for k, cell in enumerate(cells):
            if cell not in self.value:
                where = Sentence(
                    "chunk {chunk} of the {buffer} buffer", chunk=operand[1] + k, buffer=BUFFERS[operand[0]]
                )
                refuse(
                    self.path,
                    at(*spot),
                    "undefined read: {type} reads {where}, in which nothing was written yet",
                    type=step.type,
                    where=where,
                )
        return [self.value[cell] for cell in cells]

    # ---- what can be wrong
    # --------------------------------------------------------------------------------------------------

    def require_finished(self) -> None:
        stuck = next((key for key, tb in self.blocks.items() if self.now[key] < len(tb.steps)), None)
        if stuck is not None:
            self.explain(stuck)
        for (_, peer, channel), queue in self.flying.items():
            if queue:
                refuse(self.path, at(*queue[0][0]), _UNMATCHED, peer=peer, channel=channel)

    def explain(self, stuck: tuple[int, int]) -> None:
        """Follow who waits for whom until somebody waits for nothing, or for one who was there before."""
        chain: dict[tuple[int, int], int] = {}
        says: list[Words] = []
        key = stuck
        while key not in chain:
            chain[key] = len(chain)
            spot = (*key, self.now[key])
            why, key = self.waits_for(spot)
            says.append(Sentence("{at} ({type}) waits for {why}", at=at(*spot), type=self.step(spot).type, why=why))
        circle = says[chain[key] :]
        shown = circle if len(circle) <= 6 else [*circle[:5], Sentence("... {more} more", more=len(circle) - 5)]
        raise FormatError(
            "{path}: deadlock: {shown}; and so round in a circle",
            path=_file(self.path),
            shown=in_a_row(shown, "{first}; {then}"),
        )

    def waits_for(self, spot: Spot) -> tuple[Sentence, tuple[int, int]]:
        """What a blocked instruction waits for, and the thread block that should bring it. Raises FormatError where
        there is none."""
        what, a, b, c = self.blocked(spot)
        if what == "step":
            return Sentence("step {number} of thread block {block}", number=c, block=b), (a, b)
        if what == "message":
            sender = self.owner(a, b, c, "send")
            if sender is None or self.now[sender] == len(self.blocks[sender].steps):
                refuse(
                    self.path,
                    at(*spot),
                    "unmatched receive: {type} waits for a message that gpu {gpu} never sends on channel {channel}",
                    type=self.step(spot).type,
                    gpu=a,
                    channel=c,
                )
            return Sentence("a message from gpu {gpu} on channel {channel}", gpu=a, channel=c), sender
        receiver = self.owner(b, a, c, "recv")
        if receiver is None or self.now[receiver] == len(self.blocks[receiver].steps):
            refuse(self.path, at(*spot), _UNMATCHED, peer=b, channel=c)
        return Sentence(
            "room on channel {channel} to gpu {gpu}, which holds {depth} messages", channel=c, gpu=b, depth=self.depth
        ), receiver

    def step(self, spot: Spot) -> Instruction:
        g, b, s = spot
        return self.blocks[g, b].steps[s]

    def owner(self, gpu: int, peer: int, channel: int, side: str) -> tuple[int, int] | None:
        """The thread block of `gpu` that has this connection."""
        if not self.owners:
            for (g, b), tb in self.blocks.items():
                for end, other, uses in (("send", tb.send, "sends"), ("recv", tb.recv, "receives")):
                    if other >= 0 and any(getattr(s, uses) for s in tb.steps):
                        self.owners[end, g, other, tb.channel] = (g, b)
        return self.owners.get((side, gpu, peer, channel))

    def require_result(self) -> None:
        total = [sum(self.weight[r, s] for r in range(self.meaning.ranks)) & _MASK for s in range(self.meaning.chunks)]
        for cell, _, contributor, chunk in self.meaning.end():
            want = total[chunk] if contributor == EVERY else self.weight[contributor, chunk]
            if self.value.get(cell) != want:
                self.wrong(cell, contributor, chunk)

    def wrong(self, cell: Cell, contributor: int, chunk: int) -> None:
        gpu, buffer, offset = cell
        of = Sentence("every gpu, added") if contributor == EVERY else Sentence("gpu {gpu}", gpu=contributor)
        what, wants = (
            Sentence("chunk {chunk} of the {buffer} buffer", chunk=offset, buffer=BUFFERS[buffer]),
            Sentence("{name} wants chunk {chunk} of {of}", name=self.meaning.kind.name, chunk=chunk, of=of),
        )
        last = self.writer.get(cell)
        if cell not in self.value:
            refuse(
                self.path,
                Sentence("gpu {gpu}", gpu=gpu),
                "wrong result: nothing writes {what}; {wants} there",
                what=what,
                wants=wants,
            )
        has = _contributions(self.program, self.meaning, self.order, cell)
        where = Sentence("gpu {gpu}", gpu=gpu) if last is None else at(*last)
        by = Sentence("no step writes it") if last is None else Sentence("this step writes it last")
        refuse(
            self.path,
            where,
            "wrong result: {what} ends as {has}, but {wants}; {by}",
            what=what,
            has=has,
            wants=wants,
            by=by,
        )


def _contributions(program: Program, meaning: Meaning, order: list[tuple[Spot, Spot | None]], asked: Cell) -> str:
    """What a cell holds at the end, exactly: `2·r0 + r1`; only the values that can reach it are followed."""
    value: dict[Cell, dict[tuple[int, int], int]] = {cell: {(r, s): 1} for cell, r, s in meaning.start()}
    sent: dict[Spot, list[dict[tuple[int, int], int]]] = {}
    work = 0
    for spot, sender in order:
        g, b, s = spot
        step = program.gpus[g].blocks[b].steps[s]
        src = [meaning.cell(g, step.src[0], step.src[1] + k) for k in range(step.count)]
        dst = [meaning.cell(g, step.dst[0], step.dst[1] + k) for k in range(step.count)]
        parts = [sent[sender]] if sender is not None else []
        parts += [[value.get(c, {}) for c in src]] if step.reads else []
        parts += [[value.get(c, {}) for c in dst]] if step.type in ("re", "ra") else []
        moving = [_merged(one) for one in zip(*parts, strict=True)] if parts else []
        work += sum(map(len, moving))
        if work > 5_000_000:
            return "something else"
        if step.writes:
            value.update(zip(dst, moving, strict=True))
        if step.sends:
            sent[spot] = moving
    terms = sorted(value[asked].items())
    shown = [f"{'' if n == 1 else 'many·' if n == _MANY else f'{n}·'}r{r}[chunk {c}]" for (r, c), n in terms]
    return " + ".join(shown if len(shown) <= 8 else [*shown[:7], "..."]) or "nothing"


def _merged(parts: tuple[dict[tuple[int, int], int], ...]) -> dict[tuple[int, int], int]:
    total: dict[tuple[int, int], int] = {}
    for part in parts:
        for key, count in part.items():
            total[key] = min(_MANY, total.get(key, 0) + count)
    return total


def _file(path: Any) -> str:
    from pathlib import Path

    return Path(path).name
