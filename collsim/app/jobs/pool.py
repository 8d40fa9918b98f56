"""Work that takes longer than a glance: done in a process of its own, which is killed when nobody waits for it any
more.

A process and not a thread, because a process can be stopped wherever it is, leaves no memory behind, and lets a class
of thirty go on clicking while it computes. Nothing here knows Streamlit, but for `tab_is_open` and `client_of_tab`.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from ..server import register_shutdown
from ..server.access_control import CLIENT_HEADER
from ..server.session_client import UNKNOWN
from ..server.usage import ClientUsage
from .worker import prepare, remove

#: Results of all sessions together and what they were made from, in bytes as pickled; the least recently used goes
#: first.
MOST_KEPT = 96 * 2**20
#: So many computations at a time in each row; the others wait.
WORKERS = min(2, os.cpu_count() or 1)
#: Seconds up to which a computation stands in a row of its own, so that a glance never waits for a film.
SHORT = 4.0
#: The rows: those that take a moment, all others, and those of which nobody can say what they take: a stranger's code,
#: which often never ends. For the last there is one process, whatever the number of the others; so for what measures
#: this computer, which nothing of its kind may disturb.
ROWS = ("short", "long", "unknown", "alone")
ONE_AT_A_TIME = ("unknown", "alone")
#: Seconds of work, those of the last minute counting most, beyond which a client has used much: of the workers of a row
#: those who have hold half at most, so that a glance of anybody else finds one free.
MUCH = 10.0
#: Seconds that a computation counts while nobody knows yet what it takes.
FIRST_ESTIMATE = 1.0
#: Computations of one client that stand in the rows or are under way, and of all clients.
MOST_EACH, MOST_JOBS = 6, 60
#: Seconds after which somebody who has not asked again is taken to have gone: a closed tab.
PATIENCE = 15.0
#: The same where the tab is known to be open: a browser lets one that is hidden look once a minute.
HIDDEN = 75.0

Key = tuple[str, tuple[Hashable, ...]]

_ROOT = str(Path(__file__).resolve().parents[3])
_START = f"import sys; sys.path.insert(0, {_ROOT!r}); from collsim.app.jobs.worker import main; main(*sys.argv[1:])"


def key_of(function: Callable[..., Any], arguments: tuple[Hashable, ...]) -> Key:
    """What names a computation: the function, and what it is given."""
    return f"{function.__module__}.{function.__qualname__}", arguments


class Kept:
    """Results as pickles, for all sessions, never more than so many bytes of them and of their arguments: a file may be
    among those."""

    def __init__(self, most: int = MOST_KEPT):
        self._lock = threading.Lock()
        self._found: LRUCache[Key, tuple[bytes, int]] = LRUCache(most, getsizeof=itemgetter(1))

    def get(self, key: Key) -> bytes | None:
        with self._lock:
            return self._found.get(key, (None, 0))[0]

    def put(self, key: Key, result: bytes) -> None:
        """Keep a result; one that is larger than all the room there is stays with whoever asked for it."""
        size = len(result) + len(pickle.dumps(key))
        with self._lock:
            if size <= self._found.maxsize:
                self._found[key] = result, size

    @property
    def nbytes(self) -> int:
        with self._lock:
            return int(self._found.currsize)


class Computation:
    """One computation under way.

    Attributes:
        row: the one that it stands in, of `ROWS`. expected: seconds that it should take; 0 where nobody can know.
        began: when a worker took it up (`time.monotonic`), or None while it waits in the row.
        stage: `queue`, `start`, `compile` or `run`; share: how much of it is done, 0 to 1.
        over: set at the end; then `result` is its pickle, or `error` says why there is none; neither, where it was
        stopped.
        waiting: who waits for it, and when each was last seen. clients: those that pay for it, once it has begun.
    """

    def __init__(self, key: Key, function: Callable[..., Any], expected: float, pace: float, alone: bool = False):
        self.key, self.function, self.expected = key, function, expected * (1.0 if alone else pace)
        self.row = "alone" if alone else "unknown" if not expected else "short" if expected <= SHORT else "long"
        self.began: float | None = None
        self.stage, self.share = "queue", 0.0
        self.over = threading.Event()
        self.result: bytes | None = None
        self.error: Exception | None = None
        self.worker: Worker | None = None
        self.waiting: dict[str, float] = {}
        self.clients: frozenset[str] = frozenset()

    @property
    def stopped(self) -> bool:
        return self.over.is_set() and self.result is None and self.error is None

    @property
    def seconds(self) -> float:
        """Seconds since a worker took it up."""
        return 0.0 if self.began is None else time.monotonic() - self.began


class Died(Exception):
    """The process of a computation ended before the computation did: most likely out of memory."""


class TooMany(Exception):
    """This client, or all together, have as many computations under way as there may be."""


class Worker:
    """One process, and the folder for its temporary files, which goes with it."""

    def __init__(self, row: str = "long") -> None:
        self.folder = tempfile.mkdtemp(prefix="collsim-work-")
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, self.folder, row],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": self.folder},
            start_new_session=True,
        )

    @property
    def gone(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        """At once, with the processes that it may have started."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except ProcessLookupError:
            pass
        self.process.wait()
        remove(self.folder)


