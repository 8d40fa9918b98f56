"""What programs import besides: threads with queues and `asyncio` in one process, and harmless parts of the library.

A thread is one more rank of the engine: `put` and `get` of a queue, `join` and `await` are where it waits.
"""

from __future__ import annotations

import copy
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

    def _post(self, call: str, needs: str) -> PostedCall:
        """A wait of the thread that runs, for another one's use of this object."""
        post = _post_call(self._engine, call)
        post.needs, post.is_any = SharedUse(self.number, needs), True
        return post


class Queue(SharedObject):
    """A queue between threads, which take turns as they like: of several that have put something, any may have been
    first.

    Args:
        engine: whose threads they are.
        maxsize: `put` waits while it holds so many; 0: it never waits.
    """

    def __init__(self, engine: Engine, maxsize: int = 0) -> None:
        super().__init__(engine)
        self._maxsize = maxsize
        if engine.mode.eager_limit == float("inf"):  # whatever is sent is buffered
            self._maxsize = 0
        self._items: deque[tuple[int, object]] = deque()  # with the rank that put it
        self._putters: deque[tuple[PostedCall, object]] = deque()
        self._getters: deque[PostedCall] = deque()
        engine.queues.append(self)

    def put(self, item: object, *_: object, **__: object) -> Blocking:
        """Add an item; wait while the queue is full. Arguments such as `block` and `timeout` are ignored.

        Args:
            item: Not copied: ranks of the engine share one memory.
        """
        self._note("put")
        post = self._post("put", needs="get")
        if self._maxsize and len(self._items) >= self._maxsize:
            self._putters.append((post, item))
            yield from wait_for(post)
        else:
            self._items.append((post.rank, item))

    def get(self, *_: object, **__: object) -> Blocking:
        """Take an item; wait while there is none. Arguments such as `block` and `timeout` are ignored."""
        self._note("get")
        post = self._post("get", needs="put")
        self._getters.append(post)
        return (yield from wait_for(post))[0]

    def serve(self) -> bool:
        """Give the first item of one of those that have put some to the one that has waited longest.

        Returns:
            Whether there was one to give.
        """
        while self._getters and self._getters[0].is_complete:  # went on without an item (`RunMode.looks_ahead`)
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

    put_nowait, get_nowait = put, get

    def qsize(self) -> int:
        """The number of items."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether it holds nothing."""
        return not self._items

    def task_done(self) -> None:
        """Nothing is counted."""

    def close(self) -> None:
        """Nothing is held."""

    join_thread = cancel_join_thread = close


class CoroutineQueue(Queue):
    """A queue between coroutines, which run in a fixed order: what was put first is taken first."""

    def _choose_source(self, ranks: list[int]) -> int:
        return self._items[0][0]


def _post_call(engine: Engine, call: str) -> PostedCall:
    """A wait of the rank that runs, not complete yet."""
    rank = engine.current
    assert rank is not None
    engine.count_call()
    return PostedCall(rank.number, call, engine.line_of_call())


class ProcessQueue(Queue):
    """A queue between processes: what is put is copied."""

    def put(self, item: object, *_: object, **__: object) -> Blocking:
        """Add a copy of an item; wait while the queue is full.

        Args:
            item: Anything that can be pickled.
        """
        yield from super().put(copy_object(item)[0])


class Connection:
    """One end of a `multiprocessing.Pipe`.

    Args:
        engine: whose processes they are.
        incoming: what the other end sent.
        outgoing: what this end sent; an item is what was sent, and the wait of its sender.
    """

    def __init__(self, engine: Engine, incoming: Queue, outgoing: Queue) -> None:
        self._engine, self._incoming, self._outgoing = engine, incoming, outgoing

    def __deepcopy__(self, memo: object) -> Connection:
        return self

    def send(self, obj: object) -> Blocking:
        """Send an object; more than a pipe holds waits until it is received.

        Args:
            obj: Anything that can be pickled.
        """
        item, nbytes = copy_object(obj)
        post = _post_call(self._engine, "send")
        post.needs, post.is_any = SharedUse(self._outgoing.number, "get"), True
        yield from self._outgoing.put((item, post))
        if nbytes > max(_PIPE_LIMIT, self._engine.mode.eager_limit):
            yield from wait_for(post)

    def recv(self) -> Blocking:
        """Take the first object that the other end sent; wait while there is none."""
        item, post = yield from self._incoming.get()
        if not post.is_complete:
            self._engine.complete(post)
        return item

    def poll(self, timeout: float = 0.0) -> Blocking:
        """Whether there is something to receive; asking lets others run.

        Args:
            timeout: Not used.
        """
        yield None
        return not self._incoming.empty()

    def close(self) -> None:
        """Nothing is held."""


