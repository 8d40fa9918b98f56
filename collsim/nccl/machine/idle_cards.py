"""Network cards that NCCL's rings leave idle, and the PCIe generation with which they would use more.

A link between nodes can be the bottleneck of rings whose number PCIe decides: a ring enters and leaves a node over the
slots and uplinks of switches, and where these are full NCCL's search finds no further ring for a further card.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from ...locale import translate
from ...topology.machine_builder import MachinePaths
from ...topology.parts.refit import refit_machine
from .machine_facts import PCIE_GBPS, Facts
from .topology_facts import GraphSearch


@dataclass(frozen=True)
class IdleCards:
    """Cards of a node that no ring uses.

    Attributes:
        ring_count: cards that rings use.
        available: cards of a node.
        pcie: the next generation with which rings would use more; 0 where the next is no help.
        faster_count: cards that they would use with it.
    """

    ring_count: int
    available: int
    pcie: int = 0
    faster_count: int = 0

    def text(self, language: str = "en") -> str:
        """How many cards rings use, and with which PCIe they would use more.

        Args:
            language: One of `collsim.locale.LANGUAGES`.
        """
        key = "idle_cards.rings_use"
        if self.pcie:
            key = "idle_cards.rings_use_more_with_pcie"
        return translate(language, "nccl", key, **asdict(self))

    def __str__(self) -> str:
        return self.text()


def count_ring_cards(graph_search: GraphSearch) -> int:
    """Count the cards of a node over which rings leave and enter it.

    Args:
        graph_search: of several nodes.
    """
    channels = graph_search.rings.channels
    return len({card for channel in channels for card in (channel.entry_card, channel.exit_card)})


def count_near_cards(graph_search: GraphSearch) -> int:
    """Count the cards of a node that are the nearest to one of its GPUs, one for each GPU at most: sends and receives
    use these, whatever cards rings have (NCCL src/graph/paths.cc, ncclTopoGetLocalNet).

    Args:
        graph_search: of several nodes.
    """
    counts = []
    for node in graph_search.nodes:
        paths, gpus = MachinePaths(node.machine), node.machine.of_kind("gpu")[: graph_search.local_ranks]
        cards = [card for card, rate in zip(node.machine.of_kind("nic"), node.card_rates, strict=True) if rate > 0]
        near_cards = {card for gpu in gpus for card in paths.nearest(gpu, cards)}
        counts.append(min(len(gpus), len(near_cards)))
    return min(counts)


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
    ring_count, available = count_ring_cards(graph_search), round(facts.nics)
    if ring_count >= available:
        return None
    newer = facts.pcie + 1
    if facts.local_ranks == 1 or newer not in PCIE_GBPS:
        return IdleCards(ring_count, available)
    nodes = tuple(replace(node, machine=refit_machine(node.machine, pcie=newer)) for node in graph_search.nodes)
    faster_count = count_ring_cards(replace(graph_search, nodes=nodes))
    if faster_count <= ring_count:
        return IdleCards(ring_count, available)
    return IdleCards(ring_count, available, newer, min(faster_count, available))
