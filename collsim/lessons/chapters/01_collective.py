"""Who has what before and after, and what for. Facts about PyTorch: version 2.13, docs/source/distributed.md."""

from __future__ import annotations

from ...topology import ring
from ..lesson import Lesson, LessonFacts, Section, build_facts, simulate_algorithm


def _build_collective_facts() -> LessonFacts:
    t = simulate_algorithm("allreduce_ring", ring(4, bandwidth="25GB/s", alpha="1us"))
    return build_facts(t, t=t)


LESSON = Lesson(
    notebook="01-what-is-a-collective",
    exercises=("send-one-chunk", "broadcast-to-all", "scatter-blocks"),
    sources={"25": "MiB: bucket_cap_mb of DistributedDataParallel, PyTorch 2.13, torch/nn/parallel/distributed.py"},
    sections=(Section("collective", _build_collective_facts, right=0, view="logical"),),
)
