"""Executions as JSON with their arrays behind it: how they leave the sandbox, and how they are read again as if a
stranger had written them."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import CollsimError, Sentence
from .engine import RunMode, SharedUse, Stop
from .execute import Execution, Piece, Provenance
from .garbage_collection import pause_collection
from .provenance import REASONS

_MAX_TEXT, _MAX_DEPTH, _MAX_ITEMS = 2_000, 8, 20_000
_CACHED_TEXTS = 256  # events repeat a few words, such as those of calls and types
_MAX_JSON = 50_000_000  # bytes: as Python objects they take ten times as much
_HEAD = 8  # bytes that hold the length of the JSON
_Reader = Callable[[Any], Any]
#: What leaves the sandbox of every execution, and of the first one only.
_OF_EACH, _OF_FIRST = ("messages", "waits", "errors", "printed"), ("events", "groups", "unawaited", "faults")
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
    records[0] |= {name: getattr(executions[0], name) for name in _OF_FIRST}
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
        # The last field, a shared object, is known by its number in this run only.
        "waits": [astuple(wait)[:-1] for wait in execution.waits],
        "errors": [astuple(error) for error in execution.errors],
        "printed": list(execution.printed),
    }


def _pack_provenance(provenance: Provenance) -> list[object]:
    reason = None
    if provenance.reason is not None:
        reason = [provenance.reason.key, provenance.reason.values]
    return [provenance.elements, _pack_pieces(provenance.messages), _pack_pieces(provenance.results), reason]


def _pack_pieces(pieces: Sequence[Sequence[Piece]]) -> list[list[tuple[int, ...]]]:
    return [[astuple(piece) for piece in part] for part in pieces]


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
    eager_limit, types = math.inf, get_type_hints(Execution)
    if limit is not None:
        eager_limit = float(limit)
    return Execution(
        RunMode(eager_limit, bool(is_late), tuple(map(_read_number, choices))),
        tuple(_unpack_value(value, arrays) for value in record["results"]),
        provenance=_unpack_provenance(record.get("provenance")),
        **{name: _build_reader(types[name])(record[name]) for name in _OF_EACH},
        **{name: _build_reader(types[name])(record.get(name, ())) for name in _OF_FIRST},
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
    pieces: tuple[tuple[Piece, ...], ...] = _build_reader(tuple[tuple[Piece, ...], ...])(record)
    return pieces


@functools.cache
def _build_reader(kind: Any) -> _Reader:
    """What reads a value of a type: a number, a text, one of some words, a tuple, or a class by its fields in order."""
    if kind in _PLAIN_READERS:
        return _PLAIN_READERS[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return functools.partial(_read_word, parts)
    if type(None) in parts:
        return functools.partial(_read_optional, _build_reader(parts[0]))
    if origin is tuple and parts[-1] is Ellipsis:
        read = _build_reader(parts[0])
        return lambda values: tuple(map(read, values))
    if origin is tuple:
        readers = list(map(_build_reader, parts))
        return lambda values: tuple(_read_fields(readers, values))
    readers = [_build_reader(part) for part in get_type_hints(kind).values() if SharedUse not in get_args(part)]
    return lambda values: kind(*_read_fields(readers, values))


def _read_fields(readers: Sequence[_Reader], values: Sequence[Any]) -> list[Any]:
    return [read(value) for read, value in zip(readers, values, strict=True)]


def _read_word(words: tuple[str, ...], value: object) -> object:
    if value not in words:
        raise ValueError
    return value


def _read_optional(read: _Reader, value: object) -> object:
    if value is None:
        return None
    return read(value)


def _read_seconds(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError
    return float(value)


def _read_number(value: object) -> int:
    # Beyond 2^53 whole numbers are not exact everywhere (JSON of JavaScript), and no run has so many of anything.
    if type(value) is not int or not -(2**53) <= value <= 2**53:  # JSON has no subclass of int but bool
        raise ValueError
    return value


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return _clean_text(value[:_MAX_TEXT])


@functools.lru_cache(_CACHED_TEXTS)
def _clean_text(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


_PLAIN_READERS: dict[Any, _Reader] = {
    int: _read_number,
    str: _read_text,
    bool: bool,
    float: _read_seconds,
}


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
