"""One round of the search: channel after channel, GPU after GPU, by trying (src/graph/search.cc, ncclTopoSearchRec).

What was tried in vain from some state of the links is not tried again: it would end as before, and its steps are
counted as before. So a round finds what it would find, and runs out of steps where it would, had it tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from . import constants as c
from .link_capacity import AllowedPaths, Exit
from .node_graph import LinkPath, NodeGraph

_FREE, _PCI, _REPLAY = range(3)


@dataclass(frozen=True)
class Channel:
    """One channel through a node: GPUs in order, and the network cards by which it enters and leaves (-1 where there is
    one node)."""

    gpus: tuple[int, ...]
    entry_card: int = -1
    exit_card: int = -1


class Setting(NamedTuple):
    """What a round allows: crossing cards, the worst type to a card and between GPUs (numbers of `LEVELS`), its
    pattern, all channels in one order."""

    cross_nic: int
    inter_type: int
    intra_type: int
    pattern: int
    same_order: bool


@dataclass(frozen=True)
class Solution:
    """A solution: its channels, their GB/s inside and between nodes, what was allowed, links in all."""

    channels: tuple[Channel, ...]
    intra_speed: float
    inter_speed: float
    setting: Setting
    link_count: int

    @property
    def total_speed(self) -> float:
        return len(self.channels) * self.intra_speed


class GpuRanking:
    """The orders in which the search of a pattern tries a node's GPUs: they depend on no speed."""

    def __init__(self, node: NodeGraph, pattern: int):
        self.node, self.pattern, n = node, pattern, range(len(node.gpus))
        self.first_gpus = {card: self._nearest(card) for card in node.cards}
        self._near = [[_closeness(node.gpu_to_gpu.get((a, b))) for b in n] for a in n]

    def _nearest(self, card: int) -> list[int]:
        into = self.node.card_to_gpu
        near = {g: _closeness(way) for g in range(len(self.node.gpus)) if (way := into.get((card, g)))}
        return [g for g in near if near[g] == min(near.values())]

    def rank_next_gpus(self, here: int, used: int, card: int, last: bool) -> list[int]:
        """GPUs to try after one, of those that are not among the `used` (a bit for each).

        Args:
            card: the card of entry while the way back to one is still ahead, else -1. last: not for the GPU it is at.
        """
        n = len(self.node.gpus)
        if self.node.has_nvswitch:
            after, before = (here + 1) % n, (here - 1) % n
            firsts = {c.RING: (before, after), c.TREE: (after,)}.get(self.pattern, (after, before))
            return [g for g in dict.fromkeys(firsts) if not used >> g & 1]
        left = [g for i in range(1, n) if not used >> (g := (here + i) % n) & 1]
        near = self._near[here]
        of_card = [_closeness(self.node.card_to_gpu.get((card, g))) if card >= 0 else (0.0, 0) for g in range(n)]
        ranked = sorted(left, key=lambda g: (of_card[g], near[g]))
        return ranked[::-1] if last and len({near[g] for g in left}) == 1 else ranked


def _closeness(way: LinkPath | None) -> tuple[float, int]:
    return (-way.bandwidth, len(way.costs)) if way else (0.0, 0)


class _Start(NamedTuple):
    """How a channel begins: the card of entry (-1 for none), the order of its GPUs, and what was tried in vain of such
    (None: is not remembered), with the steps it took."""

    card: int
    order: int
    vain: dict[tuple[int, ...], int] | None


