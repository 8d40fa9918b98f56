"""Who sends to whom in a call of NCCL, and how much: every hop of a ring, a tree or a pair, listed once for all that
count bytes on links.

Inside: bytes as shares of the call's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...registry import schedule
from ...topology import Topology
from ...topology.network import build_ring_orders, choose_channels
from ...trees import build_double_binary_tree, build_node_chains, order_chains, rename_ranks
from .machine_facts import Facts
from .nccl_routes import restrict_ranks, sort_ranks_by_node
from .topology_facts import GraphSearch

Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
#: (sender, receiver, share of the call's bytes, channel) of every hop.
Flows: TypeAlias = tuple[Longs, Longs, Floats, Longs]
#: Hops of an alltoall that are counted: the distances between nodes are a sample where there are more.
_MAX_HOPS = 200_000
#: Ranks up to which the transfers of PAT are counted one by one; beyond, the ring stands for it.
_MAX_PAT = 512


Result = TypeVar("Result")


@dataclass(frozen=True)
class MachineCall:
    """A call of NCCL on a machine.

    Attributes:
        collective: collsim's name of it.
        algorithm: NCCL's name of it; of NVLS only what goes from node to node counts.
        machine: with all its ranks and the routes that NCCL's settings leave.
        facts: of the machine with the ranks that take part.
        graph_search: the search on it; None where it is not known: the topology's own orders.
        channels: channels of the call; None: as many as there are orders.
    """

    collective: str
    algorithm: str
    machine: Topology
    facts: Facts
    graph_search: GraphSearch | None
    channels: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """All that its hops depend on beside the machine."""
        search_key = self.graph_search and (self.graph_search.local_ranks, self.graph_search.rules)
        return self.collective, self.algorithm, self.facts.ranks, search_key, self.channels

    @property
    def is_point_to_point(self) -> bool:
        """Whether it is made of sends, which name their ranks: these keep their numbers."""
        return self.collective in ("alltoall", "sendrecv")


def cache_by_machine(compute: Callable[[MachineCall], Result]) -> Callable[[MachineCall], Result]:
    """Cache what a function finds of a call, as long as its machine is there.

    Args:
        compute: The function, whose result depends on the machine and on the key of the call alone.

    Returns:
        The function that computes each result once.
    """
    results: WeakKeyDictionary[Topology, dict[tuple[object, ...], Result]] = WeakKeyDictionary()

    @wraps(compute)
    def get_result(call: MachineCall) -> Result:
        known = results.setdefault(call.machine, {})
        key = call.key
        if key not in known:
            known[key] = compute(call)
        return known[key]

    return get_result


@dataclass(frozen=True)
class CallFlows:
    """The hops of a call on a machine.

    Attributes:
        machine: with the ranks that take part, numbered as NCCL numbers them.
        nodes: its nodes.
        src: (hops,) rank that sends.
        dst: (hops,) rank that receives.
        share: (hops,) share of the call's bytes.
        channel: (hops,) number of the ring, tree or head among those of NCCL's search; -1 for hops of none.
    """

    machine: Topology
    nodes: int
    src: Longs
    dst: Longs
    share: Floats
    channel: Longs


@cache_by_machine
def list_call_flows(call: MachineCall) -> CallFlows:
    """List the hops of a call.

    Args:
        call: The call and its machine.

    Returns:
        The hops.
    """
    nodes, numbered = call.machine.facts.nodes, call.machine
    if not call.is_point_to_point:
        numbered = sort_ranks_by_node(numbered)
    in_use = restrict_ranks(numbered, -(-call.facts.ranks // nodes))
    if in_use is call.machine:  # the cache must not hold its own key
        in_use = replace(in_use)
    return CallFlows(in_use, nodes, *_build_flows(replace(call, machine=in_use), nodes))


def _build_flows(call: MachineCall, nodes: int) -> Flows:
    """Sender, receiver, share of the call's bytes, and channel of each hop among the ranks of a machine."""
    collective, algorithm, machine = call.collective, call.algorithm, call.machine
    if collective == "alltoall":
        return _build_alltoall_flows(machine.ranks, nodes)
    if collective == "sendrecv":
        return _build_ring_flows(np.arange(machine.ranks)[None], 1.0)
    if algorithm == "Tree":
        parents = _list_tree_parents(call, nodes)
        # The two trees of channel k are the k-th of the first and of the second half.
        return _build_tree_flows(parents, np.arange(len(parents)) % -(-len(parents) // 2))
    if algorithm == "NVLSTree":
        parents = list(_list_head_parents(call, nodes))
        return _build_tree_flows(parents, np.arange(len(parents)) % (len(parents) // 2))
    if algorithm == "NVLS":
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    if algorithm == "PAT" and machine.ranks <= _MAX_PAT:
        return _build_schedule_flows(f"{collective}_pat", machine.ranks)
    orders = np.asarray(_list_ring_orders(call, nodes), np.int64)
    if call.channels is not None:
        orders = orders[: max(1, call.channels)]
    if collective in ("broadcast", "reduce"):
        return _build_chain_flows(orders, collective)
    rounds = 1 + (collective == "allreduce")
    return _build_ring_flows(orders, rounds * (machine.ranks - 1) / machine.ranks)


def _build_alltoall_flows(ranks: int, nodes: int) -> Flows:
    """Every rank to every other; where hops are many, of a sample of distances between nodes."""
    local_ranks, rank = ranks // nodes, np.arange(ranks)
    most = max(1, _MAX_HOPS // (ranks * local_ranks))
    shifts = np.unique(np.linspace(1, nodes - 1, min(nodes - 1, most)).astype(int))
    # Inside the node every hop is listed; a distance of the sample stands for as many as were left out.
    weights = np.concatenate([[1.0], np.full(len(shifts), (nodes - 1) / max(1, len(shifts)))])
    shifts = np.concatenate([[0], shifts])
    src = np.tile(np.repeat(rank, local_ranks), len(shifts))
    first_receivers = [(rank // local_ranks + shift) % nodes * local_ranks for shift in shifts]
    dst = np.concatenate([(first[:, None] + np.arange(local_ranks)).ravel() for first in first_receivers])
    share = np.repeat(weights, ranks * local_ranks) / ranks
    differs = src != dst
    return src[differs], dst[differs], share[differs], np.full(int(differs.sum()), -1)


def _build_ring_flows(orders: npt.ArrayLike, load: float) -> Flows:
    rings = np.asarray(orders, np.int64)
    channel = np.repeat(np.arange(len(rings)), rings.shape[1])
    return rings.ravel(), np.roll(rings, -1, axis=1).ravel(), np.full(rings.size, load / len(rings)), channel


def _build_chain_flows(rings: Longs, collective: str) -> Flows:
    """From rank 0 around each ring, or around it to rank 0."""
    starts = np.argmax(rings == 0, axis=1) + int(collective == "reduce")
    chains = np.stack([np.roll(ring, -start) for ring, start in zip(rings, starts, strict=True)])
    src, dst = chains[:, :-1].ravel(), chains[:, 1:].ravel()
    return src, dst, np.full(len(src), 1 / len(rings)), np.repeat(np.arange(len(rings)), rings.shape[1] - 1)


def _list_ring_orders(call: MachineCall, nodes: int) -> npt.ArrayLike:
    if call.graph_search is not None:
        return call.graph_search.rings.build_orders(nodes)
    machine = call.machine
    return build_ring_orders(machine, machine.ranks, choose_channels(machine, machine.ranks))


def _build_tree_flows(trees: Iterable[npt.ArrayLike], channels: Longs) -> Flows:
    """Every rank to its parent, and back; each tree has its share of the buffer, and runs in a channel."""
    parents = [np.asarray(tree, np.int64) for tree in trees]
    child = np.concatenate([np.flatnonzero(parent >= 0) for parent in parents])
    child_parent = np.concatenate([parent[parent >= 0] for parent in parents])
    src, dst = np.concatenate([child, child_parent]), np.concatenate([child_parent, child])
    channel = np.repeat(channels, [int((parent >= 0).sum()) for parent in parents])
    return src, dst, np.full(len(src), 1 / len(parents)), np.tile(channel, 2)


def _list_tree_parents(call: MachineCall, nodes: int) -> list[npt.ArrayLike]:
    machine, channels = call.machine, call.channels
    if call.graph_search is None:
        starts = np.arange(0, machine.ranks, machine.ranks // nodes)
        orders = order_chains(build_ring_orders(machine, machine.ranks, max(1, (channels or 2) // 2)), starts)
        pair = build_node_chains(machine.ranks, starts, "balanced")
        return [rename_ranks(tree, order) for order in orders for tree in pair]
    trees = list(call.graph_search.trees.build_parents(nodes))
    half = len(trees) // 2
    running = min(half, max(1, (channels or 2 * half) // 2))
    return [*trees[:running], *trees[half : half + running]]


def _list_head_parents(call: MachineCall, nodes: int) -> Iterable[npt.ArrayLike]:
    """Of each head of NVLS the double binary tree over the nodes; other GPUs send nothing from node to node."""
    ranks, local_ranks = call.machine.ranks, call.machine.ranks // nodes
    heads: Iterable[int] = range(local_ranks)
    if call.graph_search is not None and call.graph_search.heads is not None:
        heads = call.graph_search.heads.gpus
    for parent in build_double_binary_tree(nodes):
        for head in heads:
            tree = np.full(ranks, -1, np.int64)
            tree[head::local_ranks] = np.where(parent < 0, -1, parent * local_ranks + head)
            yield tree


def _build_schedule_flows(name: str, ranks: int) -> Flows:
    transfers = schedule(name, ranks=ranks).transfers
    src, dst = transfers["src"].astype(np.int64), transfers["dst"].astype(np.int64)
    return src, dst, np.full(len(src), 1 / ranks), np.full(len(src), -1)
