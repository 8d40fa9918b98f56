"""Where a scenario runs: a Topology, or words for one (`"switch(64)"`, `"dgx-a100"`, a mapping of machine, nodes and
edits)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..errors import CollsimError, TopologyError, describe_unknown, is_list, require_short_range
from ..limits import require_few
from ..topology import Topology, machine
from ..topology.machine_builder import Machine
from ..topology_names import resolve_topology

_MAX_TOPOLOGIES = 10_000
EDITS = ("scaled", "with_link", "without_link", "without_device")


def list_networks(topology: object) -> list[Topology]:
    """List the topologies of a sweep.

    A mapping has `machine` (or `network`) and the keywords of its builder, each one value or a list of them, and the
    edits `scaled: {infiniband: 2}`, `with_link: [[a, b, {bandwidth: half}]]`, `without_link: [[a, b]]`,
    `without_device: [a]`.

    Args:
        topology: A Topology, a Machine, a name or a mapping, or several of them.

    Returns:
        All that it stands for, in order.

    Raises:
        CollsimError: For names and keys that do not exist.
    """
    entries = [topology]
    if is_list(topology) and not isinstance(topology, (Mapping, Topology)):
        require_short_range("topology", topology)
        entries = list(topology)
    networks = [network for entry in entries for network in _parse_entry(entry)]
    if not networks:
        raise CollsimError("a sweep needs at least one topology, for example topology=[cs.machine('dgx-a100')]")
    return networks


def _parse_entry(entry: object) -> Iterable[Topology]:
    if isinstance(entry, str | Machine):
        return [resolve_topology(entry, "sweep")]
    if isinstance(entry, Mapping):
        return _build_networks(dict(entry))
    if not isinstance(entry, Topology):
        message = "topology {entry!r} is neither a Topology nor words for one, such as 'switch(64)' or 'dgx-a100'"
        raise TopologyError(message, entry=entry)
    return [entry]


def _build_networks(entry: dict[str, object]) -> Iterable[Topology]:
    # Edits are taken out first: they change a network that is built, and are no arguments of it.
    edits = {name: entry.pop(name) for name in EDITS if name in entry}
    if "machine" in entry:
        names = list_values("machine", entry.pop("machine"))
    elif "network" in entry:
        texts = list_values("network", entry.pop("network"))
        if entry:
            raise TopologyError(describe_unknown("key of a network", next(iter(entry)), EDITS))
        return [_apply_edits(network, edits) for text in texts for network in _parse_entry(text)]
    else:
        raise TopologyError("topology {entry!r} has no 'machine' and no 'network'", entry=entry)
    choices = {key: list_values(key, value) for key, value in entry.items()}
    # Counted before any machine is built, because each may be large.
    count = prod(map(len, choices.values())) * len(names)
    require_few("topologies in a sweep", count, _MAX_TOPOLOGIES, "give shorter lists")
    networks = []
    for name, *values in product(names, *choices.values()):
        try:
            network = machine(name, **dict(zip(choices, values, strict=True)))
        except TypeError as error:
            raise TopologyError("machine {name!r}: {error}", name=name, error=error) from error
        try:
            networks.append(_apply_edits(network, edits))
        except CollsimError:
            raise
        except (TypeError, ValueError) as error:
            message = "edits {edits!r} of {name}: {error}"
            raise TopologyError(message, edits=edits, name=network.name, error=error) from error
    return networks


def _apply_edits(network: Topology, edits: Mapping[str, Any]) -> Topology:
    for kind, by in dict(edits.get("scaled", {})).items():
        network = network.scaled(kind=kind, by=by)
    for a, b, change in edits.get("with_link", []):
        network = network.with_link(a, b, **change)
    for a, b in edits.get("without_link", []):
        network = network.without_link(a, b)
    for device in list_values("without_device", edits.get("without_device", [])):
        network = network.without_device(device)
    return network


def list_values(name: str, value: Any) -> list[Any]:
    """List the values of an argument that is one value or several.

    Args:
        name: Name of the argument.
        value: One value, or a list, a tuple, an array, a column of a table.

    Returns:
        Its values.

    Raises:
        CollsimError: It is a range of more values than a sweep takes.
    """
    require_short_range(name, value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple, set, range)):
        return list(value)
    return [value]


def fingerprint(network: Topology) -> str:
    """Compute a digest of all that a simulation reads of a topology; two that differ only in name have the same.

    Args:
        network: The topology.

    Returns:
        16 hexadecimal digits.
    """
    import hashlib

    links = network.links
    digest = hashlib.sha256()
    for array in (links.src, links.dst, links.alpha, links.bandwidth, network.endpoint_device, network.orders):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(f"{network.ranks} {network.shape} {network.facts!r} {network.reducing}".encode())
    return digest.hexdigest()[:16]
