"""Trees that algorithms share, as arrays: `parent[r]` is the parent of r, and -1 for the root.

`reduce_up` and `broadcast_down` walk a tree level by level: a level sends when everything below (above) it has arrived.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .dtypes import Longs
from .steps import Step, copy, reduce

if TYPE_CHECKING:
    from .topology import Topology

Parents = Longs


def build_kary_tree(n: int, arity: int) -> Parents:
    """Level order: the children of r are `arity*r + 1 .. arity*r + arity`.

    >>> build_kary_tree(7, 2).tolist()
    [-1, 0, 0, 1, 1, 2, 2]

    Args:
        n: number of ranks.
        arity: children of a rank, 1 or more.

    Returns:
        Parents; -1 for rank 0, the root.
    """
    return np.where(np.arange(n) == 0, -1, (np.arange(n) - 1) // arity)


def build_interleaved_tree(n: int) -> Parents:
    """NCCL's binary tree in which odd ranks are leaves (src/graph/trees.cc ncclGetBtree).

    With b the lowest set bit of r, the parent is `r ^ b | 2b`, or `r ^ b` where that is beyond n.

    >>> build_interleaved_tree(8).tolist()
    [-1, 2, 4, 2, 0, 6, 4, 6]

    Args:
        n: Ranks.
    """
    r = np.arange(n, dtype=np.int64)
    # In two's complement r & -r leaves the lowest set bit: the level of r above the leaves, which are the odd ranks.
    bit = r & -r
    up = (r ^ bit) | (2 * bit)
    return np.where(r == 0, -1, np.where(up >= n, r ^ bit, up))


def build_double_binary_tree(n: int) -> tuple[Parents, Parents]:
    """NCCL's two trees (src/graph/trees.cc ncclGetDtree): the interleaved one, and for even n its mirror image, for odd
    n itself shifted by one rank. Hardly any rank is interior in both (for odd n one is: rank 0).

    Args:
        n: Ranks.
    """
    first = build_interleaved_tree(n)
    # `_number_roles` says the role of each rank; argsort of a permutation is its inverse, the rank in each role.
    return first, rename_ranks(first, np.argsort(_number_roles(n)[1]))


def rename_ranks(parent: Parents, name: npt.ArrayLike) -> Parents:
    """The same tree in which the one in role r is called `name[r]`; as many entries as the largest name needs.

    Args:
        parent: (roles,) the parent of each, -1 for the root.
        name: (roles,) rank in that role; ranks without a role get -1.
    """
    names = np.asarray(name, np.int64)
    result = np.full(int(names.max()) + 1, -1, np.int64)
    result[names] = np.where(parent < 0, -1, names[parent])
    return result


def measure_depths(parent: Parents) -> Longs:
    """Number of edges from each rank to its root.

    Args:
        parent: (ranks,) the parent of each, -1 for the root.
    """
    depth, ancestor = np.zeros(len(parent), np.int64), parent
    # All ranks climb one edge at a time: as many passes as the tree is deep, where a loop would have one for each rank.
    while (ancestor >= 0).any():
        depth, ancestor = depth + (ancestor >= 0), np.where(ancestor >= 0, parent[ancestor], -1)
    return depth


def broadcast_down(parent: Parents, chunk: int = 0, channel: int = 0) -> Iterator[Step]:
    """Broadcast rounds: every parent sends to all its children at once, the root first.

    Args:
        parent: the tree.
        chunk: the chunk that goes down.
        channel: the channel that it uses.
    """
    depth = measure_depths(parent)
    for level in range(1, int(depth.max(initial=0)) + 1):
        children = np.flatnonzero(depth == level)
        yield copy(parent[children], children, chunk, channel=channel)


def reduce_up(parent: Parents, chunk: int = 0, channel: int = 0) -> Iterator[Step]:
    """Reduce rounds: every child sends to its parent, the deepest first.

    Args:
        parent: the tree.
        chunk: the chunk that goes up.
        channel: the channel that it uses.
    """
    depth = measure_depths(parent)
    for level in range(int(depth.max(initial=0)), 0, -1):
        children = np.flatnonzero(depth == level)
        yield reduce(children, parent[children], chunk, channel=channel)


def count_nodes(n: int, per_node: int, topology: Topology | None = None) -> int:
    """Number of nodes: that of the topology, where ranks sit in several machines of as many each; else n / per_node.

    Where per_node does not divide n, the largest divisor of n below it is taken.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where the topology does not say it.
        topology: the machine; None for none.

    Returns:
        A number that divides n.
    """
    starts = _find_machine_starts(n, topology)
    if len(starts) and n % len(starts) == 0 and np.array_equal(starts, np.arange(0, n, n // len(starts))):
        return len(starts)
    return n // next(d for d in range(min(n, per_node), 0, -1) if n % d == 0)


def find_node_starts(n: int, per_node: int, topology: Topology | None = None) -> Longs:
    """Find the first rank of each node, which may have different numbers of ranks.

    Args:
        n: number of ranks.
        per_node: ranks of a node, where the topology does not say it.
        topology: the machine; None for none.

    Returns:
        Ranks, from 0 on: those of the topology where its nodes have consecutive ranks, else as `count_nodes` has it.
    """
    starts = _find_machine_starts(n, topology)
    if len(starts):
        return starts
    return np.arange(0, n, n // count_nodes(n, per_node, topology), dtype=np.int64)


def _find_machine_starts(n: int, topology: Topology | None) -> Longs:
    """The first rank of each node of a topology; none where the ranks of a node do not follow one another."""
    if topology is not None and topology.ranks == n:
        node = topology.devices.node[topology.endpoint_device[:n]]
        starts = np.flatnonzero(np.diff(node, prepend=-1))
        if node.min() >= 0 and len(starts) == len(np.unique(node)):  # devices without a node have -1
            return starts
    return np.empty(0, np.int64)


def build_node_chains(n: int, starts: Longs, pattern: str) -> tuple[Parents, Parents]:
    """The double binary tree over nodes, each a chain of its ranks (NCCL src/graph/connect.cc connectTrees).

    The link to the parent node is at the first rank of the chain. A child node whose role has the smaller number hangs
    at the first rank for pattern `tree`, else at the second; one with the larger number at the second for `split`, else
    at the first.

    Args:
        n: number of ranks.
        starts: first rank of each node.
        pattern: `tree`, `balanced` or `split`.

    Returns:
        The parents in either tree.
    """
    trees, nodes, has_second = [], len(starts), np.diff(starts, append=n) > 1
    for parent, role in zip(build_double_binary_tree(nodes), _number_roles(nodes), strict=True):
        # Within a node each rank hangs at the one before it; only the first rank of a node hangs at another node.
        chain = np.arange(n, dtype=np.int64) - 1
        child = np.flatnonzero(parent >= 0)
        above = parent[child]
        smaller = role[child] < role[above]
        second = np.where(smaller, pattern != "tree", pattern == "split") & has_second[above]
        chain[starts] = -1
        chain[starts[child]] = starts[above] + second
        trees.append(chain)
    return trees[0], trees[1]


def order_chains(rings: npt.ArrayLike, starts: Longs) -> Longs:
    """(channels, ranks): the chain of node 0, then that of node 1 ..., each in the order in which a channel's ring
    crosses it.

    So the head of a chain is the rank at which the ring enters the node: beside another NIC for every channel.

    Args:
        rings: (channels, ranks) ranks in the order of each ring, which passes every node once.
        starts: first rank of each node.
    """
    orders = []
    for ring in np.asarray(rings, np.int64):
        node = np.searchsorted(starts, ring, side="right")
        # A ring has no beginning: the array may start in the middle of a node's chain. From an entry on no chain is
        # cut, and the stable sort by node keeps the ring's order inside each.
        entry = int(np.argmax(node != np.roll(node, 1)))
        rotated = np.roll(ring, -entry)
        orders.append(rotated[np.argsort(np.roll(node, -entry), kind="stable")])
    return np.array(orders)


def _number_roles(n: int) -> tuple[Parents, Parents]:
    role = np.arange(n, dtype=np.int64)
    return role, n - 1 - role if n % 2 == 0 else (role - 1) % n
