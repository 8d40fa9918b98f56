"""Executions as JSON with their arrays behind it: how they leave the sandbox, and how they are read again as if a
stranger had written them."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import CollsimError, Sentence
from .engine import KINDS, LIMITS, Message, RankEvent, RunMode, StackFrame, Stop
from .execute import Execution, Piece, Provenance, RankError, RankWait
from .garbage_collection import pause_collection
from .provenance import REASONS

_MAX_TEXT, _MAX_DEPTH, _MAX_ITEMS = 2_000, 8, 20_000
_CACHED_TEXTS = 256  # events repeat a few words, such as those of calls and types
_MAX_JSON = 50_000_000  # bytes: as Python objects they take ten times as much
_HEAD = 8  # bytes that hold the length of the JSON
#: Where an object is in memory, as its text says: it differs from one execution to the next and tells nothing.
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def share_arrays(execution: Execution, arrays: dict[bytes, np.ndarray]) -> Execution:
    """Let equal results be one array: ranks and modes mostly end alike, and each array takes memory and is sent.

    Args:
        execution: one of a program.
        arrays: the arrays of the program so far, by a digest of what they are; more are added.

    Returns:
        The execution with its results in these arrays.
    """
    results = []
    shared: np.ndarray | None = None
    content = b""  # of the array before: most ranks end with the same, and comparing takes less time than a digest
    for result in execution.results:
        if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
            head, data = f"{result.dtype.str}{result.shape}".encode(), result.tobytes()
            if shared is None or head + data != content:
                content = head + data
                shared = arrays.setdefault(hashlib.blake2b(content).digest(), result)
            result = shared
        results.append(result)
    return replace(execution, results=tuple(results))


def pack_executions(executions: Sequence[Execution]) -> bytes:
    """Executions as bytes; of the first one also what each rank did.

    Args:
        executions: one for each mode.

    Returns:
        The length of a JSON text, the text, and the bytes of all arrays.
    """
    table = _ArrayTable()
    records = [_pack_execution(execution, table) for execution in executions]
    records[0]["events"] = executions[0].events
    records[0]["groups"] = executions[0].groups
    records[0]["unawaited"] = executions[0].unawaited
    if executions[0].provenance is not None:
        records[0]["provenance"] = _pack_provenance(executions[0].provenance)
    text = json.dumps({"executions": records, "arrays": table.records}).encode()
    return b"".join((len(text).to_bytes(_HEAD, "little"), text, *map(np.ndarray.tobytes, table.arrays)))


class _ArrayTable:
    """The arrays of all executions, each once."""

    def __init__(self) -> None:
        self.records: list[list[object]] = []
        self.arrays: list[np.ndarray] = []  # kept, as a number of one that is gone may become that of another
        self._positions: dict[int, int] = {}

    def add(self, array: np.ndarray) -> int:
        """The position of an array in the table."""
        if id(array) not in self._positions:
            self._positions[id(array)] = len(self.records)
            self.arrays.append(array)
            self.records.append([array.dtype.str, array.shape])
        return self._positions[id(array)]


def _pack_execution(execution: Execution, table: _ArrayTable) -> dict[str, object]:
    mode = execution.mode
    # JSON has no infinity, and None stands for it.
    limit = None if math.isinf(mode.eager_limit) else mode.eager_limit
    return {
        "mode": [limit, mode.is_late, mode.choices],
        "results": [_pack_value(result, 0, table) for result in execution.results],
        "messages": execution.messages,
        "waits": [
            [
                *(wait.rank, wait.call, wait.line, wait.peers, wait.is_any),
                [[frame.function, frame.line] for frame in wait.frames],
                *(wait.ended, wait.is_collective),
            ]
            for wait in execution.waits
        ],
        "errors": [
            [error.rank, error.kind, error.text, error.line, error.limit, error.missing_argument]
            for error in execution.errors
        ],
        "printed": list(execution.printed),
    }


def _pack_provenance(provenance: Provenance) -> list[object]:
    reason = None
    if provenance.reason is not None:
        reason = [provenance.reason.key, provenance.reason.values]
    return [provenance.elements, _pack_pieces(provenance.messages), _pack_pieces(provenance.results), reason]


def _pack_pieces(pieces: Sequence[Sequence[Piece]]) -> list[list[list[int]]]:
    return [[[piece.first, piece.count, piece.content] for piece in part] for part in pieces]


def _pack_value(value: object, depth: int, table: _ArrayTable) -> object:
    """A result as JSON: arrays by their position in the table, sequences as lists, all else as its text."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": table.add(value)}
    if value is None or isinstance(value, bool | int | str):
        if isinstance(value, str):
            return value[:_MAX_TEXT]
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"text": repr(value)}
    if isinstance(value, list | tuple) and depth < _MAX_DEPTH and len(value) <= _MAX_ITEMS:
        return [_pack_value(item, depth + 1, table) for item in value]
    return {"text": _describe(value)}


def _describe(value: object) -> str:
    """The text of an object, which is compared with that of other executions; its type where it has none."""
    try:
        text = str(value)
    except (Exception, Stop):  # the program's own code: `__str__` and `__repr__` may raise anything, or never end
        text = object.__repr__(value)
    return strip_addresses(text)[:_MAX_TEXT]


def strip_addresses(text: str) -> str:
    """Leave out where objects are in memory, which differs from one execution to the next.

    Args:
        text: What a program printed or returned.
    """
    return _ADDRESS.sub("", text)


