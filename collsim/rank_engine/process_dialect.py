"""What programs import besides: threads with queues and `asyncio` in one process, and harmless parts of the library.

A thread is one more rank of the engine: `put` and `get` of a queue, `join` and `await` are where it waits.
A wait with a timeout ends without what it waits for only where no rank can go on otherwise: computing takes no time.
"""

from __future__ import annotations

import asyncio
import copy
import queue
import threading
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from .calls import Coroutine, wait_for
from .engine import Blocking, Engine, PostedCall, Rank, SharedUse
from .stand_ins.objects import copy_object
from .stand_ins.standard_library import list_library_words
from .stand_ins.tensors import KnownModule

_LONGEST_SLEEP = 1e6  # s
#: Bytes that a pipe of Linux holds: a send of more waits until it is received (measured with multiprocessing.Pipe).
_PIPE_LIMIT = 65_536


class SharedObject:
    """What several threads use: who waits for it waits for those who will use it, as far as these are known.

    Args:
        engine: whose threads they are.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self.number = engine, engine.number_shared_object()

    def __deepcopy__(self, memo: object) -> SharedObject:
        return self  # a process gets a copy of its arguments, and what it shares with others

    def _note(self, action: str) -> None:
        self._engine.note_use(SharedUse(self.number, action))

    def _post(self, call: str, needs: str, timeout: float | None = None) -> PostedCall:
        """A wait of the thread that runs, for another one's use of this object, with its end in seconds."""
        post = post_call(self._engine, call, timeout)
        post.needs, post.is_any = SharedUse(self.number, needs), True
        return post


class Queue(SharedObject):
    """A queue between threads, which take turns as they like: of several that have put something, any may have been
    first.

    Args:
        engine: whose threads they are.
        maxsize: `put` waits while it holds so many; 0: it never waits.
    """

    #: What a call ends in for which there is no item.
    empty_error: type[Exception] = queue.Empty
    #: What a call ends in for which there is no room.
    full_error: type[Exception] = queue.Full

    def __init__(self, engine: Engine, maxsize: int = 0) -> None:
        super().__init__(engine)
        self._maxsize = maxsize
        if engine.mode.eager_limit == float("inf"):  # whatever is sent is buffered
            self._maxsize = 0
        self._items: deque[tuple[int, object]] = deque()  # with the rank that put it
        self._putters: deque[tuple[PostedCall, object]] = deque()
        self._getters: deque[PostedCall] = deque()
        self._unfinished = 0  # items for which nobody has called `task_done`
        self._joiners: list[PostedCall] = []
        engine.queues.append(self)

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> Blocking:
        """Add an item; wait while the queue is full.

        Args:
            item: Not copied: ranks of the engine share one memory.
            block: Whether to wait.
            timeout: Seconds after which a wait ends where nothing else can happen.

        Raises:
            Full: There was no room in time.
        """
        self._note("put")
        if not block and self.is_full():
            yield None
        self._unfinished += 1
        if not self.is_full():
            rank = self._engine.current
            assert rank is not None
            self._engine.count_call()
            self._items.append((rank.number, item))
            return
        post = self._post("put", "get", _read_timeout(block, timeout))
        waiting = (post, item)
        self._putters.append(waiting)
        yield from wait_for(post)
        if post.has_expired:
            self._putters.remove(waiting)
            self._unfinished -= 1
            raise self.full_error

    def get(self, block: bool = True, timeout: float | None = None) -> Blocking:
        """Take an item; wait while there is none.

        Args:
            block: Whether to wait.
            timeout: Seconds after which a wait ends where nothing else can happen.

        Raises:
            Empty: There was none in time.
        """
        self._note("get")
        if not block:
            yield None
            if not self._items:
                raise self.empty_error
        post = self._post("get", "put", _read_timeout(block, timeout))
        self._getters.append(post)
        result = yield from wait_for(post)
        if post.has_expired:
            self._getters.remove(post)
            raise self.empty_error
        return result[0]

    def wait_for_item(self, timeout: float | None) -> Blocking:
        """Wait until there is an item, and leave it there.

        Args:
            timeout: Seconds, as in `get`.
        """
        try:
            item = yield from self.get(timeout=timeout)
        except queue.Empty:
            return
        rank = self._engine.current
        assert rank is not None
        self._items.appendleft((rank.number, item))

    def serve(self) -> bool:
        """Give the first item of one of those that have put some to the one that has waited longest.

        Returns:
            Whether there was one to give.
        """
        # Some went on without an item (`RunMode.looks_ahead`), or without having put theirs.
        while self._getters and self._getters[0].is_complete:
            self._getters.popleft()
        if not self._getters or not self._items:
            return False
        source = self._choose_source(sorted({rank for rank, _ in self._items}))
        position = next(k for k, (rank, _) in enumerate(self._items) if rank == source)
        _, item = self._items[position]
        del self._items[position]
        if self._putters:
            post, waiting = self._putters.popleft()
            self._items.append((post.rank, waiting))
            self._engine.complete(post)
        self._engine.complete(self._getters.popleft(), (item,))
        return True

    def _choose_source(self, ranks: list[int]) -> int:
        return self._engine.choose(ranks)

    def put_nowait(self, item: object) -> Blocking:
        """Add an item, where there is room."""
        return self.put(item, block=False)

    def get_nowait(self) -> Blocking:
        """Take an item, where there is one."""
        return self.get(block=False)

    def is_full(self) -> bool:
        """Whether there is no room."""
        return 0 < self._maxsize <= len(self._items)

    def qsize(self) -> Blocking:
        """The number of items; asking lets others run."""
        yield None
        return len(self._items)

    def empty(self) -> Blocking:
        """Whether it holds nothing; asking lets others run."""
        return not (yield from self.qsize())

    def full(self) -> Blocking:
        """Whether there is no room; asking lets others run."""
        yield None
        return self.is_full()

    def task_done(self) -> None:
        """Count an item as done that was taken."""
        if not self._unfinished:
            raise ValueError("task_done() called too many times")
        self._note("task_done")
        self._unfinished -= 1
        if not self._unfinished:
            for post in self._joiners:
                self._engine.complete(post)
            self._joiners.clear()

    def join(self) -> Blocking:
        """Wait until all items that were put are done."""
        if self._unfinished:
            post = self._post("join", "task_done")
            self._joiners.append(post)
            yield from wait_for(post)

    def close(self) -> None:
        """Nothing is held."""

    join_thread = cancel_join_thread = close


