"""Which links of its machine a job used, which it could use, and where a cause sits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...diagnosis import Cause, DataPath, Diagnosis, Fact
from ...errors import CollsimError
from ...nccl.nccl_environment import NcclSettings, route_machine
from ...package_data import read_toml
from ...topology import Topology
from ...topology.network import DEVICE_KINDS

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
#: Kinds of the devices that a cause is about, where its facts do not name one. A cause that is not here is about the
#: whole job.
_KINDS: Mapping[str, list[str]] = read_toml(__file__, "job_links.toml")["kinds"]
#: Causes whose facts name the parts that are at fault; those of others name parts that are well, too.
_NAMED = frozenset({"nvlink_lost", "pcie_link", "slow_port"})


@dataclass(frozen=True)
class JobLinks:
    """What is used of a machine.

    Attributes:
        used: (links,) whether data of the job crossed each; None where no line says how they moved.
        possible: (links,) whether data would cross it on the machine without a fault.
        is_staged: whether data between GPUs of a node went through host memory.
    """

    used: Bools | None
    possible: Bools
    is_staged: bool


def find_job_links(machine: Topology, used: DataPath | None) -> JobLinks:
    """Find the links.

    Args:
        machine: of the job.
        used: how its data moved, as its log says; None where it does not.
    """
    possible = _find_crossed(machine, machine, in_node=True)
    if used is None or not used.transports:
        return JobLinks(None, possible, False)
    transports = used.transports
    is_staged = "SHM" in transports and "P2P" not in transports
    settings: NcclSettings = {}
    if is_staged:
        settings["NCCL_P2P_LEVEL"] = "LOC"
    networks = [name for name in transports if name.startswith("NET/")]
    if networks and not any("GDRDMA" in name for name in networks):
        settings["NCCL_NET_GDR_LEVEL"] = "LOC"
    try:
        routed = route_machine(machine, settings)
    except CollsimError:  # a machine of a file that has no host memory to go through
        routed = machine
    crossed = _find_crossed(machine, routed, in_node=bool({"SHM", "P2P"} & set(transports)))
    if used.cards:
        crossed &= ~_find_links_of(machine, _list_unused_cards(machine, used))
    return JobLinks(crossed, possible, is_staged)


def find_parts(cause: Cause, machine: Topology) -> frozenset[int]:
    """Find the devices that a cause is about.

    Args:
        cause: of a diagnosis.
        machine: of the job.

    Returns:
        Numbers of devices; none where it is about the whole job, or about a part that the machine has not.
    """
    kinds = _KINDS.get(cause.key, ())
    if cause.key == "cards_left_out":
        used = next((fact.value for fact in cause.evidence if fact.kind == "nccl.cards"), ())
        numbers = _read_numbers(used)
        cards = list_devices(machine, "nic")
        return frozenset(card for position, card in enumerate(cards) if position not in numbers)
    if cause.key in _NAMED:
        named = {number for fact in cause.evidence for number in _find_named(fact, machine)}
        if named:
            return frozenset(named)
    return frozenset(number for kind in kinds for number in list_devices(machine, kind))


def list_devices(machine: Topology, kind: str) -> list[int]:
    """Return the devices of a kind on the first node, in the order of their numbers.

    Args:
        machine: of a job.
        kind: `gpu`, `nic`, `pcie` ...
    """
    devices = machine.devices
    kinds = np.array(DEVICE_KINDS)[devices.kind]
    return [int(number) for number in np.flatnonzero((kinds == kind) & (devices.node <= 0))]


def list_causes_of_job(diagnosis: Diagnosis) -> list[int]:
    """Return the numbers, from 1, of the causes that sit in no part of the picture."""
    machine = diagnosis.machine
    return [
        number for number, cause in enumerate(diagnosis.causes, 1) if machine is None or not find_parts(cause, machine)
    ]


def _find_crossed(machine: Topology, routed: Topology, *, in_node: bool) -> Bools:
    """Links that rings over the GPUs of each node, and over the nodes through each network card, cross."""
    node = machine.devices.node[machine.endpoint_device[: machine.ranks]]
    nodes = [np.flatnonzero(node == number).tolist() for number in range(int(node.max(initial=-1)) + 1)]
    nodes = nodes or [list(range(machine.ranks))]
    routes: list[Ints] = []
    if in_node:
        routes += [route for ranks in nodes for route in _list_routes(routed, _pair_ring(ranks))]
    if len(nodes) > 1:
        routes += _choose_network_routes(machine, routed, nodes)
    crossed = np.zeros(len(machine.links), bool)
    for route in routes:
        crossed[route] = True
    return crossed


def _choose_network_routes(machine: Topology, routed: Topology, nodes: Sequence[Sequence[int]]) -> list[Ints]:
    """For each set of cards the routes between nodes of the GPUs that are nearest to them: rings leave a node there."""
    is_card = np.array([kind == "nic" for kind in DEVICE_KINDS])[machine.devices.kind]
    by_cards: dict[tuple[int, ...], list[Ints]] = {}
    for column in zip(*nodes, strict=False):
        routes = list(_list_routes(routed, _pair_ring(column)))
        devices = {int(device) for route in routes for device in machine.links.dst[route]}
        cards = tuple(sorted(device for device in devices if is_card[device]))
        nearest = by_cards.setdefault(cards, routes)
        if sum(map(len, routes)) < sum(map(len, nearest)):
            by_cards[cards] = routes
    return [route for routes in by_cards.values() for route in routes]


def _list_routes(routed: Topology, pairs: Sequence[tuple[int, int]]) -> Iterator[Ints]:
    """Links of the route of each pair; a machine of a file may lack a route, and what there is, is drawn."""
    for src, dst in pairs:
        with suppress(CollsimError):
            yield routed.routes([src], [dst]).link.astype(np.int64)


def _pair_ring(ranks: Sequence[int]) -> list[tuple[int, int]]:
    if len(ranks) < 2:
        return []
    return list(zip(ranks, [*ranks[1:], ranks[0]], strict=True))


def _find_links_of(machine: Topology, devices: Sequence[int]) -> Bools:
    return np.isin(machine.links.src, devices) | np.isin(machine.links.dst, devices)


def _list_unused_cards(machine: Topology, used: DataPath) -> list[int]:
    """Cards of every node that the log does not name; the first ones are used where names have no number of a card."""
    names = next((fact.value for fact in used.evidence if fact.kind == "nccl.cards"), ())
    numbers = _read_numbers(names)
    unused = []
    kinds = np.array(DEVICE_KINDS)[machine.devices.kind]
    for node in range(int(machine.devices.node.max(initial=0)) + 1):
        cards = np.flatnonzero((kinds == "nic") & (machine.devices.node == node)).tolist()
        used_cards = {number for number in numbers if number < len(cards)} or set(range(used.cards))
        unused += [card for position, card in enumerate(cards) if position not in used_cards]
    return unused


def _read_numbers(names: object) -> list[int]:
    """The numbers that names of cards end in: 3 of `mlx5_3`."""
    if not isinstance(names, tuple):
        return []
    return [int(match[1]) for name in names if (match := re.search(r"(\d{1,3})$", str(name)))]


def _find_named(fact: Fact, machine: Topology) -> Iterator[int]:
    """The device that a fact is about: facts have the number of a GPU, or a name that ends in the number of a card."""
    value = fact.value
    gpu = getattr(value, "gpu", None)
    name = str(getattr(value, "device", getattr(value, "card", "")))
    number = re.search(r"(\d{1,3})$", name)
    if gpu is None and name.startswith("GPU ") and number:
        gpu = int(number[1])
    devices: list[int] = []
    if isinstance(gpu, int):
        devices, position = list_devices(machine, "gpu"), gpu
    elif number and ":" not in name:
        devices, position = list_devices(machine, "nic"), int(number[1])
    if devices and position < len(devices):
        yield devices[position]


def describe_links(machine: Topology, links: JobLinks) -> list[dict[str, object]]:
    """Count what is used of each product of cable, for who reads the picture as a table.

    Args:
        machine: of the job.
        links: what is used of it.

    Returns:
        A row for each product: `cable`, `bandwidth` (B/s, of one link and direction), `links`, `used` (None where no
        line says how data moved) and `possible`, counts of directed links on all nodes.
    """
    rows = []
    cables = machine.links.cables
    for number, cable in enumerate(cables):
        members = machine.links.cable == number
        bandwidth = float(machine.links.bandwidth[members].max(initial=0.0))
        row = {"cable": cable.label, "bandwidth": bandwidth, "links": int(members.sum()), "used": None}
        if links.used is not None:
            row["used"] = int((members & links.used).sum())
        rows.append({**row, "possible": int((members & links.possible).sum())})
    return rows
