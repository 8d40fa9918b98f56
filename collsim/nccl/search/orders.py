"""Ring and tree orders of a node, searched as NCCL searches them (src/graph/search.cc, ncclTopoCompute and
ncclTopoSearchRec, in outline).

Channel by channel, each reserving its speed on every directed link that it crosses, at the rates NCCL plans with
(`ways`). First every channel in the same order, then each in its own; then worse paths between GPUs, worse paths to the
network cards, other cards on the way out (NCCL_CROSS_NIC=2), lower speeds. Kept is what gives most in total, then the
one with fewer links. GPUs are tried in PCI order, then in the order of the channel before, then by the bandwidth and
length of their paths; behind an NVSwitch only neighbours by number.

A ring returns from its last GPU to the first, or to a card. A tree is a chain of the node's GPUs whose links to other
nodes are at its first GPU (TREE), at its second the way out (SPLIT_TREE), or half at each (BALANCED_TREE); it needs
ways back of the same type, and is searched for as many channels as the rings got, at the highest speed at which they
fit. Then its speed inside the node is raised alone.

Left out: the second pass that raises a ring's speed after its channels were doubled, RCCL's own tables, and nodes of
more than 16 GPUs, whose NVSwitches make them regular. A round gets fewer steps than NCCL gives it (2^12 of 2^14), all
rounds together 2^15: a search that runs out keeps the best it has, as NCCL's does. Rounds that could not give more than
what is found, for want of room at GPUs or cards, are not run; they end when they have all that there is room for, where
NCCL goes on for fewer links. GB/s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...topology.plan import LEVELS, LOC, PXN, SYS, Machine
from ...trees import node_chains, renamed
from . import constants as c
from .ways import LinkPath, NodeGraph, Rules, SearchInput

#: Steps of one round with equal channels, with different ones, and of all rounds.
_STEPS_SAME, _STEPS, _STEPS_ALL = 2**8, 2**12, 2**15
#: Most GPUs of a node that is searched.
MOST_GPUS = 16
_FREE, _PCI, _REPLAY = range(3)
_TREES = (c.BALANCED_TREE, c.SPLIT_TREE, c.TREE)


@dataclass(frozen=True)
class Channel:
    """One channel through a node: GPUs in order, and the network cards by which it enters and leaves (-1 where there is
    one node)."""

    gpus: tuple[int, ...]
    enters: int = -1
    leaves: int = -1


@dataclass(frozen=True)
class Rings:
    """The rings that the search found. `speed`: GB/s of each channel; types as in nvidia-smi and NCCL, worst of any
    channel.

    `same_channels`: all in one order. `cross_nic`: 0, every channel leaves by the card it enters by; 1, by any; 2, in
    pairs of channels that are each other's way back.
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

    @property
    def exchanged(self) -> bool:
        """Do pairs of channels swap their ways through every other node?"""
        return self.cross_nic == 2 and len(self.channels) % 2 == 0

    def orders(self, nodes: int) -> npt.NDArray[np.int32]:
        """(channels, ranks): the order in which each ring visits the ranks of so many nodes like this one."""
        return over_nodes(self.channels, nodes, self.exchanged)

    def crossings(self, nodes: int) -> int:
        """How many of the hops between nodes, one per channel and node, end at another card than they began at: on
        rails they change rail.

        Pairs of channels are exchanged on every other node to avoid that (src/graph/connect.cc, ncclTopoPostset).
        """
        if nodes < 2:
            return 0
        count = len(self.channels)
        of = [
            [self.channels[c ^ 1 if self.exchanged and node % 2 else c] for c in range(count)] for node in range(nodes)
        ]
        return sum(of[k][c].leaves != of[(k + 1) % nodes][c].enters for k in range(nodes) for c in range(count))


