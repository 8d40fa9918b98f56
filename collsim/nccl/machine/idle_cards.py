"""Network cards that NCCL's rings leave idle, and the PCIe generation with which they would use more.

A link between nodes can be the bottleneck of rings whose number PCIe decides: a ring enters and leaves a node over the
slots and uplinks of switches, and where these are full NCCL's search finds no further ring for a further card.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...topology.parts.refit import refit_machine
from .facts import PCIE_GBPS, Facts
from .topology_facts import GraphSearch


@dataclass(frozen=True)
class IdleCards:
    """Cards of a node that no ring uses.

    Attributes:
        used: cards that rings use.
        available: cards of a node.
        pcie: the next generation with which rings would use more; 0 where the next is no help.
        used_then: cards that they would use with it.
    """

    used: int
    available: int
    pcie: int = 0
    used_then: int = 0

    def __str__(self) -> str:
        sentence = f"NCCL's rings use {self.used} of the {self.available} network cards of a node"
        if not self.pcie:
            return sentence
        return f"{sentence}: PCIe links have no room for more, with pcie={self.pcie} they would use {self.used_then}"

    @property
    def chinese(self) -> str:
        sentence = f"NCCL 的环只用到每个节点 {self.available} 块网卡中的 {self.used} 块"
        if not self.pcie:
            return sentence
        return f"{sentence}：PCIe 链路容不下更多的环，pcie={self.pcie} 时会用到 {self.used_then} 块"


def count_ring_cards(graph_search: GraphSearch) -> int:
    """Count the cards of a node over which rings leave and enter it.

    Args:
        graph_search: of several nodes.
    """
    channels = graph_search.rings.channels
    return len({card for channel in channels for card in (channel.entry_card, channel.exit_card)})


def find_idle_cards(facts: Facts, graph_search: GraphSearch | None) -> IdleCards | None:
    """Find the cards that NCCL's rings leave idle.

    Args:
        facts: of the machine, with all cards of a node.
        graph_search: of the same machine; None where there is none.

    Returns:
        The cards; None where rings use all, for one node, and where the search is not known.
    """
    if graph_search is None or facts.nodes == 1:
        return None
    used, available = count_ring_cards(graph_search), round(facts.nics)
    if used >= available:
        return None
    newer = facts.pcie + 1
    if facts.local_ranks == 1 or newer not in PCIE_GBPS:
        return IdleCards(used, available)
    nodes = tuple(replace(node, machine=refit_machine(node.machine, pcie=newer)) for node in graph_search.nodes)
    used_then = count_ring_cards(replace(graph_search, nodes=nodes))
    if used_then <= used:
        return IdleCards(used, available)
    return IdleCards(used, available, newer, min(used_then, available))
