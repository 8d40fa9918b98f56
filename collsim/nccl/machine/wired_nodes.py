"""The nodes of a Topology as they are now: cables that were edited have their rate of now, failed ones are gone.

NCCL looks at each node by itself, and the slowest decides (src/init.cc: all ranks take the least of their graphs), so
that only nodes that differ matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...errors import CollsimError
from ...topology import Topology
from ...topology.cables import Nic, at, nic
from ...topology.cluster import ClusterRouter
from ...topology.network import Cable, Floats
from ...topology.plan import Machine


@dataclass(frozen=True)
class WiredNode:
    """One of the nodes: its wiring as it is, and B/s of each network card: of its port or slot, nominal; 0 where it
    failed."""

    machine: Machine
    card_rates: tuple[float, ...]


@dataclass(frozen=True)
class WiredNodes:
    """What a search of rings needs of a Topology: nodes that differ, and the worst path types allowed (of
    `topology.plan.LEVELS`).

    `told` is what the facts said that were read off them: facts that say otherwise are of another machine.
    """

    nodes: tuple[WiredNode, ...]
    p2p: str
    gdr: str
    wiring_key: tuple[object, ...] = ()


def find_distinct_nodes(topology: Topology) -> tuple[WiredNode, ...]:
    """The nodes that differ from one another; one of them where nothing was edited.

    Raises CollsimError where an edit slows the ring but is of nothing that the model of NCCL knows.
    """
    router = topology.router
    assert isinstance(router, ClusterRouter)
    plan, card = router.machine, find_network_card(topology)
    rate = 0.0 if card is None else card.cable.nominal or card.cable.bandwidth
    if not topology.facts.get("edits"):
        return (_node(plan, [rate] * len(router.cards)),)
    share = _shares(topology, router, card)
    _require_words(topology, router, share)
    local = 2 * len(plan.joints) * router.nodes
    inside = share[:local].reshape(router.nodes, -1, 2).min(axis=2)
    ports = (
        share[local : local + 2 * router.nodes * len(router.cards)] if router.fabric else np.ones(2 * len(router.cards))
    )
    cards = ports.reshape(router.nodes, -1, 2).min(axis=2)
    rows = np.unique(np.hstack([inside, cards]), axis=0)
    return tuple(
        _node(_wired(plan, row[: len(plan.joints)]), (rate * row[len(plan.joints) :]).tolist()) for row in rows
    )


def _node(plan: Machine, ports: list[float]) -> WiredNode:
    """A card carries no more than its slot."""
    names = [plan.devices[i] for i in plan.of_kind("nic")]
    slots = [sum(cable.nominal or cable.bandwidth for a, b, cable in plan.joints if name in (a, b)) for name in names]
    return WiredNode(plan, tuple(map(min, ports, slots)))


def find_network_card(topology: Topology) -> Nic | None:
    """The network card of a machine: the one asked for, or its own."""
    plan, given = topology.facts["asked"]
    return nic(given.get("nic") or plan.nic) if plan.of_kind("nic") else None


def _shares(topology: Topology, router: ClusterRouter, card: Nic | None) -> Floats:
    """Rate now over rate as built, per link as first numbered (see `topology.cluster`); 0 where it is gone.

    What a calibration found is no edit: a link that was calibrated counts as built with what its kind carries.
    """
    rates, known = str(topology.facts["rates"]), topology.facts.get("calibration")

    def unedited(cable: Cable) -> float:
        if known is not None and cable.kind in known.links:
            return float((cable.nominal or cable.bandwidth) * known.links[cable.kind].carries)
        return at(cable, rates).bandwidth

    inside = np.repeat([unedited(cable) for *_, cable in router.machine.joints], 2)
    built = [np.tile(inside, router.nodes)]
    if router.fabric is not None and card is not None:
        built += [
            np.full(2 * router.fabric.ports, unedited(card.cable)),
            np.full(2 * len(router.fabric.a), unedited(router.fabric.uplink)),
        ]
    before = np.concatenate(built)
    now = np.zeros(len(before))
    now[np.setdiff1d(np.arange(len(before)), list(router.lost))] = topology.links.bandwidth
    share: Floats = now / before
    return share


def _wired(plan: Machine, share: Floats) -> Machine:
    joints = tuple(
        (a, b, _times(cable, float(s))) for (a, b, cable), s in zip(plan.joints, share, strict=True) if s > 0
    )
    return replace(plan, joints=joints)


def _times(cable: Cable, by: float) -> Cable:
    if by == 1:
        return cable
    nominal, effective = (None if x is None else x * by for x in (cable.nominal, cable.effective))
    return replace(cable, bandwidth=cable.bandwidth * by, nominal=nominal, effective=effective)


def _require_words(topology: Topology, router: ClusterRouter, share: Floats) -> None:
    """Refuse edits of cables that data cross and that the model has no word for: all but GPU links, network cards, PCIe
    as a whole and cables between switches (`between` counts what they carry)."""
    kept = np.setdiff1d(np.arange(len(share)), list(router.lost))
    local = 2 * len(router.machine.joints) * router.nodes
    known = {"nvlink", "xgmi"}
    pcie = [j for j, (*_, cable) in enumerate(router.machine.joints) if cable.kind == "pcie"]
    of_pcie = share[:local].reshape(router.nodes, -1)[:, [2 * j + d for j in pcie for d in (0, 1)]]
    if of_pcie.size and np.ptp(of_pcie) == 0:
        known.add("pcie")
    odd = np.zeros(len(share), bool)
    odd[kept] = [topology.links.kind(i) not in known for i in range(len(kept))]
    odd[local:] = False
    odd &= share != 1
    if not odd.any():
        return
    for crossed in _ring_links(topology):
        hit = crossed[odd[kept[crossed]]]
        if len(hit):
            raise CollsimError(
                "{name}: the ring crosses {link_name}, which was changed; the model of NCCL knows the rates of "
                "NVLinks, of network cards and of PCIe as a whole (scaled(kind='pcie')), not of this cable: use "
                "simulate()",
                name=topology.name,
                link_name=topology.link_name(int(hit[0])),
            )


def _ring_links(topology: Topology) -> Iterator[np.ndarray]:
    orders = topology.orders if topology.orders is not None else np.arange(topology.ranks)[None]
    for order in orders:
        if topology.ranks > 1:
            yield topology.routes(order, np.roll(order, -1)).link