class CoroutineQueue(Queue):
    """A queue between coroutines, which run in a fixed order: what was put first is taken first."""

    empty_error, full_error = asyncio.QueueEmpty, asyncio.QueueFull

    def _choose_source(self, ranks: list[int]) -> int:
        return self._items[0][0]


def post_call(engine: Engine, call: str, timeout: float | None = None) -> PostedCall:
    """A wait of the rank that runs, not complete yet.

    Args:
        engine: Whose rank it is.
        call: The word of the library.
        timeout: Seconds after which it ends without what it waits for; None: never.
    """
    rank = engine.current
    assert rank is not None
    engine.count_call()
    post = PostedCall(rank.number, call, engine.line_of_call())
    if timeout is not None:
        post.deadline = engine.time + max(0.0, float(timeout))
    return post


class ProcessQueue(Queue):
    """A queue between processes: what is put is copied."""

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> Blocking:
        """Add a copy of an item, which can be pickled; wait while the queue is full."""
        yield from super().put(copy_object(item)[0], block, timeout)


class Connection:
    """One end of a `multiprocessing.Pipe`.

    Args:
        engine: whose processes they are.
        incoming: what the other end sent.
        outgoing: what this end sent; an item is what was sent, and the wait of its sender.
        readable: whether this end receives.
        writable: whether it sends.
    """

    def __init__(
        self, engine: Engine, incoming: Queue, outgoing: Queue, readable: bool = True, writable: bool = True
    ) -> None:
        self._engine, self._incoming, self._outgoing = engine, incoming, outgoing
        self.readable, self.writable = readable, writable

    def __deepcopy__(self, memo: object) -> Connection:
        return self

    def send(self, obj: object) -> Blocking:
        """Send an object; more than a pipe holds waits until it is received.

        Args:
            obj: Anything that can be pickled.
        """
        if not self.writable:
            raise OSError("connection is read-only")
        item, nbytes = copy_object(obj)
        post = post_call(self._engine, "send")
        post.needs, post.is_any = SharedUse(self._outgoing.number, "get"), True
        yield from self._outgoing.put((item, post))
        if nbytes > max(_PIPE_LIMIT, self._engine.mode.eager_limit):
            yield from wait_for(post)

    def recv(self) -> Blocking:
        """Take the first object that the other end sent; wait while there is none."""
        if not self.readable:
            raise OSError("connection is write-only")
        item, post = yield from self._incoming.get()
        if not post.is_complete:
            self._engine.complete(post)
        return item

    def poll(self, timeout: float | None = 0.0) -> Blocking:
        """Whether there is something to receive; asking lets others run.

        Args:
            timeout: Seconds to wait for it where nothing else can happen; None: until there is.
        """
        if timeout != 0 and (yield from self._incoming.empty()):
            yield from self._incoming.wait_for_item(timeout)
        return not (yield from self._incoming.empty())

    def close(self) -> None:
        """Nothing is held."""


