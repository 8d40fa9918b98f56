"""Chakra execution traces (.et): a schedule as ASTRA-sim's custom collective, out and back.

Source: mlcommons/chakra schema/protobuf/et_def.proto (messages GlobalMetadata, Node, AttributeProto) and its framing:
per rank a file `prefix.<rank>.et`, each message behind its length as a varint. A transfer is a COMM_SEND node at its
sender and a COMM_RECV node at its receiver, an addition a COMP node; `data_deps` say what each waits for. Needs the
package protobuf (`pip install collsim[exchange]`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import CollsimError, Sentence
from ..files import MAX_ELEMENTS, FilePath, create_file, read_bytes, refuse
from ..package_data import read_csv
from ..schedule import Schedule
from ..units import ByteSize
from .file_formats import register_built_in
from .transfer_tasks import Transfer, TransferTasks, compute_task_sizes

COMP, SEND, RECV, COLLECTIVE = 4, 5, 6, 7
_VERSION = "0.0.4"


_TIMES = ("start_time_micros", "duration_micros")
#: Types of attributes, as Chakra's feeder reads them (src/feeder/et_feeder_node.cpp); all others are int32.
_ATTRIBUTES = dict.fromkeys(("comm_type", "comm_size", "num_ops"), "int64_val")
_ATTRIBUTES |= {"tensor_size": "uint64_val", "pg_name": "string_val"}


@cache
def _build_message_classes() -> dict[str, Any]:
    """The message classes of the schema (the part that is used here), made by protobuf."""
    try:
        descriptor_pb2, descriptor_pool, message_factory = (
            import_module(f"google.protobuf.{name}")
            for name in ("descriptor_pb2", "descriptor_pool", "message_factory")
        )
    except ImportError as error:
        raise CollsimError("Chakra traces need the package protobuf: pip install 'collsim[exchange]'") from error
    # The classes are built at run time from the schema, because generated code would pin a version of protobuf.
    file = descriptor_pb2.FileDescriptorProto(name="collsim_et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    field_types = descriptor_pb2.FieldDescriptorProto
    messages: dict[str, Any] = {}
    for row in read_csv(__file__, "chakra.csv"):
        name = row["message"]
        if name not in messages:
            messages[name] = file.message_type.add(name=name)
        field = messages[name].field.add(
            name=row["field"],
            number=int(row["number"]),
            type=field_types.Type.Value(f"TYPE_{row['type']}"),
            label=field_types.Label.Value(f"LABEL_{row['label'].upper()}"),
        )
        if row["type"] == "MESSAGE":
            field.type_name = ".ChakraProtoMsg.AttributeProto"
        elif name == "AttributeProto" and row["field"] != "name":
            # The value of an attribute is one of several kinds: proto3 keeps them in a oneof.
            field.oneof_index = 0
    messages["AttributeProto"].oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}")) for name in messages
    }


# ---- out -----------------------------------------------------------------------------------------------------------


def write_chakra(schedule: Schedule, path: FilePath, *, nbytes: ByteSize | None = None, itemsize: int = 4) -> None:
    """Write a schedule as Chakra traces `name.0.et`, `name.1.et` ... beside `path` (name.et), one per endpoint.

    Args:
        schedule: What is written.
        path: Of the files, `name.et`.
        nbytes: nccl-tests' size.
        itemsize: Bytes of an element; chunks are cut between elements.

    Raises:
        CollsimError: Without a size, without protobuf, or for more than two million transfers.
    """
    sizes = compute_task_sizes(schedule, nbytes, itemsize, "Chakra")
    trace = ChakraTrace(schedule.endpoints)
    trace.add_schedule(schedule, sizes, range(schedule.endpoints))
    trace.write(path)


class ChakraTrace:
    """Nodes of every endpoint under construction; ids are per endpoint and rise, so that a dependency is always an
    earlier node.

    Raises:
        CollsimError: Without protobuf, and for numbers beyond 64 bits.
    """

    def __init__(self, endpoints: int):
        """A trace without nodes.

        Args:
            endpoints: Of the schedule, a file for each.
        """
        self.kinds = _build_message_classes()
        self.nodes: list[list[Any]] = [[] for _ in range(endpoints)]

    def add(self, endpoint: int, kind: int, name: str, deps: Iterable[int] = (), **values: Any) -> int:
        """One more node behind those named; its number. `values` are its attributes, and start and duration in
        microseconds.

        Args:
            endpoint: whose file the node is in.
            kind: of the node, a value of ChakraProtoMsg.NodeType.
            name: for people.
            deps: numbers of nodes of the same endpoint that must end before.
            values: attributes of the node.
        """
        number = len(self.nodes[endpoint])
        times = {key: values.pop(key) for key in _TIMES if key in values}
        try:
            node = self.kinds["Node"](id=number, name=name, type=kind, data_deps=sorted(set(deps)), **times)
            node.attr.add(name="is_cpu_op", bool_val=False)
            for key, value in values.items():
                attribute = node.attr.add(name=key)
                setattr(attribute, _ATTRIBUTES.get(key, "int32_val"), value)
        except ValueError as error:  # protobuf's, of a number beyond 64 bits
            message = "{name}: {figures} is more than a Chakra trace has room for; write it as .json"
            figures = ", ".join(f"{key}={value!r:.60}" for key, value in (times | values).items())
            raise CollsimError(message, name=name, figures=figures) from error
        self.nodes[endpoint].append(node)
        return number

    def add_schedule(
        self,
        schedule: Schedule,
        sizes: Sequence[int],
        ranks: Sequence[int],
        before: Mapping[int, Iterable[int]] | None = None,
        tag: int = 0,
    ) -> list[set[int]]:
        """The transfers of a schedule as messages; for each of its endpoints the nodes behind which all of its own
        are.

        Args:
            schedule: whose transfers are added.
            sizes: bytes of each slot.
            ranks: the rank of the trace that each of its endpoints is.
            before: nodes that an endpoint waits for.
            tag: of the first step's messages.
        """
        nodes = _Nodes(self, sizes, ranks, before or {}, tag)
        nodes.add_schedule(schedule)
        return nodes.open

    def write(self, path: FilePath) -> list[Path]:
        """Write `name.0.et`, `name.1.et` ... beside `path` (name.et); the files.

        Args:
            path: `name.et`.
        """
        target = Path(path)
        stem = target.name.removesuffix(".et")
        files = [target.with_name(f"{stem}.{endpoint}.et") for endpoint in range(len(self.nodes))]
        for file_path, nodes in zip(files, self.nodes, strict=True):
            with create_file(file_path) as file:
                for message in (self.kinds["GlobalMetadata"](version=_VERSION), *nodes):
                    data = message.SerializeToString()
                    file.write(_encode_varint(len(data)) + data)
        return files


def compute_roofline(flops: float, nbytes: float) -> dict[str, int]:
    """Attributes of which ASTRA-sim's roofline makes a time: operations, and bytes of memory that are read and written
    (Workload.cc, issue_comp; Roofline.cc). It divides operations by a rate that is 0 where there are none, and passes
    over nodes without bytes, so each is at least 1: time is then bytes / memory bandwidth, as it should be.

    Args:
        flops: floating-point operations.
        nbytes: bytes of memory that are read and written.
    """
    return {"num_ops": max(1, round(flops)), "tensor_size": max(1, round(nbytes))}


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


class _Nodes(TransferTasks):
    """A schedule as nodes: a send at its sender, a receive at its receiver, an addition as computing."""

    def __init__(
        self,
        trace: ChakraTrace,
        sizes: Sequence[int],
        ranks: Sequence[int],
        before: Mapping[int, Iterable[int]],
        tag: int,
    ):
        super().__init__()
        self.trace, self.sizes, self.ranks, self.tag = trace, sizes, ranks, tag
        self.before = {end: tuple(nodes) for end, nodes in before.items()}
        self.open: list[set[int]] = [set() for _ in ranks]  # nodes that nothing of the schedule waits for

    def add_node(self, end: int, kind: int, name: str, after: list[int], **values: int) -> int:
        self.open[end] -= set(after)
        number = self.trace.add(self.ranks[end], kind, name, after or self.before.get(end, ()), **values)
        self.open[end].add(number)
        return number

    def add_send(self, transfer: Transfer, step: int, after: list[int]) -> int:
        name = f"send {transfer.chunk} to {transfer.dst}"
        return self.add_node(transfer.src, SEND, name, after, **self.describe(transfer, step))

    def add_receive(self, transfer: Transfer, step: int, after: list[int]) -> int:
        name = f"receive {transfer.into} from {transfer.src}"
        return self.add_node(transfer.dst, RECV, name, after, **self.describe(transfer, step))

    def add_computing(self, transfer: Transfer, after: list[int]) -> int:
        size = self.sizes[transfer.chunk]
        name, work = f"copy into {transfer.into}", compute_roofline(0, 2 * size)
        if transfer.adds:  # reads two and writes one, four bytes an element
            name, work = f"add into {transfer.into}", compute_roofline(size / 4, 3 * size)
        return self.add_node(transfer.dst, COMP, name, after, **work)

    def describe(self, transfer: Transfer, step: int) -> dict[str, int]:
        ends = {"comm_src": self.ranks[transfer.src], "comm_dst": self.ranks[transfer.dst]}
        return {"comm_size": self.sizes[transfer.chunk], **ends, "comm_tag": self.tag + step}


# ---- back ------------------------------------------------------------------------------------------------------------


def read_chakra(path: FilePath) -> list[dict[str, Any]]:
    """The nodes of one trace file, as `iterate_chakra` yields them.

    Args:
        path: of `name.<rank>.et`.

    Raises:
        FormatError: For a file that is cut or is no Chakra trace.
    """
    return list(iterate_chakra(path))


def iterate_chakra(path: FilePath) -> Iterator[dict[str, Any]]:
    """The nodes of one trace file (`name.<rank>.et`): id, name, type, data_deps, ctrl_deps, start_time_micros,
    duration_micros and every attribute by its name.

    Args:
        path: of `name.<rank>.et`.

    Yields:
        A node each; of a file that is cut those before the cut.

    Raises:
        FormatError: For a file that is cut or is no Chakra trace.
    """
    kinds = _build_message_classes()
    data = read_bytes(path)
    # The first message of a file is the metadata; all others are nodes.
    for number, part in enumerate(_split_messages(path, data)):
        node = (kinds["Node"] if number else kinds["GlobalMetadata"])()
        try:
            node.ParseFromString(part)
        except Exception as error:  # protobuf's DecodeError has several homes
            refuse(
                path,
                Sentence("message {number}", number=number),
                "is no {kind} of Chakra ({error})",
                kind="Node" if number else "GlobalMetadata",
                error=str(error)[:160],
            )
        if number:
            values = {a.name: getattr(a, a.WhichOneof("value")) for a in node.attr if a.WhichOneof("value")}
            plain = {"id": node.id, "name": node.name, "type": node.type, **{key: getattr(node, key) for key in _TIMES}}
            yield {**values, **plain, "data_deps": list(node.data_deps), "ctrl_deps": list(node.ctrl_deps)}


def _split_messages(path: FilePath, data: bytes) -> Iterator[bytes]:
    offset = count = 0
    while offset < len(data):
        length = shift = 0
        while True:
            # Seven bits a byte, the lowest first; the top bit says that more follow. Five bytes at most.
            if offset >= len(data) or shift > 28:
                refuse(path, Sentence("byte {at}", at=offset), "the length of a message is cut or too large")
            length |= (data[offset] & 0x7F) << shift
            shift += 7
            offset += 1
            if not data[offset - 1] & 0x80:
                break
        if offset + length > len(data):
            refuse(
                path,
                Sentence("byte {at}", at=offset),
                "a message of {length} bytes, but only {left} are left; is the file cut?",
                length=length,
                left=len(data) - offset,
            )
        count += 1
        if count > MAX_ELEMENTS:
            refuse(path, "", "more than {most:,} messages", most=MAX_ELEMENTS)
        yield data[offset : offset + length]
        offset += length
    if not count:
        refuse(path, "", "empty; expected GlobalMetadata and nodes")


register_built_in("chakra", write=write_chakra)
