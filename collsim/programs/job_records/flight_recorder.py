"""PyTorch's Flight Recorder: one pickle, or one JSON file, for each rank (torch 2.13, `FlightRecorder.hpp`).

A pickle is a program for a small machine that can call anything. A dump needs dictionaries, lists, tuples, texts and
numbers, so only the opcodes for these are known here; an opcode that imports or calls ends the reading.
"""

from __future__ import annotations

import ast
import io
import json
import math
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, ClassVar, NamedTuple, TypeGuard

from ...errors import Sentence, require_path
from ...files import FilePath, create_file, name_write_errors, read_bytes, read_json, refuse
from ...package_data import read_toml
from .recorded_run import WORLD_LABEL
from .records import JobRecord, RecordedCall, Sizes

VERSION = "2.10"  # of the dump's form in torch 2.13
# Dumps come from strangers: what is beyond these is refused or left out, so that no file takes all memory.
_MAX_ENTRIES, _MAX_GROUPS, _MAX_RANKS = 100_000, 10_000, 65_536
_MAX_DIMENSIONS, _MAX_TENSORS, _LONGEST_NAME = 16, 10_000, 200
_MESSAGE = re.compile(r"(send|recv) (\d{1,7})(->|<-)(\d{1,7})", re.ASCII)
_RANK = re.compile(r"(\d{1,6})(?:\.[A-Za-z]\w{0,15}){0,3}$", re.ASCII)
#: Words of a dump that have another name in the API.
_NAMES = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "all_reduce_barrier": "barrier",
}
_RECORDED_NAMES = {name: word for word, name in _NAMES.items()}
#: Sizes and types that a barrier has in a dump: an all_reduce of one number.
_BARRIER: tuple[Sizes, tuple[str, ...]] = (((1,),), ("Float",))
#: Opcodes of plain data in the protocols that torch and Python write.
_PLAIN: frozenset[str] = frozenset(read_toml(__file__, "flight_recorder.toml")["plain"])


class _PlainUnpickler(pickle._Unpickler):
    """An unpickler of plain data. It is the one in Python, as the memo of that in C is as long as an index says."""

    dispatch: ClassVar[dict[int, Callable[[pickle.Unpickler], None]]] = {
        getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]] for name in _PLAIN
    }


def _load_setitem(unpickler: pickle.Unpickler) -> None:
    _require_plain_keys(unpickler.stack[-2:-1])  # type: ignore[attr-defined]
    pickle._Unpickler.dispatch[pickle.SETITEM[0]](unpickler)


def _load_setitems(unpickler: pickle.Unpickler) -> None:
    _require_plain_keys(unpickler.stack[::2])  # type: ignore[attr-defined]
    pickle._Unpickler.dispatch[pickle.SETITEMS[0]](unpickler)


_PlainUnpickler.dispatch[pickle.SETITEM[0]] = _load_setitem
_PlainUnpickler.dispatch[pickle.SETITEMS[0]] = _load_setitems


def _require_plain_keys(keys: Sequence[object]) -> None:
    """Refuse keys other than texts and numbers: the hash of nested tuples can take forever."""
    if not all(isinstance(key, str | int) for key in keys):
        raise pickle.UnpicklingError


class RankDump(NamedTuple):
    """What one dump of PyTorch's Flight Recorder says.

    Attributes:
        rank: whose dump it is.
        calls: the collectives that it recorded, in their order.
        groups: process group -> its ranks.
        labels: process group -> its description.
    """

    rank: int
    calls: tuple[RecordedCall, ...]
    groups: Mapping[str, tuple[int, ...]]
    labels: Mapping[str, str]


# ---- reading -------------------------------------------------------------------------------------------------------


def read_dump(path: FilePath) -> RankDump:
    """Read the dump of one rank.

    Args:
        path: a pickle or a JSON file, whose name ends in the rank (`nccl_trace_rank_3`, `dump_3.json`).

    Returns:
        Its calls and groups.

    Raises:
        FormatError: it is no dump, holds more than data, is too large, or its name does not say the rank.
    """
    data = read_bytes(path)
    if data.lstrip()[:1] == b"{":
        document = read_json(path)
    else:
        document = _unpickle(path, data)
    if not isinstance(document, dict) or not isinstance(document.get("entries"), list | tuple):
        refuse(path, "", "no Flight Recorder dump: it has no list of entries")
    match = _RANK.search(Path(path).name)
    if match is None:
        refuse(path, "", "the name of a dump ends in its rank, as nccl_trace_rank_3 does; rename the file")
    return _read_document(path, document, int(match[1]))


