"""The topology argument of a public function: refused in a sentence that gives the call which makes one."""

from __future__ import annotations

import re

from .errors import CollsimError
from .topology import NETWORKS, Topology, machines

_CALL = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*(?:\((.{0,200})\))?\s*", re.DOTALL)
_LONGEST = 300  # characters of a text that may name a machine or a network


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
    match = _CALL.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return ""
    if match[2] is None and match[1].lower().replace("_", "-") in machines():
        return f"cs.machine({text.strip()!r})"
    return f"cs.topology.{match[1]}({match[2] or '8'})" if match[1] in NETWORKS else ""
