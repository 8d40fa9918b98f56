"""Do it for real: processes of this computer run a schedule over a network that they imitate, beside its prediction."""

from __future__ import annotations

from ...topology import Topology, switch
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_algorithm

_BYTES, _SLOWER, _RANK = "1MiB", 4, 3


def _build_network(slow: bool = False) -> Topology:
    """What the processes imitate; with one cable that is slower in both directions."""
    network = switch(8, bandwidth="10MB/s", alpha="5ms")
    return network.with_link(f"gpu{_RANK}", "switch0", bandwidth=f"x{1 / _SLOWER}") if slow else network


def _build_real_facts() -> LessonFacts:
    ring, late = (simulate_algorithm("allreduce_ring", _build_network(slow), _BYTES) for slow in (False, True))
    server, same = (
        simulate_algorithm("allreduce_parameter_server", _build_network(slow), _BYTES) for slow in (False, True)
    )
    return build_facts(
        ring,
        ring=ring,
        late=late,
        server=server,
        same=same,
        rank=_RANK,
        slower=_SLOWER,
        more=format_ratio(late, ring),
    )


LESSON = Lesson(
    notebook="13-do-it-for-real",
    exercises=("unnoticed-cable",),
    sections=(Section("real", _build_real_facts, right=1),),
)
