"""Lower bounds: no schedule on this topology can be faster, whoever wrote it.

Three bounds, and the largest of them counts:

- bandwidth: every rank's own links must carry what it cannot avoid to send and receive, all ranks' links together what
  the whole collective cannot avoid (Chan, Heimlich, Purkayastha, van de Geijn 2007, section 3; Patarasuk & Yuan 2009,
  section 2: an allreduce moves 2(n-1) buffers in all when only ranks reduce), the links between groups of ranks what
  an allreduce sends between these (`cuts.find_groups`), and every cut of the topology what must cross it (`cuts`).
- distance, of an alltoall: every block crosses all links of its way, and all links together carry only so much
  (`distances`).
- latency: the data of one rank must at least cross the alphas of the cheapest way to the farthest rank that needs it.

A schedule with helper endpoints (a server, a switch that reduces) may stay below the bound for all ranks together, so
for it only the bound of each rank counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..collective import Collective, find_owners, find_targets, get_collective, split_evenly
from ..dtypes import Floats, Longs, find_itemsize
from ..errors import CollsimError, require_flags
from ..errors.arguments import check_arguments
from ..topology import Topology
from ..topology.parts.rank_selection import restrict_ranks
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, DataType, parse_bytes, parse_count
from .cuts import Cut, build_cut, compute_route_rates, find_groups, find_routed_cut, find_worst_cut
from .distances import Travel, compute_latency, find_longest_travel

__all__ = ["Bound", "compute_block_bytes", "compute_required_bytes", "lower_bound"]

_MORE = 1 + 1e-9  # times a bound, below which another is the same but for rounding


@dataclass(frozen=True)
class Bound:
    """Lower bounds in seconds. `time` is the larger, `limit` says which.

    Attributes:
        latency: s below which no run can be, whatever the bandwidth: messages need so many steps and links.
        bandwidth: s below which no run can be, whatever the latency: so many bytes must cross the tightest links.
        cut: which ranks and cables give the bandwidth bound; None where it is links together, or nothing must move.
        travel: the links that blocks must cross, where these give the bandwidth bound; None where it is a cut, or all
            ranks' links together.
        groups: the number of groups of ranks whose links together give the bandwidth bound of an allreduce; else 0.

    Examples:
        >>> import collsim as cs
        >>> bound = cs.lower_bound("allreduce", cs.machine("dgx-a100", nodes=2), "1GiB")
        >>> bound.limit, cs.format_time(bound.time)
        ('bandwidth', '6.07 ms')
    """

    latency: float
    bandwidth: float
    cut: Cut | None = None
    travel: Travel | None = None
    groups: int = 0

    @property
    def time(self) -> float:
        """Seconds below which no run can be."""
        return max(self.latency, self.bandwidth)

    @property
    def limit(self) -> str:
        """`latency` or `bandwidth`: which of the two it is."""
        if self.latency > self.bandwidth:
            return "latency"
        return "bandwidth"


#: By topology: collective, bytes, root, helpers and bytes of an element, and the bound.
_stored_bounds: WeakKeyDictionary[Topology, dict[tuple[object, ...], Bound]] = WeakKeyDictionary()


@check_arguments
def lower_bound(
    kind: Collective | str,
    topology: TopologyLike,
    nbytes: ByteSize,
    *,
    ranks: int | Sequence[int] | None = None,
    root: int = 0,
    helpers: bool = False,
    dtype: DataType = "float32",
    shares: npt.ArrayLike | None = None,
) -> Bound:
    """The bound for a collective of `nbytes` on a topology, or on so many of its ranks (as `simulate` chooses them).

    Args:
        kind: a collective or its name.
        topology: the network; a topology, or what names one.
        nbytes: nccl-tests' size in bytes, or a text such as `"64MiB"`.
        ranks: how many of the topology's ranks take part, or their numbers; all when None.
        root: the root rank, where the collective has one.
        helpers: the schedule has endpoints beyond the ranks, which may reduce or multicast on the way: where the
            topology has them (`with_helpers`), else on any device.
        dtype: blocks are cut between elements of this type.
        shares: of an alltoallv or a dispatch the share of each chunk, as `Schedule.shares` has it; None: even.

    Returns:
        The bound; `time` in seconds, and which cut gives it.

    Raises:
        CollsimError: for an unknown collective, a bad size or root.
        TopologyError: where so many ranks do not fit.

    Examples:
        >>> import collsim as cs
        >>> bound = cs.lower_bound("broadcast", cs.topology.switch(4, bandwidth="10GB/s", alpha=0), "10MB")
        >>> f"{bound.time * 1e3:.0f} ms"
        '1 ms'
    """
    if not isinstance(kind, Collective):
        kind = get_collective(kind)
    topology = resolve_topology(topology, "lower_bound")
    nbytes = parse_bytes(nbytes)
    placed = topology.endpoint_device[topology.ranks :]
    topology = restrict_ranks(topology, ranks)
    n = topology.ranks
    require_flags(helpers=helpers)
    root = parse_count(root, "root", least=0)
    if root >= n:
        raise CollsimError("root={root} is not a rank; with {n} ranks it is 0 to {last}", root=root, n=n, last=n - 1)
    if n < 2:
        return Bound(0.0, 0.0)
    if helpers and topology.endpoints == n:
        if not len(placed):  # they may be on any device
            placed = np.arange(len(topology.devices), dtype=np.int32)
        topology = replace(topology, endpoint_device=np.append(topology.endpoint_device, placed))
    # Many schedules are compared with the same bound.
    key = (kind.name, nbytes, root, helpers, find_itemsize(dtype))
    stored = _stored_bounds.setdefault(topology, {})
    if shares is not None:
        return _compute_bound(kind, topology, nbytes, root, helpers, find_itemsize(dtype), shares)
    if key not in stored:
        stored[key] = _compute_bound(kind, topology, nbytes, root, helpers, find_itemsize(dtype), None)
    return stored[key]


def _compute_bound(
    kind: Collective,
    topology: Topology,
    nbytes: int,
    root: int,
    helpers: bool,
    item: int,
    shares: npt.ArrayLike | None,
) -> Bound:
    """The bound for all ranks of a topology, of which it has two or more."""
    n = topology.ranks
    blocks = compute_block_bytes(nbytes, n, item)
    pairs = arriving = None
    if kind.has_targets:
        pairs, arriving = _compute_pair_bytes(kind, nbytes, n, item, shares)
    bandwidth, cut = _bound_by_cuts(kind, topology, nbytes, blocks, root, helpers, pairs, arriving)
    latency, travel = compute_latency(kind, topology, n, root), None
    if (kind.after == "peer" or kind.has_targets) and not helpers:
        travel = find_longest_travel(topology, np.full((n, n), blocks.min()) if pairs is None else pairs)
    bound = Bound(latency, bandwidth, cut)
    if travel is not None and travel.time > bandwidth * _MORE:
        bound = Bound(latency, travel.time, None, travel)
    if kind.name == "allreduce" and not helpers:
        groups, rate = find_groups(topology, n)
        if (together := 2 * (groups - 1) * nbytes / rate) > bandwidth * _MORE:
            bound = Bound(latency, together, groups=groups)
    if kind.name == "alltoall":
        across = _find_largest_cut("waves", topology, n, int(blocks.min()))
        if across is not None and across.time > bound.bandwidth * _MORE:
            bound = Bound(latency, across.time, across)
    return bound


def _bound_by_cuts(
    kind: Collective,
    topology: Topology,
    nbytes: int,
    blocks: Longs,
    root: int,
    helpers: bool,
    pairs: Longs | None,
    arriving: Longs | None,
) -> tuple[float, Cut | None]:
    """The larger of what ranks' own links need and what must cross a cut of the network; and that cut."""
    time, cut = _bound_by_rank_links(kind, topology, nbytes, blocks, root, helpers, pairs, arriving)
    network_cut = _find_network_cut(kind, topology, nbytes, blocks, root, pairs)
    if network_cut is not None and network_cut.time >= time:
        return network_cut.time, network_cut
    return time, cut


