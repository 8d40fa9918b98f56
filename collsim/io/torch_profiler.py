"""Traces of PyTorch's profiler (`prof.export_chrome_trace`), one a rank: which collectives ran on its GPU, how long,
and how much of that time kernels computed there.

Sources: pytorch/kineto, libkineto/src/output_json.cpp, for the document and what a kernel of NCCL takes over from the
call that launched it; pytorch/pytorch, torch/csrc/profiler/util.cpp (`saveNcclMeta`), for that call. The sizes of
collectives are missing in traces of old versions of PyTorch.

A trace has millions of events, and its writer may be killed, so events are decoded one by one and of a damaged trace
those that are whole are read. The time that a rank spends in a collective includes waiting for ranks that come later;
of equal calls the shortest waited least, and counts as the time of the collective.
"""

from __future__ import annotations

import codecs
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..collective import get_collective
from ..dtypes import Floats
from ..errors import FormatError, Sentence, Words
from ..errors.dependencies import pandas as pd
from ..files import FilePath, iterate_chunks, refuse
from ..package_data import read_toml
from .file_formats import register_built_in

_TABLES = read_toml(__file__, "torch_profiler.toml")
_COLLECTIVES: dict[str, tuple[str, str]] = {name: tuple(row) for name, row in _TABLES["collectives"].items()}
_ITEM_SIZES: dict[str, int] = _TABLES["dtypes"]
#: Bytes of a trace, unzipped, of its head and of an event; events that are damaged, collectives, and GPUs of a process.
_MAX_BYTES, _LONGEST_HEAD, _LONGEST_EVENT = 2**30, 4 * 2**20, 2**20
_MAX_DAMAGES, _MAX_CALLS, _MAX_GPUS = 100, 200_000, 256
_LONGEST_NAME, _MAX_NUMBER = 200, 2**60
_BETWEEN = re.compile(r"[\s,]*")
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_EVENT = re.compile(r'\{\s*"(?:ph|cat|name)"')
_US = 1e-6


@dataclass(frozen=True)
class ProfiledCall:
    """A collective as one rank spent time in it.

    Attributes:
        group: name and ranks of its process group.
        number: of its calls in this trace, from 0, or PyTorch's sequence number.
        collective: collsim's name; "" where it has none, or the sizes of ranks differ.
        ranks: of the group; 0 where the trace does not say.
        nbytes: nccl-tests' size; 0 where the trace does not say, or it has none.
        dtype: of its elements, as torch writes it.
        seconds: from the launch of its kernel on this rank to the end.
        hidden: seconds of them in which this GPU computed.
    """

    group: str
    number: int
    collective: str
    ranks: int
    nbytes: int
    dtype: str
    seconds: float
    hidden: float


@dataclass(frozen=True)
class ProfilerTrace:
    """What a trace says of the collectives of its rank.

    Attributes:
        rank: whose trace it is; -1 where it does not say.
        ranks: of the job; 0 where it does not say.
        gpus: names of the GPUs that its process saw.
        nccl_version: as `2.27.5`; "" where it does not say.
        calls: in the order in which they began.
        seconds: in which at least one collective ran.
        hidden: seconds of them in which the GPU computed.
        damage: what could not be read; None for a whole trace.
    """

    rank: int
    ranks: int
    gpus: tuple[str, ...]
    nccl_version: str
    calls: tuple[ProfiledCall, ...]
    seconds: float
    hidden: float
    damage: Words | None = None


