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

import numpy as np

from ...bounds.cuts import find_worst_cut
from ...collective import Collective, get_collective
from ...dtypes import Bools, Floats, Longs
from ...maxflow import max_flow
from ..pairs.alltoall_rates import Pairs, build_fed_graph
from .linear_program import LinearProgram, ProgramSolution, UnsolvedError

Mask = Bools
MAX_PAIRS_OF_PROGRAM = 12_000  # beyond, the program takes minutes
_UNITS = 2**30  # of the total rate: maximum flows count in whole numbers
_LIMITING = 1e-4  # the price of a group's row from which on it limits the level
_SLACK = 1e-4  # of its rate that a group may lose so that few pairs are used
_PRECISION = 1e-7  # of the program, in parts of the narrowest cut
_ROUGH = 1e-3  # of a large program while it lacks cuts: it takes half the steps
_MOST_ROUNDS = 200  # 64 uneven ranks behind switches take about 40
_LARGE = 4_000  # variables, beyond which only those that matter are counted after the first answer of the last program
_NOTHING = 1e-6  # of the narrowest cut: a rate below it is none
_UNEQUAL = 0.1  # at most, of the price of two pairs that are alike
_TIGHT = 1e-5  # a cut that lacks less than this part of the total rate is not broken


@dataclass(frozen=True, eq=False)
class TreeRates:
    """What a linear program says about the trees of a collective.

    Attributes:
        share: (ranks,) B/s of the trees with their root at each rank.
        reducing: (pairs,) B/s that each pair spends on reducing.
        broadcasting: (pairs,) B/s that each pair spends on broadcasting.
        total: B/s of the buffer that no trees on these routes exceed; the shares are less by at most `_SLACK` of it.
    """

    share: Floats
    reducing: Floats
    broadcasting: Floats
    total: float


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

    Raises:
        UnsolvedError: where the program has no answer that is near the best, or too many cuts.
    """
    program = _Program(demands)
    for number, demand in enumerate(demands):
        for rank in range(demand.pairs.ranks):
            alone = np.arange(demand.pairs.ranks) == rank
            for side in (alone, ~alone):
                for reducing in demand.directions:
                    program.require_cut(number, side, reducing)
    at_first = _ROUGH if program.is_large else _PRECISION
    precision = at_first
    for _ in range(_MOST_ROUNDS):
        answers = program.solve(precision)
        if report is not None:
            report()
        broken = [
            (number, side, reducing)
            for number, (demand, rates) in enumerate(zip(demands, answers, strict=True))
            for reducing in demand.directions
            for side in _find_broken_cuts(demand.pairs, rates, reducing)
        ]
        # A cut that is required already lacks no more than a rounding error.
        required = [program.require_cut(*cut) for cut in broken]
        if any(required) or not program.solution.is_best:
            continue
        if precision > _PRECISION:
            precision = _PRECISION
        elif program.advance(answers):
            precision = at_first
        else:
            return answers
    message = "after {rounds} rounds the trees' rates still break cuts; give fewer ranks or fewer groups"
    raise UnsolvedError(message, rounds=_MOST_ROUNDS)


class _Program:
    """Its variables are, of each group, the shares of its roots and two rates of each pair, in parts of the narrowest
    cut."""

    def __init__(self, demands: Sequence[TreeDemand]):
        links = demands[0].pairs.topology.links
        self.demands = demands
        # Trees carry at most what the narrowest cut does, so values in parts of it are near 1. They have one edge less
        # than there are ranks: a faster link than all of them need in both directions changes nothing.
        cuts = np.array([1 / find_worst_cut("flow", d.pairs.topology, d.pairs.ranks)[0] for d in demands])
        self.unit = float(cuts.min())
        most = 2 * cuts @ [d.pairs.ranks for d in demands] / self.unit
        self.program = LinearProgram()
        self.variables = [
            (
                self.program.add_variables(d.pairs.ranks if d.kind.name == "allreduce" else 1),
                self.program.add_variables(len(d.pairs)),
                self.program.add_variables(len(d.pairs)),
            )
            for d in demands
        ]
        self._limit_links(np.minimum(links.bandwidth / self.unit, most))
        self.level = self.program.add_variables(1)
        self.program.objective[self.level] = 1.0
        self.rows = [self._set_shares(number) for number in range(len(demands))]
        self.found: dict[int, float] = {}
        self.near: ProgramSolution | None = None
        self.cuts: set[tuple[int, bytes, bool]] = set()

    @property
    def is_last(self) -> bool:
        """Whether the rates of all groups are known."""
        return len(self.found) == len(self.demands)

    @property
    def is_large(self) -> bool:
        """Whether most of its time would go to variables that are 0 at the end."""
        return len(self.program.objective) > _LARGE

    def _limit_links(self, bandwidth: Floats) -> None:
        """A link carries the pairs of all groups whose route crosses it, in both parts at the same time."""
        link = np.concatenate([d.pairs.routes.link for d in self.demands for _ in range(2)])
        crossing = np.concatenate(
            [
                rates[demand.pairs.pair_of]
                for demand, (_, *both) in zip(self.demands, self.variables, strict=True)
                for rates in both
            ]
        )
        order = np.argsort(link, kind="stable")
        used, first = np.unique(link[order], return_index=True)
        # Links in a row, such as those of a network card, are crossed by the same pairs: the narrowest limits them.
        narrowest: dict[bytes, tuple[float, Longs]] = {}
        for number, pairs in zip(used.tolist(), np.split(crossing[order], first[1:]), strict=True):
            key = pairs.tobytes()
            if key not in narrowest or bandwidth[number] < narrowest[key][0]:
                narrowest[key] = float(bandwidth[number]), pairs
        for limit, pairs in narrowest.values():
            self.program.add_row(pairs, 1.0, limit)

    def _weigh_roots(self, number: int, roots: Mask) -> tuple[Longs, Floats]:
        """The variables of the shares of some ranks, and how many of these ranks each of them stands for."""
        share, demand = self.variables[number][0], self.demands[number]
        if demand.kind.name == "allreduce":
            return share[roots], np.ones(int(roots.sum()))
        if demand.kind.rooted:
            return share, np.array([float(roots[demand.root])])
        return share, np.array([float(roots.sum())])  # every rank has as much

    def _set_shares(self, number: int) -> int:
        """The sum of the shares of a group is at least the level that is raised."""
        demand = self.demands[number]
        share, weight = self._weigh_roots(number, np.ones(demand.pairs.ranks, bool))
        part = demand.nbytes / max(d.nbytes for d in self.demands)
        return self.program.add_row(np.append(share, self.level), np.append(-weight, part))

    def require_cut(self, number: int, side: Mask, reducing: bool) -> bool:
        """What crosses between one side and the other must hold all trees with their root on the other.

        Args:
            number: of the group.
            side: (ranks,) on the one side; contributions leave it, or results enter it.
            reducing: which of the two.

        Returns:
            False for a cut that was required before.
        """
        if (key := (number, side.tobytes(), reducing)) in self.cuts:
            return False
        self.cuts.add(key)
        pairs, (_, up, down) = self.demands[number].pairs, self.variables[number]
        if reducing:
            rate = up[side[pairs.src] & ~side[pairs.dst]]
        else:
            rate = down[~side[pairs.src] & side[pairs.dst]]
        share, weight = self._weigh_roots(number, ~side)
        self.program.add_row(np.append(rate, share), np.append(np.full(len(rate), -1.0), weight))
        return True

    def solve(self, precision: float) -> list[TreeRates]:
        """The best answer under the cuts so far.

        Args:
            precision: of the program, in parts of the narrowest cut.
        """
        self.solution = self.program.solve(precision, self.near)
        if self.is_last and self.is_large:
            self.near = self.solution
        values = np.where(self.solution.values < _NOTHING, 0.0, self.solution.values) * self.unit
        answers = []
        for number, (demand, (_, up, down)) in enumerate(zip(self.demands, self.variables, strict=True)):
            share = np.zeros(demand.pairs.ranks)
            for rank in range(demand.pairs.ranks):
                variables, weight = self._weigh_roots(number, np.arange(demand.pairs.ranks) == rank)
                share[rank] = values[variables] @ weight
            answers.append(TreeRates(share, values[up], values[down], self.found.get(number, float(share.sum()))))
        return answers

    def advance(self, answers: list[TreeRates]) -> bool:
        """Go on to the next program; False after the last one.

        The groups that limit the level keep what they have, and it is raised for the others. When all have their rate,
        the last program keeps links busy for the least time: few pairs with much each divide into whole trees.
        """
        if self.is_last:
            return False
        free = set(range(len(self.demands))) - set(self.found)
        for number in {number for number in free if self.solution.prices[self.rows[number]] > _LIMITING} or free:
            self.found[number] = answers[number].total
            variables, coefficients, _ = self.program.rows[self.rows[number]]
            lowest_total = self.found[number] / self.unit * (1 - _SLACK)
            self.program.rows[self.rows[number]] = variables[:-1], coefficients[:-1], -lowest_total
        if self.is_last:
            self.program.objective[:] = 0.0
            # The best rates spend least time on links. Behind switches many pairs are alike, and few should be used.
            rng = np.random.default_rng(0)
            for demand, (_, *both) in zip(self.demands, self.variables, strict=True):
                pairs, rate = demand.pairs, demand.pairs.topology.links.bandwidth[demand.pairs.routes.link]
                busy = np.bincount(pairs.pair_of, self.unit / rate, len(pairs))
                for rates in both:
                    unequal = _UNEQUAL * rng.random(len(pairs)) * (pairs.routes.hops > 1)
                    self.program.objective[rates] = -busy * (1 + unequal)
        return True


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