class Semaphore(SharedObject):
    """A semaphore of threads; with one slot it is a lock.

    Args:
        engine: whose threads they are.
        value: how many may hold it.
        limit: how many slots it has, so that more cannot be given back; None for any number.
    """

    #: What ends a `release` of more slots than there are.
    release_error: Exception = ValueError("Semaphore released too many times")

    def __init__(self, engine: Engine, value: int = 1, limit: int | None = None) -> None:
        super().__init__(engine)
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        self._free, self._limit = value, limit
        self._waiting: deque[PostedCall] = deque()
        self._holders = engine.holders.setdefault(self.number, [])

    def acquire(self, blocking: bool = True, timeout: float | None = -1) -> Blocking:
        """Take a slot; wait while there is none.

        Args:
            blocking: Whether to wait.
            timeout: Seconds after which a wait ends where nothing else can happen; -1 or None: never.

        Returns:
            Whether it was taken.
        """
        if not blocking and timeout not in (None, -1):
            raise ValueError("can't specify a timeout for a non-blocking call")
        post = self._post("acquire", "release", None if timeout == -1 else timeout)
        if self._free > 0:
            self._free -= 1
        elif blocking:
            self._waiting.append(post)
            yield from wait_for(post)
            if post.has_expired:
                self._waiting.remove(post)
                return False
        else:
            yield None
            return False
        self._holders.append(post.rank)
        return True

    def release(self, n: int = 1) -> None:
        """Give slots back, to the ones that have waited longest.

        Args:
            n: How many.

        Raises:
            Exception: More than were taken, of a lock or of a bounded semaphore.
        """
        if self._engine.step < 0:  # the run is over, and ranks that wait are let go
            return
        if self._limit is not None and self._free + n > self._limit:
            raise self.release_error
        self._note("release")
        current = self._engine.current
        for _ in range(n):
            if current is not None and current.number in self._holders:
                self._holders.remove(current.number)
            elif self._holders:  # another thread gives back what its holder took
                self._holders.pop(0)
            if self._waiting:
                self._engine.complete(self._waiting.popleft())
            else:
                self._free += 1

    def locked(self) -> bool:
        """Whether there is no slot left."""
        return self._free <= 0

    def is_held(self) -> bool:
        """Whether the thread that runs holds a slot."""
        return self._engine.current is not None and self._engine.current.number in self._holders

    def __enter__(self) -> Blocking:
        return (yield from self.acquire())

    def __exit__(self, *_: object) -> None:
        self.release()


class Lock(Semaphore):
    """A lock of threads.

    Args:
        engine: whose threads they are.
    """

    release_error = RuntimeError("release unlocked lock")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, limit=1)


