"""Bandwidth: the schedule that keeps the narrowest cut busy all the time, by packing spanning trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...bounds.cuts import find_worst_cut
from ...collective import Collective
from ...errors import CollsimError
from ...schedule import Schedule, freeze
from ...steps import Step
from ...topology import Topology
from ..pairs import optional_solver, search_phases
from ..pairs.alltoall_rates import Pairs, find_highest_rate, find_pairs, find_rates
from .allreduce_trees import plan_allreduce_trees, yield_allreduce
from .lane_order import order_by_lane, schedule_rounds
from .packing import pack
from .pipelined import Forest, build_forest, choose_pieces, pipeline_trees
from .tree_rates import MAX_PAIRS_OF_PROGRAM, find_allreduce_rates
from .whole_trees import find_whole_trees

FORESTS = ("allgather", "reduce_scatter", "broadcast", "reduce", "allreduce")
_GAIN = 1.005  # times the rate of a reduce_scatter and an allgather, for which one pass is worth its longer pipeline
ROUNDS = -1  # in place of lanes: rounds of nodes
#: Per effort: trees per share; what part of the optimum is enough; rows of a schedule.
EFFORT = {"low": (4, 0.97, 200_000), "normal": (16, 0.995, 500_000), "high": (64, 0.9995, 8_000_000)}


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """One forest, or the two of an allreduce: a reduce_scatter and then an allgather, or both in one pass.

    Attributes:
        forests: in the order in which they run.
        shares: into which the buffer is cut, one for each rank that has trees; 1 where roots have unequal shares.
        rate: B/s per share that the forests carry.
        most: B/s per share that no cut and no route allows to exceed; in one pass, that no trees on these routes
            exceed.
        in_one_pass: does the second forest carry a piece as soon as the first has reduced it?
    """

    forests: tuple[Forest, ...]
    shares: int
    rate: float
    most: float
    in_one_pass: bool = False

    @property
    def trees(self) -> int:
        """Trees per share that both forests of an allreduce can be cut into."""
        return int(np.lcm.reduce([f.trees for f in self.forests]))

    @property
    def rows(self) -> int:
        """Transfers of a schedule in which the share of each tree is one piece."""
        return sum(len(f.src) * self.trees // f.trees for f in self.forests)


def plan_forests(
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    effort: str,
    report: Callable[..., None] | None,
    finer: bool = False,
) -> ForestPlan:
    """The trees of a collective.

    Args:
        kind: the collective.
        topology: the network.
        ranks: so many, the first of the topology.
        root: of the collective, where it has one.
        effort: how long to search.
        report: called with (trees finished, in all, what).
        finer: as many trees as the highest effort has.
    """
    pairs = find_pairs(topology, ranks)
    if kind.name == "allreduce" and (plan := _plan_one_pass(pairs, "high" if finer else effort, report)) is not None:
        return plan
    reversals = {
        "allgather": [False],
        "reduce_scatter": [True],
        "broadcast": [False],
        "reduce": [True],
        "allreduce": [True, False],
    }[kind.name]
    if kind.rooted:
        tree_root = root
    else:
        tree_root = None
    planned = [_plan_forest(pairs, tree_root, reverse, "high" if finer else effort, report) for reverse in reversals]
    # Forests run one after the other: seconds for each byte add up, and the rate is one over their sum.
    times = sum(1 / reached for _, reached, _ in planned), sum(1 / most for _, _, most in planned)
    return ForestPlan(tuple(f for f, _, _ in planned), 1 if kind.rooted else ranks, 1 / times[0], 1 / times[1])


def _plan_one_pass(pairs: Pairs, effort: str, report: Callable[..., None] | None) -> ForestPlan | None:
    """The trees of an allreduce in one pass; None where a reduce_scatter and an allgather allow as much."""
    if not optional_solver.is_installed() or len(pairs) > MAX_PAIRS_OF_PROGRAM:
        return None
    flow, _ = find_worst_cut("flow", pairs.topology, pairs.ranks)
    apart = 1 / sum(1 / find_highest_rate(pairs, None, reverse) for reverse in (True, False)) * pairs.ranks
    # No trees carry more than the narrowest cut: where that is no gain the program need not be solved.
    if flow >= 1 / (_GAIN * apart):
        return None
    tick = search_phases.tick_in(report, search_phases.RATES)
    rates = find_allreduce_rates(pairs, tick)
    if rates.total <= _GAIN * apart:
        return None
    most_trees, enough, _ = EFFORT[effort]
    count = search_phases.count_in(report, search_phases.TREES)
    forests = plan_allreduce_trees(pairs, rates, most_trees * pairs.ranks, enough, count)
    return ForestPlan(forests, 1, forests[0].trees * forests[0].rate, rates.total, in_one_pass=True)


def _plan_forest(
    pairs: Pairs, root: int | None, reverse: bool, effort: str, report: Callable[..., None] | None
) -> tuple[Forest, float, float]:
    most_trees, enough, _ = EFFORT[effort]
    # Trees that reduce are trees that broadcast on the reversed network, read backwards.
    directed, phase = pairs, search_phases.TREES
    if reverse:
        directed, phase = pairs.reversed, search_phases.REDUCING_TREES
    tick = search_phases.tick_in(report, search_phases.RATES)
    rate, value = find_rates(pairs, root, reverse, tick)
    if value <= 0:
        raise CollsimError("{name}: no rates between its ranks let all of them be reached", name=pairs.topology.name)
    # Rates are fractions; whole trees need whole capacities, at a small loss that `effort` limits.
    whole_trees = find_whole_trees(directed, rate, value, root, most_trees, enough)
    need = np.zeros(pairs.ranks, np.int64)
    need[slice(None) if root is None else root] = whole_trees.trees
    count = search_phases.count_in(report, phase)
    trees = pack(pairs.ranks, directed.src, directed.dst, whole_trees.capacity, need, count)
    return (
        build_forest(trees, whole_trees.trees, whole_trees.rate, directed, reverse),
        whole_trees.trees * whole_trees.rate,
        find_highest_rate(pairs, root, reverse),
    )


def count_pieces(plan: ForestPlan, nbytes: int, effort: str) -> int:
    """Into how many pieces the share of each tree is cut so that an operation takes least time, as far as rows allow.

    Args:
        plan: the forests.
        nbytes: of the operation.
        effort: which limits the rows.
    """
    most = max(1, EFFORT[effort][2] // max(1, plan.rows))
    pipelines = plan.forests
    if plan.in_one_pass:
        # A piece passes both forests before the pipeline is full.
        pipelines = (replace(plan.forests[1], height=sum(f.height for f in plan.forests)),)
    return max(1, *(choose_pieces(f, nbytes / plan.shares, most) * f.trees // plan.trees for f in pipelines))


def build_schedule(
    plan: ForestPlan,
    kind: Collective,
    ranks: int,
    root: int,
    pieces: int,
    options: dict[str, Any],
    lanes: int = 0,
    nbytes: int = 0,
) -> Schedule:
    """The plan as a schedule.

    Args:
        plan: the forests.
        kind: the collective.
        ranks: of the schedule.
        root: of the collective, where it has one.
        pieces: into which the share of each tree is cut.
        options: what the schedule says of itself.
        lanes: 0 for a pipeline of all trees, `ROUNDS` for rounds of nodes, else lanes of each pair (`lane_order`).
        nbytes: for which lanes are ordered.
    """

    def yield_steps() -> Iterator[Step]:
        if plan.in_one_pass:
            yield from yield_allreduce(plan.forests[0], plan.forests[1], pieces, nbytes, lanes)
            return
        for f in plan.forests:
            parts = pieces * plan.trees // f.trees
            if lanes == ROUNDS:
                yield from schedule_rounds(f, parts)
            else:
                yield from order_by_lane(f, parts, nbytes / plan.shares, lanes) if lanes else pipeline_trees(f, parts)

    chunks, name = plan.shares * plan.trees * pieces, f"synthesized_{kind.name}"
    block = 1
    if kind.has_blocks:
        block = ranks
    return freeze(name, kind.name, ranks, yield_steps(), chunks=chunks, block=block, root=root, options=options)
