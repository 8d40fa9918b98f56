"""How many processor seconds each client has used of late. Knows no Streamlit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

#: Seconds after which what a client used counts half.
HALF_LIFE = 60.0
#: A client that uses less than so many times the mean is not heavy: where all use much, nobody is an attacker.
TIMES_THE_MEAN = 1.5
#: Less than this is forgotten, s.
_NEGLIGIBLE = 1e-3

Job = TypeVar("Job")


class ClientUsage:
    """Seconds that each client has used, older ones counting less. The client `LOCAL` (an empty text) uses none.

    Args:
        clock: returns the time, s.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._records: dict[str, tuple[float, float]] = {}  # seconds, and the time to which they are decayed

    def add(self, clients: Iterable[str], seconds: float) -> None:
        """Count seconds for each of some clients; negative ones take back an estimate.

        Args:
            clients: Empty names are left out.
            seconds: Of the processor, for each of them.
        """
        now = self._clock()
        for client in filter(None, clients):
            self._records[client] = max(0.0, self._decay(client, now) + seconds), now
        self._records = {
            client: record for client, record in self._records.items() if self._decay(client, now) > _NEGLIGIBLE
        }

    def seconds(self, client: str) -> float:
        """Return what a client has used of late, s."""
        return self._decay(client, self._clock())

    def is_heavy(self, client: str, budget: float) -> bool:
        """Whether a client has used more than `budget` seconds of late, and clearly more than the others.

        Args:
            client: Of `identify_client`.
            budget: s that everybody may use of late.
        """
        now = self._clock()
        seconds = self._decay(client, now)
        mean = sum(self._decay(other, now) for other in self._records) / max(1, len(self._records))
        return seconds > max(budget, TIMES_THE_MEAN * mean)

    def sort_jobs(self, jobs: Iterable[Job], list_clients: Callable[[Job], Iterable[str]]) -> list[Job]:
        """Return jobs by the usage of that one of their clients who has used least; equal ones keep their order."""
        now = self._clock()  # one moment for all, however long the comparison takes
        used = {client: self._decay(client, now) for client in self._records}
        return sorted(jobs, key=lambda job: min((used.get(client, 0.0) for client in list_clients(job)), default=0.0))

    def _decay(self, client: str, now: float) -> float:
        seconds, since = self._records.get(client, (0.0, 0.0))
        return seconds * 0.5 ** ((now - since) / HALF_LIFE) if seconds else 0.0
