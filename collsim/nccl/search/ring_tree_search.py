"""Ring and tree orders of a node, searched as NCCL searches them (src/graph/search.cc, ncclTopoCompute and
ncclTopoSearchRec, in outline).

Channel by channel, each reserving its speed on every directed link that it crosses, at the rates NCCL plans with
(`node_graph`). First every channel in the same order, then each in another; then worse paths between GPUs, worse paths
to the network cards, other cards on the way out (NCCL_CROSS_NIC=2), lower speeds. Kept is what gives most in total,
then the one with fewer links. GPUs are tried in PCI order, then in the order of the channel before, then by the
bandwidth and length of their paths; behind an NVSwitch only neighbours by number.

A ring returns from its last GPU to the first, or to a card. A tree is a chain of the node's GPUs whose links to other
nodes are at its first GPU (TREE), at its second the way out (SPLIT_TREE), or half at each (BALANCED_TREE); it needs
paths back of the same type, and is searched for as many channels as the rings got, at the highest speed at which they
fit. Then its speed inside the node is raised alone.

Left out: the second pass that raises a ring's speed after its channels were doubled, RCCL's own tables, and nodes of
more than 16 GPUs, whose NVSwitches make them regular. A round gets fewer steps than NCCL gives it (2^12 of 2^14), all
rounds together 2^15: a search that runs out keeps the best it has, as NCCL's does. Rounds that could not give more than
the best so far, because GPUs or cards lack the bandwidth, are not run; a round ends when it has as many channels as
there is bandwidth for, where NCCL continues for fewer links. GB/s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from ...topology.machine_builder import LEVELS, LOC, PXN, SYS, Machine
from ...trees import build_node_chains, rename_ranks
from . import constants as c
from .link_capacity import AllowedPaths, LinkCapacity
from .node_graph import NodeGraph, Rules, SearchInput
from .search_round import Channel, GpuRanking, SearchConstraints, SearchRound, Solution, is_better

#: Steps of one round with equal channels, with different ones, and of all rounds.
_STEPS_SAME, _STEPS, _STEPS_ALL = 2**8, 2**12, 2**15
#: Most GPUs of a node that is searched.
MAX_GPUS = 16
_TREES = (c.BALANCED_TREE, c.SPLIT_TREE, c.TREE)


@dataclass(frozen=True)
class Rings:
    """The rings that the search found on a node.

    Attributes:
        channels: the channels, each a ring.
        speed: GB/s of each channel.
        type_intra: the worst path type between GPUs of any channel, as in nvidia-smi and NCCL.
        type_inter: the worst path type between a GPU and a card.
        same_channels: all channels visit the GPUs in one order.
        cross_nic: 0, every channel leaves by the card it enters by; 1, by any; 2, in pairs of channels that are each
            other's way back.

    Examples:
        >>> import collsim as cs
        >>> rings = cs.nccl.search_graphs(cs.machine("dgx-a100")).rings
        >>> len(rings.channels), rings.speed
        (6, 40.0)
    """

    channels: tuple[Channel, ...]
    speed: float
    type_intra: str
    type_inter: str
    same_channels: bool
    cross_nic: int

    @property
    def total_speed(self) -> float:
        """GB/s of all channels together."""
        return len(self.channels) * self.speed

    @property
    def has_swapped_pairs(self) -> bool:
        """Whether pairs of channels swap their ways through every other node."""
        return self.cross_nic == 2 and len(self.channels) % 2 == 0

    def build_orders(self, nodes: int) -> npt.NDArray[np.int32]:
        """Build the rings over several nodes like this one.

        Args:
            nodes: how many nodes.

        Returns:
            (channels, ranks): the order in which each ring visits the ranks.
        """
        return build_rank_orders(self.channels, nodes, self.has_swapped_pairs)

    def list_numbers(self, channels: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """List whose ways through nodes channels take.

        Args:
            channels: (n,) numbers of channels.
            nodes: (n,) numbers of nodes.

        Returns:
            (n,): numbers of channels, others where pairs are swapped.
        """
        if not self.has_swapped_pairs:
            return channels
        return channels ^ (nodes % 2)

    def count_crossings(self, nodes: int) -> int:
        """Count the hops between nodes, one per channel and node, that end at another card than they began at: on rails
        they change rail.

        Pairs of channels are swapped on every other node to avoid that (src/graph/connect.cc, ncclTopoPostset).

        Args:
            nodes: how many nodes like this one.

        Returns:
            Hops that change the card.
        """
        if nodes < 2:
            return 0
        numbers = range(len(self.channels))
        by_node = [
            [self.channels[_swap_number(k, node, self.has_swapped_pairs)] for k in numbers] for node in range(nodes)
        ]
        return sum(
            by_node[node][k].exit_card != by_node[(node + 1) % nodes][k].entry_card
            for node in range(nodes)
            for k in numbers
        )


def _swap_number(channel: int, node: int, has_swapped_pairs: bool) -> int:
    """The channel whose way through a node this channel takes."""
    if has_swapped_pairs and node % 2:
        return channel ^ 1
    return channel


@dataclass(frozen=True)
class Trees:
    """The trees inside a node that the search found.

    Attributes:
        channels: each a chain, from the GPU at which the parent's node is reached.
        speed_intra: GB/s of each channel in the node.
        speed_inter: GB/s of each channel between nodes.
        type_intra: as in `Rings`.
        type_inter: as in `Rings`.
        same_channels: as in `Rings`.
        cross_nic: as in `Rings`.
        pattern: `constants.BALANCED_TREE`, `SPLIT_TREE` or `TREE`, which says to which GPUs of the chain other nodes
            are joined.

    Examples:
        >>> import collsim as cs
        >>> cs.nccl.search_graphs(cs.machine("dgx-a100", nodes=2)).trees.speed_intra
        30.0
    """

    channels: tuple[Channel, ...]
    speed_intra: float
    speed_inter: float
    type_intra: str
    type_inter: str
    same_channels: bool
    cross_nic: int
    pattern: int

    @property
    def shape(self) -> str:
        """The pattern in the words of `allreduce_double_binary_tree`."""
        return SHAPES[self.pattern]

    def build_parents(self, nodes: int) -> tuple[tuple[int, ...], ...]:
        """Build the tree of each running channel over several nodes like this one.

        As `Trees [0] ...` in NCCL's INFO log: every channel has one tree of the double binary tree, its copy in the
        second half of the channels the other (src/graph/connect.cc, connectTrees).

        Args:
            nodes: how many nodes.

        Returns:
            For each channel the parent of every rank, -1 for the root.
        """
        local_ranks = len(self.channels[0].gpus)
        pair = build_node_chains(nodes * local_ranks, local_ranks * np.arange(nodes), self.shape)
        return tuple(
            tuple(rename_ranks(tree, order).tolist())
            for tree in pair
            for order in build_rank_orders(self.channels, nodes)
        )


#: Tree patterns in the words of `allreduce_double_binary_tree`.
SHAPES = {c.BALANCED_TREE: "balanced", c.SPLIT_TREE: "split", c.TREE: "tree"}


def build_rank_orders(
    channels: tuple[Channel, ...], nodes: int, has_swapped_pairs: bool = False
) -> npt.NDArray[np.int32]:
    """Build the orders of channels over several nodes.

    Args:
        channels: channels through one node.
        nodes: how many nodes like it.
        has_swapped_pairs: whether pairs of channels swap on every other node.

    Returns:
        (channels, ranks): GPUs in the order of each channel, node after node.
    """
    numbers = range(len(channels))
    return join_node_orders(
        [[channels[_swap_number(k, node, has_swapped_pairs)] for k in numbers] for node in range(nodes)]
    )


def join_node_orders(by_node: Sequence[Sequence[Channel]]) -> npt.NDArray[np.int32]:
    """Join the ways of channels through nodes, which may have different numbers of GPUs.

    Args:
        by_node: channels through each node; those that not all nodes have are left out.

    Returns:
        (channels, ranks): GPUs in the order of each channel, node after node.
    """
    offsets = np.cumsum([0, *(len(channels[0].gpus) for channels in by_node)])
    return np.array(
        [
            np.concatenate([np.array(channel.gpus) + offset for channel, offset in zip(ways, offsets, strict=False)])
            for ways in zip(*by_node, strict=False)
        ],
        np.int32,
    )


def duplicate_channels(channels: int, speed: float, cc: int) -> tuple[int, float]:
    """Cut fast channels in two slower ones (search.cc, ncclTopoDupChannels).

    Args:
        channels: how many the search found.
        speed: GB/s of each.
        cc: compute capability of the GPUs.

    Returns:
        Channels, and GB/s of each.
    """
    if speed < c.DUPLICATED or (cc > 80 and speed < c.DUPLICATED_FAST and channels > c.DUPLICATED_FEW):
        return channels, speed
    count = min(2 * channels, c.SEARCH_CHANNELS // 2)
    return count, speed / -(-count // channels)


def search_rings(machine: Machine, gpus: int, card_rates: tuple[float, ...], rules: Rules) -> Rings:
    """Search the rings of one node.

    Args:
        machine: the node's devices and cables; the cables' `effective` rates are NCCL's.
        gpus: how many of its GPUs take part, the first ones.
        card_rates: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.
        rules: what NCCL may do.

    Returns:
        The rings; where none is found one channel in plain order at 0.1 GB/s and type SYS, as in NCCL.
    """
    return _search_rings(SearchInput.from_machine(machine, gpus, card_rates, rules))


def search_trees(machine: Machine, gpus: int, card_rates: tuple[float, ...], rules: Rules, channels: int) -> Trees:
    """Search the trees of one node.

    Args:
        machine: the node's devices and cables; the cables' `effective` rates are NCCL's.
        gpus: how many of its GPUs take part, the first ones.
        card_rates: B/s of each network card, one direction; empty where there is one node, 0 for a card that failed.
        rules: what NCCL may do.
        channels: as many as the node's rings have once duplicated.

    Returns:
        The trees; where none is found one channel as of `search_rings`.
    """
    return _search_trees(SearchInput.from_machine(machine, gpus, card_rates, rules), channels)


@lru_cache(maxsize=256)
def _search_rings(search_input: SearchInput) -> Rings:
    node = search_input.build_node_graph()
    solution = _find_most_rings(_Rounds(node))
    if solution is None:
        return Rings((_build_plain_channel(node),), c.LAST_RESORT, "SYS", "SYS", True, 0)
    constraints = solution.constraints
    types = _name_types(node, constraints)
    return Rings(solution.channels, solution.intra_speed, *types, constraints.same_order, constraints.cross_nic)


@lru_cache(maxsize=256)
def _search_trees(search_input: SearchInput, channels: int) -> Trees:
    node = search_input.build_node_graph()
    rounds = _Rounds(node)
    solution = _find_fastest_trees(rounds, channels)
    if solution is None:
        plain, speed = _build_plain_channel(node), c.LAST_RESORT
        return Trees((plain,), speed, speed, "SYS", "SYS", True, 0, _list_tree_patterns(node)[0])
    solution = _raise_intra_speed(rounds, solution)
    speeds, constraints = (solution.intra_speed, solution.inter_speed), solution.constraints
    types = _name_types(node, constraints)
    return Trees(solution.channels, *speeds, *types, constraints.same_order, constraints.cross_nic, constraints.pattern)


def _build_plain_channel(node: NodeGraph) -> Channel:
    gpus = tuple(range(len(node.gpus)))
    if node.cards:
        return Channel(gpus, node.cards[0], node.cards[0])
    return Channel(gpus)


def _name_types(node: NodeGraph, constraints: SearchConstraints) -> tuple[str, str]:
    """Path types as NCCL prints them."""
    return LEVELS[constraints.intra_type], LEVELS[constraints.inter_type] if node.cards else "LOC"


@dataclass(frozen=True)
class _UnfilledRound:
    """The result of a round that did not get all channels.

    Attributes:
        steps: what it took.
        channels: the most channels that were at hand.
        links: links that they crossed.
    """

    steps: int
    channels: int
    links: int


class _Rounds:
    """The rounds of one search of a node: what they share is computed once, and of those that would go the same way
    one is run."""

    def __init__(self, node: NodeGraph):
        self.node = node
        self._build_capacity = cache(lambda *speeds: LinkCapacity(node, *speeds))
        self._build_allowed = cache(lambda speeds, types: AllowedPaths(self._build_capacity(*speeds), *types))
        self._build_ranking = cache(lambda pattern: GpuRanking(node, pattern))
        self._gpu_types = {path.type for path in node.gpu_to_gpu.values()}
        self._card_types = {path.type for path in (*node.gpu_to_card.values(), *node.card_to_gpu.values())}
        self._unfilled_rounds: dict[tuple[object, ...], _UnfilledRound] = {}

    def search(
        self,
        constraints: SearchConstraints,
        intra_speed: float,
        inter_speed: float,
        best: Solution | None,
        min_channels: int,
        max_channels: int,
    ) -> tuple[Solution | None, int]:
        """The solution of a round, `best` where that is not surpassed, and the steps it took."""
        allowed = self._find_allowed_paths(constraints, intra_speed, inter_speed, max_channels)
        # A round that did not get all channels goes the same way for whoever asks with the same paths and limits; it
        # is repeated only where what it reached would now count as better.
        key = allowed.cache_key, constraints.cross_nic, constraints.pattern, constraints.same_order, max_channels
        earlier = self._unfilled_rounds.get(key)
        if earlier and not (
            earlier.channels >= min_channels
            and is_better(earlier.channels, earlier.links, intra_speed, constraints, best)
        ):
            return best, earlier.steps
        steps, ranking = _STEPS_SAME if constraints.same_order else _STEPS, self._build_ranking(constraints.pattern)
        search_round = SearchRound(self.node, constraints, allowed, ranking, best, steps, min_channels, max_channels)
        search_round.search()
        steps_taken = steps - max(search_round.steps_left, 0)
        if not search_round.is_full:
            channels, minus_links = search_round.most_reached
            self._unfilled_rounds[key] = _UnfilledRound(steps_taken, channels, -minus_links)
        return search_round.best_solution, steps_taken

    def _find_allowed_paths(
        self, constraints: SearchConstraints, intra_speed: float, inter_speed: float, channels: int
    ) -> AllowedPaths:
        """The paths for so many channels of these speeds. Types that no path has are as the next better one."""
        types = (
            max((path_type for path_type in self._gpu_types if path_type <= constraints.intra_type), default=-1),
            max((path_type for path_type in self._card_types if path_type <= constraints.inter_type), default=-1),
            constraints.pattern in _TREES,
        )
        speeds = intra_speed, inter_speed, channels, constraints.pattern == c.BALANCED_TREE
        allowed: AllowedPaths = self._build_allowed(speeds, types)
        return allowed


def _find_most_rings(rounds: _Rounds) -> Solution | None:
    """Rounds from the fastest speed and the best paths to slower and worse ones, until the total cannot grow."""
    node, limit = rounds.node, rounds.node.best_gpu_bandwidth
    best, steps_left = None, _STEPS_ALL
    for speed in _list_speeds(node, limit):
        if best is not None and speed / best.intra_speed <= c.SLOWER_SPEED:
            break
        for constraints in _list_constraints(node, (c.RING,)):
            if best is not None and not _is_worth_trying(best, constraints):
                continue
            max_channels, best_total = _count_ring_channels(node, speed, constraints.intra_type), 0.0
            if best is not None:
                best_total = best.total_speed
            # Even with all channels this speed would not surpass what is at hand; 1e-6 GB/s is rounding.
            if max_channels * speed <= best_total + 1e-6:
                continue
            best, steps_taken = rounds.search(constraints, speed, speed, best, 1, max_channels)
            # NCCL gives up after so many steps of all rounds together, so steps are counted as it does.
            steps_left -= steps_taken
            if best and (best.total_speed >= limit - 1e-6 or steps_left < 0):
                return best
    return best


def _find_fastest_trees(rounds: _Rounds, channels: int) -> Solution | None:
    """The first round that gets all channels."""
    node, gpus = rounds.node, len(rounds.node.gpus)
    limit = node.best_gpu_bandwidth
    if gpus > 1:  # a chain leaves one link less per channel than a ring
        limit *= gpus / (gpus - 1)
    for speed in _list_speeds(node, limit / channels):
        for constraints in _list_constraints(node, _list_tree_patterns(node)):
            if not _has_entry_bandwidth(node, channels, speed, constraints.inter_type):
                continue
            if not _has_chain_bandwidth(node, channels, speed, constraints.intra_type):
                continue
            solution, _ = rounds.search(constraints, speed, speed, None, channels, channels)
            if solution:
                return solution
    return None


def _raise_intra_speed(rounds: _Rounds, solution: Solution) -> Solution:
    """The same channels with more inside the node, while that is less than twice what they have between nodes."""
    node, count, constraints = rounds.node, len(solution.channels), solution.constraints
    speeds = c.get_speeds(node.machine.sm, 2 if node.cards else 1)
    for speed in speeds[: speeds.index(solution.inter_speed)][::-1]:
        if solution.intra_speed >= 2 * solution.inter_speed:
            break
        if not _has_chain_bandwidth(node, count, speed, constraints.intra_type):
            break
        faster, _ = rounds.search(constraints, speed, solution.inter_speed, solution, count, count)
        if faster is solution or faster is None:
            break
        solution = faster
    return solution


def _list_speeds(node: NodeGraph, limit: float) -> Iterator[float]:
    """Speeds of the table that the fastest path and the limit allow, GB/s, fastest first."""
    paths = list(node.gpu_to_gpu.values())
    if node.cards:
        paths = [*node.gpu_to_card.values(), *node.card_to_gpu.values()]
    fastest = max((path.bandwidth for path in paths), default=0.0)
    speeds = c.get_speeds(node.machine.sm, 2 if node.cards else 1)
    return (speed for speed in speeds if speed <= fastest + 1e-6 and speed <= limit + 1e-6)


def _list_tree_patterns(node: NodeGraph) -> tuple[int, ...]:
    """Tree patterns that NCCL tries here, in its order."""
    if len(node.gpus) == 1:
        return (c.TREE,)
    if node.machine.sm < 80:
        return (c.SPLIT_TREE,)
    if node.machine.sm >= 90:
        return (c.BALANCED_TREE, c.TREE)
    return (c.BALANCED_TREE,)


def _count_ring_channels(node: NodeGraph, speed: float, intra_type: int) -> int:
    """Most rings of a speed for which GPUs have links and cards have ports."""
    out = [node.count_link_channels(gpu, speed, intra_type)[0] for gpu in range(len(node.gpus))]
    if not node.cards:
        return min(c.SEARCH_CHANNELS, *out)
    ports = _count_port_channels(node, speed, node.cards)
    hops = ports
    if len(out) > 1:
        hops = sum(out) // (len(out) - 1)
    return min(c.SEARCH_CHANNELS, ports, hops)


def _count_port_channels(node: NodeGraph, speed: float, cards: Collection[int]) -> int:
    """Channels of a speed that these cards carry."""
    first_port = len(node.machine.connections)
    return sum(int(node.link_bandwidth[2 * (first_port + card)] / speed + 1e-6) for card in cards)


def _has_entry_bandwidth(node: NodeGraph, channels: int, speed: float, inter_type: int) -> bool:
    """Whether so many channels of a speed can enter the node: at the cards near enough to a GPU, and at the slots of
    such GPUs."""
    if not node.cards:
        return True
    near = [ends for ends, path in node.card_to_gpu.items() if path.type <= inter_type]
    ports = _count_port_channels(node, speed, {card for card, _ in near})
    slots = sum(node.count_slot_channels(gpu, speed) for gpu in {gpu for _, gpu in near})
    return min(ports, slots) >= channels


def _has_chain_bandwidth(node: NodeGraph, channels: int, speed: float, intra_type: int) -> bool:
    """Whether GPUs have the links for so many chains: all but the last send, and all but the first receive."""
    by_gpu = [node.count_link_channels(gpu, speed, intra_type) for gpu in range(len(node.gpus))]
    needed = channels * (len(by_gpu) - 1)
    return all(sum(min(channels, counts[direction]) for counts in by_gpu) >= needed for direction in (0, 1))


def _list_constraints(node: NodeGraph, patterns: tuple[int, ...]) -> Iterator[SearchConstraints]:
    """What rounds allow, in NCCL's order."""
    gpu_types = [path.type for path in node.gpu_to_gpu.values()] or [LOC]
    card_types = [path.type for path in (*node.gpu_to_card.values(), *node.card_to_gpu.values())] or [LOC]
    best, worst = min(gpu_types), max(gpu_types)
    for cross_nic in _list_crossings(node, patterns[0]):
        for inter_type in range(min(card_types), max(card_types) + 1):
            last = worst
            if node.cards:
                last = max(best, min(inter_type, worst))
            for intra_type in range(best, last + 1):
                for pattern in patterns:
                    yield SearchConstraints(cross_nic, inter_type, intra_type, pattern, True)
                    if node.rules.cpu != "amd" or intra_type != SYS:
                        yield SearchConstraints(cross_nic, inter_type, intra_type, pattern, False)


def _list_crossings(node: NodeGraph, pattern: int) -> tuple[int, ...]:
    """The values of `SearchConstraints.cross_nic` to try, in NCCL's order."""
    if node.rules.cross_nic == 1 and pattern != c.TREE:
        return (1,)
    has_pairs = node.rules.cross_nic == 2 and len(node.cards) > 1 and pattern in (c.RING, c.BALANCED_TREE)
    if has_pairs:
        return (0, 2)
    return (0,)


def _is_worth_trying(best: Solution, constraints: SearchConstraints) -> bool:
    """With a solution at hand, no worse paths are tried than it has (to cards at least up to PXN)."""
    if constraints.intra_type > best.constraints.intra_type:
        return False
    return constraints.inter_type <= max(PXN, best.constraints.inter_type)
