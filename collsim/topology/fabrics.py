"""Fabrics: what joins the network cards of many machines, with routes in closed form.

Cards are numbered node by node: port p = node * cards per node + card. Port p has cable p to its switch; cables between
switches follow. Cable i is links 2i (from the port or the lower layer) and 2i+1 (back). `oversubscription` is ports
down / capacity up of a leaf: the uplinks of a leaf carry together exactly its ports' rate divided by it.

Where several cables lead upwards, the routing picks one (`ROUTINGS`): by the destination (D-mod-k), unless asked for
otherwise. Packet spraying divides every flow over all of them, so that at the level of flows they are one trunk with
the rate of all; it is built as that trunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import ComparedByFields, Longs
from ..errors import CollsimError, Sentence, TopologyError, describe_unknown, format_value
from ..limits import Extent, require_extent
from ..units import parse_count
from .generic import Groups, TorusNextHop, list_dragonfly_cables, list_grid_cables
from .network import Cable, NextHop

#: (switch of the sender, switch of the receiver, number whose digits pick the cables upwards) -> (pairs, hops) cables'
#: links between switches, -1 where fewer.
SwitchRoute = Callable[[Longs, Longs, Longs], Longs]

#: How a fabric picks among equal routes upwards. `d-mod-k`: by the receiving port, so that receivers that follow one
#: another spread evenly (Zahavi 2012); `s-mod-k`: by the sending port; `static`: a table in the switches, random by
#: receiving port; `ecmp`: a hash of both for each flow (RFC 2992); `spray`: packets of a flow over all cables, which is
#: also what adaptive routing reaches at best.
ROUTINGS = ("d-mod-k", "s-mod-k", "static", "ecmp", "spray")
#: Those that a seed changes.
SEEDED_ROUTINGS = ("static", "ecmp")
#: Fabrics with several equal routes.
ROUTED_FABRICS = ("leaf-spine", "fat-tree", "rail")


@dataclass(frozen=True)
class PathChoice:
    """Which of several equal cables upwards a flow takes.

    Attributes:
        routing: one of `ROUTINGS`.
        seed: of the hash; the other routings do without.
    """

    routing: str = "d-mod-k"
    seed: int = 0

    def pick(self, src: Longs, dst: Longs, ports: int) -> Longs:
        """A number for each pair of ports whose digits pick its cables, from the lowest layer upwards.

        Args:
            src: shape (pairs,), ports where routes begin.
            dst: shape (pairs,), ports where they end.
            ports: how many ports there are.
        """
        if self.routing == "s-mod-k":
            return src
        if self.routing == "static":
            return _hash_numbers(dst, self.seed)
        if self.routing == "ecmp":
            return _hash_numbers(src.astype(np.int64) * ports + dst, self.seed)
        return dst


#: Where nothing is said.
_BY_RECEIVER = PathChoice()


def _hash_numbers(numbers: Longs, seed: int) -> Longs:
    """Well mixed whole numbers of 62 bits: splitmix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
    generators"), once for the seed and once for seed and number."""
    mixed = _mix_bits(np.uint64(seed) + np.zeros(1, np.uint64))
    return (_mix_bits(numbers.astype(np.uint64) + mixed) >> np.uint64(2)).astype(np.int64)


