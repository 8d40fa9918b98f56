"""What programs import besides: threads with queues and `asyncio` in one process, and harmless parts of the library.

A thread is one more rank of the engine: `put` and `get` of a queue, `join` and `await` are where it waits.
"""

from __future__ import annotations

import asyncio
import copy
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from .calls import Coroutine, wait_for
from .engine import Blocking, Engine, Rank
from .stand_ins.standard_library import list_library_words
from .stand_ins.tensors import KnownModule
from .stand_ins.threads import (
    Connection,
    CoroutineQueue,
    Lock,
    ProcessQueue,
    Queue,
    ReentrantLock,
    Semaphore,
    ThreadBarrier,
    ThreadCondition,
    ThreadEvent,
    post_call,
)

_LONGEST_SLEEP = 1e6  # s


class Thread:
    """A thread: a rank of the engine that runs when it is its turn. Programs also make classes of it.

    Attributes:
        engine: the ranks of the run.
        start_task: makes a rank of a function with its arguments.
    """

    engine: Engine
    start_task: Callable[..., Rank]

    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str | None = None,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        """A thread that has not started.

        Args:
            group: None.
            target: What it runs; None for a class that defines `run`.
            name: Its name.
            args: Arguments of `target`.
            kwargs: Its keyword arguments.
            daemon: Whether it ends with the program; None for no.
        """
        if group is not None:
            raise ValueError("group argument must be None for now")
        self._target, self._args, self._kwargs = target, tuple(args), dict(kwargs or {})
        self._rank: Rank | None = None
        self.name, self.daemon = name or type(self).__name__, bool(daemon)

    def run(self) -> Any:
        """What it runs: its target."""
        if self._target is not None:
            return self._target(*self._args, **self._kwargs)
        return None

    def start(self) -> None:
        """Begin."""
        if self._rank is not None:
            raise RuntimeError("threads can only be started once")
        if type(self).run is Thread.run and self._target is not None:
            self._rank = self.start_task(self._target, self._args, self._kwargs)
        else:
            self._rank = self.start_task(self.run, (), {})
        self._rank.is_daemon = self.daemon

    def join(self, timeout: float | None = None) -> Blocking:
        """Wait until it has ended.

        Args:
            timeout: Seconds after which the wait ends where nothing else can happen.
        """
        if self._rank is None:
            raise RuntimeError("cannot join thread before it is started")
        if timeout is None:
            yield from wait_for(self._rank.end)
        elif not self._rank.has_ended:
            post = post_call(self.engine, "join", timeout)
            post.peers, post.is_any, post.alternatives = (self._rank.number,), True, (self._rank.end,)
            yield from wait_for(post)

    def is_alive(self) -> Blocking:
        """Whether it runs; asking lets others run."""
        yield None
        return self._rank is not None and not self._rank.has_ended

    @property
    def exitcode(self) -> int | None:
        """Of a process that has ended: 1 after an exception, else 0."""
        if self._rank is None or not self._rank.has_ended:
            return None
        return int(self._rank.error is not None)


class Process(Thread):
    """A process: a thread with copies of its arguments."""

    def start(self) -> None:
        """Begin."""
        self._args, self._kwargs = copy.deepcopy(self._args), copy.deepcopy(self._kwargs)
        super().start()


class CoroutineTask(Coroutine):
    """A coroutine that runs: awaiting it gives its result, also several times.

    Args:
        rank: what runs it.
    """

    def __init__(self, rank: Rank) -> None:
        self._rank = rank

    @property
    def task(self) -> Blocking:  # type: ignore[override]
        """What waits for its end."""
        yield from wait_for(self._rank.end)
        return self.result()

    def result(self) -> object:
        """Its result.

        Raises:
            Exception: What ended it, which is its own no longer.
        """
        if not self._rank.has_ended:
            raise asyncio.InvalidStateError("Result is not set.")
        if self._rank.error is not None:
            error, self._rank.error = self._rank.error, None
            raise error
        return self._rank.result

    def done(self) -> Blocking:
        """Whether it has ended; asking lets others run."""
        yield None
        return self._rank.has_ended


