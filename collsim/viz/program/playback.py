"""What the cursor over the lanes of a rank program needs besides the pictures: waits, messages and counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from ...programs import ProgramRun
from ...simulate.paths import find_paths
from ...topology.parts.rank_selection import select_ranks

CounterName = Literal["sent", "received", "waited"]
COUNTERS: tuple[CounterName, ...] = ("sent", "received", "waited")
_BYTE_UNITS = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
_TIME_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


class Playback(TypedDict):
    """What a cursor shows at each time: see `programlanes.js`."""

    ranks: int
    begin: float  # s, where the cursor is at first
    spans: list[tuple[int, int, float, float | None]]  # rank, line, begin, end
    messages: list[tuple[int, int, int, float, float, float]]  # src, dst, bytes, begin, end, latency


@dataclass(frozen=True)
class Counter:
    """A number for each rank that grows over the run.

    Attributes:
        name: what is counted.
        unit_name: unit in which it is shown, so that the largest has one digit or more before the point.
        unit: bytes or seconds of one such unit.
        digits: after the point; bytes have none.
        values: (ranks,) at the end of the run, in bytes or seconds.
    """

    name: CounterName
    unit_name: str
    unit: float
    digits: int
    values: tuple[float, ...]


def find_latencies(run: ProgramRun) -> list[float]:
    """How long a byte of each message takes on its route.

    Args:
        run: of a program.

    Returns:
        Seconds, for each message in the order of the sends; 0 for those of a rank to itself.
    """
    messages = run.execution.messages
    if not messages:
        return []
    hosts = select_ranks(run.topology, run.ranks)
    latencies = np.zeros(len(messages))
    routed = np.flatnonzero([message.src != message.dst for message in messages])
    src, dst = (np.array([getattr(messages[k], end) for k in routed], int) for end in ("src", "dst"))
    if len(routed):
        latencies[routed] = find_paths(run.topology, hosts[src], hosts[dst]).alpha
    return [float(latency) for latency in latencies]


def build_playback(run: ProgramRun, begin: float = 0.0) -> Playback:
    """Collect what a cursor shows.

    Args:
        run: of a program.
        begin: s, where the cursor is at first.

    Returns:
        Its waits, and the messages that arrived.
    """
    spans = [(span.rank, span.line, _round(span.begin), _round_end(span.end)) for span in run.timeline.spans]
    messages = [
        (message.src, message.dst, message.nbytes, _round(times.begin), _round(times.arrived), _round(latency))
        for message, times, latency in zip(
            run.execution.messages, run.timeline.messages, find_latencies(run), strict=True
        )
        if times.begin is not None and times.arrived is not None
    ]
    return {"ranks": run.ranks, "begin": begin, "spans": spans, "messages": messages}


def _round(seconds: float) -> float:
    """Nine digits: as many as a picture can show, and half of what JSON takes otherwise."""
    return float(f"{seconds:.9g}")


def _round_end(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    return _round(seconds)


def build_counters(run: ProgramRun) -> tuple[Counter, ...]:
    """What each rank has sent, received and waited at the end, with the unit in which it is shown.

    Args:
        run: of a program that ends.
    """
    waits = [0.0] * run.ranks
    for span in run.timeline.spans:
        if span.end is not None:
            waits[span.rank] += span.end - span.begin
    return (
        _build_counter("sent", run.sent, _BYTE_UNITS),
        _build_counter("received", run.received, _BYTE_UNITS),
        _build_counter("waited", waits, _TIME_UNITS),
    )


def _build_counter(name: CounterName, values: Sequence[float], units: Sequence[tuple[str, float]]) -> Counter:
    most = max(values, default=0.0)
    unit_name, unit = next(((name, unit) for name, unit in units if most >= unit), units[-1])
    digits = 2
    if unit_name == "B":
        digits = 0
    return Counter(name, unit_name, unit, digits, tuple(map(float, values)))