class Workers:
    """A few processes, and the rows of computations that wait for one. Of those in a row the next is that of the client
    who has used least of late: one who asks for much waits, the others do not."""

    def __init__(
        self,
        count: int = WORKERS,
        patience: float = PATIENCE,
        keep: Kept | None = None,
        here: Callable[[str], bool] = lambda who: False,
        client: Callable[[str], str] = lambda who: "",
    ):
        self.patience, self.kept, self.here, self.client = patience, keep or Kept(), here, client
        self.pace = 1.0  # what computations took here over what was expected, lately
        self._lock = threading.Lock()
        self._starts = threading.Lock()  # held while a process is started; taken before `_lock` where both are
        self._jobs: dict[Key, Computation] = {}
        self._arrived = threading.Condition(self._lock)
        self._rows: dict[str, list[Computation]] = {row: [] for row in ROWS}
        self._at_work: dict[str, list[Computation]] = {row: [] for row in ROWS}
        self._count = count
        self._use = ClientUsage()
        self._staff: set[Worker] = set()
        self._closed = False
        for row in ROWS:
            for _ in range(min(count, 1) if row in ONE_AT_A_TIME else count):
                threading.Thread(target=self._serve, args=(row,), daemon=True, name="collsim-worker").start()
        threading.Thread(target=self._watch, daemon=True, name="collsim-watch").start()
        atexit.register(self.close)

    def ask(
        self,
        who: str,
        function: Callable[..., Any],
        arguments: tuple[Hashable, ...],
        expected: float,
        alone: bool = False,
    ) -> Computation:
        """Start a computation, or join the one that somebody else waits for already. `who` must call `seen` now and
        then.

        `expected` are seconds, 0 where nobody can know; then nothing is learnt from what it took. `alone`: it measures
        this computer, so there is never a second one at the same time. Raises TooMany.
        """
        key = key_of(function, arguments)
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = Computation(key, function, expected, self.pace, alone)
                job.result = self.kept.get(key)  # it may have come while the caller made an estimate
                if job.result is not None:
                    job.over.set()
                    return job
                self._admit(who)
                self._jobs[key] = job
                self._rows[job.row].append(job)
                self._arrived.notify_all()
            job.waiting[who] = time.monotonic()
        return job

    def _admit(self, who: str) -> None:
        """With the lock held: may `who` start one more? Whoever sits at this computer, the client "", always may."""
        client = self.client(who)
        mine = sum(any(self.client(one) == client for one in job.waiting) for job in self._jobs.values())
        if client and (mine >= MOST_EACH or len(self._jobs) >= MOST_JOBS):
            raise TooMany

    def join(self, who: str, key: Key) -> Computation | None:
        """Wait for a computation that somebody else waits for already; None where nobody does."""
        with self._lock:
            if (job := self._jobs.get(key)) is not None:
                job.waiting[who] = time.monotonic()
        return job

    def seen(self, who: str, job: Computation) -> None:
        """`who` still waits, or waits again after having been forgotten while others went on waiting."""
        with self._lock:
            if not job.over.is_set():
                job.waiting[who] = time.monotonic()

    def leave(self, who: str, job: Computation) -> None:
        """`who` waits no more; when nobody does, the computation is stopped, wherever it is."""
        with self._lock:
            job.waiting.pop(who, None)
            if not job.waiting:
                self._stop(job)

    def before(self, job: Computation) -> int:
        """How many computations are under way or stand before this one in its row, as things are now."""
        with self._lock:
            if job not in self._rows[job.row]:
                return 0
            under_way = sum(one.row == job.row and one.began is not None for one in self._jobs.values())
            return under_way + self._in_turn(job.row).index(job)

    def _in_turn(self, row: str) -> list[Computation]:
        """With the lock held: those that wait in a row, the next one first."""
        return self._use.sort_jobs(self._rows[row], self._clients)

    def _clients(self, job: Computation) -> frozenset[str]:
        return frozenset(self.client(who) for who in tuple(job.waiting))

    def close(self) -> None:
        """Stop all that is under way, for good."""
        with self._lock:
            self._closed = True
            for job in list(self._jobs.values()):
                self._stop(job)
        with self._starts, self._lock:  # one that is being started is waited for; after it there is no other
            for worker in list(self._staff):
                worker.kill()

    def _stop(self, job: Computation) -> None:
        """With the lock held."""
        if not job.over.is_set():
            job.over.set()
            self._jobs.pop(job.key, None)
            if job in self._rows[job.row]:
                self._rows[job.row].remove(job)
            if job.worker is not None:
                job.worker.kill()

    def _watch(self) -> None:
        while True:
            time.sleep(1.0)
            self.forget()

    def forget(self) -> None:
        """Forget those who have not been seen for long."""
        with self._lock:
            now = time.monotonic()
            for job in list(self._jobs.values()):
                job.waiting = {who: at for who, at in job.waiting.items() if self._waits(who, now - at)}
                if not job.waiting:
                    self._stop(job)

    def _waits(self, who: str, unseen: float) -> bool:
        """Is somebody who was not seen for so many seconds still taken to wait?"""
        return unseen <= self.patience or (unseen <= HIDDEN and self.here(who))

    def _serve(self, row: str) -> None:
        """One worker's life: take the next computation, see it through; a process that was killed is replaced at
        once."""
        worker: Worker | None = None
        while True:
            with self._arrived:
                self._arrived.wait_for(lambda: self._next(row) is not None)
            if (worker is None or worker.gone) and (worker := self._started(worker, row)) is None:
                return
            with self._lock:
                job = self._taken(row, worker)
            if job is None:
                continue
            self._see_through(job, worker.process)
            with self._lock:
                self._use.add(job.clients, job.seconds - FIRST_ESTIMATE)
                self._at_work[row].remove(job)
                self._arrived.notify_all()
            if (worker.gone or job.stopped) and (worker := self._started(worker, row)) is None:
                return

    def _taken(self, row: str, worker: Worker) -> Computation | None:
        """With the lock held: the next computation of a row, which begins now; None where another worker was faster."""
        job = self._next(row)
        if job is None:
            return None
        self._rows[row].remove(job)
        self._at_work[row].append(job)
        job.worker, job.began, job.stage, job.clients = worker, time.monotonic(), "start", self._clients(job)
        self._use.add(job.clients, FIRST_ESTIMATE)
        return job

    def _next(self, row: str) -> Computation | None:
        """With the lock held: the computation of a row that may begin now, if there is one."""
        much = sum(map(self._of_much, self._at_work[row]))
        may = much < max(1, self._count // 2)
        return next((job for job in self._in_turn(row) if may or not self._of_much(job)), None)

    def _of_much(self, job: Computation) -> bool:
        """Whether all that wait for it have used much."""
        return all(self._use.is_heavy(client, MUCH) for client in job.clients or self._clients(job))

    def _started(self, old: Worker | None, row: str) -> Worker | None:
        """A new process in place of the old one; None once all is closed, as nobody would stop it."""
        if old is not None:
            old.kill()
            with self._lock:
                self._staff.discard(old)
        with self._starts:
            if self._closed:
                return None
            worker = Worker(row)
            with self._lock:
                self._staff.add(worker)
        return worker

    def _see_through(self, job: Computation, process: subprocess.Popen[bytes]) -> None:
        """Hand the job over, and follow it to its end."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((job.function, job.key[1]), process.stdin)
            process.stdin.flush()
            while True:
                what, *said = pickle.load(process.stdout)
                if what != "at":
                    break
                job.stage, job.share = said
        except (EOFError, OSError, pickle.UnpicklingError):
            what, said = "died", [None]
        with self._lock:
            if job.over.is_set():
                return
            if what == "done":
                job.result = said[0]
                self.kept.put(job.key, said[0])
                if job.expected and job.row != "alone":
                    self.pace = min(10.0, max(0.2, self.pace * (0.7 + 0.3 * job.seconds / max(job.expected, 0.1))))
            else:
                job.error = said[0] if what == "refused" else Died() if what == "died" else RuntimeError(said[0])
            job.worker = None
            self._jobs.pop(job.key, None)
            job.over.set()


def tab_is_open(who: str) -> bool:
    """Is the browser of a Streamlit session still connected?"""
    from streamlit import runtime

    return runtime.exists() and runtime.get_instance().is_active_session(who)


def client_of_tab(who: str) -> str:
    """The client of a Streamlit session; empty for this computer."""
    from streamlit import runtime

    if not runtime.exists() or who == _SERVER:
        return ""
    tab = runtime.get_instance().get_client(who)
    context = None if tab is None else tab.client_context
    return UNKNOWN if context is None else dict(context.headers).get(CLIENT_HEADER, UNKNOWN)


#: What asks for work that no page asks for.
_SERVER = "the server"


_MAKES = threading.Lock()


def workers() -> Workers:
    """The workers of this server; who asks is the id of a session."""
    with _MAKES:  # the first pages of a class open at the same moment
        return _workers()


@cache
def _workers() -> Workers:
    staff = Workers(here=tab_is_open, client=client_of_tab)
    register_shutdown(staff.close)
    return staff


class Engine:
    """Is the event engine compiled, so that a run takes what it takes? At the start a worker sees to it, while the
    first page is read."""

    SECONDS = 10.0  # to compile it (docs/performance.md); to load what was compiled, 0.6

    def __init__(self) -> None:
        self._asked = threading.Lock()
        self.ready = threading.Event()

    def prepare(self) -> None:
        """Compile it in a worker, so that this process only has to load it; then load it. Returns when it is ready."""
        with self._asked:
            if self.ready.is_set():
                return
            job = workers().ask(_SERVER, prepare, (), self.SECONDS)
            while not job.over.wait(1.0):
                workers().seen(_SERVER, job)
            self.load()

    def load(self) -> None:
        """Load it here, or compile it where that was not done before."""
        prepare()
        # Streamlit collects garbage after every rerun. What is loaded by now stays to the end: looking through all of
        # it each time took a third of a second, under the lock that all pages share.
        gc.collect()
        gc.freeze()
        self.ready.set()


ENGINE = Engine()