def _unpickle(path: FilePath, data: bytes) -> object:
    try:
        return _PlainUnpickler(io.BytesIO(data), encoding="utf-8", errors="replace").load()
    except (KeyError, pickle.UnpicklingError):
        refuse(
            path, "", "a pickle that holds more than data, or none; a Flight Recorder dump imports and calls nothing"
        )
    except Exception:  # whatever a damaged stream makes of the stack
        refuse(path, "", "not a whole pickle; is the file truncated?")


def _read_document(path: FilePath, document: Mapping[str, Any], rank: int) -> RankDump:
    entries = document["entries"]
    if len(entries) > _MAX_ENTRIES:
        refuse(path, "", "more than {most:,} entries", most=_MAX_ENTRIES)
    reader = _DumpReader(path, rank)
    reader.read_groups(document.get("pg_config"))
    completed = reader.read_status(document.get("pg_status"))
    calls = tuple(reader.read_entry(number, entry, completed) for number, entry in enumerate(entries))
    return RankDump(rank, tuple(call for call in calls if call is not None), reader.groups, reader.labels)


class _DumpReader:
    """Reads the parts of one dump; where it contradicts itself, the entry is named."""

    def __init__(self, path: FilePath, rank: int) -> None:
        self.path, self.rank = path, rank
        self.groups: dict[str, tuple[int, ...]] = {}
        self.labels: dict[str, str] = {}
        self._messages = 0

    def read_groups(self, config: object) -> None:
        """Groups and their ranks, which are a text of a list. Gloo writes the default group without its name."""
        if not isinstance(config, dict) or len(config) > _MAX_GROUPS:
            return
        for key, group in config.items():
            if not isinstance(group, dict):
                continue
            name = _read_name(key) or "0"
            members = self._read_ranks(group.get("ranks"))
            if members:
                self.groups[name] = members
                label = _read_name(group.get("desc"))
                if label not in ("", "undefined"):
                    self.labels[name] = label
                elif name == "0":
                    self.labels[name] = WORLD_LABEL

    def _read_ranks(self, ranks: object) -> tuple[int, ...]:
        if isinstance(ranks, str) and len(ranks) < 10 * _MAX_RANKS:
            try:
                ranks = ast.literal_eval(ranks)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                ranks = None
        if not isinstance(ranks, list | tuple) or not all(_is_count(rank, _MAX_RANKS) for rank in ranks):
            refuse(self.path, "pg_config", "the ranks of a group are a list of whole numbers")
        return tuple(sorted(set(ranks)))

    def read_status(self, status: object) -> Mapping[int, int]:
        """The last collective that has ended, by the position of its group."""
        completed: dict[int, int] = {}
        if isinstance(status, dict):
            for key, values in list(status.items())[:_MAX_GROUPS]:
                number = None
                if isinstance(values, dict):
                    number = values.get("last_completed_collective")
                if _is_count(number, 2**53) and str(key).isdecimal():
                    completed[int(str(key)[:9])] = number
        return completed

    def read_entry(self, number: int, entry: object, completed: Mapping[int, int]) -> RecordedCall | None:
        """One call; None for the end of a batch, which is no call of its own."""
        where = Sentence("entry {number}", number=number)
        if not isinstance(entry, dict) or not isinstance(entry.get("profiling_name"), str):
            refuse(self.path, where, "an entry has a profiling_name")
        _, _, word = entry["profiling_name"][:_LONGEST_NAME].rpartition(":")
        if word == "coalesced":
            return None
        # torch writes a group as a pair of name and description.
        group = entry.get("process_group")
        name = "0"
        if isinstance(group, list | tuple) and group:
            name = _read_name(group[0]) or "0"
        sequence = entry.get("collective_seq_id")
        if not _is_count(sequence, 2**53):
            refuse(self.path, where, "collective_seq_id is a whole number")
        # The state of a call may lag behind; the status of its group tells for collectives.
        is_complete = entry.get("state") == "completed" or (
            not entry.get("is_p2p") and sequence <= completed.get(entry.get("pg_id", 0), -1)
        )
        operation, peer = _NAMES.get(word, word), -1
        if match := _MESSAGE.fullmatch(word):
            operation, peer = match[1], self._find_peer(name, int(match[4]))
            self._messages += 1
            sequence = self._messages
        file, line = _find_program_line(entry.get("frames"))
        inputs, outputs = _read_sizes(entry.get("input_sizes")), _read_sizes(entry.get("output_sizes"))
        dtypes = tuple(
            dict.fromkeys([*_read_names(entry.get("input_dtypes")), *_read_names(entry.get("output_dtypes"))])
        )
        # A barrier's tensor is torch's own and no data of the program.
        if operation == "barrier":
            inputs, outputs, dtypes = (), (), ()
        return RecordedCall(
            self.rank, name, sequence, operation, peer, inputs, outputs, dtypes, is_complete, file, line
        )

    def _find_peer(self, group: str, position: int) -> int:
        """The rank among all of a member, which a dump counts inside of its group."""
        members = self.groups.get(group, ())
        if position < len(members):
            return members[position]
        return position


