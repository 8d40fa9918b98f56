"""A rank that mpiexec started: rank 0 hears what is to be done, and says what became of it."""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time
from typing import Any

from .library_transport import Mpi
from .rank_process import RankTask, build_message_run, compare_slots, fill_slots
from .wire import connect_rank

_LEAD = 0.05  # s from the order to start to the start


def main() -> None:
    """Run what rank 0 is told, as often as it is told, once more to warm up."""
    carrier = Mpi()
    comm = carrier.comm
    connection: Any = None
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    if comm.rank == 0:
        port, token = sys.stdin.readline().split()
        sock = connect_rank(int(port), 0, bytes.fromhex(token))
        connection = sock.makefile("rwb")
        threading.Thread(target=_listen, args=(connection, orders, comm), daemon=True).start()
    tasks, runs = comm.bcast(orders.get() if comm.rank == 0 else None)
    runs_done = [_run_once(carrier, comm, tasks[comm.rank]) for _ in range(runs + 1)][1:]
    if comm.rank == 0:
        pickle.dump(runs_done, connection, pickle.HIGHEST_PROTOCOL)
        connection.flush()


def _run_once(carrier: Mpi, comm: Any, task: RankTask) -> tuple[float, Any]:
    """One run: its start, and at rank 0 the outcome of each rank."""
    slots = fill_slots(task)
    start = comm.bcast(time.perf_counter() + _LEAD)
    moments = build_message_run(task, carrier, slots).run(start)
    comm.Barrier()  # comparing takes a processor from those that still run
    return start, comm.gather(compare_slots(task, slots, moments))


def _listen(connection: Any, orders: queue.SimpleQueue[Any], comm: Any) -> None:
    """The order; when the connection ends, whoever wanted the run has gone."""
    orders.put(pickle.load(connection))
    if not connection.read(1) and comm.rank == 0:
        comm.Abort(1)
