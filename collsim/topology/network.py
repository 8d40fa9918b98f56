"""A Topology: devices, directed links, which device each endpoint sits on, and the route between any two endpoints.

The columns are arrays, so a million GPUs are index arithmetic. Bandwidth is of one direction, in bytes per second; alpha is
seconds per link crossed. Every link belongs to a `Cable`, which carries the source of its numbers.
Routes are deterministic. In generic networks: fewest links; among equals the lower next device, in a ring clockwise (r to r+1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TopologyError

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

#: Kinds of device, in the order of their codes.
DEVICE_KINDS = ("gpu", "cpu", "memory", "pcie", "nvswitch", "nic", "switch", "host")


@dataclass(frozen=True)
class Cable:
    """What a link is made of. Two links with the same Cable differ only in where they are.

    Attributes:
        kind: `nvlink`, `pcie`, `infiniband`, `ethernet`, `upi`, `memory`, `c2c`, `xgmi` or `cable` (generic).
        label: product name as people say it, `"NVLink 3 ×12"`.
        bandwidth: bytes per second, one direction: what simulations use.
        alpha: seconds to cross it.
        nominal, effective: bytes per second, one direction: what the standard says, and what is measured or NCCL assumes
            (None where nothing is published).
        source: where the numbers come from. A cable without one is refused.
    """

    kind: str
    label: str
    bandwidth: float
    alpha: float
    source: str
    nominal: float | None = None
    effective: float | None = None

    def __post_init__(self) -> None:
        if not self.source:
            raise TopologyError(f"cable {self.label!r} has no source for its numbers; say where they come from")
        if not self.bandwidth > 0 or not np.isfinite(self.bandwidth):
            raise TopologyError(f"cable {self.label!r}: bandwidth={self.bandwidth!r} must be a finite rate above 0 B/s")
        if not self.alpha >= 0 or not np.isfinite(self.alpha):
            raise TopologyError(f"cable {self.label!r}: alpha={self.alpha!r} must be 0 s or more")


@dataclass(frozen=True, eq=False)
class Devices:
    """Columns, one entry per device. `kind` are codes into DEVICE_KINDS; `node` is the machine it is in, -1 for the fabric."""

    name: Sequence[str]
    kind: npt.NDArray[np.int8]
    node: Ints

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, eq=False)
class Links:
    """Columns, one entry per directed link. `cable` indexes `cables`."""

    src: Ints
    dst: Ints
    alpha: Floats
    bandwidth: Floats
    cable: npt.NDArray[np.int32]
    cables: tuple[Cable, ...]

    def __len__(self) -> int:
        return len(self.src)

    def kind(self, link: int) -> str:
        return self.cables[self.cable[link]].kind


@dataclass(frozen=True, eq=False)
class Routes:
    """Routes of many pairs: those of pair i are `link[start[i]:start[i+1]]`, in the order they are crossed."""

    start: npt.NDArray[np.int64]
    link: Ints

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, pair: int) -> Ints:
        return self.link[self.start[pair] : self.start[pair + 1]]

    @property
    def hops(self) -> npt.NDArray[np.int64]:
        return np.diff(self.start)


#: (device now, device to reach) -> (next device); arrays in, arrays out; -1 where there is no way.
NextHop = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.int64]]


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A network on which schedules can be timed. Build one with `ring`, `switch`, `machine`, `Topology.from_networkx` ...

    Attributes:
        name: how it was asked for, `"ring(8, bandwidth=25GB/s)"`; edits add themselves to it.
        ranks: number of ranks; rank r is endpoint r.
        endpoint_device: device of each endpoint; those beyond the ranks are helpers (a parameter server, a switch that reduces).
        shape: what kind of network, for drawing and for ring orders: `ring`, `switch`, `machine`, `graph` ...
        orders: ring orders, (channels available, ranks): channel c should visit the ranks in the order of row c.
        facts: anything a builder wants to be shown: nodes, machine name, fabric, p2p, gdr ...
    """

    name: str
    ranks: int
    devices: Devices
    links: Links
    endpoint_device: Ints
    next_hop: NextHop | None = None
    shape: str = "graph"
    orders: Ints | None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def endpoints(self) -> int:
        return len(self.endpoint_device)

    def routes(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> Routes:
        """Routes between endpoints, for arrays of equal length. A pair (r, r) has an empty route.

        Raises TopologyError naming the first pair that cannot reach each other, or an endpoint that does not exist.
        """
        s, d = np.atleast_1d(np.asarray(src, np.int64)), np.atleast_1d(np.asarray(dst, np.int64))
        self._require_endpoints(s, d)
        return self._find_routes(s, d)

    def _require_endpoints(self, src: npt.NDArray[np.int64], dst: npt.NDArray[np.int64]) -> None:
        for array in (src, dst):
            bad = (array < 0) | (array >= self.endpoints)
            if bad.any():
                raise TopologyError(
                    f"{self.name} has no place for endpoint {array[bad][0]}: it has {self.ranks} ranks"
                    + (f" and {self.endpoints - self.ranks} helpers" if self.endpoints > self.ranks else " and no helper endpoint")
                )

    def _find_routes(self, src: npt.NDArray[np.int64], dst: npt.NDArray[np.int64]) -> Routes:
        """Walk all pairs at once, one link a turn."""
        assert self.next_hop is not None
        goal = self.endpoint_device[dst].astype(np.int64)
        at = self.endpoint_device[src].astype(np.int64)
        hops: list[npt.NDArray[np.int32]] = []
        pairs: list[npt.NDArray[np.int64]] = []
        moving = np.flatnonzero(at != goal)
        while len(moving):
            if len(hops) > len(self.devices):
                raise TopologyError(f"{self.name}: the route from rank {src[moving[0]]} to rank {dst[moving[0]]} never arrives")
            nxt = self.next_hop(at[moving], goal[moving])
            if (nxt < 0).any():
                lost = moving[np.argmax(nxt < 0)]
                raise TopologyError(f"{self.name}: rank {src[lost]} cannot reach rank {dst[lost]}; no links join them")
            hops.append(self.link_between(at[moving], nxt))
            pairs.append(moving)
            at[moving] = nxt
            moving = moving[nxt != goal[moving]]
        if not hops:
            return Routes(np.zeros(len(src) + 1, np.int64), np.zeros(0, np.int32))
        pair = np.concatenate(pairs)
        order = np.argsort(pair, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=len(src)))])
        return Routes(start.astype(np.int64), np.concatenate(hops)[order])

    @cached_property
    def _link_keys(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        keys = self.links.src.astype(np.int64) * len(self.devices) + self.links.dst
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def link_between(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> Ints:
        """Ids of the links from devices `src` to neighbouring devices `dst`. Raises TopologyError where there is none."""
        keys, order = self._link_keys
        asked = np.asarray(src, np.int64) * len(self.devices) + np.asarray(dst, np.int64)
        found = np.searchsorted(keys, asked)
        ok = (found < len(keys)) & (keys[np.minimum(found, len(keys) - 1)] == asked) if len(keys) else np.zeros(asked.shape, bool)
        if not np.all(ok):
            lost = np.atleast_1d(asked)[np.argmin(np.atleast_1d(ok))]
            a, b = divmod(int(lost), len(self.devices))
            raise TopologyError(f"{self.name} has no link from {self.devices.name[a]} to {self.devices.name[b]}")
        return order[found].astype(np.int32)

    def __repr__(self) -> str:
        return f"<Topology {self.name}: {self.ranks} ranks, {len(self.devices)} devices, {len(self.links)} links>"


def ring_orders(topology: Topology | None, ranks: int, channels: int) -> Ints:
    """(channels, ranks): the order in which each channel's ring visits the ranks.

    A topology offers one order per channel it can use at full speed (another NIC, other NVLinks, the other way round); more
    channels than it offers use them again from the first. Without a topology every channel goes 0, 1, 2, ...
    """
    plain = np.arange(ranks, dtype=np.int32)[None, :]
    offered = plain if topology is None or topology.orders is None or topology.ranks != ranks else topology.orders
    return offered[np.arange(channels) % len(offered)]
