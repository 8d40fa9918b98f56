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
from .rank_worker import build_program, read_last_line
from .ranks.rank_process import CONNECT_SECONDS, RankOutcome, RankTask
from .ranks.stepping import RankStep

#: Ctrl-C reaches all processes of a terminal; what becomes of the ranks is for this process to say.
_IGNORE_SIGINT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_LEAD = 0.05  # s between the order to start and the start: long enough for it to reach all
#: s for which the end of a process is awaited, since it may explain why others lost a connection; the same where a
#: process has closed its messages; and between two looks.
_GRACE, _ENDING, _LOOK = 1.0, 5.0, 0.01

ReportProgress = Callable[[int, int], None]


class RankProcesses:
    """The processes of a run, and what they say: `(endpoint, message)`, None where one has ended."""

    def __init__(self, count: int, module: str):
        """Start the processes; they are not connected yet.

        Args:
            count: Processes.
            module: Of the package `ranks`; its `main` runs in each.
        """
        self.messages: queue.Queue[tuple[int, Any]] = queue.Queue()
        self.processes: list[subprocess.Popen[bytes]] = []
        self._requests: list[queue.SimpleQueue[bytes | None]] = []
        try:
            for number in range(count):
                self.processes.append(_start_process(module))
                self._requests.append(queue.SimpleQueue())
                threading.Thread(target=self._read_messages, args=(number, self.processes[-1]), daemon=True).start()
                threading.Thread(
                    target=self._write_requests, args=(self.processes[-1], self._requests[-1]), daemon=True
                ).start()
        except BaseException:
            self.end()
            raise

    def _read_messages(self, number: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self.messages.put((number, pickle.load(process.stdout)))
        self.messages.put((number, None))

    def _write_requests(self, process: subprocess.Popen[bytes], requests: queue.SimpleQueue[bytes | None]) -> None:
        """In a thread for each process, so that one that does not read yet delays no other; that one has ended is seen
        where its messages are read."""
        stdin: IO[bytes] | None = process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := requests.get()) is not None:
                stdin.write(data)
                stdin.flush()

    def send(self, number: int, message: object) -> None:
        """Tell one of them, when it reads."""
        self._requests[number].put(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def send_all(self, message: object) -> None:
        """Tell each of them the same."""
        for number in range(len(self.processes)):
            self.send(number, message)

    def collect_answers(self, kind: str, until: float) -> list[Any]:
        """What each process answers, in the order of their numbers.

        Args:
            kind: First entry of the message that is expected: "port", "connected", "ran", "done".
            until: s, on the clock of `time.perf_counter`.

        Raises:
            CollsimError: A process fails, ends, or has not answered in time.
        """
        answers: dict[int, Any] = {}
        while len(answers) < len(self.processes):
            try:
                number, message = self.messages.get(timeout=max(0.0, until - time.perf_counter()))
            except queue.Empty:
                raise self._describe_timeout(answers) from None
            if message is None or message[0] == "failed":
                raise self._describe_failure(number, message)
            assert message[0] == kind
            answers[number] = message[1]
        return [answers[number] for number in range(len(self.processes))]

    def _describe_timeout(self, answers: dict[int, Any]) -> CollsimError:
        missing = sorted(set(range(len(self.processes))) - answers.keys())
        return CollsimError(
            "the time is up, and endpoints {missing} have not ended; give a longer time_limit, or less to do",
            missing=missing,
        )

    def _describe_failure(self, number: int, message: Any) -> CollsimError:
        """The reason why it ended: a process that was killed explains what the others lost."""
        until = time.perf_counter() + (_ENDING if message is None else _GRACE)
        while time.perf_counter() < until:
            for other, process in enumerate(self.processes):
                if code := process.poll():
                    return _describe_end(other, process, code)
            time.sleep(_LOOK)
        if message is None:
            return CollsimError("the process of endpoint {number} ended before the run did", number=number)
        return CollsimError("endpoint {number}: {error}", number=number, error=message[1])

    def end(self) -> None:
        """Kill what is left, and wait until it has gone."""
        for requests in self._requests:
            requests.put(None)
        for process in self.processes:
            with contextlib.suppress(OSError):
                process.kill()
        for process in self.processes:
            process.wait()
            for pipe in (process.stdin, process.stderr):  # stdout belongs to the thread that reads it
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()


def _start_process(module: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _IGNORE_SIGINT + build_program(module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _describe_end(number: int, process: subprocess.Popen[bytes], code: int) -> CollsimError:
    if code < 0:
        return CollsimError(
            "the process of endpoint {number} was killed (signal {signal})", number=number, signal=-code
        )
    template = "the process of endpoint {number} ended with {code}{reason}"
    return CollsimError(template, number=number, code=code, reason=read_last_line(process))


@contextlib.contextmanager
def _start_crew(tasks: Sequence[RankTask | RankStep], until: float) -> Iterator[RankProcesses]:
    """The processes, connected with one another; gone when this is left, on whatever way."""
    started = RankProcesses(len(tasks), tasks[0].module)
    try:
        for number, task in enumerate(tasks):
            started.send(number, task)
        ready = min(until, time.perf_counter() + CONNECT_SECONDS * (4 if tasks[0].on == "gloo" else 1))  # torch loads
        ports = dict(enumerate(started.collect_answers("port", ready)))
        started.send_all(ports)
        started.collect_answers("connected", ready)
        yield started
    finally:
        started.end()


def measure_runs(
    tasks: Sequence[RankTask], runs: int, time_limit: float, report_progress: ReportProgress | None = None
) -> list[list[RankOutcome]]:
    """Run so many times after once to warm up; of each run the outcome of each rank, moments from its start.

    Args:
        tasks: One a rank, all for the same back end.
        runs: Measured ones.
        time_limit: s for all of them, starting the processes included.
        report_progress: Called with (runs done, in all), the warm-up one of them; None for no calls.

    Raises:
        CollsimError: Where a rank fails or is killed, or the time is up.
    """
    if tasks[0].on == "mpi":
        from .mpiexec import run_by_mpiexec

        return [
            [_shift_moments(start, outcome) for outcome in outcomes]
            for start, outcomes in run_by_mpiexec(tasks, runs, time_limit)
        ]
    return lead_runs(tasks, runs, time_limit, report_progress)


def lead_runs(
    tasks: Sequence[Any], runs: int, time_limit: float, report_progress: ReportProgress | None = None
) -> list[list[Any]]:
    """Run processes that are started here, once to warm up and then to measure.

    Args:
        tasks: RankTasks, or RankSteps.
        runs: Measured ones.
        time_limit: s for all of them.
        report_progress: As in `measure_runs`.

    Returns:
        Of each measured run the outcome of each rank, moments in s from the run's start.

    Raises:
        CollsimError: As `measure_runs`.
    """
    until, runs_done = time.perf_counter() + time_limit, []
    with _start_crew(tasks, until) as started:
        for number in range(runs + 1):
            if report_progress is not None:
                report_progress(number, runs + 1)
            start = time.perf_counter() + _LEAD
            started.send_all(start)
            started.collect_answers("ran", until)
            started.send_all(None)
            outcomes = started.collect_answers("done", until)
            if number:
                runs_done.append([_shift_moments(start, outcome) for outcome in outcomes])
    if report_progress is not None:
        report_progress(runs + 1, runs + 1)
    return runs_done


def _shift_moments(start: float, outcome: Any) -> Any:
    """With moments that count from the start."""
    moments = outcome.moments
    return outcome._replace(moments=type(moments)(*(part - start for part in moments)))