def _bound_by_rank_links(
    kind: Collective,
    topology: Topology,
    nbytes: int,
    blocks: Longs,
    root: int,
    helpers: bool,
    pairs: Longs | None,
    arriving: Longs | None,
) -> tuple[float, Cut | None]:
    """What the links of single ranks, and of all ranks together, need; and the rank, where it is one."""
    n = len(blocks)
    device = topology.endpoint_device[:n]
    links = topology.links
    ends = (links.src, links.dst)
    out, into = (np.bincount(end, weights=links.bandwidth, minlength=len(topology.devices))[device] for end in ends)
    must_send, must_receive, total = compute_required_bytes(kind, nbytes, blocks, root, pairs, arriving)
    sent, received = (out, into) if helpers else compute_route_rates(topology, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A rank without links gives nothing to divide by: it says nothing here, and makes no bound infinite.
        send, receive = np.nan_to_num(must_send / sent, posinf=0), np.nan_to_num(must_receive / received, posinf=0)
    single_rank_time = float(max(send.max(), receive.max()))
    # Ranks that share a GPU have its links once.
    _, first = np.unique(device, return_index=True)
    if helpers or not out.sum():
        all_ranks_time = 0.0
    else:
        all_ranks_time = total / min(out[first].sum(), into[first].sum())
    if all_ranks_time > single_rank_time or not single_rank_time:
        return float(all_ranks_time), None
    receives = bool(receive.max() >= send.max())
    rank = int(np.argmax(receive if receives else send))
    needed, rates = (must_receive, received) if receives else (must_send, sent)
    crossing = np.flatnonzero(ends[receives] == device[rank])
    if rates[rank] < (into if receives else out)[rank]:
        crossing = np.array(find_routed_cut(topology, n, rank, leaving=not receives)[1])
    crossing_links = tuple(int(link) for link in crossing)
    return single_rank_time, Cut((rank,), receives, crossing_links, float(rates[rank]), float(needed[rank]))


def _find_network_cut(
    kind: Collective,
    topology: Topology,
    nbytes: int,
    blocks: Longs,
    root: int,
    pairs: Longs | None,
) -> Cut | None:
    """The cut that needs longest for what must cross it; None where no cut is searched, or none carries anything."""
    if pairs is not None:
        return _find_worst_node(topology, pairs)
    # Blocks that differ by an element all count as the smallest: the bound stays one.
    n, block = len(blocks), int(blocks.min())
    # What crosses the cut per block, from which root, whether the reversed network is searched, and bytes of a block.
    what, source, reverse, size = {
        "allgather": ("allgather", None, False, block),
        "reduce_scatter": ("allgather", None, True, block),
        "gather": ("gather", root, False, block),
        "scatter": ("gather", root, True, block),
        "alltoall": ("alltoall", None, False, block),
        "allreduce": ("flow", None, False, nbytes),
        "broadcast": ("flow", root, False, nbytes),
        "reduce": ("flow", root, True, nbytes),
    }.get(kind.name, ("", None, False, 0))
    if not what:
        return None
    return _find_largest_cut(what, topology, n, size, source, reverse)


def _find_largest_cut(
    what: str, topology: Topology, n: int, size: int, root: int | None = None, reverse: bool = False
) -> Cut | None:
    """The cut of the largest ratio, with the bytes that blocks of a size send over it."""
    if not size:
        return None
    ratio, side = find_worst_cut(what, topology, n, root=root, reverse=reverse)
    if side is None or not np.isfinite(ratio):
        return None
    # An alltoall sends a block for each pair of ranks on the two sides; the others a block for each rank inside.
    inside = int(side[topology.endpoint_device[:n]].sum())
    pairs = inside * (n - inside)
    crossing_blocks = {"flow": 1, "alltoall": pairs, "waves": pairs}.get(what, inside)
    return build_cut(topology, side, n, float(size * crossing_blocks), reverse=reverse)


def _compute_pair_bytes(
    kind: Collective, nbytes: int, n: int, item: int, shares: npt.ArrayLike | None
) -> tuple[Longs, Longs]:
    """(ranks, ranks) bytes that each rank has for each other, in whole elements; a last partial one keeps its bytes.
    What is for several counts for the first of them, as it need not leave its rank, or its node, more than once. And
    (ranks,) bytes that each must receive."""
    elements = -(-nbytes // item)
    chunks = n * n if shares is None else int(np.size(shares))
    sizes = kind.chunk_sizes(elements, n, chunks, shares) * item
    # An element that is cut off belongs to the last chunk that has anything.
    if missing := elements * item - nbytes:
        sizes[np.flatnonzero(sizes)[-1]] -= missing
    chunk, target = find_targets(n, chunks, several=kind.after == "targets")
    owner = find_owners(n, chunks)[chunk]
    moves = owner != target
    chunk, target, owner = chunk[moves], target[moves], owner[moves]
    pairs, arriving = np.zeros((n, n), np.int64), np.zeros(n, np.int64)
    np.add.at(arriving, target, sizes[chunk])
    _, first = np.unique(chunk, return_index=True)
    np.add.at(pairs, (owner[first], target[first]), sizes[chunk[first]])
    return pairs, arriving


def _find_worst_node(topology: Topology, pairs: Longs) -> Cut | None:
    """The cut around one node that needs longest for what its ranks send to others, or receive from them."""
    n = len(pairs)
    node_of_device = topology.devices.node
    node_of_rank = node_of_device[topology.endpoint_device[:n]]
    cuts = []
    # Generic networks have ranks that belong to no node: there is nothing to cut around.
    for node in np.unique(node_of_rank[node_of_rank >= 0]):
        inside = node_of_rank == node
        if inside.all():
            continue
        for reverse, nbytes in ((False, pairs[inside][:, ~inside].sum()), (True, pairs[~inside][:, inside].sum())):
            cut = build_cut(topology, node_of_device == node, n, float(nbytes), reverse=reverse)
            if cut.bandwidth > 0:
                cuts.append(cut)
    return max(cuts, key=lambda cut: cut.time, default=None)


@check_arguments
def compute_block_bytes(nbytes: int, n: int, item: int) -> Longs:
    """Bytes of each rank's block: whole elements, the larger blocks first; a last partial element keeps its bytes.

    Args:
        nbytes: bytes of the whole array.
        n: number of ranks.
        item: bytes of an element.

    Returns:
        (n,) bytes.

    Examples:
        >>> from collsim.bounds import compute_block_bytes
        >>> compute_block_bytes(42, 4, item=4).tolist()  # 11 elements, the last of 2 bytes
        [12, 12, 12, 6]
    """
    elements = -(-nbytes // item)
    blocks = split_evenly(elements, n) * item
    if missing := elements * item - nbytes:
        blocks[np.flatnonzero(blocks)[-1]] -= missing
    return blocks


@check_arguments
def compute_required_bytes(
    kind: Collective,
    nbytes: int,
    blocks: Longs,
    root: int = 0,
    pairs: Longs | None = None,
    arriving: Longs | None = None,
) -> tuple[Floats, Floats, float]:
    """Bytes that each rank must send, must receive, and that all ranks together must send when only ranks reduce.

    Args:
        kind: the collective.
        nbytes: bytes of the whole operation.
        blocks: (ranks,) bytes of each rank's block, in collectives whose buffer is one block per rank.
        root: the root rank, where the collective has one.
        pairs: (ranks, ranks) bytes that each rank has for each other, in an alltoallv or a dispatch.
        arriving: (ranks,) bytes that each rank must receive, likewise.

    Returns:
        Two arrays of shape (ranks,), and the sum for all ranks; bytes.

    Examples:
        >>> import collsim as cs
        >>> from collsim.bounds import compute_block_bytes, compute_required_bytes
        >>> send, receive, total = compute_required_bytes(
        ...     cs.collectives()["allgather"], 64, compute_block_bytes(64, 4, item=4)
        ... )
        >>> send.tolist(), receive.tolist(), total
        ([16.0, 16.0, 16.0, 16.0], [48.0, 48.0, 48.0, 48.0], 192.0)
    """
    n = len(blocks)
    whole_buffer = np.full(n, float(nbytes))
    block, rest = blocks.astype(np.float64), (nbytes - blocks).astype(np.float64)
    others, to_all = np.arange(n) != root, kind.after == "all"
    if kind.reduces:
        send, receive = (rest, block) if kind.after == "own" else (whole_buffer, whole_buffer)
        total = (n - 1.0) * nbytes * (2 if to_all else 1)
        if kind.after == "root":
            send, receive = send * others, receive * ~others
    elif kind.after == "peer":
        # As if all were the smallest: on the way a block may lie in the slot of a smaller one (Bruck), whose size is
        # then what moves.
        send = receive = np.full(n, (n - 1.0) * block.min())
        total = float(send.sum())
    elif kind.has_targets:
        assert pairs is not None  # `lower_bound` computes them
        assert arriving is not None
        send, receive, total = pairs.sum(axis=1, dtype=np.float64), arriving.astype(np.float64), float(arriving.sum())
    elif kind.after == "neighbour":
        send, receive, total = whole_buffer, whole_buffer, float(n * nbytes)
    else:  # broadcast and scatter from the root, allgather to all, gather to the root
        send, receive = (block, rest) if to_all else (block * others, rest * ~others)
        if kind.before == "root":
            send, receive = (whole_buffer, whole_buffer) if to_all else (rest, block)
            send, receive = send * ~others, receive * others
        total = (n - 1.0) * nbytes if to_all else float(rest[root])
    return send, receive, total
