"""What the links between nodes cost in comparison with one switch for all network cards: cables between switches that
many hops share, and the way over NVLink to a card of another rail.

Bytes are counted on the links of the Topology: every hop of the algorithm from node to node takes its route
(`topology.cluster`: rails, PXN, spines picked by the destination), and the busiest cable is compared with the cards'
cables if all cards sat on one switch. So an oversubscribed leaf, a hop that changes rail over the spines, and
flows that meet on one uplink cost what `simulate` says they do; a fabric that keeps up costs nothing, and one switch is
not examined. Rings, trees and heads are those of NCCL's search where there is one, else the topology's own orders.

A GPU that shares no switch with its channel's card takes its nearest card, as it does in a simulation. Left out: the
latency of more switches on the way, since that of a step between nodes was found on runs over fabrics of
all depths (`model.links`); and bytes that PXN adds to links inside a node, whose load counts every hop already.

Inside: bytes as shares of the call's, seconds, B/s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import TopologyError
from ...topology import Topology
from ...topology.cluster import ClusterRouter
from .flows import CallFlows, Floats, Longs, MachineCall, cache_by_machine, list_call_flows

#: A cable that is busier than a card's by less than this factor holds nothing up: sums of shares are not exact.
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True)
class FabricCost:
    """The links between nodes in comparison with one switch for all cards.

    Attributes:
        slowdown: factor on the time that bytes need between nodes, 1 or more.
        hop_delay: seconds that a hop between nodes takes longer inside its nodes, on average over the hops.
        busiest_link: name of the cable that holds the bytes up; "" for none.
        rail_changes: hops from node to node that cross spines, as they change the rail or leave the unit; 0 where the
            fabric has no rails.
        hops: all hops from node to node; 0 where the fabric has no rails.
    """

    slowdown: float = 1.0
    hop_delay: float = 0.0
    busiest_link: str = ""
    rail_changes: int = 0
    hops: int = 0


#: One switch, or one node.
ONE_SWITCH = FabricCost()


@cache_by_machine
def compute_fabric_cost(call: MachineCall) -> FabricCost:
    """Compute what the fabric of a machine costs a call.

    Args:
        call: The call and its machine.

    Returns:
        The cost; `ONE_SWITCH` where one switch joins all cards.

    Raises:
        TopologyError: where a hop has no route, as in `simulate`, unless NCCL's own channels keep to the cards that
            have one.
    """
    router = call.machine.router
    if call.facts.nodes == 1 or not isinstance(router, ClusterRouter) or router.fabric is None:
        return ONE_SWITCH
    if router.fabric.lanes is None and not len(router.fabric.a):
        return ONE_SWITCH
    try:
        return _compare_with_one_switch(list_call_flows(call))
    except TopologyError as error:
        if call.is_point_to_point or not _is_on_rails(call):
            template = "{error}; join the rails (fabric='rail'), or give all cards one switch (fabric='switch')"
            raise TopologyError(template, error=error) from None
        return ONE_SWITCH


def _is_on_rails(call: MachineCall) -> bool:
    """Whether all channels of the search stay on one card from node to node; it may be another than a GPU's nearest."""
    if call.graph_search is None or call.algorithm not in ("Ring", "Tree"):
        return False
    if call.algorithm == "Ring":
        return not call.graph_search.rings.count_crossings(call.facts.nodes)
    return all(channel.entry_card == channel.exit_card for channel in call.graph_search.trees.channels)


def _compare_with_one_switch(flows: CallFlows) -> FabricCost:
    machine, src, dst, share = flows.machine, flows.src, flows.dst, flows.share
    node = machine.devices.node[machine.endpoint_device]
    is_between_nodes = node[src] != node[dst]
    if not is_between_nodes.any():
        return ONE_SWITCH
    src, dst, share = src[is_between_nodes], dst[is_between_nodes], share[is_between_nodes]
    fabric = _FabricLoads.measure(machine, src, dst, share)
    one_switch = _FabricLoads.measure(_remove_lanes(machine), src, dst, share)
    slowdown, busiest = fabric.busy.max() / one_switch.busiest_port, int(np.argmax(fabric.busy))
    hop_delay = max(0.0, fabric.latency - one_switch.latency)
    lanes = machine.router.fabric.lanes  # type: ignore[union-attr]
    rail_changes, hops = (0, 0) if lanes is None else (int(fabric.is_over_spine.sum()), len(src))
    if slowdown <= _ROUNDING:
        return FabricCost(hop_delay=hop_delay, rail_changes=rail_changes, hops=hops)
    return FabricCost(float(slowdown), hop_delay, machine.link_name(busiest), rail_changes, hops)


@dataclass(frozen=True)
class _FabricLoads:
    """What hops cross.

    Attributes:
        busy: seconds per byte of the call on each link of the fabric; 0 on links inside nodes.
        busiest_port: the same of the busiest card's cable.
        latency: seconds of a hop, on average, without cables between switches.
        is_over_spine: for each hop, whether it crosses cables between switches.
    """

    busy: Floats
    busiest_port: float
    latency: float
    is_over_spine: npt.NDArray[np.bool_]

    @classmethod
    def measure(cls, machine: Topology, src: Longs, dst: Longs, share: Floats) -> _FabricLoads:
        """The loads of hops from `src` to `dst`, each with a share of the call's bytes."""
        links, count = machine.links, len(machine.links)
        outside = [machine.devices.node[end] < 0 for end in (links.src, links.dst)]
        port, uplink = outside[0] ^ outside[1], outside[0] & outside[1]
        load, latency, is_over_spine = np.zeros(count), np.zeros(len(src)), np.zeros(len(src), bool)
        for pair, link in machine.columns(src, dst):
            hops: slice | npt.NDArray[np.int64] = slice(None)
            if pair is not None:
                hops = pair
            load += np.bincount(link, share[hops], count)
            latency[hops] += np.where(uplink[link], 0.0, links.alpha[link])
            is_over_spine[hops] |= uplink[link]
        busy = np.where(port | uplink, load / links.bandwidth, 0.0)
        return cls(busy, float(busy[port].max()), float(np.average(latency, weights=share)), is_over_spine)


def _remove_lanes(machine: Topology) -> Topology:
    """The same where each GPU sends by its nearest card, whatever the receiver's, as it would over one switch."""
    router = machine.router
    assert isinstance(router, ClusterRouter)
    assert router.fabric is not None
    if router.fabric.lanes is None:
        return machine
    fabric = replace(router.fabric, lanes=None, separate=False)
    return replace(machine, router=replace(router, fabric=fabric, legs={}, chosen={}))
