"""One collects, adds and hands out: two steps, and one cable that carries everything."""

from __future__ import annotations

from ...units import format_bandwidth, format_bytes, format_time
from ..lesson import Lesson, LessonFacts, Section, build_facts, build_switch, format_ratio, simulate_algorithm


def _build_server_facts() -> LessonFacts:
    server, ring = (
        simulate_algorithm(name, build_switch()) for name in ("allreduce_parameter_server", "allreduce_ring")
    )
    server16, ring16 = (
        simulate_algorithm(name, build_switch(16)) for name in ("allreduce_parameter_server", "allreduce_ring")
    )
    return build_facts(
        server,
        t=server,
        ring=ring,
        more=server16,
        ring_more=ring16,
        worker=format_bytes(int(server.sent_bytes[1])),
        hot=format_bytes(int(server.link_bytes.max())),
        hot_more=format_bytes(int(server16.link_bytes.max())),
        rate=format_bandwidth(float(server.topology.links.bandwidth.max())),
        workers=server.schedule.ranks - 1,
        workers_more=server16.schedule.ranks - 1,
        half=format_time(server.time / 2),
        slower=format_ratio(server, ring),
        grown=format_ratio(server16, server),
        slower_more=format_ratio(server16, ring16),
    )


LESSON = Lesson(
    notebook="02-parameter-server",
    exercises=("parameter-server", "sharded-server"),
    sections=(Section("server", _build_server_facts, right=2, view="logical"),),
)