class _EventReader:
    """Decodes a trace from pieces of its text.

    Attributes:
        head: what stands before the events, and behind them.
        damages: parts that were left out.
        is_ended: whether the list of events has an end.
    """

    def __init__(self, pieces: Iterable[str], path: FilePath):
        self.pieces, self.path = iter(pieces), path
        self.text, self.position = "", 0
        self.damages, self.is_ended = 0, False
        self.decode = json.JSONDecoder().raw_decode
        while (events := _EVENTS.search(self.text)) is None:
            if len(self.text) > _LONGEST_HEAD or not self._append_piece():
                refuse(path, "", 'no "traceEvents"; expected what export_chrome_trace of torch.profiler writes')
        self.head = self._decode_object(self.text[: events.start()].rstrip(" \t\r\n,") + "}")
        self.position = events.end()

    def _append_piece(self) -> bool:
        """Add a piece of the text, and forget what was decoded; False at the end."""
        piece = next(self.pieces, "")
        self.text = self.text[self.position :] + piece
        self.position = 0
        return bool(piece)

    def _decode_object(self, text: str) -> dict[str, Any]:
        try:
            value = self.decode(text.lstrip())[0]
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
        return {}

    def iterate_events(self) -> Iterator[dict[str, Any]]:
        """Yield the events that are whole."""
        while self.damages <= _MAX_DAMAGES:
            self.position = _BETWEEN.match(self.text, self.position).end()  # type: ignore[union-attr]
            if self.position == len(self.text):
                if self._append_piece():
                    continue
                return
            if self.text[self.position] == "]":
                self.is_ended = True
                self._read_tail()
                return
            try:
                event, end = self.decode(self.text, self.position)
            except (ValueError, RecursionError):
                self._pass_damage()
                continue
            self.position = end
            if isinstance(event, dict):
                yield event

    def _pass_damage(self) -> None:
        """Wait for the rest of an event, or go on at the next one."""
        if len(self.text) - self.position < _LONGEST_EVENT and self._append_piece():
            return
        self.damages += 1
        following = _EVENT.search(self.text, self.position + 1)
        self.position = len(self.text)
        if following is not None:
            self.position = following.start()

    def _read_tail(self) -> None:
        """Facts of the job stand behind the events in traces that were asked for from outside of the program."""
        while len(self.text) - self.position < _LONGEST_EVENT and self._append_piece():
            pass
        self.head |= self._decode_object("{" + self.text[self.position + 1 :].lstrip(" \t\r\n,"))


@dataclass
class _Kernels:
    """Kernels of one GPU: beginning and end of those that compute, and collectives with what they say of themselves."""

    computing: array[float] = field(default_factory=lambda: array("d"))
    collectives: list[tuple[float, float, dict[str, Any]]] = field(default_factory=list)


def is_profiler_trace(head: str) -> bool:
    """Whether a text may be a trace of PyTorch's profiler.

    Args:
        head: its beginning.
    """
    if head.lstrip("\ufeff \t\r\n")[:1] != "{":
        return False
    return '"traceEvents"' in head or ('"schemaVersion"' in head and '"deviceProperties"' in head)


def read_profiler_trace(path: FilePath) -> ProfilerTrace:
    """Read a trace.

    Args:
        path: of the file, as `export_chrome_trace` writes it, zipped or not.

    Returns:
        Its collectives.

    Raises:
        FormatError: There is no such file, or it is no trace.
    """
    notes: list[Words] = []
    return parse_profiler_trace(_decode_pieces(path, notes), path, notes)


