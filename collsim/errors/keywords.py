"""Keywords that a function does not have: the answer names the nearest, or the one that collsim has for the word."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ParamSpec, TypeVar

from ..locale.synonyms import load_synonyms
from . import CollsimError, Sentence, describe_unknown

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def check_keywords(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function of the public interface: an unknown keyword or a missing argument is a CollsimError.

    Args:
        function: Its signature, name and docstring stay what they are. Where it takes any keywords (`**options`), only
            words of other tools are refused.

    Returns:
        The function with the check.

    Examples:
        >>> @check_keywords
        ... def ring(ranks, *, alpha=0.0): ...
        >>> ring(8, latency=1e-6)
        Traceback (most recent call last):
        collsim.errors.CollsimError: unknown keyword of ring 'latency'; did you mean 'alpha'?
    """
    signature = inspect.signature(function)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    known = [name for name, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD]
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        require_keywords(name, keywords, known, takes_any)
        try:
            return function(*args, **keywords)
        except TypeError:
            # Python binds arguments in a tenth of the time that `inspect` takes, so only a call that failed is bound.
            _require_arguments(name, signature, args, keywords)
            raise

    return call


def require_keywords(function: str, keywords: Iterable[str], known: Collection[str], takes_any: bool = False) -> None:
    """Raise CollsimError for the first keyword that a function does not have, with the one that is meant.

    Args:
        function: Its name, as a user calls it.
        keywords: Those of the call.
        known: Those that it has.
        takes_any: Does it pass others on? Then only words of other tools are refused that mean a keyword in `known`,
            the number of ranks or the number of nodes.

    Raises:
        CollsimError: a keyword is unknown.
    """
    for keyword in keywords:
        if keyword in known:
            continue
        meanings = load_synonyms().get(keyword, ())
        if not any(meaning in known for meaning in meanings):
            _refuse_size(function, keyword, meanings, known)
            if takes_any:
                continue
            _refuse_type(function, keyword, meanings, known)
        raise CollsimError(describe_unknown(Sentence("keyword of {name}", name=function), keyword, known))


def _refuse_type(function: str, keyword: str, meanings: Collection[str], known: Collection[str]) -> None:
    """Raise CollsimError for a type of elements where the bytes say all."""
    if "dtype" in (keyword, *meanings) and "nbytes" in known:
        message = (
            "{function} has no {name}=: its times depend on bytes alone; nbytes= counts them, "
            "2 for each float16 and 4 for each float32"
        )
        raise CollsimError(message, function=function, name=keyword)


def _refuse_size(function: str, keyword: str, meanings: Collection[str], known: Collection[str]) -> None:
    """Raise CollsimError for a number of ranks or nodes where the topology holds it."""
    if "ranks" in meanings and "topology" in known:
        message = "{function} has no {name}=; the topology says how many ranks there are: cs.topology.switch(8)"
        raise CollsimError(message, function=function, name=keyword)
    if "nodes" in meanings:
        message = "{function} has no {name}=; nodes are said where the machine is made: cs.machine('dgx-a100', nodes=2)"
        raise CollsimError(message, function=function, name=keyword)


def _require_arguments(
    name: str, signature: inspect.Signature, args: tuple[object, ...], keywords: Mapping[str, object]
) -> None:
    """Raise CollsimError where an argument is missing, or one is too many or given twice."""
    try:
        signature.bind(*args, **keywords)
    except TypeError as error:
        message = "{function}: {error}; it is called as {function}{signature}"
        required = [
            f"{p.name}=..." if p.kind is p.KEYWORD_ONLY else str(p).partition(":")[0]
            for p in signature.parameters.values()
            if p.kind is not p.VAR_KEYWORD and p.default is p.empty
        ]
        called = f"({', '.join([*required, '...'])})"
        raise CollsimError(message, function=name, error=error, signature=called) from None
