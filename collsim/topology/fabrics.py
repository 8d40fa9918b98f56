"""Fabrics: what joins the network cards of many machines, with routes in closed form.

Cards are numbered node by node: port p = node * cards per node + card. Port p has cable p to its switch; cables between
switches follow. Cable i is links 2i (from the port or the lower layer) and 2i+1 (back). Uplinks are picked by the
destination (D-mod-k), so that different destinations spread over them. `oversubscription` is ports down / capacity up
of a leaf: the uplinks of a leaf carry together exactly its ports' rate divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import Sentence, TopologyError, describe_unknown, format_value
from ..limits import Extent, require_extent
from ..units import parse_count
from .generic import Groups, TorusNextHop
from .network import Cable, Longs, NextHop

#: (switch of the sender, switch of the receiver, receiving port) -> (pairs, hops) cables' links between switches, -1
#: where fewer.
SwitchRoute = Callable[[Longs, Longs, Longs], Longs]


@dataclass(frozen=True, eq=False)
class Fabric:
    """Switches, the cables between them, and the route between any two ports.

    Attributes:
        name: as it was asked for.
        switches: (how many, prefix of their names) per layer.
        home: (ports,) switch of each port.
        a: (cables,) switch of the lower layer that each cable between switches joins.
        b: (cables,) the switch at its other end.
        uplink: what those cables are; ports use their card's own.
        between: routes between switches.
        lanes: (cards per node,) rail or plane of each card; None where any card reaches any other alike.
        separate: True where lanes are not joined to each other at all.
        sharp: do its switches reduce (SHARP)?
    """

    name: str
    switches: tuple[tuple[int, str], ...]
    home: Longs
    a: Longs
    b: Longs
    uplink: Cable
    between: SwitchRoute
    lanes: tuple[int, ...] | None = None
    separate: bool = False
    sharp: bool = False

    def __eq__(self, other: object) -> bool:
        """Whether both are the same switches and cables. Their routes follow from these and the name."""
        if not isinstance(other, Fabric):
            return NotImplemented
        fields = ("name", "switches", "uplink", "lanes", "separate", "sharp")
        return all(getattr(self, name) == getattr(other, name) for name in fields) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("home", "a", "b")
        )

    def __hash__(self) -> int:
        return hash((self.name, self.switches))

    @property
    def ports(self) -> int:
        return len(self.home)

    def find_links(self, src: Longs, dst: Longs) -> Longs:
        """(pairs, hops) fabric links from port src to port dst in order; -1 where a route is shorter. Hops lie together
        in memory.

        Args:
            src: shape (pairs,), ports where routes begin.
            dst: shape (pairs,), ports where they end.
        """
        first, second = self.home[src].astype(src.dtype), self.home[dst].astype(src.dtype)
        inner = self.between(first, second, dst).T
        table = np.empty((len(inner) + 2, len(src)), src.dtype)
        table[0], table[-1] = 2 * src, 2 * dst + 1
        for hop, there in zip(table[1:-1], inner, strict=True):
            np.add(there, 2 * self.ports, out=hop)
            hop[(there < 0) | (first == second)] = -1
        return table.T

    def ends(self) -> tuple[Longs, Longs]:
        """(cables,) both ends of every cable; ports are 0 to ports-1, switch s is ports+s."""
        ports = np.arange(self.ports)
        return np.concatenate([ports, self.a + self.ports]), np.concatenate([self.home, self.b]) + self.ports


def route_nothing(first: Longs, second: Longs, port: Longs) -> Longs:
    """One switch: no cables between switches."""
    return np.full((len(first), 0), -1, np.int64)


@dataclass(frozen=True)
class LeafSpineRoute:
    """Two layers, a cable from every leaf to every spine: cable = leaf * spines + spine."""

    spines: int

    def __call__(self, first: Longs, second: Longs, port: Longs) -> Longs:
        spine = port % self.spines
        return np.stack([2 * (first * self.spines + spine), 2 * (second * self.spines + spine) + 1]).T


@dataclass(frozen=True)
class ThreeLayers:
    """Routes of a fat tree of three layers: edge, aggregation and core switches.

    Attributes:
        edges: edge switches of a pod.
        ups: aggregation switches of a pod.
        tops: core switches that each aggregation switch reaches; no other of its pod reaches them.
        pods: number of pods.
    """

    edges: int
    ups: int
    tops: int
    pods: int

    def __call__(self, source: Longs, target: Longs, port: Longs) -> Longs:
        # D-mod-k: the receiving port alone picks both ways up, its low digit the aggregation switch, the next one the
        # core.
        up, top = port % self.ups, port // self.ups % self.tops
        pod, goal = source // self.edges, target // self.edges
        # Cables of the lower layer come first, so those to the cores begin here.
        first = self.pods * self.edges * self.ups
        climb, fall = 2 * (source * self.ups + up), 2 * (target * self.ups + up) + 1
        upper_links = 2 * (first + (pod * self.ups + up) * self.tops + top)
        down = 2 * (first + (goal * self.ups + up) * self.tops + top) + 1
        far = pod != goal
        return np.stack([climb, np.where(far, upper_links, -1), np.where(far, down, -1), fall]).T


@dataclass(frozen=True, eq=False)
class Walk:
    """Step by step over the switches, for fabrics whose next hop is in closed form.

    Attributes:
        next_hop: (switches now, switches to reach) -> next switches.
        keys: (directed links,) source * switches + target, ascending.
        link: (directed links,) link between switches that each key stands for.
        switches: number of them.
    """

    next_hop: NextHop
    keys: Longs
    link: Longs
    switches: int

    def __call__(self, source: Longs, target: Longs, port: Longs) -> Longs:
        current, target = source.astype(np.int64), target.astype(np.int64)
        hops = []
        while (moving := current != target).any():
            then = np.where(moving, self.next_hop(current, target), current)
            position = np.searchsorted(self.keys, current * self.switches + then)
            hops.append(np.where(moving, self.link[np.minimum(position, len(self.keys) - 1)], -1))
            current = then
        if hops:
            return np.stack(hops).T
        return route_nothing(source, target, port)


def _build_walk(a: Longs, b: Longs, switches: int, next_hop: NextHop) -> Walk:
    src, dst = np.stack([a, b], 1).ravel(), np.stack([b, a], 1).ravel()
    keys = src * switches + dst
    order = np.argsort(keys)
    return Walk(next_hop, keys[order], order, switches)


@dataclass(frozen=True)
class _GroupsOfSwitches:
    """A dragonfly's next hop among its switches only."""

    groups: Groups

    def __call__(self, current: Longs, goal: Longs) -> Longs:
        p = self.groups.hosts
        first = p * self.groups.switches * (self.groups.switches * self.groups.cables + 1)
        return self.groups(current + first, goal * p) - first


