"""What libraries print when a run hangs longer than they wait.

Sources: torch 2.x `ProcessGroupNCCL.cpp` (`checkTimeout`, `Watchdog::runLoop`, `handleException`, `createLogPrefix`);
gloo `transport/tcp/unbound_buffer.cc` as torch 2.13 raises it (run); MPICH 5.0.2 with MPIEXEC_TIMEOUT (run); Open MPI 5
(PRRTE `plm_base_launch_support.c`). The date and the line number that torch puts before each line are left out: they
differ from job to job and from release to release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...package_data import read_toml
from ...rank_engine.execute import RankWait
from .records import JobRecord, RecordedCall

#: s that NCCL's watchdog waits unless told otherwise (`kProcessGroupNCCLDefaultTimeout`).
DEFAULT_TIMEOUT = 600.0
#: Operations as the watchdog writes them (`OpType`, torch `Work.hpp`).
_TEXTS = read_toml(__file__, "timeouts.toml")
_TYPES: dict[str, str] = _TEXTS["operations"]
_OPEN_MPI: str = _TEXTS["open_mpi"]


@dataclass(frozen=True)
class TimeoutLog:
    """What one library prints.

    Attributes:
        library: `NCCL`, `gloo`, `MPICH` or `Open MPI`.
        ranks: what each rank prints; empty where a rank prints nothing, as those that have ended.
        launcher: what the launcher prints for the whole job.
    """

    library: str
    ranks: tuple[str, ...] = ()
    launcher: str = ""

    def __str__(self) -> str:
        return "\n".join(text for text in (*self.ranks, self.launcher) if text)


def write_torch_logs(record: JobRecord, waits: Sequence[RankWait], timeout: float) -> tuple[TimeoutLog, ...]:
    """What a program of torch prints when it hangs.

    Args:
        record: the calls of its ranks.
        waits: where ranks wait.
        timeout: s that a call may take.

    Returns:
        The log of NCCL's watchdog, and where all ranks wait for messages also the error of gloo. What gloo says inside
        of a collective depends on its algorithm.
    """
    ranks = [_write_watchdog(record, rank, timeout) for rank in record.ranks]
    logs = [TimeoutLog("NCCL", tuple(ranks))]
    if waits and all(wait.call in ("send", "recv") for wait in waits):
        texts = {wait.rank: _write_gloo(wait.call, timeout) for wait in waits}
        logs.append(TimeoutLog("gloo", tuple(texts.get(rank, "") for rank in record.ranks)))
    return tuple(logs)


def write_mpi_logs(timeout: float) -> tuple[TimeoutLog, ...]:
    """What the launchers of MPI print: the library itself waits without end, and ranks print nothing.

    Args:
        timeout: s that the job may take (MPIEXEC_TIMEOUT, or --timeout of Open MPI).

    Returns:
        A log for each launcher.
    """
    seconds = math.ceil(timeout)
    return (
        TimeoutLog("MPICH", launcher=f"[mpiexec@host] APPLICATION TIMED OUT, TIMEOUT = {seconds}s\n"),
        TimeoutLog("Open MPI", launcher=_OPEN_MPI.format(seconds=seconds)),
    )


def _write_gloo(call: str, timeout: float) -> str:
    line = {"send": 129, "recv": 78}[call]
    source = f"[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:{line}]"
    return f"RuntimeError: {source} Timed out waiting {_to_milliseconds(timeout)}ms for {call} operation to complete\n"


def _write_watchdog(record: JobRecord, rank: int, timeout: float) -> str:
    """The lines of a rank; nothing where none of its calls is open."""
    call = next((call for call in record.calls[rank] if not call.is_complete), None)
    if call is None:
        return ""
    members = record.groups[call.group]
    names = list(record.groups)
    label = record.labels.get(call.group)
    group = f"[PG ID {names.index(call.group)} PG GUID {call.group}"
    if label:
        group += f"({label})"
    group += f" Rank {members.index(rank)}]"
    # Sequence numbers of messages and of collectives are separate, as in PyTorch.
    same = [other for other in record.calls[rank] if (other.group, other.is_message) == (call.group, call.is_message)]
    enqueued = max(other.number for other in same)
    completed = max([other.number for other in same if other.is_complete and other.number < call.number], default=-1)
    milliseconds = _to_milliseconds(timeout)
    caught = (
        f"[Rank {members.index(rank)}] Watchdog caught collective operation timeout: WorkNCCL("
        f"SeqNum={call.number}, OpType={_TYPES.get(call.operation, call.operation.upper())}, "
        f"NumelIn={_count_elements(call, call.input_sizes)}, NumelOut={_count_elements(call, call.output_sizes)}, "
        f"Timeout(ms)={milliseconds}) ran for {milliseconds} milliseconds before timing out."
    )
    lines = [
        caught,
        f"{group}  failure detected by watchdog at work sequence id: {call.number} PG status: last enqueued work: "
        f"{enqueued}, last completed work: {completed}",
        f"Stack trace of the failed collective: \n#0 program from {call.position}",
        f"[Rank {members.index(rank)}] Some NCCL operations have failed or timed out. Due to the asynchronous nature "
        "of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        f"[Rank {members.index(rank)}] To avoid data inconsistency, we are taking the entire process down.",
        f"{group} Process group watchdog thread terminated with exception: {caught}",
    ]
    return "".join(f"[rank{rank}]:[E ProcessGroupNCCL.cpp] {line}\n" for line in lines)


def _count_elements(call: RecordedCall, sizes: Sequence[Sequence[int]]) -> int:
    if call.operation == "barrier":
        return 1
    if not sizes:  # of a message the other side
        sizes = call.input_sizes or call.output_sizes
    return sum(math.prod(shape) for shape in sizes)


def _to_milliseconds(timeout: float) -> int:
    return math.ceil(timeout * 1_000)
