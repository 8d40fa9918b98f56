"""Generic networks: every cable alike, routes in closed form.

`bandwidth` and `alpha` are of each cable, one direction: B/s or text, s or text. Ranks are devices 0 to n-1; switches
follow. Cable i is links 2i (from the end named first) and 2i+1 (back). Routes cross the fewest links; among equals the
lower next device, in a ring (and in each ring of a torus) clockwise, r to r+1. In a fat tree the destination picks the
way up, so that different destinations spread over the switches (D-mod-k routing, Zahavi et al. 2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..dtypes import Ints, Longs
from ..errors import CollsimError, Sentence, TopologyError
from ..errors.arguments import check_arguments
from ..limits import Extent, require_extent
from ..units import Bandwidth, Duration, format_bandwidth, parse_bandwidth, parse_count, parse_time
from .cable_figures import parse_cable_alpha, parse_cable_bandwidth
from .facts import DragonflyGroup, TopologyFacts
from .network import DEVICE_KINDS, Cable, Devices, Links, Names, NextHop, Topology

BANDWIDTH = "25GB/s"
ALPHA = "1us"
_TEACHING_SOURCE = (
    "default of generic networks, a round teaching value (25 GB/s is the rate of one HDR InfiniBand port)"
)


# ---- next hops: (device now, device to reach) -> next device


@dataclass(frozen=True)
class TorusNextHop:
    """A torus (`wrap`) or mesh of `dims`: next hop: the lowest-numbered neighbour closer to the goal."""

    dims: tuple[int, ...]
    wrap: bool

    def __call__(self, current: Longs, goal: Longs) -> Longs:
        best = np.full(current.shape, np.iinfo(np.int64).max)
        stride = 1
        for size in reversed(self.dims):
            here, there = current // stride % size, goal // stride % size
            if self.wrap:
                # Half the way around counts as clockwise.
                clockwise = 2 * ((there - here) % size) <= size
            else:
                clockwise = there > here
            direction = np.where(clockwise, 1, -1)
            step = current + ((here + direction) % size - here) * stride
            best = np.where(here != there, np.minimum(best, step), best)
            stride *= size
        return best


@dataclass(frozen=True)
class Through:
    """Everything meets at device `middle`: a switch, or the hub of a star."""

    middle: int

    def __call__(self, current: Longs, goal: Longs) -> Longs:
        return np.where(current == self.middle, goal, self.middle)


def go_straight(current: Longs, goal: Longs) -> Longs:
    """A cable to everybody."""
    return goal


@dataclass(frozen=True)
class Heap:
    """A tree in heap order: the parent of r is (r-1) // arity. Devices from `ranks` on hang at the root."""

    ranks: int
    arity: int

    def __call__(self, current: Longs, goal: Longs) -> Longs:
        up = np.where(current < self.ranks, (current - 1) // self.arity, 0)
        child = goal.copy()
        answer = np.where((goal >= self.ranks) & (current == 0), goal, up)
        while (climbing := (child > current) & (child < self.ranks)).any():
            parent = np.where(climbing, (child - 1) // self.arity, child)
            answer = np.where(climbing & (parent == current), child, answer)
            child = parent
        return answer


def flip_bit(current: Longs, goal: Longs) -> Longs:
    """Hypercube: clear the highest bit that is set and must not be, else set the lowest that must be.

    Args:
        current: shape (pairs,), devices now.
        goal: shape (pairs,), devices to reach.

    Returns:
        Shape (pairs,): the next devices.
    """
    wrong = current ^ goal
    down = current & wrong
    # The exponent of a float is the position of its highest bit; `x & -x` leaves the lowest one.
    highest = np.left_shift(1, np.maximum(np.frexp(down.astype(np.float64))[1] - 1, 0))
    return current ^ np.where(down > 0, highest, wrong & -wrong)


@dataclass(frozen=True)
class Clos:
    """k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts."""

    k: int

    def __call__(self, current: Longs, goal: Longs) -> Longs:
        half = self.k // 2
        hosts, layer = half * half * self.k, half * self.k
        edge, agg, core = hosts, hosts + layer, hosts + 2 * layer
        goal_edge, goal_pod = goal // half, goal // (half * half)
        e, a, c = current - edge, current - agg, current - core
        from_edge = np.where(e == goal_edge, goal, agg + e // half * half + goal % half)
        from_agg = np.where(a // half == goal_pod, edge + goal_edge, core + a % half * half + goal_edge % half)
        from_core = agg + goal_pod * half + c // half
        return np.where(
            current < edge,
            edge + current // half,
            np.where(current < agg, from_edge, np.where(current < core, from_agg, from_core)),
        )


@dataclass(frozen=True)
class Groups:
    """Dragonfly of g = a*h+1 groups of `a` switches: switch s of a group holds its global cables s*h to s*h+h-1.

    Global cable j of group x leads to group (x+j+1) mod g, where it is cable g-2-j.

    Attributes:
        hosts: ranks at each switch.
        switches: switches of a group, `a`.
        cables: global cables of each switch, `h`.
    """

    hosts: int
    switches: int
    cables: int

    def __call__(self, current: Longs, goal: Longs) -> Longs:
        p, a, h = self.hosts, self.switches, self.cables
        groups = a * h + 1
        first = p * a * groups
        target = goal // p
        s = current - first
        group, goal_group = s // a, target // a
        wire = (goal_group - group - 1) % groups
        gate = group * a + wire // h
        far = goal_group * a + (groups - 2 - wire) // h
        local = np.where(s == target, goal, first + target)
        away = np.where(s == gate, first + far, first + gate)
        return np.where(current < first, first + current // p, np.where(group == goal_group, local, away))


# ---- the networks


@check_arguments
def ring(ranks: int, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A cable from each rank to the next, and from the last to the first; full duplex, so there are two rings of
    links.

    Args:
        ranks: how many.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> [hop.dst for hop in cs.topology.ring(4).route(0, 3)]
        ['gpu3']
    """
    n = _parse_ranks("ring", ranks, orders=2)
    a = np.arange(n if n > 2 else n - 1)
    clockwise = np.arange(n, dtype=np.int32)
    orders = np.stack([clockwise, np.roll(clockwise[::-1], 1)])
    return _build_network("ring", (n,), n, a, (a + 1) % n, TorusNextHop((n,), True), bandwidth, alpha, orders=orders)


@check_arguments
def line(ranks: int, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A cable from each rank to the next.

    Args:
        ranks: how many.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> [hop.dst for hop in cs.topology.line(4).route(0, 3)]
        ['gpu1', 'gpu2', 'gpu3']
    """
    n = _parse_ranks("line", ranks)
    a = np.arange(n - 1)
    return _build_network("line", (n,), n, a, a + 1, TorusNextHop((n,), False), bandwidth, alpha)


@check_arguments
def star(ranks: int, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A cable from each rank to rank 0, which is the hub and forwards what is not for it.

    Args:
        ranks: how many, the hub included.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> [hop.dst for hop in cs.topology.star(4).route(1, 2)]
        ['gpu0', 'gpu2']
    """
    n = _parse_ranks("star", ranks)
    spoke = np.arange(1, n)
    return _build_network("star", (n,), n, np.zeros(n - 1, np.int64), spoke, Through(0), bandwidth, alpha)


@check_arguments
def switch(
    ranks: int, *, helpers: int = 0, reduces: bool = False, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA
) -> Topology:
    """One cable from each rank to one non-blocking switch: two links, and twice alpha, between any two ranks.

    Args:
        ranks: how many.
        helpers: endpoints beyond the ranks (parameter servers), each with a cable of its own.
        reduces: does the switch add up and multicast what passes it, as NVLS and SHARP need it? Few switches do.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: for a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
        <Topology switch(4): 4 ranks, 5 devices, 8 links>
    """
    n = _parse_ranks("switch", ranks)
    if not isinstance(reduces, bool):
        raise TopologyError("switch(reduces={reduces!r}): give True or False", reduces=reduces)
    rank, extra = np.arange(n), ((1, "switch", "switch"),)
    if reduces:
        options = {"reduces": True}
    else:
        # Only options that differ from the default stand in the network's name.
        options = {}
    network = _build_network(
        "switch", (n,), n, rank, np.full(n, n), Through(n), bandwidth, alpha, extra=extra, options=options
    )
    if reduces:
        network = replace(network, reducing=(n,))
    return network.with_helpers(parse_count(helpers, "helpers", least=0))


@check_arguments
def fully_connected(ranks: int, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A cable of its own between any two ranks: n-1 cables at each rank.

    Args:
        ranks: how many.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.fully_connected(4)
        <Topology fully_connected(4): 4 ranks, 4 devices, 12 links>
    """
    n = _parse_ranks("fully_connected", ranks)
    _require_small("fully_connected", n, n * (n - 1) // 2, "use switch")
    a, b = np.triu_indices(n, 1)
    return _build_network("fully_connected", (n,), n, a, b, go_straight, bandwidth, alpha)


@check_arguments
def tree(ranks: int, *, arity: int = 2, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """Ranks in heap order: a cable from each rank r > 0 to rank (r-1) // arity.

    Args:
        ranks: how many.
        arity: children of a rank.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> [hop.dst for hop in cs.topology.tree(7).route(3, 4)]
        ['gpu1', 'gpu4']
    """
    n = _parse_ranks("tree", ranks)
    arity = parse_count(arity, "arity")
    child = np.arange(1, n)
    if arity == 2:
        options = {}
    else:
        options = {"arity": arity}
    return _build_network(
        "tree", (n,), n, (child - 1) // arity, child, Heap(n, arity), bandwidth, alpha, options=options
    )


@check_arguments
def torus(*dims: int, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A ring along every dimension; rank = row-major position, the last dimension fastest. `torus(4, 4, 4)` has 64
    ranks.

    Args:
        dims: ranks along each dimension.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network; the product of `dims` is its number of ranks.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.torus(4, 4, 4).ranks
        64
    """
    sizes = _parse_dims("torus", dims)
    return _build_grid("torus", sizes, True, bandwidth, alpha)


@check_arguments
def mesh(*dims: int, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A line along every dimension; rank = row-major position, the last dimension fastest.

    Args:
        dims: ranks along each dimension.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network; the product of `dims` is its number of ranks.

    Raises:
        TopologyError: For a number, rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> [hop.dst for hop in cs.topology.mesh(2, 3).route(0, 5)]
        ['gpu1', 'gpu2', 'gpu5']
    """
    sizes = _parse_dims("mesh", dims)
    return _build_grid("mesh", sizes, False, bandwidth, alpha)


@check_arguments
def hypercube(ranks: int, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """A cable between ranks that differ in one bit.

    Args:
        ranks: how many, a power of two (not the dimension).
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network.

    Raises:
        TopologyError: For a number that is no power of two, and a rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> [hop.dst for hop in cs.topology.hypercube(8).route(0, 7)]
        ['gpu1', 'gpu3', 'gpu7']
    """
    n = _parse_ranks("hypercube", ranks)
    if n & (n - 1):
        message = (
            "hypercube({n}): the number of ranks must be a power of two; a cube of {n} dimensions is hypercube({ranks})"
        )
        raise TopologyError(message, n=n, ranks=2 ** min(n, 40))
    _require_small("hypercube", n, n * (n.bit_length() - 1), "use fewer ranks")
    bits = np.arange(n.bit_length() - 1)
    a = np.repeat(np.arange(n), len(bits))
    b = a ^ np.left_shift(1, np.tile(bits, n))
    return _build_network("hypercube", (n,), n, a[a < b], b[a < b], flip_bit, bandwidth, alpha)


@check_arguments
def fat_tree(k: int, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA) -> Topology:
    """k-ary fat tree of switches with k ports, k^3/4 ranks, full bisection (Al-Fares, Loukissas & Vahdat 2008, section
    2.2).

    Args:
        k: ports of each switch, an even number.
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network, with k^3/4 ranks.

    Raises:
        TopologyError: For an odd k, and a rate or time that cannot be.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.fat_tree(4).ranks
        16
    """
    k = parse_count(k, "k", least=2)
    if k % 2:
        raise TopologyError("fat_tree({k}): k, the ports of a switch, must be even; use {even}", k=k, even=k + 1)
    half = k // 2
    # Each edge switch has a cable to every aggregation switch of its pod.
    hosts, layer = half * half * k, half * k
    _require_small("fat_tree", hosts + 2 * layer + half * half, 3 * hosts, "use a smaller k")
    host, edge, agg = np.arange(hosts), hosts + np.arange(layer), hosts + layer + np.arange(layer)
    pod, i = np.divmod(np.arange(layer), half)
    up_a, up_b = np.repeat(edge, half), hosts + layer + np.repeat(pod * half, half) + np.tile(np.arange(half), layer)
    # Aggregation switch i of each pod goes to the i-th group of core switches, so that pods meet at all of them.
    core = hosts + 2 * layer + np.repeat(i * half, half) + np.tile(np.arange(half), layer)
    a = np.concatenate([host, up_a, np.repeat(agg, half)])
    b = np.concatenate([hosts + host // half, up_b, core])
    extra = ((layer, "edge", "switch"), (layer, "aggregation", "switch"), (half * half, "core", "switch"))
    return _build_network("fat_tree", (k,), hosts, a, b, Clos(k), bandwidth, alpha, extra=extra)


@check_arguments
def dragonfly(
    hosts: int = 2, switches: int = 4, cables: int = 2, *, bandwidth: Bandwidth = BANDWIDTH, alpha: Duration = ALPHA
) -> Topology:
    """Largest dragonfly: g = switches*cables + 1 groups, all switches of a group joined, one cable between any two
    groups.

    Balanced when a = 2p = 2h (Kim, Dally, Scott & Abts 2008, section 3.1). Minimal routes: at most local, global,
    local.

    Args:
        hosts: ranks at each switch (p).
        switches: switches in a group (a).
        cables: global cables at each switch (h).
        bandwidth: of each cable, one direction: B/s or text.
        alpha: of each cable: s or text.

    Returns:
        The network, with p a (a h + 1) ranks.

    Examples:
        >>> import collsim as cs
        >>> cs.topology.dragonfly(1, 2, 1).ranks
        6
    """
    p, a, h = parse_count(hosts, "hosts"), parse_count(switches, "switches"), parse_count(cables, "cables")
    # The largest dragonfly: each group has one cable to every other, a*h of them.
    groups = a * h + 1
    ranks, total = p * a * groups, a * groups
    _require_small("dragonfly", ranks + total, ranks + total * (a + h), "use fewer switches")
    near, far = list_dragonfly_cables(a, h)
    ends_a = np.concatenate([np.arange(ranks), ranks + near])
    ends_b = np.concatenate([ranks + np.arange(ranks) // p, ranks + far])
    extra, facts = ((total, "switch", "switch"),), TopologyFacts(dragonfly=DragonflyGroup(a, p))
    route = Groups(p, a, h)
    return _build_network(
        "dragonfly", (p, a, h), ranks, ends_a, ends_b, route, bandwidth, alpha, extra=extra, facts=facts
    )


#: The generic networks by name, for menus and for text such as `"ring(8, bandwidth=25GB/s)"`.
NETWORKS: MappingProxyType[str, Callable[..., Topology]] = MappingProxyType(
    {
        f.__name__: f
        for f in (ring, line, star, switch, fully_connected, tree, torus, mesh, hypercube, fat_tree, dragonfly)
    }
)


# ---- making them

_NO_FACTS = TopologyFacts()


def _build_network(
    shape: str,
    arguments: tuple[int, ...],
    ranks: int,
    a: Any,
    b: Any,
    next_hop: NextHop,
    bandwidth: Bandwidth,
    alpha: Duration,
    *,
    extra: Sequence[tuple[int, str, str]] = (),
    options: dict[str, Any] | None = None,
    orders: Ints | None = None,
    facts: TopologyFacts = _NO_FACTS,
) -> Topology:
    """A network of `ranks` GPUs and `extra` devices (count, name, kind), with a cable from each a[i] to b[i]; `facts`:
    what its shape cannot be drawn without."""
    rate, delay = _parse_rates(shape, bandwidth, alpha)
    source = "as given by who built this network"
    # The default rates are for teaching, and their source says so; given ones have no other source than the caller.
    if rate == parse_bandwidth(BANDWIDTH) and delay == parse_time(ALPHA):
        source = _TEACHING_SOURCE
    cable = Cable("cable", format_bandwidth(rate), rate, delay, source, nominal=rate)
    counts = [ranks, *(count for count, _, _ in extra)]
    kinds = [DEVICE_KINDS.index("gpu"), *(DEVICE_KINDS.index(kind) for _, _, kind in extra)]
    devices = Devices(
        Names(((ranks, "gpu"), *((count, name) for count, name, _ in extra))),
        np.repeat(np.array(kinds, np.int8), counts),
        np.full(sum(counts), -1, np.int32),
    )
    name = _format_name(shape, arguments, options or {}, rate, delay)
    return Topology(
        name=name,
        ranks=ranks,
        devices=devices,
        links=build_both_directions(np.asarray(a), np.asarray(b), cable),
        endpoint_device=np.arange(ranks, dtype=np.int32),
        next_hop=next_hop,
        shape=shape,
        orders=orders,
        facts=replace(facts, network=name),
    )


def build_both_directions(a: Longs, b: Longs, cable: Cable) -> Links:
    """Links a[i] to b[i] and back, one cable: 2i and 2i+1."""
    src = np.stack([a, b], axis=1).ravel().astype(np.int32)
    dst = np.stack([b, a], axis=1).ravel().astype(np.int32)
    return Links(
        src,
        dst,
        np.full(len(src), cable.alpha),
        np.full(len(src), cable.bandwidth),
        np.zeros(len(src), np.int32),
        (cable,),
    )


def list_grid_cables(dims: Sequence[int], wrap: bool) -> tuple[Longs, Longs]:
    """The two ends of each cable of a mesh, or of a torus.

    Args:
        dims: nodes along each dimension, the last one fastest.
        wrap: whether each line of nodes is closed to a ring.
    """
    node = np.arange(math.prod(dims))
    a, b, stride = [], [], 1
    for size in reversed(dims):
        here = node // stride % size
        # A ring of two has one cable: the way around would be a second one between the same nodes.
        has_next = np.full(len(node), wrap and size > 2) | (here < size - 1)
        a.append(node[has_next])
        b.append((node + ((here + 1) % size - here) * stride)[has_next])
        stride *= size
    return np.concatenate(a), np.concatenate(b)


def list_dragonfly_cables(switches: int, cables: int) -> tuple[Longs, Longs]:
    """The two ends of each cable between switches of a dragonfly: all pairs within a group, and one pair for any two
    groups.

    Args:
        switches: of a group.
        cables: of a switch to other groups.
    """
    groups = switches * cables + 1
    x, y = np.triu_indices(switches, 1)
    first = np.repeat(np.arange(groups) * switches, len(x))
    # Cable `wire` of group gx goes to group gx + wire + 1; seen from there it is cable groups - 2 - wire.
    gx, wire = np.divmod(np.arange(groups * switches * cables), switches * cables)
    gy = (gx + wire + 1) % groups
    near, far = gx * switches + wire // cables, gy * switches + (groups - 2 - wire) // cables
    # Each cable was found from both of its groups; it is kept once.
    once = gx < gy
    ends = (first + np.tile(x, groups), near[once]), (first + np.tile(y, groups), far[once])
    return np.concatenate(ends[0]), np.concatenate(ends[1])


def _build_grid(shape: str, dims: tuple[int, ...], wrap: bool, bandwidth: Bandwidth, alpha: Duration) -> Topology:
    a, b = list_grid_cables(dims, wrap)
    route, facts = TorusNextHop(dims, wrap), TopologyFacts(dims=dims)
    return _build_network(shape, dims, math.prod(dims), a, b, route, bandwidth, alpha, facts=facts)


def _parse_ranks(shape: str, ranks: object, orders: int = 0) -> int:
    try:
        n = parse_count(ranks, "ranks")
    except CollsimError as error:
        raise TopologyError("{shape}: {error}", shape=shape, error=error) from None
    _require_small(shape, n, n, "use fewer ranks", numbers=orders * n)
    return n


def _parse_dims(shape: str, dims: Sequence[object]) -> tuple[int, ...]:
    if len(dims) == 1 and isinstance(dims[0], tuple | list):
        dims = dims[0]
    if not dims:
        raise TopologyError("{shape}() needs the size of each dimension, for example {shape}(4, 4)", shape=shape)
    sizes = tuple(
        parse_count(d, Sentence("dimension {number} of {shape}", number=i, shape=shape)) for i, d in enumerate(dims)
    )
    _require_small(shape, ranks := math.prod(sizes), ranks * len(sizes), "use smaller dimensions")
    return sizes


def _require_small(shape: str, devices: int, cables: int, advice: str, numbers: int = 0) -> None:
    what = Sentence("a {shape} of this size", shape=shape)
    require_extent(what, Extent(devices, 2 * cables, numbers=numbers), advice, TopologyError)


def _parse_rates(shape: str, bandwidth: Bandwidth, alpha: Duration) -> tuple[float, float]:
    try:
        return parse_cable_bandwidth(bandwidth), parse_cable_alpha(alpha)
    except CollsimError as error:
        raise TopologyError("{shape}: {error}", shape=shape, error=error) from None


def _format_name(shape: str, arguments: tuple[int, ...], options: dict[str, object], rate: float, delay: float) -> str:
    """As it can be typed again; what is at its default is left out."""
    parts = [str(a) for a in arguments] + [f"{k}={v}" for k, v in options.items()]
    if rate != parse_bandwidth(BANDWIDTH):
        text = f"{rate / 1e9:.12g}GB/s"
        parts.append(f"bandwidth={text if parse_bandwidth(text) == rate else repr(rate)}")
    if delay != parse_time(ALPHA):
        texts = (f"{delay * per:.12g}{unit}" for unit, per in (("us", 1e6), ("ns", 1e9), ("ms", 1e3)))
        parts.append("alpha=" + next((text for text in texts if parse_time(text) == delay), repr(delay)))
    return f"{shape}({', '.join(parts)})"
