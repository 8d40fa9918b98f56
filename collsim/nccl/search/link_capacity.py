"""What is left on the directed links of a node as one whole number, a field of bits for each link.

To reserve a way is one subtraction, and it fits where the guard bit at the top of every field is still set. Such
numbers are exact, so that the order of reservations leaves no trace in them, and they compare and hash as one.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from .node_graph import LinkPath, NodeGraph

#: Parts of a GB/s: the speeds of NCCL's tables are hundredths, and ways reserve 80ths of them (1.2 times, an eighth,
#: half of either).
_PARTS = 100 * 80
#: GB/s by which a link may be overdrawn.
_ROUNDING = 1e-6

#: What a way takes of all links, and how many links it has.
Cost = tuple[int, int]
#: A card, and what the way to it costs whole and half.
Exit = tuple[int, Cost, Cost]


class LinkCapacity:
    """A node's links for channels of these speeds, GB/s inside and between nodes, and what its ways take of them.

    Attributes:
        free: nothing reserved. guards: the bits that are all set while no link is overdrawn.
        between, into: cost of a way by its ends. out: the same, and the cost of half its speed where `halves` are asked
        for.

    Each link counts in the largest unit of its own, and has as much as some reservations come to: two capacities that
    take the same reservations of at most so many channels are the same numbers, whatever their speeds.
    """

    def __init__(self, node: NodeGraph, intra: float, inter: float, channels: int, halves: bool):
        self.node, self.intra_speed, self.inter_speed = node, intra, inter
        half = inter / 2 if halves else inter
        pairs = [
            {cost for way in ways.values() for cost in way.costs}
            for ways in (node.gpu_to_gpu, node.card_to_gpu, node.gpu_to_card)
        ]
        reserved = [(pairs[0], intra), (pairs[1], inter), (pairs[2], inter), (pairs[2], half)]
        parts = [{pair: round(pair[1] * speed * _PARTS) for pair in those} for those, speed in reserved]
        takes: dict[int, set[int]] = {}
        for taken in parts:
            for (link, _), part in taken.items():
                takes.setdefault(link, set()).add(part)
        units = {link: gcd(*takes[link]) for link in sorted(takes)}
        left = {link: self._left(link, takes[link], unit, channels) for link, unit in units.items()}
        most = max(*left.values(), *(max(takes[link]) // unit for link, unit in units.items()))
        at = {link: i * (most.bit_length() + 1) for i, link in enumerate(units)}
        self.guard_bits = sum(1 << place + most.bit_length() for place in at.values())
        self.free_bandwidth = self.guard_bits + sum(left[link] << place for link, place in at.items())
        of_speed = [{pair: part // units[pair[0]] << at[pair[0]] for pair, part in taken.items()} for taken in parts]
        self.gpu_to_gpu, self.card_to_gpu, whole, halved = (
            {ends: (sum(map(of.__getitem__, way.costs)), len(way.costs)) for ends, way in ways.items()}
            for of, ways in zip(
                of_speed, (node.gpu_to_gpu, node.card_to_gpu, node.gpu_to_card, node.gpu_to_card), strict=True
            )
        )
        self.gpu_to_card = {ends: (cost, halved[ends]) for ends, cost in whole.items()}

    def _left(self, link: int, taken: set[int], unit: int, channels: int) -> int:
        """What there is of a link, in its unit; no more than so many channels take."""
        inside, between = self.node.max_reserved[link]
        room = int((self.node.link_bandwidth[link] + _ROUNDING) * _PARTS) // unit
        enough = channels * round((inside * self.intra_speed + between * self.inter_speed) * _PARTS) // unit
        return min(_sum_within(room, frozenset(part // unit for part in taken)), enough)


@lru_cache(maxsize=4096)
def _sum_within(most: int, parts: frozenset[int]) -> int:
    """The largest sum of these numbers, each as often as one likes, that is not above `most`."""
    if most >= (min(parts) - 1) * (max(parts) - 1):  # Brauer (1942): from here on every number is such a sum
        return most
    sums = {0}
    for number in range(min(parts), most + 1):
        if any(number - part in sums for part in parts):
            sums.add(number)
    return max(sums)


class AllowedPaths:
    """The ways of a node that are no worse than asked for; `both`: nor is the way back, and there is one.

    Attributes:
        hops: [GPU][GPU], the cost of the way, None where there is none. entries: the same by card and GPU.
        exits: [GPU], the cards that it reaches, nearest first. same_as: equal where the same channels fit.
    """

    def __init__(self, capacity: LinkCapacity, intra: int, inter: int, both: bool):
        node, n = capacity.node, range(len(capacity.node.gpus))

        def good(way: LinkPath | None, back: LinkPath | None, worst: int) -> bool:
            return way is not None and way.type <= worst and (not both or (back is not None and back.type <= worst))

        self.capacity = capacity
        self.hops: list[list[Cost | None]] = [
            [
                capacity.gpu_to_gpu[a, b]
                if good(node.gpu_to_gpu.get((a, b)), node.gpu_to_gpu.get((b, a)), intra)
                else None
                for b in n
            ]
            for a in n
        ]
        self.entries = {
            (card, g): capacity.card_to_gpu[card, g]
            for (card, g), way in node.card_to_gpu.items()
            if good(way, node.gpu_to_card.get((g, card)), inter)
        }
        near = {g: sorted(k for k in node.gpu_to_card if k[0] == g) for g in n}
        self.exits: list[list[Exit]] = [
            [
                (card, *capacity.gpu_to_card[g, card])
                for g, card in sorted(
                    near[g], key=lambda ends: (node.gpu_to_card[ends].type, -node.gpu_to_card[ends].bandwidth, ends)
                )
                if good(node.gpu_to_card[g, card], node.card_to_gpu.get((card, g)), inter)
            ]
            for g in n
        ]
        rows = tuple(cost for row in self.hops for cost in row), *(tuple(found) for found in self.exits)
        self.cache_key = (capacity.guard_bits, capacity.free_bandwidth, *rows, tuple(self.entries.items()))
