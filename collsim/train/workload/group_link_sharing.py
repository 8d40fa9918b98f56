"""What groups that run the same collective at the same time put on the links that they share.

One rule for a step by itself and for steps that share the network: each link carries the bytes of all groups. Where
NCCL's model gives the time of one group, the loads of its links grow by as much as the busiest link of each sort
carries more; where links are simulated, all groups run in one simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ...dtypes import Floats, Longs
from ...nccl.machine.link_loads import LinkLoads
from ...nccl.model.algorithm_time import Call
from ...schedule import Schedule
from ...simulate.ordered import HelperPlacement
from ...simulate.paths import Slots
from ...simulate.run import compute_slot_bytes
from ...topology import Topology
from .step_graph import Ranks

#: Sorts of links that a prediction counts the bytes of (`nccl.machine.link_loads.LinkLoads`).
LinkSort = Literal["gpu", "pcie", "memory", "socket", "card", "fabric"]
_SORTS: Final[dict[str, LinkSort]] = {
    "nvlink": "gpu",
    "xgmi": "gpu",
    "pcie": "pcie",
    "c2c": "pcie",
    "memory": "memory",
    "upi": "socket",
}


@dataclass(frozen=True)
class GroupLinkSharing:
    """How many times as much links carry when all groups run at once.

    Attributes:
        ratios: of each sort of links the bytes on its busiest link over those of one group on its own busiest; at
            least 1.
        busy_cards: share of a node's network cards that some group uses.
        has_shared_links: whether any link is used by two groups.
    """

    ratios: dict[LinkSort, float]
    busy_cards: float
    has_shared_links: bool

    @property
    def highest_ratio(self) -> float:
        """The largest ratio."""
        return max(self.ratios.values(), default=1.0)

    def share_call(self, call: Call) -> Call:
        """A call of one group with the links as all groups load them.

        Args:
            call: of one group by itself.
        """
        if call.loads is not None:
            return replace(call, loads=self._scale_loads(call.loads))
        facts = replace(call.facts, nic_rate=call.facts.nic_rate / self.ratios.get("card", 1.0))
        return replace(call, facts=facts)

    def _scale_loads(self, loads: LinkLoads) -> LinkLoads:
        pcie = self.ratios.get("pcie", 1.0)
        spread, by_channel = loads.card_spread, None
        if self.busy_cards:  # cards beside a GPU's nearest are no help where other groups use them
            spread = min(spread, max(1.0, 1 / self.busy_cards))
        if loads.by_channel is not None:
            by_channel = self._scale_loads(loads.by_channel)
        return replace(
            loads,
            pcie=tuple((direct * pcie, staged * pcie) for direct, staged in loads.pcie),
            card_spread=spread,
            by_channel=by_channel,
            **{
                sort: getattr(loads, sort) * self.ratios.get(sort, 1.0)
                for sort in ("gpu", "memory", "socket", "card", "fabric")
            },
        )


def count_sent_bytes(plan: Schedule, nbytes: int, item: int = 4) -> list[int]:
    """Bytes that each endpoint of a schedule sends, of a buffer of so many bytes."""
    src, _, moved = count_pair_bytes(plan, nbytes, item)
    return [round(v) for v in np.bincount(src, weights=moved, minlength=plan.endpoints)]


def count_pair_bytes(plan: Schedule, nbytes: int, item: int = 4) -> tuple[Longs, Longs, Floats]:
    """Count the bytes that go from one endpoint of a schedule to another.

    Args:
        plan: The schedule.
        nbytes: Bytes of its buffer.
        item: Bytes of an element, between which chunks are cut.

    Returns:
        (pairs,) senders, receivers and bytes: each pair of endpoints once.
    """
    slots, ends = Slots(compute_slot_bytes(plan, nbytes, item)), plan.endpoints
    total: dict[int, float] = {}
    for step in plan.each_step():
        away = step.src != step.dst
        moved = np.broadcast_to(slots.count_bytes(step), len(step))[away]
        pairs, pair_number = np.unique(step.src[away].astype(np.int64) * ends + step.dst[away], return_inverse=True)
        for pair, size in zip(pairs.tolist(), np.bincount(pair_number, weights=moved).tolist(), strict=True):
            total[pair] = total.get(pair, 0.0) + size
    listed = np.array(list(total), dtype=np.int64)
    return listed // ends, listed % ends, np.array(list(total.values()))


def measure_link_sharing(topology: Topology, plans: Sequence[tuple[Schedule, Ranks]], nbytes: int) -> GroupLinkSharing:
    """Measure how much more links carry when groups run at once than for each of them.

    Args:
        topology: Network of all groups.
        plans: Schedule and ranks of each group.
        nbytes: nccl-tests' size of the collective.

    Returns:
        The ratios.
    """
    placement = HelperPlacement.build(topology, list(plans))
    network = placement.topology
    count = len(network.links)
    total, alone, users = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    # Groups share few schedules: bytes of each are counted once.
    pairs = {id(plan): count_pair_bytes(plan, nbytes) for plan, _ in plans}
    for plan, group in plans:
        src, dst, sizes = pairs[id(plan)]
        ends = np.array([*group, *placement.find_helpers(plan, group)], np.int64)
        loaded = np.zeros(count)
        for pair, link in network.columns(ends[src], ends[dst]):
            hops: slice | Longs = slice(None)
            if pair is not None:
                hops = pair
            loaded += np.bincount(link, sizes[hops], count)
        total += loaded
        # A link that only one group uses may be the busiest; the ratio compares the two.
        alone = np.maximum(alone, loaded)
        users += loaded > 0
    sorts, nodes = _sort_links(network), network.devices.node
    ratios = {
        sort: float(total[mask].max() / alone[mask].max())
        for sort in dict.fromkeys(sorts.tolist())
        if sort and alone[mask := sorts == sort].max(initial=0.0) > 0
    }
    is_port = sorts == "card"
    nodes_of_ports = np.maximum(nodes[network.links.src], nodes[network.links.dst])[is_port]
    # Only nodes with a port in use count: idle nodes have free cards that nobody could use.
    in_use = users[is_port] > 0
    busy_cards = 0.0
    if in_use.any():
        in_nodes = np.isin(nodes_of_ports, nodes_of_ports[in_use])
        busy_cards = float(in_use.sum() / in_nodes.sum())
    return GroupLinkSharing(ratios, busy_cards, bool((users > 1).any()))


def _sort_links(topology: Topology) -> npt.NDArray[np.str_]:
    """(links,) the sort of each link; "" for those that no prediction counts."""
    links, node = topology.links, topology.devices.node
    outside = node[links.src] < 0, node[links.dst] < 0
    kinds = np.array([_SORTS.get(cable.kind, "") for cable in links.cables], dtype="U8")
    inside: npt.NDArray[np.str_] = kinds[links.cable]
    inside[outside[0] ^ outside[1]] = "card"
    inside[outside[0] & outside[1]] = "fabric"
    return inside
