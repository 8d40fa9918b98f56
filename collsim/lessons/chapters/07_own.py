"""Beat the ring where the wiring allows it, and see what the checker says when something goes wrong."""

from __future__ import annotations

import numpy as np

from ...locale import LANGUAGES
from ...replay import replay
from ...teach import break_it, list_exercises
from ...topology import machine, ring
from ...units import format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, simulate_algorithm


def _build_own_facts() -> LessonFacts:
    dgx1 = machine("dgx-1v")
    one_ring, two_rings, six_rings = (simulate_algorithm("allgather_ring", dgx1, channels=count) for count in (1, 2, 6))
    within = list_exercises()["dgx-1-allgather"].task.within
    return build_facts(
        two_rings,
        one=one_ring,
        two=two_rings,
        six=six_rings,
        bound=format_time(six_rings.bound.time),
        within=f"{within:g}",
    )


def _build_broken_facts() -> LessonFacts:
    good = simulate_algorithm("allreduce_ring", ring(4, bandwidth="25GB/s", alpha="1us"))
    lost, twice = (
        [break_it(good, how, seed=3, language=language) for language in LANGUAGES] for how in ("lose", "repeat")
    )
    trace = lost[0].trace
    assert trace is not None  # a schedule without one of its sends is still a schedule
    n = good.schedule.ranks
    ends = replay(trace.schedule, np.ones((n, n), np.int64))
    is_wrong = (ends != n).any(axis=1)
    return build_facts(
        trace,
        n=n,
        wrong=int(is_wrong.sum()),
        answer_step=trace.schedule.steps,
        lost=tuple(broken.what for broken in lost),
        lost_says=tuple(broken.verdict for broken in lost),
        twice=tuple(broken.what for broken in twice),
        twice_says=tuple(broken.verdict for broken in twice),
    )


LESSON = Lesson(
    notebook="07-write-your-own",
    exercises=("dgx-1-allgather", "alltoall-pairwise"),
    sections=(
        Section("own", _build_own_facts, right=2),
        Section("broken", _build_broken_facts, right=1, view="logical"),
    ),
)
