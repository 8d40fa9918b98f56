"""Placement of helper endpoints: parameter servers, and switches that reduce.

Which switch reduces (adds up what arrives, and multicasts) is decided here and in `ClusterRouter.reducing_switches`, by
one rule for `simulate`, `compare`, synthesis and all that build on them:

- An NVSwitch reduces for the GPUs of its node, from its third generation on: NVLink SHARP (NVLS), which NCCL uses from
  compute capability 9.0 on (src/graph/tuning.cc, src/transport/nvls.cc). It does not reach beyond its node ("NVLink
  SHARP is an AllReduce offload system over NVLink only", NVIDIA/nccl issue 1031).
- An InfiniBand switch reduces for the nodes that it joins, from Quantum (HDR) on: SHARP ("NVIDIA Quantum HDR switch and
  above", NVIDIA SHARP 3.9.1, Using NVIDIA SHARP with NVIDIA NCCL). One switch is modelled, no tree of them.
- The switch of a generic network reduces where its builder says so: `switch(8, reduces=True)`, or a node of a graph
  with `reduces=True`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np

from ..dtypes import Ints, Longs
from ..errors import Sentence, TopologyError, describe_unknown
from ..limits import Extent, require_extent
from ..steps import HELPER_LOCATIONS, HelperLocation
from ..units import parse_count
from .graph import ShortestPaths
from .network import DEVICE_KINDS, ComputedNames, Devices, Links, Topology

#: More than any cluster has nodes: beyond it is a typing error.
_MAX_HELPERS = 2**15
#: Topologies with helpers that are stored for each topology, and the links of the largest: they take its memory again.
_MAX_CACHED, _MAX_CACHED_LINKS = 32, 100_000

_cached_helpers: WeakKeyDictionary[Topology, dict[tuple[int, str, bytes | None], Topology]] = WeakKeyDictionary()


@runtime_checkable
class HasMemory(Protocol):
    """A router of machines that says where host memory is."""

    def memories(self, count: int) -> Ints:
        """Devices for `count` helpers: the memories of node 0, 1, ..., then the second ones."""
        ...

    def reducing_switches(self, count: int, on: HelperLocation, nodes: Longs | None = None) -> Ints:
        """Devices for `count` helpers that are switches which reduce for these nodes, or for all."""
        ...


@dataclass(frozen=True, eq=False)
class _JoinedNames(ComputedNames):
    """Two sequences of names, one after the other."""

    first: Sequence[str]
    second: Sequence[str]

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def name(self, i: int) -> str:
        if i < len(self.first):
            return self.first[i]
        return self.second[i - len(self.first)]


def with_helpers(
    topology: Topology, count: int, on: HelperLocation = "host", ranks: Sequence[int] | Longs | None = None
) -> Topology:
    """The topology with at least `count` helper endpoints.

    Args:
        topology: as it was.
        count: number of helper endpoints.
        on: what they sit on, as of `Topology.with_helpers`.
        ranks: those that switches reduce for; None for all.

    Raises:
        TopologyError: Where they have no natural place.
    """
    count = parse_count(count, "helpers", least=0)
    if count > _MAX_HELPERS:
        message = "{count:,} helpers are more than {most:,}, the most that a topology may have"
        raise TopologyError(message, count=count, most=_MAX_HELPERS)
    if not isinstance(on, str) or on not in HELPER_LOCATIONS:
        raise TopologyError(describe_unknown("place for a helper", on, HELPER_LOCATIONS))
    # Routes, cuts and distances are cached with a topology, so that equal requests get the same one.
    key = count, on, None if ranks is None else np.asarray(ranks, np.int64).tobytes()
    known = _cached_helpers.setdefault(topology, {})
    if key in known:
        return known[key]
    extended = _place_helpers(topology, count, on, ranks)
    # The topology itself would keep its own entry alive forever.
    if extended is not topology and len(known) < _MAX_CACHED and len(extended.links) <= _MAX_CACHED_LINKS:
        known[key] = extended
    return extended


def _place_helpers(topology: Topology, count: int, on: HelperLocation, ranks: Sequence[int] | Longs | None) -> Topology:
    # Helpers that sit where they cannot serve (hosts, where switches are wanted) are placed anew.
    if not all(_can_host(topology, int(device), on) for device in topology.endpoint_device[topology.ranks :][:count]):
        topology = replace(topology, endpoint_device=topology.endpoint_device[: topology.ranks])
    missing = count - (topology.endpoints - topology.ranks)
    if missing <= 0:
        return topology
    # A machine has host memory for servers; a plain network gets hosts of their own.
    if on == "host" and not isinstance(topology.router, HasMemory):
        return _add_hosts(topology, missing)
    if not isinstance(topology.router, HasMemory):
        devices = _find_reducing_devices(topology, count)
    elif on == "host":
        devices = topology.router.memories(count)
    else:
        devices = topology.router.reducing_switches(count, on, _find_nodes(topology, ranks))
    endpoint_devices = np.concatenate([topology.endpoint_device[: topology.ranks], devices])
    return replace(topology, endpoint_device=endpoint_devices.astype(np.int32))


def _can_host(topology: Topology, device: int, on: HelperLocation) -> bool:
    """Is this device one on which such a helper may sit?"""
    kind = DEVICE_KINDS[int(topology.devices.kind[device])]
    if on == "host":
        return kind in ("host", "memory")
    if device in topology.reducing:
        return True
    on_machine = isinstance(topology.router, HasMemory)
    return on_machine and kind in {"nvswitch": ("nvswitch",), "fabric": ("switch",)}.get(on, ("nvswitch", "switch"))


def _find_reducing_devices(topology: Topology, count: int) -> Ints:
    """The switches of a generic network that reduce: all helpers on the only one, or one on each."""
    if not topology.reducing:
        raise TopologyError(
            "{name} does not say that a switch of it reduces; NVLS needs an NVSwitch of the third generation "
            "(dgx-h100 and later) and SHARP an InfiniBand switch of HDR or later; of a generic network say it: "
            "switch({ranks}, reduces=True)",
            name=topology.name,
            ranks=topology.ranks,
        )
    if len(topology.reducing) not in (1, count):
        message = "{name} has {switches} switches that reduce, for {count} reducing helpers; say which one reduces"
        raise TopologyError(message, name=topology.name, switches=len(topology.reducing), count=count)
    return np.resize(np.array(topology.reducing, np.int32), count)


def _find_nodes(topology: Topology, ranks: Sequence[int] | Longs | None) -> Longs | None:
    """The nodes that these ranks are on."""
    if ranks is None:
        return None
    return np.unique(topology.devices.node[topology.endpoint_device[np.asarray(ranks, np.int64)]]).astype(np.int64)


def _find_neighbours_of_host(topology: Topology) -> list[int]:
    """Devices that one more host is cabled to, beside the new hosts in a network where all are joined."""
    n = topology.ranks
    if topology.shape == "switch":
        return [n]
    if topology.shape in ("star", "tree"):
        return [0]
    if topology.shape == "fully_connected":
        return list(range(len(topology.devices)))
    raise TopologyError(
        "{name} has no place for a helper endpoint such as a parameter server: no device of it has a free port; "
        "let a rank serve (server='rank'), or use switch({n}), where a server gets a cable of its own",
        name=topology.name,
        n=n,
    )


def _add_hosts(topology: Topology, more: int) -> Topology:
    """The same with more hosts. In a network where all are joined, each to those before it as well."""
    neighbours = np.array(_find_neighbours_of_host(topology), np.int32)
    first = len(topology.devices)
    hosts = int((topology.devices.kind == DEVICE_KINDS.index("host")).sum())
    old, links = topology.devices, topology.links
    if not links.cables:
        message = "{name} has no cable to copy for a helper; use switch({ranks})"
        raise TopologyError(message, name=topology.name, ranks=topology.ranks)
    # All-to-all networks stay all-to-all: new hosts are joined with one another, too.
    cables_between = 0
    if topology.shape == "fully_connected":
        cables_between = more * (more - 1) // 2
    extent = Extent(first + more, len(links) + 2 * (more * len(neighbours) + cables_between))
    require_extent(
        Sentence("{name} with {more:,} more hosts", name=topology.name, more=more),
        extent,
        "use fewer helpers",
        TopologyError,
    )
    new_hosts = np.arange(first, first + more, dtype=np.int32)
    devices = Devices(
        _JoinedNames(old.name, [f"host{hosts + i}" for i in range(more)]),
        np.append(old.kind, np.full(more, DEVICE_KINDS.index("host"), np.int8)),
        np.append(old.node, np.full(more, -1, np.int32)),
    )
    # Each new host is joined to the devices before it only, so that a pair gets one cable.
    earlier = [np.append(neighbours, new_hosts[:i]) if cables_between else neighbours for i in range(more)]
    other = np.concatenate(earlier)
    new_host = np.repeat(new_hosts, [len(group) for group in earlier])
    src = np.stack([new_host, other], axis=1).ravel().astype(np.int32)
    dst = np.stack([other, new_host], axis=1).ravel().astype(np.int32)
    cable = links.cables[0]
    all_links = Links(
        np.concatenate([links.src, src]),
        np.concatenate([links.dst, dst]),
        np.append(links.alpha, np.full(len(src), cable.alpha)),
        np.append(links.bandwidth, np.full(len(src), cable.bandwidth)),
        np.append(links.cable, np.zeros(len(src), np.int32)),
        links.cables,
    )
    # Shortest paths are a table over devices, and have to be found anew with the new ones.
    next_hop = topology.next_hop
    if isinstance(next_hop, ShortestPaths):
        next_hop = ShortestPaths.of_links(len(devices), all_links)
    return replace(
        topology,
        devices=devices,
        links=all_links,
        next_hop=next_hop,
        endpoint_device=np.append(topology.endpoint_device, new_hosts),
    )
