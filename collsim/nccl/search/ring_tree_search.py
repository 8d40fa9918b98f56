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
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from ...topology.plan import LEVELS, LOC, PXN, SYS, Machine
from ...trees import node_chains, renamed
from . import constants as c
from .link_capacity import AllowedPaths, LinkCapacity
from .node_graph import NodeGraph, Rules, SearchInput
from .search_round import Channel, GpuRanking, SearchRound, Setting, Solution, is_better

#: Steps of one round with equal channels, with different ones, and of all rounds.
_STEPS_SAME, _STEPS, _STEPS_ALL = 2**8, 2**12, 2**15
#: Most GPUs of a node that is searched.
MOST_GPUS = 16
_TREES = (c.BALANCED_TREE, c.SPLIT_TREE, c.TREE)


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
    def total_speed(self) -> float:
        """GB/s of all channels together."""
        return len(self.channels) * self.speed

    @property
    def has_swapped_pairs(self) -> bool:
        """Do pairs of channels swap their ways through every other node?"""
        return self.cross_nic == 2 and len(self.channels) % 2 == 0

    def build_orders(self, nodes: int) -> npt.NDArray[np.int32]:
        """(channels, ranks): the order in which each ring visits the ranks of so many nodes like this one."""
        return build_rank_orders(self.channels, nodes, self.has_swapped_pairs)

    def count_crossings(self, nodes: int) -> int:
        """How many of the hops between nodes, one per channel and node, end at another card than they began at: on
        rails they change rail.

        Pairs of channels are exchanged on every other node to avoid that (src/graph/connect.cc, ncclTopoPostset).
        """
        if nodes < 2:
            return 0
        count = len(self.channels)
        of = [
            [self.channels[c ^ 1 if self.has_swapped_pairs and node % 2 else c] for c in range(count)]
            for node in range(nodes)
        ]
        return sum(of[k][c].exit_card != of[(k + 1) % nodes][c].entry_card for k in range(nodes) for c in range(count))


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

    def build_parents(self, nodes: int) -> tuple[tuple[int, ...], ...]:
        """Tree of each running channel over so many nodes like this one: the parent of every rank, -1 for the root.

        As an INFO log's `Trees [0] ...` tell it: every channel has one tree of the double binary tree, its copy in the
        second half of the channels the other (src/graph/connect.cc, connectTrees).
        """
        pair = node_chains(nodes * len(self.channels[0].gpus), nodes, self.shape)
        return tuple(
            tuple(renamed(tree, order).tolist()) for tree in pair for order in build_rank_orders(self.channels, nodes)
        )


#: Tree patterns in the words of `allreduce_double_binary_tree`.
SHAPES = {c.BALANCED_TREE: "balanced", c.SPLIT_TREE: "split", c.TREE: "tree"}


def build_rank_orders(channels: tuple[Channel, ...], nodes: int, exchanged: bool = False) -> npt.NDArray[np.int32]:
    """(channels, ranks): GPUs in the order of each channel, node after node; `exchanged` pairs of channels swap on
    every other node."""
    local = len(channels[0].gpus)
    chains = [
        [channels[k ^ 1 if exchanged and node % 2 else k].gpus for node in range(nodes)] for k in range(len(channels))
    ]
    offset = local * np.arange(nodes)[:, None]
    return np.array([(np.array(chain) + offset).ravel() for chain in chains], np.int32)


