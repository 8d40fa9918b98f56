"""The processes that compute for pages, and the computations that wait for one. A computation is killed when nobody
waits for it any more."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Hashable
from functools import cache
from typing import get_args

from streamlit import runtime

from ..server.client_usage import ClientUsage
from ..server.clients import LOCAL
from ..server.startup import register_shutdown
from .computation import Computation, JobKey, QueueName, Tab, TooManyJobs, WorkerDied, build_job_key
from .result_cache import ResultCache
from .worker import Answer
from .worker_process import WorkerProcess

#: Computations at a time in each queue; the others wait.
WORKERS = min(2, os.cpu_count() or 1)
QUEUES: tuple[QueueName, ...] = get_args(QueueName)
#: Queues with one worker, whatever the number of the others: code of others, which often never ends, and what measures
#: this computer, which nothing of its kind may disturb.
SINGLE_WORKER: tuple[QueueName, ...] = ("unknown", "exclusive")
#: Seconds of work of one client, those of the last minute counting most, beyond which it is heavy: of the workers of a
#: queue heavy clients hold half at most, so that a glance of anybody else finds one free.
BUDGET = 10.0
#: Seconds that a computation counts while nobody knows yet what it takes.
FIRST_ESTIMATE = 1.0
#: Computations of one client that wait or are under way, and of all clients.
MAX_PER_CLIENT, MAX_JOBS = 6, 60
#: Seconds after which a tab that has not looked is taken to be closed.
PATIENCE = 15.0
#: The same where its connection is open: a browser lets a hidden tab look once a minute.
HIDDEN_PATIENCE = 75.0
#: What computations took here over what was expected (`WorkerPool.pace`) stays within these.
_MIN_PACE, _MAX_PACE = 0.2, 10.0


class WorkerPool:
    """A few processes, and the queues of computations that wait for one. Of those in a queue the next is that of the
    client that has used least of late: a client that asks for much waits, the others do not.

    Args:
        count: workers of each queue, but for those with a single one.
        patience: seconds after which a tab that has not looked is taken to be closed.
        cache: stores results.
        is_connected: whether the connection of a tab is open.

    Attributes:
        pace: what computations took here over what was expected, lately.
    """

    def __init__(
        self,
        count: int = WORKERS,
        patience: float = PATIENCE,
        cache: ResultCache | None = None,
        is_connected: Callable[[Tab], bool] = lambda tab: False,
    ):
        self.patience, self.cache, self.is_connected = patience, cache or ResultCache(), is_connected
        self.pace = 1.0
        self._lock = threading.Lock()
        self._start_lock = threading.Lock()  # held while a process starts; taken before `_lock` where both are
        self._jobs: dict[JobKey, Computation] = {}
        self._arrived = threading.Condition(self._lock)
        self._queues: dict[QueueName, list[Computation]] = {queue: [] for queue in QUEUES}
        self._running: dict[QueueName, list[Computation]] = {queue: [] for queue in QUEUES}
        self._count = count
        self._usage = ClientUsage()
        self._workers: set[WorkerProcess] = set()
        self._is_closed = False
        for queue in QUEUES:
            for _ in range(min(count, 1) if queue in SINGLE_WORKER else count):
                threading.Thread(target=self._serve, args=(queue,), daemon=True, name="collsim-worker").start()
        threading.Thread(target=self._watch, daemon=True, name="collsim-watch").start()
        atexit.register(self.close)

    def submit(
        self,
        tab: Tab,
        function: Callable[..., object],
        arguments: tuple[Hashable, ...],
        expected: float,
        exclusive: bool = False,
    ) -> Computation:
        """Start a computation, or join the one that somebody else waits for already.

        Args:
            tab: waits for it, and must call `refresh` now and then.
            function: of a module that knows no Streamlit.
            arguments: of the function.
            expected: seconds that it should take, 0 where nobody can know; then nothing is learnt from what it took.
            exclusive: it measures this computer, so there is never a second one at the same time.

        Raises:
            TooManyJobs: the client of the tab, or all together, have as many under way as there may be.
        """
        key = build_job_key(function, arguments)
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = Computation(key, function, expected * (1.0 if exclusive else self.pace), exclusive)
                job.result = self.cache.get(key)  # it may have come while the caller made an estimate
                if job.result is not None:
                    job.over.set()
                    return job
                self._require_job_limits(tab.client)
                self._jobs[key] = job
                self._queues[job.queue].append(job)
                self._arrived.notify_all()
            job.waiting[tab] = time.monotonic()
        return job

    def wait_for(
        self, tab: Tab, function: Callable[..., object], arguments: tuple[Hashable, ...], expected: float
    ) -> None:
        """Start a computation and return when it is over.

        Args:
            tab: Waits for it.
            function: As in `submit`.
            arguments: As in `submit`.
            expected: As in `submit`.

        Raises:
            TooManyJobs: As in `submit`.
        """
        job = self.submit(tab, function, arguments, expected)
        while not job.over.wait(1.0):
            self.refresh(tab, job)

    def _require_job_limits(self, client: str) -> None:
        """With the lock held: raise TooManyJobs where a client may start no more. Whoever sits at this computer may."""
        count = sum(client in job.clients for job in self._jobs.values())
        if client != LOCAL and (count >= MAX_PER_CLIENT or len(self._jobs) >= MAX_JOBS):
            raise TooManyJobs

    def join(self, tab: Tab, key: JobKey) -> Computation | None:
        """Wait for a computation that somebody else waits for already; None where nobody does.

        Args:
            tab: Of a browser.
            key: Of the computation.
        """
        with self._lock:
            if (job := self._jobs.get(key)) is not None:
                job.waiting[tab] = time.monotonic()
        return job

    def refresh(self, tab: Tab, job: Computation) -> None:
        """A tab still waits, or waits again after having been forgotten while others went on waiting."""
        with self._lock:
            if not job.over.is_set():
                job.waiting[tab] = time.monotonic()

    def leave(self, tab: Tab, job: Computation) -> None:
        """A tab waits no more; when nobody does, the computation is stopped, wherever it is.

        Args:
            tab: One that waits; others are ignored.
            job: Of `submit` or `join`.
        """
        with self._lock:
            job.waiting.pop(tab, None)
            if not job.waiting:
                self._stop(job)

    def count_ahead(self, job: Computation) -> int:
        """Return how many computations of its queue are under way or come before this one, as things are now.

        Args:
            job: Of `submit` or `join`; for one that has begun or ended the answer is 0.
        """
        with self._lock:
            if job not in self._queues[job.queue]:
                return 0
            running = sum(other.queue == job.queue and other.began is not None for other in self._jobs.values())
            return running + self._sort_queue(job.queue).index(job)

    def close(self) -> None:
        """Stop all that is under way, for good."""
        with self._lock:
            self._is_closed = True
            for job in list(self._jobs.values()):
                self._stop(job)
        with self._start_lock, self._lock:  # one that is being started is waited for; after it there is no other
            for worker in list(self._workers):
                worker.kill()

    def drop_absent(self) -> None:
        """Forget tabs that have not looked for long."""
        with self._lock:
            now = time.monotonic()
            for job in list(self._jobs.values()):
                job.waiting = {tab: seen for tab, seen in job.waiting.items() if self._is_waiting(tab, now - seen)}
                if not job.waiting:
                    self._stop(job)

    def _is_waiting(self, tab: Tab, unseen: float) -> bool:
        """Whether a tab that was not seen for so many seconds is still taken to wait."""
        return unseen <= self.patience or (unseen <= HIDDEN_PATIENCE and self.is_connected(tab))

    def _watch(self) -> None:
        while True:
            time.sleep(1.0)
            self.drop_absent()

    def _stop(self, job: Computation) -> None:
        """With the lock held."""
        if not job.over.is_set():
            job.over.set()
            self._jobs.pop(job.key, None)
            if job in self._queues[job.queue]:
                self._queues[job.queue].remove(job)
            if job.worker is not None:
                job.worker.kill()

    # ---- workers

    def _serve(self, queue: QueueName) -> None:
        """Run one worker: take the next computation, see it through, and replace a process that was killed at once."""
        worker: WorkerProcess | None = None
        while True:
            with self._arrived:
                self._arrived.wait_for(lambda: self._choose_next(queue) is not None)
            if (worker is None or worker.has_ended) and (worker := self._replace(worker, queue)) is None:
                return
            with self._lock:
                job = self._take_next(queue, worker)
            if job is None:
                continue
            self._finish(job, worker.compute(job.function, job.key[1], job.note_progress))
            with self._lock:
                self._usage.add(job.payers, job.seconds - FIRST_ESTIMATE)
                self._running[queue].remove(job)
                self._arrived.notify_all()
            if (worker.has_ended or job.is_stopped) and (worker := self._replace(worker, queue)) is None:
                return

    def _take_next(self, queue: QueueName, worker: WorkerProcess) -> Computation | None:
        """With the lock held: begin the next computation of a queue; None where another worker was faster."""
        job = self._choose_next(queue)
        if job is None:
            return None
        self._queues[queue].remove(job)
        self._running[queue].append(job)
        job.worker, job.began, job.stage, job.payers = worker, time.monotonic(), "start", job.clients
        # Counted before it is known what it takes, else a client could start one in every worker at once; `_serve`
        # adds the difference when it has ended.
        self._usage.add(job.payers, FIRST_ESTIMATE)
        return job

    def _choose_next(self, queue: QueueName) -> Computation | None:
        """With the lock held: return the computation of a queue that may begin now, if there is one."""
        heavy = sum(map(self._is_heavy, self._running[queue]))
        # At least one, or a heavy client would never be served where there is a single worker.
        has_room = heavy < max(1, self._count // 2)
        return next((job for job in self._sort_queue(queue) if has_room or not self._is_heavy(job)), None)

    def _sort_queue(self, queue: QueueName) -> list[Computation]:
        """With the lock held: return those that wait in a queue, the next one first."""
        return self._usage.sort_jobs(self._queues[queue], lambda job: job.clients)

    def _is_heavy(self, job: Computation) -> bool:
        """Whether all clients that wait for a computation are heavy."""
        return all(self._usage.is_heavy(client, BUDGET) for client in job.payers or job.clients)

    def _replace(self, old: WorkerProcess | None, queue: QueueName) -> WorkerProcess | None:
        """Start a process in place of the old one; None once all is closed, as nobody would stop it."""
        if old is not None:
            old.kill()
            with self._lock:
                self._workers.discard(old)
        with self._start_lock:
            if self._is_closed:
                return None
            worker = WorkerProcess(queue)
            with self._lock:
                self._workers.add(worker)
        return worker

    def _finish(self, job: Computation, answer: Answer) -> None:
        """Note how a computation ended."""
        kind, value = answer
        with self._lock:
            if job.over.is_set():
                return
            if kind == "done":
                job.result = value
                self.cache.put(job.key, value)
                self._learn_pace(job)
            elif kind == "refused":
                job.error = value
            else:
                job.error = WorkerDied() if kind == "died" else RuntimeError(value)
            job.worker = None
            self._jobs.pop(job.key, None)
            job.over.set()

    def _learn_pace(self, job: Computation) -> None:
        if job.expected and job.queue != "exclusive":
            # `expected` has the pace in it already, so the ratio is 1 where the pace is right. A moving average: one
            # slow run counts three tenths.
            pace = self.pace * (0.7 + 0.3 * job.seconds / max(job.expected, 0.1))
            self.pace = min(_MAX_PACE, max(_MIN_PACE, pace))


_POOL_LOCK = threading.Lock()


def get_worker_pool() -> WorkerPool:
    """Return the workers of this server."""
    with _POOL_LOCK:  # the first pages of a class open at the same moment
        return _create_worker_pool()


@cache
def _create_worker_pool() -> WorkerPool:
    pool = WorkerPool(is_connected=_is_connected)
    register_shutdown(pool.close)
    return pool


def _is_connected(tab: Tab) -> bool:
    """Whether a browser is connected to the Streamlit session of a tab."""
    return runtime.exists() and runtime.get_instance().is_active_session(tab.session)
