"""Which backend when, and the same in C. The facts about PyTorch are those of 2.13 (docs/source/distributed.md,
distributed_c10d.py, csrc/distributed/c10d/ProcessGroupNCCL.cpp), those about NCCL are of its nccl.h.in."""

from __future__ import annotations

from ...topology import machine
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_algorithm


def _build_backend_facts() -> LessonFacts:
    direct, staged = (simulate_algorithm("allreduce_ring", machine("dgx-a100", p2p=p2p)) for p2p in (True, False))
    return build_facts(staged, direct=direct, staged=staged, faster=format_ratio(staged, direct))


def _build_call_facts() -> LessonFacts:
    """Every rank sends to the next one, as nccl-tests' sendrecv does."""
    box = machine("dgx-a100")
    pair, ring = simulate_algorithm("sendrecv_direct", box), simulate_algorithm("allreduce_ring", box)
    return build_facts(pair, pair=pair, ring=ring, ranks=pair.schedule.ranks)


LESSON = Lesson(
    notebook="08-from-algorithm-to-library",
    exercises=("reduce-to-root",),
    sources={
        "2.13": "of PyTorch: docs/source/distributed.md and torch/distributed/distributed_c10d.py",
        "2.28": "of NCCL: nccl.h.in; torch/csrc/cuda/nccl.cpp calls ncclAlltoAll from this version on",
        "2.30": "of NCCL: src/init.cc, which reads NCCL_MULTI_RANK_GPU_ENABLE",
    },
    sections=(
        Section("backends", _build_backend_facts, right=0),
        Section("calls", _build_call_facts, right=1),
    ),
)