# ---- builders: (nodes, cards per node, cable of a card, options) -> Fabric


@dataclass
class _FabricRequest:
    """What a fabric is built for, and the options that it has not yet taken."""

    name: str
    nodes: int
    cards: int
    cable: Cable
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def ports(self) -> int:
        return self.nodes * self.cards

    def require(self, switches: int, cables: int) -> None:
        """Raises TopologyError where so many switches and cables between them take too much memory."""
        what = Sentence("a fabric {name!r} for {ports:,} cards with these options", name=self.name, ports=self.ports)
        require_extent(
            what, Extent(switches, 2 * (self.ports + cables)), "use fewer or smaller switches", TopologyError
        )

    def take(self, key: str, default: object) -> object:
        value = self.options.pop(key, None)
        if value is None:
            return default
        return value

    def count(self, key: str, default: int) -> int:
        number = parse_count(self.take(key, default), key)
        if number >= 2**31:
            message = "{key}={number:,} is too large; it is at most {last:,}"
            raise TopologyError(message, key=key, number=number, last=2**31 - 1)
        return number

    def uplink(self, times: float, trunk: bool = False) -> Cable:
        """A cable between switches with the rate of `times` cards."""
        cable = self.cable
        # A trunk is several cables side by side, and is named so; a faster single cable is not.
        label = cable.label
        if trunk and times != 1:
            label = f"{times:g} × {cable.label}"
        effective = None
        if cable.effective is not None:
            effective = cable.effective * times
        source = cable.source
        if times != 1:
            source = f"×{times:.6g} of the card's rate, by the fabric's design; {cable.source}"
        nominal = None
        if cable.nominal is not None:
            nominal = cable.nominal * times
        return replace(
            cable, label=label, bandwidth=cable.bandwidth * times, nominal=nominal, effective=effective, source=source
        )

    def oversubscription(self) -> float:
        value = self.take("oversubscription", 1)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < 1e6:
            message = "oversubscription={value} must be a number above 0; 2 halves the way up of every leaf"
            raise TopologyError(message, value=format_value(value))
        return float(value)


def _build_switch(request: _FabricRequest) -> Fabric:
    return Fabric(
        "switch", ((1, "switch"),), np.zeros(request.ports, np.int64), _NONE, _NONE, request.cable, route_nothing
    )


