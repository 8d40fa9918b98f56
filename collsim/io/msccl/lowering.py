"""From an MSCCL program to a Schedule: messages become transfers, and transfers get steps.

A transfer belongs to the earliest step in which, with all transfers of a step reading the buffers as they were at its
start, it reads what the program reads: after the step that wrote what it reads, not before the steps that still read
what it overwrites. A thread block's order and its dependencies hold as well: it sends what it received one step later,
and one after another otherwise; sends of one thread block that follow each other directly share a step, as they share
the connection's slots in the runtime.

What a program keeps in registers needs a slot here: `rrs` adds into its source where nobody reads that again, else into
a scratch slot; a message that is overwritten at its sender before its receiver takes it goes through a slot of its own
at the receiver (a mailbox).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ...dtypes import Longs
from ...errors import CollsimError, FormatError, ScheduleError
from ...errors.dependencies import networkx as nx
from ...schedule import Schedule, freeze
from ...steps import Step
from ...verify import verify
from .interpreter import BufferLayout, InterpretedRun, Spot
from .msccl_program import Instruction, Program

Slot = tuple[int, int]  # gpu, slot number
Depends = tuple[Longs, Longs]
_MAX_SLOTS = 32_000_000
_MAX_WAITS = 10_000_000
_MAX_EDGES = 4_000_000


def lower(program: Program, run: InterpretedRun) -> Schedule:
    """The Schedule that does what an interpreted program does.

    Out of place, input and output are first tried as one buffer (which works for most programs); where the result is
    then wrong they get slots of their own, and the first step copies the input there.

    Args:
        program: as parsed.
        run: its order of instructions.
    """
    kind = run.buffers.kind
    if run.buffers.inplace or kind.has_separate_result:
        return _schedule(program, run, _build_layout(program, run.buffers))
    try:
        schedule = _schedule(program, run, _build_layout(program, replace(run.buffers, inplace=True)))
        verify(schedule)
    except ScheduleError:
        return _schedule(program, run, _build_layout(program, run.buffers))
    return schedule


# ---- slots


@dataclass
class SlotNumbers:
    """Slot numbers: those of the collective, then a separate input (if any), then scratch, then slots made on the way.

    Attributes:
        slot: Gives the slot of a GPU, a buffer and an index.
        end: The first number that is free.
        first: Copies before the first step: from slot, into slot.
        last: Copies after the last step: from slot, into slot.
    """

    slot: Callable[[int, str, int], int]
    end: int
    first: list[tuple[Slot, int]] = field(default_factory=list)  # copies before the first step: from slot, into slot
    last: list[tuple[Slot, int]] = field(default_factory=list)


def _build_layout(program: Program, buffers: BufferLayout) -> SlotNumbers:
    kind, chunks = buffers.kind, buffers.chunks
    natural = kind.slots(chunks)
    largest = _count_used_slots(program)
    one_input = buffers.inplace or kind.has_separate_result
    has_own_result = kind.has_separate_result and not buffers.inplace
    inputs = 0
    if not one_input:
        inputs = max(largest["i"], buffers.size("i"))
    spill = max(largest["i"], largest["o"], chunks) - chunks  # offsets beyond the collective's buffer
    # Beyond the collective's buffer an offset of the input and the same one of the output are two slots.
    scratch = natural + inputs + max(0, spill) * 2

    def slot(gpu: int, buffer: str, offset: int) -> int:
        if buffer == "s":
            return scratch + offset
        if inputs and buffer == "i":
            return natural + offset
        base = 0
        if has_own_result and buffer == "o":
            base = chunks
        _, placed, position = buffers.cell(gpu, buffer, offset)
        if not buffers.inplace and not has_own_result and placed == "o" and kind.after == "own":
            position += gpu * buffers.per
        is_scratch = position >= chunks
        if is_scratch:
            return natural + inputs + (position - chunks) * 2 + (buffer == "o")
        return base + position

    layout = SlotNumbers(slot, scratch + largest["s"])
    if inputs:
        used = {
            (g, s.src[1] + k) for g, s in _list_steps(program) if s.reads and s.src[0] == "i" for k in range(s.count)
        }
        starts = {(g, offset): position for (g, _, offset), _, position in buffers.start()}
        layout.first = [((g, starts[g, o]), natural + o) for g, o in sorted(used) if (g, o) in starts]
    if kind.has_separate_result and buffers.inplace:
        layout.last = [((g, c), chunks + c) for g in range(buffers.ranks) for c in range(chunks)]
    return layout


def _count_used_slots(program: Program) -> dict[str, int]:
    """Chunks of each buffer that some step uses (files may declare more)."""
    largest = dict.fromkeys("ios", 0)
    for _, step in _list_steps(program):
        for used, (buffer, offset) in ((step.reads, step.src), (step.writes, step.dst)):
            if used:
                largest[buffer] = max(largest[buffer], offset + step.count)
    return largest


def _list_steps(program: Program) -> Iterator[tuple[int, Instruction]]:
    for g, gpu in enumerate(program.gpus):
        for block in gpu.blocks:
            for step in block.steps:
                yield g, step


# ---- nodes and the order between them


@dataclass
class TransferBatch:
    """A message or a local operation: `count` transfers that happen in one step.

    Attributes:
        src: Slots that are read.
        dst: Slots that are written.
        reduce: Whether `dst` adds what it receives.
        channel: Channel of the message.
        arrival: Position in the order in which the program did them, which is that of additions into one slot.
    """

    src: list[Slot]
    dst: list[Slot]
    reduce: bool
    channel: int
    arrival: int = 0  # place in the order in which the program did them: that of additions into one slot


@dataclass
class _Access:
    """Who wrote a slot last, who reads that; `adding` are reduces into it of which nobody read the sum yet."""

    writers: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)
    adding: list[int] = field(default_factory=list)


class _Graph:
    """Nodes and edges `a -> b` with weight 1 (b in a later step) or 0 (b not in an earlier step)."""

    def __init__(self) -> None:
        self.nodes: list[TransferBatch] = []
        self.clock = 0
        self.edges: dict[tuple[int, int], int] = {}
        self.required: dict[int, list[int]] = {}  # node -> nodes that the program makes it wait for
        self.access: dict[Slot, _Access] = {}

    def add(self, node: TransferBatch) -> int:
        self.nodes.append(node)
        self.note_arrival(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def note_arrival(self, node: int) -> None:
        """Of two additions into one slot in one step, the one that arrived first is first."""
        self.clock += 1
        self.nodes[node].arrival = self.clock

    def add_edge(self, a: int, b: int, weight: int) -> None:
        if a != b and self.edges.get((a, b), -1) < weight:
            self.edges[a, b] = weight
            if len(self.edges) > _MAX_EDGES:
                raise FormatError("more than {most:,} pairs of messages depend on each other", most=_MAX_EDGES)

    def add_wait(self, a: int, b: int, weight: int) -> None:
        """The program has b wait for a: until a has arrived (1), or until it has left (0)."""
        self.add_edge(a, b, weight)
        if weight and a != b:
            self.required.setdefault(b, []).append(a)

    def adds_to_same_slots(self, a: int, b: int) -> bool:
        """Two messages added into the same slots: who waits does so for the addition alone, both may arrive in one
        step."""
        first, second = self.nodes[a], self.nodes[b]
        return first.reduce and second.reduce and first.dst == second.dst

    def note_read(self, node: int, slot: Slot) -> None:
        a = self.access.setdefault(slot, _Access())
        for w in a.adding or a.writers:
            self.add_edge(w, node, 1)
        # Whoever reads a sum ends it: what is added later is another one, and comes after this reader.
        if a.adding:
            a.writers, a.adding, a.readers = a.adding, [], []
        a.readers.append(node)

    def note_copy(self, node: int, slot: Slot) -> None:
        a = self.access.setdefault(slot, _Access())
        self.order_after(node, a.adding + a.writers, a.readers)
        self.access[slot] = _Access([node])

    def order_after(self, node: int, writers: list[int], readers: list[int]) -> None:
        """What overwrites comes a step after those that wrote, and not before those that read."""
        for w in writers:
            self.add_edge(w, node, 1)
        for r in readers:
            self.add_edge(r, node, 0)

    def note_reduce(self, node: int, slot: Slot) -> None:
        a = self.access.setdefault(slot, _Access())
        self.order_after(node, a.writers, a.readers)
        # Additions do not wait for one another: the sum is the same in any order of steps.
        a.adding.append(node)


class _Lowering:
    """One pass over the instructions in the order in which they ran."""

    def __init__(self, program: Program, run: InterpretedRun, layout: SlotNumbers, boxed: set[Spot]):
        self.program, self.run, self.layout, self.boxed = program, run, layout, boxed
        self.graph = _Graph()
        self.sent: dict[Spot, int] = {}  # sender's instruction -> node of its message
        self.message: dict[int, Spot] = {}
        self.waits = 0
        self.finish: dict[Spot, list[tuple[int, int]]] = {}
        self.blocks: dict[tuple[int, int], _Past] = {}
        self.end = layout.end
        self.spare: dict[object, int] = {}
        self.dead = self.find_dead_sources()

    def slots(self, spot: Spot, operand: tuple[str, int], count: int) -> list[Slot]:
        return [(spot[0], self.layout.slot(spot[0], operand[0], operand[1] + k)) for k in range(count)]

    def instruction(self, spot: Spot) -> Instruction:
        return self.program.gpus[spot[0]].blocks[spot[1]].steps[spot[2]]

    def find_dead_sources(self) -> set[Spot]:
        """The `rrs` whose source nobody reads again before it is overwritten: they can add in place."""
        buffers = self.run.buffers
        natural = buffers.kind.slots(buffers.chunks)
        final_contributions, _ = buffers.kind.find_expected_contributions(buffers.ranks, buffers.chunks, buffers.root)
        live = {(int(r), int(s)) for r, s in zip(*(final_contributions != -2).nonzero(), strict=True) if s < natural}
        live |= {slot for slot, _ in self.layout.last}
        dead = set()
        # Backwards, so that `live` always holds the slots that something later still reads.
        for spot, _ in reversed(self.run.order):
            step = self.instruction(spot)
            src, dst = (self.slots(spot, o, step.count) if o[1] >= 0 else [] for o in (step.src, step.dst))
            if step.type == "rrs" and not live & set(src):
                dead.add(spot)
            if step.writes and step.type not in ("re", "ra"):
                live -= set(dst)
            if step.reads or step.type == "s":
                live |= set(src)
            if step.type in ("re", "ra"):
                live |= set(dst)
        return dead

    def allocate_slots(self, key: object, count: int) -> int:
        """`count` slots beyond all others, the same ones for the same key."""
        if key not in self.spare:
            self.spare[key] = self.end
            self.end += count
        return self.spare[key]

    def walk(self) -> None:
        self.add_copies(self.layout.first)
        for spot, sender in self.run.order:
            self.add_instruction(spot, sender)
        self.add_copies(self.layout.last)

    def add_copies(self, copies: list[tuple[Slot, int]]) -> None:
        for (gpu, source), into in copies:
            self.add_local([(gpu, source)], [(gpu, into)], False, 0)

    def add_local(self, src: list[Slot], dst: list[Slot], reduce: bool, channel: int) -> int | None:
        """A copy or a reduce within a gpu; None if it would copy a slot onto itself."""
        pairs = [(a, b) for a, b in zip(src, dst, strict=True) if reduce or a != b]
        if not pairs:
            return None
        node = self.graph.add(TransferBatch([a for a, _ in pairs], [b for _, b in pairs], reduce, channel))
        for a, _ in pairs:
            self.graph.note_read(node, a)
        for _, b in pairs:
            (self.graph.note_reduce if reduce else self.graph.note_copy)(node, b)
        return node

    def add_instruction(self, spot: Spot, sender: Spot | None) -> None:
        step, tb = self.instruction(spot), self.program.gpus[spot[0]].blocks[spot[1]]
        past = self.blocks.setdefault(spot[:2], _Past())
        if step.waits is not None:
            past.pending += self.finish[spot[0], *step.waits]
            self.waits += len(past.pending)
            # A nop may wait for many blocks and be waited for by many: the product is limited.
            if self.waits > _MAX_WAITS:
                message = "more than {most:,} dependencies, nops counted with all that they wait for"
                raise FormatError(message, most=_MAX_WAITS)
        done: list[tuple[int, int]] = []
        # A plain send reads its own slots; fused ones send on what they received.
        outgoing = []
        if step.type == "s":
            outgoing = self.slots(spot, step.src, step.count)
        if step.receives:
            assert sender is not None
            arrived, outgoing = self.receive(spot, step, sender)
            self.order_in_block(arrived, past, "receives")
            done.append((arrived, 1))
        elif step.type in ("cpy", "re", "ra"):
            src, dst = self.slots(spot, step.src, step.count), self.slots(spot, step.dst, step.count)
            node = self.add_local(src, dst, step.type != "cpy", tb.channel)
            if node is not None:
                self.order_in_block(node, past, "local")
                done.append((node, 1))
        if step.sends:
            node = self.send(spot, outgoing, tb.send, tb.channel)
            self.order_in_block(node, past, "sends")
            done.append((node, 0))
        # An instruction that does nothing by itself (a nop) is done when what it waits for is.
        self.finish[spot] = done or [*past.pending, *past.last()]

    def order_in_block(self, node: int, past: _Past, what: str) -> None:
        """The order of a thread block and what it waits for."""
        for other, weight in past.pending:
            self.graph.add_wait(other, node, 0 if self.graph.adds_to_same_slots(other, node) else weight)
        past.pending = []
        for kind, other in past.latest.items():
            # What a block does after a receive may use what came, so it is a step later; two receives, or anything
            # after a send, may share a step.
            later = kind == "receives" and what != "receives"
            self.graph.add_wait(other, node, int(later))
        past.latest[what] = node

    def send(self, spot: Spot, slots: list[Slot], peer: int, channel: int) -> int:
        """A message leaves: where it goes is known when it is received, except that a boxed one goes to its box."""
        node = self.graph.add(TransferBatch(slots, [], False, channel))
        for slot in slots:
            self.graph.note_read(node, slot)
        self.sent[spot] = node
        self.message[node] = spot
        if spot in self.boxed:
            first = self.allocate_slots(("box", spot), len(slots))
            self.graph.nodes[node].dst = [(peer, first + k) for k in range(len(slots))]
            for slot in self.graph.nodes[node].dst:
                self.graph.note_copy(node, slot)
        return node

    def receive(self, spot: Spot, step: Instruction, sender: Spot) -> tuple[int, list[Slot]]:
        """A message arrives: the node that takes it in, and the slots from which it is sent on."""
        target = []
        if step.writes:
            target = self.slots(spot, step.dst, step.count)
        source = []
        if step.reads:
            source = self.slots(spot, step.src, step.count)
        channel = self.program.gpus[spot[0]].blocks[spot[1]].channel
        # `rrs` combines without storing: the sum goes into a slot of its own unless nobody reads it any more.
        if step.type == "rrs":
            target = source
            if spot not in self.dead:
                target = self.temporary(spot, step.count)
        if step.reduces and target != source:
            self.add_local(source, target, False, channel)
        node = self.sent[sender]
        # A boxed message waits in a buffer at the receiver and is added from there.
        if sender in self.boxed:
            taken = self.add_local(self.graph.nodes[node].dst, target, step.reduces, channel)
            assert taken is not None
            return taken, target
        self.graph.nodes[node].dst = target
        self.graph.nodes[node].reduce = step.reduces
        self.graph.note_arrival(node)
        for slot in target:
            (self.graph.note_reduce if step.reduces else self.graph.note_copy)(node, slot)
        return node, target

    def temporary(self, spot: Spot, count: int) -> list[Slot]:
        """Two sets of slots per thread block in turns, so that the next message may arrive while this one leaves."""
        past = self.blocks[spot[:2]]
        past.turn += 1
        first = self.allocate_slots(("turn", spot[:2], past.turn % 2, count), count)
        return [(spot[0], first + k) for k in range(count)]


@dataclass
class _Past:
    """What a thread block did last, by kind, and what its next instruction waits for."""

    latest: dict[str, int] = field(default_factory=dict)
    pending: list[tuple[int, int]] = field(default_factory=list)
    turn: int = 0

    def last(self) -> list[tuple[int, int]]:
        return [(node, int(kind != "sends")) for kind, node in self.latest.items()]


# ---- steps


def _schedule(program: Program, run: InterpretedRun, layout: SlotNumbers) -> Schedule:
    if layout.end * program.ranks > _MAX_SLOTS:
        message = "{name}: {slots:,} slots on {ranks} gpus are more than {most:,} in all"
        raise FormatError(message, name=program.name, slots=layout.end, ranks=program.ranks, most=_MAX_SLOTS)
    # At first each message goes straight to where its receiver wants it. Where messages then would each have to come
    # before the other (two gpus that swap one slot), these go into slots of their own first, and the second try has
    # no circle.
    boxed: set[Spot] = set()
    for _ in range(2):
        lowering = _Lowering(program, run, layout, boxed)
        lowering.walk()
        steps, circular = _compute_levels(lowering.graph)
        if not circular:
            break
        boxed = {lowering.message[node] for node in circular if node in lowering.message}
    else:
        message = "{name}: no order of its messages was found; this is a mistake in collsim, please report the file"
        raise CollsimError(message, name=program.name)
    buffers = run.buffers
    rows, depends = _build_rows(lowering.graph, steps)
    schedule = freeze(
        _build_identifier(program.name),
        buffers.kind.name,
        buffers.ranks,
        rows,
        chunks=buffers.chunks,
        slots=max(lowering.end, buffers.kind.slots(buffers.chunks)),
        root=buffers.root,
        options={"protocol": program.protocol},
    )
    for array in depends or ():
        array.setflags(write=False)
    return replace(schedule, depends=depends)


def _build_identifier(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in name)


def _compute_levels(graph: _Graph) -> tuple[list[int], set[int]]:
    """The earliest step of every node; or the nodes that would each have to come before the other."""
    g: nx.DiGraph[int] = nx.DiGraph()
    g.add_nodes_from(range(len(graph.nodes)))
    g.add_edges_from(graph.edges)
    members: list[set[int]] = list(nx.strongly_connected_components(g))  # successors come first
    group = {node: number for number, component in enumerate(members) for node in component}
    circular = {group[a] for (a, b), weight in graph.edges.items() if weight and group[a] == group[b]}
    if circular:
        return [], set().union(*(members[c] for c in circular))
    level = [0] * len(members)
    # From the last to the first: each group is reached after all that it waits for.
    for number in range(len(members) - 1, -1, -1):
        for a, b in g.out_edges(members[number]):
            if group[b] != number:
                level[group[b]] = max(level[group[b]], level[number] + graph.edges[a, b])
    return [level[group[node]] for node in range(len(graph.nodes))], set()


def _build_rows(graph: _Graph, steps: list[int]) -> tuple[list[Step], Depends | None]:
    """The transfers of every step, those of one step in the order in which the program did them; and what each waits
    for.

    What follows from the data is not among the dependencies, the engines know that. None where they are more than ten
    million.
    """
    table: list[list[tuple[int, int, int, int, bool, int]]] = [[] for _ in range(max(steps, default=-1) + 1)]
    # Rows of a step keep the order in which they arrived, which is the order of the sums.
    order = sorted(range(len(steps)), key=lambda k: (steps[k], graph.nodes[k].arrival))
    size = np.array([len(node.src) for node in graph.nodes], np.int64)
    first = np.zeros(len(steps), np.int64)
    first[order] = np.cumsum(size[order]) - size[order]
    counts: list[int] = []
    parts: list[Longs] = []
    for k in order:
        node = graph.nodes[k]
        table[steps[k]] += [
            (a[0], b[0], a[1], b[1], node.reduce, node.channel) for a, b in zip(node.src, node.dst, strict=True)
        ]
        waits = [np.arange(first[a], first[a] + size[a]) for a in dict.fromkeys(graph.required.get(k, ()))]
        counts += [sum(map(len, waits))] * len(node.src)
        parts += waits * len(node.src)
    start = np.concatenate([[0], np.cumsum(np.array(counts, np.int64))]).astype(np.int64)
    # Too many dependencies to write out: the order of steps alone is kept, which is stricter.
    if start[-1] > _MAX_WAITS:
        return [_build_step(rows) for rows in table], None
    return [_build_step(rows) for rows in table], (start, np.concatenate(parts) if parts else np.zeros(0, np.int64))


def _build_step(rows: list[tuple[int, int, int, int, bool, int]]) -> Step:
    columns = np.array([r[:4] + r[5:] for r in rows], np.int32).T.copy()
    src, dst, chunk, into, channel = columns
    return Step(src, dst, chunk, into, np.array([r[4] for r in rows], bool), channel)
