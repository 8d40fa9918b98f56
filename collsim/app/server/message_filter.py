"""Which messages of a page reach Streamlit: those of a few types, each of a limited size.

A page talks to Streamlit in protobuf messages (`streamlit.proto.BackMsg`). Streamlit obeys messages that no page of
this app sends: one empties the caches of all pages, others run git or write files. It also decodes whatever comes: a
message of 3 MB that asks for a million upload addresses stops the server for all pages. So each message is read here
first, as the protobuf encoding has it (https://protobuf.dev/programming-guides/encoding), without building objects: its
type, how many fields are in it, how many bytes they have. Names and types of fields are those of Streamlit's own
descriptors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from streamlit.proto.BackMsg_pb2 import BackMsg

#: What happens to a message: it is passed on, dropped, or the page that sent it is closed.
Verdict = Literal["pass", "drop", "close"]


@dataclass(frozen=True)
class MessageLimit:
    """How large a message of one type may be.

    Attributes:
        nbytes: bytes of the whole message.
        fields: fields in it, those inside other fields too.
    """

    nbytes: int
    fields: int


#: The types of message that reach Streamlit. The largest text that a page sends is a machine's (200,000 characters,
#: `scenario.custom_machine`). A page has fewer than 100 controls, of three fields each.
LIMITS = {
    "rerun_script": MessageLimit(512 * 2**10, 2_000),
    "stop_script": MessageLimit(16, 1),
    "app_heartbeat": MessageLimit(16, 1),
    "file_urls_request": MessageLimit(16 * 2**10, 64),
}
LARGEST = max(limit.nbytes for limit in LIMITS.values())
#: Kinds of value that a control may send. Streamlit knows more, of controls that no page of this app has; one of them
#: is a table in the Arrow format, which a library of C++ would read.
WIDGET_VALUES = {
    "trigger_value",
    "bool_value",
    "double_value",
    "int_value",
    "string_value",
    "string_array_value",
    "json_value",
    "json_trigger_value",
    "file_uploader_state_value",
}
_ALLOWED = {"BackMsg": set(LIMITS), "WidgetState": {"id", *WIDGET_VALUES}}
#: Bytes of a value in JSON, which is decoded in the thread of a rerun and is some fifty times as large in memory. The
#: longest one is the code on the Write page (12,000 characters, `sandbox.allowlist`).
JSON_BYTES = 64 * 2**10
_JSON = {"json_value", "json_trigger_value"}

# Wire types of protobuf (protobuf.dev/programming-guides/encoding); 3 and 4 are groups, which Streamlit does not use.
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
#: The wire type of a type of field; of all others in these messages it is a varint.
_WIRE_TYPES = {
    FieldDescriptor.TYPE_DOUBLE: _FIXED64,
    FieldDescriptor.TYPE_FLOAT: _FIXED32,
    FieldDescriptor.TYPE_STRING: _LENGTH,
    FieldDescriptor.TYPE_BYTES: _LENGTH,
    FieldDescriptor.TYPE_MESSAGE: _LENGTH,
}


class _Malformed(Exception):
    """The bytes are no protobuf message, or it is larger than it may be."""


class _Unknown(Exception):
    """The message has a type or a field that no page of this app sends."""


def judge_message(data: bytes) -> Verdict:
    """Return what happens to a message of a page.

    Args:
        data: the message as it came over the websocket.

    Returns:
        `drop` for a type or a field that no page of this app sends, `close` for what is too large or no message.

    Examples:
        >>> judge_message(BackMsg(app_heartbeat=True).SerializeToString())
        'pass'
        >>> judge_message(BackMsg(clear_cache=True).SerializeToString())
        'drop'
    """
    try:
        number, _, _, end = _read_field(data, 0, len(data))
        field = BackMsg.DESCRIPTOR.fields_by_number.get(number)
        limit = None if field is None else LIMITS.get(field.name)
        if len(data) > (LARGEST if limit is None else limit.nbytes):
            return "close"
        if limit is None or end != len(data):  # of several types the last one would win
            return "drop"
        _count_fields(data, 0, len(data), BackMsg.DESCRIPTOR, limit.fields + 1)
    except _Unknown:
        return "drop"
    except _Malformed:
        return "close"
    return "pass"


def _count_fields(data: bytes, start: int, end: int, descriptor: Descriptor, most: int) -> int:
    """Return the number of fields of the message from `start` to `end`, those inside its fields too.

    Raises:
        _Malformed: the bytes are no such message, or there are more than `most` fields.
        _Unknown: a field that the message may not have.
    """
    fields, allowed = descriptor.fields_by_number, _ALLOWED.get(descriptor.full_name)
    count, position = 0, start
    while position < end:
        number, wire_type, body, position = _read_field(data, position, end)
        field = fields.get(number)
        if field is None or (allowed is not None and field.name not in allowed):
            raise _Unknown
        count += 1
        if wire_type != _WIRE_TYPES.get(field.type, _VARINT):
            raise _Unknown
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            count += _count_fields(data, body, position, field.message_type, most - count)
        if count > most or (field.name in _JSON and position - body > JSON_BYTES):
            raise _Malformed
    return count


def _read_field(data: bytes, position: int, end: int) -> tuple[int, int, int, int]:
    """Return the number and the wire type of the field at a position, where its body begins and where it ends."""
    key, body = _read_varint(data, position)
    wire_type, position = key & 7, body
    if wire_type == _LENGTH:
        length, body = _read_varint(data, body)
        position = body + length
    elif wire_type == _VARINT:
        _, position = _read_varint(data, body)
    elif wire_type in _FIXED_BYTES:
        position += _FIXED_BYTES[wire_type]
    else:  # groups, which Streamlit does not use
        raise _Malformed
    if position > end:
        raise _Malformed
    return key >> 3, wire_type, body, position


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number of at most ten bytes at a position, and where it ends."""
    value = 0
    for shift, byte in enumerate(data[position : position + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, position + shift + 1
    raise _Malformed