class ReentrantLock(Semaphore):
    """A lock that its holder may take again.

    Args:
        engine: whose threads they are.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._holder: Rank | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float | None = -1) -> Blocking:
        """Take the lock; wait while another thread holds it.

        Args:
            blocking: Whether to wait.
            timeout: As of a lock.

        Returns:
            Whether it was taken.
        """
        current = self._engine.current
        if self._holder is not current or self._holder is None:
            is_taken = yield from super().acquire(blocking, timeout)
            if not is_taken:
                return False
            self._holder = current
        self._depth += 1
        return True

    def release(self, n: int = 1) -> None:
        """Give it back; the last of several times lets others take it.

        Args:
            n: How many times.

        Raises:
            RuntimeError: This thread does not hold it.
        """
        if self._engine.step < 0:  # the run is over, as above
            return
        if self._holder is None or self._holder is not self._engine.current:
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= n
        if not self._depth:
            self._holder = None
            super().release()


class ThreadCondition(SharedObject):
    """A condition of threads: who holds its lock waits for another's `notify`, and gives the lock back meanwhile.

    Args:
        engine: whose threads they are.
        lock: that of the condition; one of its own unless given.
    """

    def __init__(self, engine: Engine, lock: Semaphore | None = None) -> None:
        super().__init__(engine)
        self._lock = lock or ReentrantLock(engine)
        self.acquire, self.release = self._lock.acquire, self._lock.release
        self._waiting: deque[PostedCall] = deque()

    def wait(self, timeout: float | None = None) -> Blocking:
        """Wait until another thread notifies this one.

        Args:
            timeout: Seconds after which the wait ends where nothing else can happen.

        Returns:
            Whether it was notified.
        """
        self._require_lock("wait on")
        post = self._post("wait", "notify", timeout)
        self._waiting.append(post)
        depth = 0
        while self._lock.is_held():  # a lock that its holder took several times
            self._lock.release()
            depth += 1
        yield from wait_for(post)
        if post.has_expired:
            self._waiting.remove(post)
        for _ in range(depth):
            yield from self._lock.acquire()
        return not post.has_expired

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> Blocking:
        """Wait until something holds, which is asked after each `notify`.

        Args:
            predicate: Says whether it does.
            timeout: Seconds, as in `wait`.

        Returns:
            What it said last.
        """
        is_notified = True
        while True:
            is_true = predicate()
            if isinstance(is_true, types.GeneratorType):  # a function of the program
                is_true = yield from is_true
            if is_true or not is_notified:
                return is_true
            is_notified = yield from self.wait(timeout)

    def notify(self, n: int = 1) -> None:
        """Wake those that have waited longest.

        Args:
            n: How many.
        """
        self._require_lock("notify on")
        self._note("notify")
        for _ in range(min(n, len(self._waiting))):
            self._engine.complete(self._waiting.popleft())

    def notify_all(self) -> None:
        """Wake all that wait."""
        self.notify(len(self._waiting))

    def _require_lock(self, action: str) -> None:
        if not self._lock.is_held():
            raise RuntimeError(f"cannot {action} un-acquired lock")

    def __enter__(self) -> Blocking:
        return (yield from self._lock.acquire())

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class ThreadBarrier(SharedObject):
    """A barrier of threads.

    Args:
        engine: whose threads they are.
        parties: how many have to come.
        action: what the last one calls before all go on.
        timeout: of `wait`, where that has none.
    """

    def __init__(
        self,
        engine: Engine,
        parties: int,
        action: Callable[[], object] | None = None,
        timeout: float | None = None,
    ) -> None:
        super().__init__(engine)
        self.parties, self.broken = parties, False
        self._action, self._timeout = action, timeout
        self._waiting: list[PostedCall] = []

    def wait(self, timeout: float | None = None) -> Blocking:
        """Wait until all have come.

        Args:
            timeout: Seconds after which the wait ends where nothing else can happen.

        Returns:
            How many had come before.

        Raises:
            BrokenBarrierError: It, or that of another thread, came to its end.
        """
        self._note("wait")
        if self.broken:
            raise threading.BrokenBarrierError
        number = len(self._waiting)
        if number + 1 == self.parties:
            result = self._action and self._action()
            if isinstance(result, types.GeneratorType):  # a function of the program
                yield from result
            self._release_all()
            return number
        post = self._post("wait", "wait", self._timeout if timeout is None else timeout)
        post.is_any = False  # all who will come have to
        self._waiting.append(post)
        yield from wait_for(post)
        if post.has_expired:
            self.broken = True
            self._release_all()
        if self.broken:
            raise threading.BrokenBarrierError
        return number

    def _release_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for post in waiting:
            self._engine.complete(post)


class ThreadEvent(SharedObject):
    """A flag that threads wait for.

    Args:
        engine: whose threads they are.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._is_set = False
        self._waiting: list[PostedCall] = []

    def set(self) -> None:
        """Let all go on that wait."""
        self._note("set")
        self._is_set = True
        waiting, self._waiting = self._waiting, []
        for post in waiting:
            self._engine.complete(post)

    def clear(self) -> None:
        """Let those wait that come from now on."""
        self._is_set = False

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def wait(self, timeout: float | None = None) -> Blocking:
        """Wait until it is set.

        Args:
            timeout: Seconds after which the wait ends where nothing else can happen.

        Returns:
            Whether it is set.
        """
        if not self._is_set:
            post = self._post("wait", "set", timeout)
            self._waiting.append(post)
            yield from wait_for(post)
            if post.has_expired:
                self._waiting.remove(post)
        return self._is_set


def _read_timeout(block: bool, timeout: float | None) -> float | None:
    """Seconds that `put` or `get` waits; None for any time."""
    if not block:
        return 0.0
    if timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    return timeout


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
