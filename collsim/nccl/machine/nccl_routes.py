"""The routes that NCCL's environment variables leave on a machine, so that prediction and simulation take the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...errors import CollsimError
from ...topology import Topology
from ...topology.calibrated import calibrate_links
from ...topology.cluster import ClusterRouter, Policy
from ...topology.machine_builder import LEVELS, LOC, Machine, MachinePaths
from ...topology.machines import join_cards, order_rings
from ...topology.machines import machine as build_machine
from ...topology.parts.rank_selection import describe_ranks, read_rank_numbers, select_ranks
from ...topology.parts.refit import remove_devices
from ...topology.parts.shared_gpus import refuse_shared_gpus

#: Machines with other routes, by machine and what NCCL may do: what is known of their links is known by machine.
_MACHINES: WeakKeyDictionary[Topology, dict[Policy, Topology]] = WeakKeyDictionary()


def apply_route_settings(machine: Topology, p2p: str = "", gdr: str = "", has_shm: bool | None = None) -> Topology:
    """Route a machine's data as NCCL does with its environment variables.

    Args:
        machine: a machine; a generic network is returned as it is.
        p2p: the worst path type over which GPUs may write to one another (NCCL_P2P_LEVEL; `LOC` for
            NCCL_P2P_DISABLE=1); "" leaves the machine's.
        gdr: the worst path type for GPUDirect RDMA (NCCL_NET_GDR_LEVEL); "" leaves the machine's. Cards and drivers
            without it stay without it.
        has_shm: False sends what would be staged through host memory over network cards (NCCL_SHM_DISABLE=1); those of
            a single node are joined by one switch. None leaves the machine's.

    Returns:
        The machine with these routes; the same object where they are its own.
    """
    router = machine.router
    if not isinstance(router, ClusterRouter):
        return machine
    policy = router.policy
    if has_shm is not None:
        policy = replace(policy, shm=has_shm)
    if p2p in LEVELS:
        policy = replace(policy, p2p=LEVELS.index(p2p))
    if gdr in LEVELS and policy.gdr != LOC:
        policy = replace(policy, gdr=LEVELS.index(gdr))
    if policy == router.policy:
        return machine
    machines = _MACHINES.setdefault(machine, {})
    if policy not in machines:
        facts = replace(machine.facts, p2p=LEVELS[policy.p2p], gdr=LEVELS[policy.gdr])
        routed = replace(machine, router=replace(router, policy=policy, legs={}, chosen={}), facts=facts)
        if not policy.shm:
            routed = join_cards(routed)
        machines[policy] = routed
    return machines[policy]


def has_shared_memory(machine: Topology) -> bool:
    """Whether GPUs of a node may exchange data through host memory.

    Args:
        machine: a machine, with NCCL's settings applied; True for a generic network.
    """
    return not isinstance(machine.router, ClusterRouter) or machine.router.policy.shm


def place_ranks(machine: Topology, collective: str, count: int) -> Topology:
    """Leave the ranks that take part in a call, numbered as NCCL numbers them.

    Args:
        machine: a machine with all its ranks.
        collective: collsim's name of it; sends and receives name ranks, so that theirs keep their numbers.
        count: ranks that take part: as many on each node, its first GPUs; else the first nodes give one more.

    Returns:
        The machine with these ranks; the same object where they are its own.
    """
    nodes = machine.facts.nodes
    if collective not in ("alltoall", "sendrecv"):
        machine = sort_ranks_by_node(machine)
    if count % nodes:
        return _keep_ranks(machine, select_ranks(machine, count))
    return restrict_ranks(machine, count // nodes)


def select_participants(
    machine: Topology, ranks: int | str | Sequence[int] | None
) -> tuple[Topology, int | str | None, str]:
    """Leave the ranks of a machine that take part in a call, where NCCL's model needs a machine of these alone.

    Args:
        machine: a machine with all its ranks.
        ranks: how many, or their numbers; None: all.

    Returns:
        The machine, how many of its ranks take part (None: all), and which GPUs they are where the machine no longer
        says it.

    Raises:
        CollsimError: as `name_ranks`.
    """
    if ranks is None or isinstance(ranks, str):
        return machine, ranks, ""
    if not isinstance(ranks, int | np.integer):
        numbers = read_rank_numbers(ranks)
        if not (count := len(numbers)):
            template = "ranks={value!r} must be different ranks of {name}, which has 0 to {last}"
            raise CollsimError(template, value=ranks, name=machine.name, last=machine.ranks - 1)
        is_usual = machine.ranks >= count >= machine.facts.nodes
        if is_usual and np.array_equal(np.sort(numbers), select_ranks(machine, count)):
            return machine, count, ""
    elif 0 < ranks < machine.facts.nodes:  # of fewer ranks than nodes each is on a node of its own
        numbers = select_ranks(machine, ranks)
    else:
        return machine, ranks, ""
    return name_ranks(machine, numbers.tolist()), None, str(describe_ranks(machine, numbers))


def split_by_gpus(machine: Topology, ranks: int | str | Sequence[int] | None) -> list[list[int]]:
    """Split ranks whose nodes give different GPUs into machines that NCCL's model times.

    Args:
        machine: a machine with all its ranks.
        ranks: how many, or their numbers; None: all.

    Returns:
        For each different set of GPUs of a node the ranks with these GPUs on all of the nodes; nothing where all nodes
        give the same, or where their number says which.

    Raises:
        CollsimError: where nodes differ by more than one rank.
    """
    node = machine.facts.machine
    if ranks is None or isinstance(ranks, str | int | np.integer) or node is None:
        return []
    numbers = read_rank_numbers(ranks)
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= machine.ranks or len(set(numbers)) < len(numbers):
        return []  # `name_ranks` says what is wrong
    if len(numbers) >= machine.facts.nodes and np.array_equal(np.sort(numbers), select_ranks(machine, len(numbers))):
        return []
    gpus_of_node = _list_gpus(machine, node, numbers)
    sets = sorted({tuple(gpus) for gpus in gpus_of_node.values()})
    if len(sets) == 1:
        return []
    counts = sorted(map(len, sets))
    if counts[-1] > counts[0] + 1:
        template = (
            "ranks={value!r} put {fewest} ranks on one node and {most} on another, and NCCL's model times nodes that "
            "differ by one at most; give their number (ranks={count} deals them evenly), or simulate them: "
            "simulate(schedule(..., ranks={count}), machine, nbytes, ranks={value!r})"
        )
        values = {"fewest": counts[0], "most": counts[-1], "count": len(numbers)}
        raise CollsimError(template, value=numbers.tolist(), **values)
    rank_of_device = {int(device): rank for rank, device in enumerate(machine.endpoint_device[: machine.ranks])}
    starts = [number * len(node.devices) for number in gpus_of_node]
    return [[rank_of_device[start + gpu] for start in starts for gpu in gpus] for gpus in sets]


def _list_gpus(machine: Topology, node: Machine, ranks: Sequence[int] | npt.NDArray[np.int64]) -> dict[int, list[int]]:
    """The GPUs of each node that ranks sit on, as numbers among the devices of the node, which is `node`."""
    # Sorted: the order of the list means nothing to NCCL, which orders the GPUs of a node itself.
    which, local = np.divmod(np.sort(machine.endpoint_device[ranks]), len(node.devices))
    return {int(number): local[which == number].tolist() for number in np.unique(which)}


def name_ranks(machine: Topology, ranks: Sequence[int]) -> Topology:
    """Leave the ranks that are named.

    Args:
        machine: a machine with all its ranks.
        ranks: their numbers, the same GPUs on each of their nodes (`split_by_gpus`).

    Returns:
        A machine of so many nodes with these GPUs and all cards, ranks node by node.

    Raises:
        CollsimError: for numbers that it has not, and for a network that is no machine or was edited.
    """
    node, numbers = machine.facts.machine, [int(rank) for rank in ranks]
    refuse_shared_gpus(machine, numbers)
    if not all(0 <= rank < machine.ranks for rank in numbers):
        template = "ranks={value!r} must be different ranks of {name}, which has 0 to {last}"
        raise CollsimError(template, value=numbers, name=machine.name, last=machine.ranks - 1)
    if node is None or machine.facts.edits:
        template = "ranks={value!r}: {name} is no machine as it was built; give their number, or simulate them"
        raise CollsimError(template, value=numbers, name=machine.name)
    by_node = _list_gpus(machine, node, numbers)
    chosen = next(iter(by_node.values()))
    if len(by_node) > 1:
        _require_near_card(machine.name, node, chosen, numbers)
    unused = [name for number, name in enumerate(node.devices) if number in set(node.ranks) - set(chosen)]
    if unused:
        node = replace(remove_devices(node, unused), rings=(), paths=())
    # Nodes that are named may be the whole machine again, which is then one without lost neighbours.
    chosen_nodes = list(by_node)
    node_count = len(chosen_nodes)
    if describe_nodes(machine, chosen_nodes) is not None:
        node_count = machine.facts.nodes
    options = {**machine.facts.options, "nodes": node_count, "placement": "node"}
    chosen_machine = build_machine(node, **options)
    if machine.facts.calibration is not None:
        chosen_machine = calibrate_links(chosen_machine, machine.facts.calibration)
    if node_count > len(chosen_nodes):
        chosen_machine = restrict_nodes(chosen_machine, chosen_nodes)
    return replace(chosen_machine, name=machine.name)


def _require_near_card(name: str, node: Machine, gpus: Sequence[int], ranks: Sequence[int]) -> None:
    """Refuse GPUs of several nodes none of which has a way to a network card, as in trays without one.

    Args:
        name: of the machine.
        node: one of its nodes, with all GPUs.
        gpus: those that take part, as numbers of devices.
        ranks: as they were given, for the message.

    Raises:
        CollsimError: where data cannot leave the node.
    """
    paths, cards = MachinePaths(node), node.of_kind("nic")
    if any(paths.nearest(gpu, cards) for gpu in gpus):
        return
    near = [local for local, gpu in enumerate(node.ranks) if paths.nearest(gpu, cards)]
    template = (
        "ranks={value!r}: none of these GPUs of {name} has a way to a network card, so the nodes cannot exchange data; "
        "GPUs {near} of a node have one"
    )
    raise CollsimError(template, value=list(ranks), name=name, near=", ".join(map(str, near)))


def describe_nodes(machine: Topology, nodes: Sequence[int]) -> bytes | None:
    """Describe where some nodes are in the fabric of a machine.

    Args:
        machine: a machine.
        nodes: numbers of nodes, in order.

    Returns:
        The cables between each two of them, which choices of nodes have in common that are as far apart; None for
        nodes that are as far apart as the first ones are.
    """
    router, count = machine.router, len(nodes)
    if not isinstance(router, ClusterRouter) or router.fabric is None or not len(router.fabric.a):
        return None  # one switch joins all nodes
    distances = _count_cables(router, nodes)
    if np.array_equal(distances, _count_cables(router, range(count))):
        return None
    return distances.tobytes()


def _count_cables(router: ClusterRouter, nodes: Sequence[int]) -> npt.NDArray[np.int8]:
    """(nodes, nodes) cables of the fabric between the first cards of each two nodes."""
    assert router.fabric is not None  # `describe_nodes` looks
    ports = np.asarray(nodes, np.int64) * len(router.cards)
    src, dst = np.repeat(ports, len(ports)), np.tile(ports, len(ports))
    counts: npt.NDArray[np.int64] = (router.fabric.find_links(src, dst) >= 0).sum(axis=1)
    return counts.reshape(len(ports), len(ports)).astype(np.int8)


def restrict_nodes(machine: Topology, nodes: Sequence[int]) -> Topology:
    """Leave only the ranks of some nodes, which stay where they are in the fabric.

    Args:
        machine: a machine with all its ranks.
        nodes: numbers of the nodes.

    Returns:
        The machine with these ranks; the same object where they are all.
    """
    count, router = len(nodes), machine.router
    if count == machine.facts.nodes:
        return machine
    devices = machine.endpoint_device[: machine.ranks]
    devices = devices[np.isin(machine.devices.node[devices], nodes)]
    orders = None
    if isinstance(router, ClusterRouter) and machine.facts.placement == "node":
        orders = order_rings(router.machine, count, router)
    facts = replace(machine.facts, nodes=count, assumptions=())
    return replace(machine, ranks=len(devices), endpoint_device=devices, orders=orders, facts=facts)


def restrict_ranks(machine: Topology, local_ranks: int) -> Topology:
    """Leave only the first GPUs of each node.

    Args:
        machine: a machine with all its ranks.
        local_ranks: how many GPUs of each node.

    Returns:
        The machine with these ranks; the same object where they are all.
    """
    node, devices = machine.facts.machine, machine.endpoint_device[: machine.ranks]
    if node is None:
        return machine
    per_node = len(node.devices)
    gpus = np.unique(devices % per_node)
    if local_ranks >= len(gpus):
        return machine
    return _keep_ranks(machine, np.flatnonzero(np.isin(devices % per_node, gpus[:local_ranks])))


def _keep_ranks(machine: Topology, ranks: npt.NDArray[np.int64]) -> Topology:
    """The machine with these ranks, in its orders without the others."""
    orders = None
    if machine.orders is not None:
        orders = np.array([np.searchsorted(ranks, order[np.isin(order, ranks)]) for order in machine.orders], np.int32)
    endpoint_device = machine.endpoint_device[: machine.ranks][ranks]
    return replace(machine, ranks=len(ranks), endpoint_device=endpoint_device, orders=orders)


def sort_ranks_by_node(machine: Topology) -> Topology:
    """Number ranks node by node, as NCCL does whatever numbers they were given (src/graph/search.cc).

    Args:
        machine: a machine.

    Returns:
        The machine with its ranks in that order; the same object where they are.
    """
    if machine.facts.placement == "node":
        return machine
    router = machine.router
    orders = None
    if isinstance(router, ClusterRouter):
        orders = order_rings(router.machine, machine.facts.nodes, router)
    return replace(machine, endpoint_device=np.sort(machine.endpoint_device[: machine.ranks]), orders=orders)
