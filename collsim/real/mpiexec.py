"""Ranks that mpiexec starts: the tasks go to rank 0 over its stdin, and what became of them comes back over stdout.

When this process ends, however, mpiexec's stdin ends; rank 0 notices and aborts the rest.
"""

from __future__ import annotations

import base64
import pickle
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import CollsimError, Sentence
from .ranks.by_mpi import MARK
from .ranks.process import RankOutcome, RankTask

_PACKAGE = str(Path(__file__).resolve().parents[1])
_START = """
import sys, types
for name, folder in (("collsim", {root!r}), ("collsim.real", {root!r} + "/real")):
    sys.modules[name] = types.ModuleType(name); sys.modules[name].__path__ = [folder]
from collsim.real.ranks.by_mpi import main; main()
"""



def require(on: str) -> None:
    """Raises CollsimError where the library that a back end needs is not there."""
    if on == "mpi" and (find_spec("mpi4py") is None or _mpiexec() is None):
        raise CollsimError("on='mpi' needs mpi4py and an MPI with mpiexec: pip install 'collsim[mpi]'")
    if on == "gloo" and find_spec("torch") is None:
        raise CollsimError("on='gloo' needs torch: pip install 'collsim[torch]'")


def _mpiexec() -> str | None:
    """Beside this Python first, where wheels put it."""
    return shutil.which("mpiexec", path=sysconfig.get_path("scripts")) or shutil.which("mpiexec")


def by_mpiexec(tasks: Sequence[RankTask], runs: int, time_limit: float) -> list[tuple[float, list[RankOutcome]]]:
    """Of each run its start and the outcome of each rank. Raises CollsimError where one fails or the time is up."""
    command = _mpiexec()
    assert command is not None
    process = subprocess.Popen(
        [command, "-n", str(len(tasks)), sys.executable, "-c", _START.format(root=_PACKAGE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        said, trouble = _talk(process, base64.b64encode(pickle.dumps((list(tasks), runs))) + b"\n", time_limit)
    finally:
        process.kill()
        process.wait()
    for line in said.splitlines():
        if line.startswith(MARK):
            found: list[tuple[float, list[RankOutcome]]] = pickle.loads(base64.b64decode(line[len(MARK) :]))
            return found
    last = trouble.decode(errors="replace").strip().splitlines()[-1:]
    why = Sentence(": {last}", last=last[0]) if last else ""
    raise CollsimError("mpiexec ended with {code}{why}", code=process.returncode, why=why)


def _talk(process: subprocess.Popen[bytes], order: bytes, time_limit: float) -> tuple[bytes, bytes]:
    """Hand the order over, keep stdin open, and read to the end."""
    import threading

    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    parts: dict[str, bytes] = {}
    pipes: dict[str, Any] = {"out": process.stdout, "err": process.stderr}
    threads = [threading.Thread(target=_drain, args=(parts, name, pipe), daemon=True) for name, pipe in pipes.items()]
    for thread in threads:
        thread.start()
    try:
        process.stdin.write(order)
        process.stdin.flush()
    except OSError:
        pass  # it has ended; its stderr says why
    threads[0].join(time_limit)
    if threads[0].is_alive():
        process.stdin.close()
        raise CollsimError(
            "the time is up, and endpoints {missing} have not ended; give a longer time_limit, or less to do",
            missing="of mpiexec",
        )
    threads[1].join(1.0)
    return parts.get("out", b""), parts.get("err", b"")


def _drain(parts: dict[str, bytes], name: str, pipe: Any) -> None:
    parts[name] = pipe.read()
