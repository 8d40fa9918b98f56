"""What is left on the directed links of a node as one whole number, a field of bits for each link.

To reserve a path is one subtraction, and it fits where the guard bit at the top of every field is still set. Such
numbers are exact, so that the order of reservations leaves no trace in them, and they compare and hash as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import gcd

from .node_graph import LinkPath, NodeGraph

#: Parts of a GB/s: the speeds of NCCL's tables are hundredths, and paths reserve 80ths of them (1.2 times, an eighth,
#: half of either).
_PARTS = 100 * 80
#: GB/s by which a link may be overdrawn.
_ROUNDING = 1e-6

#: What a path takes of all links, and how many links it has.
Cost = tuple[int, int]
#: A card, and what the path to it costs at its whole speed and at half of it.
Exit = tuple[int, Cost, Cost]


class LinkCapacity:
    """A node's links for channels of given speeds, and what its paths take of them.

    Each link counts in the largest unit that divides its reservations, and holds as much as some reservations add up
    to: two capacities that take the same reservations of at most so many channels are the same numbers, whatever their
    speeds.

    Args:
        node: the node.
        intra_speed: GB/s of a channel inside the node.
        inter_speed: GB/s of a channel between nodes.
        channels: the most channels that are reserved.
        halves: whether paths to cards may also be reserved at half their speed.

    Attributes:
        free_bandwidth: all fields while nothing is reserved.
        guard_bits: the bits that are all set while no link is overdrawn.
        gpu_to_gpu: cost of a path by its two GPUs.
        card_to_gpu: cost of a path by card and GPU.
        gpu_to_card: cost of a path by GPU and card, whole and at half its speed (where there are halves).
    """

    def __init__(self, node: NodeGraph, intra_speed: float, inter_speed: float, channels: int, halves: bool):
        self.node, self.intra_speed, self.inter_speed = node, intra_speed, inter_speed
        half_speed = inter_speed
        if halves:
            half_speed = inter_speed / 2
        # reservations: GPU to GPU, card to GPU, GPU to card, GPU to card at half speed
        paths = (node.gpu_to_gpu, node.card_to_gpu, node.gpu_to_card, node.gpu_to_card)
        speeds = (intra_speed, inter_speed, inter_speed, half_speed)
        parts = [_count_parts(of_kind, speed) for of_kind, speed in zip(paths, speeds, strict=True)]
        taken: dict[int, set[int]] = {}
        for part_of in parts:
            for (link, _), part in part_of.items():
                taken.setdefault(link, set()).add(part)
        units = {link: gcd(*taken[link]) for link in sorted(taken)}
        available = {link: self._count_available(link, taken[link], unit, channels) for link, unit in units.items()}
        most = max(*available.values(), *(max(taken[link]) // unit for link, unit in units.items()))
        width = most.bit_length() + 1
        shifts = {link: i * width for i, link in enumerate(units)}
        self.guard_bits = sum(1 << shift + most.bit_length() for shift in shifts.values())
        self.free_bandwidth = self.guard_bits + sum(available[link] << shift for link, shift in shifts.items())
        self.gpu_to_gpu, self.card_to_gpu, whole, half = (
            _compute_costs(of_kind, part_of, units, shifts) for of_kind, part_of in zip(paths, parts, strict=True)
        )
        self.gpu_to_card = {ends: (cost, half[ends]) for ends, cost in whole.items()}

    def _count_available(self, link: int, taken: set[int], unit: int, channels: int) -> int:
        """What a link has, in its unit; no more than so many channels take."""
        inside, between = self.node.max_reserved[link]
        bandwidth = int((self.node.link_bandwidth[link] + _ROUNDING) * _PARTS) // unit
        enough = channels * round((inside * self.intra_speed + between * self.inter_speed) * _PARTS) // unit
        return min(_find_largest_sum(bandwidth, frozenset(part // unit for part in taken)), enough)


def _count_parts(paths: Mapping[tuple[int, int], LinkPath], speed: float) -> dict[tuple[int, float], int]:
    """What paths reserve at a speed, in parts of a GB/s, by link and share of the speed."""
    return {cost: round(cost[1] * speed * _PARTS) for path in paths.values() for cost in path.costs}


def _compute_costs(
    paths: Mapping[tuple[int, int], LinkPath],
    parts: Mapping[tuple[int, float], int],
    units: Mapping[int, int],
    shifts: Mapping[int, int],
) -> dict[tuple[int, int], Cost]:
    """The cost of each path: its parts in the units of its links, each in the field of its link."""
    fields = {cost: part // units[cost[0]] << shifts[cost[0]] for cost, part in parts.items()}
    return {ends: (sum(map(fields.__getitem__, path.costs)), len(path.costs)) for ends, path in paths.items()}


@lru_cache(maxsize=4096)
def _find_largest_sum(most: int, parts: frozenset[int]) -> int:
    """The largest sum of these numbers, each as often as one likes, that is not above `most`."""
    if most >= (min(parts) - 1) * (max(parts) - 1):  # Brauer (1942): from here on every number is such a sum
        return most
    sums = {0}
    for number in range(min(parts), most + 1):
        if any(number - part in sums for part in parts):
            sums.add(number)
    return max(sums)


class AllowedPaths:
    """The paths of a node whose types are no worse than allowed.

    Args:
        capacity: the node's links and what its paths take of them.
        intra_type: the worst type between GPUs (numbers of `topology.machine_builder.LEVELS`).
        inter_type: the worst type to and from a card.
        both_ways: whether the path back must exist and be allowed, too.

    Attributes:
        hops: [GPU][GPU], the cost of the path; None where there is none.
        entries: the same by card and GPU.
        exits: [GPU], the cards that it reaches, nearest first.
        cache_key: equal where the same channels fit.
    """

    def __init__(self, capacity: LinkCapacity, intra_type: int, inter_type: int, both_ways: bool):
        node, gpus = capacity.node, range(len(capacity.node.gpus))

        def is_allowed(path: LinkPath | None, back: LinkPath | None, worst: int) -> bool:
            if path is None or path.type > worst:
                return False
            return not both_ways or (back is not None and back.type <= worst)

        def find_hop(a: int, b: int) -> Cost | None:
            path, back = node.gpu_to_gpu.get((a, b)), node.gpu_to_gpu.get((b, a))
            if is_allowed(path, back, intra_type):
                return capacity.gpu_to_gpu[a, b]
            return None

        def list_exits(gpu: int) -> list[Exit]:
            # Nearest cards first, as NCCL's search tries them; equal paths in the order of numbers.
            reached = sorted(
                (ends for ends in node.gpu_to_card if ends[0] == gpu),
                key=lambda ends: (node.gpu_to_card[ends].type, -node.gpu_to_card[ends].bandwidth, ends),
            )
            return [
                (card, *capacity.gpu_to_card[gpu, card])
                for _, card in reached
                if is_allowed(node.gpu_to_card[gpu, card], node.card_to_gpu.get((card, gpu)), inter_type)
            ]

        self.capacity = capacity
        self.hops = [[find_hop(a, b) for b in gpus] for a in gpus]
        self.entries = {
            (card, gpu): capacity.card_to_gpu[card, gpu]
            for (card, gpu), path in node.card_to_gpu.items()
            if is_allowed(path, node.gpu_to_card.get((gpu, card)), inter_type)
        }
        self.exits = [list_exits(gpu) for gpu in gpus]
        hops, exits = tuple(cost for row in self.hops for cost in row), (tuple(cards) for cards in self.exits)
        # Equal nodes have equal keys, so that a search is done once.
        self.cache_key = (capacity.guard_bits, capacity.free_bandwidth, hops, *exits, tuple(self.entries.items()))
