"""Several process groups at the same time: each gets its share of every link, and a schedule for that share.

Groups of one machine (tensor, data and expert parallelism) run their collectives at the same time and meet on links,
whether or not they have a rank in common. PCCL (Won et al., arXiv 2606.07019) synthesizes them together. Here a
linear program divides the links max-min fairly (`tree_packing.tree_rates`), and each group is synthesized for the
network that is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..collective import Collective, get_collective
from ..display.progress import open_progress
from ..dtypes import Floats
from ..errors import CollsimError
from ..errors.arguments import check_arguments
from ..schedule import Schedule
from ..simulate import simulate
from ..simulate.concurrent_results import ConcurrentTrace
from ..topology import Topology
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, parse_bytes
from .pairs import optional_solver, search_phases
from .pairs.alltoall_rates import find_pairs
from .synthesizer import Effort, SearchProgress, parse_ranks, synthesize
from .tree_packing.forests import FORESTS
from .tree_packing.tree_rates import MAX_PAIRS_OF_PROGRAM, TreeDemand, TreeRates, find_joint_rates

_MAX_GROUPS = 256
_LEAST = 1e-6  # of its bandwidth that each group keeps of every link


@dataclass(frozen=True, eq=False)
class GroupSchedules:
    """Schedules of several groups that run at the same time.

    Attributes:
        topology: what they share.
        groups: the ranks of each group.
        schedules: one for each group, verified.
        sizes: bytes of each operation.
        rates: B/s of its buffer that trees of each group can carry while the others run, max-min fair.

    Examples:
        >>> import collsim as cs
        >>> both = cs.synthesis.synthesize_groups("allgather", cs.topology.ring(4), [[0, 1], [2, 3]], "64MiB")
        >>> both.schedules[0].ranks
        2
        >>> both.simulate().time >= both.bound
        True
    """

    topology: Topology
    groups: tuple[tuple[int, ...], ...]
    schedules: tuple[Schedule, ...]
    sizes: tuple[int, ...]
    rates: tuple[float, ...]

    @property
    def bound(self) -> float:
        """Seconds before which no trees on these routes can have ended the operations of all groups."""
        return max(size / rate for size, rate in zip(self.sizes, self.rates, strict=True))

    def simulate(self) -> ConcurrentTrace:
        """Run all of them at the same time on the event engine; `whole` of the result is one run of one schedule."""
        groups = [list(group) for group in self.groups]
        trace = simulate(list(self.schedules), self.topology, list(self.sizes), ranks=groups, engine="event")
        assert isinstance(trace, ConcurrentTrace)
        return trace


@check_arguments
def synthesize_groups(
    collective: str | Collective,
    topology: TopologyLike,
    groups: Sequence[Sequence[int]],
    nbytes: ByteSize | Sequence[ByteSize] = "1GiB",
    effort: Effort = "normal",
    *,
    roots: Sequence[int] | None = None,
    progress: SearchProgress | bool | None = None,
) -> GroupSchedules:
    """Synthesize a collective for several groups of ranks that run it at the same time.

    Args:
        collective: a collective that trees make: allgather, reduce_scatter, allreduce, broadcast or reduce.
        topology: the machine or network.
        groups: the ranks of each group, `[[0, 1], [2, 3]]`; a rank may be in several.
        nbytes: of each operation, or one size for all.
        effort: how long to search for each.
        roots: of each group, its number in the group; 0 unless given.
        progress: as `synthesize` takes it.

    Returns:
        A schedule for each, and the bound of all together.

    Raises:
        CollsimError: for another collective, no groups, a group of fewer than two ranks, without OR-Tools, and for
            groups that are too large for the linear program.
        TopologyError: where ranks of a group cannot reach each other.

    Examples:
        >>> import collsim as cs
        >>> both = cs.synthesis.synthesize_groups("broadcast", cs.topology.ring(4), [[0, 1, 2], [2, 3, 0]])
        >>> [schedule.ranks for schedule in both.schedules]
        [3, 3]
    """
    optional_solver.require_solver()
    kind = collective
    if not isinstance(kind, Collective):
        kind = get_collective(kind)
    if kind.name not in FORESTS:
        message = "groups can be synthesized for {known}; got {name!r}"
        raise CollsimError(message, known=", ".join(FORESTS), name=kind.name)
    topology = resolve_topology(topology, "synthesize_groups")
    groups = _parse_groups(groups)
    sizes = tuple(parse_bytes(size) for size in _spread("nbytes", nbytes, len(groups)))
    root_of = _spread("roots", 0 if roots is None else roots, len(groups))
    demands = []
    for group, size, root in zip(groups, sizes, root_of, strict=True):
        network, root_rank = parse_ranks(topology, list(group), root)
        demands.append(TreeDemand(find_pairs(network, network.ranks), kind, root_rank, max(1, size)))
    if (count := sum(len(demand.pairs) for demand in demands)) > MAX_PAIRS_OF_PROGRAM:
        message = "the groups have {count:,} pairs of ranks, more than {most:,}; give fewer or smaller groups"
        raise CollsimError(message, count=count, most=MAX_PAIRS_OF_PROGRAM)
    with open_progress(progress, "parts", "done", "in_all", "what") as tell:
        tick = search_phases.tick_in(tell, search_phases.RATES, 1 + len(groups))
        rates = find_joint_rates(demands, tick)
        parts = _divide_links(topology, demands, rates)
        schedules = []
        for number, (group, demand, size) in enumerate(zip(groups, demands, sizes, strict=True)):
            if tell is not None:
                tell(1 + number, 1 + len(groups), search_phases.TREES)
            links = replace(topology.links, bandwidth=parts[number])
            network = replace(topology, links=links)
            schedules.append(
                synthesize(kind, network, size, effort, ranks=list(group), root=demand.root, method="trees")
            )
    return GroupSchedules(topology, groups, tuple(schedules), sizes, tuple(rate.total for rate in rates))


def _parse_groups(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Groups as tuples. Raises CollsimError for anything that is not a list of lists."""
    is_list = isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str)
    if not is_list or not all(
        isinstance(group, Sequence | np.ndarray) and not isinstance(group, str) for group in groups
    ):
        message = "groups={groups!r} must be lists of ranks, for example [[0, 1], [2, 3]]"
        raise CollsimError(message, groups=groups)
    if not 1 <= len(groups) <= _MAX_GROUPS:
        message = "{count} groups: give 1 to {most}"
        raise CollsimError(message, count=len(groups), most=_MAX_GROUPS)
    return tuple(tuple(group) for group in groups)


def _spread(name: str, value: object, count: int) -> list[object]:
    """One value for each group. Raises CollsimError for a list of another length."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [value] * count
    if len(value) != count:
        message = "{name} has {values} values for {count} groups"
        raise CollsimError(message, name=name, values=len(value), count=count)
    return list(value)


def _divide_links(topology: Topology, demands: Sequence[TreeDemand], rates: Sequence[TreeRates]) -> list[Floats]:
    """(links,) B/s of each group: links are divided as the program uses them, and unused ones evenly."""
    bandwidth = topology.links.bandwidth
    used = [
        np.bincount(
            demand.pairs.routes.link,
            weights=(rate.reducing + rate.broadcasting)[demand.pairs.pair_of],
            minlength=len(bandwidth),
        )
        for demand, rate in zip(demands, rates, strict=True)
    ]
    total = np.sum(used, axis=0)
    # What a group does not use stays a link of it, so that its routes and cuts remain defined.
    even = 1 / len(used)
    return [
        bandwidth * np.maximum(np.divide(part, total, out=np.full_like(total, even), where=total > 0), _LEAST)
        for part in used
    ]
