"""A topology by its name: `dgx-a100(nodes=2)`, `ring(8, bandwidth=25GB/s)`, wherever a function takes a topology."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from .errors import CollsimError
from .topology import NETWORKS, Topology, machine
from .topology.machine_builder import Machine
from .topology.machines import machines
from .topology.spec import parse_topology

#: Where a function takes a topology: a built one, a machine of the catalogue, or a name with arguments.
TopologyLike: TypeAlias = Topology | Machine | str


def resolve_topology(value: TopologyLike, caller: str) -> Topology:
    """Return the topology that a caller of the public interface names.

    Args:
        value: A topology; a machine; the name of a machine or of a generic network, with arguments where it needs any:
            `"dgx-a100"`, `"dgx-a100(nodes=2)"`, `"ring(8, bandwidth=25GB/s)"`.
        caller: The function that was called, for the error.

    Returns:
        The topology; `value` itself where it is one.

    Raises:
        CollsimError: `value` is nothing of the kind.
        TopologyError: The name or an argument is unknown.

    Examples:
        >>> resolve_topology("ring(4)", "simulate")
        <Topology ring(4): 4 ranks, 4 devices, 8 links>
    """
    if isinstance(value, Topology):
        return value
    if isinstance(value, Machine):
        return machine(value)
    if isinstance(value, str):
        return parse_topology(value, {**NETWORKS, **{name: partial(machine, name) for name in machines()}})
    message = "{who} wants a topology, got {value!r}; make one with topology.switch(8) or machine('dgx-a100')"
    raise CollsimError(message, who=caller, value=value)
