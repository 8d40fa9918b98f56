"""The heads of NVLink SHARP in a node, found as NCCL's search does for its NVLS pattern (src/graph/search.cc,
ncclTopoSearchTryNvls).

A channel has one GPU as its head, which pulls sums out of the NVSwitch: every GPU's links to the switch carry the
channel's speed in both directions, the head's twice that. Over several nodes the head also sends and receives over a
network card next to it. More channels win, then more bandwidth between nodes; then the speed between nodes is raised
alone, up to twice the other. Within one node every GPU is a head. GB/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...topology.machine_builder import LEVELS, Machine
from . import constants as c
from .node_graph import NodeGraph, Rules, SearchInput

#: A head: number of its GPU, and of its card (-1 in one node).
_Head = tuple[int, int]


@dataclass(frozen=True)
class NvlsHeads:
    """GPUs that head a channel each.

    Attributes:
        gpus: their numbers.
        cards: the card next to each; empty in one node.
        speed_intra: GB/s of a channel inside the node.
        speed_inter: GB/s of a channel between nodes.
        type_inter: the worst path type from a head to its card.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.search_graphs(cs.machine("dgx-h100", nodes=2)).heads.gpus
        (0, 1, 2, 3, 4, 5, 6, 7)
    """

    gpus: tuple[int, ...]
    cards: tuple[int, ...]
    speed_intra: float
    speed_inter: float
    type_inter: str


def search_nvls_heads(machine: Machine, gpus: int, card_rates: tuple[float, ...], rules: Rules) -> NvlsHeads | None:
    """Search the heads of one node.

    Args:
        machine: the node's devices and cables; the cables' `effective` rates are NCCL's.
        gpus: how many of its GPUs take part, the first ones.
        card_rates: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.
        rules: what NCCL may do.

    Returns:
        The heads; None without an NVSwitch, before Hopper, and where nothing fits.
    """
    if machine.sm < 90 or not machine.of_kind("nvswitch"):
        return None
    return _search_heads(SearchInput.from_machine(machine, gpus, card_rates, rules))


@lru_cache(maxsize=256)
def _search_heads(search_input: SearchInput) -> NvlsHeads | None:
    node, most = search_input.build_node_graph(), min(c.MAX_NVLS_ARITY, search_input.gpu_count)
    speeds = c.get_speeds(search_input.sm, 2 if search_input.card_rates else 1)
    if node.cards:
        heads = _list_candidates(node)[:most]
    else:
        heads = [(gpu, -1) for gpu in range(most)]
    best: tuple[int, float] | None = None
    for speed in speeds:
        # Without cards every GPU has to be a head; with cards the fastest speed for most heads is looked for.
        count = _count_fitting(node, heads, speed)
        if not count or (count < most and not node.cards):
            continue
        if best is None or count > best[0] or count * speed > best[0] * best[1]:
            best = count, speed
        # A much slower speed could not win even with all heads.
        if count == most or speed / best[1] <= c.SLOWER_SPEED:
            break
    if best is None:
        return None
    heads, speed = heads[: best[0]], best[1]
    gpus, speed_inter = tuple(gpu for gpu, _ in heads), _raise_inter_speed(node, heads, speed, speeds)
    if not node.cards:
        return NvlsHeads(gpus, (), speed, speed_inter, LEVELS[0])
    worst_type = max((_find_type(node, head) for head in heads), default=0)
    return NvlsHeads(gpus, tuple(card for _, card in heads), speed, speed_inter, LEVELS[worst_type])


def _list_candidates(node: NodeGraph) -> list[_Head]:
    """Possible heads over several nodes: every GPU with its nearest card that no other GPU has taken."""
    heads: list[_Head] = []
    for gpu in range(len(node.gpus)):
        distances = {
            card: (path.type, -path.bandwidth, len(path.costs))
            for card in node.cards
            if (path := node.gpu_to_card.get((gpu, card))) and (card, gpu) in node.card_to_gpu
        }
        nearest, taken = min(distances.values(), default=None), {card for _, card in heads}
        free = [card for card, distance in distances.items() if distance == nearest and card not in taken]
        if free:
            heads.append((gpu, free[0]))
    return heads


def _find_type(node: NodeGraph, head: _Head) -> int:
    return max(node.gpu_to_card[head].type, node.card_to_gpu[head[::-1]].type)


def _count_fitting(node: NodeGraph, heads: Sequence[_Head], speed: float) -> int:
    """How many of the heads, from the first, can have a channel of this speed."""
    for count in range(len(heads), 0, -1):
        if _fits(node, _compute_loads(node, heads[:count], speed, speed)):
            return count
    return 0


def _raise_inter_speed(node: NodeGraph, heads: Sequence[_Head], speed: float, speeds: Sequence[float]) -> float:
    """The speed between nodes, raised step by step while it is less than twice that inside (where there is one node
    nothing limits it)."""
    raised = speed
    for faster in speeds[: speeds.index(speed)][::-1]:
        if raised >= 2 * speed or not _fits(node, _compute_loads(node, heads, speed, faster)):
            break
        raised = faster
    return raised


def _compute_loads(
    node: NodeGraph, heads: Sequence[_Head], intra_speed: float, inter_speed: float
) -> Mapping[int, float]:
    """GB/s that the channels of these heads reserve on directed links; a link of -1 where a GPU has no path to the
    switch."""
    switch, loads = node.machine.of_kind("nvswitch")[0], dict[int, float]()
    head_gpus = {gpu for gpu, _ in heads}
    for number, gpu in enumerate(node.gpus):
        path = node.paths.best(gpu, switch)
        if path is None:
            return {-1: float("inf")}
        for link in path.links:
            for direction in (link, link ^ 1):
                loads[direction] = loads.get(direction, 0.0) + (len(heads) + (number in head_gpus)) * intra_speed
    for number, card in heads if node.cards else ():
        for card_path in (node.gpu_to_card[number, card], node.card_to_gpu[card, number]):
            for link, share in card_path.costs:
                loads[link] = loads.get(link, 0.0) + share * inter_speed
    return loads


def _fits(node: NodeGraph, loads: Mapping[int, float]) -> bool:
    return all(link >= 0 and load <= node.link_bandwidth[link] + 1e-6 for link, load in loads.items())
