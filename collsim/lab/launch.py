"""Start a process for each rank, lead them through a run, and end them on every way out.

A rank lives as long as its stdin is open. That end is held here, so it goes when this process does, however that ends;
and whatever ends a run here, the processes are killed and waited for before anything else happens.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from ..errors import CollsimError
from .child import last_line, program_of
from .ranks.process import CONNECT_SECONDS, RankOutcome, RankTask
from .ranks.stepping import RankStep

#: Ctrl-C reaches all processes of a terminal; what becomes of the ranks is for this process to say.
_ALONE = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_LEAD = 0.05  # s between the order to start and the start: long enough for it to reach all
#: s in which the end of a process may explain why others lost a connection, and in which one that says no more may end.
_GRACE, _ENDING, _LOOK = 1.0, 5.0, 0.01

Told = Callable[[int, int], None]


class Crew:
    """The processes of a run, and what they say: `(endpoint, message)`, None where one has ended."""

    def __init__(self, count: int, module: str):
        self.said: queue.Queue[tuple[int, Any]] = queue.Queue()
        self.processes: list[subprocess.Popen[bytes]] = []
        self._told: list[queue.SimpleQueue[bytes | None]] = []
        try:
            for number in range(count):
                self.processes.append(_process(module))
                self._told.append(queue.SimpleQueue())
                threading.Thread(target=self._hear, args=(number, self.processes[-1]), daemon=True).start()
                threading.Thread(target=self._write, args=(self.processes[-1], self._told[-1]), daemon=True).start()
        except BaseException:
            self.end()
            raise

    def _hear(self, number: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self.said.put((number, pickle.load(process.stdout)))
        self.said.put((number, None))

    def _write(self, process: subprocess.Popen[bytes], told: queue.SimpleQueue[bytes | None]) -> None:
        """One that has not begun to read keeps nobody else waiting; if it has ended, that will be heard."""
        stdin: IO[bytes] | None = process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := told.get()) is not None:
                stdin.write(data)
                stdin.flush()

    def tell(self, number: int, message: Any) -> None:
        """Tell one of them, when it reads."""
        self._told[number].put(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def tell_all(self, message: Any) -> None:
        """Tell each of them the same."""
        for number in range(len(self.processes)):
            self.tell(number, message)

    def answers(self, kind: str, until: float) -> list[Any]:
        """What each of them answers. Raises CollsimError where one fails, ends, or takes longer than to `until`."""
        found: dict[int, Any] = {}
        while len(found) < len(self.processes):
            try:
                number, message = self.said.get(timeout=max(0.0, until - time.perf_counter()))
            except queue.Empty:
                raise self._late(found) from None
            if message is None or message[0] == "failed":
                raise self._failed(number, message)
            assert message[0] == kind
            found[number] = message[1]
        return [found[number] for number in range(len(self.processes))]

    def _late(self, found: dict[int, Any]) -> CollsimError:
        missing = sorted(set(range(len(self.processes))) - found.keys())
        return CollsimError(
            "the time is up, and endpoints {missing} have not ended; give a longer time_limit, or less to do",
            missing=missing,
        )

    def _failed(self, number: int, message: Any) -> CollsimError:
        """The reason why it ended: a process that was killed explains what the others lost."""
        until = time.perf_counter() + (_ENDING if message is None else _GRACE)
        while time.perf_counter() < until:
            for other, process in enumerate(self.processes):
                if code := process.poll():
                    return _ended(other, process, code)
            time.sleep(_LOOK)
        if message is None:
            return CollsimError("the process of endpoint {number} ended before the run did", number=number)
        return CollsimError("endpoint {number}: {error}", number=number, error=message[1])

    def end(self) -> None:
        """Kill what is left, and wait until it has gone."""
        for told in self._told:
            told.put(None)
        for process in self.processes:
            with contextlib.suppress(OSError):
                process.kill()
        for process in self.processes:
            process.wait()
            for pipe in (process.stdin, process.stderr):  # stdout belongs to the thread that hears
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()


def _process(module: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _ALONE + program_of(module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _ended(number: int, process: subprocess.Popen[bytes], code: int) -> CollsimError:
    if code < 0:
        return CollsimError(
            "the process of endpoint {number} was killed (signal {signal})", number=number, signal=-code
        )
    why = "the process of endpoint {number} ended with {code}{why}"
    return CollsimError(why, number=number, code=code, why=last_line(process))


@contextlib.contextmanager
def crew(tasks: Sequence[RankTask | RankStep], until: float) -> Iterator[Crew]:
    """The processes, connected with one another; gone when this is left, on whatever way."""
    started = Crew(len(tasks), tasks[0].module)
    try:
        for number, task in enumerate(tasks):
            started.tell(number, task)
        ready = min(until, time.perf_counter() + CONNECT_SECONDS * (4 if tasks[0].on == "gloo" else 1))  # torch loads
        ports = dict(enumerate(started.answers("port", ready)))
        started.tell_all(ports)
        started.answers("connected", ready)
        yield started
    finally:
        started.end()


def measured(
    tasks: Sequence[RankTask], runs: int, time_limit: float, tell: Told | None = None
) -> list[list[RankOutcome]]:
    """Run so many times after once to warm up; of each run the outcome of each rank, moments from its start.

    Raises:
        CollsimError: Where a rank fails or is killed, or the time is up.
    """
    if tasks[0].on == "mpi":
        from .mpiexec import by_mpiexec

        return [[_from(start, one) for one in of] for start, of in by_mpiexec(tasks, runs, time_limit)]
    return led(tasks, runs, time_limit, tell)


def led(tasks: Sequence[Any], runs: int, time_limit: float, tell: Told | None = None) -> list[list[Any]]:
    """The same of processes that are started here: RankTasks, or RankSteps."""
    until, found = time.perf_counter() + time_limit, []
    with crew(tasks, until) as started:
        for number in range(runs + 1):
            if tell is not None:
                tell(number, runs + 1)
            start = time.perf_counter() + _LEAD
            started.tell_all(start)
            started.answers("ran", until)
            started.tell_all(None)
            outcomes = started.answers("done", until)
            if number:
                found.append([_from(start, outcome) for outcome in outcomes])
    if tell is not None:
        tell(runs + 1, runs + 1)
    return found


def _from(start: float, outcome: Any) -> Any:
    """With moments that count from the start."""
    moments = outcome.moments
    return outcome._replace(moments=type(moments)(*(part - start for part in moments)))