@dataclass
class SearchRound:
    """One search: all channels of one speed and these ways, in at most `steps` steps; `best` is what earlier rounds
    found.

    A solution has at least `least` channels; with `most` of them the round ends. `reached`: the most channels that
    were at hand at once, and less than no links where they took fewest.
    """

    node: NodeGraph
    setting: Setting
    allowed_paths: AllowedPaths
    gpu_ranking: GpuRanking
    best_solution: Solution | None
    steps_left: int
    min_channels: int
    max_channels: int
    channels: list[Channel] = field(default_factory=list)
    is_full: bool = False
    most_reached: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self._gpus, self._guards = len(self.node.gpus), self.allowed_paths.capacity.guard_bits
        # the place in a channel from which it returns to a card
        self._back = {c.RING: self._gpus - 1, c.SPLIT_TREE: min(1, self._gpus - 1)}.get(self.setting.pattern, 0)
        self._known: dict[tuple[int, int, int, bool], list[tuple[int, int, int]]] = {}
        self._vain: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}

    def run(self) -> Solution | None:
        """What is found, or `best` where that is not surpassed."""
        self._more(self.allowed_paths.capacity.free_bandwidth, 0)
        return self.best_solution

    @property
    def is_over(self) -> bool:
        return self.is_full or self.steps_left <= 0

    def _more(self, left: int, links: int) -> None:
        """All ways to add one more channel to those at hand, with what is left on the links."""
        if not self.node.cards:
            self._inside(left, links)
            return
        last, same = self.channels[-1] if self.channels else None, self.setting.same_order
        for card in self._cards():
            if last and same:
                self._enter(card, last.gpus[0], _REPLAY, left, links)
                continue
            if not last and not self.node.has_nvswitch:
                self._enter(card, 0, _PCI, left, links)
            for g in self.gpu_ranking.first_gpus[card]:
                self._enter(card, g, _FREE, left, links)

    def _inside(self, left: int, links: int) -> None:
        """A channel that stays in the node: in the order of the last one, and, if they may differ, from every GPU."""
        first = self.channels[-1].gpus[0] if self.channels else 0
        self._walk(
            self._start(-1, first, _REPLAY if self.channels else _PCI), (first,), 1 << first, left, links, -1, -1
        )
        for g in range(len(self.node.gpus)) if not self.channels or not self.setting.same_order else ():
            self._walk(self._start(-1, g, _FREE), (g,), 1 << g, left, links, -1, -1)

    def _cards(self) -> list[int]:
        """Cards to enter by, each channel beginning with another; where rings cross in pairs, only the one by which the
        first left."""
        cards, count = self.node.cards, len(self.channels)
        if self._paired:
            return [card for card in cards if card == self.channels[-1].exit_card]
        return [cards[(count + i) % len(cards)] for i in range(len(cards))]

    @property
    def _paired(self) -> bool:
        """Is the next channel the way back of the last one?"""
        return self.setting.pattern == c.RING and self.setting.cross_nic == 2 and len(self.channels) % 2 == 1

    def _enter(self, card: int, g: int, order: int, left: int, links: int) -> None:
        cost = self.allowed_paths.entries.get((card, g))
        if not self.is_over and cost and (left := left - cost[0]) & self._guards == self._guards:
            start = self._start(card, g, order)
            self._walk(start, (g,), 1 << g, left, links + cost[1], self._back, -1)

    def _start(self, card: int, g: int, order: int) -> _Start:
        """What is left decides what can be found, unless a later channel has the same order."""
        count = len(self.channels)
        alike = count + 1 < self.max_channels and (card < 0 or self.setting.same_order)
        if order != _FREE or alike:
            return _Start(card, order, None)
        back_by = self.channels[-1].entry_card if self._paired else -1
        return _Start(card, order, self._vain.setdefault((count, card, g if card < 0 else -1, back_by), {}))

    def _walk(
        self, start: _Start, path: tuple[int, ...], used: int, left: int, links: int, back: int, leaves: int
    ) -> None:
        """Go on from the last GPU of the path.

        `used`: its GPUs, a bit for each. `back`: the place from which it returns to a card, -1 for none (any more).
        """
        self.steps_left = steps = self.steps_left - 1
        if self.is_full or steps <= 0:
            return
        vain, key, best, at = start.vain, (path[-1], used, left, links, back, leaves), self.best_solution, len(path)
        if vain is not None and key in vain:
            self.steps_left -= vain[key]
            return
        if at - 1 == back:
            self._leave(start, path, used, left, links, leaves)
        elif at < self._gpus:
            guards = self._guards
            for g, cost, count in self._hops(start, path, used, back):
                if (rest := left - cost) & guards == guards:
                    self._walk(start, (*path, g), used | 1 << g, rest, links + count, back, leaves)
        else:
            self._close(path, start.card, leaves, left, links)
        if vain is not None and self.best_solution is best and self.steps_left > 0:
            vain[key] = steps - self.steps_left

    def _hops(self, start: _Start, path: tuple[int, ...], used: int, back: int) -> list[tuple[int, int, int]]:
        """The GPUs to try next, each with what the way to it takes and its links."""
        here, at = path[-1], len(path)
        if start.order != _FREE:
            return self._reached(here, (at if start.order == _PCI else self.channels[-1].gpus[at],))
        card = start.card if back >= 0 else -1
        key = here, used, card, back > at
        if key not in self._known:
            self._known[key] = self._reached(here, self.gpu_ranking.rank_next_gpus(*key))
        return self._known[key]

    def _reached(self, here: int, others: Iterable[int]) -> list[tuple[int, int, int]]:
        return [(g, *cost) for g in others if (cost := self.allowed_paths.hops[here][g])]

    def _leave(self, start: _Start, path: tuple[int, ...], used: int, left: int, links: int, leaves: int) -> None:
        """Reserve the way from the last GPU to a card; a balanced tree takes half of it there, half at the next GPU."""
        balanced, guards = self.setting.pattern == c.BALANCED_TREE, self._guards
        then = 1 if balanced and len(path) == 1 else -1
        for card, whole, half in self._exits(path[-1], start.card, leaves):
            cost, count = half if balanced else whole
            if (rest := left - cost) & guards == guards:
                self._walk(start, path, used, rest, links + count, then, card)

    def _exits(self, here: int, card: int, leaves: int) -> list[Exit]:
        """Out by the card of entry; or, crossing, by any, rings in pairs: in by 0, out by 1, then in by 1, out by 0."""
        if leaves >= 0:  # the other half of a balanced tree
            only = leaves
        elif self._paired:
            only = self.channels[-1].entry_card
        elif self.setting.cross_nic and self.setting.pattern != c.TREE:
            return self.allowed_paths.exits[here]
        else:
            only = card
        return [found for found in self.allowed_paths.exits[here] if found[0] == only]

    def _close(self, path: tuple[int, ...], card: int, leaves: int, left: int, links: int) -> None:
        """A channel with all GPUs: a ring that stays in the node needs the way to its first one."""
        if self.setting.pattern == c.RING and card < 0:
            home = self.allowed_paths.hops[path[-1]][path[0]]
            if not home or (left := left - home[0]) & self._guards != self._guards:
                return
            links += home[1]
        self.channels.append(Channel(path, card, leaves))
        self._take(links)
        if not self.is_full and len(self.channels) < self.max_channels:
            self._more(left, links)
        self.channels.pop()

    def _take(self, links: int) -> None:
        """Keep these channels if they are better than the best."""
        count, speeds = (
            len(self.channels),
            (self.allowed_paths.capacity.intra_speed, self.allowed_paths.capacity.inter_speed),
        )
        self.most_reached = max(self.most_reached, (count, -links))
        if count >= self.min_channels and is_better(count, links, speeds[0], self.setting, self.best_solution):
            self.best_solution = Solution(tuple(self.channels), *speeds, self.setting, links)
            self.is_full = count >= self.max_channels


def is_better(count: int, links: int, speed: float, setting: Setting, best: Solution | None) -> bool:
    """Do so many channels of a speed give more than the best, or as much over fewer links?"""
    total, before = count * speed, 0.0 if best is None else best.total_speed
    if total > before + 1e-9:
        return True
    alike = best is not None and (best.setting.pattern, best.setting.cross_nic) == (setting.pattern, setting.cross_nic)
    return total >= before - 1e-9 and alike and links < best.link_count  # type: ignore[union-attr]
