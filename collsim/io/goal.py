"""GOAL schedules of LogGOPSim and ATLAHS, written.

Source: spcl/LogGOPSim (Schedgen, txt2bin grammar). `num_ranks N`, then per rank `rank R { ... }` with `l1: send 1024b
to 1 tag 3`, `l2: recv 1024b from 3 tag 3`, `l3: calc 2500` (ns) and `l3 requires l2` (starts after the other is
complete) or `irequires` (after it has started). A message matches the receive of its source and tag in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..files import FilePath, write_text
from ..schedule import Schedule
from ..units import ByteSize
from .file_formats import register_built_in
from .transfer_tasks import Transfer, TransferTasks, compute_task_sizes

_NS = 1e9


def write_goal(
    schedule: Schedule,
    path: FilePath,
    *,
    nbytes: ByteSize | None = None,
    itemsize: int = 4,
    reduce_rate: float | None = None,
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
    lines = _Lines(schedule.endpoints, compute_task_sizes(schedule, nbytes, itemsize, "GOAL"), reduce_rate)
    lines.add_schedule(schedule)
    write_text(path, _build_document(schedule, lines.lines))


def _build_document(schedule: Schedule, lines: list[list[str]]) -> Iterator[str]:
    yield f"// {schedule.label}, {schedule.collective}, by collsim\nnum_ranks {schedule.endpoints}\n"
    for rank, rank_lines in enumerate(lines):
        yield f"\nrank {rank} {{\n" + "".join(f"{line}\n" for line in rank_lines) + "}\n"


class _Lines(TransferTasks):
    """The lines of every rank; task 3 of a rank has the label `l3`."""

    def __init__(self, endpoints: int, sizes: list[int], reduce_rate: float | None):
        super().__init__()
        self.lines: list[list[str]] = [[] for _ in range(endpoints)]
        self.counts, self.sizes, self.reduce_rate = [0] * endpoints, sizes, reduce_rate

    def add_task(self, rank: int, text: str, after: list[int]) -> int:
        self.counts[rank] += 1
        number = self.counts[rank]
        self.lines[rank].append(f"l{number}: {text}")
        self.lines[rank] += [f"l{number} requires l{other}" for other in dict.fromkeys(after)]
        return number

    def add_send(self, transfer: Transfer, step: int, after: list[int]) -> int:
        text = f"send {self.sizes[transfer.chunk]}b to {transfer.dst} tag {step}"
        return self.add_task(transfer.src, text, after)

    def add_receive(self, transfer: Transfer, step: int, after: list[int]) -> int:
        text = f"recv {self.sizes[transfer.chunk]}b from {transfer.src} tag {step}"
        return self.add_task(transfer.dst, text, after)

    def add_computing(self, transfer: Transfer, after: list[int]) -> int:
        seconds = 0.0
        if transfer.adds and self.reduce_rate:
            seconds = self.sizes[transfer.chunk] / self.reduce_rate
        return self.add_task(transfer.dst, f"calc {round(seconds * _NS)}", after)


register_built_in("goal", write=write_goal)