def _decode_pieces(path: FilePath, notes: list[Words]) -> Iterator[str]:
    """The text of a file in pieces; of a damaged one what is before the damage."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    count = 0
    try:
        for chunk in iterate_chunks(path, _MAX_BYTES):
            count += len(chunk)
            yield decode(chunk)
    except FormatError as error:
        if not count:
            raise
        notes.append(Sentence("{error}; what is before the damage was read", error=error))
    if count == _MAX_BYTES:
        notes.append(Sentence("only the first {most} MiB were read", most=_MAX_BYTES // 2**20))


def parse_profiler_trace(pieces: Iterable[str], path: FilePath, notes: Sequence[Words] = ()) -> ProfilerTrace:
    """Read a trace from its text.

    Args:
        pieces: of the text, in order.
        path: of the file, or a name for the text; it stands in errors.
        notes: what is wrong with the file; may grow while the pieces are read.

    Returns:
        Its collectives.

    Raises:
        FormatError: It is no trace, or has too many collectives.
    """
    reader = _EventReader(pieces, path)
    gpus: dict[object, _Kernels] = {}
    count = 0
    for event in reader.iterate_events():
        if event.get("cat") == "kernel":
            count += _add_kernel(event, gpus)
            if count > _MAX_CALLS:
                refuse(path, "", "more than {most:,} collectives; profile fewer steps", most=_MAX_CALLS)
    damage = next(iter(notes), None)
    if damage is None and (reader.damages or not reader.is_ended):
        damage = Sentence("the trace is damaged or cut; the events that are whole were read")
    job, devices = reader.head.get("distributedInfo"), reader.head.get("deviceProperties")
    if not isinstance(job, dict):
        job = {}
    if not isinstance(devices, list):
        devices = []
    names = [device["name"] for device in devices[:64] if isinstance(device, dict) and "name" in device]
    version = re.match(r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?", str(job.get("nccl_version", "")), re.ASCII)
    calls, seconds, hidden = _build_calls(gpus)
    return ProfilerTrace(
        rank=int(_read_number(job.get("rank"), -1)),
        ranks=int(_read_number(job.get("world_size"), 0)),
        gpus=tuple(str(name)[:_LONGEST_NAME] for name in names),
        nccl_version=version[0] if version is not None else "",
        calls=calls,
        seconds=seconds,
        hidden=hidden,
        damage=damage,
    )


def _read_number(value: object, default: float) -> float:
    """A number of the document from 0 on; `default` for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER:
        return value
    return default


def _add_kernel(event: dict[str, Any], gpus: dict[object, _Kernels]) -> bool:
    """Take a kernel over; True for a collective."""
    begin, duration = (_read_number(event.get(key), -1) for key in ("ts", "dur"))
    if begin < 0 or duration <= 0:
        return False
    gpu = str(event.get("pid"))[:_LONGEST_NAME]
    if gpu not in gpus and len(gpus) == _MAX_GPUS:
        return False
    kernels = gpus.setdefault(gpu, _Kernels())
    args = event.get("args")
    if not isinstance(args, dict):
        args = {}
    if "Collective name" in args or str(event.get("name")).startswith("nccl"):
        kernels.collectives.append((begin, begin + duration, args))
        return True
    kernels.computing.extend((begin, begin + duration))
    return False


def _build_calls(gpus: Mapping[object, _Kernels]) -> tuple[tuple[ProfiledCall, ...], float, float]:
    """All collectives in order; seconds with collectives, and those of them with computing."""
    begun: list[tuple[float, float, dict[str, Any], float]] = []
    seconds = hidden = 0.0
    for kernels in gpus.values():
        busy = _merge(np.array(kernels.computing).reshape(-1, 2))
        spans = np.array([(begin, end) for begin, end, _ in kernels.collectives]).reshape(-1, 2)
        covered = _measure_covered(busy, spans).tolist()
        begun += [(*call, part) for call, part in zip(kernels.collectives, covered, strict=True)]
        whole = _merge(spans)
        seconds += float((whole[:, 1] - whole[:, 0]).sum()) * _US
        hidden += float(_measure_covered(busy, whole).sum()) * _US
    begun.sort(key=lambda call: call[0])
    counts: dict[str, int] = {}
    calls = []
    for begin, end, args, part in begun:
        group = f"{args.get('Process Group Name', '')} {args.get('Process Group Ranks', '')}"[:_LONGEST_NAME]
        number = counts[group] = counts.get(group, -1) + 1
        collective, nbytes = _find_size(args)
        ranks = int(_read_number(args.get("Group size"), 0))
        dtype = str(args.get("dtype", ""))[:_LONGEST_NAME]
        number = int(_read_number(args.get("Seq"), number))
        calls.append(ProfiledCall(group, number, collective, ranks, nbytes, dtype, (end - begin) * _US, part * _US))
    return tuple(calls), seconds, hidden


