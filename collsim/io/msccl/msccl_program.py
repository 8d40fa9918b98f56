"""MSCCL XML: the grammar, read into a Program and written from one.

Source: msccl-tools (microsoft/msccl-tools) msccl/language/ir.py, which writes these files, and microsoft/msccl
src/graph/topo.cc (mscclGetAlgoFromXML), which reads them. One `<algo>` holds a `<gpu>` per rank; a gpu holds thread
blocks `<tb>` with at most one peer to send to and one to receive from on one channel; a thread block runs its `<step>`s
in order. Offsets and counts are in chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from ...errors import Sentence, Words
from ...files import MAX_ELEMENTS, FilePath, parse_whole_number, read_xml, refuse, write_text
from ...package_data import read_toml

#: type -> (receives, reads its source, writes its destination, reduces into it, sends)
TYPES: dict[str, tuple[bool, ...]] = {
    name: tuple(flags) for name, flags in read_toml(__file__, "msccl_program.toml")["types"].items()
}
BUFFERS = {"i": "input", "o": "output", "s": "scratch"}
_MAX_CHUNKS = 1_000_000  # ranks times chunks


#: The most that the runtime takes (microsoft/msccl src/include/devcomm.h, src/graph/topo.cc): steps of a thread block,
#: thread blocks of a gpu and of one channel of it, channels, and chunks of one instruction.
MAX_STEPS, MAX_BLOCKS, MAX_CHANNEL_BLOCKS, MAX_CHANNELS, MAX_COUNT = 256, 216, 32, 32, 71


@dataclass
class Instruction:
    """One step of a thread block.

    Attributes:
        type: MSCCL's word, a key of `TYPES`: `s` send, `r` receive, `rrc` receive, reduce and copy ...
        src: (buffer, offset in chunks) that is read; the buffer is `i`, `o` or `s`.
        dst: (buffer, offset in chunks) that is written.
        count: chunks.
        waits: (thread block, step) of the same gpu that must have ended before; None: it waits for none.
        signals: does another thread block wait for it?
    """

    type: str
    src: tuple[str, int]
    dst: tuple[str, int]
    count: int = 1
    waits: tuple[int, int] | None = None
    signals: bool = False

    @property
    def receives(self) -> bool:
        return TYPES[self.type][0]

    @property
    def reads(self) -> bool:
        return TYPES[self.type][1]

    @property
    def writes(self) -> bool:
        return TYPES[self.type][2]

    @property
    def reduces(self) -> bool:
        return TYPES[self.type][3]

    @property
    def sends(self) -> bool:
        return TYPES[self.type][4]


@dataclass
class Block:
    """A thread block of a gpu.

    Attributes:
        send: rank that it sends to, or -1.
        recv: rank that it receives from, or -1.
        channel: on which its connections are.
        steps: what it does, in order.
    """

    send: int
    recv: int
    channel: int
    steps: list[Instruction] = field(default_factory=list)

    def ends(self) -> Iterator[tuple[str, int]]:
        """(`send` or `recv`, peer) of the connections that its steps use."""
        for side, peer, used in (("send", self.send, "sends"), ("recv", self.recv, "receives")):
            if peer >= 0 and any(getattr(step, used) for step in self.steps):
                yield side, peer


@dataclass
class GpuProgram:
    """The part of a program that one GPU runs.

    Attributes:
        sizes: Chunks of each of its buffers.
        blocks: Its thread blocks in the order of their ids.
    """

    sizes: dict[str, int]
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Program:
    """An MSCCL algorithm, as its XML file has it.

    Attributes:
        name: of the algorithm.
        collective: MSCCL's word for it.
        chunks: pieces that the program moves in one loop (`nchunksperloop`).
        gpus: the program of each rank, in their order.
        protocol: NCCL's word: `Simple`, `LL` or `LL128`.
        layouts: placements it is meant for, True for in place, False for out of place.
        root: the root rank; None where the file names none.
        bytes: smallest and largest size it is meant for; None where the file states neither.
    """

    name: str
    collective: str
    chunks: int
    gpus: list[GpuProgram]
    protocol: str = "Simple"
    layouts: tuple[bool, ...] = (True,)
    root: int | None = None
    bytes: tuple[int, int] | None = None

    @property
    def ranks(self) -> int:
        return len(self.gpus)

    @property
    def channels(self) -> int:
        return 1 + max((b.channel for g in self.gpus for b in g.blocks), default=0)


def format_position(gpu: int, block: int | None = None, step: int | None = None) -> Sentence:
    """`gpu 0, thread block 3, step 2`: how a position in a program is named everywhere.

    Args:
        gpu: Its id.
        block: Id of the thread block; None for the whole GPU.
        step: Number in the block; None for the whole block.
    """
    if block is None:
        return Sentence("gpu {gpu}", gpu=gpu)
    if step is None:
        return Sentence("gpu {gpu}, thread block {block}", gpu=gpu, block=block)
    return Sentence("gpu {gpu}, thread block {block}, step {number}", gpu=gpu, block=block, number=step)


# ---- reading


def parse(path: FilePath) -> Program:
    """The program of a file, checked for form: ranges, peers, contiguous ids. What it does is checked by
    `interpret`.

    Args:
        path: of an MSCCL XML file.
    """
    builder = _Builder(path)
    for event, element, level in read_xml(path, depth=4, elements=MAX_ELEMENTS):
        if event == "start":
            builder.open(element.tag, dict(element.attrib), level)
    return builder.finish()


class _Builder:
    """Turns the elements of a file into a Program as they come."""

    ORDER = ("algo", "gpu", "tb", "step")

    def __init__(self, path: FilePath):
        self.path = path
        self.program: Program | None = None
        self.ranks = 0
        self.gpus: dict[int, GpuProgram] = {}
        self.blocks: dict[int, dict[int, Block]] = {}
        self.position = (0, 0)
        self.moves = 0

    def open(self, tag: str, attributes: dict[str, str], level: int) -> None:
        order = self.ORDER[level - 1]
        if tag != order:
            refuse(self.path, Sentence("element <{tag}>", tag=tag[:40]), "expected <{order}> here", order=order)
        getattr(self, f"_{tag}")(attributes)

    def _number(
        self, attributes: dict[str, str], name: str, least: int, most: int, where: Words, default: int | None = None
    ) -> int:
        if name not in attributes:
            if default is not None:
                return default
            refuse(self.path, where, "no attribute {name!r}", name=name)
        return parse_whole_number(self.path, where, name, attributes[name], least, most)

    def _algo(self, a: dict[str, str]) -> None:
        where = "<algo>"
        self.ranks = self._number(a, "ngpus", 1, 2**16, where)
        chunks = self._chunks(a)
        if not a.get("coll"):
            message = (
                "no attribute 'coll'; expected allreduce, allgather, reduce_scatter, broadcast, reduce or alltoall"
            )
            refuse(self.path, where, message)
        inplace = self._number(a, "inplace", 0, 1, where, 0)
        outofplace = self._number(a, "outofplace", 0, 1, where, 1 - inplace)
        # A program without either flag is meant for out of place, as MSCCL takes it.
        layouts = tuple(x for x, meant in ((True, inplace), (False, outofplace)) if meant) or (False,)
        low, high = (self._number(a, k, 0, 2**60, where, d) for k, d in (("minBytes", 0), ("maxBytes", 2**60)))
        root = None
        if "root" in a:
            root = self._number(a, "root", 0, self.ranks - 1, where)
        limits = None
        if {"minBytes", "maxBytes"} & set(a):
            limits = (low, high)
        name, protocol = a.get("name", "") or "msccl", a.get("proto", "Simple")
        self.program = Program(name[:100], a["coll"].lower(), chunks, [], protocol[:20], layouts, root, limits)

    def _chunks(self, a: dict[str, str]) -> int:
        chunks = self._number(a, "nchunksperloop", 1, 2**31 - 1, "<algo>")
        if chunks * self.ranks > _MAX_CHUNKS:
            message = "{ranks} gpus of {chunks} chunks are more than {most:,} chunks in all"
            refuse(self.path, "<algo>", message, ranks=self.ranks, chunks=chunks, most=_MAX_CHUNKS)
        return chunks

    def _gpu(self, a: dict[str, str]) -> None:
        number = self._number(a, "id", 0, self.ranks - 1, "<gpu>")
        if number in self.gpus:
            refuse(self.path, format_position(number), "a second gpu of this id")
        sizes = {b: self._number(a, f"{b}_chunks", 0, _MAX_CHUNKS, format_position(number), 0) for b in BUFFERS}
        self.gpus[number], self.blocks[number], self.position = GpuProgram(sizes), {}, (number, -1)

    def _tb(self, a: dict[str, str]) -> None:
        gpu = self.position[0]
        number = self._number(a, "id", 0, MAX_ELEMENTS, Sentence("gpu {gpu}, <tb>", gpu=gpu))
        where = format_position(gpu, number)
        if number in self.blocks[gpu]:
            refuse(self.path, where, "a second thread block of this id")
        send, recv = (self._number(a, k, -1, self.ranks - 1, where) for k in ("send", "recv"))
        if gpu in (send, recv):
            refuse(self.path, where, "its peer is its own gpu")
        self.blocks[gpu][number] = Block(send, recv, self._number(a, "chan", 0, 2**16, where))
        self.position = (gpu, number)

    def _step(self, a: dict[str, str]) -> None:
        gpu, block = self.position
        tb = self.blocks[gpu][block]
        number = self._number(a, "s", 0, MAX_ELEMENTS, Sentence("{at}, <step>", at=format_position(gpu, block)))
        where = format_position(gpu, block, number)
        if number != len(tb.steps):
            refuse(self.path, where, "steps are numbered from 0 without gaps; expected s={steps}", steps=len(tb.steps))
        step = self._instruction(a, where)
        step.waits = self._waits(a, where)
        step.signals = bool(self._number(a, "hasdep", 0, 1, where, 0))
        self.moves += max(0, step.count)
        if self.moves > MAX_ELEMENTS:
            refuse(self.path, where, "more than {most:,} chunks are moved in all", most=MAX_ELEMENTS)
        self._check(step, tb, where)
        tb.steps.append(step)

    def _instruction(self, a: dict[str, str], where: Words) -> Instruction:
        if (kind := a.get("type", "")) not in TYPES:
            message = "type {kind!r} is unknown; expected one of {types}"
            refuse(self.path, where, message, kind=kind[:20], types=", ".join(TYPES))
        src, dst = (self._slot(a, side, where) for side in ("src", "dst"))
        return Instruction(kind, src, dst, self._number(a, "cnt", -1, 2**20, where))

    def _waits(self, a: dict[str, str], where: Words) -> tuple[int, int] | None:
        block, step = (self._number(a, k, -1, MAX_ELEMENTS, where, -1) for k in ("depid", "deps"))
        if (block < 0) != (step < 0):
            message = "depid={waits} and deps={dependency}: both are -1 or none"
            refuse(self.path, where, message, waits=block, dependency=step)
        if block >= 0:
            return (block, step)
        return None

    def _slot(self, a: dict[str, str], side: str, where: Words) -> tuple[str, int]:
        buffer = a.get(f"{side}buf", "i")
        if buffer not in BUFFERS:
            message = "{side}buf={buffer!r} is unknown; expected i, o or s"
            refuse(self.path, where, message, side=side, buffer=buffer[:20])
        return buffer, self._number(a, f"{side}off", -1, 2**31 - 1, where, -1)

    def _check(self, step: Instruction, tb: Block, where: Words) -> None:
        if step.type != "nop" and step.count < 1:
            refuse(self.path, where, "cnt={count}; a {type} moves at least 1 chunk", count=step.count, type=step.type)
        if step.sends and tb.send < 0:
            message = "a {type} sends, but the thread block has no peer to send to (send=-1)"
            refuse(self.path, where, message, type=step.type)
        if step.receives and tb.recv < 0:
            message = "a {type} receives, but the thread block has no peer to receive from (recv=-1)"
            refuse(self.path, where, message, type=step.type)
        for used, name, (_, offset) in ((step.reads, "srcoff", step.src), (step.writes, "dstoff", step.dst)):
            if used and offset < 0:
                refuse(self.path, where, "{name}={offset}; a {type} uses it", name=name, offset=offset, type=step.type)

    def finish(self) -> Program:
        if self.program is None:
            refuse(self.path, "", "no <algo> element")
        missing = next((g for g in range(self.ranks) if g not in self.gpus), None)
        if missing is not None:
            message = "no <gpu id={missing}>; ngpus={ranks} needs ids 0 to {last}"
            refuse(self.path, "", message, missing=missing, ranks=self.ranks, last=self.ranks - 1)
        for g in range(self.ranks):
            self.gpus[g].blocks = self._in_order(g)
        self.program.gpus = [self.gpus[g] for g in range(self.ranks)]
        for g, gpu in enumerate(self.program.gpus):
            self._require_connections(g, gpu)
        return self.program

    def _in_order(self, gpu: int) -> list[Block]:
        blocks = self.blocks[gpu]
        gap = next((k for k in range(len(blocks)) if k not in blocks), None)
        if gap is not None:
            refuse(
                self.path,
                format_position(gpu),
                "thread blocks are numbered from 0 without gaps; there is no {gap}",
                gap=gap,
            )
        return [blocks[k] for k in range(len(blocks))]

    def _require_connections(self, g: int, gpu: GpuProgram) -> None:
        """Dependencies exist; a (gpu, peer, channel) belongs to one thread block on each side."""
        seen: dict[tuple[str, int, int], int] = {}
        for b, block in enumerate(gpu.blocks):
            for side, peer in block.ends():
                other = seen.setdefault((side, peer, block.channel), b)
                if other != b:
                    self._refuse_second(format_position(g, b), side, peer, block.channel, other)
            self._require_dependencies(g, b, gpu.blocks)

    def _refuse_second(self, where: Words, side: str, peer: int, channel: int, other: int) -> None:
        message = "{side}={peer} on channel {channel} is already that of thread block {other}; a connection has one"
        refuse(self.path, where, message, side=side, peer=peer, channel=channel, other=other)

    def _require_dependencies(self, gpu: int, block: int, blocks: list[Block]) -> None:
        for s, step in enumerate(blocks[block].steps):
            tb, number = step.waits or (block, -1)
            if tb >= len(blocks) or number >= len(blocks[tb].steps):
                message = "waits for step {number} of thread block {block}, which does not exist"
                refuse(self.path, format_position(gpu, block, s), message, number=number, block=tb)


# ---- writing


def write(program: Program, path: FilePath) -> None:
    """Write a program as XML, attributes in the order of msccl-tools."""
    write_text(path, (f"{line}\n" for line in _list_lines(program)))


def _list_lines(p: Program) -> Iterator[str]:
    yield _format_head(p)
    for g, gpu in enumerate(p.gpus):
        yield from _list_gpu_lines(g, gpu)
    yield "</algo>"


def _list_gpu_lines(g: int, gpu: GpuProgram) -> Iterator[str]:
    sizes = " ".join(f'{b}_chunks="{gpu.sizes[b]}"' for b in BUFFERS)
    yield f'  <gpu id="{g}" {sizes}>'
    for b, block in enumerate(gpu.blocks):
        yield from _block_lines(b, block)
    yield "  </gpu>"


def _block_lines(b: int, block: Block) -> Iterator[str]:
    yield f'    <tb id="{b}" send="{block.send}" recv="{block.recv}" chan="{block.channel}">'
    yield from (_format_step(s, step) for s, step in enumerate(block.steps))
    yield "    </tb>"


def _format_head(p: Program) -> str:
    extra = ""
    if p.bytes is not None:
        extra = f' minBytes="{p.bytes[0]}" maxBytes="{p.bytes[1]}"'
    extra += f' root="{p.root}"' if p.root else ""
    size = f'nchannels="{p.channels}" nchunksperloop="{p.chunks}" ngpus="{p.ranks}"'
    placement = f'inplace="{int(True in p.layouts)}" outofplace="{int(False in p.layouts)}"'
    return f'<algo name={quoteattr(p.name)} proto="{p.protocol}" {size} coll="{p.collective}" {placement}{extra}>'


def _format_step(number: int, step: Instruction) -> str:
    waits = step.waits or (-1, -1)
    ends = f'srcbuf="{step.src[0]}" srcoff="{step.src[1]}" dstbuf="{step.dst[0]}" dstoff="{step.dst[1]}"'
    order = f'depid="{waits[0]}" deps="{waits[1]}" hasdep="{int(step.signals)}"'
    return f'      <step s="{number}" type="{step.type}" {ends} cnt="{step.count}" {order}/>'


def describe_excess(program: Program) -> Sentence | None:
    """The first limit of the msccl runtime that a program exceeds, as a sentence, or None.

    Args:
        program: Lowered.
    """
    if program.channels > MAX_CHANNELS:
        return Sentence("{channels} channels; the runtime has {most}", channels=program.channels, most=MAX_CHANNELS)
    return next(filter(None, (_describe_gpu_excess(g, gpu) for g, gpu in enumerate(program.gpus))), None)


def _describe_gpu_excess(g: int, gpu: GpuProgram) -> Sentence | None:
    if len(gpu.blocks) > MAX_BLOCKS:
        message = "gpu {gpu} needs {blocks} thread blocks; the runtime takes {most}"
        return Sentence(message, gpu=g, blocks=len(gpu.blocks), most=MAX_BLOCKS)
    on_channel: Counter[int] = Counter()
    for b, block in enumerate(gpu.blocks):
        on_channel[block.channel] += 1
        if on_channel[block.channel] > MAX_CHANNEL_BLOCKS:
            message = "gpu {gpu} needs more than {most} thread blocks on channel {channel}; use more channels"
            return Sentence(message, gpu=g, most=MAX_CHANNEL_BLOCKS, channel=block.channel)
        if len(block.steps) > MAX_STEPS:
            message = "{at} needs {steps} steps; the runtime takes {most}: use fewer chunks or more channels"
            return Sentence(message, at=format_position(g, b), steps=len(block.steps), most=MAX_STEPS)
        if any(s.count > MAX_COUNT for s in block.steps):
            return Sentence("{at} moves more than {count} chunks at once", at=format_position(g, b), count=MAX_COUNT)
    return None
