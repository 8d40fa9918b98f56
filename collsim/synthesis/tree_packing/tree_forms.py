"""Which form of a plan of trees is the fastest: the event engine times a few of them.

How many pieces follow one another, in steps of all trees (`pipelined`), in rounds of nodes or a pair's
pieces one after another (`lane_order`), balances latency against filling and draining. A model says where to begin;
from there the number of pieces is halved or doubled as long as the run gets shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...collective import Collective
from ...schedule import Schedule
from ...simulate import simulate
from ...topology import Topology
from ..pairs import search_phases
from .forests import ROUNDS, ForestPlan, build_schedule, count_pieces
from .lane_order import has_rounds

NEAR, NEAR_OF_MANY = 1.005, 1.01  # times what the trees' rates allow: nothing more is tried
FIRST_PIECES = 4  # with which rounds begin
#: Numbers of lanes that are tried.
LANES = (2, 3, 6, 9)
MAX_THOROUGH_RANKS = 64  # of more ranks half as many transfers are timed, and NEAR_OF_MANY is near
#: Per effort: transfers that may be timed in all.
TIMED = {"low": 400_000, "normal": 1_500_000, "high": 20_000_000}


@dataclass(eq=False)
class TimedForms:
    """The forms of one plan on one topology that were timed, and the fastest of them.

    Attributes:
        plan: whose forms are timed.
        kind: the collective.
        topology: where they run.
        ranks: number of them.
        root: the root rank.
        nbytes: nccl-tests' size in bytes.
        options: of the schedules that are built.
        max_pieces: that the rows of a schedule allow.
        transfers_left: transfers that may still be timed.
        best: the fastest form so far; None before the first.
        time: s that it takes; inf before the first.
        seconds: (pieces, lanes) -> s, of each form that was timed.
    """

    plan: ForestPlan
    kind: Collective
    topology: Topology
    ranks: int
    root: int
    nbytes: int
    options: dict[str, Any]
    max_pieces: int
    transfers_left: int
    best: Schedule | None = None
    time: float = float("inf")
    seconds: dict[tuple[int, int], float] = field(default_factory=dict)

    def build(self, pieces: int, lanes: int) -> Schedule:
        """Build one form.

        Args:
            pieces: Pieces that each chunk is sent in.
            lanes: Over which a rank's transfers are spread; 0 for steps of all trees, `ROUNDS` for rounds of nodes.
        """
        options = {**self.options, "pieces": pieces}
        if lanes > 0:
            options["lanes"] = lanes
        return build_schedule(self.plan, self.kind, self.ranks, self.root, pieces, options, lanes, self.nbytes)

    def time_form(self, pieces: int, lanes: int) -> float:
        """Seconds that one form takes; infinite where it would be too large to time.

        Args:
            pieces: Of each tree; 0 and more than `max_pieces` are never timed.
            lanes: Over which a rank's transfers are spread.
        """
        rows = self.plan.rows * pieces
        if not 1 <= pieces <= self.max_pieces or (self.best is not None and rows > self.transfers_left):
            return float("inf")
        if (pieces, lanes) not in self.seconds:
            self.transfers_left -= rows
            schedule = self.build(pieces, lanes)
            time = simulate(schedule, self.topology, self.nbytes, engine="event").time
            self.seconds[pieces, lanes] = time
            if time < self.time * (1 - 1e-9):
                self.best, self.time = schedule, time
        return self.seconds[pieces, lanes]

    def climb(self, pieces: int, lanes: int) -> None:
        """Halve the pieces as long as that is faster; where it never was, double them.

        Args:
            pieces: To begin with.
            lanes: Fixed.
        """
        seconds = self.time_form(pieces, lanes)
        if self.time_form(pieces // 2, lanes) < seconds:
            pieces //= 2
            while self.time_form(pieces // 2, lanes) < self.time_form(pieces, lanes):
                pieces //= 2
        else:
            while self.time_form(2 * pieces, lanes) < self.time_form(pieces, lanes):
                pieces *= 2


def find_fastest_form(
    plan: ForestPlan,
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    effort: str,
    options: dict[str, Any],
    orders: int = len(LANES),
    report: Callable[..., None] | None = None,
) -> tuple[Schedule, float]:
    """The fastest form of a plan.

    Args:
        plan: the forests.
        kind: the collective.
        topology: the network.
        ranks: so many, the first of the topology.
        root: of the collective, where it has one.
        nbytes: of the operation.
        effort: how much may be timed.
        options: what the schedule says of itself.
        orders: of `LANES` the first so many are tried, after rounds and steps of all trees.
        report: called with (forms timed, in all, what).

    Returns:
        The schedule, and its seconds by the event engine.
    """
    pieces = count_pieces(plan, nbytes, effort)
    # Near enough to the rate of the trees, further orders of lanes cannot gain more than this margin.
    transfers_left, margin = TIMED[effort], NEAR
    if ranks > MAX_THOROUGH_RANKS:
        transfers_left, margin = TIMED[effort] // 2, NEAR_OF_MANY
    forms = TimedForms(plan, kind, topology, ranks, root, nbytes, options, 2 * pieces, transfers_left)
    enough = margin * nbytes / plan.shares / plan.rate
    # Rounds and plain steps come first: nearly always one of them is best, and they are cheap to time.
    orders_tried = [0, *LANES[:orders]]
    if not plan.in_one_pass and all(map(has_rounds, plan.forests)):
        orders_tried.insert(0, ROUNDS)
    for number, lanes in enumerate(orders_tried):
        if forms.time <= enough:
            break
        if report is not None:
            report(number, len(orders_tried), search_phases.TIMING_TREES)
        if lanes == ROUNDS:
            forms.climb(min(FIRST_PIECES, forms.max_pieces), ROUNDS)
        elif lanes:
            forms.climb(max(1, _choose_first_pieces(forms, pieces)), lanes)
        else:
            forms.time_form(pieces, 0)
            if not isinstance(options["objective"], str):
                forms.climb(pieces, 0)
    assert forms.best is not None
    return forms.best, forms.time


def _choose_first_pieces(forms: TimedForms, pieces: int) -> int:
    """Where to begin: at the best number of pieces of the lanes before, or at a quarter of the pieces in steps."""
    known = [(time, p) for (p, lanes), time in forms.seconds.items() if lanes > 0]
    if known:
        return min(known)[1]
    quarter: int = 2 ** round(np.log2(max(1, pieces / 4)))
    return quarter
