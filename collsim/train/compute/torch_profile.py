"""What a PyTorch profiler's trace says of a step's computing.

`torch.profiler.profile(...).export_chrome_trace("trace.json")` writes Chrome trace events; times are in microseconds
(pytorch/kineto, libkineto/src/output_json.cpp). Used are: `ProfilerStep#n` (one span a step), events of category
`kernel`, and spans of category `gpu_user_annotation` named as a layer (torch.profiler.record_function around its
forward).
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from ...errors import Sentence, format_value
from ...errors.arguments import check_arguments
from ...files import MAX_ELEMENTS, read_json, refuse

_MAX_SECONDS = 1e6
#: Begin and end in s; whether it is one of NCCL's.
_Kernel = tuple[float, float, bool]


@dataclass(frozen=True)
class TorchProfile:
    """Read from a profiler's trace.

    Attributes:
        seconds: median over steps in which any kernel other than NCCL's ran.
        steps: how many steps the trace has.
        communication: median seconds a step of NCCL's kernels.
        layer_seconds: median forward seconds of layers that were annotated by their names.
    """

    seconds: float
    steps: int
    communication: float
    layer_seconds: dict[str, float] = field(default_factory=dict)


@check_arguments
def read_profile(path: str | PathLike[str], names: Collection[str] = ()) -> TorchProfile:
    """Read a trace of PyTorch's profiler (.json or .json.gz).

    Args:
        path: of the file.
        names: of layers to look for.

    Returns:
        Median seconds of computing and of NCCL's kernels in a step, and of the layers that were annotated.

    Raises:
        FormatError: Names the event: for anything that is no such trace, or has no kernels in its steps.

    Examples:
        >>> import collsim as cs
        >>> import json
        >>> kernel = {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 0, "dur": 250_000}
        >>> with open("trace.json", "w") as file:
        ...     json.dump({"traceEvents": [kernel]}, file)
        >>> cs.train.read_profile("trace.json").seconds
        0.25
    """
    data = read_json(path)
    if isinstance(data, dict):
        events = data.get("traceEvents")
    else:
        events = data
    if not isinstance(events, list):
        refuse(path, "", "has no list traceEvents; torch.profiler's export_chrome_trace writes one")
    if len(events) > MAX_ELEMENTS:
        refuse(path, "", "has {events:,} events; {most:,} is the most", events=len(events), most=MAX_ELEMENTS)
    spans = [_parse_span(path, i, e) for i, e in enumerate(events) if isinstance(e, dict) and e.get("ph") == "X"]
    steps = sorted(
        (a, b) for name, kind, a, b in spans if name.startswith("ProfilerStep#") and kind == "user_annotation"
    )
    kernels = [(a, b, name.lower().startswith("nccl")) for name, kind, a, b in spans if kind == "kernel"]
    if not kernels:
        refuse(path, "", "has no event of category kernel; was the profiler told to record activities of CUDA?")
    # A trace without steps of the profiler counts as one step from its first kernel to its last.
    steps = steps or [(min(a for a, _, _ in kernels), max(b for _, b, _ in kernels))]
    inside = _group_by_step(steps, kernels)
    # Kernels on several streams overlap: the union of their spans is the time in which the GPU was busy.
    work = [_measure_union([(a, b) for a, b, nccl in step_kernels if not nccl]) for step_kernels in inside]
    talk = [_measure_union([(a, b) for a, b, nccl in step_kernels if nccl]) for step_kernels in inside]
    # The median, because the first steps of a profile warm up.
    if not (seconds := statistics.median(work)):
        message = (
            "of its {steps} steps most have no kernel but NCCL's; record the activities of CUDA in steps that compute"
        )
        refuse(path, "", message, steps=len(steps))
    layers: dict[str, list[float]] = {}
    for name, kind, a, b in spans:
        if kind == "gpu_user_annotation" and name in names:
            layers.setdefault(name, []).append(b - a)
    medians = {name: statistics.median(v) for name, v in layers.items()}
    return TorchProfile(seconds, len(steps), statistics.median(talk), medians)


def _group_by_step(steps: list[tuple[float, float]], kernels: list[_Kernel]) -> list[list[_Kernel]]:
    """The kernels of each step: those that begin in it, and in none that began later."""
    begins, inside = [begin for begin, _ in steps], [list[_Kernel]() for _ in steps]
    for kernel in kernels:
        number = bisect_right(begins, kernel[0]) - 1
        if number >= 0 and kernel[0] < steps[number][1]:
            inside[number].append(kernel)
    return inside


def _parse_span(path: str | PathLike[str], number: int, event: dict[str, Any]) -> tuple[str, str, float, float]:
    """Name, category, begin and end in s."""
    ts, dur = event.get("ts"), event.get("dur", 0)
    for value in (ts, dur):
        # `json` reads NaN and Infinity; no comparison with them is true, and a bool is an int.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
            refuse(
                path,
                Sentence("event {number}", number=number),
                "ts={ts}, dur={dur}: wants numbers of microseconds",
                ts=format_value(ts),
                dur=format_value(dur),
            )
    if not 0 <= dur * 1e-6 < _MAX_SECONDS:  # type: ignore[operator]
        refuse(
            path,
            Sentence("event {number}", number=number),
            "dur={dur!r} microseconds is no time that a kernel takes",
            dur=dur,
        )
    begin = float(ts) * 1e-6  # type: ignore[arg-type]
    return str(event.get("name", "")), str(event.get("cat", "")), begin, begin + float(dur) * 1e-6


def _measure_union(spans: list[tuple[float, float]]) -> float:
    """Seconds in which at least one of the spans runs."""
    total, until = 0.0, float("-inf")
    for a, b in sorted(spans):
        total += max(0.0, b - max(a, until))
        until = max(until, b)
    return total
