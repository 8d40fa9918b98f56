"""This computer as a machine: what a message and a byte cost between its processes, and how many are predictable.

Every figure is measured; the best of several is taken, since whatever else the computer does only adds to it.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import shared_memory
from typing import Any

from ..files import create_file
from ..registry import schedule
from ..topology import Topology
from ..topology.generic import switch
from ..units import format_bandwidth, format_time
from .rank_worker import build_program
from .ranks.emulated_network import ImitatedNetwork
from .ranks.pingpong import ORDER, PIPE, SHARED, SOCKET, read_bytes, receive, write
from .real_run import count_processors, measure_best_time, measure_message_cost

NAME = "this-computer"
# Bytes of the two messages that a line is drawn through, round trips of a small one, and tries, of which the best
# counts.
_SMALL, _LARGE, _ROUNDS, _TRIES = 1024, 2**20, 40, 5
_PREDICTABLE = 0.25  # error up to which a number of processes counts as predictable
_RUN_BYTES, _RUNS = 2**20, 5


@dataclass(frozen=True)
class MeasuredPipe:
    """One way between two processes of this computer, as a line through the times of two sizes.

    Attributes:
        name: `pipe`, `socket`, `shared memory`, or `ranks`: the sockets of `run_for_real`, with what Python takes.
        alpha: s of a message without bytes, one way.
        bandwidth: B/s.
    """

    name: str
    alpha: float
    bandwidth: float


@dataclass(frozen=True)
class MeasuredRing:
    """A ring allreduce of 1 MiB on several processes at the same time, without pacing.

    Attributes:
        processes: number of them.
        predicted: s, if each had a pipe as two of them alone had it.
        measured: s of the fastest of five runs.
    """

    processes: int
    predicted: float
    measured: float

    @property
    def difference(self) -> float:
        """By how much it takes longer than predicted; 0.1 is 10 %."""
        return self.measured / self.predicted - 1


@dataclass(frozen=True)
class ThisComputer:
    """What `calibrate_computer` found.

    Attributes:
        processors: processors that this process could use.
        pipes: `pipe`, `socket`, `shared memory` and `ranks`, in this order.
        rings: rings of 2, 4, 8 ... processes, as many as were tried.
    """

    processors: int
    pipes: tuple[MeasuredPipe, ...]
    rings: tuple[MeasuredRing, ...]

    @property
    def predictable(self) -> int:
        """The largest number of processes up to which all that were tried came within a quarter; 0 if none did."""
        processes = 0
        for ring in self.rings:
            if abs(ring.difference) > _PREDICTABLE:
                break
            processes = ring.processes
        return processes

    @property
    def ranks(self) -> MeasuredPipe:
        """The pipe that the ranks of `run_for_real` use."""
        return next(pipe for pipe in self.pipes if pipe.name == "ranks")

    def topology(self, ranks: int | None = None) -> Topology:
        """A switch on which as many ranks as were predictable (two at least) send as these processes did.

        Args:
            ranks: None for as many as were predictable.
        """
        pipe = self.ranks
        count = ranks or max(2, self.predictable)
        topology = switch(count, bandwidth=pipe.bandwidth, alpha=pipe.alpha / 2)
        return replace(topology, name=NAME, facts=replace(topology.facts, network=""))  # its file says every cable

    def save(self, path: Any) -> None:
        """Write it as a machine file, whole or not at all; `load_topology` and every `--topology-file` read it."""
        with create_file(path) as file:
            file.write(self.topology().to_yaml().encode())

    def __str__(self) -> str:
        lines = [f"{NAME}: {self.processors} processors"]
        lines += [
            f"{pipe.name:14}  a message {format_time(pipe.alpha)}, bytes {format_bandwidth(pipe.bandwidth)}"
            for pipe in self.pipes
        ]
        lines += [
            f"{ring.processes} processes      a ring of 1 MiB predicted {format_time(ring.predicted)}, measured "
            f"{format_time(ring.measured)} ({ring.difference:+.0%})"
            for ring in self.rings
        ]
        return "\n".join([*lines, self.verdict()])

    def verdict(self) -> str:
        """How many processes are predictable without pacing, in a sentence."""
        tried = self.rings[-1].processes if self.rings else 0
        per = self.predictable / self.processors
        if self.predictable == tried:
            return f"predictable within {_PREDICTABLE:.0%}: all that were tried, up to {tried} processes"
        if not self.predictable:
            return "without pacing no number of processes is predictable here now: something else has the processors"
        return (
            f"predictable within {_PREDICTABLE:.0%}: up to {self.predictable} processes, {per:.3g} on each processor; "
            "beyond that they wait for one another's processor: pace them"
        )


def calibrate_computer(report_progress: Callable[[int, int], None] | None = None) -> ThisComputer:
    """Measure this computer: pipes between two processes, then rings of 2, 4 and 8 processes unpaced.

    Args:
        report_progress: Called with (measurements done, in all) before each; None for no calls.
    """
    # Rings of more processes than this say nothing new, and take long.
    counts = (2, 4, 8)
    done, total = 0, 4 + len(counts)

    def report() -> None:
        nonlocal done
        if report_progress is not None:
            report_progress(done, total)
        done += 1

    pipes = []
    with _start_partner() as partner:
        for name, kind in (("pipe", PIPE), ("socket", SOCKET), ("shared memory", SHARED)):
            report()
            pipes.append(_fit_line(name, *(_measure_best(partner, kind, size) for size in (_SMALL, _LARGE))))
    report()
    cost = measure_message_cost(2, ImitatedNetwork())
    # What a message between two ranks costs includes Python, as in the runs that are predicted.
    pipes.append(MeasuredPipe("ranks", cost.alpha, cost.bandwidth))
    rings = []
    for count in counts:
        report()
        rings.append(_measure_ring(count, pipes[-1]))
    report()
    return ThisComputer(count_processors(), tuple(pipes), tuple(rings))


def measure_socket() -> MeasuredPipe:
    """What a socket between two processes of this computer costs, alone."""
    with _start_partner() as partner:
        return _fit_line("socket", *(_measure_best(partner, SOCKET, size) for size in (_SMALL, _LARGE)))


def _measure_ring(count: int, pipe: MeasuredPipe) -> MeasuredRing:
    """A ring of so many processes, and its time if each had such a pipe."""
    measured = measure_best_time(schedule("allreduce_ring", ranks=count), _RUN_BYTES, ImitatedNetwork(), _RUNS)
    steps = 2 * (count - 1)
    return MeasuredRing(count, steps * (pipe.alpha + _RUN_BYTES / count / pipe.bandwidth), measured)


# ---- ping-pong


@contextlib.contextmanager
def _start_partner() -> Iterator[subprocess.Popen[bytes]]:
    """The process at the other end; gone when this is left."""
    process = subprocess.Popen(
        [sys.executable, "-c", build_program("pingpong")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def _fit_line(name: str, small: float, large: float) -> MeasuredPipe:
    """The line through two times of one way."""
    beta = max((large - small) / (_LARGE - _SMALL), 1e-15)
    return MeasuredPipe(name, max(0.0, small - _SMALL * beta), 1 / beta)


def _measure_best(partner: subprocess.Popen[bytes], kind: int, count: int) -> float:
    """s of one way of a message: half of the best round trip, of several tries."""
    times = max(4, _ROUNDS * _SMALL // count)
    return min(_measure_round_trip(partner, kind, count, times) for _ in range(_TRIES)) / 2


def _measure_round_trip(partner: subprocess.Popen[bytes], kind: int, count: int, times: int) -> float:
    assert partner.stdin is not None
    assert partner.stdout is not None
    request_pipe, answer_pipe = partner.stdin.fileno(), partner.stdout.fileno()
    return {PIPE: _time_pipe, SOCKET: _time_socket, SHARED: _time_shared_memory}[kind](
        request_pipe, answer_pipe, count, times
    )


def _time_pipe(request_pipe: int, answer_pipe: int, count: int, times: int) -> float:
    write(request_pipe, ORDER.pack(PIPE, count, times, b""))
    data = bytes(count)

    def send_and_receive() -> None:
        write(request_pipe, data)
        read_bytes(answer_pipe, count)

    return _time_fastest(times, send_and_receive)


def _time_socket(request_pipe: int, answer_pipe: int, count: int, times: int) -> float:
    token = secrets.token_bytes(32)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        write(request_pipe, ORDER.pack(SOCKET, count, times, struct.pack("<H32s", listening.getsockname()[1], token)))
        with _accept_partner(listening, token) as sock:
            data = memoryview(bytearray(count))

            def send_and_receive() -> None:
                sock.sendall(data)
                receive(sock, data)

            return _time_fastest(times, send_and_receive)


def _accept_partner(listening: socket.socket, token: bytes) -> socket.socket:
    """The first connection that sends the token; others are closed."""
    listening.settimeout(20)
    while True:
        sock = listening.accept()[0]
        sock.settimeout(20)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent_token = memoryview(bytearray(len(token)))
        with contextlib.suppress(EOFError, OSError):
            receive(sock, sent_token)
        if secrets.compare_digest(bytes(sent_token), token):
            return sock
        sock.close()


def _time_shared_memory(request_pipe: int, answer_pipe: int, count: int, times: int) -> float:
    block: Any = shared_memory.SharedMemory(create=True, size=2 * count)
    try:
        write(request_pipe, ORDER.pack(SHARED, count, times, block.name.encode()))
        data = bytes(count)

        def send_and_receive() -> None:
            block.buf[:count] = data
            write(request_pipe, b"!")
            read_bytes(answer_pipe, 1)
            bytes(block.buf[count : 2 * count])

        return _time_fastest(times, send_and_receive)
    finally:
        block.close()
        block.unlink()


def _time_fastest(times: int, once: Callable[[], object]) -> float:
    """s of the fastest of so many round trips."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        once()
        best = min(best, time.perf_counter() - began)
    return best