def _merge(spans: Floats) -> Floats:
    """Spans as a table of beginnings and ends, in order, those that overlap joined into one."""
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    reach = np.maximum.accumulate(spans[:, 1])
    first = np.flatnonzero(np.append(True, spans[1:, 0] > reach[:-1])[: len(spans)])
    return np.stack([spans[first, 0], reach[np.append(first[1:], len(spans))[: len(first)] - 1]], axis=1)


def _measure_covered(busy: Floats, spans: Floats) -> Floats:
    """How much of each span lies in busy ones, which are in order and do not overlap."""
    if not len(busy):
        return np.zeros(len(spans))
    ends = np.cumsum(busy[:, 1] - busy[:, 0])
    covered = np.stack([np.append(0, ends[:-1]), ends], axis=1)
    # Before a moment as much is covered as lies between the corners of a line that rises in busy spans.
    before = np.interp(spans.ravel(), busy.ravel(), covered.ravel()).reshape(-1, 2)
    covers: Floats = before[:, 1] - before[:, 0]
    return covers


def _find_size(args: Mapping[str, Any]) -> tuple[str, int]:
    """collsim's name of a collective and nccl-tests' size; "" and 0 where it has none."""
    collective, side = _COLLECTIVES.get(str(args.get("Collective name")), ("", "in"))
    # With split sizes ranks send different amounts, and no size says what all do.
    if any(args.get(key) not in (None, "", "[]", []) for key in ("In split size", "Out split size")):
        collective = ""
    elements = _read_number(args.get("In msg nelems" if side == "in" else "Out msg nelems"), 0)
    nbytes = int(elements * _ITEM_SIZES.get(str(args.get("dtype")), 0))
    if not collective or not nbytes:
        return "", 0
    return collective, nbytes


def read_torch_profiler(path: FilePath) -> pd.DataFrame:
    """Read the collectives of a trace as a table in SI units, a row for each collective, ranks, type and size.

    Args:
        path: of the trace of one rank.

    Returns:
        Columns `table, collective, ranks, nbytes, dtype, time, mean_time, calls, hidden, algbw, busbw`: `table` is the
        number of a collective of so many ranks, the one that took longest first; `time` that of the shortest call,
        `mean_time` with what it waits for other ranks, `hidden` the part of the time in which this GPU computed.

    Raises:
        FormatError: It is no trace, or no kernel in it states its collective and size.
    """
    trace = read_profiler_trace(path)
    table = pd.DataFrame([call for call in trace.calls if call.nbytes and call.ranks > 1])
    if table.empty:
        message = "no kernel of NCCL states its collective and size; profile the GPU, with a newer version of PyTorch"
        refuse(path, "", message)
    keys = ["collective", "ranks", "nbytes", "dtype"]
    table["total"] = table.groupby(keys[:2])["seconds"].transform("sum")
    rows = table.groupby(["total", *keys], as_index=False).agg(
        time=("seconds", "min"), mean_time=("seconds", "mean"), calls=("seconds", "count"), hidden=("hidden", "sum")
    )
    rows = rows.sort_values(["total", *keys], ascending=[False, True, True, True, True], ignore_index=True)
    rows["table"] = rows.groupby(["total", *keys[:2]], sort=False).ngroup()
    rows["hidden"] /= rows["mean_time"] * rows["calls"]
    rows["algbw"] = rows["nbytes"] / rows["time"]
    factors = [get_collective(name).busbw(ranks) for name, ranks in zip(rows["collective"], rows["ranks"], strict=True)]
    rows["busbw"] = rows["algbw"] * factors
    return rows[["table", *keys, "time", "mean_time", "calls", "hidden", "algbw", "busbw"]]


register_built_in("torch-profiler", read=read_torch_profiler, looks=is_profiler_trace)