class Semaphore(SharedObject):
    """A semaphore of threads; with one slot it is a lock.

    Args:
        engine: whose threads they are.
        value: how many may hold it.
    """

    def __init__(self, engine: Engine, value: int = 1) -> None:
        super().__init__(engine)
        self._free = value
        self._waiting: deque[PostedCall] = deque()
        self._holders = engine.holders.setdefault(self.number, [])

    def acquire(self, blocking: bool = True, timeout: float = -1) -> Blocking:
        """Take a slot; wait while there is none.

        Args:
            blocking: Whether to wait.
            timeout: Not used.

        Returns:
            Whether it was taken.
        """
        post = self._post("acquire", needs="release")
        if self._free > 0:
            self._free -= 1
        elif blocking:
            self._waiting.append(post)
            yield from wait_for(post)
        else:
            yield None
            return False
        self._holders.append(post.rank)
        return True

    def release(self, n: int = 1) -> None:
        """Give slots back, to the ones that have waited longest.

        Args:
            n: How many.
        """
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


class ReentrantLock(Semaphore):
    """A lock that its holder may take again.

    Args:
        engine: whose threads they are.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._holder: Rank | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> Blocking:
        """Take the lock; wait while another thread holds it.

        Args:
            blocking: Whether to wait.
            timeout: Not used.

        Returns:
            Whether it was taken.
        """
        current = self._engine.current
        if self._holder is not current or self._holder is None:
            is_taken = yield from super().acquire(blocking)
            if not is_taken:
                return False
            self._holder = current
        self._depth += 1
        return True

    def release(self, n: int = 1) -> None:
        """Give it back; the last of several times lets others take it.

        Args:
            n: Not used.
        """
        self._depth -= 1
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

    def wait(self, timeout: object = None) -> Blocking:
        """Wait until another thread notifies this one.

        Args:
            timeout: Not used.
        """
        self._require_lock("wait on")
        post = self._post("wait", needs="notify")
        self._waiting.append(post)
        depth = 0
        while self._lock.is_held():  # a lock that its holder took several times
            self._lock.release()
            depth += 1
        yield from wait_for(post)
        for _ in range(depth):
            yield from self._lock.acquire()
        return True

    def wait_for(self, predicate: Callable[[], object], timeout: object = None) -> Blocking:
        """Wait until something holds, which is asked after each `notify`.

        Args:
            predicate: Says whether it does.
            timeout: Not used.
        """
        while True:
            is_true = predicate()
            if isinstance(is_true, types.GeneratorType):  # a function of the program
                is_true = yield from is_true
            if is_true:
                return is_true
            yield from self.wait()

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
    """

    def __init__(self, engine: Engine, parties: int) -> None:
        super().__init__(engine)
        self.parties = parties
        self._waiting: list[PostedCall] = []

    def wait(self, timeout: object = None) -> Blocking:
        """Wait until all have come.

        Args:
            timeout: Not used.

        Returns:
            How many had come before.
        """
        self._note("wait")
        number = len(self._waiting)
        if number + 1 == self.parties:
            waiting, self._waiting = self._waiting, []
            for post in waiting:
                self._engine.complete(post)
            return number
        post = self._post("wait", needs="wait")
        post.is_any = False  # all who will come have to
        self._waiting.append(post)
        yield from wait_for(post)
        return number


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

    def wait(self, timeout: object = None) -> Blocking:
        """Wait until it is set.

        Args:
            timeout: Not used.
        """
        if not self._is_set:
            post = self._post("wait", needs="set")
            self._waiting.append(post)
            yield from wait_for(post)
        return True


