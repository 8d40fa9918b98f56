"""What the rewritten code calls: a call of a program's own function is driven, all else is called as it is."""

from __future__ import annotations

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
    """`call__`, `await__` and `coroutine__` of one run.

    Args:
        engine: whose program it is.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def call(self, function: Any, /, *args: object, **kwargs: object) -> Blocking:
        """Call a function; one that is a generator of the program, or blocks, is driven to its end.

        Args:
            function: whatever the program calls.
            args: its arguments.
            kwargs: its keyword arguments.

        Returns:
            What it returns.
        """
        if isinstance(function, type) and self._is_own(getattr(function, "__init__", None)):
            kind: Any = function
            instance = kind.__new__(kind)
            yield from kind.__init__(instance, *args, **kwargs)
            return instance
        if not self._may_drive(function):
            args = tuple(self._wrap_callback(arg) for arg in args)
            kwargs = {name: self._wrap_callback(arg) for name, arg in kwargs.items()}
        result = function(*args, **kwargs)
        if isinstance(result, types.GeneratorType) and self._is_driven(result):
            return (yield from result)
        return result

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
        return getattr(function, "__code__", None) in self.engine.codes

    def _may_drive(self, function: object) -> bool:
        """Whether a function takes the program's functions as they are: its own, and those of the libraries here."""
        module = getattr(function, "__module__", None) or ""
        return self._is_own(function) or module.startswith(_PACKAGE)

    def _is_driven(self, generator: types.GeneratorType[Any, Any, Any]) -> bool:
        code = generator.gi_code
        return code in self.engine.codes or code.co_filename.startswith(_FOLDER)

    def _wrap_callback(self, value: object) -> object:
        """A function of the program that a builtin calls, as `sorted(key=...)` does: it cannot wait in there."""
        if not (isinstance(value, types.FunctionType | types.MethodType) and self._is_own(value)):
            return value

        def run_at_once(*args: object, **kwargs: object) -> object:
            task = value(*args, **kwargs)
            try:
                task.send(None)
            except StopIteration as end:
                return end.value
            raise CollsimError(
                "line {line}: {function} waits for a message inside of a function that cannot be suspended",
                line=value.__code__.co_firstlineno,
                function=value.__name__,
            )

        return run_at_once


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
