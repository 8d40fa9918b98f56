"""Options of torch that are not simulated: a value that would change numbers ends the run."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from ..gradients import Blocking, Value

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def refuse_changed(*names: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Refuse options that are not simulated where they have another value than the default, which is torch's.

    Args:
        names: Of the options. A `dtype` may also be float32, which layers have.

    Returns:
        A decorator of functions and of `__init__`, which keeps the signature.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(function)
        word = function.__qualname__.removesuffix(".__init__")

        def require_defaults(args: Value, options: Value) -> None:
            arguments = signature.bind(*args, **options).arguments
            for name in names:
                default = signature.parameters[name].default
                if name in arguments and not _is_equal(arguments[name], default, name):
                    value = reprlib.repr(arguments[name])
                    raise RuntimeError(f"{word}: {name}={value} is not simulated; leave {name} out")

        @functools.wraps(function)
        def call(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
            require_defaults(args, options)
            return function(*args, **options)

        @functools.wraps(function)
        def wait(*args: Arguments.args, **options: Arguments.kwargs) -> Blocking:
            require_defaults(args, options)
            return (yield from function(*args, **options))  # type: ignore[misc]

        # What may suspend its rank is known by being a generator function.
        return wait if inspect.isgeneratorfunction(function) else call  # type: ignore[return-value]

    return decorate


def _is_equal(value: object, default: object, name: str) -> bool:
    if value is default:
        return True
    if name == "dtype":
        return value in (np.float32, np.dtype(np.float32))
    return isinstance(value, bool | int | float | str) and value == default