class Thread:
    """A thread: a rank of the engine that runs when it is its turn.

    Args:
        start_task: makes a rank of a function with its arguments.
        target: what it runs.
        args: its arguments.
        kwargs: its keyword arguments.
    """

    def __init__(
        self,
        start_task: Callable[..., Rank],
        target: Callable[..., Any],
        args: Any = (),
        kwargs: Mapping[str, object] | None = None,
        **_: object,
    ) -> None:
        self._start_task, self._target = start_task, target
        self._args, self._kwargs = tuple(args), dict(kwargs or {})
        self._rank: Rank | None = None
        self.name, self.daemon, self.exitcode = "", False, 0

    def start(self) -> None:
        """Begin."""
        self._rank = self._start_task(self._target, self._args, self._kwargs)

    def join(self, timeout: object = None) -> Blocking:
        """Wait until it has ended."""
        assert self._rank is not None
        yield from wait_for(self._rank.end)

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._rank is not None and not self._rank.has_ended


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

    def sleep(seconds: float = 0.0, *_: object) -> Blocking:
        """Let others run, and so much time pass."""
        engine.sleep(_read_duration(seconds))
        yield None

    def make_queue(maxsize: int = 0) -> Queue:
        """A queue of this run."""
        return Queue(engine, maxsize)

    def make_thread(
        group: None = None, target: Any = None, name: str | None = None, args: Any = (), **options: Any
    ) -> Thread:
        """A thread of this run."""
        return Thread(start_task, target, args, **options)

    clock = dict.fromkeys(("time", "perf_counter", "monotonic", "process_time"), _read_clock)
    coroutine_queues = {"Queue": lambda maxsize=0: CoroutineQueue(engine, maxsize)}
    modules = list_library_words(rank, engine.size, write) | {
        "queue": {"Queue": make_queue, "SimpleQueue": make_queue},
        "threading": {"Thread": make_thread, **_list_locks(engine)},
        "multiprocessing": launchers or _list_process_words(engine, start_task),
        "asyncio": {**coroutine_queues, **_list_coroutine_words(start_task), "sleep": sleep},
        "time": {**clock, "time_ns": lambda: 0, "sleep": sleep},
    }
    return {name: _build_module(name, words) for name, words in modules.items()}


def _list_locks(engine: Engine) -> dict[str, Callable[..., object]]:
    """What threads and processes wait for one another with."""
    return {
        "Lock": lambda: Semaphore(engine),
        "RLock": lambda: ReentrantLock(engine),
        "Semaphore": lambda value=1: Semaphore(engine, value),
        "BoundedSemaphore": lambda value=1: Semaphore(engine, value),
        "Barrier": lambda parties: ThreadBarrier(engine, parties),
        "Event": lambda: ThreadEvent(engine),
        "Condition": lambda lock=None: ThreadCondition(engine, lock),
    }


def _list_coroutine_words(start_task: Callable[..., Rank]) -> dict[str, object]:
    """What `asyncio` has for coroutines."""

    def gather(*coroutines: Coroutine, **_: object) -> Blocking:
        """Run several coroutines; returns their results."""
        started = [start_task(lambda task=part: task, (), {}) for part in coroutines]
        results = []
        for rank in started:
            yield from wait_for(rank.end)
            if rank.error is not None:
                raise rank.error
            results.append(rank.result)
        return results

    def run(coroutine: Coroutine) -> Blocking:
        """Run a coroutine to its end."""
        return (yield from coroutine.task)

    def create_task(coroutine: Coroutine) -> PostedCall:
        """Begin a coroutine; awaiting the task gives its result."""
        return start_task(lambda: coroutine, (), {}).end

    return {"gather": gather, "run": run, "create_task": create_task}


def _list_process_words(engine: Engine, start_task: Callable[..., Rank]) -> dict[str, object]:
    """What `multiprocessing` has where its processes are the ranks."""

    def make_process(
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        **_: object,
    ) -> Thread:
        """A process of this run: a thread with copies of its arguments."""
        function = target or (lambda *_: None)
        return Thread(start_task, function, copy.deepcopy(args), copy.deepcopy(kwargs))

    def make_pipe(duplex: bool = True) -> tuple[Connection, Connection]:
        """The two ends of a pipe."""
        there, back = Queue(engine), Queue(engine)
        return Connection(engine, back, there), Connection(engine, there, back)

    def make_queue(maxsize: int = 0) -> ProcessQueue:
        """A queue between processes of this run."""
        return ProcessQueue(engine, maxsize)

    return {
        "Process": make_process,
        **dict.fromkeys(("Queue", "SimpleQueue", "JoinableQueue"), make_queue),
        "Pipe": make_pipe,
        **_list_locks(engine),
        "cpu_count": lambda: engine.size,
        "set_start_method": lambda *_, **__: None,
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
