"""One computation under way, and who waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..server.clients import LOCAL

if TYPE_CHECKING:
    from .worker_process import WorkerProcess

#: Seconds up to which a computation waits in the queue of short ones, so that a glance never waits for a film.
SHORT = 4.0
#: A queue of computations: those that take a moment, all others, and those of which nobody can say what they take
#: (somebody else's code, which often never ends). Exclusive ones measure this computer.
QueueName = Literal["short", "long", "unknown", "exclusive"]

#: Names a computation: the function, and its arguments.
JobKey = tuple[str, tuple[Hashable, ...]]


@dataclass(frozen=True)
class Tab:
    """A page of a browser, which waits for computations.

    Attributes:
        session: the identifier of its Streamlit session.
        client: the client that it belongs to (`server.get_session_client`).
    """

    session: str
    client: str = LOCAL


class WorkerDied(Exception):
    """The process of a computation ended before the computation did: most likely out of memory."""


class TooManyJobs(Exception):
    """This client, or all together, have as many computations under way as there may be."""


def build_job_key(function: Callable[..., object], arguments: tuple[Hashable, ...]) -> JobKey:
    """Return what names a computation."""
    return f"{function.__module__}.{function.__qualname__}", arguments


class Computation:
    """One computation under way.

    Args:
        key: names it.
        function: what is called.
        expected: seconds that it should take; 0 where nobody can know.
        exclusive: it measures this computer.

    Attributes:
        queue: where it waits.
        began: when a worker took it (`time.monotonic`), or None while it waits.
        stage: `queue`, `start`, `compile` or `run`.
        share: how much of it is done, 0 to 1.
        partial: what there is of the result so far; None where its function does not say.
        over: set at its end; then `result` is its pickle, or `error` says why there is none; neither, where it was
            stopped.
        waiting: the tabs that wait for it, and when each was last seen.
        payers: the clients that it is charged to, once it has begun.
    """

    def __init__(self, key: JobKey, function: Callable[..., Any], expected: float, exclusive: bool = False):
        self.key, self.function, self.expected = key, function, expected
        self.queue: QueueName = _choose_queue(expected, exclusive)
        self.began: float | None = None
        self.stage, self.share = "queue", 0.0
        self.partial: object = None
        self.over = threading.Event()
        self.result: bytes | None = None
        self.error: Exception | None = None
        self.worker: WorkerProcess | None = None
        self.waiting: dict[Tab, float] = {}
        self.payers: frozenset[str] = frozenset()

    def note_progress(self, stage: str, share: float, partial: object = None) -> None:
        """Note the stage, the share of the work that is done, and what there is of the result."""
        self.stage, self.share = stage, share
        if partial is not None:
            self.partial = partial

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped before it came to an end."""
        return self.over.is_set() and self.result is None and self.error is None

    @property
    def seconds(self) -> float:
        """Seconds since a worker took it."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    @property
    def clients(self) -> frozenset[str]:
        """The clients whose tabs wait for it."""
        return frozenset(tab.client for tab in tuple(self.waiting))


def _choose_queue(expected: float, exclusive: bool) -> QueueName:
    if exclusive:
        return "exclusive"
    if not expected:
        return "unknown"
    return "short" if expected <= SHORT else "long"