def _is_count(value: object, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < most


def _read_name(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return "".join(c for c in value[:_LONGEST_NAME] if c.isprintable())


def _read_names(values: object) -> list[str]:
    if not isinstance(values, list | tuple):
        return []
    return [_read_name(value) for value in values[:_MAX_TENSORS]]


def _read_sizes(values: object) -> Sizes:
    if not isinstance(values, list | tuple):
        return ()
    shapes = [shape for shape in values[:_MAX_TENSORS] if isinstance(shape, list | tuple)]
    return tuple(tuple(length for length in shape[:_MAX_DIMENSIONS] if _is_count(length, 2**62)) for shape in shapes)


def _find_program_line(frames: object) -> tuple[str, int]:
    """File and line of the innermost frame that is not torch's own."""
    if not isinstance(frames, list | tuple):
        return "", 0
    for frame in frames[:1_000]:
        if not isinstance(frame, dict):
            continue
        file, line = frame.get("filename"), frame.get("line")
        if isinstance(file, str) and _is_count(line, 2**31) and "torch" not in PurePath(file[:4_000]).parts:
            return _read_name(PurePath(file[:4_000]).name), int(line)
    return "", 0


# ---- writing -------------------------------------------------------------------------------------------------------


def write_dump(record: JobRecord, rank: int, timeout: float) -> bytes:
    """Write the calls of a rank as PyTorch would.

    Args:
        record: the calls of all ranks.
        rank: whose dump it is.
        timeout: s after which the watchdog ends a collective.

    Returns:
        A pickle, which `torchfrtrace` of torch 2.13 reads. Times are positions in the order of calls.
    """
    names = [name for name, members in record.groups.items() if rank in members]
    positions = {name: position for position, name in enumerate(names)}
    config, status = {}, {}
    for name, position in positions.items():
        ranks = json.dumps(list(record.groups[name]))
        config[name] = {"name": name, "desc": record.labels.get(name, "undefined"), "ranks": ranks}
        numbers = [call for call in record.calls[rank] if call.group == name and not call.is_message]
        status[str(position)] = {
            "last_enqueued_collective": max([call.number for call in numbers], default=-1),
            "last_started_collective": -1,
            "last_completed_collective": max([call.number for call in numbers if call.is_complete], default=-1),
        }
    entries = []
    counts = dict.fromkeys(names, 0)
    for number, call in enumerate(record.calls[rank]):
        if not call.is_message:
            counts[call.group] = call.number
        entries.append(_build_entry(record, call, number, positions[call.group], counts[call.group], timeout))
    document = {
        "version": VERSION,
        "pg_config": config,
        "pg_status": status,
        "comm_lib_version": "simulated",
        "entries": entries,
    }
    # The protocol that torch's own recorder writes.
    return pickle.dumps(document, protocol=2)


def _build_entry(
    record: JobRecord, call: RecordedCall, number: int, position: int, collectives: int, timeout: float
) -> dict[str, object]:
    inputs, outputs, dtypes = call.input_sizes, call.output_sizes, call.dtypes
    if call.operation == "barrier":
        inputs = outputs = _BARRIER[0]
        dtypes = _BARRIER[1]
    state = "scheduled"
    if call.is_complete:
        state = "completed"
    messages = 0
    if call.is_message:
        messages = call.number
    return {
        "frames": [{"name": "program", "filename": call.file, "line": call.line}],
        "record_id": number,
        "pg_id": position,
        "process_group": (call.group, record.labels.get(call.group, "undefined")),
        "thread_name": "python",
        "thread_id": "0",
        "collective_seq_id": collectives,
        "p2p_seq_id": messages,
        "op_id": number + 1,
        "profiling_name": f"nccl:{_write_name(call)}",
        "time_created_ns": number,
        "input_sizes": [list(shape) for shape in inputs],
        "input_dtypes": list(dtypes) * len(inputs),
        "output_sizes": [list(shape) for shape in outputs],
        "output_dtypes": list(dtypes) * len(outputs),
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": call.is_complete,
        "timeout_ms": math.ceil(timeout * 1_000),
        "is_p2p": call.is_message,
    }


def _write_name(call: RecordedCall) -> str:
    if call.operation == "send":
        return f"send {call.rank}->{call.peer}"
    if call.operation == "recv":
        return f"recv {call.rank}<-{call.peer}"
    return _RECORDED_NAMES.get(call.operation, call.operation)


def save_dumps(dumps: Mapping[int, bytes], folder: FilePath) -> None:
    """Write dumps into a folder, as `trace_0`, `trace_1` ...

    Args:
        dumps: by rank, of `ProgramRun.flight_recorder`.
        folder: made where there is none; files of other names in it stay.

    Raises:
        FormatError: it cannot be written.
    """
    target = require_path(folder)
    with name_write_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    for rank, data in dumps.items():
        with create_file(target / f"trace_{rank}") as file:
            file.write(data)


def join_dumps(dumps: Sequence[RankDump]) -> JobRecord:
    """Put the dumps of several ranks together.

    Args:
        dumps: one for each rank, in any order.

    Returns:
        The calls of all. A group that ranks know with other members counts once for each of its versions.
    """
    groups: dict[str, tuple[int, ...]] = {}
    labels: dict[str, str] = {}
    calls: dict[int, tuple[RecordedCall, ...]] = {}
    names = _list_versions(dumps)
    for dump in sorted(dumps, key=lambda dump: dump.rank):
        for name, members in dump.groups.items():
            version = names[name, members]
            groups[version] = members
            if name in dump.labels:
                labels[version] = dump.labels[name]
        for name in {call.group for call in dump.calls} - set(dump.groups):  # its members are those that wrote of it
            groups[name] = tuple(sorted({*groups.get(name, ()), dump.rank}))
        calls[dump.rank] = tuple(_rename_group(call, dump.groups, names) for call in dump.calls)
    return JobRecord(dict(sorted(calls.items())), groups, labels)


def _list_versions(dumps: Sequence[RankDump]) -> dict[tuple[str, tuple[int, ...]], str]:
    """The name of each group by its name in a dump and its members: split groups share a name."""
    members: dict[str, set[tuple[int, ...]]] = {}
    for dump in dumps:
        for name, ranks in dump.groups.items():
            members.setdefault(name, set()).add(ranks)
    names: dict[tuple[str, tuple[int, ...]], str] = {}
    for name, versions in members.items():
        for version in versions:
            names[name, version] = name
            if len(versions) > 1:
                names[name, version] = f"{name} ({', '.join(map(str, version[:8]))})"
    return names


def _rename_group(
    call: RecordedCall, groups: Mapping[str, tuple[int, ...]], names: Mapping[tuple[str, tuple[int, ...]], str]
) -> RecordedCall:
    name = names.get((call.group, groups.get(call.group, ())), call.group)
    if name == call.group:
        return call
    return RecordedCall(**{**vars(call), "group": name})
