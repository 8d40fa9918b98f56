"""The highest rate of an allreduce in which every piece is reduced up one tree and broadcast down another.

A reduce_scatter and then an allgather give every rank the same share and use the network in one direction of the trees
at a time. On an uneven network that wastes links: where a rank hangs on a slow cable, its share of the buffer crosses
the cable with everybody else's. Here the shares of the roots, and what each pair of ranks spends on reducing and on
broadcasting, are the variables of a linear program (Zhao et al., ForestColl, arXiv 2402.06787, the section on
allreduce): trees of these rates exist exactly if no cut is too narrow for the trees that must cross it (Edmonds 1973).
There are too many cuts to write down, so the program begins with those round single ranks, and a maximum flow for each
rank finds the cuts that its answer breaks, until it breaks none (Dantzig, Fulkerson & Johnson 1954).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...maxflow import max_flow
from ..alltoall_rates import Pairs, build_fed_graph

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
MAX_PAIRS_OF_PROGRAM = 12_000  # beyond, the program takes seconds
_UNITS = 2**30  # of the total rate: maximum flows count in whole numbers
_TIGHT = 1e-6  # a cut that lacks less than this part of the total rate is not broken


@dataclass(frozen=True, eq=False)
class AllreduceRates:
    """What a linear program says about the trees of an allreduce.

    Attributes:
        share: (ranks,) B/s of the trees with their root at each rank.
        reducing: (pairs,) B/s that each pair spends on reducing.
        broadcasting: (pairs,) B/s that each pair spends on broadcasting.
    """

    share: Floats
    reducing: Floats
    broadcasting: Floats

    @property
    def total(self) -> float:
        """B/s of the buffer; no trees on these routes carry more."""
        return float(self.share.sum())


def find_allreduce_rates(pairs: Pairs, report: Callable[[], None] | None = None) -> AllreduceRates:
    """The shares of the roots and the rates of the pairs for which the trees carry most.

    Args:
        pairs: of ranks.
        report: called between rounds; whatever it raises ends the search.
    """
    program = _Program(pairs)
    for rank in range(pairs.ranks):
        alone = np.arange(pairs.ranks) == rank
        for side in (alone, ~alone):
            program.require_cut(side, reducing=True)
            program.require_cut(side, reducing=False)
    while True:
        rates = program.solve()
        if report is not None:
            report()
        broken = [(side, reducing) for reducing in (True, False) for side in _find_broken_cuts(pairs, rates, reducing)]
        if not broken:
            return rates
        for side, reducing in broken:
            program.require_cut(side, reducing)


class _Program:
    """Its variables are the share of each root and two rates of each pair, as parts of the fastest link."""

    def __init__(self, pairs: Pairs):
        from ortools.linear_solver import pywraplp  # takes a second to load

        links = pairs.topology.links
        self.pairs, self.fastest = pairs, float(links.bandwidth[pairs.routes.link].max())
        self.solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self.share, self.reducing, self.broadcasting = (
            [self.solver.NumVar(0.0, self.solver.infinity(), "") for _ in range(count)]
            for count in (pairs.ranks, len(pairs), len(pairs))
        )
        # A link carries the pairs whose route crosses it, in both parts at the same time.
        order = np.argsort(pairs.routes.link, kind="stable")
        used, first = np.unique(pairs.routes.link[order], return_index=True)
        for link, crossing in zip(used.tolist(), np.split(pairs.pair_of[order], first[1:]), strict=True):
            row = self.solver.Constraint(0.0, float(links.bandwidth[link]) / self.fastest)
            for pair in crossing.tolist():
                row.SetCoefficient(self.reducing[pair], 1)
                row.SetCoefficient(self.broadcasting[pair], 1)
        self.solver.Maximize(sum(self.share))

    def require_cut(self, side: Mask, reducing: bool) -> None:
        """What crosses between one side and the other must hold all trees with their root on the other.

        Args:
            side: (ranks,) on the one side; contributions leave it, or results enter it.
            reducing: Which of the two.
        """
        src, dst = self.pairs.src, self.pairs.dst
        if reducing:
            rate, crossing = self.reducing, side[src] & ~side[dst]
        else:
            rate, crossing = self.broadcasting, ~side[src] & side[dst]
        row = self.solver.Constraint(0.0, self.solver.infinity())
        for pair in np.flatnonzero(crossing).tolist():
            row.SetCoefficient(rate[pair], 1)
        for root in np.flatnonzero(~side).tolist():
            row.SetCoefficient(self.share[root], -1)

    def solve(self) -> AllreduceRates:
        """The best answer under the cuts so far."""
        status = self.solver.Solve()
        assert status == self.solver.OPTIMAL, status  # shares of 0 satisfy every row, and links bound the best
        answers = (
            np.maximum([variable.solution_value() for variable in group], 0.0) * self.fastest
            for group in (self.share, self.reducing, self.broadcasting)
        )
        return AllreduceRates(*answers)


def _find_broken_cuts(pairs: Pairs, rates: AllreduceRates, reducing: bool) -> list[Mask]:
    """(ranks,) of each cut that is too narrow, the side that lacks something; at most one for each rank."""
    unit = rates.total / _UNITS
    if reducing:
        directed, rate = pairs.reversed, rates.reducing
    else:
        directed, rate = pairs, rates.broadcasting
    need = np.rint(rates.share / unit).astype(np.int64)
    graph, feed = build_fed_graph(directed, np.rint(rate / unit).astype(np.int64))
    graph.capacity[feed] = need
    total = int(need.sum())
    broken: dict[bytes, Mask] = {}
    for sink in range(pairs.ranks):
        flow, side = max_flow(graph, graph.capacity.copy(), pairs.ranks, sink, total)
        if side is not None and flow < total * (1 - _TIGHT):
            lacking = ~side[: pairs.ranks]
            broken[lacking.tobytes()] = lacking
    return list(broken.values())