def duplicate_channels(channels: int, speed: float, cc: int) -> tuple[int, float]:
    """Channels and GB/s of each once fast ones are cut in two slower ones (search.cc, ncclTopoDupChannels)."""
    if speed < c.DUPLICATED or (cc > 80 and speed < c.DUPLICATED_FAST and channels > c.DUPLICATED_FEW):
        return channels, speed
    count = min(2 * channels, c.SEARCH_CHANNELS // 2)
    return count, speed / -(-count // channels)


def search_rings(plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules) -> Rings:
    """Search the rings of one node.

    Args:
        plan: the node's wiring; its cables' `effective` rates are NCCL's.
        gpus: how many of its GPUs take part, the first ones.
        cards: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.

    Where nothing is found: one channel in plain order at 0.1 GB/s and type SYS, as in NCCL.
    """
    return _rings(SearchInput.from_machine(plan, gpus, cards, rules))


def search_trees(plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules, channels: int) -> Trees:
    """Search the trees of one node, as many channels as its rings have once duplicated; the other arguments as for
    `rings`."""
    return _trees(SearchInput.from_machine(plan, gpus, cards, rules), channels)


@lru_cache(maxsize=256)
def _rings(asked: SearchInput) -> Rings:
    node = asked.build_node_graph()
    found = _most_rings(_Rounds(node))
    if found is None:
        return Rings((_plain(node),), c.LAST_RESORT, "SYS", "SYS", True, 0)
    return Rings(
        found.channels, found.intra_speed, *_names(node, found), found.setting.same_order, found.setting.cross_nic
    )


@lru_cache(maxsize=256)
def _trees(asked: SearchInput, channels: int) -> Trees:
    node = asked.build_node_graph()
    rounds = _Rounds(node)
    found = _fastest_trees(rounds, channels)
    if found is None:
        return Trees((_plain(node),), c.LAST_RESORT, c.LAST_RESORT, "SYS", "SYS", True, 0, _patterns(node)[0])
    found = _raised(rounds, found)
    cross, *_, pattern, same = found.setting
    return Trees(found.channels, found.intra_speed, found.inter_speed, *_names(node, found), same, cross, pattern)


def _plain(node: NodeGraph) -> Channel:
    return Channel(tuple(range(len(node.gpus))), *((node.cards[0],) * 2 if node.cards else ()))


def _names(node: NodeGraph, found: Solution) -> tuple[str, str]:
    """Path types as NCCL prints them."""
    return LEVELS[found.setting.intra_type], LEVELS[found.setting.inter_type] if node.cards else "LOC"


@dataclass(frozen=True)
class _Walked:
    """What a round came to that was not full: its steps, most channels at hand, and their links."""

    steps: int
    channels: int
    links: int


class _Rounds:
    """The rounds of one search of a node: what they share is worked out once, and of those that would go the same way
    one is run."""

    def __init__(self, node: NodeGraph):
        self.node = node
        self._capacity = cache(lambda *speeds: LinkCapacity(node, *speeds))
        self._allowed = cache(lambda speeds, types: AllowedPaths(self._capacity(*speeds), *types))
        self._ranked = cache(lambda pattern: GpuRanking(node, pattern))
        self._between = {way.type for way in node.gpu_to_gpu.values()}
        self._to_card = {way.type for way in (*node.gpu_to_card.values(), *node.card_to_gpu.values())}
        self._walked: dict[tuple[object, ...], _Walked] = {}

    def run(
        self, setting: Setting, intra: float, inter: float, best: Solution | None, least: int, most: int
    ) -> tuple[Solution | None, int]:
        """What a round finds, `best` where it is not surpassed, and the steps it took."""
        allowed = self._of(setting, intra, inter, most)
        key = allowed.cache_key, setting.cross_nic, setting.pattern, setting.same_order, most
        if (was := self._walked.get(key)) and not (
            was.channels >= least and is_better(was.channels, was.links, intra, setting, best)
        ):
            return best, was.steps
        steps = _STEPS_SAME if setting.same_order else _STEPS
        now = SearchRound(self.node, setting, allowed, self._ranked(setting.pattern), best, steps, least, most)
        now.run()
        taken = steps - max(now.steps_left, 0)
        if not now.is_full:
            self._walked[key] = _Walked(taken, now.most_reached[0], -now.most_reached[1])
        return now.best_solution, taken

    def _of(self, setting: Setting, intra: float, inter: float, most: int) -> AllowedPaths:
        """The ways for so many channels of these speeds. Types that no way has are as the next better one."""
        types = (
            max((t for t in self._between if t <= setting.intra_type), default=-1),
            max((t for t in self._to_card if t <= setting.inter_type), default=-1),
            setting.pattern in _TREES,
        )
        found: AllowedPaths = self._allowed((intra, inter, most, setting.pattern == c.BALANCED_TREE), types)
        return found


def _most_rings(rounds: _Rounds) -> Solution | None:
    """Rounds from the fastest speed and the best paths to slower and worse ones, until the total cannot grow."""
    node, limit = rounds.node, rounds.node.best_gpu_bandwidth
    best, left = None, _STEPS_ALL
    for speed in _speeds(node, limit):
        if best is not None and speed / best.intra_speed <= c.SLOWER_SPEED:
            break
        for setting in _settings(node, (c.RING,)):
            if best is not None and not _still(best, setting):
                continue
            most = _room_for(node, speed, setting.intra_type)
            if most * speed <= (best.total_speed if best else 0.0) + 1e-6:
                continue
            best, taken = rounds.run(setting, speed, speed, best, 1, most)
            left -= taken
            if best and (best.total_speed >= limit - 1e-6 or left < 0):
                return best
    return best


def _fastest_trees(rounds: _Rounds, channels: int) -> Solution | None:
    """The first round that gets all channels."""
    node, g = rounds.node, len(rounds.node.gpus)
    limit = node.best_gpu_bandwidth * (g / (g - 1) if g > 1 else 1.0)
    for speed in _speeds(node, limit / channels):
        for setting in _settings(node, _patterns(node)):
            if _enter(node, channels, speed, setting.inter_type) and _chained(
                node, channels, speed, setting.intra_type
            ):
                found, _ = rounds.run(setting, speed, speed, None, channels, channels)
                if found:
                    return found
    return None


def _raised(rounds: _Rounds, found: Solution) -> Solution:
    """The same channels with more inside the node, while that is less than twice what they have between nodes."""
    node, count = rounds.node, len(found.channels)
    table = c.get_speeds(node.machine.sm, 2 if node.cards else 1)
    for speed in table[: table.index(found.inter_speed)][::-1]:
        if found.intra_speed >= 2 * found.inter_speed or not _chained(node, count, speed, found.setting.intra_type):
            break
        faster, _ = rounds.run(found.setting, speed, found.inter_speed, found, count, count)
        if faster is found or faster is None:
            break
        found = faster
    return found


def _speeds(node: NodeGraph, limit: float) -> Iterator[float]:
    """Speeds of the table that the fastest path and the limit allow, GB/s, fastest first."""
    every = [*node.gpu_to_card.values(), *node.card_to_gpu.values()] if node.cards else list(node.gpu_to_gpu.values())
    fastest = max((way.bandwidth for way in every), default=0.0)
    table = c.get_speeds(node.machine.sm, 2 if node.cards else 1)
    return (s for s in table if s <= fastest + 1e-6 and s <= limit + 1e-6)


def _patterns(node: NodeGraph) -> tuple[int, ...]:
    """Tree patterns that NCCL tries here, in its order."""
    if len(node.gpus) == 1:
        return (c.TREE,)
    if node.machine.sm < 80:
        return (c.SPLIT_TREE,)
    return (c.BALANCED_TREE, c.TREE) if node.machine.sm >= 90 else (c.BALANCED_TREE,)


def _room_for(node: NodeGraph, speed: float, intra: int) -> int:
    """Most rings of a speed for which GPUs have links and cards have ports."""
    out = [node.count_link_channels(g, speed, intra)[0] for g in range(len(node.gpus))]
    if not node.cards:
        return min(c.SEARCH_CHANNELS, *out)
    ports = _ports(node, speed, node.cards)
    return min(c.SEARCH_CHANNELS, ports, sum(out) // (len(out) - 1) if len(out) > 1 else ports)


def _ports(node: NodeGraph, speed: float, cards: Collection[int]) -> int:
    """Channels of a speed that these cards carry."""
    return sum(int(node.link_bandwidth[2 * (len(node.machine.joints) + card)] / speed + 1e-6) for card in cards)


def _entries(node: NodeGraph, speed: float, inter: int) -> int:
    """Channels of a speed for which there is room where they enter: at the cards near enough to a GPU, and at the slots
    of such GPUs."""
    near = [way for way, found in node.card_to_gpu.items() if found.type <= inter]
    return min(
        _ports(node, speed, {card for card, _ in near}),
        sum(node.count_slot_channels(g, speed) for g in {g for _, g in near}),
    )


def _enter(node: NodeGraph, channels: int, speed: float, inter: int) -> bool:
    """Is there room for so many channels of a speed to enter the node?"""
    return not node.cards or _entries(node, speed, inter) >= channels


def _chained(node: NodeGraph, channels: int, speed: float, intra: int) -> bool:
    """Have GPUs the links for so many chains? All but the last send, and all but the first receive."""
    held = [node.count_link_channels(g, speed, intra) for g in range(len(node.gpus))]
    return all(sum(min(channels, one[way]) for one in held) >= channels * (len(held) - 1) for way in (0, 1))


def _settings(node: NodeGraph, patterns: tuple[int, ...]) -> Iterator[Setting]:
    """What rounds allow, in NCCL's order."""
    between = [way.type for way in node.gpu_to_gpu.values()] or [LOC]
    to_card = [way.type for way in (*node.gpu_to_card.values(), *node.card_to_gpu.values())]
    inters = range(min(to_card), max(to_card) + 1) if to_card else [LOC]
    pairs = node.rules.cross_nic == 2 and len(node.cards) > 1 and patterns[0] in (c.RING, c.BALANCED_TREE)
    crosses = [1] if node.rules.cross_nic == 1 and patterns[0] != c.TREE else [0, 2] if pairs else [0]
    for cross in crosses:
        for inter in inters:
            last = max(between) if not node.cards else max(min(between), min(inter, max(between)))
            for intra in range(min(between), last + 1):
                for pattern in patterns:
                    yield Setting(cross, inter, intra, pattern, True)
                    if node.rules.cpu != "amd" or intra != SYS:
                        yield Setting(cross, inter, intra, pattern, False)


def _still(best: Solution, setting: Setting) -> bool:
    """With a solution at hand, no worse paths are tried than it has (to cards at least up to PXN)."""
    had = best.setting
    if setting.intra_type > had.intra_type:
        return False
    return bool(setting.cross_nic and not had.cross_nic) or setting.inter_type <= max(PXN, had.inter_type)
