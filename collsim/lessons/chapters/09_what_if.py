"""What a better cable would buy, what a cut one costs, and what one slow rank does to the others."""

from __future__ import annotations

from ...simulate import Trace, simulate
from ...topology import line, machine, ring
from ..lesson import Lesson, LessonFacts, Section, build_facts, build_switch, format_ratio, simulate_algorithm


def _format_saving(base: Trace, kind: str) -> str:
    """What doubling a kind of link saves, in percent."""
    faster = simulate(base.schedule, base.topology.scaled(kind=kind, by=2), base.nbytes)
    return f"{100 * (1 - faster.time / base.time):.3g}"


def _build_whatif_facts() -> LessonFacts:
    base = simulate_algorithm("allreduce_ring", machine("dgx-a100", nodes=2), "256MiB", channels=8)
    intact, cut = (
        simulate_algorithm("allreduce_ring", net(8, bandwidth="25GB/s", alpha="1us")) for net in (ring, line)
    )
    even = simulate_algorithm("allreduce_ring", build_switch())
    slow = simulate(even.schedule, even.topology, even.nbytes, engine="event", slow={3: 2})
    fast = simulate(even.schedule, even.topology, even.nbytes, engine="event")
    saved = {kind: _format_saving(base, kind) for kind in ("infiniband", "nvlink")}
    return build_facts(base, base=base, whole=intact, cut=cut, even=even, saved=saved, slower=format_ratio(slow, fast))


LESSON = Lesson(
    notebook="09-what-if",
    exercises=("around-the-slow-cable",),
    sections=(Section("what-if", _build_whatif_facts, right=1),),
)
