"""A step of training as a file: Chrome trace events for ui.perfetto.dev, JSON, a table, a picture.

Chrome traces (Trace Event Format, Google 2016): a process for each lane of GPUs, a thread for each stream; times in
microseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CollsimError, Sentence, require_path
from ..files import format_csv, write_text
from ..simulate.trace import views
from .step_trace import StepTrace
from .workload.step_graph import COMPUTE, NETWORK

if TYPE_CHECKING:
    import pandas as pd

_US = 1e6
_PICTURES = (".png", ".svg", ".pdf")


def save_step(trace: StepTrace, path: str | PathLike[str]) -> Path:
    """Write a step to a file, by its suffix.

    Args:
        trace: The step as it ran.
        path: Path of the file: .html, .trace.json (Perfetto), .json, .csv, .et (Chakra), .py (PyTorch) or a picture.

    Returns:
        The path.

    Raises:
        CollsimError: The suffix is another, or the step cannot be written so.
    """
    target = require_path(path)
    name = target.name.lower()
    # The longer endings first: `.trace.json` is one of `.json`, too.
    if name.endswith((".trace.json", ".perfetto.json", ".pftrace.json")):
        write_text(target, json.dumps({"displayTimeUnit": "ms", "traceEvents": list(list_trace_events(trace))}))
    elif name.endswith(".json"):
        write_text(target, json.dumps(build_record(trace), indent=1))
    elif name.endswith(".csv"):
        write_text(target, format_csv(_list_plain_tasks(trace)))
    elif name.endswith(".et"):
        from .step_chakra import write_chakra

        write_chakra(trace, target)
    elif name.endswith(".html"):
        views["step_page"](trace, target)
    elif name.endswith(".py"):
        write_text(target, trace.script())
    elif name.endswith(_PICTURES):
        views["step_picture"](trace, target)
    else:
        kinds = Sentence(".html, .trace.json (Perfetto), .json, .csv, .et (Chakra), .py (PyTorch), .png, .svg or .pdf")
        raise CollsimError("{name!r}: a step of training is written as {kinds}", name=target.name, kinds=kinds)
    return target


def build_record(trace: StepTrace) -> dict[str, object]:
    """Build the figures and all tasks as plain values.

    Args:
        trace: The step as it ran.

    Returns:
        What JSON can hold; what is no number is None.
    """
    figures = {k: _replace_nan(v) for k, v in trace.row().items()}
    tasks = json.loads(_list_plain_tasks(trace).to_json(orient="records"))
    parts = [{**row, "ranks": list(row["ranks"])} for row in trace.split_exposed().to_dict("records")]
    experts = None
    if (load := trace.expert_load) is not None:
        experts = {"busiest": load.busiest, "dropped": load.dropped}
    figures |= {"exposed_parts": parts, "memory_by_kind": trace.memory.peak(), "experts": experts}
    interval = trace.interval
    ends = {"low": interval.low, "high": interval.high, "kind": interval.kind, "reason": str(interval.reason)}
    figures |= {"compute": trace.costs.label, "interval": ends, "notes": list(trace.notes)}
    return {**figures, "tasks": tasks}


def _replace_nan(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _list_plain_tasks(trace: StepTrace) -> pd.DataFrame:
    """Tasks with lists as texts."""
    frame = trace.tasks.drop(columns=["options", "lanes"])
    for column in ("dependencies", "ranks"):
        frame[column] = [" ".join(map(str, row)) for row in frame[column]]
    return frame


def list_trace_events(trace: StepTrace) -> Iterator[dict[str, object]]:
    """List trace events: names, a slice for every task that takes time on each of its lanes, and memory as a counter.

    Args:
        trace: The step as it ran.

    Returns:
        Events of Chrome's trace format, times in microseconds.
    """
    task_streams = dict.fromkeys(task.stream for task in trace.step.tasks)
    # A thread for each stream, so that a viewer draws what runs at the same time in lines of their own.
    streams = list(dict.fromkeys([COMPUTE, NETWORK, *task_streams]))
    for lane, ranks in enumerate(trace.step.lanes):
        if len(ranks) == 1:
            process_name = f"GPU {ranks[0]}"
        else:
            process_name = f"GPUs {ranks[0]} to {ranks[-1]} ({len(ranks)} alike)"
        yield {"ph": "M", "name": "process_name", "pid": lane, "tid": 0, "args": {"name": process_name}}
        for stream, name in enumerate(streams):
            yield {"ph": "M", "name": "thread_name", "pid": lane, "tid": stream, "args": {"name": name}}
    for number, (task, begin, end) in enumerate(zip(trace.step.tasks, trace.begin, trace.end, strict=True)):
        if end > begin:
            args = {"task": number, "bytes": task.nbytes, "flops": task.flops, "bucket": task.bucket}
            span = _convert_span(begin, end)
            for lane in task.lanes:
                where = {"pid": lane, "tid": streams.index(task.stream)}
                yield {"ph": "X", "name": f"{task.name} {task.kind}", "cat": task.kind, **where, **span, "args": args}
    for lane in range(len(trace.step.lanes)):
        moments, sizes = trace.memory.trace_bytes(lane)
        kinds = trace.memory.list_kinds(lane)
        for moment, row in zip(moments, sizes, strict=True):
            args = {kind: round(size / 1e9, 6) for kind, size in zip(kinds, row, strict=True)}
            yield {"ph": "C", "name": "memory (GB)", "pid": lane, "tid": 0, "ts": round(moment * _US, 6), "args": args}


def _convert_span(begin: float, end: float) -> dict[str, float]:
    """Begin and length in microseconds of whole nanoseconds: Perfetto rounds to these, and slices that follow each
    other must not overlap then."""
    first, last = (round(1e9 * float(moment)) for moment in (begin, end))
    return {"ts": first / 1000, "dur": (last - first) / 1000}
