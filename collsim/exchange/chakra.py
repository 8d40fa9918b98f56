"""Chakra execution traces (.et): a schedule as ASTRA-sim's custom collective, out and back.

Source: mlcommons/chakra schema/protobuf/et_def.proto (messages GlobalMetadata, Node, AttributeProto) and its framing:
per rank a file `prefix.<rank>.et`, each message behind its length as a varint. A transfer is a COMM_SEND node at its
sender and a COMM_RECV node at its receiver, an addition a COMP node; `data_deps` say what each waits for. Needs the
package protobuf (`pip install collsim[exchange]`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import CollsimError, Sentence
from ..files import MOST_ELEMENTS, read_bytes, refuse, writing
from ..schedule import Schedule
from ..simulate.run import chunk_bytes
from ..units import parse_bytes
from .formats import Format, register

COMP, SEND, RECV = 4, 5, 6
_VERSION = "0.0.4"
# message -> (field, number, type, repeated); types are those of google.protobuf.FieldDescriptorProto
_UINT64, _INT64, _INT32, _BOOL, _STRING, _ENUM, _MESSAGE = 4, 3, 5, 8, 9, 14, 11
_UINT32, _DOUBLE, _FLOAT = 13, 1, 2
_SCHEMA = {
    "AttributeProto": (
        ("name", 1, _STRING, False),
        ("double_val", 3, _DOUBLE, False),
        ("float_val", 5, _FLOAT, False),
        ("int32_val", 7, _INT32, False),
        ("int64_val", 9, _INT64, False),
        ("uint32_val", 11, _UINT32, False),
        ("uint64_val", 13, _UINT64, False),
        ("bool_val", 27, _BOOL, False),
        ("string_val", 29, _STRING, False),
    ),
    "GlobalMetadata": (("version", 1, _STRING, False), ("attr", 2, _MESSAGE, True)),
    "Node": (
        ("id", 1, _UINT64, False),
        ("name", 2, _STRING, False),
        ("type", 3, _INT32, False),
        ("ctrl_deps", 4, _UINT64, True),
        ("data_deps", 5, _UINT64, True),
        ("start_time_micros", 6, _UINT64, False),
        ("duration_micros", 7, _UINT64, False),
        ("attr", 10, _MESSAGE, True),
    ),
}


@cache
def _messages() -> dict[str, Any]:
    """The message classes of the schema (the part that is used here), made by protobuf."""
    try:
        descriptor_pb2, descriptor_pool, message_factory = (
            import_module(f"google.protobuf.{name}")
            for name in ("descriptor_pb2", "descriptor_pool", "message_factory")
        )
    except ImportError as error:
        raise CollsimError("Chakra traces need the package protobuf: pip install 'collsim[exchange]'") from error
    file = descriptor_pb2.FileDescriptorProto(name="collsim_et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    for message in _SCHEMA:
        _declare(file, message)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = {name: pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}") for name in _SCHEMA}
    return {name: message_factory.GetMessageClass(about) for name, about in found.items()}


def _declare(file: Any, message: str) -> None:
    made = file.message_type.add(name=message)
    for name, number, kind, repeated in _SCHEMA[message]:
        one = made.field.add(name=name, number=number, type=kind, label=3 if repeated else 1)
        if kind == _MESSAGE:
            one.type_name = ".ChakraProtoMsg.AttributeProto"
        elif message == "AttributeProto" and name != "name":
            one.oneof_index = 0
    if message == "AttributeProto":
        made.oneof_decl.add(name="value")


# ---- out -----------------------------------------------------------------------------------------------------------


def write_chakra(schedule: Schedule, path: Any, *, nbytes: Any = None, itemsize: int = 4) -> None:
    """Write a schedule as Chakra traces `name.0.et`, `name.1.et` ... beside `path` (name.et), one per endpoint.

    Args:
        nbytes: nccl-tests' size.

    Raises CollsimError without a size, without protobuf, or for more than two million transfers.
    """
    if nbytes is None:
        raise CollsimError("a Chakra trace counts bytes: say how many, for example nbytes='64MiB'")
    if len(schedule) > MOST_ELEMENTS:
        why = "{label} has {transfers:,} transfers; Chakra traces are written for at most {most:,}"
        raise CollsimError(why, label=schedule.label, transfers=len(schedule), most=MOST_ELEMENTS)
    kinds = _messages()
    target = Path(path)
    stem = target.name.removesuffix(".et")
    for endpoint, own in enumerate(
        _nodes(schedule, chunk_bytes(schedule, parse_bytes(nbytes), itemsize).tolist(), kinds)
    ):
        messages = [message.SerializeToString() for message in (kinds["GlobalMetadata"](version=_VERSION), *own)]
        with writing(target.with_name(f"{stem}.{endpoint}.et")) as file:
            file.writelines(_varint(len(data)) + data for data in messages)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _nodes(schedule: Schedule, sizes: list[int], kinds: dict[str, Any]) -> list[list[Any]]:
    """The nodes of every endpoint; ids are per endpoint and rise, so that a dependency is always an earlier node."""
    trace = _Nodes(kinds, sizes, schedule.endpoints)
    for number, step in enumerate(schedule.each_step()):
        columns = (step.src, step.dst, step.chunk, step.into, step.reduce)
        trace.step(number, list(zip(*(c.tolist() for c in columns), strict=True)))
    return trace.nodes


class _Nodes:
    """The nodes of every endpoint, and for each slot those that wrote it last and those that read it since."""

    def __init__(self, kinds: dict[str, Any], sizes: list[int], endpoints: int):
        self.kinds, self.sizes = kinds, sizes
        self.nodes: list[list[Any]] = [[] for _ in range(endpoints)]
        self.wrote: dict[tuple[int, int], list[int]] = {}
        self.read: dict[tuple[int, int], list[int]] = defaultdict(list)

    def step(self, number: int, rows: list[tuple[int, int, int, int, bool]]) -> None:
        sources = [list(self.wrote.get((src, chunk), [])) for src, _, chunk, _, _ in rows]
        for (src, dst, chunk, _, _), before in zip(rows, sources, strict=True):
            if src != dst:
                sent = self.move(src, SEND, f"send {chunk} to {dst}", before, (src, dst, chunk, number))
                self.read[src, chunk].append(sent)
        written: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, before in zip(rows, sources, strict=True):
            target = row[1], row[3]
            written[target] = [self.arrive(number, row, before, written[target])]
        for key, last in written.items():
            self.wrote[key], self.read[key] = last, []

    def arrive(self, number: int, row: tuple[int, int, int, int, bool], before: list[int], written: list[int]) -> int:
        """What receives, copies or adds at the target of a transfer: the node after which the slot holds it."""
        src, dst, chunk, into, adds = row
        deps = self.read[dst, into] + (before if src == dst else [])
        if src != dst:
            deps = [*deps, self.move(dst, RECV, f"receive {into} from {src}", deps, (src, dst, chunk, number))]
            if not adds:
                return deps[-1]
        held = [*self.wrote.get((dst, into), []), *written] if adds else []
        return self.add(dst, COMP, f"{'add' if adds else 'copy'} into {into}", [*deps, *held])

    def move(self, at: int, kind: int, name: str, deps: list[int], move: tuple[int, int, int, int]) -> int:
        src, dst, chunk, tag = move
        return self.add(at, kind, name, deps, comm_size=self.sizes[chunk], comm_src=src, comm_dst=dst, comm_tag=tag)

    def add(self, endpoint: int, kind: int, name: str, deps: list[int], **values: int) -> int:
        number = len(self.nodes[endpoint])
        node = self.kinds["Node"](id=number, name=name, type=kind, data_deps=sorted(set(deps)))
        node.attr.add(name="is_cpu_op", bool_val=False)
        for key, value in values.items():
            setattr(node.attr.add(name=key), "int64_val" if key == "comm_size" else "int32_val", value)
        self.nodes[endpoint].append(node)
        return number


# ---- back
# --------------------------------------------------------------------------------------------------------------------


def read_chakra(path: Any) -> list[dict[str, Any]]:
    """The nodes of one trace file (`name.<rank>.et`): id, name, type, data_deps, ctrl_deps and every attribute by its
    name.

    Raises FormatError for a file that is cut or is no Chakra trace.
    """
    kinds = _messages()
    found = [_parsed(path, kinds, number, part) for number, part in enumerate(_messages_in(path, read_bytes(path)))]
    return [_plain(node) for node in found[1:]]


def _parsed(path: Any, kinds: dict[str, Any], number: int, part: bytes) -> Any:
    kind = "Node" if number else "GlobalMetadata"
    node = kinds[kind]()
    try:
        node.ParseFromString(part)
    except Exception as error:  # protobuf's DecodeError has several homes
        why = "is no {kind} of Chakra ({error})"
        refuse(path, Sentence("message {number}", number=number), why, kind=kind, error=str(error)[:160])
    return node


def _plain(node: Any) -> dict[str, Any]:
    values = {a.name: getattr(a, a.WhichOneof("value")) for a in node.attr if a.WhichOneof("value")}
    plain = {"id": node.id, "name": node.name, "type": node.type}
    return {**values, **plain, "data_deps": list(node.data_deps), "ctrl_deps": list(node.ctrl_deps)}


def _messages_in(path: Any, data: bytes) -> Iterator[bytes]:
    at = count = 0
    while at < len(data):
        at, length = _length(path, data, at)
        if at + length > len(data):
            why = "a message of {length} bytes, but only {left} are left; is the file cut?"
            refuse(path, Sentence("byte {at}", at=at), why, length=length, left=len(data) - at)
        count += 1
        if count > MOST_ELEMENTS:
            refuse(path, "", "more than {most:,} messages", most=MOST_ELEMENTS)
        yield data[at : at + length]
        at += length
    if not count:
        refuse(path, "", "empty; expected GlobalMetadata and nodes")


def _length(path: Any, data: bytes, at: int) -> tuple[int, int]:
    """Where a message begins, and how long the varint at `at` says it is."""
    length = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            refuse(path, Sentence("byte {at}", at=at), "the length of a message is cut or too large")
        length |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return at, length


register(
    Format(
        "chakra",
        (".et",),
        "schedule",
        "Chakra execution traces, ASTRA-sim's custom collective; a file per rank",
        None,
        write_chakra,
        options=(("nbytes", "size of the operation, for example 64MiB"),),
    )
)
