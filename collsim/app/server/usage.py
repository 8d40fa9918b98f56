"""How much each client has used of late, of the workers or of the server itself. Knows neither, nor Streamlit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

#: Seconds after which what somebody used counts half.
HALF_LIFE = 60.0
#: Seconds that a computation counts while nobody knows yet what it takes.
AT_FIRST = 1.0
#: Where all wait long, somebody whose computations are dear is no attacker: much is so many times what others use.
TIMES_THE_MEAN = 1.5
#: Less than this is forgotten, s.
_NOTHING = 1e-3

Job = TypeVar("Job")


class ClientUsage:
    """Seconds of work that each client asked for, older ones counting less; the client "", this computer, uses
    none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._seconds: dict[str, tuple[float, float]] = {}  # and when they were counted

    def order(self, jobs: list[Job], clients: Callable[[Job], Iterable[str]]) -> list[Job]:
        """Jobs by the use of that one of its clients who has used least; as they are, where that is the same."""
        now = self._clock()
        used = {client: self._held(client, now) for client in self._seconds}
        return sorted(jobs, key=lambda job: min((used.get(client, 0.0) for client in clients(job)), default=0.0))

    def seconds(self, client: str) -> float:
        """What a client has used of late."""
        return self._held(client, self._clock())

    def _held(self, client: str, now: float) -> float:
        """The same at a moment: those who are compared are looked at in one, however long the looking takes."""
        seconds, at = self._seconds.get(client, (0.0, 0.0))
        return seconds * 0.5 ** ((now - at) / HALF_LIFE) if seconds else 0.0

    def much(self, client: str, seconds: float) -> bool:
        """Whether a client has used more than so many seconds of late, and than TIMES_THE_MEAN what others do."""
        now = self._clock()
        mine = self._held(client, now)
        return mine > seconds and mine > TIMES_THE_MEAN * self._mean(now)

    def _mean(self, now: float) -> float:
        """What those who used anything of late have used on average, s."""
        return sum(self._held(client, now) for client in self._seconds) / max(1, len(self._seconds))

    def begins(self, clients: Iterable[str]) -> None:
        """A computation for these clients begins."""
        self._add(clients, AT_FIRST)

    def ends(self, clients: Iterable[str], seconds: float) -> None:
        """One that had begun took so long."""
        self._add(clients, seconds - AT_FIRST)

    def _add(self, clients: Iterable[str], seconds: float) -> None:
        now = self._clock()
        for client in clients:
            if client:
                self._seconds[client] = max(0.0, self._held(client, now) + seconds), now
        self._seconds = {client: held for client, held in self._seconds.items() if self._held(client, now) > _NOTHING}
