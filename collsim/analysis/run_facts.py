"""Facts of a run that sentences, tables, pictures and questions read: each is computed when it is first read, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import Bools, Longs
from ..errors import CollsimError
from ..registry import find_schedule_algorithm
from ..simulate.concurrent_results import MergedTrace
from ..simulate.run import simulate
from ..verify import CountedReplay
from .moments import Moment, list_moments

if TYPE_CHECKING:
    from ..simulate import Trace
    from ..topology.network import Routes

#: Transfers beyond which a run is not repeated only to say what would change.
MAX_TRANSFERS_RERUN = 200_000


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A run, and what follows from it.

    Whoever shows several things of one run makes one of these and hands it to all of them.

    Attributes:
        trace: The run.

    Examples:
        >>> import collsim as cs
        >>> ring = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
        >>> facts = RunFacts(ring)
        >>> facts.is_right, facts.moments[0].has.tolist()
        (True, [2, 2, 2, 2])
    """

    trace: Trace

    @cached_property
    def parts(self) -> tuple[RunFacts, ...]:
        """Facts of each collective, where several run at once; empty for one alone."""
        if isinstance(self.trace, MergedTrace):
            return tuple(RunFacts(part) for part in self.trace.parts)
        return ()

    # ---- what the schedule does

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """What happens in each step."""
        return self._replayed[0]

    @property
    def is_right(self) -> bool:
        """Does the schedule do what its collective promises?"""
        return self._replayed[1]

    @cached_property
    def _replayed(self) -> tuple[tuple[Moment, ...], bool]:
        """The steps, and whether the schedule is right: both come from one replay."""
        counted = CountedReplay(self.trace.schedule)
        return list_moments(self.trace, counted), counted.is_right

    # ---- who talks to whom, over which links

    @cached_property
    def _pair_numbers(self) -> Longs:
        """A number for each pair of endpoints that ever has a transfer, in rising order."""
        n = self.trace.schedule.endpoints
        parts = [np.unique(p.src.astype(np.int64) * n + p.dst) for p in self.trace.schedule.patterns]
        if not parts:
            return np.zeros(0, np.int64)
        return np.unique(np.concatenate(parts))

    @cached_property
    def pairs(self) -> tuple[Longs, Longs]:
        """(src, dst) of every pair that ever has a transfer, once, ordered by sender."""
        src, dst = np.divmod(self._pair_numbers, self.trace.schedule.endpoints)
        return src, dst

    @cached_property
    def pair_of_transfer(self) -> Longs:
        """(transfers,) position of each transfer's endpoints among `pairs`."""
        rows = self.trace.schedule.transfers
        numbers = rows["src"].astype(np.int64) * self.trace.schedule.endpoints + rows["dst"]
        position: Longs = np.searchsorted(self._pair_numbers, numbers).astype(np.int64)
        return position

    @cached_property
    def pair_routes(self) -> Routes:
        """The route of every pair of `pairs`.

        Raises:
            TopologyError: Where two cannot reach each other.
        """
        src, dst = self.pairs
        return self.trace.topology.routes(self.trace.placement[src], self.trace.placement[dst])

    # ---- what another machine would change, found by running again

    @cached_property
    def hot_link_savings(self) -> tuple[float, float] | None:
        """Part of the time that doubling only the links of the bottleneck saves, and that doubling all others saves.

        None where the bottleneck is no matter of few links among many of one kind, or the run too large to repeat.
        """
        trace, limit = self.trace, self.trace.bottleneck
        if limit is None or len(limit.savings) > 1 or len(trace.schedule) > MAX_TRANSFERS_RERUN:
            return None
        if 3 * len(limit.links) > self.count_used_links(limit.kind):
            return None
        hot = np.zeros(len(trace.topology.links), bool)
        hot[list(limit.links)] = True
        return self._compute_saving(hot), self._compute_saving(~hot)

    def _compute_saving(self, which: Bools) -> float:
        """Part of the time that some links save where they are twice as fast."""
        links = self.trace.topology.links
        bandwidth = np.where(which, 2, 1) * links.bandwidth
        faster = replace(self.trace.topology, links=replace(links, bandwidth=bandwidth))
        return 1 - self.trace.run_again(faster).duration / self.trace.duration

    def count_used_links(self, kind: str) -> int:
        """Links of a kind that carry anything.

        Args:
            kind: Kind of link.
        """
        links = self.trace.topology.links
        return sum(links.kind(i) == kind for i in np.flatnonzero(self.trace.link_bytes > 0).tolist())

    @cached_property
    def channel_savings(self) -> tuple[int, float] | None:
        """As many channels as the machine has rings, and the part of the time that they save.

        None where the algorithm has no channels or uses as many, or where the run cannot be repeated with others.
        """
        trace, schedule, topology = self.trace, self.trace.schedule, self.trace.topology
        entry = find_schedule_algorithm(schedule)
        # Channels beyond the rings of the machine would share links that the first ones fill.
        if topology.orders is None:
            offered = 0
        else:
            offered = len(topology.orders)
        if (
            entry is None
            or "channels" not in entry.options
            or offered <= schedule.channels
            or topology.ranks != schedule.ranks
        ):
            return None
        if len(schedule) * offered > MAX_TRANSFERS_RERUN or trace.rerun is not None:
            return None  # a run with conditions of its own cannot be repeated with another schedule
        options = {**schedule.options, "channels": offered}
        if "topology" in entry.options:
            options["topology"] = topology
        try:
            other = simulate(entry(schedule.ranks, **options), topology, trace.nbytes, trace.dtype, trace.engine)
        except CollsimError:
            return None
        return offered, 1 - other.duration / trace.duration
