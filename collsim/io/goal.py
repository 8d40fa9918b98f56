"""GOAL schedules of LogGOPSim and ATLAHS, written.

Source: spcl/LogGOPSim (Schedgen, txt2bin grammar). `num_ranks N`, then per rank `rank R { ... }` with `l1: send 1024b
to 1 tag 3`, `l2: recv 1024b from 3 tag 3`, `l3: calc 2500` (ns) and `l3 requires l2` (starts after the other is
complete) or `irequires` (after it has started). A message matches the receive of its source and tag in order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..errors import CollsimError
from ..files import MAX_ELEMENTS, FilePath, write_text
from ..schedule import Schedule
from ..simulate.run import compute_slot_bytes
from ..units import parse_bytes
from .file_formats import register_built_in

_NS = 1e9


def write_goal(
    schedule: Schedule, path: FilePath, *, nbytes: Any = None, itemsize: int = 4, reduce_rate: float | None = None
) -> None:
    """Write a schedule as GOAL, its dependencies explicit: what sends a chunk waits for what wrote it.

    Args:
        schedule: What is written.
        path: Of the file.
        nbytes: nccl-tests' size; GOAL has bytes where schedules have chunks.
        itemsize: Chunks are cut between elements of so many bytes.
        reduce_rate: Bytes per second of an addition; without it additions take no time.

    Raises:
        CollsimError: Without a size, or for more than two million transfers.
    """
    if nbytes is None:
        raise CollsimError("GOAL counts bytes: say how many, for example nbytes='64MiB'")
    if len(schedule) > MAX_ELEMENTS:
        message = "{label} has {transfers:,} transfers; GOAL is written for at most {most:,}"
        raise CollsimError(message, label=schedule.label, transfers=len(schedule), most=MAX_ELEMENTS)
    sizes = compute_slot_bytes(schedule, parse_bytes(nbytes), itemsize).tolist()
    lines = _list_lines(schedule, sizes, reduce_rate)
    write_text(path, _build_document(schedule, lines))


def _build_document(schedule: Schedule, lines: list[list[str]]) -> Iterator[str]:
    yield f"// {schedule.label}, {schedule.collective}, by collsim\nnum_ranks {schedule.endpoints}\n"
    for rank, rank_lines in enumerate(lines):
        yield f"\nrank {rank} {{\n" + "".join(f"{line}\n" for line in rank_lines) + "}\n"


class _Writer:
    """The lines of every rank, and for each slot the last task that wrote it and those that read it since."""

    def __init__(self, endpoints: int):
        self.lines: list[list[str]] = [[] for _ in range(endpoints)]
        self.count = [0] * endpoints
        self.wrote: dict[tuple[int, int], list[str]] = {}
        self.read: dict[tuple[int, int], list[str]] = defaultdict(list)

    def add_task(self, rank: int, text: str, requires: list[str]) -> str:
        self.count[rank] += 1
        label = f"l{self.count[rank]}"
        self.lines[rank].append(f"{label}: {text}")
        self.lines[rank] += [f"{label} requires {other}" for other in dict.fromkeys(requires)]
        return label


def _list_lines(schedule: Schedule, sizes: list[int], reduce_rate: float | None) -> list[list[str]]:
    writer = _Writer(schedule.endpoints)
    for number, step in enumerate(schedule.each_step()):
        columns = (step.src, step.dst, step.chunk, step.into, step.reduce, step.channel)
        rows = list(zip(*(c.tolist() for c in columns), strict=True))
        reads = []
        for src, dst, chunk, _, _, _ in rows:
            before = writer.wrote.get((src, chunk), [])
            label = ""
            if src != dst:
                label = writer.add_task(src, f"send {sizes[chunk]}b to {dst} tag {number}", before)
            reads.append((src, chunk, label, before))
        for src, chunk, label, _ in reads:
            if label:
                writer.read[src, chunk].append(label)
        written: dict[tuple[int, int], list[str]] = defaultdict(list)
        for (src, dst, chunk, into, adds, _), (_, _, _, sources) in zip(rows, reads, strict=True):
            label = _add_arrival(writer, number, (src, dst, chunk, into, adds), sources, sizes, reduce_rate)
            written[dst, into] += (
                [label] if written[dst, into] or not adds else [*writer.wrote.get((dst, into), []), label]
            )
        for key, labels in written.items():
            # An empty task that joins many: readers then wait for one, not each of them for all.
            writer.wrote[key] = [writer.add_task(key[0], "calc 0", labels)] if len(labels) > 8 else labels
            writer.read[key] = []
    return writer.lines


def _add_arrival(
    writer: _Writer,
    number: int,
    row: tuple[int, int, int, int, bool],
    sources: list[str],
    sizes: list[int],
    reduce_rate: float | None,
) -> str:
    """The receive of a transfer (or a calc for a local copy), and the addition; returns the task after which the slot
    holds it."""
    src, dst, chunk, into, adds = row
    if src == dst:
        label = writer.add_task(dst, "calc 0", [*sources, *writer.read[dst, into]])
    else:
        label = writer.add_task(dst, f"recv {sizes[chunk]}b from {src} tag {number}", writer.read[dst, into])
    if adds and reduce_rate:
        label = writer.add_task(
            dst, f"calc {round(sizes[chunk] / reduce_rate * _NS)}", [label, *writer.wrote.get((dst, into), [])]
        )
    return label


register_built_in("goal", write=write_goal)
