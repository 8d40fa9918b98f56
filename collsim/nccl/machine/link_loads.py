"""What the links of a machine have to carry for a call: the flows of NCCL's algorithm on the routes of a simulation.

Every hop of a ring, a tree or a pair takes its route in the Topology: over GPU links, PCIe slots and the uplinks of
switches, host memory, the link between sockets, network cards and cables between switches. So a prediction
counts the same bytes on the same links as a simulation of the same algorithm, and adds to it only what links carry of
their nominal rates (`collsim.nccl.model.links`). Words alone have no links: `host_flows` and the loads of
`model.algorithm_time` describe the usual machine.

Inside: bytes as shares of the call's, seconds for each byte of the call, B/s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import TopologyError
from ...topology import Topology
from ...topology.cables import apply_rates
from ...topology.cluster import ClusterRouter
from ...topology.network import DEVICE_KINDS, Column, NoRoute
from .flows import CallFlows, Floats, Longs, MachineCall, cache_by_machine, list_call_flows
from .topology_facts import GraphSearch

#: Kinds of cable by what limits them: a Grace processor reaches its GPU over C2C where others have a slot.
_SORTS = {"nvlink": "gpu", "xgmi": "gpu", "pcie": "pcie", "c2c": "pcie", "memory": "memory", "upi": "socket"}


@dataclass(frozen=True)
class LinkLoads:
    """Seconds that the busiest link of each sort needs for each byte of a call at its nominal rate.

    Attributes:
        gpu: NVLinks and xGMI links.
        pcie: (from GPU to GPU or card directly, through host memory) of each slot or uplink that may be the busiest:
            the two are not equally fast.
        memory: memory of a socket, writes and reads together.
        socket: links between sockets.
        card: network cards.
        fabric: cables between switches.
        card_rate: nominal B/s of the busiest card.
        card_spread: cards of a node that NCCL's channels use for each that the routes use: a route takes the nearest
            card of a GPU, and channels of one GPU may have several.
        by_channel: the loads where every channel takes its own cards, as NCCL's do; None where `card_spread` says what
            that changes, as with GPUDirect RDMA nothing but the card itself carries more or less.
    """

    gpu: float = 0.0
    pcie: tuple[tuple[float, float], ...] = ()
    memory: float = 0.0
    socket: float = 0.0
    card: float = 0.0
    fabric: float = 0.0
    card_rate: float = 0.0
    card_spread: float = 1.0
    by_channel: LinkLoads | None = None


@cache_by_machine
def compute_link_loads(call: MachineCall) -> LinkLoads | None:
    """Compute what a call puts on the links of a machine.

    Args:
        call: The call and its machine.

    Returns:
        The loads; None where a hop has no route.
    """
    try:
        return _count_loads(call)
    except (TopologyError, NoRoute):
        return None


def _count_loads(call: MachineCall) -> LinkLoads:
    flows, algorithm, search = list_call_flows(call), call.algorithm, call.graph_search
    if algorithm == "NVLSTree" and search is not None and search.heads is not None:
        # A head is a GPU and its card, which may not be the nearest where several GPUs share cards.
        columns = _route_by_channel(flows, algorithm, search)
        if columns is not None:
            return _sum_loads(flows, columns)
    loads = _sum_loads(flows, flows.machine.columns(flows.src, flows.dst))
    if search is None or flows.nodes == 1 or call.is_point_to_point or algorithm not in ("Ring", "Tree"):
        return loads
    if call.facts.gdr is False:
        columns = _route_by_channel(flows, algorithm, search)
        if columns is None:
            return loads
        return replace(loads, by_channel=_sum_loads(flows, columns))
    if algorithm == "Tree":  # the channels of trees have the cards of the rings
        ring_flows = list_call_flows(replace(call, collective="allgather", algorithm="Ring"))
        ring_loads = _sum_loads(ring_flows, ring_flows.machine.columns(ring_flows.src, ring_flows.dst))
        spread = _compute_card_spread(ring_loads, ring_flows.share, search, call.channels)
    else:
        spread = _compute_card_spread(loads, flows.share, search, call.channels)
    return replace(loads, card_spread=spread)


def _compute_card_spread(loads: LinkLoads, share: Floats, graph_search: GraphSearch, channels: int | None) -> float:
    """What the busiest card carries by the routes of rings over what it carries where each channel has its own card."""
    cards = [(channel.exit_card, channel.entry_card) for channel in graph_search.rings.channels[:channels]]
    most = max(max(Counter(ends).values()) for ends in zip(*cards, strict=True))
    return max(1.0, loads.card * loads.card_rate / (most * float(share.max())))


def _route_by_channel(flows: CallFlows, algorithm: str, graph_search: GraphSearch) -> list[Column] | None:
    """Routes of all hops, of which those between nodes leave and enter by the cards of their channel: staged through
    host memory they cross other uplinks than by a GPU's nearest card. None for a machine that has lost links."""
    machine, router = flows.machine, flows.machine.router
    # With lost links the routes are repaired one by one, and channels have no cards of their own.
    if not isinstance(router, ClusterRouter) or router.lost:
        return None
    size, devices = len(router.machine.devices), machine.endpoint_device.astype(np.int64)
    ends = devices[flows.src], devices[flows.dst]
    (src_node, src), (dst_node, dst) = (divmod(end, size) for end in ends)
    is_between = src_node != dst_node
    leaving = entering = flows.channel
    if algorithm == "Ring":
        rings = graph_search.rings
        leaving, entering = (rings.list_numbers(flows.channel, node) for node in (src_node, dst_node))
        cards = np.array([(channel.exit_card, channel.entry_card) for channel in rings.channels])
    elif algorithm == "Tree":
        cards = np.array([(channel.exit_card, channel.entry_card) for channel in graph_search.trees.channels])
    else:
        assert graph_search.heads is not None  # no NVLSTree without heads
        cards = np.array([(card, card) for card in graph_search.heads.cards])
    card_pairs = np.stack([src, dst, cards[leaving, 0], cards[entering, 1]], axis=1)
    # Hops inside a node use no card, and share one entry below.
    card_pairs[~is_between] = -1
    columns = []
    for card_pair in np.unique(card_pairs, axis=0):
        hops = np.flatnonzero((card_pairs == card_pair).all(axis=1))
        by_cards = router
        # Routes are found once for each pair of GPUs and cards, not for each hop.
        if card_pair[0] >= 0:
            by_cards = router.with_cards({int(card_pair[0]): int(card_pair[2]), int(card_pair[1]): int(card_pair[3])})
        for pair, link in by_cards.columns(ends[0][hops], ends[1][hops]):
            columns.append(Column(hops[_select_hops(pair)], link))
    return columns


