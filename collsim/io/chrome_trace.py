"""Chrome trace event JSON of a Trace, for ui.perfetto.dev and chrome://tracing.

Source: the Trace Event Format (Google, 2016) and perfetto.dev/docs/getting-started/other-formats. Ranks are processes;
a thread is one channel's sends or receives, with a further lane where transfers overlap, so that slices of a thread
never cut each other. Every transfer is a slice at its sender and one at its receiver, joined by a flow; counters show
the rate on the busiest links in GB/s. Times are in microseconds. Events are written one by one, so a large trace needs
little memory; `.gz` is zipped, and both viewers open that.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator

import numpy as np

from ..dtypes import Floats, Longs
from ..errors import CollsimError
from ..files import FilePath, create_file
from ..simulate import Trace
from .file_formats import register_built_in

_US = 1e6


def write_chrome_trace(
    trace: Trace, path: FilePath, *, counters: int = 32, flows: bool = True, limit: int = 5_000_000
) -> None:
    """Write a trace for Perfetto.

    Args:
        trace: What is written.
        path: Of the file.
        counters: Number of links (the busiest ones) whose rate is shown.
        flows: Draw arrows from sends to receives?
        limit: Most transfers that are written.

    Raises:
        CollsimError: For more transfers than `limit`.
    """
    if len(trace.schedule) > limit:
        message = "{label} has {transfers:,} transfers; limit={limit:,}; fewer ranks show the same"
        raise CollsimError(message, label=trace.schedule.label, transfers=len(trace.schedule), limit=limit)
    facts = {k: v for k, v in trace.row().items() if not isinstance(v, float) or np.isfinite(v)}
    with create_file(path) as file:
        head = json.dumps(facts, default=str).encode()
        file.write(b'{"displayTimeUnit":"ns","otherData":' + head + b',"traceEvents":[\n')
        for number, event in enumerate(_list_events(trace, counters, flows)):
            if number:
                file.write(b",\n")
            file.write(json.dumps(event, separators=(",", ":"), allow_nan=False).encode())
        file.write(b"\n]}\n")


def _list_events(trace: Trace, counters: int, flows: bool) -> Iterator[dict[str, object]]:
    table = trace.schedule.transfers
    start, finish = trace.start, trace.finish
    away = np.flatnonzero(table["src"] != table["dst"])
    local = np.flatnonzero(table["src"] == table["dst"])
    sides = {}
    names: dict[tuple[int, int], str] = {}
    for number, (side, rows) in enumerate((("src", away), ("dst", away), ("src", local))):
        # Spans of one thread must not overlap in Perfetto, so what overlaps goes to a lane of its own.
        lanes = _assign_lanes(table[side][rows], table["channel"][rows], start[rows], finish[rows])
        word = ("send", "receive", "local")[number]
        thread = (table["channel"][rows].astype(np.int64) * 3 + number) * 1_000_000 + lanes + 1
        sides[word] = (rows, thread)
        rows_of_events = zip(
            *(a.tolist() for a in (table[side][rows], thread, table["channel"][rows], lanes)), strict=True
        )
        for pid, tid, channel, lane in set(rows_of_events):
            names[pid, tid] = f"channel {channel} {word}" + (f" ({lane + 1})" if lane else "")
    yield from _list_names(trace, names)
    yield from _list_slices(trace, sides, flows)
    yield from _list_counters(trace, away, counters)


def _list_names(trace: Trace, threads: dict[tuple[int, int], str]) -> Iterator[dict[str, object]]:
    """Metadata: what processes and threads are called, and their order."""
    s = trace.schedule
    for pid in range(s.endpoints):
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": s.name_endpoint(pid)}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    for (pid, tid), name in sorted(threads.items()):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _assign_lanes(endpoint: Longs, channel: Longs, start: Floats, finish: Floats) -> Longs:
    """The lane of each transfer: those of one endpoint and channel that overlap get different ones."""
    lane = np.zeros(len(start), np.int64)
    busy: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for k in np.lexsort((finish, start)).tolist():
        heap = busy.setdefault((int(endpoint[k]), int(channel[k])), [])
        if heap and heap[0][0] <= start[k]:
            lane[k] = heap[0][1]
            heapq.heapreplace(heap, (float(finish[k]), int(lane[k])))
        else:
            lane[k] = len(heap)
            heapq.heappush(heap, (float(finish[k]), int(lane[k])))
    return lane


def _list_slices(trace: Trace, sides: dict[str, tuple[Longs, Longs]], flows: bool) -> Iterator[dict[str, object]]:
    for word, (rows, thread) in sides.items():
        for k, tid in zip(rows.tolist(), thread.tolist(), strict=True):
            yield (event := _slice(trace, word, k, tid))
            if flows and word in ("send", "receive"):
                yield _build_arrow(trace, word, k, event)


def _slice(trace: Trace, word: str, k: int, tid: int) -> dict[str, object]:
    row = trace.schedule.transfers[k]
    rank_column, other = ("dst", "src") if word == "receive" else ("src", "dst")
    chunk, into, adds, peer = int(row["chunk"]), int(row["into"]), bool(row["reduce"]), int(row[other])
    if chunk == into:
        slot = f"{chunk}"
    else:
        slot = f"{chunk}→{into}"
    facts = {"step": int(row["step"]), "chunk": chunk, "into": into, "peer": peer}
    return {
        "ph": "X",
        "name": f"{'+' if adds else '='}{slot} {'from' if word == 'receive' else 'to'} {peer}",
        "cat": "reduce" if adds else "copy",
        "pid": int(row[rank_column]),
        "tid": tid,
        "ts": _round_microseconds(trace.start[k] * _US),
        "dur": _round_microseconds((trace.finish[k] - trace.start[k]) * _US),
        "args": {**facts, "bytes": int(trace.slot_bytes[chunk])},
    }


def _build_arrow(trace: Trace, word: str, k: int, event: dict[str, object]) -> dict[str, object]:
    """The beginning of a transfer's arrow in its send, or the end of it in the middle of its receive."""
    about = {"id": k, "name": "transfer", "cat": "transfer", "pid": event["pid"], "tid": event["tid"]}
    if word == "send":
        return {"ph": "s", **about, "ts": event["ts"]}
    return {
        "ph": "f",
        "bp": "e",
        **about,
        "ts": _round_microseconds(trace.start[k] * _US + (trace.finish[k] - trace.start[k]) * _US / 2),
    }


