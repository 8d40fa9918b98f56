"""A call that makes a topology, as text: `ring(8, bandwidth=25GB/s, alpha=1us)`. Parsed, never evaluated."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping

from ..errors import TopologyError, describe_unknown
from ..errors.keywords import require_keywords
from .network import Topology

_CALL = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_LONGEST = 500


def parse_topology(text: str, builders: Mapping[str, Callable[..., Topology]]) -> Topology:
    """Build a topology from text.

    Args:
        text: A name, with arguments in brackets where it needs any: `"ring(8, bandwidth=25GB/s, alpha=1us)"`.
        builders: What may be named, for example `{"ring": ring, "switch": switch}`.

    Returns:
        What the builder of that name returns.

    Raises:
        TopologyError: The name or a keyword is unknown, or the text is not `name(value, key=value)`.
    """
    match = None
    if len(text) <= _LONGEST:
        match = _CALL.fullmatch(text)
    if match is None and text.strip() and "(" not in text:
        raise TopologyError(describe_unknown("topology", text.strip(), builders))
    if match is None:
        message = "topology {text!r} is not of the form 'ring(8, bandwidth=25GB/s, alpha=1us)'"
        raise TopologyError(message, text=text[:80])
    name, inside = match[1], match[2] or ""
    if name not in builders:
        raise TopologyError(describe_unknown("topology", name, builders))
    values: list[object] = []
    keywords: dict[str, object] = {}
    # Values are simple (no nested brackets), so a split at commas is enough.
    for part in filter(None, (p.strip() for p in inside.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            keywords[key.strip()] = _parse_value(value.strip())
        elif keywords:
            message = "topology {text!r}: {part!r} comes after a keyword; write key=value"
            raise TopologyError(message, text=text, part=part)
        else:
            values.append(_parse_value(part))
    builder = builders[name]
    parameters = inspect.signature(builder).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    require_keywords(name, keywords, parameters, takes_any)
    try:
        # `bind` finds what is missing or too much before the builder runs, so that its own TypeErrors are never
        # hidden.
        inspect.signature(builder).bind(*values, **keywords)
    except TypeError as error:
        message = "topology {text!r}: {error}; {name} takes {signature}"
        signature = _format_parameters(inspect.signature(builder))
        raise TopologyError(message, text=text, error=error, name=name, signature=signature) from error
    return builder(*values, **keywords)


def _format_parameters(signature: inspect.Signature) -> str:
    """`(ranks, bandwidth=25GB/s, alpha=1us)`: as a topology is written, without types and quotes."""
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    return f"({', '.join(p.name if p.default is p.empty else f'{p.name}={p.default}' for p in parameters)})"


def _parse_value(text: str) -> object:
    """A whole number, a number, True, False, None, or the text itself (a quantity with its unit, or a word)."""
    words = {"true": True, "false": False, "none": None}
    bare = text.strip("\"'")
    if bare == text and bare.lower() in words:  # in quotes it is the word: nvlink='none'
        return words[bare.lower()]
    for kind in (int, float):
        try:
            return kind(bare)
        except ValueError:
            continue
    return bare
