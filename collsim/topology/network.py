"""A Topology: devices, directed links, which device each endpoint sits on, and the route between any two endpoints.

The columns are arrays, so a million GPUs are index arithmetic. Bandwidth is of one direction, in bytes per second;
alpha is seconds per link crossed. Every link belongs to a `Cable`, which carries the source of its numbers.
Routes are deterministic. In generic networks: fewest links; among equals the lower next device, in a ring clockwise (r
to r+1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..dtypes import ComparedByFields, Floats, Ints, Longs
from ..errors import Sentence, TopologyError, Words, describe_unknown
from ..errors.arguments import check_arguments, check_call
from ..errors.attributes import NamesNearAttributes
from ..errors.dependencies import pandas as pd
from ..steps import HelperLocation
from ..units import Bandwidth, Duration, format_bandwidth, format_time
from .facts import TopologyFacts

if TYPE_CHECKING:
    import networkx as nx

#: How somebody names the nodes of a graph.
NodeName = TypeVar("NodeName", bound=Hashable)

#: Registered by higher layers (`files`, viz), which this module must not import: how a Topology is written and drawn.
views: dict[str, Callable[..., object]] = {}

_MAX_SHOWN = 60  # rows of a table in a notebook, as pandas shows
#: Kinds of device, in the order of their codes.
DEVICE_KINDS = ("gpu", "cpu", "memory", "pcie", "nvswitch", "nic", "switch", "host")


@dataclass(frozen=True)
class Cable:
    """What a link is made of. Two links with the same Cable differ only in where they are.

    Attributes:
        kind: `nvlink`, `pcie`, `infiniband`, `ethernet`, `upi`, `memory`, `gpu_memory`, `c2c`, `xgmi` or `cable`
            (generic).
        label: product name as people say it, `"NVLink 3 ×12"`.
        bandwidth: B/s, one direction: what simulations use.
        alpha: s to cross it.
        source: where the numbers come from. A cable without one is refused.
        nominal: B/s, one direction, as the standard says; None where nothing is published.
        effective: B/s, one direction, as measured or as NCCL assumes; None where nothing is published.
        width: lanes of PCIe, or links bonded into one (the # of NV#).

    Examples:
        >>> import collsim as cs
        >>> cable = cs.topology.Cable("cable", "10 GB/s", bandwidth=10e9, alpha=2e-6, source="example")
        >>> cable.bandwidth
        10000000000.0
    """

    kind: str
    label: str
    bandwidth: float
    alpha: float
    source: str
    nominal: float | None = None
    effective: float | None = None
    width: int = 1

    def __post_init__(self) -> None:
        if not self.source:
            message = "cable {label!r} has no source for its numbers; say where they come from"
            raise TopologyError(message, label=self.label)
        if not self.bandwidth > 0 or not np.isfinite(self.bandwidth):
            message = "cable {label!r}: bandwidth={bandwidth!r} must be a finite rate above 0 B/s"
            raise TopologyError(message, label=self.label, bandwidth=self.bandwidth)
        if not self.alpha >= 0 or not np.isfinite(self.alpha):
            message = "cable {label!r}: alpha={alpha!r} must be 0 s or more"
            raise TopologyError(message, label=self.label, alpha=self.alpha)


class ComputedNames(Sequence[str]):
    """Names made when asked for, so that a million devices need no million strings. Each kind has a length and says
    `name(i)`, i from 0."""

    def name(self, i: int) -> str:
        """Name i. Raises IndexError beyond the last."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return len(self)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        return self.name(int(i) + (len(self) if i < 0 else 0))


@dataclass(frozen=True, eq=False)
class Names(ComputedNames):
    """Numbered names: `groups` are (how many, prefix), each counted from 0."""

    groups: tuple[tuple[int, str], ...]

    def __len__(self) -> int:
        return sum(count for count, _ in self.groups)

    def name(self, i: int) -> str:
        """The name of a device.

        Args:
            i: Its number.

        Raises:
            IndexError: There is no such device.
        """
        rest = i
        for count, prefix in self.groups:
            if 0 <= rest < count:
                return prefix + str(rest)
            rest -= count
        raise IndexError(i)


class Device(NamedTuple):
    """One device of a topology.

    Attributes:
        number: where it stands in the columns of `Devices`.
        name: `"node0/gpu3"`.
        kind: one of DEVICE_KINDS.
        node: the machine it is in; -1 for the fabric.
    """

    number: int
    name: str
    kind: str
    node: int


class Link(NamedTuple):
    """One directed link of a topology.

    Attributes:
        number: where it stands in the columns of `Links`.
        src: number of the device where it begins.
        dst: number of the device where it ends.
        kind: of its cable, as in `Cable.kind`.
        label: of its cable, as people say it.
        bandwidth: B/s, one direction.
        alpha: s to cross it.
    """

    number: int
    src: int
    dst: int
    kind: str
    label: str
    bandwidth: float
    alpha: float


Row = TypeVar("Row", Device, Link)


class _Columns(Sequence[Row]):
    """A table that is stored as columns and read as rows: `table[0]`, `table[-2:]`, `for row in table`, `len(table)`.

    Two are equal where all of their rows are.
    """

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._build_row(i) for i in range(*index.indices(len(self)))]
        if not isinstance(index, int | np.integer) or not -len(self) <= index < len(self):
            message = "{what}[{index!r}]: there are {count:,}, counted from 0; give a number or a slice"
            raise TopologyError(message, what=type(self).__name__, index=index, count=len(self))
        return self._build_row(int(index) % len(self))

    def __iter__(self) -> Iterator[Row]:
        return map(self._build_row, range(len(self)))

    def _build_row(self, i: int) -> Row:
        raise NotImplementedError

    def _count_kinds(self) -> Counter[str]:
        """How many there are of each kind."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame.

        Returns:
            One row for each entry, numbered as the entries are; the columns are the fields of a row but its number.
        """
        return pd.DataFrame(self._build_columns(len(self)))

    def _build_columns(self, rows: int) -> dict[str, object]:
        """The columns of the first rows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self._count_kinds().items())
        return f"<{type(self).__name__} {len(self):,}: {kinds}>"

    def _repr_html_(self) -> str:
        table = pd.DataFrame(self._build_columns(min(len(self), _MAX_SHOWN))).to_html()
        return f"<p>{escape(repr(self).strip('<>'))}</p>{table}"


@dataclass(frozen=True, eq=False, repr=False)
class Devices(ComparedByFields, _Columns[Device]):
    """Columns, one entry per device; a row of it is a `Device`.

    Attributes:
        name: names.
        kind: codes into DEVICE_KINDS.
        node: the machine it is in, -1 for the fabric.

    Examples:
        >>> import collsim as cs
        >>> cs.machine("dgx-a100").devices[0]
        Device(number=0, name='node0/gpu0', kind='gpu', node=0)
    """

    name: Sequence[str]
    kind: npt.NDArray[np.int8]
    node: Ints

    def __post_init__(self) -> None:
        _freeze(self.kind, self.node)

    def __len__(self) -> int:
        return len(self.kind)

    def __hash__(self) -> int:
        return hash((len(self), self.kind[:100].tobytes()))

    def _build_row(self, i: int) -> Device:
        return Device(i, self.name[i], DEVICE_KINDS[self.kind[i]], int(self.node[i]))

    def _count_kinds(self) -> Counter[str]:
        codes, counts = np.unique(self.kind, return_counts=True)
        return Counter({DEVICE_KINDS[code]: int(count) for code, count in zip(codes, counts, strict=True)})

    def _build_columns(self, rows: int) -> dict[str, object]:
        return {
            "name": self.name[:rows],
            "kind": np.array(DEVICE_KINDS, object)[self.kind[:rows]],
            "node": self.node[:rows],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Links(ComparedByFields, _Columns[Link]):
    """Columns, one entry per directed link; a row of it is a `Link`.

    Attributes:
        src: device where it begins.
        dst: device where it ends.
        alpha: s to cross it.
        bandwidth: B/s, one direction.
        cable: index into `cables`.
        cables: what the links are made of.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.ring(4).links[0]
        Link(number=0, src=0, dst=1, kind='cable', label='25 GB/s', bandwidth=25000000000.0, alpha=1e-06)
    """

    src: Ints
    dst: Ints
    alpha: Floats
    bandwidth: Floats
    cable: Ints
    cables: tuple[Cable, ...]

    def __post_init__(self) -> None:
        _freeze(self.src, self.dst, self.alpha, self.bandwidth, self.cable)

    def __len__(self) -> int:
        return len(self.src)

    def kind(self, link: int) -> str:
        """The kind of a link by its number.

        Args:
            link: Number of the link.
        """
        return self.cables[int(self.cable[link])].kind

    def __hash__(self) -> int:
        return hash((len(self), self.cables))

    def _build_row(self, i: int) -> Link:
        cable = self.cables[self.cable[i]]
        ends = int(self.src[i]), int(self.dst[i])
        return Link(i, *ends, cable.kind, cable.label, float(self.bandwidth[i]), float(self.alpha[i]))

    def _count_kinds(self) -> Counter[str]:
        kinds: Counter[str] = Counter()
        for cable, count in zip(self.cables, np.bincount(self.cable, minlength=len(self.cables)), strict=True):
            if count:
                kinds[cable.kind] += int(count)
        return kinds

    def _build_columns(self, rows: int) -> dict[str, object]:
        which = self.cable[:rows]
        return {
            "src": self.src[:rows],
            "dst": self.dst[:rows],
            "kind": np.array([cable.kind for cable in self.cables], object)[which],
            "label": np.array([cable.label for cable in self.cables], object)[which],
            "bandwidth": self.bandwidth[:rows],
            "alpha": self.alpha[:rows],
        }


@dataclass(frozen=True, eq=False)
class Routes:
    """Routes of many pairs: those of pair i are `link[start[i]:start[i+1]]`, in the order they are crossed.

    Attributes:
        start: (pairs + 1,): where the links of each pair begin.
        link: numbers of links.

    Examples:
        >>> import collsim as cs
        >>> routes = cs.topology.ring(4).routes([0, 1], [2, 2])
        >>> [routes[pair].tolist() for pair in range(len(routes))]
        [[0, 2], [2]]
    """

    start: Longs
    link: Ints

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, pair: int) -> Ints:
        return self.link[self.start[pair] : self.start[pair + 1]]

    @property
    def hops(self) -> Longs:
        return np.diff(self.start)


class Column(NamedTuple):
    """One hop of many routes: pair `pair[i]` crosses `link[i]`, each pair once; `pair` is None where all of them make
    this hop."""

    pair: Longs | None
    link: Ints


def merge_columns(columns: Sequence[Column], pairs: int) -> Routes:
    """The same routes, those of a pair together.

    Args:
        columns: hops of the routes in the order in which they are crossed.
        pairs: number of routes.
    """
    hops = np.zeros(pairs, np.int64)
    for pair, _ in columns:
        hops[slice(None) if pair is None else pair] += 1
    start = np.concatenate([[0], np.cumsum(hops)]).astype(np.int64)
    link = np.empty(start[-1], np.int32)
    position = start[:-1].copy()
    for pair, crossed in columns:
        selection = slice(None) if pair is None else pair
        link[position[selection]] = crossed
        position[selection] += 1
    return Routes(start, link)


#: (device now, device to reach) -> (next device); arrays in, arrays out; -1 where there is no way.
NextHop = Callable[[Longs, Longs], Longs]


class Router(Protocol):
    """Finds whole routes where the next hop does not follow from place and goal alone (staging passes a switch
    twice)."""

    def columns(self, src: Longs, dst: Longs) -> list[Column]:
        """Routes between devices, hop by hop. Raises NoRoute for the first pair that has none."""
        ...

    def describe_route(self, src: int, dst: int) -> Words:
        """Why the route is what it is, in the words of nvidia-smi and NCCL; empty where there is nothing to say."""
        ...


class NoRoute(Exception):
    """Pair number `pair` of those asked for has no route, because of `reason`."""

    def __init__(self, pair: int, reason: Words):
        """An error about one pair of a request for routes.

        Args:
            pair: Its number in the request.
            reason: The sentence.
        """
        super().__init__(reason)
        self.pair, self.reason = pair, reason


class Hop(NamedTuple):
    """One link of a route.

    Attributes:
        src: name of the device that sends.
        dst: name of the device that receives.
        kind: of the cable, such as `nvlink`.
        label: product name of the cable.
        bandwidth: B/s, one direction.
        alpha: s to cross it.
        link: its number.

    Examples:
        >>> import collsim as cs
        >>> (hop,) = cs.topology.ring(4, bandwidth="25GB/s", alpha="1us").route(0, 1)
        >>> print(hop)
        gpu0 → gpu1 (25 GB/s, 25 GB/s, 1 µs)
    """

    src: str
    dst: str
    kind: str
    label: str
    bandwidth: float
    alpha: float
    link: int

    def __str__(self) -> str:
        return f"{self.src} → {self.dst} ({self.label}, {format_bandwidth(self.bandwidth)}, {format_time(self.alpha)})"


@dataclass(frozen=True, eq=False, repr=False)
class Topology(ComparedByFields, NamesNearAttributes):
    """A network on which schedules can be timed. Build one with `ring`, `switch`, `machine`, `Topology.from_networkx`
    ...

    Attributes:
        name: how it was asked for, `"ring(8, bandwidth=25GB/s)"`; edits add themselves to it.
        ranks: number of ranks; rank r is endpoint r.
        devices: GPUs, cards, switches and so on, one row each.
        links: directed links between devices, one row each; a cable is two of them.
        endpoint_device: (endpoints,) device of each endpoint; those beyond the ranks are helpers (a parameter server, a
            switch that reduces).
        next_hop: (devices now, devices to reach) -> next devices, for routes by a rule; None where `router` finds them.
        router: finds all links of a route at once; None where `next_hop` does it hop by hop.
        shape: what kind of network, for drawing and for ring orders: `ring`, `switch`, `machine`, `graph` ...
        orders: ring orders, (channels available, ranks): channel c should visit the ranks in the order of row c; None:
            in rank order.
        facts: how it was built and changed: nodes, fabric, p2p, gdr, notes of a file ...
        reducing: devices of a generic network that are switches which reduce and multicast, as its builder says; which
            switches of a machine do follows from its parts (`places`).

    Examples:
        >>> import collsim as cs
        >>> network = cs.topology.torus(2, 3)
        >>> network
        <Topology torus(2, 3): 6 ranks, 6 devices, 18 links>
        >>> [hop.dst for hop in network.route(0, 4)]
        ['gpu1', 'gpu4']
    """

    name: str
    ranks: int
    devices: Devices
    links: Links
    endpoint_device: Ints
    next_hop: NextHop | None = None
    router: Router | None = None
    shape: str = "graph"
    orders: Ints | None = None
    facts: TopologyFacts = field(default_factory=TopologyFacts)
    reducing: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _freeze(self.endpoint_device)

    def __len__(self) -> int:
        """Number of devices."""
        return len(self.devices)

    def __iter__(self) -> Iterator[Device]:
        """The devices in order."""
        return iter(self.devices)

    @overload
    def __getitem__(self, device: str | int) -> Device: ...
    @overload
    def __getitem__(self, device: slice) -> list[Device]: ...
    def __getitem__(self, device: str | int | slice) -> Device | list[Device]:
        """A device by name or number, or several by a slice. Raises TopologyError, for a name with the nearest."""
        if isinstance(device, str):
            return self.devices[self.device(device)]
        return self.devices[device]

    def __hash__(self) -> int:
        return hash((self.name, self.ranks, len(self.devices), len(self.links)))

    def to_frame(self) -> pd.DataFrame:
        """The links as a pandas frame, with the names of their devices.

        Returns:
            One row for each directed link: `src`, `dst`, `kind`, `label`, `bandwidth` (B/s), `alpha` (s).

        Examples:
            >>> import collsim as cs
            >>> cs.topology.line(2).to_frame()
                src   dst   kind    label     bandwidth     alpha
            0  gpu0  gpu1  cable  25 GB/s  2.500000e+10  0.000001
            1  gpu1  gpu0  cable  25 GB/s  2.500000e+10  0.000001
        """
        names = np.array(self.devices.name[:], object)
        return self.links.to_frame().assign(src=names[self.links.src], dst=names[self.links.dst])

    @property
    def endpoints(self) -> int:
        """Ranks and helpers."""
        return len(self.endpoint_device)

    def routes(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> Routes:
        """Routes between endpoints, for arrays of equal length. A pair on one device has an empty route, unless
        several ranks share the device: then it is the link of the device to itself, its memory.

        Args:
            src: shape (pairs,), endpoints where routes begin.
            dst: shape (pairs,), endpoints where they end.

        Raises:
            TopologyError: Naming the first pair that cannot reach each other, or an endpoint that does not exist.
        """
        return merge_columns(self.columns(src, dst), np.size(src))

    def columns(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> list[Column]:
        """The same routes hop by hop, which is how they are found: for many pairs faster to sum over. Raises as
        `routes` does.

        Args:
            src: shape (pairs,), endpoints where routes begin.
            dst: shape (pairs,), endpoints where they end.
        """
        s, d = np.atleast_1d(np.asarray(src, np.int64)), np.atleast_1d(np.asarray(dst, np.int64))
        self._require_endpoints(s, d)
        return [*self._find_routes(s, d), *self._find_memory_links(s, d)]

    def _find_memory_links(self, src: Longs, dst: Longs) -> list[Column]:
        """Links to itself of the devices that several ranks share, for the pairs that stay on them."""
        if not len(self.memory_links):
            return []
        device = self.endpoint_device[src]
        stays = np.flatnonzero(
            (device == self.endpoint_device[dst]) & np.isin(device, self.links.src[self.memory_links])
        )
        return [Column(stays, self.link_between(device[stays], device[stays]))] if len(stays) else []

    @cached_property
    def memory_links(self) -> Longs:
        """Numbers of the links of a GPU to itself, its memory, which there are where several ranks share it."""
        return np.flatnonzero(self.links.src == self.links.dst)

    def _require_endpoints(self, src: Longs, dst: Longs) -> None:
        for array in (src, dst):
            bad = (array < 0) | (array >= self.endpoints)
            if not bad.any():
                continue
            values = {"name": self.name, "endpoint": array[bad][0], "last": self.ranks - 1}
            if self.endpoints == self.ranks:
                raise TopologyError("{name} has no rank {endpoint}: its ranks are 0 to {last}", **values)
            message = "{name} has no endpoint {endpoint}: its ranks are 0 to {last}, its helpers up to {end}"
            raise TopologyError(message, **values, end=self.endpoints - 1)

    def _find_routes(self, src: Longs, dst: Longs) -> list[Column]:
        """Ask the router, or walk all pairs at once, one link a turn."""
        goal = self.endpoint_device[dst].astype(np.int64)
        current = self.endpoint_device[src].astype(np.int64)
        if self.router is not None:
            try:
                return self.router.columns(current, goal)
            except NoRoute as lost:
                message = "{name}: {pair}; {reason}"
                raise TopologyError(
                    message, name=self.name, pair=self._pair(src[lost.pair], dst[lost.pair]), reason=lost.reason
                ) from None
        assert self.next_hop is not None
        columns: list[Column] = []
        moving = np.flatnonzero(current != goal)
        # A route longer than there are devices goes in circles: a fault in a routing function of the user's.
        while len(moving):
            if len(columns) > len(self.devices):
                message = "{name}: the route from rank {src} to rank {dst} never arrives"
                raise TopologyError(message, name=self.name, src=src[moving[0]], dst=dst[moving[0]])
            nxt = self.next_hop(current[moving], goal[moving])
            if (nxt < 0).any():
                lost_pair = moving[np.argmax(nxt < 0)]
                message = "{name}: {pair}; no links join them"
                raise TopologyError(message, name=self.name, pair=self._pair(src[lost_pair], dst[lost_pair]))
            columns.append(
                Column(moving if len(moving) < len(current) else None, self.link_between(current[moving], nxt))
            )
            current[moving] = nxt
            # Pairs that arrived drop out, so that long routes of a few pairs do not cost a pass over all.
            moving = moving[nxt != goal[moving]]
        return columns

    @cached_property
    def _link_keys(self) -> tuple[Longs, Longs]:
        keys = self.links.src.astype(np.int64) * len(self.devices) + self.links.dst
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    @check_call
    def link_between(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> Ints:
        """Ids of the links from devices `src` to neighbouring devices `dst`.

        Args:
            src: shape (pairs,), numbers of devices.
            dst: shape (pairs,), numbers of devices, each joined to its `src`.

        Raises:
            TopologyError: Where there is none.
        """
        keys, order = self._link_keys
        pair_keys = np.asarray(src, np.int64) * len(self.devices) + np.asarray(dst, np.int64)
        position = np.searchsorted(keys, pair_keys)
        if len(keys):
            ok = (position < len(keys)) & (keys[np.minimum(position, len(keys) - 1)] == pair_keys)
        else:
            ok = np.zeros(pair_keys.shape, bool)
        if not np.all(ok):
            lost = np.atleast_1d(pair_keys)[np.argmin(np.atleast_1d(ok))]
            a, b = divmod(int(lost), len(self.devices))
            message = "{name} has no link from {a} to {b}"
            raise TopologyError(message, name=self.name, a=self.devices.name[a], b=self.devices.name[b])
        return order[position].astype(np.int32)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_link_keys", "memory_links")}

    def _pair(self, src: int, dst: int) -> Sentence:
        return Sentence("{src} cannot reach {dst}", src=self._endpoint_name(src), dst=self._endpoint_name(dst))

    def _endpoint_name(self, endpoint: int) -> Sentence:
        if endpoint < self.ranks:
            return Sentence("rank {rank}", rank=endpoint)
        return Sentence("helper {helper}", helper=endpoint - self.ranks)

    # ---- names

    @check_call
    def device(self, name: str | int) -> int:
        """Number of a device by name or number.

        Args:
            name: "gpu0", "node1/nic0" or a number, which is only checked.

        Raises:
            TopologyError: There is none; the message has the nearest names.
        """
        if isinstance(name, int | np.integer):
            if not 0 <= name < len(self.devices):
                message = "{name} has no device {device}; devices are 0 to {last}"
                raise TopologyError(message, name=self.name, device=name, last=len(self.devices) - 1)
            return int(name)
        try:
            return self.devices.name.index(str(name))
        except ValueError:
            raise TopologyError(
                "{name}: {unknown}", name=self.name, unknown=describe_unknown("device", name, self.devices.name[:5000])
            ) from None

    @check_call
    def link_name(self, link: int) -> str:
        """`"node0/gpu3 → node0/nvswitch"`.

        Args:
            link: Number of the link.
        """
        return f"{self.devices.name[self.links.src[link]]} → {self.devices.name[self.links.dst[link]]}"

    @check_call
    def endpoint(self, name: str | int) -> int:
        """An endpoint by number, or by the name of the device it sits on.

        Args:
            name: number of an endpoint, or name of its device, `"node0/gpu3"`.

        Raises:
            TopologyError: For a device without one.
        """
        if isinstance(name, int | np.integer):
            return int(name)
        device = self.device(name)
        endpoints = np.flatnonzero(self.endpoint_device == device)
        if not len(endpoints):
            message = "{name}: no rank sits on {position!r}; ranks sit on {device!r}, ..."
            raise TopologyError(
                message, name=self.name, position=name, device=self.devices.name[self.endpoint_device[0]]
            )
        return int(endpoints[0])

    def crossings(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> int:
        """How many of these pairs of endpoints are in different nodes, so that their data cross the fabric.

        Args:
            src: shape (pairs,), endpoints.
            dst: shape (pairs,), endpoints.
        """
        s, d = np.atleast_1d(np.asarray(src, np.int64)), np.atleast_1d(np.asarray(dst, np.int64))
        self._require_endpoints(s, d)
        node = self.devices.node[self.endpoint_device]
        return int((node[s] != node[d]).sum())

    # ---- paths for people

    @check_call
    def route(self, src: str | int, dst: str | int) -> list[Hop]:
        """The links that data cross from one rank (or device of a rank, by name) to another, in order.

        Args:
            src: a rank, or the name of its device.
            dst: likewise.

        Raises:
            TopologyError: Where there is no such rank or no way.
        """
        names, links = self.devices.name, self.links
        route = self.routes(self.endpoint(src), self.endpoint(dst))[0]
        cable = [links.cables[c] for c in links.cable[route]]
        return [
            Hop(
                names[links.src[i]],
                names[links.dst[i]],
                c.kind,
                c.label,
                float(links.bandwidth[i]),
                float(links.alpha[i]),
                int(i),
            )
            for i, c in zip(route, cable, strict=True)
        ]

    @check_call
    def explain(self, src: str | int, dst: str | int) -> str:
        """A sentence: which way the data go, hop by hop, why that way, and what limits it.

        Args:
            src: Name or number of the device that sends.
            dst: Name or number of the device that receives.
        """
        from .explain import explain

        return explain(self, src, dst)

    # ---- what if

    @check_call
    def with_helpers(
        self, count: int, on: HelperLocation = "host", ranks: Sequence[int] | Longs | None = None
    ) -> Topology:
        """This network with a place for `count` helper endpoints (itself where it has enough of that kind already).

        Args:
            count: how many.
            on: what they sit on. `host` (a parameter server): networks around a switch, a hub or a root get extra hosts
                with the same cable; on machines it is host memory. `nvswitch` (NVLS): the NVSwitch of each node, from
                Hopper on. `fabric` (SHARP): the one InfiniBand switch between the nodes, from HDR on. `switch`: the
                NVSwitches where there is one helper for each node, else the switch between them. On a generic network
                each of the last three is a switch of which its builder says that it reduces: `switch(8, reduces=True)`.
            ranks: those that switches reduce for, which are on the nodes that count; all unless given.

        Raises:
            TopologyError: where there is no such place.
        """
        from .helper_placement import with_helpers

        return with_helpers(self, count, on, ranks)

    @check_arguments
    def with_link(
        self, a: str | int, b: str | int, *, bandwidth: Bandwidth | None = None, alpha: Duration | None = None
    ) -> Topology:
        """The same with another cable between devices a and b, both directions. Routes stay as they are.

        Args:
            a: a device, by name or number.
            b: the device at the other end of the cable.
            bandwidth: B/s or text, or a factor as text: `"half"`, `"double"`, `"x0.1"`, `"10%"`.
            alpha: seconds or text.
        """
        from .edits import with_link

        return with_link(self, a, b, bandwidth=bandwidth, alpha=alpha)

    def with_(self, **parts: object) -> Topology:
        """The same machine with other parts, by the words of `machine`; edits of its links are made again.

        Args:
            parts: what `machine` takes: gpus=4, nic="roce-100", nics=2, pcie=5, nvlink="board", nodes=4,
                oversubscription=2 ...; None for what the machine has itself.

        Raises:
            TopologyError: For a network that is no machine, and whatever `machine` refuses.

        Examples:
            >>> import collsim as cs
            >>> cs.machine("pcie-8gpu", nodes=2).with_(nic="roce-25", nics=1).name
            'pcie-8gpu(nodes=2, nic=roce-25, nics=1)'
        """
        changed = views["with_parts"](self, parts)
        assert isinstance(changed, Topology)
        return changed

    @check_call
    def without_link(self, a: str | int, b: str | int) -> Topology:
        """The same without the cable between devices a and b; what crossed it takes another way.

        Args:
            a: a device, by name or number.
            b: the device at the other end of the cable.

        Raises:
            TopologyError: Naming ranks that can no longer reach each other.
        """
        from .edits import remove_link

        return remove_link(self, a, b)

    @check_call
    def without_device(self, device: str | int) -> Topology:
        """The same with all cables of a device gone. Raises TopologyError if a rank sits on it or ranks are cut off.

        Args:
            device: Name or number of the device.
        """
        from .edits import remove_device

        return remove_device(self, device)

    @check_arguments
    def scaled(self, kind: str | None = None, by: float = 2.0) -> Topology:
        """The same with the bandwidth of every link of a kind (all links when None) multiplied. Routes stay as they
        are.

        Args:
            kind: of links, `"nvlink"`, `"infiniband"` ...; None for all links.
            by: factor above 0.
        """
        from .edits import scale_links

        return scale_links(self, kind, by)

    # ---- graphs

    @staticmethod
    def from_networkx(graph: nx.Graph[NodeName], name: str = "graph") -> Topology:
        """Any networkx graph: edges with `bandwidth` (B/s or text) and `alpha`; nodes with `kind="gpu"` are the ranks.

        See `collsim.topology.graph.from_networkx` for the details and errors.

        Args:
            graph: directed, or undirected for cables with two directions.
            name: of the topology.
        """
        from .graph import from_networkx

        return from_networkx(graph, name)

    def to_networkx(self) -> nx.DiGraph[Any]:
        """A directed graph: device names (`kind`, `node`, `rank`); edges with `bandwidth`, `alpha`, `kind`, `label`,
        `source`."""
        from .graph import to_networkx

        return to_networkx(self)

    def to_yaml(self) -> str:
        """collsim's own YAML (docs/machines.md); `load_topology` reads it back with the same figures and routes."""
        return str(views["to_yaml"](self))

    # ---- showing

    @check_call
    def draw(self, ax: object = None, language: str = "en") -> Any:  # matplotlib is known to `viz` alone
        """Draw the network: kinds of link by colour, bandwidth by width; beyond a few nodes a box stands for each.
        Returns the Axes.

        Args:
            ax: matplotlib's Axes to draw in; None makes a figure that fits.
            language: `en` or `zh`.

        Raises:
            CollsimError: For another language, and where even a box per node is too much to draw.
        """
        return views["draw"](self, ax, language)

    def _repr_html_(self) -> str | None:
        if "html" in views:
            return str(views["html"](self))
        return None

    def __repr__(self) -> str:
        return f"<Topology {self.name}: {self.ranks} ranks, {len(self.devices)} devices, {len(self.links)} links>"