def build_process_modules(
    engine: Engine,
    start_task: Callable[..., Rank],
    rank: int,
    write: Callable[[str], object],
    launchers: Mapping[str, object] | None,
) -> dict[str, ModuleType]:
    """The modules of the standard library that programs may import, as far as they are harmless.

    Args:
        engine: the ranks of the run.
        start_task: makes a rank of a function with its arguments.
        rank: this rank.
        write: takes what it writes to `sys.stdout`.
        launchers: the words of `multiprocessing` for a program whose ranks run already; None: its processes are ranks.

    Returns:
        Modules by name.
    """

    def sleep(seconds: float, /) -> Blocking:
        """Let others run, and so much time pass."""
        engine.sleep(_read_duration(seconds))
        yield None

    def make_queue(maxsize: int = 0) -> Queue:
        """A queue of this run."""
        return Queue(engine, maxsize)

    def sleep_between(delay: float, result: object = None) -> Blocking:
        """Let other coroutines run, and so much time pass."""
        yield from sleep(delay)
        return result

    thread = type("Thread", (Thread,), {"engine": engine, "start_task": staticmethod(start_task)})
    clock = dict.fromkeys(("time", "perf_counter", "monotonic", "process_time"), _read_clock)
    coroutine_words = {
        "Queue": lambda maxsize=0: CoroutineQueue(engine, maxsize),
        "QueueEmpty": asyncio.QueueEmpty,
        "QueueFull": asyncio.QueueFull,
        **_list_coroutine_words(start_task),
    }
    modules = list_library_words(rank, engine.size, write) | {
        "queue": {
            "Queue": make_queue,
            "SimpleQueue": lambda: Queue(engine),
            "Empty": queue.Empty,
            "Full": queue.Full,
        },
        "threading": {
            "Thread": thread,
            "BrokenBarrierError": threading.BrokenBarrierError,
            **_list_locks(engine),
        },
        "multiprocessing": launchers or _list_process_words(engine, start_task),
        "asyncio": {**coroutine_words, "sleep": sleep_between},
        "time": {**clock, "time_ns": lambda: 0, "sleep": sleep},
    }
    return {name: _build_module(name, words) for name, words in modules.items()}


def _list_locks(engine: Engine) -> dict[str, Callable[..., object]]:
    """What threads and processes wait for one another with."""
    return {
        "Lock": lambda: Lock(engine),
        "RLock": lambda: ReentrantLock(engine),
        "Semaphore": lambda value=1: Semaphore(engine, value),
        "BoundedSemaphore": lambda value=1: Semaphore(engine, value, limit=value),
        "Barrier": lambda parties, action=None, timeout=None: ThreadBarrier(engine, parties, action, timeout),
        "Event": lambda: ThreadEvent(engine),
        "Condition": lambda lock=None: ThreadCondition(engine, lock),
    }


def _list_coroutine_words(start_task: Callable[..., Rank]) -> dict[str, object]:
    """What `asyncio` has for coroutines."""

    def create_task(coro: Coroutine, *, name: str | None = None, context: None = None) -> CoroutineTask:
        """Begin a coroutine; awaiting the task gives its result."""
        if isinstance(coro, CoroutineTask):
            return coro
        return CoroutineTask(start_task(lambda: coro, (), {}))

    def gather(*coros_or_futures: Coroutine, return_exceptions: bool = False) -> Blocking:
        """Run several coroutines; returns their results, and their exceptions where these are wanted."""
        tasks = [create_task(part) for part in coros_or_futures]
        results: list[object] = []
        for task in tasks:
            try:
                results.append((yield from task.task))
            except Exception as error:
                if not return_exceptions:
                    raise
                results.append(error)
        return results

    def run(main: Coroutine, *, debug: bool | None = None, loop_factory: None = None) -> Blocking:
        """Run a coroutine to its end."""
        if not isinstance(main, Coroutine):
            raise ValueError(f"a coroutine was expected, got {main!r}")
        return (yield from main.task)

    return {"gather": gather, "run": run, "create_task": create_task}


def _list_process_words(engine: Engine, start_task: Callable[..., Rank]) -> dict[str, object]:
    """What `multiprocessing` has where its processes are the ranks."""

    def make_pipe(duplex: bool = True) -> tuple[Connection, Connection]:
        """The two ends of a pipe."""
        there, back = Queue(engine), Queue(engine)
        # Of a pipe of one direction the first end receives and the second one sends.
        return Connection(engine, back, there, writable=duplex), Connection(engine, there, back, readable=duplex)

    def make_queue(maxsize: int = 0) -> ProcessQueue:
        """A queue between processes of this run."""
        return ProcessQueue(engine, maxsize)

    return {
        "Process": type("Process", (Process,), {"engine": engine, "start_task": staticmethod(start_task)}),
        **dict.fromkeys(("Queue", "SimpleQueue", "JoinableQueue"), make_queue),
        "Pipe": make_pipe,
        **_list_locks(engine),
        "cpu_count": lambda: engine.size,
        "set_start_method": lambda method, force=False: None,
        "freeze_support": lambda: None,
    }


def _build_module(name: str, words: Mapping[str, object]) -> ModuleType:
    module = KnownModule(name)
    vars(module).update(words)
    return module


def _read_duration(seconds: float) -> float:
    """Seconds to sleep, refused as Python refuses them."""
    duration = float(seconds)
    if not 0 <= duration <= _LONGEST_SLEEP:
        raise ValueError(f"sleep({seconds!r}): seconds from 0 to {_LONGEST_SLEEP:g} are expected")
    return duration


def _read_clock() -> float:
    """Time does not pass: programs compute at once."""
    return 0.0
