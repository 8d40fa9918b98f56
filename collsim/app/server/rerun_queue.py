"""Which rerun of a page begins next. Knows no Streamlit.

The scripts of all pages compute in threads of one process, under one lock, so that what one client computes delays all
others. So few reruns are under way at a time, one of each client, and the client that has used the fewest processor
seconds of late comes next. A client that has used more than its budget begins a rerun only while nobody else runs one,
leaves the lock to others for twice the time that it had it, and is refused when it has waited for long.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .client_usage import ClientUsage
from .clients import LOCAL

#: Reruns under way at a time, of all clients: they share one lock, so more of them would only be later each.
SLOTS = 3
#: Processor seconds of one client, those of the last minute counting most, beyond which it is heavy. A client that
#: clicks every twelve seconds, each rerun using half a second, comes to 3.6: 5 in a minute, times the 1 / ln 2 minutes
#: that count.
BUDGET = 4.0
#: Times the processor seconds of a heavy client's rerun, for which no other such rerun begins.
REST = 2.0
#: Seconds after which a rerun that waits is refused, and the same of a heavy client.
PATIENCE, HEAVY_PATIENCE = 60.0, 10.0
#: Seconds after which a rerun that waits looks whether it may begin, where no other one that ends tells it.
_POLL = 0.25


class ServerBusy(Exception):
    """A rerun has waited for too long."""


@dataclass(eq=False)
class _Ticket:
    """A rerun that waits."""

    client: str
    begins: threading.Event = field(default_factory=threading.Event)


class RerunQueue:
    """Admits reruns; used from their threads.

    Args:
        slots: reruns under way at a time.
        per_client: of them, those of one client; its budget is so many times as large, too.
        clock: returns the time, s.
        processor_clock: returns the processor time of the thread that calls it, s.
    """

    def __init__(
        self,
        slots: int = SLOTS,
        per_client: int = 1,
        clock: Callable[[], float] = time.monotonic,
        processor_clock: Callable[[], float] = time.thread_time,
    ):
        self._slots, self._per_client = slots, per_client
        self._clock, self._processor_clock = clock, processor_clock
        self._usage = ClientUsage(clock)
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._running = Counter[str]()
        self._rest_until = clock()
        self._thread = threading.local()

    @contextmanager
    def admit(self, client: str) -> Iterator[None]:
        """Wait until a rerun may begin, and count the processor seconds of its thread since the last rerun in it.
        Inside of another one in the same thread, and for the client `LOCAL`, there is nothing to wait for.

        Args:
            client: Of `identify_client`.

        Raises:
            ServerBusy: it has waited for too long.
        """
        if client == LOCAL or getattr(self._thread, "is_admitted", False):
            yield
            return
        self._wait(client)
        self._thread.is_admitted = True
        try:
            yield
        finally:
            self._thread.is_admitted = False
            self._end(client)

    def is_heavy(self, client: str) -> bool:
        """Whether a client has used more than its budget."""
        with self._lock:
            return self._is_heavy(client)

    def _is_heavy(self, client: str) -> bool:
        return self._usage.is_heavy(client, BUDGET * self._per_client)

    def _wait(self, client: str) -> None:
        ticket, since = _Ticket(client), self._clock()
        with self._lock:
            self._waiting.append(ticket)
            self._start_next()
        while not ticket.begins.wait(_POLL):
            with self._lock:
                self._start_next()
                patience = HEAVY_PATIENCE if self._is_heavy(client) else PATIENCE
                if not ticket.begins.is_set() and self._clock() - since >= patience:
                    self._waiting.remove(ticket)
                    self._count(client)
                    raise ServerBusy

    def _count(self, client: str) -> float:
        """With the lock held: count what the thread has used since it was last counted, before it was admitted, too."""
        used = self._processor_clock()
        seconds, self._thread.counted = used - getattr(self._thread, "counted", 0.0), used
        self._usage.add([client], seconds)
        return seconds

    def _end(self, client: str) -> None:
        """Let the next reruns begin."""
        with self._lock:
            seconds = self._count(client)
            self._running[client] -= 1
            self._running += Counter()  # forgets clients without a rerun
            if self._is_heavy(client):
                self._rest_until = self._clock() + REST * seconds
            self._start_next()

    def _start_next(self) -> None:
        """With the lock held: start those reruns that may begin."""
        while (ticket := self._choose_next()) is not None:
            self._waiting.remove(ticket)
            self._running[ticket.client] += 1
            ticket.begins.set()

    def _choose_next(self) -> _Ticket | None:
        """With the lock held: return the rerun that may begin now, if there is one."""
        if self._running.total() >= self._slots:
            return None
        free = [ticket for ticket in self._waiting if self._running[ticket.client] < self._per_client]
        candidates = [ticket for ticket in free if not self._is_heavy(ticket.client)]
        if not candidates and not self._running.total() and self._clock() >= self._rest_until:
            candidates = free
        return next(iter(self._usage.sort_jobs(candidates, lambda ticket: [ticket.client])), None)