def _mix_bits(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Fabric(ComparedByFields):
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
        choice: which cable upwards a flow takes.
        upper: how many of the cables, the last, are another one than `uplink`, and which; None where all are alike.
    """

    name: str
    switches: tuple[tuple[int, str], ...]
    home: Longs
    a: Longs
    b: Longs
    uplink: Cable
    between: SwitchRoute = field(compare=False)  # it follows from the others
    lanes: tuple[int, ...] | None = None
    separate: bool = False
    sharp: bool = False
    choice: PathChoice = _BY_RECEIVER
    upper: tuple[int, Cable] | None = None

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
        inner = self.between(first, second, self.choice.pick(src, dst, self.ports)).T
        table = np.empty((len(inner) + 2, len(src)), src.dtype)
        table[0], table[-1] = 2 * src, 2 * dst + 1
        for hop, there in zip(table[1:-1], inner, strict=True):
            np.add(there, 2 * self.ports, out=hop)
            hop[(there < 0) | (first == second)] = -1
        return table.T

    def list_uplinks(self) -> list[tuple[int, Cable]]:
        """How many cables between switches there are of each make, in their order."""
        if self.upper is None:
            return [(len(self.a), self.uplink)]
        return [(len(self.a) - self.upper[0], self.uplink), self.upper]

    def ends(self) -> tuple[Longs, Longs]:
        """(cables,) both ends of every cable; ports are 0 to ports-1, switch s is ports+s."""
        ports = np.arange(self.ports)
        return np.concatenate([ports, self.a + self.ports]), np.concatenate([self.home, self.b]) + self.ports


def route_nothing(first: Longs, second: Longs, number: Longs) -> Longs:
    """One switch: no cables between switches."""
    return np.full((len(first), 0), -1, np.int64)


@dataclass(frozen=True)
class LeafSpineRoute:
    """Two layers, a cable from every leaf to every spine: cable = leaf * spines + spine."""

    spines: int

    def __call__(self, first: Longs, second: Longs, number: Longs) -> Longs:
        spine = number % self.spines
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

    def __call__(self, source: Longs, target: Longs, number: Longs) -> Longs:
        # The low digit picks the aggregation switch, the next one the core.
        up, top = number % self.ups, number // self.ups % self.tops
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

    def __call__(self, source: Longs, target: Longs, number: Longs) -> Longs:
        current, target = source.astype(np.int64), target.astype(np.int64)
        hops = []
        while (moving := current != target).any():
            then = np.where(moving, self.next_hop(current, target), current)
            position = np.searchsorted(self.keys, current * self.switches + then)
            hops.append(np.where(moving, self.link[np.minimum(position, len(self.keys) - 1)], -1))
            current = then
        if hops:
            return np.stack(hops).T
        return route_nothing(source, target, number)


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
    choice: PathChoice = _BY_RECEIVER

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

    def merge_cables(self, cables: int) -> tuple[int, int]:
        """Say how many cables to build in place of equal ones, and how many each stands for: sprayed packets use all
        alike, so that flows see one trunk.

        Args:
            cables: Equal ones of a switch.
        """
        if self.choice.routing == "spray":
            return 1, cables
        return cables, 1

    def uplink(self, times: float, trunk: bool = False, bonded: int = 1) -> Cable:
        """A cable between switches with the rate of `times` cards; `bonded` equal cables as one."""
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
        faster = replace(cable, bandwidth=cable.bandwidth * times, nominal=nominal, effective=effective)
        return replace(faster, label=label, source=source, width=bonded)

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
    spines, merged = request.merge_cables(max(1, math.ceil(down / ratio - 1e-9)))
    request.require(leaves + spines, leaves * spines)
    leaf, spine = np.divmod(np.arange(leaves * spines), spines)
    uplink = request.uplink(down / ratio / spines, merged > 1, merged)
    switches = ((leaves, "leaf"), (spines, "spine"))
    route = LeafSpineRoute(spines)
    return Fabric(request.name, switches, home, leaf, leaves + spine, uplink, route, choice=request.choice)


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
    ups, merged = request.merge_cables(max(1, math.ceil(half / ratio - 1e-9)))
    tops, merged_tops = request.merge_cables(half)
    layer_a, layer_b = pods * half, pods * ups
    request.require(layer_a + layer_b + ups * tops, layer_a * ups + layer_b * tops)
    edge, up = np.divmod(np.arange(layer_a * ups), ups)
    agg, top = np.divmod(np.arange(layer_b * tops), tops)
    a = np.concatenate([edge, layer_a + agg])
    b = np.concatenate([layer_a + edge // half * ups + up, layer_a + layer_b + agg % ups * tops + top])
    switches = ((layer_a, "edge"), (layer_b, "aggregation"), (ups * tops, "core"))
    uplink = request.uplink(half / ratio / ups, merged > 1, merged)
    upper = None
    if merged_tops > 1:
        upper = len(agg), request.uplink(half / ratio * merged_tops, True, merged * merged_tops)
    route = ThreeLayers(half, ups, tops, pods)
    home = np.arange(request.ports) // half
    return Fabric(request.name, switches, home, a, b, uplink, route, choice=request.choice, upper=upper)


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
    a, b = list_grid_cables(sizes, wrap)
    home = np.arange(request.ports) // request.cards
    walk = _build_walk(a, b, request.nodes, TorusNextHop(sizes, wrap))
    uplink = request.uplink(request.cards, trunk=True)
    return Fabric(request.name, ((request.nodes, "router"),), home, a, b, uplink, walk)


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
    ends = list_dragonfly_cables(a, h)
    walk = _build_walk(*ends, a * groups, _GroupsOfSwitches(Groups(p, a, h)))
    home, switches = np.arange(request.ports) // p, ((a * groups, "switch"),)
    return Fabric(request.name, switches, home, *ends, request.uplink(1), walk)


_NONE = np.zeros(0, np.int64)
_BUILDERS: dict[str, Callable[[_FabricRequest], Fabric]] = {
    "switch": _build_switch,
    "leaf-spine": _build_leaf_spine,
    "fat-tree": _build_fat_tree,
    "rail": _build_rail,
    "rail-only": lambda request: _build_planes(request, request.cards),
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


def parse_path_choice(routing: object, hash_seed: object) -> PathChoice:
    """How a fabric picks among equal routes, from the words of `machine`.

    Args:
        routing: one of `ROUTINGS`.
        hash_seed: a whole number from 0 on, of routings that hash.

    Raises:
        TopologyError: For an unknown routing, and for a seed that is no such number or that nothing uses.
    """
    word = str(routing).lower().replace("_", "-")
    if word not in ROUTINGS:
        raise TopologyError(describe_unknown("routing", routing if isinstance(routing, str) else word, ROUTINGS))
    try:
        seed = parse_count(hash_seed, "hash_seed", least=0)
    except CollsimError as error:
        raise TopologyError(error.sentence) from None
    if seed >= 2**63:
        raise TopologyError("hash_seed={seed} is too large; it is below 2 to the power of 63", seed=seed)
    if seed and word not in SEEDED_ROUTINGS:
        message = "hash_seed={seed} changes nothing with routing {word!r}; use routing='ecmp' or routing='static'"
        raise TopologyError(message, seed=seed, word=word)
    return PathChoice(word, seed)


def build_fabric(
    name: str, nodes: int, cards: int, cable: Cable, choice: PathChoice = _BY_RECEIVER, **options: object
) -> Fabric:
    """A fabric for nodes * cards ports.

    Args:
        name: `switch`, `leaf-spine`, `rail` ...
        nodes: number of nodes.
        cards: network cards of each node.
        cable: between a card and its switch.
        choice: which of several equal cables a flow takes.
        options: of that fabric, those of FABRIC_OPTIONS.

    Raises:
        TopologyError: For an unknown name or option, or sizes that do not fit.
    """
    name = str(name).lower().replace("_", "-")
    if name not in _BUILDERS:
        raise TopologyError(describe_unknown("fabric", name, _BUILDERS))
    if choice != _BY_RECEIVER and name not in ROUTED_FABRICS:
        message = "fabric {name!r} has one route between two cards, so routing={word!r} has no choice; use {fabrics}"
        fabrics = " or ".join(f"fabric={fabric!r}" for fabric in ROUTED_FABRICS)
        raise TopologyError(message, name=name, word=choice.routing, fabrics=fabrics)
    request = _FabricRequest(name, nodes, cards, cable, dict(options), choice)
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
