"""The routes that NCCL's environment variables leave on a machine, so that prediction and simulation take the same."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import CollsimError
from ...topology import Topology
from ...topology.cluster import ClusterRouter, Policy
from ...topology.machine_builder import LEVELS, LOC
from ...topology.machines import join_cards, order_rings

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
        count: ranks that take part: as many on each node, its first GPUs.

    Returns:
        The machine with these ranks; the same object where they are its own.

    Raises:
        CollsimError: where nodes cannot share that number evenly.
    """
    nodes = machine.facts.nodes
    if count % nodes:
        template = "ranks={ranks}: {nodes} nodes cannot share them evenly, which a simulation needs; use a multiple"
        raise CollsimError(template, ranks=count, nodes=nodes)
    if collective not in ("alltoall", "sendrecv"):
        machine = sort_ranks_by_node(machine)
    return restrict_ranks(machine, count // nodes)


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
    ranks = np.flatnonzero(np.isin(devices % per_node, gpus[:local_ranks]))
    orders = None
    if machine.orders is not None:
        orders = np.array([np.searchsorted(ranks, order[np.isin(order, ranks)]) for order in machine.orders], np.int32)
    return replace(machine, ranks=len(ranks), endpoint_device=devices[ranks], orders=orders)


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
