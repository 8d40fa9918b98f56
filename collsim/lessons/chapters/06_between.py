"""One cable between two machines or eight, with GPUDirect RDMA and without."""

from __future__ import annotations

from ...analysis.run_facts import RunFacts
from ...topology import machine
from ...units import format_time
from ...viz.sentences.time_sentences import describe_bottleneck
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_algorithm


def _build_rail_facts() -> LessonFacts:
    two = machine("dgx-a100", nodes=2)
    single, many = (simulate_algorithm("allreduce_ring", two, "256MiB", channels=count) for count in (1, 8))
    staged = simulate_algorithm("allreduce_ring", machine("dgx-a100", nodes=2, gdr=False), "256MiB", channels=8)
    neck = describe_bottleneck(RunFacts(staged))
    assert neck is not None
    return build_facts(
        single,
        one=single,
        many=many,
        staged=staged,
        busy=f"{100 * single.link_busy.max() / single.time:.3g}",
        faster=format_ratio(single, many),
        slower=format_ratio(staged, many),
        alone=format_time(many.schedule.channels * many.time),
        neck=tuple(neck["text"].values()),
    )


LESSON = Lesson(
    notebook="06-between-boxes",
    exercises=("hierarchical-2x8",),
    sections=(Section("between", _build_rail_facts, right=1),),
)
