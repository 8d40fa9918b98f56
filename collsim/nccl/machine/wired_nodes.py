"""The nodes of a Topology as they are now: edited cables have their present rate, failed ones are gone.

NCCL looks at each node by itself, and the slowest decides (src/init.cc: all ranks take the least of their graphs), so
that only nodes that differ matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...dtypes import Floats
from ...errors import CollsimError
from ...topology import Topology
from ...topology.cables import Nic, apply_rates, find_nic
from ...topology.cluster import ClusterRouter
from ...topology.machine_builder import Machine
from ...topology.network import Cable

#: Kinds of cables on the way through host memory, whose flows `host_flows` counts.
_HOST_KINDS = ("pcie", "memory", "upi", "c2c")


@dataclass(frozen=True)
class WiredNode:
    """One of the nodes of a machine.

    Attributes:
        machine: its devices and cables as they are now.
        card_rates: nominal B/s of each network card, of its port or its slot, whichever is less; 0 where it failed.
    """

    machine: Machine
    card_rates: tuple[float, ...]


@dataclass(frozen=True)
class WiredNodes:
    """What a search of rings needs of a Topology.

    Attributes:
        nodes: the nodes that differ from one another.
        p2p: the worst path type allowed between GPUs (one of `topology.machine_builder.LEVELS`).
        gdr: the same between a GPU and a network card.
        wiring_key: `Facts.wiring_key` of the facts that were read from these nodes; facts with another key describe
            another machine.
    """

    nodes: tuple[WiredNode, ...]
    p2p: str
    gdr: str
    wiring_key: tuple[object, ...] = ()


def find_distinct_nodes(topology: Topology) -> tuple[WiredNode, ...]:
    """Find the nodes of a machine that differ from one another.

    Args:
        topology: a machine.

    Returns:
        One node for each state of the cables; a single one where nothing was edited.

    Raises:
        CollsimError: where an edit slows the ring, but concerns a cable that the model of NCCL does not know.
    """
    router = topology.router
    assert isinstance(router, ClusterRouter)
    machine, card = router.machine, find_network_card(topology)
    rate = 0.0
    if card is not None:
        rate = card.cable.nominal or card.cable.bandwidth
    # Untouched machines have equal nodes, and need no search for different ones.
    if not topology.facts.edits:
        return (_build_node(machine, [rate] * len(router.cards)),)
    shares = _compute_rate_shares(topology, router, card)
    _require_modelled_edits(topology, router, shares)
    inside_links, connections = 2 * len(machine.connections) * router.nodes, len(machine.connections)
    inside = shares[:inside_links].reshape(router.nodes, -1, 2).min(axis=2)
    ports = np.ones(2 * len(router.cards))
    if router.fabric:
        ports = shares[inside_links : inside_links + 2 * router.nodes * len(router.cards)]
    cards = ports.reshape(router.nodes, -1, 2).min(axis=2)
    # Nodes with the same rates on all cables are one kind.
    distinct = np.unique(np.hstack([inside, cards]), axis=0)
    return tuple(
        _build_node(_scale_connections(machine, row[:connections]), (rate * row[connections:]).tolist())
        for row in distinct
    )


def _build_node(machine: Machine, port_rates: list[float]) -> WiredNode:
    """A node whose cards have these ports; a card carries no more than its slot."""
    names = [machine.devices[i] for i in machine.of_kind("nic")]
    slots = [
        sum(cable.nominal or cable.bandwidth for a, b, cable in machine.connections if name in (a, b)) for name in names
    ]
    return WiredNode(machine, tuple(map(min, port_rates, slots)))


def find_network_card(topology: Topology) -> Nic | None:
    """Find the network card of a machine: the one that was chosen for it, or its own.

    Args:
        topology: a machine.

    Returns:
        The card; None where the machine has none.
    """
    machine = topology.facts.machine
    if machine is None or not machine.of_kind("nic"):
        return None
    return find_nic(topology.facts.options.get("nic") or machine.nic)


def _compute_rate_shares(topology: Topology, router: ClusterRouter, card: Nic | None) -> Floats:
    """The present rate over the rate as built of each link, as first numbered (see `topology.cluster`); 0 where it is
    gone.

    A calibration is no edit: a calibrated link counts as built with what its kind carries.
    """
    rates, calibration = topology.facts.rates, topology.facts.calibration

    def get_built_rate(cable: Cable) -> float:
        if calibration is not None and cable.kind in calibration.links:
            return float((cable.nominal or cable.bandwidth) * calibration.links[cable.kind].carries)
        return apply_rates(cable, rates).bandwidth

    inside = np.repeat([get_built_rate(cable) for *_, cable in router.machine.connections], 2)
    blocks = [np.tile(inside, router.nodes)]
    if router.fabric is not None and card is not None:
        blocks += [
            np.full(2 * router.fabric.ports, get_built_rate(card.cable)),
            *(np.full(2 * count, get_built_rate(cable)) for count, cable in router.fabric.list_uplinks()),
        ]
    built = np.concatenate(blocks)
    present = np.zeros(len(built))
    present[np.setdiff1d(np.arange(len(built)), list(router.lost))] = topology.links.bandwidth
    shares: Floats = present / built
    return shares


def _scale_connections(machine: Machine, shares: Floats) -> Machine:
    """The machine with its cables at these shares of their rates, without those at 0."""
    connections = tuple(
        (a, b, _scale_cable(cable, float(share)))
        for (a, b, cable), share in zip(machine.connections, shares, strict=True)
        if share > 0
    )
    return replace(machine, connections=connections)


def _scale_cable(cable: Cable, factor: float) -> Cable:
    if factor == 1:
        return cable
    nominal, effective = (None if rate is None else rate * factor for rate in (cable.nominal, cable.effective))
    return replace(cable, bandwidth=cable.bandwidth * factor, nominal=nominal, effective=effective)


def _require_modelled_edits(topology: Topology, router: ClusterRouter, shares: Floats) -> None:
    """Refuse edits of cables that data cross and that the model has no rate for: all but GPU links, network cards, the
    kinds of the way through host memory as a whole, and cables between switches (`fabric_cost` counts what they
    carry)."""
    present = np.setdiff1d(np.arange(len(shares)), list(router.lost))
    inside_links = 2 * len(router.machine.connections) * router.nodes
    # Rates of GPU links and cards are in the model, and those of the way through host memory, each kind as a whole.
    modelled = {"nvlink", "xgmi"}
    for kind in _HOST_KINDS:
        connections = [j for j, (*_, cable) in enumerate(router.machine.connections) if cable.kind == kind]
        links = [2 * connection + direction for connection in connections for direction in (0, 1)]
        kind_shares = shares[:inside_links].reshape(router.nodes, -1)[:, links]
        if kind_shares.size and np.ptp(kind_shares) == 0:
            modelled.add(kind)
    unmodelled = np.zeros(len(shares), bool)
    unmodelled[present] = np.array([cable.kind not in modelled for cable in topology.links.cables])[
        topology.links.cable
    ]
    unmodelled[inside_links:] = False
    unmodelled &= shares != 1
    if not unmodelled.any():
        return
    # A change counts only where a ring crosses it: other cables carry nothing of NCCL's.
    for crossed in _list_ring_links(topology):
        changed = crossed[unmodelled[present[crossed]]]
        if len(changed):
            raise CollsimError(
                "{name}: the ring crosses {link_name}, which was changed; the model of NCCL knows the rates of "
                "NVLinks and network cards, and each other kind as a whole (scaled(kind='pcie')), not of this cable: "
                "use simulate()",
                name=topology.name,
                link_name=topology.link_name(int(changed[0])),
            )


def _list_ring_links(topology: Topology) -> Iterator[np.ndarray]:
    """The links that a ring crosses, for each ring order of the topology."""
    orders = topology.orders
    if orders is None:
        orders = np.arange(topology.ranks, dtype=np.int32)[None]
    for order in orders:
        if topology.ranks > 1:
            yield topology.routes(order, np.roll(order, -1)).link
