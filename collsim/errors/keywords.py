"""Keywords that a function does not have: the answer names the nearest, or the one that collsim has for the word."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..locale.synonyms import load_synonyms
from . import CollsimError, Sentence, describe_unknown


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
