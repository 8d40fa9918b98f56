"""Reduce-scatter, then allgather, and what each rank sends: 2K(N-1)/N."""

from __future__ import annotations

from ...topology import ring
from ...units import format_bytes, format_time
from ...verify import list_contributions
from ..lesson import Lesson, LessonFacts, Section, build_facts, build_switch, simulate_algorithm


def _build_step_facts() -> LessonFacts:
    t = simulate_algorithm("allreduce_ring", ring(8, bandwidth="25GB/s", alpha="1us"))
    n = t.schedule.ranks
    steps = [step for r in range(n) for step, terms in list_contributions(t.schedule, r, 0) if len(terms) == n]
    full = min(steps) + 1
    return build_facts(t, t=t, n=n, others=n - 1, full=full, half=n // 2, half_held=n // 2 + 1, answer_step=full)


def _build_volume_facts() -> LessonFacts:
    runs = [simulate_algorithm("allreduce_ring", build_switch(n)) for n in (2, 4, 8, 16, 64)]
    t, last = runs[2], runs[-1]
    share = [r.sent_bytes.max() / r.nbytes for r in runs]
    rows = tuple(
        (
            str(r.schedule.ranks),
            str(r.schedule.steps),
            format_bytes(int(r.sent_bytes.max())),
            f"{s:.4g}",
            format_time(r.time),
        )
        for r, s in zip(runs, share, strict=True)
    )
    grown, more = f"{share[-1] / share[2]:.3g}", last.schedule.ranks // t.schedule.ranks
    return build_facts(t, rows, t=t, last=last, grown=grown, more=more)


_RING = Section("ring", _build_step_facts, right=1, view="logical")

_VOLUME = Section("volume", _build_volume_facts, right=1, view="logical")

LESSON = Lesson(
    notebook="03-ring-step-by-step",
    exercises=("fix-the-sketch", "ring-reduce-scatter", "ring-allgather", "ring-allreduce"),
    sections=(_RING, _VOLUME),
)
