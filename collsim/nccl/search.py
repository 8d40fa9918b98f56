"""Ring orders of a node, searched as NCCL searches them (src/graph/search.cc, ncclTopoCompute and ncclTopoSearchRec, in outline).

Channel by channel, each reserving its speed on every directed link that it crosses, at the rates NCCL plans with (topo.h). First every
channel in the same order, then each in its own; then worse paths between GPUs, worse paths to the network cards, other cards on the way out
(NCCL_CROSS_NIC=2), lower speeds. Kept is what gives most in total, then the one with fewer links. GPUs are tried in PCI order, then in
the order of the channel before, then by the bandwidth and length of their paths.

Left out: the tree and NVLS patterns (`graphs` derives them from the ring by a rule), the second pass that raises a ring's speed after its
channels were doubled, RCCL's own tables, and nodes of more than 16 GPUs, whose NVSwitches make them regular. A round gets fewer steps
than NCCL gives it (2^12 of 2^14), all rounds together 2^15: a search that runs out keeps the best it has, as NCCL's does. Rounds that could
not give more than what is found, for want of room at GPUs or cards, are not run; they end when they have all that there is room for, where
NCCL goes on for fewer links. GB/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ..topology.network import Cable
from ..topology.plan import LEVELS, LOC, NVB, NVL, PHB, PXB, PXN, SYS, Machine, Path, Paths
from . import constants as c

#: Steps of one round with equal channels, with different ones, and of all rounds.
_STEPS_SAME, _STEPS, _STEPS_ALL = 2**8, 2**12, 2**15
#: Most GPUs of a node that is searched.
MOST_GPUS = 16
_FREE, _PCI, _REPLAY = range(3)


@dataclass(frozen=True)
class Channel:
    """One ring through a node: GPUs in order, and the network cards by which it enters and leaves (-1 where there is one node)."""

    gpus: tuple[int, ...]
    enters: int = -1
    leaves: int = -1


@dataclass(frozen=True)
class Rings:
    """What the search found. `speed`: GB/s of each channel; types as in nvidia-smi and NCCL, worst of any channel.

    `same_channels`: all in one order. `cross_nic`: 0, every channel leaves by the card it enters by; 1, by any; 2, in pairs of channels
    that are each other's way back.
    """

    channels: tuple[Channel, ...]
    speed: float
    type_intra: str
    type_inter: str
    same_channels: bool
    cross_nic: int

    @property
    def total(self) -> float:
        """GB/s of all channels together."""
        return len(self.channels) * self.speed

    def crossings(self, nodes: int) -> int:
        """How many of the hops between nodes, one per channel and node, end at another card than they began at: on rails they change rail.

        Pairs of channels are exchanged on every other node to avoid that (src/graph/connect.cc, ncclTopoPostset).
        """
        if nodes < 2:
            return 0
        count = len(self.channels)
        exchanged = self.cross_nic == 2 and count % 2 == 0
        of = [[self.channels[c ^ 1 if exchanged and node % 2 else c] for c in range(count)] for node in range(nodes)]
        return sum(of[k][c].leaves != of[(k + 1) % nodes][c].enters for k in range(nodes) for c in range(count))


@dataclass(frozen=True)
class Rules:
    """What NCCL may do: worst path types for P2P and GPUDirect RDMA (numbers of `topology.plan.LEVELS`), NCCL_CROSS_NIC; and the CPU."""

    p2p: int
    gdr: int
    cross_nic: int = 2
    cpu: str = "intel"


@dataclass(frozen=True)
class _Way:
    """A path: its type, what it reserves (directed link, times the speed), its bandwidth."""

    type: int
    costs: tuple[tuple[int, float], ...]
    bandwidth: float


def rings(plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules) -> Rings:
    """Search the rings of one node.

    Args:
        plan: the node's wiring; its cables' `effective` rates are NCCL's.
        gpus: how many of its GPUs take part, the first ones.
        cards: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.

    Where nothing is found: one channel in plain order at 0.1 GB/s and type SYS, as in NCCL.
    """
    return _cached(plan.devices, plan.joints, plan.sm, plan.p2p_over_pcie, gpus, cards, rules)


@lru_cache(maxsize=256)
def _cached(
    devices: tuple[str, ...],
    joints: tuple[tuple[str, str, Cable], ...],
    sm: int,
    over_pcie: bool,
    gpus: int,
    cards: tuple[float, ...],
    rules: Rules,
) -> Rings:
    plan = Machine(
        name="node", title="node", about="", devices=devices, joints=joints, source="the topology", sm=sm, p2p_over_pcie=over_pcie
    )
    node = _Node(plan, gpus, cards, rules)
    plain = Channel(tuple(range(gpus)), *((node.cards[0],) * 2 if node.cards else ()))
    return _compute(node) or Rings((plain,), 0.1, "SYS", "SYS", True, 0)


class _Node:
    """The node as NCCL sees it: ways between GPUs, to and from cards, and the room on every directed link, GB/s."""

    def __init__(self, plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules):
        self.plan, self.rules, self.paths = plan, rules, Paths(plan)
        self.gpus, self.cards = plan.ranks[:gpus], [i for i, rate in enumerate(cards) if rate > 0]
        self.nics = plan.of_kind("nic")
        rates = [_nccl_rate(cable) for *_, cable in plan.joints]
        self.room = [rate for rate in rates for _ in (0, 1)] + [rate / 1e9 for rate in cards for _ in (0, 1)]
        n = range(len(self.gpus))
        self.between = {(a, b): way for a in n for b in n if a != b and (way := self._between(a, b))}
        self.out = {(g, card): way for g in n for card in self.cards if (way := self._out(g, card))}
        self.into = {(card, g): way for g in n for card in self.cards if (way := self._into(card, g))}

    def _between(self, a: int, b: int) -> _Way | None:
        """Direct where P2P is allowed, else through the socket of the first GPU."""
        one, two = self.gpus[a], self.gpus[b]
        path = self.paths.best(one, two)
        if path and path.type <= self.rules.p2p and (path.type <= NVB or self.plan.p2p_over_pcie):
            return self._way(path)
        return self._through_socket(one, two)

    def _through_socket(self, one: int, two: int) -> _Way | None:
        socket = next(iter(self.paths.nearest(one, self.plan.of_kind("cpu"))), None)
        if socket is None:
            return None
        there, back = self.paths.best(one, socket), self.paths.best(socket, two)
        return self._way(there, back) if there and back else None

    def _out(self, g: int, card: int) -> _Way | None:
        """To a card: directly, over NVLink through the GPU beside it (PXN) where that is nearer, else through the socket."""
        gpu, nic, port = self.gpus[g], self.nics[card], 2 * len(self.plan.joints) + 2 * card
        own = self.paths.best(gpu, nic)
        beside = [
            (to_card.bandwidth, -peer, self._way(hop, to_card, port=port, least=PXN))
            for peer in self.gpus
            if peer != gpu
            and (hop := self.paths.best(gpu, peer))
            and hop.type <= NVL
            and (to_card := self.paths.best(peer, nic))
            and to_card.type <= PXB
            and (own is None or own.type > PXN or to_card.bandwidth > own.bandwidth)
        ]
        if beside and self.rules.gdr >= PXB:
            return max(beside)[2]
        return self._own(own, gpu, nic, port)

    def _into(self, card: int, g: int) -> _Way | None:
        gpu, nic, port = self.gpus[g], self.nics[card], 2 * len(self.plan.joints) + 2 * card + 1
        return self._own(self.paths.best(nic, gpu), nic, gpu, port)

    def _own(self, path: Path | None, one: int, two: int, port: int) -> _Way | None:
        if path is None:
            return None
        if path.type <= self.rules.gdr:
            return self._way(path, port=port)
        gpu = one if self.plan.kinds[one] == "gpu" else two
        socket = next(iter(self.paths.nearest(gpu, self.plan.of_kind("cpu"))), None)
        there, back = (None, None) if socket is None else (self.paths.best(one, socket), self.paths.best(socket, two))
        return self._way(there, back, port=port, least=PHB) if there and back else None

    def _way(self, *parts: Path, port: int | None = None, least: int = LOC) -> _Way:
        """Parts after one another. Intel's root complex costs a GPU's PHB path a fifth more; before Ampere a GPU pays an eighth back."""
        type_ = max(least, *(part.type for part in parts))
        kinds, joints = self.plan.kinds, self.plan.joints
        first, last = parts[0].devices[0], parts[-1].devices[-1]
        slow = type_ == PHB and kinds[first] == "gpu" and self.rules.cpu == "intel"
        costs: dict[int, float] = {}
        links = [link for part in parts for link in part.links]
        for link in links:
            costs[link] = costs.get(link, 0.0) + (1.2 if slow and joints[link // 2][2].kind == "pcie" else 1.0)
        if kinds[last] == "gpu" and kinds[first] != "gpu" and self.plan.sm < 80:
            costs[links[-1] ^ 1] = costs.get(links[-1] ^ 1, 0.0) + 1 / 8
        if port is not None:
            costs[port] = 1.0
        return _Way(type_, tuple(costs.items()), min(self.room[link] for link in costs))


def _nccl_rate(cable: Cable) -> float:
    return (cable.effective or cable.bandwidth) / 1e9


@dataclass
class _Round:
    """One search: all channels of one speed and these path types, in at most `steps` steps; `best` is what earlier rounds found."""

    node: _Node
    speed: float
    intra: int
    inter: int
    same: bool
    cross: int
    best: Rings | None
    best_links: int
    steps: int
    most: int
    channels: list[Channel] = field(default_factory=list)
    links: int = 0
    full: bool = False

    @property
    def _over(self) -> bool:
        return self.full or self.steps <= 0

    def run(self) -> None:
        """All ways to add one more channel to those at hand."""
        node, count = self.node, len(self.channels)
        n = range(len(node.gpus))
        if not node.cards:
            self._start(-1, 0 if not count else self.channels[-1].gpus[0], _REPLAY if count else _PCI)
            for g in n if not count or not self.same else ():
                self._start(-1, g, _FREE)
            return
        for i in range(len(node.cards)):
            card = node.cards[(count + i) % len(node.cards)]
            if self.cross == 2 and count % 2 and card != self.channels[-1].leaves:
                continue
            if count:
                self._start(card, self.channels[-1].gpus[0], _REPLAY)
            if not count or not self.same:
                if not count:
                    self._start(card, 0, _PCI)
                near = {g: (-way.bandwidth, len(way.costs)) for g in n if (way := node.into.get((card, g)))}
                for g in (g for g in near if near[g] == min(near.values())):
                    self._start(card, g, _FREE)

    def _start(self, card: int, g: int, order: int) -> None:
        if self._over:
            return
        if card < 0:
            self._walk([g], card, order)
        elif (way := self.node.into.get((card, g))) and self._take(way, self.inter):
            self._walk([g], card, order)
            self._give(way)

    def _walk(self, path: list[int], card: int, order: int) -> None:
        self.steps -= 1
        if self._over:
            return
        node, here = self.node, path[-1]
        if len(path) == len(node.gpus):
            for leaves, way in self._ends(path, card):
                if self._take(way, self.intra if card < 0 else self.inter):
                    self._found(Channel(tuple(path), card, leaves))
                    self._give(way)
            return
        for g in self._candidates(path, card, order):
            step = node.between.get((here, g))
            if step and self._take(step, self.intra):
                path.append(g)
                self._walk(path, card, order)
                path.pop()
                self._give(step)

    def _ends(self, path: list[int], card: int) -> Iterator[tuple[int, _Way]]:
        """Back to the first GPU; out by the card of entry; or, crossing, by any, or in pairs: in by 0, out by 1, then in by 1, out by 0."""
        node, here = self.node, path[-1]
        if card < 0:
            back = node.between.get((here, path[0]))
            cards = [(-1, back)] if back else []
        else:
            allowed = node.cards if self.cross else [card]
            if self.cross == 2 and len(self.channels) % 2:
                allowed = [self.channels[-1].enters]
            cards = [(k, way) for k in allowed if (way := node.out.get((here, k)))]
            cards.sort(key=lambda found: (found[1].type, -found[1].bandwidth, found[0]))
        yield from cards

    def _candidates(self, path: list[int], card: int, order: int) -> list[int]:
        n, at = len(self.node.gpus), len(path)
        if order == _PCI:
            return [at]
        if order == _REPLAY:
            return [self.channels[-1].gpus[at]]
        left = [(path[-1] + i) % n for i in range(1, n) if (path[-1] + i) % n not in path]

        def near(g: int) -> tuple[float, int]:
            way = self.node.between.get((path[-1], g))
            return (-way.bandwidth, len(way.costs)) if way else (0.0, 0)

        def of_card(g: int) -> tuple[float, int]:
            way = self.node.into.get((card, g))
            return (-way.bandwidth, len(way.costs)) if way else (0.0, 0)

        ranked = sorted(left, key=lambda g: (of_card(g), near(g)))
        alike = len({near(g) for g in left}) == 1
        return ranked[::-1] if card >= 0 and alike and at + 1 < n else ranked

    def _found(self, channel: Channel) -> None:
        self.channels.append(channel)
        total, least = len(self.channels) * self.speed, 0.0 if self.best is None else self.best.total
        fewer = self.best is not None and self.best.cross_nic == self.cross and self.links < self.best_links
        if total > least + 1e-9 or (abs(total - least) <= 1e-9 and fewer):
            names = (LEVELS[self.intra], LEVELS[self.inter] if self.node.cards else "LOC")
            self.best = Rings(tuple(self.channels), self.speed, *names, self.same, self.cross)
            self.best_links = self.links
            self.full = len(self.channels) >= self.most
        if not self.full:
            self.run()
        self.channels.pop()

    def _take(self, way: _Way, worst: int) -> bool:
        room = self.node.room
        if way.type > worst or any(room[link] < times * self.speed - 1e-6 for link, times in way.costs):
            return False
        for link, times in way.costs:
            room[link] -= times * self.speed
        self.links += len(way.costs)
        return True

    def _give(self, way: _Way) -> None:
        for link, times in way.costs:
            self.node.room[link] += times * self.speed
        self.links -= len(way.costs)


def _compute(node: _Node) -> Rings | None:
    """Rounds from the fastest speed and the best paths to slower and worse ones, until the total cannot grow."""
    every = [*node.out.values(), *node.into.values()] if node.cards else list(node.between.values())
    if not every:
        return None
    table = c.speeds(node.plan.sm, 2 if node.cards else 1)
    limit, fastest = _total(node), max(way.bandwidth for way in every)
    best, best_links, left = None, 0, _STEPS_ALL
    for speed in (s for s in table if s <= fastest + 1e-6 and s <= limit + 1e-6):
        if best is not None and speed / best.speed <= 0.49:
            break
        for cross, inter, intra, same in _settings(node):
            if best is not None and not _still(best, cross, inter, intra):
                continue
            if same is False and node.rules.cpu == "amd" and intra == SYS:
                continue
            most = _most(node, speed, intra)
            if most * speed <= (best.total if best else 0.0) + 1e-6:
                continue
            steps = _STEPS_SAME if same else _STEPS
            round_ = _Round(node, speed, intra, inter, same, cross, best, best_links, steps, most)
            round_.run()
            best, best_links = round_.best, round_.best_links
            left -= steps - max(round_.steps, 0)
            if best and (best.total >= limit - 1e-6 or left < 0):
                return best
    return best


def _most(node: _Node, speed: float, intra: int) -> int:
    """Most channels of a speed for which GPUs have links (NVLinks, or any where worse paths are allowed) and cards have ports."""
    fast = ("nvlink", "xgmi") if intra <= NVB else ("nvlink", "xgmi", "pcie", "c2c")
    out = [sum(int(node.room[link] / speed + 1e-6) for _, link, cable in node.paths.neighbours[g] if cable.kind in fast) for g in node.gpus]
    if not node.cards:
        return min(c.SEARCH_CHANNELS, *out)
    ports = sum(int(node.room[2 * (len(node.plan.joints) + card)] / speed + 1e-6) for card in node.cards)
    return min(c.SEARCH_CHANNELS, ports, sum(out) // (len(out) - 1) if len(out) > 1 else ports)


def _settings(node: _Node) -> Iterator[tuple[int, int, int, bool]]:
    """(crossing, worst type to a card, worst type between GPUs, same order), in NCCL's order."""
    between = [way.type for way in node.between.values()] or [LOC]
    to_card = [way.type for way in (*node.out.values(), *node.into.values())]
    inters = range(min(to_card), max(to_card) + 1) if to_card else [LOC]
    crosses = [1] if node.rules.cross_nic == 1 else [0, 2] if node.rules.cross_nic == 2 and len(node.cards) > 1 else [0]
    for cross in crosses:
        for inter in inters:
            last = max(between) if not node.cards else max(min(between), min(inter, max(between)))
            for intra in range(min(between), last + 1):
                for same in (True, False):
                    yield cross, inter, intra, same


def _still(best: Rings, cross: int, inter: int, intra: int) -> bool:
    """With a solution at hand, no worse paths are tried than it has (to cards at least up to PXN)."""
    if cross and not best.cross_nic:
        return intra <= LEVELS.index(best.type_intra)
    return intra <= LEVELS.index(best.type_intra) and inter <= max(PXN, LEVELS.index(best.type_inter))


def _total(node: _Node) -> float:
    """GB/s of the best GPU: its PCIe slot, or all its NVLinks."""
    most = 0.0
    for gpu in node.gpus:
        own = [(cable.kind, _nccl_rate(cable)) for _, link, cable in node.paths.neighbours[gpu]]
        most = max(most, sum(r for kind, r in own if kind in ("nvlink", "xgmi")), *(r for kind, r in own if kind == "pcie"), 0.0)
    return most
