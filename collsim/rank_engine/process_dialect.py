"""What programs import besides: threads with queues and `asyncio` in one process, and harmless parts of the library.

A thread is one more rank of the engine: `put` and `get` of a queue, `join` and `await` are where it waits.
"""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .calls import Coroutine, wait_for
from .engine import Blocking, Engine, PostedCall, Rank

_LONGEST_SLEEP = 1e6  # s


class Queue:
    """A queue between threads or coroutines.

    Args:
        engine: whose threads they are.
        maxsize: `put` waits while it holds so many; 0: it never waits.
    """

    def __init__(self, engine: Engine, maxsize: int = 0) -> None:
        self._engine, self._maxsize = engine, maxsize
        self._items: deque[Any] = deque()
        self._putters: deque[tuple[PostedCall, object]] = deque()
        self._getters: deque[PostedCall] = deque()

    def put(self, item: Any, *_: object, **__: object) -> Blocking:
        """Add an item; wait while the queue is full. Arguments such as `block` and `timeout` are ignored.

        Args:
            item: Not copied: ranks of the engine share one memory.
        """
        post = self._post("put")
        if self._getters:
            self._engine.complete(self._getters.popleft(), (item,))
        elif self._maxsize and len(self._items) >= self._maxsize:
            self._putters.append((post, item))
            yield from wait_for(post)
        else:
            self._items.append(item)

    def get(self, *_: object, **__: object) -> Blocking:
        """Take the first item; wait while there is none. Arguments such as `block` and `timeout` are ignored."""
        post = self._post("get")
        if not self._items:
            self._getters.append(post)
            return (yield from wait_for(post))[0]
        item = self._items.popleft()
        if self._putters:
            putter, waiting = self._putters.popleft()
            self._items.append(waiting)
            self._engine.complete(putter)
        return item

    def _post(self, call: str) -> PostedCall:
        rank = self._engine.current
        assert rank is not None
        return PostedCall(rank.number, call, self._engine.line_of_call())

    def qsize(self) -> int:
        """The number of items."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether it holds nothing."""
        return not self._items

    def task_done(self) -> None:
        """Nothing is counted."""


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


def build_process_modules(engine: Engine, start_task: Callable[..., Rank], seed: int) -> dict[str, ModuleType]:
    """The modules of the standard library that programs may import, as far as they are harmless.

    Args:
        engine: the ranks of the run.
        start_task: makes a rank of a function with its arguments.
        seed: of random numbers.

    Returns:
        Modules by name.
    """

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

    queues = {"Queue": make_queue}
    coroutines = {"gather": gather, "run": run, "create_task": create_task, "sleep": sleep}
    modules = _list_harmless(seed) | {
        "queue": {**queues, "SimpleQueue": make_queue},
        "threading": {"Thread": make_thread},
        "asyncio": {**queues, **coroutines},
        "time": {"time": _read_clock, "perf_counter": _read_clock, "monotonic": _read_clock, "sleep": sleep},
    }
    return {name: _build_module(name, words) for name, words in modules.items()}


def _build_module(name: str, words: Mapping[str, object]) -> ModuleType:
    module = ModuleType(name)
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


def _list_harmless(seed: int) -> dict[str, dict[str, object]]:
    """Modules whose functions reach nothing outside of the program."""
    generator, legacy = random.Random(seed), np.random.RandomState(seed)
    return {
        "os": {"environ": {}, "getpid": lambda: 1, "path": SimpleNamespace(join=lambda *parts: "/".join(parts))},
        "sys": {"argv": ["program.py"], "exit": lambda *_: None, "stdout": SimpleNamespace(flush=lambda: None)},
        "math": _list_public(math),
        "random": {name: getattr(generator, name) for name in dir(generator) if not name.startswith("_")},
        "itertools": _list_public(itertools),
        "functools": {"partial": functools.partial, "reduce": functools.reduce},
        "collections": _list_public(collections),
        "copy": {"copy": copy.copy, "deepcopy": copy.deepcopy},
        "typing": {"Any": object, "List": list, "Dict": dict, "Tuple": tuple, "Optional": object},
        "numpy.random": {name: getattr(legacy, name) for name in dir(legacy) if not name.startswith("_")},
    }


def _list_public(module: ModuleType) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}
