"""The highest rate of trees, of one allreduce or of several groups at once, by a linear program.

A reduce_scatter and then an allgather give every rank the same share and use the network in one direction of the trees
at a time. On an uneven network that wastes links: where a rank hangs on a slow cable, its share of the buffer crosses
the cable with everybody else's. Here the shares of the roots, and what each pair of ranks spends on reducing and on
broadcasting, are the variables of a linear program (Zhao et al., ForestColl, arXiv 2402.06787, the section on
allreduce): trees of these rates exist exactly if no cut is too narrow for the trees that must cross it (Edmonds 1973).
There are too many cuts to write down, so the program begins with those round single ranks, and a maximum flow for each
rank finds the cuts that its answer breaks, until it breaks none (Dantzig, Fulkerson & Johnson 1954).

Groups that share links are further variables over the same links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...collective import Collective, get_collective
from ...dtypes import Bools, Floats
from ...maxflow import max_flow
from ..pairs.alltoall_rates import Pairs, build_fed_graph

Mask = Bools
MAX_PAIRS_OF_PROGRAM = 12_000  # beyond, the program takes seconds
_UNITS = 2**30  # of the total rate: maximum flows count in whole numbers
_LIMITING = 1e-9  # the price of a group's row from which on it limits the level
_TIGHT = 1e-6  # a cut that lacks less than this part of the total rate is not broken


@dataclass(frozen=True, eq=False)
class TreeRates:
    """What a linear program says about the trees of a collective.

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


@dataclass(frozen=True, eq=False)
class TreeDemand:
    """What a group of ranks asks of the links that it shares with others.

    Attributes:
        pairs: of its ranks; those of all groups have the same links.
        kind: an allreduce, or one of the collectives of `FIXED_ROOTS`.
        root: of the collective, where it has one.
        nbytes: of the operation.
    """

    pairs: Pairs
    kind: Collective
    root: int = 0
    nbytes: float = 1.0

    @property
    def directions(self) -> tuple[bool, ...]:
        """Which trees it needs: True for those that reduce."""
        return tuple(d for d in (True, False) if self.kind.name == "allreduce" or self.kind.reduces is d)


def find_allreduce_rates(pairs: Pairs, report: Callable[[], None] | None = None) -> TreeRates:
    """The shares of the roots and the rates of the pairs for which the trees of an allreduce carry most.

    Args:
        pairs: of ranks.
        report: called between rounds; whatever it raises ends the search.
    """
    return find_joint_rates([TreeDemand(pairs, get_collective("allreduce"))], report)[0]


def find_joint_rates(demands: Sequence[TreeDemand], report: Callable[[], None] | None = None) -> list[TreeRates]:
    """Rates of trees for several groups at once, max-min fair: the rate over the bytes of the slowest is the highest,
    then that of the slowest of those that can still be faster, and so on (Bertsekas & Gallager 1992, section 6.5.2).

    Args:
        demands: of each group.
        report: called between rounds; whatever it raises ends the search.

    Returns:
        The rates of each group.
    """
    program = _Program(demands)
    for number, demand in enumerate(demands):
        for rank in range(demand.pairs.ranks):
            alone = np.arange(demand.pairs.ranks) == rank
            for side in (alone, ~alone):
                for reducing in demand.directions:
                    program.require_cut(number, side, reducing)
    while True:
        answers = program.solve()
        if report is not None:
            report()
        broken = [
            (number, side, reducing)
            for number, (demand, rates) in enumerate(zip(demands, answers, strict=True))
            for reducing in demand.directions
            for side in _find_broken_cuts(demand.pairs, rates, reducing)
        ]
        for number, side, reducing in broken:
            program.require_cut(number, side, reducing)
        if not broken and not program.fix_slowest(answers):
            return answers


