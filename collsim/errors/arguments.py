"""Calls that do not fit a function: a missing argument, an unknown keyword, a value of another type than its parameter
has."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from . import CollsimError, format_value
from .keywords import require_keywords

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: Entries of a list whose types are looked at.
_MAX_ENTRIES = 10_000
#: From here on a float skips whole numbers.
_MAX_COUNT = 2**53
#: Below it a quotient overflows.
_SMALLEST = 1e-300


def check_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function of the public interface: a call that does not fit it is a CollsimError.

    Types are looked at where a call failed with another error. So a call that works costs next to nothing, and works
    with whatever behaves like the declared type.

    Args:
        function: Its signature, name and docstring stay what they are. Where it takes any keywords (`**options`), only
            words of other tools are refused.

    Returns:
        The function with the check.

    Examples:
        >>> @check_arguments
        ... def ring(ranks: int, *, alpha: float = 0.0):
        ...     return list(range(ranks))
        >>> ring(8, latency=1e-6)
        Traceback (most recent call last):
        collsim.errors.CollsimError: unknown keyword of ring 'latency'; did you mean 'alpha'?
        >>> ring([8])
        Traceback (most recent call last):
        collsim.errors.CollsimError: ring: ranks=[8] must be of type int; help(ring) describes it
    """
    checked = check_call(function)
    known, takes_any = _list_keywords(function)
    if not takes_any:
        return checked  # Python refuses what it does not know

    @functools.wraps(checked)
    def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        require_keywords(function.__name__, keywords, known, takes_any=True)
        return checked(*args, **keywords)

    return call


def check_call(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function as `check_arguments` does; its keywords it checks itself, where it takes any.

    Args:
        function: Its signature, name and docstring stay what they are.

    Returns:
        The function with the check.

    Examples:
        >>> @check_call
        ... def count(ranks: int):
        ...     return ranks + 1
        >>> count()
        Traceback (most recent call last):
        collsim.errors.CollsimError: count: missing a required argument: 'ranks'; it is called as count(ranks, ...)
    """

    @functools.wraps(function)
    def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        try:
            return function(*args, **keywords)
        except CollsimError:
            raise
        except Exception as error:
            _require_fit(function, args, keywords, error)
            raise

    return call


@functools.cache
def _list_keywords(function: Callable[..., object]) -> tuple[list[str], bool]:
    """Names of the parameters, and whether the function takes any other keyword, too."""
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return [name for name, p in parameters.items() if p.kind is not p.VAR_KEYWORD], takes_any


def _require_fit(
    function: Callable[..., object], args: tuple[object, ...], keywords: Mapping[str, object], error: Exception
) -> None:
    """Raise CollsimError where a failed call does not fit: its arguments are not those of the function, or one has
    another type."""
    signature = inspect.signature(function)
    known, takes_any = _list_keywords(function)
    if not takes_any:
        require_keywords(function.__name__, keywords, known)
    try:
        arguments = signature.bind(*args, **keywords).arguments
    except TypeError as misfit:
        message = "{function}: {error}; it is called as {function}{signature}"
        required = [
            f"{p.name}=..." if p.kind is p.KEYWORD_ONLY else str(p).partition(":")[0]
            for p in signature.parameters.values()
            if p.kind is not p.VAR_KEYWORD and p.default is p.empty
        ]
        called = f"({', '.join([*required, '...'])})"
        raise CollsimError(message, function=function.__name__, error=misfit, signature=called) from None
    types = _resolve_types(function)
    for name, value in arguments.items():
        parameter = signature.parameters[name]
        values = value if parameter.kind is parameter.VAR_POSITIONAL else [value]
        if parameter.kind is parameter.VAR_KEYWORD or name not in types:
            continue
        for entry in values:
            if not _is_of_type(entry, types[name]):
                message = "{function}: {name}={value} must be of type {type}; help({function}) describes it"
                described = {"value": format_value(entry), "type": parameter.annotation}
                raise CollsimError(message, function=function.__name__, name=name, **described) from error
    for name, value in arguments.items():
        if _is_extreme(value, error):
            message = "{function}: {name}={value} is out of range ({error}); help({function}) describes it"
            described = {"value": format_value(value), "error": error}
            raise CollsimError(message, function=function.__name__, name=name, **described) from error


def _is_extreme(value: object, error: Exception) -> bool:
    """Whether a number is one that arithmetic fails on: below 0, too large for a float to count, none at all, or a
    divisor of 0."""
    if not isinstance(value, int | float):
        return False
    return not 0 <= value < _MAX_COUNT or (value < _SMALLEST and isinstance(error, ZeroDivisionError))


def _resolve_types(function: Callable[..., object]) -> dict[str, Any]:
    """The types of the parameters, also those that their module imports for type checkers alone; none of those that
    cannot be told."""
    module = sys.modules[inspect.unwrap(function).__module__]
    names = dict(vars(module))
    types: dict[str, Any] = {}
    with suppress(OSError, SyntaxError):  # there is no source
        for statement in ast.parse(inspect.getsource(module)).body:
            if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
                for line in statement.body:
                    names |= _import_names(line, module.__package__)
    for name, annotation in function.__annotations__.items():
        with suppress(Exception):  # whatever an annotation holds: the caller has the error that counts
            types |= get_type_hints(SimpleNamespace(__annotations__={name: annotation}), names)
    return types


def _import_names(line: ast.stmt, package: str | None) -> dict[str, object]:
    """What an import brings in; nothing of what is not installed."""
    with suppress(ImportError):
        if isinstance(line, ast.Import):
            return {alias.asname or alias.name: import_module(alias.name) for alias in line.names}
        if isinstance(line, ast.ImportFrom):
            source = import_module("." * line.level + (line.module or ""), package)
            return {alias.asname or alias.name: getattr(source, alias.name) for alias in line.names}
    return {}


def _is_of_type(value: Any, expected: Any) -> bool:
    """Whether a value has a type; True where that cannot be told."""
    kind, parts = get_origin(expected) or expected, get_args(expected)
    if kind in (Union, UnionType):
        return any(_is_of_type(value, part) for part in parts)
    if kind is Literal:
        return any(type(value) is type(word) and value == word for word in parts)
    if kind is None:
        kind = NoneType
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    try:
        if not isinstance(value, kind):
            return False
    except TypeError:  # a type variable, a protocol
        return True
    return kind.__module__ not in ("builtins", "collections.abc") or _has_entries_of_type(value, kind, parts)


def _has_entries_of_type(value: Any, kind: type, parts: tuple[Any, ...]) -> bool:
    """Whether the entries of a container have their types."""
    if not parts or not isinstance(value, Collection) or not issubclass(kind, Iterable):
        return True
    if isinstance(value, Mapping):
        pairs = itertools.product(value, parts[:1]), itertools.product(value.values(), parts[1:2])
        return all(itertools.starmap(_is_of_type, itertools.chain(*pairs)))
    if kind is tuple and parts[-1] is not Ellipsis:
        return len(value) == len(parts) and all(itertools.starmap(_is_of_type, zip(value, parts, strict=True)))
    return all(_is_of_type(entry, parts[0]) for entry in itertools.islice(value, _MAX_ENTRIES))
