"""Two correct algorithms, two sums: the order of additions in float16."""

from __future__ import annotations

import numpy as np

from ...registry import schedule
from ...replay import replay
from ...simulate import simulate
from ..lesson import Lesson, LessonFacts, Section, build_facts, build_switch


def _build_rounding_facts() -> LessonFacts:
    n, count = 8, 4096
    ring, tree = (schedule(name, ranks=n) for name in ("allreduce_ring", "allreduce_tree"))
    data = np.random.default_rng(0).standard_normal((n, count)).astype(np.float16)
    by_ring, by_tree = replay(ring, data), replay(tree, data)
    big, unit = np.float16(2048), np.float16(1)
    return build_facts(
        simulate(tree, build_switch(n), "64MiB", dtype="float16"),
        n=n,
        count=f"{count:,}",
        adds=n - 1,
        digits=np.finfo(np.float16).nmant + 1,
        difference=f"{np.abs(by_ring[0].astype(float) - by_tree[0]).max():.3g}",
        differ=f"{100 * (by_ring[0] != by_tree[0]).mean():.3g}",
        big=f"{big:g}",
        one=f"{unit:g}",
        left=f"{(big + unit) + unit:g}",
        right=f"{big + (unit + unit):g}",
        mean=_average_both_ways(n),
    )


def _average_both_ways(n: int) -> dict[str, str]:
    """Eight times the same number, averaged by dividing late and early."""
    ring, values = schedule("allreduce_ring", ranks=n), np.full((n, n), 20000, np.float16)
    with np.errstate(over="ignore"):
        late = replay(ring, values)[0] / np.float16(n)
    early = replay(ring, values, op="avg")[0]
    return {"each": f"{values[0, 0]:g}", "late": f"{late[0]:g}", "early": f"{early[0]:g}"}


LESSON = Lesson(
    notebook="10-rounding",
    exercises=("recursive-doubling",),
    sections=(Section("rounding", _build_rounding_facts, right=1, view="logical"),),
)
