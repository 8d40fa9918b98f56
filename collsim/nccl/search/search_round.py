"""One round of the search: channel after channel, GPU after GPU, by trying (src/graph/search.cc, ncclTopoSearchRec).

States of the links from which the search failed are memoised; their steps still count. So a round finds the same
graphs, and runs out of steps at the same point, as without the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from . import constants as c
from .link_capacity import AllowedPaths, Exit
from .node_graph import LinkPath, NodeGraph

#: How the GPUs of a channel are ordered: freely, by their PCI addresses, or as in the channel before.
_FREE, _PCI, _REPLAY = range(3)


@dataclass(frozen=True)
class Channel:
    """One channel through a node.

    Attributes:
        gpus: numbers of its GPUs, in order.
        entry_card: number of the network card by which it enters; -1 where there is one node.
        exit_card: the same of the card by which it leaves.
    """

    gpus: tuple[int, ...]
    entry_card: int = -1
    exit_card: int = -1


class SearchConstraints(NamedTuple):
    """What a round allows.

    Attributes:
        cross_nic: 0, a channel leaves by the card it enters by; 1, by any; 2, in pairs of channels.
        inter_type: the worst type of path to a card (numbers of `topology.machine_builder.LEVELS`).
        intra_type: the worst type of path between GPUs.
        pattern: `constants.RING` or one of the trees.
        same_order: all channels visit the GPUs in one order.
    """

    cross_nic: int
    inter_type: int
    intra_type: int
    pattern: int
    same_order: bool


@dataclass(frozen=True)
class Solution:
    """Channels that fit on a node.

    Attributes:
        channels: the channels.
        intra_speed: GB/s of each inside the node.
        inter_speed: GB/s of each between nodes.
        constraints: what the round allowed that found them.
        link_count: links that they cross, all channels together.
    """

    channels: tuple[Channel, ...]
    intra_speed: float
    inter_speed: float
    constraints: SearchConstraints
    link_count: int

    @property
    def total_speed(self) -> float:
        """GB/s of all channels together, inside the node."""
        return len(self.channels) * self.intra_speed


class GpuRanking:
    """The orders in which the search of a pattern tries a node's GPUs, which depend on no speed.

    Args:
        node: the node.
        pattern: `constants.RING` or one of the trees.

    Attributes:
        first_gpus: by card, the GPUs nearest to it.
    """

    def __init__(self, node: NodeGraph, pattern: int):
        self.node, self.pattern, gpus = node, pattern, range(len(node.gpus))
        self.first_gpus = {card: self._find_nearest(card) for card in node.cards}
        self._closeness = [[_rank_closeness(node.gpu_to_gpu.get((a, b))) for b in gpus] for a in gpus]
        self._card_closeness = {
            card: [_rank_closeness(node.card_to_gpu.get((card, gpu))) for gpu in gpus] for card in (*node.cards, -1)
        }
        # Rounds of all speeds ask for the same orders.
        self._orders: dict[tuple[int, int, int, bool], list[int]] = {}

    def _find_nearest(self, card: int) -> list[int]:
        paths = {gpu: self.node.card_to_gpu.get((card, gpu)) for gpu in range(len(self.node.gpus))}
        closeness = {gpu: _rank_closeness(path) for gpu, path in paths.items() if path}
        return [gpu for gpu in closeness if closeness[gpu] == min(closeness.values())]

    def rank_next_gpus(self, gpu: int, used: int, card: int, returns_later: bool) -> list[int]:
        """List the GPUs to try after one, in the order in which they are tried.

        Args:
            gpu: the GPU that the channel has come to.
            used: GPUs of the channel so far, a bit for each.
            card: the card of entry while the way back to one is still ahead, else -1.
            returns_later: whether the channel returns to a card from a later GPU than the next.

        Returns:
            Numbers of unused GPUs.
        """
        key = gpu, used, card, returns_later
        if key not in self._orders:
            self._orders[key] = self._order_next_gpus(*key)
        return self._orders[key]

    def _order_next_gpus(self, gpu: int, used: int, card: int, returns_later: bool) -> list[int]:
        count = len(self.node.gpus)
        if self.node.has_nvswitch:
            after, before = (gpu + 1) % count, (gpu - 1) % count
            neighbours = {c.RING: (before, after), c.TREE: (after,)}.get(self.pattern, (after, before))
            return [other for other in dict.fromkeys(neighbours) if not used >> other & 1]
        unused = [other for i in range(1, count) if not used >> (other := (gpu + i) % count) & 1]
        to_gpu = self._closeness[gpu]
        to_card = self._card_closeness[card]
        ranked = sorted(unused, key=lambda other: (to_card[other], to_gpu[other]))
        if returns_later and len({to_gpu[other] for other in unused}) == 1:
            return ranked[::-1]
        return ranked


def _rank_closeness(path: LinkPath | None) -> tuple[float, int]:
    if path:
        return (-path.bandwidth, len(path.costs))
    return (0.0, 0)


class _Start(NamedTuple):
    """How a channel begins.

    Attributes:
        card: the card of entry, -1 for none.
        order: `_FREE`, `_PCI` or `_REPLAY`.
        exhausted: states from which such channels were tried in vain, with the steps that took; None: not remembered.
    """

    card: int
    order: int
    exhausted: dict[tuple[int, ...], int] | None


@dataclass
class SearchRound:
    """One round: all channels of one speed over allowed paths, in a limited number of steps.

    Attributes:
        node: the node.
        constraints: what is allowed.
        allowed_paths: the paths within these constraints, at the speeds of the round.
        gpu_ranking: the order in which GPUs are tried.
        best_solution: what earlier rounds found; afterwards the best of all.
        steps_left: steps that the round may still take.
        min_channels: a solution has at least this many channels.
        max_channels: with this many the round ends.
        channels: the channels at hand.
        is_full: whether the round ended with `max_channels`.
        most_reached: the most channels that were at hand at once, and minus the links of those that took fewest.
    """

    node: NodeGraph
    constraints: SearchConstraints
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
        # What is free on all links is one whole number, a field of bits for each link with a guard bit above it.
        # Subtracting what a path takes clears the guard bit of a link that has not enough, so one `&` checks all
        # links.
        self._gpus, self._guards = len(self.node.gpus), self.allowed_paths.capacity.guard_bits
        # the position in a channel from which it returns to a card
        self._return_position = {c.RING: self._gpus - 1, c.SPLIT_TREE: min(1, self._gpus - 1)}.get(
            self.constraints.pattern, 0
        )
        self._hop_cache: dict[tuple[int, int, int, bool], list[tuple[int, int, int]]] = {}
        self._exhausted: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}

    def search(self) -> Solution | None:
        """Find the best solution of the round.

        Returns:
            The best solution; the one of earlier rounds where none is better.
        """
        self._add_channels(self.allowed_paths.capacity.free_bandwidth, 0)
        return self.best_solution

    @property
    def is_over(self) -> bool:
        """Whether nothing more is tried: all channels fit, or the steps are used up."""
        return self.is_full or self.steps_left <= 0

    def _add_channels(self, free: int, links: int) -> None:
        """Try all ways to add one more channel to those at hand, with what is free on the links."""
        if not self.node.cards:
            self._add_local_channels(free, links)
            return
        last = None
        if self.channels:
            last = self.channels[-1]
        for card in self._list_entry_cards():
            if last and self.constraints.same_order:
                self._enter_node(card, last.gpus[0], _REPLAY, free, links)
                continue
            if not last and not self.node.has_nvswitch:
                self._enter_node(card, 0, _PCI, free, links)
            for gpu in self.gpu_ranking.first_gpus[card]:
                self._enter_node(card, gpu, _FREE, free, links)

    def _add_local_channels(self, free: int, links: int) -> None:
        """A channel that stays in the node: in the order of the last one, and, if they may differ, from every GPU."""
        first, order = 0, _PCI
        if self.channels:
            first, order = self.channels[-1].gpus[0], _REPLAY
        self._extend_path(self._begin_channel(-1, first, order), (first,), 1 << first, free, links, -1, -1)
        if self.channels and self.constraints.same_order:
            return
        for gpu in range(len(self.node.gpus)):
            self._extend_path(self._begin_channel(-1, gpu, _FREE), (gpu,), 1 << gpu, free, links, -1, -1)

    def _list_entry_cards(self) -> list[int]:
        """Cards to enter by, each channel beginning with another; where rings cross in pairs, only the one by which the
        first left."""
        cards, count = self.node.cards, len(self.channels)
        if self._is_way_back:
            return [card for card in cards if card == self.channels[-1].exit_card]
        return [cards[(count + i) % len(cards)] for i in range(len(cards))]

    @property
    def _is_way_back(self) -> bool:
        """Whether the next channel is the way back of the last one."""
        return self.constraints.pattern == c.RING and self.constraints.cross_nic == 2 and len(self.channels) % 2 == 1

    def _enter_node(self, card: int, gpu: int, order: int, free: int, links: int) -> None:
        cost = self.allowed_paths.entries.get((card, gpu))
        if not self.is_over and cost and (free := free - cost[0]) & self._guards == self._guards:
            start = self._begin_channel(card, gpu, order)
            self._extend_path(start, (gpu,), 1 << gpu, free, links + cost[1], self._return_position, -1)

    def _begin_channel(self, card: int, gpu: int, order: int) -> _Start:
        """What is free decides what can be found, unless a later channel has the same order."""
        count = len(self.channels)
        is_repeated = count + 1 < self.max_channels and (card < 0 or self.constraints.same_order)
        if order != _FREE or is_repeated:
            return _Start(card, order, None)
        return_card = -1
        if self._is_way_back:
            return_card = self.channels[-1].entry_card
        key = count, card, gpu if card < 0 else -1, return_card
        return _Start(card, order, self._exhausted.setdefault(key, {}))

    def _extend_path(
        self,
        start: _Start,
        path: tuple[int, ...],
        used: int,
        free: int,
        links: int,
        return_position: int,
        exit_card: int,
    ) -> None:
        """Continue from the last GPU of the path; `used` has a bit for each of its GPUs, `return_position` is the
        position from which it returns to a card, -1 for none (any more)."""
        self.steps_left = steps = self.steps_left - 1
        if self.is_full or steps <= 0:
            return
        # What was exhausted without a better result from here will not give one again.
        exhausted, best, position = start.exhausted, self.best_solution, len(path)
        key = path[-1], used, free, links, return_position, exit_card
        if exhausted is not None and key in exhausted:
            self.steps_left -= exhausted[key]
            return
        if position - 1 == return_position:
            self._leave_node(start, path, used, free, links, exit_card)
        elif position < self._gpus:
            guards = self._guards
            for gpu, cost, count in self._list_hops(start, path, used, return_position):
                # The guard bits turn a subtraction on all links at once into one test for "enough left".
                if (rest := free - cost) & guards == guards:
                    self._extend_path(
                        start, (*path, gpu), used | 1 << gpu, rest, links + count, return_position, exit_card
                    )
        else:
            self._close_channel(path, start.card, exit_card, free, links)
        # Only a subtree that was searched to its end and found nothing is remembered.
        if exhausted is not None and self.best_solution is best and self.steps_left > 0:
            exhausted[key] = steps - self.steps_left

    def _list_hops(
        self, start: _Start, path: tuple[int, ...], used: int, return_position: int
    ) -> list[tuple[int, int, int]]:
        """The GPUs to try next, each with what the hop takes and its links."""
        gpu, position = path[-1], len(path)
        if start.order == _PCI:
            return self._cost_hops(gpu, (position,))
        if start.order == _REPLAY:
            return self._cost_hops(gpu, (self.channels[-1].gpus[position],))
        card = -1
        if return_position >= 0:
            card = start.card
        key = gpu, used, card, return_position > position
        if key not in self._hop_cache:
            self._hop_cache[key] = self._cost_hops(gpu, self.gpu_ranking.rank_next_gpus(*key))
        return self._hop_cache[key]

    def _cost_hops(self, gpu: int, others: Iterable[int]) -> list[tuple[int, int, int]]:
        costs = self.allowed_paths.hops[gpu]
        return [(other, *cost) for other in others if (cost := costs[other])]

    def _leave_node(
        self, start: _Start, path: tuple[int, ...], used: int, free: int, links: int, exit_card: int
    ) -> None:
        """Reserve the path from the last GPU to a card; a balanced tree takes half of it there, half at the next
        GPU."""
        is_balanced, guards = self.constraints.pattern == c.BALANCED_TREE, self._guards
        return_position = -1
        if is_balanced and len(path) == 1:
            return_position = 1
        for card, full_rate, half in self._list_exits(path[-1], start.card, exit_card):
            cost, count = half if is_balanced else full_rate
            if (rest := free - cost) & guards == guards:
                self._extend_path(start, path, used, rest, links + count, return_position, card)

    def _list_exits(self, gpu: int, card: int, exit_card: int) -> list[Exit]:
        """Out by the card of entry; or, crossing, by any, rings in pairs: in by 0, out by 1, then in by 1, out by 0."""
        required = card
        if exit_card >= 0:  # the other half of a balanced tree
            required = exit_card
        elif self._is_way_back:
            required = self.channels[-1].entry_card
        elif self.constraints.cross_nic and self.constraints.pattern != c.TREE:
            return self.allowed_paths.exits[gpu]
        return [way_out for way_out in self.allowed_paths.exits[gpu] if way_out[0] == required]

    def _close_channel(self, path: tuple[int, ...], card: int, exit_card: int, free: int, links: int) -> None:
        """A channel with all GPUs: a ring that stays in the node needs the path to its first one."""
        if self.constraints.pattern == c.RING and card < 0:
            closing = self.allowed_paths.hops[path[-1]][path[0]]
            if not closing or (free := free - closing[0]) & self._guards != self._guards:
                return
            links += closing[1]
        self.channels.append(Channel(path, card, exit_card))
        self._keep_if_better(links)
        if not self.is_full and len(self.channels) < self.max_channels:
            self._add_channels(free, links)
        self.channels.pop()

    def _keep_if_better(self, links: int) -> None:
        """Keep the channels at hand if they are better than the best."""
        count, capacity = len(self.channels), self.allowed_paths.capacity
        self.most_reached = max(self.most_reached, (count, -links))
        if count < self.min_channels:
            return
        if is_better(count, links, capacity.intra_speed, self.constraints, self.best_solution):
            speeds = capacity.intra_speed, capacity.inter_speed
            self.best_solution = Solution(tuple(self.channels), *speeds, self.constraints, links)
            self.is_full = count >= self.max_channels


def is_better(count: int, links: int, speed: float, constraints: SearchConstraints, best: Solution | None) -> bool:
    """Whether channels give more than the best solution, or as much over fewer links.

    Args:
        count: channels.
        links: links that they cross, all together.
        speed: GB/s of each inside the node.
        constraints: what their round allows.
        best: the best solution; None: there is none.
    """
    total = count * speed
    if best is None:
        return total > 1e-9
    if total > best.total_speed + 1e-9:
        return True
    is_same_kind = (best.constraints.pattern, best.constraints.cross_nic) == (
        constraints.pattern,
        constraints.cross_nic,
    )
    return total >= best.total_speed - 1e-9 and is_same_kind and links < best.link_count