def _sum_loads(flows: CallFlows, columns: Sequence[Column]) -> LinkLoads:
    machine, share = flows.machine, flows.share
    links, count = machine.links, len(machine.links)
    nominal = get_nominal_rates(machine)
    is_memory = machine.devices.kind == DEVICE_KINDS.index("memory")
    memory_links = is_memory[links.src] | is_memory[links.dst]
    is_staged = np.zeros(len(share), bool)
    for pair, link in columns:
        is_staged[_select_hops(pair)] |= memory_links[link]
    direct, staged = np.zeros(count), np.zeros(count)
    for pair, link in columns:
        hops = _select_hops(pair)
        direct += np.bincount(link, share[hops] * ~is_staged[hops], count)
        if is_staged.any():
            staged += np.bincount(link, share[hops] * is_staged[hops], count)
    busy, busy_staged = direct / nominal, staged / nominal
    total = busy + busy_staged
    outside = machine.devices.node[links.src] < 0, machine.devices.node[links.dst] < 0
    # One end in a node: the port of a card. Both ends outside: a cable between switches.
    is_port, is_uplink = outside[0] ^ outside[1], outside[0] & outside[1]
    sorts = [_SORTS.get(cable.kind, "") for cable in links.cables]
    inside = ~(outside[0] | outside[1])

    def is_inside(sort: str) -> npt.NDArray[np.bool_]:
        mask: npt.NDArray[np.bool_] = inside & np.array([sort == each for each in sorts], bool)[links.cable]
        return mask

    def find_most(mask: npt.NDArray[np.bool_]) -> float:
        return float(total[mask].max(initial=0.0))

    memory = np.where(is_memory[links.src], links.src, links.dst)[memory_links]
    written_and_read = np.bincount(memory, total[memory_links], 1)
    pcie = is_inside("pcie") & (total > 0)
    # Seconds for each byte are about 1e-11: twenty digits make slots equal that differ by rounding only.
    pairs = np.unique(np.stack([busy[pcie], busy_staged[pcie]], axis=1).round(20), axis=0)
    busiest_port = int(np.argmax(np.where(is_port, total, -1.0)))
    return LinkLoads(
        gpu=find_most(is_inside("gpu")),
        pcie=tuple((float(a), float(b)) for a, b in pairs),
        memory=float(written_and_read.max()),
        socket=find_most(is_inside("socket")),
        card=find_most(is_port),
        fabric=find_most(is_uplink),
        card_rate=float(nominal[busiest_port] * is_port.any()),
    )


def _select_hops(pair: Longs | None) -> slice | Longs:
    """Which hops a column of routes is of; None is all."""
    if pair is None:
        return slice(None)
    return pair


def get_nominal_rates(machine: Topology) -> Floats:
    """Get the nominal rates of a machine's links after edits, whatever rates or calibration it was made with.

    Args:
        machine: a machine.

    Returns:
        B/s of each link.
    """
    rates, calibration = machine.facts.rates, machine.facts.calibration
    factors = []
    for cable in machine.links.cables:
        nominal = cable.nominal or cable.bandwidth
        present = apply_rates(cable, rates).bandwidth
        if calibration is not None and cable.kind in calibration.links:
            present = nominal * calibration.links[cable.kind].carries
        factors.append(nominal / present)
    nominal_rates: Floats = machine.links.bandwidth * np.array(factors)[machine.links.cable]
    return nominal_rates