def _freeze(*arrays: npt.NDArray[np.generic]) -> None:
    for array in arrays:
        array.flags.writeable = False


def count_offered_channels(topology: Topology | None, ranks: int | None = None) -> int:
    """Channels that a topology can use at full speed: one per ring order; 1 where it has none, or for fewer ranks than
    it has.

    Args:
        topology: None counts as one without ring orders.
        ranks: that take part; None for all.
    """
    if topology is None or topology.orders is None or (ranks is not None and ranks != topology.ranks):
        return 1
    return len(topology.orders)


def choose_channels(topology: Topology | None, ranks: int | None = None) -> int:
    """Channels of a run that names no number: all that a machine offers, as NCCL does; one on a generic network, as in
    textbooks.

    Args:
        topology: None counts as a generic network.
        ranks: that take part; None for all.
    """
    on_machine = topology is not None and topology.shape == "machine"
    if on_machine:
        return count_offered_channels(topology, ranks)
    return 1


@check_arguments
def build_ring_orders(topology: Topology | None, ranks: int, channels: int) -> Ints:
    """(channels, ranks): the order in which each channel's ring visits the ranks.

    A topology offers one order per channel it can use at full speed (another NIC, other NVLinks, the other way round);
    more channels than it offers use them again from the first. Without a topology every channel goes 0, 1, 2, ...

    Args:
        topology: whose orders are used; None for none.
        ranks: number of ranks that take part.
        channels: number of orders.

    Returns:
        Shape (channels, ranks).

    Examples:
        >>> import collsim as cs
        >>> cs.topology.build_ring_orders(None, ranks=4, channels=2).tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    offered = np.arange(ranks, dtype=np.int32)[None, :]
    if topology is not None and topology.orders is not None and topology.ranks == ranks:
        offered = topology.orders
    return offered[np.arange(channels) % len(offered)]