@dataclass(frozen=True)
class Trees:
    """The trees inside a node that the search found: each channel a chain, from the GPU at which the parent's node is
    reached.

    `speed_intra`, `speed_inter`: GB/s of each channel in the node and between nodes. `pattern`:
    `constants.BALANCED_TREE`, `SPLIT_TREE` or `TREE`, which says to which GPUs of the chain other nodes are joined. The
    rest as in `Rings`.
    """

    channels: tuple[Channel, ...]
    speed_intra: float
    speed_inter: float
    type_intra: str
    type_inter: str
    same_channels: bool
    cross_nic: int
    pattern: int

    @property
    def shape(self) -> str:
        """The pattern in the words of `allreduce_double_binary_tree`."""
        return SHAPES[self.pattern]

    def parents(self, nodes: int) -> tuple[tuple[int, ...], ...]:
        """Tree of each running channel over so many nodes like this one: the parent of every rank, -1 for the root.

        As an INFO log's `Trees [0] ...` tell it: every channel has one tree of the double binary tree, its copy in the
        second half of the channels the other (src/graph/connect.cc, connectTrees).
        """
        pair = node_chains(nodes * len(self.channels[0].gpus), nodes, self.shape)
        return tuple(
            tuple(renamed(tree, order).tolist()) for tree in pair for order in over_nodes(self.channels, nodes)
        )


#: Tree patterns in the words of `allreduce_double_binary_tree`.
SHAPES = {c.BALANCED_TREE: "balanced", c.SPLIT_TREE: "split", c.TREE: "tree"}


def over_nodes(channels: tuple[Channel, ...], nodes: int, exchanged: bool = False) -> npt.NDArray[np.int32]:
    """(channels, ranks): GPUs in the order of each channel, node after node; `exchanged` pairs of channels swap on
    every other node."""
    local = len(channels[0].gpus)
    chains = [
        [channels[k ^ 1 if exchanged and node % 2 else k].gpus for node in range(nodes)] for k in range(len(channels))
    ]
    offset = local * np.arange(nodes)[:, None]
    return np.array([(np.array(chain) + offset).ravel() for chain in chains], np.int32)


