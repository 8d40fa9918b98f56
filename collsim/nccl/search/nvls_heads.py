"""The heads of NVLink SHARP in a node, found as NCCL's search does for its NVLS pattern (src/graph/search.cc,
ncclTopoSearchTryNvls).

A channel has one GPU as its head, which pulls sums out of the NVSwitch: every GPU's links to the switch carry the
channel's speed in both directions, the head's twice that. Over several nodes the head also sends and receives over a
network card beside it. More channels win, then more bandwidth between nodes; then the speed between nodes is raised
alone, up to twice the other. Within one node every GPU is a head. GB/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...topology.plan import LEVELS, Machine
from . import constants as c
from .node_graph import NodeGraph, Rules, SearchInput


@dataclass(frozen=True)
class NvlsHeads:
    """GPUs that head a channel each, and the cards beside them (none in one node); GB/s of a channel inside and between
    nodes."""

    gpus: tuple[int, ...]
    cards: tuple[int, ...]
    speed_intra: float
    speed_inter: float
    type_inter: str


def search_nvls_heads(plan: Machine, gpus: int, cards: tuple[float, ...], rules: Rules) -> NvlsHeads | None:
    """Search the heads of one node; arguments as for `search.rings`. None without an NVSwitch, before Hopper, and where
    nothing fits."""
    if plan.sm < 90 or not plan.of_kind("nvswitch"):
        return None
    return _heads(SearchInput.from_machine(plan, gpus, cards, rules))


@lru_cache(maxsize=256)
def _heads(asked: SearchInput) -> NvlsHeads | None:
    node = asked.build_node_graph()
    table, most = c.get_speeds(asked.sm, 2 if asked.card_rates else 1), min(c.MAX_NVLS_ARITY, asked.gpu_count)
    pairs = _pairs(node)[:most] if node.cards else [(g, -1) for g in range(most)]
    best: tuple[int, float] | None = None
    for speed in table:
        count = _fitting(node, pairs, speed)
        if not count or (count < most and not node.cards):
            continue
        if best is None or count > best[0] or count * speed > best[0] * best[1]:
            best = count, speed
        if count == most or speed / best[1] <= c.SLOWER_SPEED:
            break
    if best is None:
        return None
    used, speed = pairs[: best[0]], best[1]
    worst = max((_type(node, pair) for pair in used), default=0) if node.cards else 0
    cards_used = tuple(card for _, card in used) if node.cards else ()
    return NvlsHeads(tuple(g for g, _ in used), cards_used, speed, _between(node, used, speed, table), LEVELS[worst])


def _pairs(node: NodeGraph) -> list[tuple[int, int]]:
    """(GPU, card) of possible heads: every GPU's nearest card that no other GPU has taken."""
    found: list[tuple[int, int]] = []
    for g in range(len(node.gpus)):
        ways = {
            card: node.gpu_to_card[g, card]
            for card in node.cards
            if (g, card) in node.gpu_to_card and (card, g) in node.card_to_gpu
        }
        near = min(((way.type, -way.bandwidth, len(way.costs)) for way in ways.values()), default=None)
        free = [
            card
            for card, way in ways.items()
            if (way.type, -way.bandwidth, len(way.costs)) == near and card not in {taken for _, taken in found}
        ]
        found += [(g, free[0])] if free else []
    return found


def _type(node: NodeGraph, pair: tuple[int, int]) -> int:
    return max(node.gpu_to_card[pair].type, node.card_to_gpu[pair[::-1]].type)


def _fitting(node: NodeGraph, pairs: Sequence[tuple[int, int]], speed: float) -> int:
    """How many of the pairs, from the first, can head a channel of this speed."""
    return next((k for k in range(len(pairs), 0, -1) if _fits(node, _loads(node, pairs[:k], speed, speed))), 0)


def _between(node: NodeGraph, used: Sequence[tuple[int, int]], speed: float, table: Sequence[float]) -> float:
    """The speed between nodes, raised step by step while it is less than twice that inside (where there is one node
    nothing holds it)."""
    found = speed
    for faster in table[: table.index(speed)][::-1]:
        if found >= 2 * speed or not _fits(node, _loads(node, used, speed, faster)):
            break
        found = faster
    return found


def _loads(node: NodeGraph, used: Sequence[tuple[int, int]], intra: float, inter: float) -> Mapping[int, float]:
    """GB/s that the channels of these heads reserve on directed links."""
    switch, found = node.machine.of_kind("nvswitch")[0], dict[int, float]()
    mine = {g for g, _ in used}
    for g, gpu in enumerate(node.gpus):
        path = node.paths.best(gpu, switch)
        if path is None:
            return {-1: float("inf")}
        for link in path.links:
            for way in (link, link ^ 1):
                found[way] = found.get(way, 0.0) + (len(used) + (g in mine)) * intra
    for g, card in used if node.cards else ():
        for reserved in (node.gpu_to_card[g, card], node.card_to_gpu[card, g]):
            for link, times in reserved.costs:
                found[link] = found.get(link, 0.0) + times * inter
    return found


def _fits(node: NodeGraph, loads: Mapping[int, float]) -> bool:
    return all(link >= 0 and load <= node.link_bandwidth[link] + 1e-6 for link, load in loads.items())