class _Program:
    """Its variables are, of each group, the share of each root and two rates of each pair, as parts of the fastest
    link."""

    def __init__(self, demands: Sequence[TreeDemand]):
        # It takes a second to load, and keeps its basis while rows are added. SciPy's HiGHS begins each round anew: the
        # same rates take 2 to 119 times as long.
        from ortools.linear_solver import pywraplp

        links = demands[0].pairs.topology.links
        self.demands = demands
        self.fastest = float(max(links.bandwidth[d.pairs.routes.link].max() for d in demands))
        self.solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self.variables = [
            tuple(
                [self.solver.NumVar(0.0, self.solver.infinity(), "") for _ in range(count)]
                for count in (d.pairs.ranks, len(d.pairs), len(d.pairs))
            )
            for d in demands
        ]
        self._limit_links(links.bandwidth / self.fastest)
        self.level = self.solver.NumVar(0.0, self.solver.infinity(), "")
        self.rows = [self._set_shares(number) for number in range(len(demands))]
        self.free = set(range(len(demands)))
        self.solver.Maximize(self.level)

    def _limit_links(self, bandwidth: Floats) -> None:
        """A link carries the pairs of all groups whose route crosses it, in both parts at the same time."""
        rows: dict[int, Any] = {}
        for demand, (_, *rates) in zip(self.demands, self.variables, strict=True):
            pairs = demand.pairs
            for link, pair in zip(pairs.routes.link.tolist(), pairs.pair_of.tolist(), strict=True):
                if link not in rows:
                    rows[link] = self.solver.Constraint(0.0, float(bandwidth[link]))
                for rate in rates:
                    rows[link].SetCoefficient(rate[pair], 1)

    def _set_shares(self, number: int) -> Any:
        """The shares of one group, as its collective fixes them, and their sum: at least the level that is raised."""
        share, demand = self.variables[number][0], self.demands[number]
        if demand.kind.rooted:
            for rank, variable in enumerate(share):
                if rank != demand.root:
                    variable.SetUb(0.0)
        elif demand.kind.name != "allreduce":  # every rank has as much
            for variable in share[1:]:
                row = self.solver.Constraint(0.0, 0.0)
                row.SetCoefficient(variable, 1)
                row.SetCoefficient(share[0], -1)
        row = self.solver.Constraint(0.0, self.solver.infinity())
        for variable in share:
            row.SetCoefficient(variable, 1)
        row.SetCoefficient(self.level, -demand.nbytes / max(d.nbytes for d in self.demands))
        return row

    def require_cut(self, number: int, side: Mask, reducing: bool) -> None:
        """What crosses between one side and the other must hold all trees with their root on the other.

        Args:
            number: of the group.
            side: (ranks,) on the one side; contributions leave it, or results enter it.
            reducing: which of the two.
        """
        pairs, (share, up, down) = self.demands[number].pairs, self.variables[number]
        if reducing:
            rate, crossing = up, side[pairs.src] & ~side[pairs.dst]
        else:
            rate, crossing = down, ~side[pairs.src] & side[pairs.dst]
        row = self.solver.Constraint(0.0, self.solver.infinity())
        for pair in np.flatnonzero(crossing).tolist():
            row.SetCoefficient(rate[pair], 1)
        for root in np.flatnonzero(~side).tolist():
            row.SetCoefficient(share[root], -1)

    def solve(self) -> list[TreeRates]:
        """The best answer under the cuts so far."""
        status = self.solver.Solve()
        assert status == self.solver.OPTIMAL, status  # shares of 0 satisfy every row, and links bound the best
        return [
            TreeRates(
                *(np.maximum([variable.solution_value() for variable in group], 0.0) * self.fastest for group in groups)
            )
            for groups in self.variables
        ]

    def fix_slowest(self, answers: list[TreeRates]) -> bool:
        """Hold what the groups that limit the level have, and raise the level for the others; False without others."""
        limiting = {number for number in self.free if abs(self.rows[number].dual_value()) > _LIMITING} or self.free
        self.free = self.free - limiting
        for number in limiting:
            self.rows[number].SetCoefficient(self.level, 0)
            self.rows[number].SetLb(answers[number].total / self.fastest * (1 - _TIGHT))
        return bool(self.free)


def _find_broken_cuts(pairs: Pairs, rates: TreeRates, reducing: bool) -> list[Mask]:
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