def duplicated(channels: int, speed: float, cc: int) -> tuple[int, float]:
    """Channels and GB/s of each once fast ones are cut in two slower ones (search.cc, ncclTopoDupChannels)."""
    if speed < c.DUPLICATED or (cc > 80 and speed < c.DUPLICATED_FAST and channels > c.DUPLICATED_FEW):
        return channels, speed
    count = min(2 * channels, c.SEARCH_CHANNELS // 2)
    return count, speed / -(-count // channels)


def rings(plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules) -> Rings:
    """Search the rings of one node.

    Args:
        plan: the node's wiring; its cables' `effective` rates are NCCL's.
        gpus: how many of its GPUs take part, the first ones.
        cards: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.

    Where nothing is found: one channel in plain order at 0.1 GB/s and type SYS, as in NCCL.
    """
    return _rings(SearchInput.of(plan, gpus, cards, rules))


def trees(plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules, channels: int) -> Trees:
    """Search the trees of one node, as many channels as its rings have once duplicated; the other arguments as for
    `rings`."""
    return _trees(SearchInput.of(plan, gpus, cards, rules), channels)


@lru_cache(maxsize=256)
def _rings(asked: SearchInput) -> Rings:
    node = asked.node()
    found = _most_rings(node)
    if found is None:
        return Rings((_plain(node),), c.LAST_RESORT, "SYS", "SYS", True, 0)
    return Rings(found.channels, found.intra, *found.names(node), found.same, found.cross)


@lru_cache(maxsize=256)
def _trees(asked: SearchInput, channels: int) -> Trees:
    node = asked.node()
    found = _fastest_trees(node, channels)
    if found is None:
        return Trees((_plain(node),), c.LAST_RESORT, c.LAST_RESORT, "SYS", "SYS", True, 0, _patterns(node)[0])
    found = _raised(node, found)
    return Trees(found.channels, found.intra, found.inter, *found.names(node), found.same, found.cross, found.pattern)


def _plain(node: NodeGraph) -> Channel:
    return Channel(tuple(range(len(node.gpus))), *((node.cards[0],) * 2 if node.cards else ()))


@dataclass(frozen=True)
class _Found:
    """A solution: its channels, their GB/s inside and between nodes, what was allowed (numbers of `LEVELS`), links in
    all."""

    channels: tuple[Channel, ...]
    intra: float
    inter: float
    type_intra: int
    type_inter: int
    same: bool
    cross: int
    pattern: int
    links: int

    @property
    def total(self) -> float:
        return len(self.channels) * self.intra

    def names(self, node: NodeGraph) -> tuple[str, str]:
        """Path types as NCCL prints them."""
        return LEVELS[self.type_intra], LEVELS[self.type_inter] if node.cards else "LOC"


@dataclass
class _Round:
    """One search: all channels of one speed and these path types, in at most `steps` steps; `best` is what earlier
    rounds found.

    A solution has at least `least` channels; with `most` of them the round ends.
    """

    node: NodeGraph
    pattern: int
    intra: float
    inter: float
    type_intra: int
    type_inter: int
    same: bool
    cross: int
    best: _Found | None
    steps: int
    least: int
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
            if self.pattern == c.RING and self.cross == 2 and count % 2 and card != self.channels[-1].leaves:
                continue
            if count and self.same:
                self._start(card, self.channels[-1].gpus[0], _REPLAY)
                continue
            if not count and not node.switched:
                self._start(card, 0, _PCI)
            near = {g: (-way.bandwidth, len(way.costs)) for g in n if (way := node.into.get((card, g)))}
            for g in (g for g in near if near[g] == min(near.values())):
                self._start(card, g, _FREE)

    def _start(self, card: int, g: int, order: int) -> None:
        if self._over:
            return
        if card < 0:
            self._walk([g], card, order, -1)
        elif (way := self.node.into.get((card, g))) and self._take(
            way, self.node.out.get((g, card)), self.type_inter, self.inter
        ):
            last = len(self.node.gpus) - 1
            self._walk(
                [g],
                card,
                order,
                last if self.pattern == c.RING else min(1, last) if self.pattern == c.SPLIT_TREE else 0,
            )
            self._give(way, self.inter)

    def _walk(self, path: list[int], card: int, order: int, back: int, leaves: int = -1) -> None:
        """Go on from the last GPU of the path. `back`: the place in the channel from which it returns to a card, -1 for
        none (any more)."""
        self.steps -= 1
        if self._over:
            return
        node, here, at = self.node, path[-1], len(path) - 1
        if at == back:
            share = 0.5 if self.pattern == c.BALANCED_TREE else 1.0
            then = 1 if self.pattern == c.BALANCED_TREE and at == 0 else -1
            for other, way in self._ends(here, card, leaves):
                if self._take(way, node.into.get((other, here)), self.type_inter, share * self.inter):
                    self._walk(path, card, order, then, other)
                    self._give(way, share * self.inter)
        elif len(path) < len(node.gpus):
            for g in self._candidates(path, card, order, back):
                step = node.between.get((here, g))
                if step and self._take(step, node.between.get((g, here)), self.type_intra, self.intra):
                    path.append(g)
                    self._walk(path, card, order, back, leaves)
                    path.pop()
                    self._give(step, self.intra)
        elif self.pattern == c.RING and card < 0:
            home = node.between.get((here, path[0]))
            if home and self._take(home, None, self.type_intra, self.intra):
                self._found(Channel(tuple(path), card, leaves))
                self._give(home, self.intra)
        else:
            self._found(Channel(tuple(path), card, leaves))

    def _ends(self, here: int, card: int, leaves: int) -> list[tuple[int, LinkPath]]:
        """Out by the card of entry; or, crossing, by any, rings in pairs: in by 0, out by 1, then in by 1, out by 0."""
        node = self.node
        allowed = node.cards if self.cross and self.pattern != c.TREE else [card]
        if self.pattern == c.RING and self.cross == 2 and len(self.channels) % 2:
            allowed = [self.channels[-1].enters]
        if leaves >= 0:  # the other half of a balanced tree
            allowed = [leaves]
        cards = [(k, way) for k in allowed if (way := node.out.get((here, k)))]
        return sorted(cards, key=lambda found: (found[1].type, -found[1].bandwidth, found[0]))

    def _candidates(self, path: list[int], card: int, order: int, back: int) -> list[int]:
        node, n, at, here = self.node, len(self.node.gpus), len(path), path[-1]
        if order == _PCI:
            return [at]
        if order == _REPLAY:
            return [self.channels[-1].gpus[at]]
        left = [g for i in range(1, n) if (g := (here + i) % n) not in path]
        if node.switched:
            after, before = (here + 1) % n, (here - 1) % n
            firsts = {c.RING: (before, after), c.TREE: (after,)}.get(self.pattern, (after, before))
            return [g for g in dict.fromkeys(firsts) if g in left]
        near = {g: _closeness(node.between.get((here, g))) for g in left}
        of_card = {g: _closeness(node.into.get((card, g))) for g in left}
        ranked = sorted(left, key=(lambda g: (of_card[g], near[g])) if back >= 0 else near.__getitem__)
        return ranked[::-1] if back > at and len(set(near.values())) == 1 else ranked

    def _found(self, channel: Channel) -> None:
        self.channels.append(channel)
        count, best = len(self.channels), self.best
        total, before = count * self.intra, 0.0 if best is None else best.total
        fewer = (
            best is not None and (best.pattern, best.cross) == (self.pattern, self.cross) and self.links < best.links
        )
        if count >= self.least and (total > before + 1e-9 or (abs(total - before) <= 1e-9 and fewer)):
            allowed = (self.type_intra, self.type_inter, self.same, self.cross, self.pattern)
            self.best = _Found(tuple(self.channels), self.intra, self.inter, *allowed, self.links)
            self.full = count >= self.most
        if not self.full and count < self.most:
            self.run()
        self.channels.pop()

    def _take(self, way: LinkPath, behind: LinkPath | None, worst: int, speed: float) -> bool:
        """Reserve a speed on a way; trees, which go both ways, want the way back to be of the type allowed as well."""
        room = self.node.room
        if way.type > worst or any(room[link] < times * speed - 1e-6 for link, times in way.costs):
            return False
        if self.pattern in _TREES and (behind is None or behind.type > worst):
            return False
        for link, times in way.costs:
            room[link] -= times * speed
        self.links += len(way.costs)
        return True

    def _give(self, way: LinkPath, speed: float) -> None:
        for link, times in way.costs:
            self.node.room[link] += times * speed
        self.links -= len(way.costs)


def _closeness(way: LinkPath | None) -> tuple[float, int]:
    return (-way.bandwidth, len(way.costs)) if way else (0.0, 0)


def _most_rings(node: NodeGraph) -> _Found | None:
    """Rounds from the fastest speed and the best paths to slower and worse ones, until the total cannot grow."""
    limit = node.total
    best, left = None, _STEPS_ALL
    for speed in _speeds(node, limit):
        if best is not None and speed / best.intra <= c.SLOWER_SPEED:
            break
        for cross, inter, intra, _, same in _settings(node, (c.RING,)):
            if best is not None and not _still(best, cross, inter, intra):
                continue
            most = _room_for(node, speed, intra)
            if most * speed <= (best.total if best else 0.0) + 1e-6:
                continue
            steps = _STEPS_SAME if same else _STEPS
            round_ = _Round(node, c.RING, speed, speed, intra, inter, same, cross, best, steps, 1, most)
            round_.run()
            best = round_.best
            left -= steps - max(round_.steps, 0)
            if best and (best.total >= limit - 1e-6 or left < 0):
                return best
    return best


def _fastest_trees(node: NodeGraph, channels: int) -> _Found | None:
    """The first round that gets all channels."""
    g = len(node.gpus)
    limit = node.total * (g / (g - 1) if g > 1 else 1.0)
    for speed in _speeds(node, limit / channels):
        for cross, inter, intra, pattern, same in _settings(node, _patterns(node)):
            if not _room_for_trees(node, channels, speed, intra, inter):
                continue
            steps = _STEPS_SAME if same else _STEPS
            round_ = _Round(node, pattern, speed, speed, intra, inter, same, cross, None, steps, channels, channels)
            round_.run()
            if round_.best:
                return round_.best
    return None


def _raised(node: NodeGraph, found: _Found) -> _Found:
    """The same channels with more inside the node, while that is less than twice what they have between nodes."""
    table = c.speeds(node.plan.sm, 2 if node.cards else 1)
    for speed in table[: table.index(found.inter)][::-1]:
        if found.intra >= 2 * found.inter:
            break
        count, steps = len(found.channels), _STEPS_SAME if found.same else _STEPS
        allowed = (found.type_intra, found.type_inter, found.same, found.cross)
        round_ = _Round(node, found.pattern, speed, found.inter, *allowed, found, steps, count, count)
        round_.run()
        if round_.best is found or round_.best is None:
            break
        found = round_.best
    return found


def _speeds(node: NodeGraph, limit: float) -> Iterator[float]:
    """Speeds of the table that the fastest path and the limit allow, GB/s, fastest first."""
    every = [*node.out.values(), *node.into.values()] if node.cards else list(node.between.values())
    fastest = max((way.bandwidth for way in every), default=0.0)
    table = c.speeds(node.plan.sm, 2 if node.cards else 1)
    return (s for s in table if s <= fastest + 1e-6 and s <= limit + 1e-6)


def _patterns(node: NodeGraph) -> tuple[int, ...]:
    """Tree patterns that NCCL tries here, in its order."""
    if len(node.gpus) == 1:
        return (c.TREE,)
    if node.plan.sm < 80:
        return (c.SPLIT_TREE,)
    return (c.BALANCED_TREE, c.TREE) if node.plan.sm >= 90 else (c.BALANCED_TREE,)


def _room_for(node: NodeGraph, speed: float, intra: int) -> int:
    """Most rings of a speed for which GPUs have links and cards have ports."""
    out = [node.holds(g, speed, intra)[0] for g in range(len(node.gpus))]
    if not node.cards:
        return min(c.SEARCH_CHANNELS, *out)
    ports = _ports(node, speed, node.cards)
    return min(c.SEARCH_CHANNELS, ports, sum(out) // (len(out) - 1) if len(out) > 1 else ports)


def _ports(node: NodeGraph, speed: float, cards: Collection[int]) -> int:
    """Channels of a speed that these cards carry."""
    return sum(int(node.room[2 * (len(node.plan.joints) + card)] / speed + 1e-6) for card in cards)


def _entries(node: NodeGraph, speed: float, inter: int) -> int:
    """Channels of a speed for which there is room where they enter: at the cards near enough to a GPU, and at the slots
    of such GPUs."""
    near = [way for way, found in node.into.items() if found.type <= inter]
    return min(_ports(node, speed, {card for card, _ in near}), sum(node.slots(g, speed) for g in {g for _, g in near}))


def _room_for_trees(node: NodeGraph, channels: int, speed: float, intra: int, inter: int) -> bool:
    """In a chain all GPUs but the last send, and all but the first receive; between nodes each begins at a card."""
    if node.cards and _entries(node, speed, inter) < channels:
        return False
    held = [node.holds(g, speed, intra) for g in range(len(node.gpus))]
    return all(sum(min(channels, one[way]) for one in held) >= channels * (len(held) - 1) for way in (0, 1))


def _settings(node: NodeGraph, patterns: tuple[int, ...]) -> Iterator[tuple[int, int, int, int, bool]]:
    """(crossing, worst type to a card, worst type between GPUs, pattern, same order), in NCCL's order."""
    between = [way.type for way in node.between.values()] or [LOC]
    to_card = [way.type for way in (*node.out.values(), *node.into.values())]
    inters = range(min(to_card), max(to_card) + 1) if to_card else [LOC]
    pairs = node.rules.cross_nic == 2 and len(node.cards) > 1 and patterns[0] in (c.RING, c.BALANCED_TREE)
    crosses = [1] if node.rules.cross_nic == 1 and patterns[0] != c.TREE else [0, 2] if pairs else [0]
    for cross in crosses:
        for inter in inters:
            last = max(between) if not node.cards else max(min(between), min(inter, max(between)))
            for intra in range(min(between), last + 1):
                for pattern in patterns:
                    yield cross, inter, intra, pattern, True
                    if node.rules.cpu != "amd" or intra != SYS:
                        yield cross, inter, intra, pattern, False


def _still(best: _Found, cross: int, inter: int, intra: int) -> bool:
    """With a solution at hand, no worse paths are tried than it has (to cards at least up to PXN)."""
    if cross and not best.cross:
        return intra <= best.type_intra
    return intra <= best.type_intra and inter <= max(PXN, best.type_inter)