def _build_leaf_spine(request: _FabricRequest) -> Fabric:
    radix = request.count("radix", 40)
    nodes_per_leaf = request.count(
        "nodes_per_leaf", min(max(1, radix // 2 // request.cards), max(1, -(-request.nodes // 2)))
    )
    down = nodes_per_leaf * request.cards
    home = np.arange(request.ports) // down
    return _build_two_layers(request, home, down)


def _build_rail(request: _FabricRequest) -> Fabric:
    unit = request.count("unit", min(32, request.nodes))
    node, card = np.divmod(np.arange(request.ports), request.cards)
    fabric = _build_two_layers(request, node // unit * request.cards + card, unit)
    return replace(fabric, lanes=tuple(range(request.cards)))


def _build_two_layers(request: _FabricRequest, home: Longs, down: int) -> Fabric:
    ratio = request.oversubscription()
    leaves = int(home.max()) + 1
    # As many cables up as it takes; each then gets its share of the exact rate, so that a ratio like 3 is met
    # exactly.
    spines = max(1, math.ceil(down / ratio - 1e-9))
    request.require(leaves + spines, leaves * spines)
    leaf, spine = np.divmod(np.arange(leaves * spines), spines)
    uplink = request.uplink(down / ratio / spines)
    return Fabric(
        request.name, ((leaves, "leaf"), (spines, "spine")), home, leaf, leaves + spine, uplink, LeafSpineRoute(spines)
    )


def _build_planes(request: _FabricRequest, planes: int | None = None) -> Fabric:
    count = planes or request.count("planes", 2)
    if count > request.cards:
        message = "planes={count} is more than the {cards} network cards of a node; each plane needs a card"
        raise TopologyError(message, count=count, cards=request.cards)
    home = np.arange(request.ports) % request.cards % count
    lanes = tuple(card % count for card in range(request.cards))
    return Fabric(
        request.name, ((count, "plane"),), home, _NONE, _NONE, request.cable, route_nothing, lanes, separate=count > 1
    )


def _build_rail_only(request: _FabricRequest) -> Fabric:
    return _build_planes(request, request.cards)


def _build_fat_tree(request: _FabricRequest) -> Fabric:
    ratio = request.oversubscription()
    # A fat tree of radix k holds k³/4 cards, so k is the cube root of four times the cards, and even: 2 × (cards /
    # 2)^(1/3).
    least = 2 * math.ceil((request.ports / 2) ** (1 / 3) - 1e-9)
    k = request.count("radix", max(4, least + least % 2))
    half = k // 2
    if k % 2 or half * half * k < request.ports:
        message = "a fat tree of switches with radix={k} ports holds {half:,} cards, not {ports:,}; use radix={least}"
        raise TopologyError(message, k=k, half=half * half * k, ports=request.ports, least=least)
    pods = -(-request.ports // (half * half))
    ups = max(1, math.ceil(half / ratio - 1e-9))
    layer_a, layer_b = pods * half, pods * ups
    request.require(layer_a + layer_b + ups * half, layer_a * ups + layer_b * half)
    edge, up = np.divmod(np.arange(layer_a * ups), ups)
    agg, top = np.divmod(np.arange(layer_b * half), half)
    a = np.concatenate([edge, layer_a + agg])
    b = np.concatenate([layer_a + edge // half * ups + up, layer_a + layer_b + agg % ups * half + top])
    switches = ((layer_a, "edge"), (layer_b, "aggregation"), (ups * half, "core"))
    uplink = request.uplink(half / ratio / ups)
    return Fabric(
        request.name, switches, np.arange(request.ports) // half, a, b, uplink, ThreeLayers(half, ups, half, pods)
    )


def _build_grid(request: _FabricRequest) -> Fabric:
    wrap = request.name == "torus"
    dims = request.take("dims", _factor_nearly_square(request.nodes))
    if not isinstance(dims, tuple | list):
        message = "dims={dims} must be a list of sizes, for example dims={example}"
        raise TopologyError(message, dims=format_value(dims), example=_factor_nearly_square(request.nodes))
    sizes = tuple(parse_count(d, "dims") for d in dims)
    if math.prod(sizes) != request.nodes:
        message = "dims={dims} hold {product} nodes, not {nodes}; a {name} has one router per node"
        raise TopologyError(
            message,
            dims=format_value(tuple(dims)),
            product=format_value(math.prod(sizes)),
            nodes=request.nodes,
            name=request.name,
        )
    request.require(request.nodes, request.nodes * len(sizes))
    node = np.arange(request.nodes)
    a, b, stride = [], [], 1
    for size in reversed(sizes):
        here = node // stride % size
        # A ring of two has one cable: the way around would be a second one between the same routers.
        has_next = np.full(request.nodes, wrap and size > 2) | (here < size - 1)
        a.append(node[has_next])
        b.append((node + ((here + 1) % size - here) * stride)[has_next])
        stride *= size
    ends_a, ends_b = np.concatenate(a), np.concatenate(b)
    home = np.arange(request.ports) // request.cards
    walk = _build_walk(ends_a, ends_b, request.nodes, TorusNextHop(sizes, wrap))
    return Fabric(
        request.name,
        ((request.nodes, "router"),),
        home,
        ends_a,
        ends_b,
        request.uplink(request.cards, trunk=True),
        walk,
    )


def _build_dragonfly(request: _FabricRequest) -> Fabric:
    p = request.count("ports_per_switch", request.cards)
    needed = -(-request.ports // p)
    h = 1
    # Balanced (Kim et al. 2008): groups of a = 2h switches with h cables each reach a·h other groups, so there are 2h
    # × (2h² + 1) switches; the smallest h that is enough.
    while 2 * h * (2 * h * h + 1) < needed:
        h += 1
    a, h = request.count("switches", 2 * h), request.count("cables", h)
    groups = a * h + 1
    if a * groups * p < request.ports:
        message = "a dragonfly with switches={a}, cables={h} holds {cards:,} cards, not {ports:,}; use more switches"
        raise TopologyError(message, a=a, h=h, cards=a * groups * p, ports=request.ports)
    request.require(a * groups, a * groups * (a + h))
    x, y = np.triu_indices(a, 1)
    group = np.repeat(np.arange(groups) * a, len(x))
    gx, wire = np.divmod(np.arange(groups * a * h), a * h)
    # Cable number `wire` of group x leads to group x + wire + 1, around the circle; seen from there it is the cable
    # that leads the other way around, groups - 2 - wire.
    gy = (gx + wire + 1) % groups
    once = gx < gy
    ends_a = np.concatenate([group + np.tile(x, groups), (gx * a + wire // h)[once]])
    ends_b = np.concatenate([group + np.tile(y, groups), (gy * a + (groups - 2 - wire) // h)[once]])
    walk = _build_walk(ends_a, ends_b, a * groups, _GroupsOfSwitches(Groups(p, a, h)))
    return Fabric(
        request.name, ((a * groups, "switch"),), np.arange(request.ports) // p, ends_a, ends_b, request.uplink(1), walk
    )


_NONE = np.zeros(0, np.int64)
_BUILDERS: dict[str, Callable[[_FabricRequest], Fabric]] = {
    "switch": _build_switch,
    "leaf-spine": _build_leaf_spine,
    "fat-tree": _build_fat_tree,
    "rail": _build_rail,
    "rail-only": _build_rail_only,
    "planes": _build_planes,
    "torus": _build_grid,
    "mesh": _build_grid,
    "dragonfly": _build_dragonfly,
}
#: Keywords of `machine` that belong to one fabric or another.
FABRIC_OPTIONS = ("radix", "nodes_per_leaf", "unit", "planes", "dims", "ports_per_switch", "switches", "cables")
#: Fabrics by name, with a sentence each; `collsim/locale/zh/errors` has it in Chinese.
FABRICS = {
    "switch": "one switch for all cards, non-blocking",
    "leaf-spine": "two layers; options oversubscription, radix, nodes_per_leaf",
    "fat-tree": "three layers (k-ary); options oversubscription, radix",
    "rail": "card i of every node of a unit on leaf i, spines above; options oversubscription, unit",
    "rail-only": "card i of every node on switch i, nothing above",
    "planes": "card i on plane i mod planes, planes not joined; option planes",
    "torus": "a router per node, a ring along each dimension; option dims",
    "mesh": "a router per node, a line along each dimension; option dims",
    "dragonfly": "groups of switches, a cable between any two groups; options ports_per_switch, switches, cables",
}


def build_fabric(name: str, nodes: int, cards: int, cable: Cable, **options: object) -> Fabric:
    """A fabric for nodes * cards ports.

    Args:
        name: `switch`, `leaf-spine`, `rail` ...
        nodes: number of nodes.
        cards: network cards of each node.
        cable: between a card and its switch.
        options: of that fabric, those of FABRIC_OPTIONS.

    Raises:
        TopologyError: For an unknown name or option, or sizes that do not fit.
    """
    name = str(name).lower().replace("_", "-")
    if name not in _BUILDERS:
        raise TopologyError(describe_unknown("fabric", name, _BUILDERS))
    request = _FabricRequest(name, nodes, cards, cable, dict(options))
    built = _BUILDERS[name](request)
    left = {k: v for k, v in request.options.items() if v is not None and not (k == "oversubscription" and v == 1)}
    if left:
        message = "fabric {name!r} has no option {left}; {name}: {options}"
        raise TopologyError(message, name=name, left=", ".join(map(repr, left)), options=Sentence(FABRICS[name]))
    return built


def _factor_nearly_square(nodes: int) -> tuple[int, ...]:
    """Two factors as equal as can be: 12 is 3 × 4."""
    side = next(d for d in range(math.isqrt(nodes), 0, -1) if nodes % d == 0)
    return (side, nodes // side)
