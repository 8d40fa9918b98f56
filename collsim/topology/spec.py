"""A network written as text: `ring(8, bandwidth=25GB/s, alpha=1us)`. Parsed, never evaluated."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import CollsimError, TopologyError, describe_unknown
from .network import Topology

_CALL = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_LONGEST = 500


def parse_topology(text: str, builders: Mapping[str, Callable[..., Topology]]) -> Topology:
    """Build a network from its text form.

    Args:
        builders: what may be named, for example `{"ring": ring, "switch": switch}`.

    Raises TopologyError for another name, another keyword, or text that is not `name(value, key=value)`.
    """
    match = _CALL.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        why = "topology {text!r} is not of the form 'ring(8, bandwidth=25GB/s, alpha=1us)'"
        raise TopologyError(why, text=text[:80])
    name, inside = match[1], match[2] or ""
    if name not in builders:
        raise TopologyError(describe_unknown("topology", name, builders))
    values: list[Any] = []
    keywords: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in inside.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            keywords[key.strip()] = _value(value.strip())
        elif keywords:
            why = "topology {text!r}: {part!r} comes after a keyword; write key=value"
            raise TopologyError(why, text=text, part=part)
        else:
            values.append(_value(part))
    builder = builders[name]
    try:
        inspect.signature(builder).bind(*values, **keywords)
    except TypeError as error:
        why = "topology {text!r}: {error}; {name} takes {signature}"
        raise TopologyError(why, text=text, error=error, name=name, signature=inspect.signature(builder)) from error
    return builder(*values, **keywords)


def require_topology(who: str, value: object) -> None:
    """Raise CollsimError for anything but a Topology; for the name of a machine or network with the call that makes it.

    Args:
        who: the function that wants one.
        value: what it was given.
    """
    if isinstance(value, Topology):
        return
    if isinstance(value, str) and (call := _suggest_call(value)):
        message = "{who} wants a topology, got the text {value!r}; did you mean {call}?"
        raise CollsimError(message, who=who, value=value, call=call)
    message = "{who} wants a topology, got {value!r}; make one with topology.switch(8) or machine('dgx-a100')"
    raise CollsimError(message, who=who, value=value)


def _suggest_call(text: str) -> str:
    """The Python call for a text that names a machine or a generic network; empty for any other."""
    from . import NETWORKS, machines  # these modules build on this one

    match = _CALL.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return ""
    if match[2] is None and match[1].lower().replace("_", "-") in machines():
        return f"cs.machine({text.strip()!r})"
    return f"cs.topology.{match[1]}({match[2] or '8'})" if match[1] in NETWORKS else ""


def _value(text: str) -> Any:
    """A whole number, a number, True, False, None, or the text itself (a quantity with its unit, or a word)."""
    words = {"true": True, "false": False, "none": None}
    bare = text.strip("\"'")
    if bare.lower() in words:
        return words[bare.lower()]
    for kind in (int, float):
        try:
            return kind(bare)
        except ValueError:
            continue
    return bare
