"""A rank that mpiexec started: rank 0 hears what is to be done, and says what became of it."""

from __future__ import annotations

import base64
import pickle
import sys
import threading
import time

from ...errors import CollsimError
from .messages import Mpi
from .process import RankTask, by_messages, filled, judged

MARK = b"collsim-real:"
_LEAD = 0.05  # s from the order to start to the start


def main() -> None:
    """Run what rank 0 is told, as often as it is told, once more to warm up."""
    carrier = Mpi()
    comm = carrier.comm
    given = pickle.loads(base64.b64decode(sys.stdin.buffer.readline())) if comm.rank == 0 else None
    if comm.rank == 0:
        threading.Thread(target=_watch, args=(comm,), daemon=True).start()
    tasks, runs = comm.bcast(given)
    task: RankTask = tasks[comm.rank]
    found = []
    for number in range(runs + 1):
        slots = filled(task)
        start = comm.bcast(time.perf_counter() + _LEAD)
        try:
            moments = by_messages(task, carrier, slots).run(start)
        except CollsimError as error:
            print(error, file=sys.stderr)
            comm.Abort(1)
        comm.Barrier()
        outcomes = comm.gather(judged(task, slots, moments))
        if comm.rank == 0 and number:
            found.append((start, outcomes))
    if comm.rank == 0:
        sys.stdout.buffer.write(MARK + base64.b64encode(pickle.dumps(found)) + b"\n")
        sys.stdout.buffer.flush()


def _watch(comm: object) -> None:
    """Whoever wanted this has gone when stdin ends."""
    if not sys.stdin.buffer.read(1):
        comm.Abort(1)  # type: ignore[attr-defined]