def _list_counters(trace: Trace, rows: Longs, most: int) -> Iterator[dict[str, object]]:
    """The rate of the busiest links over time: each transfer spreads its bytes evenly over the time that it takes."""
    used = np.flatnonzero(trace.link_bytes > 0)
    chosen = used[np.argsort(-trace.link_busy[used], kind="stable")][: max(0, most)]
    if not len(chosen) or not len(rows):
        return
    table = trace.schedule.transfers[rows]
    routes = trace.topology.routes(trace.placement[table["src"]], trace.placement[table["dst"]])
    crossing = np.repeat(np.arange(len(rows)), routes.hops)
    links, names = trace.topology.links, trace.topology.devices.name
    pid = trace.schedule.endpoints
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "links (GB/s)"}}
    yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    begin, end = trace.start[rows], trace.finish[rows]
    size = trace.slot_bytes[table["chunk"]]
    for link in chosen.tolist():
        # A transfer that takes no time has no rate, and would divide by zero.
        on = crossing[routes.link == link]
        on = on[end[on] > begin[on]]
        rate = size[on] / (end[on] - begin[on]) / 1e9
        moments = np.concatenate([begin[on], end[on]])
        change = np.concatenate([rate, -rate])
        # The rate changes where a transfer begins or ends; a running sum of the changes is the rate in between.
        changes, where = np.unique(moments, return_inverse=True)
        total = np.cumsum(np.bincount(where.ravel(), weights=change, minlength=len(changes)))
        name = f"{names[links.src[link]]} → {names[links.dst[link]]}"
        for ts, value in zip(changes.tolist(), total.tolist(), strict=True):
            yield {
                "ph": "C",
                "name": name,
                "pid": pid,
                "tid": 0,
                "ts": _round_microseconds(ts * _US),
                "args": {"GB/s": round(max(0.0, value), 6)},
            }


def _round_microseconds(us: float) -> float:
    """Microseconds to the picosecond."""
    return round(float(us), 6)


register_built_in("chrome-trace", write=write_chrome_trace)
