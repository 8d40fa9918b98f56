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


def name_ranks(machine: Topology, ranks: Sequence[int]) -> Topology:
    """Leave the ranks that are named, where they are the same GPUs on each of their nodes.

    Args:
        machine: a machine with all its ranks.
        ranks: their numbers.

    Returns:
        A machine of so many nodes with these GPUs and all cards, ranks node by node.

    Raises:
        CollsimError: for numbers that it has not, for a network that is no machine or was edited, and where nodes give
            different GPUs, which NCCL's model does not time.
    """
    node, numbers = machine.facts.machine, [int(rank) for rank in ranks]
    refuse_shared_gpus(machine, numbers)
    if not all(0 <= rank < machine.ranks for rank in numbers):
        template = "ranks={value!r} must be different ranks of {name}, which has 0 to {last}"
        raise CollsimError(template, value=numbers, name=machine.name, last=machine.ranks - 1)
    if node is None or machine.facts.edits:
        template = "ranks={value!r}: {name} is no machine as it was built; give their number, or simulate them"
        raise CollsimError(template, value=numbers, name=machine.name)
    # Sorted: the order of the list means nothing to NCCL, which orders the GPUs of a node itself.
    devices = np.sort(machine.endpoint_device[numbers])
    which, local = np.divmod(devices, len(node.devices))
    by_node = {int(number): local[which == number].tolist() for number in np.unique(which)}
    chosen = next(iter(by_node.values()))
    # NCCL's model times one kind of node.
    if any(gpus != chosen for gpus in by_node.values()):
        template = (
            "ranks={value!r} are different GPUs of each node, and NCCL's model times equal ones; simulate them: "
            "simulate(schedule(..., ranks={count}), machine, nbytes, ranks={value!r})"
        )
        raise CollsimError(template, value=numbers, count=len(numbers))
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
