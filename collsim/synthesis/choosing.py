"""Which form of a plan of trees is the fastest: a few of them are timed by the event engine, none is believed.

How many pieces follow one another, in steps of all trees (`pipelined`), in turns of nodes (`turns`) or a pair's pieces
one after another (`ordering`), balances latency against filling and draining. A model says where to begin; from there
the number of pieces is halved or doubled as long as the run gets shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..collective import Collective
from ..schedule import Schedule
from ..simulate import simulate
from ..topology import Topology
from . import phases
from .forests import TURNS, ForestPlan, pieces_of, scheduled
from .turns import able

NEAR, NEAR_OF_MANY = 1.005, 1.01  # times what the trees' rates allow: nothing more is tried
FIRST_OF_TURNS = 4  # pieces with which turns begin
LANES = (2, 3, 6, 9)
FEW = 64  # ranks: of more, half as many transfers are timed, and NEAR_OF_MANY is near
#: Per effort: transfers that may be timed in all.
TIMED = {"low": 200_000, "normal": 1_500_000, "high": 20_000_000}


@dataclass(eq=False)
class Forms:
    """The forms of one plan on one topology that were timed, and the fastest of them.

    Attributes:
        most: pieces that the rows of a schedule allow. left: transfers that may still be timed.
    """

    plan: ForestPlan
    kind: Collective
    topology: Topology
    ranks: int
    root: int
    nbytes: int
    options: dict[str, Any]
    most: int
    left: int
    best: Schedule | None = None
    time: float = float("inf")
    timed: dict[tuple[int, int], float] = field(default_factory=dict)

    def made(self, pieces: int, lanes: int) -> Schedule:
        """One form; `lanes` 0 for steps of all trees, TURNS for turns of nodes."""
        told = {**self.options, "pieces": pieces} | ({"lanes": lanes} if lanes > 0 else {})
        return scheduled(self.plan, self.kind, self.ranks, self.root, pieces, told, lanes, self.nbytes)

    def run(self, pieces: int, lanes: int) -> float:
        """Seconds that one form takes; endless where it would be too large to time."""
        rows = self.plan.rows * pieces
        if not 1 <= pieces <= self.most or (self.best is not None and rows > self.left):
            return float("inf")
        if (pieces, lanes) not in self.timed:
            self.left -= rows
            made = self.made(pieces, lanes)
            time = simulate(made, self.topology, self.nbytes, engine="event").time
            self.timed[pieces, lanes] = time
            if time < self.time * (1 - 1e-9):
                self.best, self.time = made, time
        return self.timed[pieces, lanes]

    def climb(self, pieces: int, lanes: int) -> None:
        """Halve the pieces as long as that is faster; where it never was, double them."""
        here = self.run(pieces, lanes)
        if self.run(pieces // 2, lanes) < here:
            pieces //= 2
            while self.run(pieces // 2, lanes) < self.run(pieces, lanes):
                pieces //= 2
        else:
            while self.run(2 * pieces, lanes) < self.run(pieces, lanes):
                pieces *= 2


def quickest(
    plan: ForestPlan,
    kind: Collective,
    topology: Topology,
    ranks: int,
    root: int,
    nbytes: int,
    effort: str,
    options: dict[str, Any],
    orders: int = len(LANES),
    told: Callable[..., None] | None = None,
) -> tuple[Schedule, float]:
    """The fastest form of a plan, and its seconds by the event engine.

    Args:
        orders: of `LANES` the first so many are tried, after turns and steps of all trees. told: called with (forms
            timed, in all, what).
    """
    pieces = pieces_of(plan, nbytes, effort)
    left = TIMED[effort] // (1 if ranks <= FEW else 2)
    forms = Forms(plan, kind, topology, ranks, root, nbytes, options, 2 * pieces, left)
    near = (NEAR if ranks <= FEW else NEAR_OF_MANY) * nbytes / plan.shares / plan.reached
    tried = (*([TURNS] if all(map(able, plan.forests)) else []), 0, *LANES[:orders])
    for number, lanes in enumerate(tried):
        if forms.time <= near:
            break
        if told is not None:
            told(number, len(tried), phases.TIMING_TREES)
        if lanes == TURNS:
            forms.climb(min(FIRST_OF_TURNS, forms.most), TURNS)
        elif lanes:
            forms.climb(max(1, _begin(forms, pieces)), lanes)
        else:
            forms.run(pieces, 0)
            if not isinstance(options["objective"], str):
                forms.climb(pieces, 0)
    assert forms.best is not None
    return forms.best, forms.time


def _begin(forms: Forms, pieces: int) -> int:
    """Where to begin: at the best number of pieces of the lanes before, or at a quarter of the pieces in steps."""
    tried = [(time, p) for (p, lanes), time in forms.timed.items() if lanes > 0]
    return min(tried)[1] if tried else 2 ** round(np.log2(max(1, pieces / 4)))
