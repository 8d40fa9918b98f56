"""What the rewritten code calls: a call of a program's own function is driven, all else is called as it is."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CollsimError
from .engine import Blocking, Engine, PostedCall

#: The package and the folder whose generator functions block a rank, as `send` does.
_PACKAGE, _FOLDER = __name__.rpartition(".")[0], str(Path(__file__).parent)


def wait_for(operation: PostedCall) -> Generator[PostedCall, None, Any]:
    """Suspend the rank until an operation is complete.

    Args:
        operation: a send, a receive or a collective.

    Returns:
        Its result.

    Raises:
        Exception: what the operation ended in, such as a truncated message.
    """
    yield operation  # also where it is complete: the engine notes who waited for what
    if operation.error is not None:
        raise operation.error
    return operation.result


def poll() -> Generator[None, None, None]:
    """Let other ranks run, as a loop over `test()` or `Iprobe()` must."""
    yield None


@dataclass
class Coroutine:
    """A call of an `async def`, not begun until it is awaited or made a task."""

    task: Blocking


class Calls:
    """What the rewritten code of one run calls.

    Args:
        engine: whose program it is.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._generators: set[types.CodeType] = set()
        self._driven: dict[types.CodeType, bool] = {}  # whether a generator of this code is driven to its end
        self._known: set[types.CodeType] = set()  # of functions that were called before and take arguments as they are
        self._originals: dict[object, object] = {}  # functions of the program, by what builtins call in their place

    def call(self, function: Any, /, *args: object, **kwargs: object) -> Blocking:
        """Call a function; one that is a generator of the program, or blocks, is driven to its end.

        Args:
            function: whatever the program calls.
            args: its arguments.
            kwargs: its keyword arguments.

        Returns:
            What it returns.
        """
        if getattr(function, "__code__", None) in self._known:  # most calls of most programs
            result = function(*args, **kwargs)
            if isinstance(result, types.GeneratorType) and self._is_driven(result):
                return (yield from result)
            return result
        function, first = self._unwrap(function)
        if isinstance(function, functools.partial):
            return (
                yield from self.call(function.func, *first, *function.args, *args, **{**function.keywords, **kwargs})
            )
        args = (*first, *args)
        # A class of the program is made by hand: its `__init__` may block, and so must be driven.
        if isinstance(function, type) and self._may_wait(getattr(function, "__init__", None)):
            kind: Any = function
            if kind.__new__ is object.__new__:
                instance = kind.__new__(kind)
            else:
                instance = kind.__new__(kind, *args, **kwargs)
            yield from kind.__init__(instance, *args, **kwargs)
            return instance
        # `__call__` of the program's own objects is a function of it, too.
        method = getattr(type(function), "__call__", None)  # noqa: B004 (the method is wanted)
        if method is not None and self._is_own(method):
            return (yield from method(function, *args, **kwargs))
        if self._may_drive(function):
            if isinstance(function, types.FunctionType | types.MethodType):
                self._known.add(function.__code__)
        else:
            # A library that calls back (sorted, map) cannot be interrupted, so its callbacks may not block.
            args = tuple(self._wrap_callback(arg) for arg in args)
            kwargs = {name: self._wrap_callback(arg) for name, arg in kwargs.items()}
        result = function(*args, **kwargs)
        if isinstance(result, types.GeneratorType) and self._is_driven(result):
            return (yield from result)
        return result

    def call_now(self, function: object, /, *args: object, **kwargs: object) -> object:
        """Call a function where its rank cannot be suspended: in a class, a generator or a special method.

        Args:
            function: whatever the program calls.
            args: its arguments.
            kwargs: its keyword arguments.

        Returns:
            What it returns.

        Raises:
            CollsimError: where it waits.
        """
        return self._run_at_once(self.call(function, *args, **kwargs))

    def _run_at_once(self, task: Blocking) -> object:
        line = self.engine.line_of_call()
        try:
            task.send(None)
        except StopIteration as end:
            return end.value
        raise CollsimError(
            "line {line}: a call waits here, inside of a generator, a special method or what a builtin calls; none of "
            "them can be suspended, so call it in a function of its own",
            line=line,
        )

    def enter(self, manager: object) -> Blocking:
        """`__enter__` of a `with` statement.

        Args:
            manager: What stands behind `with`.

        Returns:
            What stands behind `as`.
        """
        kind = type(manager)
        if not hasattr(kind, "__enter__") or not hasattr(kind, "__exit__"):
            raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol")
        return (yield from self.call(getattr(kind, "__enter__"), manager))  # noqa: B009

    def exit(self, manager: object, error: BaseException | None) -> Blocking:
        """`__exit__` of a `with` statement.

        Args:
            manager: What stands behind `with`.
            error: What ended its block, or None.

        Returns:
            Whether the error is dealt with.
        """
        kind, trace = None, None
        if error is not None:
            kind, trace = type(error), error.__traceback__
        leave = getattr(type(manager), "__exit__")  # noqa: B009
        return (yield from self.call(leave, manager, kind, error, trace))

    def mark_generator(self, function: types.FunctionType) -> types.FunctionType:
        """A generator of the program's own, which whoever takes its items drives.

        Args:
            function: Its rewritten form.
        """
        self._generators.add(function.__code__)
        return function

    def await_value(self, value: object) -> Blocking:
        """Drive what is awaited.

        Args:
            value: a coroutine, an operation, or a plain value.

        Returns:
            Its result.
        """
        if isinstance(value, Coroutine):
            return (yield from value.task)
        if isinstance(value, PostedCall):
            return (yield from wait_for(value))
        return value

    def _is_own(self, function: object) -> bool:
        if isinstance(function, types.MethodType):
            function = function.__func__
        code = getattr(function, "__code__", None)
        return code in self.engine.codes and code not in self._generators

    def _may_wait(self, function: object) -> bool:
        """Whether a function is the program's own, or a generator function of a library here."""
        code = getattr(function, "__code__", None)
        is_blocking = inspect.isgeneratorfunction(function) and getattr(code, "co_filename", "").startswith(_FOLDER)
        return is_blocking or self._is_own(function)

    def _may_drive(self, function: object) -> bool:
        """Whether a function takes the program's functions as they are: its own, and those of the libraries here."""
        module = getattr(function, "__module__", None) or ""
        return self._is_own(function) or module.startswith(_PACKAGE)

    def _is_driven(self, generator: types.GeneratorType[Any, Any, Any]) -> bool:
        code = generator.gi_code
        is_driven = self._driven.get(code)
        if is_driven is None:
            is_driven = code in self.engine.codes or code.co_filename.startswith(_FOLDER)
            is_driven = self._driven[code] = is_driven and code not in self._generators
        return is_driven

    def _wrap_callback(self, value: object) -> object:
        """A function of the program that a builtin calls, as `sorted(key=...)` does: it cannot wait in there."""
        if not (isinstance(value, types.FunctionType | types.MethodType) and self._is_own(value)):
            return value

        @functools.wraps(value)
        def run_at_once(*args: object, **kwargs: object) -> object:
            task = value(*args, **kwargs)
            if isinstance(task, types.GeneratorType) and self._is_driven(task):
                return self._run_at_once(task)
            return task

        # Not an attribute: functools.wraps copies those to a function that is another one.
        self._originals[run_at_once] = value
        return run_at_once

    def _unwrap(self, function: object) -> tuple[Any, tuple[object, ...]]:
        """A function of the program that had been given to a builtin, as it was, so that it can be suspended where the
        program calls it; and the object that it is a method of."""
        if isinstance(function, types.MethodType) and function.__func__ in self._originals:
            return self._originals[function.__func__], (function.__self__,)
        if isinstance(function, types.FunctionType) and function in self._originals:
            return self._originals[function], ()
        return function, ()


def mark_coroutine(function: Callable[..., Blocking]) -> Callable[..., Coroutine]:
    """An `async def` of the program: calling it gives a coroutine.

    Args:
        function: its rewritten form, a generator function.

    Returns:
        A function that returns a `Coroutine`.
    """

    def make_coroutine(*args: object, **kwargs: object) -> Coroutine:
        return Coroutine(function(*args, **kwargs))

    return make_coroutine