@pause_collection()
def unpack_executions(data: bytes) -> list[Execution]:
    """Read executions; whatever stands in the bytes, only numbers, texts and lists come of it.

    Args:
        data: what `pack_executions` made, or a stranger.

    Returns:
        One or more, the first of them as the library does it.

    Raises:
        CollsimError: for anything else.
    """
    try:
        length = int.from_bytes(data[:_HEAD], "little")
        if length > min(_MAX_JSON, len(data)):
            raise ValueError
        document = json.loads(data[_HEAD : _HEAD + length])
        records = document["executions"]
        if not isinstance(records, list) or not records:
            raise ValueError
        arrays = list(_unpack_arrays(document["arrays"], memoryview(data)[_HEAD + length :]))
        return [_unpack_execution(record, arrays) for record in records]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, AttributeError, OverflowError):
        raise CollsimError("the process of the program sent something that is no result") from None


def _unpack_execution(record: dict[str, Any], arrays: Sequence[np.ndarray]) -> Execution:
    limit, is_late, choices = record["mode"]
    return Execution(
        RunMode(math.inf if limit is None else float(limit), bool(is_late), tuple(map(_read_number, choices))),
        tuple(_unpack_value(value, arrays) for value in record["results"]),
        tuple(_unpack_message(message) for message in record["messages"]),
        tuple(_unpack_wait(wait) for wait in record["waits"]),
        tuple(_unpack_error(error) for error in record["errors"]),
        tuple(map(_read_text, record["printed"])),
        events=tuple(_unpack_event(event) for event in record.get("events", ())),
        groups=tuple(tuple(map(_read_number, members)) for members in record.get("groups", ())),
        provenance=_unpack_provenance(record.get("provenance")),
        unawaited=tuple((_read_text(call), _read_number(line)) for call, line in record.get("unawaited", ())),
    )


def _unpack_provenance(record: Sequence[Any] | None) -> Provenance | None:
    if record is None:
        return None
    elements, messages, results, reason = record
    if reason is not None:
        template, values = reason
        # Only known templates: a stranger's text must not be taken for one, whose fields would be filled in.
        if template not in REASONS:
            raise ValueError
        return Provenance(reason=Sentence(template, **{name: _read_number(value) for name, value in values.items()}))
    return Provenance(_read_number(elements), _unpack_pieces(messages), _unpack_pieces(results))


def _unpack_pieces(record: Sequence[Any]) -> tuple[tuple[Piece, ...], ...]:
    return tuple(tuple(Piece(*map(_read_number, piece)) for piece in part) for part in record)


def _unpack_message(message: Sequence[object]) -> Message:
    src, dst, tag, nbytes, posted, matched, send_line, recv_line = message
    return Message(
        _read_number(src),
        _read_number(dst),
        _read_number(tag),
        _read_number(nbytes),
        _read_number(posted),
        _read_position(matched),
        _read_number(send_line),
        _read_position(recv_line),
    )


def _unpack_wait(wait: Sequence[Any]) -> RankWait:
    rank, call, line, peers, is_any, frames, ended, is_collective = wait
    return RankWait(
        _read_number(rank),
        _read_text(call),
        _read_number(line),
        tuple(map(_read_number, peers)),
        bool(is_any),
        tuple(StackFrame(_read_text(function), _read_number(row)) for function, row in frames),
        tuple(map(_read_number, ended)),
        bool(is_collective),
    )


def _unpack_error(error: Sequence[Any]) -> RankError:
    rank, kind, text, line, limit, missing_argument = error
    if limit not in (None, *LIMITS):
        raise ValueError
    if missing_argument is not None:
        entry, name = missing_argument
        missing_argument = _read_text(entry), _read_text(name)
    return RankError(
        _read_number(rank), _read_text(kind), _read_text(text), _read_number(line), limit, missing_argument
    )


def _unpack_event(event: Sequence[object]) -> RankEvent:
    rank, kind, call, line, other, peer, tag, nbytes, dtype, group, is_eager, is_internal, seconds, complete = event
    if kind not in KINDS or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise ValueError
    return RankEvent(
        _read_number(rank),
        kind,
        _read_text(call),
        _read_number(line),
        _read_number(other),
        _read_number(peer),
        _read_number(tag),
        _read_number(nbytes),
        _read_text(dtype),
        _read_number(group),
        bool(is_eager),
        bool(is_internal),
        float(seconds),
        bool(complete),
    )


def _read_number(value: object) -> int:
    # Beyond 2^53 whole numbers are not exact everywhere (JSON of JavaScript), and no run has so many of anything.
    if type(value) is not int or not -(2**53) <= value <= 2**53:  # JSON has no subclass of int but bool
        raise ValueError
    return value


def _read_position(value: object) -> int | None:
    if value is None:
        return None
    return _read_number(value)


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return _clean_text(value[:_MAX_TEXT])


@functools.lru_cache(_CACHED_TEXTS)
def _clean_text(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _unpack_arrays(records: Sequence[Sequence[Any]], data: memoryview) -> Iterator[np.ndarray]:
    """The arrays of a table, which stand in `data` one after another."""
    for name, shape in records:
        dtype, sizes = np.dtype(str(name)), tuple(map(_read_number, shape))
        nbytes = math.prod(sizes) * dtype.itemsize
        if dtype.kind not in "biuf" or min(sizes, default=0) < 0 or nbytes > len(data):
            raise ValueError
        yield np.frombuffer(data[:nbytes], dtype).reshape(sizes)
        data = data[nbytes:]


def _unpack_value(value: object, arrays: Sequence[np.ndarray]) -> object:
    if isinstance(value, dict):
        if "array" in value:
            return arrays[_read_number(value["array"])]
        return _read_text(value["text"])
    if isinstance(value, list):
        return [_unpack_value(item, arrays) for item in value]
    if isinstance(value, str):
        return _read_text(value)
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError
