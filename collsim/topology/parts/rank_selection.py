"""Which GPUs take part where only their number is given: one rule for simulation, prediction and training.

Ranks are dealt to the nodes as evenly as they go, as `torchrun --nnodes N --nproc-per-node K` starts them, and each
node gives the first of its GPUs. Networks without nodes give their first ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...dtypes import Bools, Longs
from ...errors import CollsimError, Sentence, TopologyError, join_words
from ...units import RankSelection, parse_count
from ..graph import format_ranks
from ..network import DEVICE_KINDS, Topology
from .shared_gpus import share_gpus

#: At most so many nodes are named one by one.
_MAX_NAMED = 4
#: Of a list; a range may say more than memory holds.
_MAX_RANKS = 2**26


def select_ranks(topology: Topology, count: int) -> Longs:
    """Choose the ranks of a topology that take part where only their number is given.

    Args:
        topology: Where they run.
        count: How many; from 1 to all.

    Returns:
        (count,) their numbers, in order. Every node gives as many, the first of its GPUs, where the number can be
        shared evenly; else the first nodes give one more. Of fewer ranks than nodes each is on a node of its own.

    Raises:
        TopologyError: For fewer than one rank, and for more than the topology has.

    Examples:
        >>> import collsim as cs
        >>> from collsim.topology.parts.rank_selection import select_ranks
        >>> select_ranks(cs.machine("dgx-a100", nodes=2), 2).tolist()
        [0, 8]
        >>> select_ranks(cs.topology.switch(8), 2).tolist()
        [0, 1]
    """
    if not 1 <= count <= topology.ranks:
        raise TopologyError(
            "ranks={count}: {name} has {n} ranks; give 1 to {n}", count=count, name=topology.name, n=topology.ranks
        )
    if count == topology.ranks:
        return np.arange(count)
    nodes, numbers = _list_nodes(topology), _number_gpus(topology)
    return np.sort(np.lexsort((nodes, numbers))[:count])


def read_rank_numbers(ranks: object) -> Longs:
    """Read a list of ranks.

    Args:
        ranks: what a caller gave.

    Returns:
        (ranks,) their numbers; none for what is no flat list of whole numbers.
    """
    # numpy would make a number of True, and refuses lists of different lengths.
    if isinstance(ranks, Sequence) and (
        len(ranks) > _MAX_RANKS or not all(isinstance(r, int | np.integer) and not isinstance(r, bool) for r in ranks)
    ):
        return np.zeros(0, np.int64)
    numbers = np.asarray(ranks)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        return np.zeros(0, np.int64)
    return numbers.astype(np.int64)


def restrict_ranks(topology: Topology, ranks: int | RankSelection | None) -> Topology:
    """The network with the ranks that take part; its other GPUs stay, and may lie on routes.

    Args:
        topology: Where they run.
        ranks: How many, chosen by `select_ranks`; or their numbers in order, of which some may be the same GPU; all
            when None.

    Raises:
        CollsimError: For anything else.
        TopologyError: For more ranks than the topology has.

    Examples:
        >>> import collsim as cs
        >>> from collsim.topology.parts.rank_selection import restrict_ranks
        >>> restrict_ranks(cs.machine("dgx-a100"), [0, 5]).ranks
        2
    """
    if ranks is None:
        return topology
    # A string is a Sequence too, and is left to `parse_count`, which says what is wrong with it.
    if isinstance(ranks, Sequence | np.ndarray) and not isinstance(ranks, str):
        selected = read_rank_numbers(ranks)
        if not len(selected) or selected.min() < 0 or selected.max() >= topology.ranks:
            message = "ranks={value!r} must be ranks of {name}, which has 0 to {last}"
            raise CollsimError(message, value=ranks, name=topology.name, last=topology.ranks - 1)
    else:
        count = parse_count(ranks, "ranks")
        if count > topology.ranks:
            raise TopologyError(
                "{n} ranks do not fit on {name}, which has {ranks}", n=count, name=topology.name, ranks=topology.ranks
            )
        if count == topology.ranks:
            return topology
        selected = select_ranks(topology, count)
    topology = share_gpus(topology, selected)
    devices = topology.endpoint_device[selected]
    return replace(topology, ranks=len(selected), endpoint_device=devices, orders=None)


def describe_ranks(topology: Topology, ranks: Longs) -> Sentence:
    """Say which GPUs of which nodes take part.

    Args:
        topology: Where they run.
        ranks: Their numbers.

    Returns:
        A sentence such as `2 ranks: GPU 0 of each node`.

    Examples:
        >>> import collsim as cs
        >>> from collsim.topology.parts.rank_selection import describe_ranks, select_ranks
        >>> machine = cs.machine("dgx-a100", nodes=2)
        >>> print(describe_ranks(machine, select_ranks(machine, 4)))
        4 ranks: GPUs 0-1 of each node
    """
    count, nodes, numbers = len(ranks), _list_nodes(topology), _number_gpus(topology)
    if count and nodes.max() < 0:
        return format_ranks(ranks.tolist())
    # Counted a node, because people name GPUs by node and number.
    gpus_of_node: dict[int, list[int]] = {}
    for rank in ranks.tolist():
        gpus_of_node.setdefault(int(nodes[rank]), []).append(int(numbers[rank]))
    node_count = len(np.unique(topology.devices.node[_find_gpus(topology)]))
    gpus = [_name_gpus(sorted(numbers)) for numbers in gpus_of_node.values()]
    # Every node alike is the common case and gets the shortest sentence.
    if node_count == len(gpus) > 1 and all(str(name) == str(gpus[0]) for name in gpus):
        return Sentence("{count} ranks: {gpus} of each node", count=count, gpus=gpus[0])
    if count == 1:
        return Sentence("1 rank: {gpus} of node {node}", gpus=gpus[0], node=next(iter(gpus_of_node)))
    # A long list of nodes would hide the answer.
    if len(gpus) > _MAX_NAMED:
        template = "{count} ranks on {nodes} of {all_nodes} nodes"
        return Sentence(template, count=count, nodes=len(gpus), all_nodes=node_count)
    named = [
        Sentence("{gpus} of node {node}", gpus=name, node=node) for node, name in zip(gpus_of_node, gpus, strict=True)
    ]
    return Sentence("{count} ranks: {parts}", count=count, parts=join_words(named))


def _list_nodes(topology: Topology) -> Longs:
    """(ranks,) the node that each rank is on; all on one where the network has none."""
    return topology.devices.node[topology.endpoint_device[: topology.ranks]].astype(np.int64)


def _find_gpus(topology: Topology) -> Bools:
    """(devices,) whether each is a GPU, or another device that is a rank."""
    is_gpu: Bools = topology.devices.kind == DEVICE_KINDS.index("gpu")
    is_gpu[topology.endpoint_device[: topology.ranks]] = True
    return is_gpu


def has_unused_gpus(topology: Topology, count: int) -> bool:
    """Whether a topology has more GPUs than take part.

    Args:
        topology: Where they run; its ranks may be those that take part alone.
        count: Ranks that take part.
    """
    return count < int(_find_gpus(topology).sum())


def _number_gpus(topology: Topology) -> Longs:
    """(ranks,) the number of each rank's GPU among those of its node, from 0, whether or not they all are ranks."""
    numbers = np.zeros(len(topology.devices), np.int64)
    gpus = np.flatnonzero(_find_gpus(topology))
    by_node = gpus[np.argsort(topology.devices.node[gpus], kind="stable")]
    nodes = topology.devices.node[by_node]
    numbers[by_node] = np.arange(len(by_node)) - np.searchsorted(nodes, nodes)
    return numbers[topology.endpoint_device[: topology.ranks]]


def _name_gpus(numbers: list[int]) -> Sentence:
    """`GPU 0`, `GPUs 0-3` or `GPUs 0, 2, 5`."""
    if len(numbers) == 1:
        return Sentence("GPU {number}", number=numbers[0])
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return Sentence("GPUs {first}-{last}", first=numbers[0], last=numbers[-1])
    return Sentence("GPUs {numbers}", numbers=", ".join(map(str, numbers)))
