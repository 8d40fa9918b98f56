"""Ranks that mpiexec starts. Rank 0 is told over stdin a port of this computer and a token; over that connection it
gets the tasks of all, and says what became of them. When this process ends, so does the connection, and rank 0 aborts.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ..errors import CollsimError
from .rank_worker import build_program, read_last_line
from .ranks.rank_process import RankOutcome, RankTask
from .ranks.wire import accept_ranks, new_token, open_listener

#: Open MPI starts no more ranks than there are cores unless told to (5 and 4 by these names); MPICH reads neither.
_MORE_THAN_CORES = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def require_library(on: str) -> None:
    """Check that the library of a back end is installed.

    Args:
        on: "mpi", "gloo", or "here", which needs none.

    Raises:
        CollsimError: It is not; the message says what to install.
    """
    if on == "mpi" and (find_spec("mpi4py") is None or _find_mpiexec() is None):
        raise CollsimError("on='mpi' needs mpi4py and an MPI with mpiexec: pip install 'collsim[mpi]'")
    if on == "gloo" and find_spec("torch") is None:
        raise CollsimError("on='gloo' needs torch: pip install 'collsim[torch]'")


def _find_mpiexec() -> str | None:
    """Beside this Python first, where wheels put it."""
    return shutil.which("mpiexec", path=sysconfig.get_path("scripts")) or shutil.which("mpiexec")


def run_by_mpiexec(tasks: Sequence[RankTask], runs: int, time_limit: float) -> list[tuple[float, list[RankOutcome]]]:
    """Run processes that `mpiexec` starts, once to warm up and then to measure.

    Args:
        tasks: One a rank.
        runs: Measured ones.
        time_limit: s for all of them.

    Returns:
        Of each run its start, s on the clock of `time.perf_counter`, and the outcome of each rank.

    Raises:
        CollsimError: A rank fails, or the time is up.
    """
    command, until = _find_mpiexec(), time.perf_counter() + time_limit
    assert command is not None
    token = new_token()
    # Rank 0 calls back over a socket: the standard streams of mpiexec are not the ranks' own.
    with open_listener() as listening:
        process = subprocess.Popen(
            [command, "-n", str(len(tasks)), sys.executable, "-c", build_program("by_mpi")],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | _MORE_THAN_CORES,
        )
        try:
            assert process.stdin is not None
            # The program and the token go in by standard input, where no other user of the computer can read them.
            with contextlib.suppress(BrokenPipeError):  # one that has ended already is heard of below
                process.stdin.write(f"{listening.getsockname()[1]} {token.hex()}\n".encode())
                process.stdin.flush()
            runs_done: list[tuple[float, list[RankOutcome]]] = _exchange(
                process, listening, token, (list(tasks), runs), until
            )
            return runs_done
        finally:
            process.terminate()  # of hydra and prte this ends their ranks as well
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
            process.kill()
            process.wait()


def _exchange(
    process: subprocess.Popen[bytes], listening: socket.socket, token: bytes, order: Any, until: float
) -> Any:
    """Hand rank 0 the order and wait for what became of it, as long as mpiexec lives and the time is not up."""
    rank0 = _accept_rank_0(process, listening, token, until)
    rank0.setblocking(True)
    with rank0, rank0.makefile("rwb") as connection:
        pickle.dump(order, connection, pickle.HIGHEST_PROTOCOL)
        connection.flush()
        answers: list[Any] = []
        # Reading blocks, and mpiexec may die meanwhile: a thread reads and this one watches.
        reader = threading.Thread(target=_read_answer, args=(connection, answers), daemon=True)
        reader.start()
        try:
            while not _has_ended(reader, 0.5):
                _require_time(until)
                if process.poll() is not None:
                    _has_ended(reader, 2)  # what it said at the end may be on its way
                    break
        finally:
            with contextlib.suppress(OSError):  # the other side may have closed it
                rank0.shutdown(socket.SHUT_RDWR)
            reader.join()  # it reads until now; what it reads from is closed below
        if not answers:
            raise _describe_end(process)
        return answers[0]


def _accept_rank_0(
    process: subprocess.Popen[bytes], listening: socket.socket, token: bytes, until: float
) -> socket.socket:
    """The connection to rank 0."""

    def watch() -> None:
        _require_time(until)
        if process.poll() is not None:
            raise _describe_end(process)

    # asked for once: one that has connected and not yet said who it is would be shown out at the end of each turn
    return accept_ranks(listening, {0}, token, math.inf, watch=watch)[0]


def _has_ended(reader: threading.Thread, seconds: float) -> bool:
    reader.join(seconds)
    return not reader.is_alive()


def _read_answer(connection: Any, answers: list[Any]) -> None:
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        answers.append(pickle.load(connection))


def _require_time(until: float) -> None:
    if time.perf_counter() >= until:
        raise CollsimError("the time is up, and mpiexec has not ended; give a longer time_limit, or less to do")


def _describe_end(process: subprocess.Popen[bytes]) -> CollsimError:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)
    process.kill()
    return CollsimError("mpiexec ended with {code}{reason}", code=process.poll(), reason=read_last_line(process))
