"""Which collectives of a run meet: use the same link at the same time. All others take as long as by themselves, and
need not be written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import Floats, Longs
from ..workload.step_graph import TrainingStep
from .link_footprints import Footprint, Footprints

#: Of a collective: the number of its step, and that of its task.
CollectiveId = tuple[int, int]
#: Part of the time of a run by which two may overlap that follow one another: what rounding does.
_TOUCHING = 1e-12


class LinkContention:
    """Where collectives of steps can meet.

    Attributes:
        collectives: all collectives of the steps.
        kinds: number of the kind of each; equal collectives have one.
        footprints: links and bytes of each kind.
    """

    def __init__(self, steps: Sequence[TrainingStep], footprints: Footprints):
        """Find which collectives cross the same links.

        Args:
            steps: The steps of the run.
            footprints: Links of their collectives.
        """
        self.collectives: list[CollectiveId] = [(s, i) for s, step in enumerate(steps) for i in step.collectives]
        self.kinds: list[int] = []
        self.footprints: list[Footprint] = []
        known: dict[int, int] = {}
        for s, i in self.collectives:
            footprint = footprints.get(steps[s], steps[s].tasks[i])
            if id(footprint) not in known:
                known[id(footprint)] = len(self.footprints)
                self.footprints.append(footprint)
            self.kinds.append(known[id(footprint)])
        self._shared_kinds = _find_shared_kinds([footprint.links for footprint in self.footprints])

    def find_permanent(self, background: Longs) -> set[CollectiveId]:
        """Find the collectives that cross a link on which there is always something.

        Groups of one collective that meet each other are in the time that it takes by itself.

        Args:
            background: Numbers of the links that other traffic crosses.

        Returns:
            The collectives.
        """
        met = [bool(np.isin(footprint.links, background).any()) for footprint in self.footprints]
        return {collective for collective, kind in zip(self.collectives, self.kinds, strict=True) if met[kind]}

    def find_overlapping(self, times: Sequence[tuple[Floats, Floats]]) -> set[CollectiveId]:
        """Find the collectives that meet another on a link.

        Args:
            times: Of each step (tasks,) s at which its tasks begin, and end.

        Returns:
            The collectives.
        """
        begin, end = (np.array([times[s][which][i] for s, i in self.collectives]) for which in (0, 1))
        tolerance = _TOUCHING * float(end.max(initial=0.0))
        of_kind = _group_by_kind(self.kinds)
        met = np.zeros(len(self.collectives), bool)
        for kinds in self._shared_kinds:
            tasks = np.concatenate([of_kind[kind] for kind in kinds])
            tasks = tasks[np.argsort(begin[tasks], kind="stable")]
            # In the order in which they begin, one meets an earlier one where it begins before the latest end so far,
            # and a later one where the next begins before its own end: no pairs are listed.
            first, last = begin[tasks], np.maximum.accumulate(end[tasks])
            met[tasks[1:][first[1:] < last[:-1] - tolerance]] = True
            met[tasks[:-1][end[tasks][:-1] > first[1:] + tolerance]] = True
        return {self.collectives[k] for k in np.flatnonzero(met)}


def _group_by_kind(kind: Sequence[int]) -> list[Longs]:
    """Of each kind the numbers that have it."""
    order = np.argsort(kind, kind="stable")
    return np.split(order, np.cumsum(np.bincount(kind))[:-1])


def _find_shared_kinds(links: Sequence[Longs]) -> list[tuple[int, ...]]:
    """The sets of kinds that cross the same link, each once: links of one set are alike."""
    kinds = np.repeat(np.arange(len(links)), [len(crossed) for crossed in links])
    link = np.concatenate([np.zeros(0, np.int64), *links])
    order = np.lexsort((kinds, link))
    cuts = np.flatnonzero(np.diff(link[order])) + 1
    return list({tuple(crossed.tolist()) for crossed in np.split(kinds[order], cuts)} - {()})
