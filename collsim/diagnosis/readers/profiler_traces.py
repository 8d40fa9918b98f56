"""Traces of PyTorch's profiler: what a training job ran, with a line for each collective of a rank. `io.torch_profiler`
reads the files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...io.nccl.nccl_log_facts import Stated
from ...io.torch_profiler import ProfilerTrace
from .timed_calls import TimedCall

TOOL = "PyTorch profiler"
_HEAD = re.compile(
    r"^PyTorch profiler: rank=(-?\d{1,18}) of (\d{1,18}) collectives_us=(\d{1,15}\.\d) hidden_us=(\d{1,15}\.\d) "
    r"nccl=([\d.]{0,12}) gpus=(\d{1,3}) (.{0,200})$",
    re.ASCII,
)
_CALL = re.compile(
    r"^(\w{1,20}) rank=(-?\d{1,18}) of (\d{1,18}) nbytes=(\d{1,18}) duration_us=(\d{1,15}\.\d{3}) number=(\d{1,18}) "
    r"group=(.{0,200})$",
    re.ASCII,
)
_US = 1e-6


@dataclass(frozen=True)
class ProfiledTime:
    """How long collectives ran on a rank, and how much of it behind computing.

    Attributes:
        rank: which; -1 where its trace does not say.
        seconds: in which at least one collective ran.
        hidden: seconds of them in which the GPU computed.
    """

    rank: int
    seconds: float
    hidden: float

    @property
    def exposed(self) -> float:
        """Seconds in which collectives ran and nothing else."""
        return self.seconds - self.hidden


def write_profiler_trace(trace: ProfilerTrace) -> Iterator[str]:
    """Write a trace as lines.

    Args:
        trace: of one rank.

    Yields:
        A line for the rank, and one for each collective that has a size.
    """
    gpu = " ".join("".join(trace.gpus[:1]).split())
    yield (
        f"{TOOL}: rank={trace.rank} of {trace.ranks} collectives_us={trace.seconds / _US:.1f} "
        f"hidden_us={trace.hidden / _US:.1f} nccl={trace.nccl_version} gpus={len(trace.gpus)} {gpu}"
    )
    for call in trace.calls:
        if call.collective:
            group = " ".join(call.group.split())
            yield (
                f"{call.collective} rank={trace.rank} of {call.ranks} nbytes={call.nbytes} "
                f"duration_us={call.seconds / _US:.3f} number={call.number} group={group}"
            )


def read_profiler_lines(lines: Sequence[str]) -> Iterator[Stated]:
    """Read the rank and the collectives of a trace.

    Args:
        lines: as `write_profiler_trace` writes them.

    Yields:
        Number of the line from 1, kind of the fact, and its value.
    """
    for number, line in enumerate(lines, 1):
        if (call := _CALL.match(line)) is not None:
            collective, rank, ranks, nbytes, duration, position, group = call.groups()
            time = float(duration) * _US
            timed = TimedCall(TOOL, group, int(position), int(rank), "", collective, int(ranks), int(nbytes), time)
            yield number, "job.call", timed
        elif (head := _HEAD.match(line)) is not None:
            rank, ranks, seconds, hidden, version, gpus, name = head.groups()
            yield number, "job.overlap", ProfiledTime(int(rank), float(seconds) * _US, float(hidden) * _US)
            if version:
                yield number, "nccl.version", version
            if name:
                yield number, "gpu.name", name
            # A process that sees one GPU may be one of several on its node.
            if int(gpus) > 1 and int(ranks) > 1:
                nodes = -(-int(ranks) // int(gpus))
                yield number, "nccl.ranks", (int(ranks), nodes, int(ranks) // nodes)
