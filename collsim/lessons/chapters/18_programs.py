"""Programs and hangs: what one rank runs, run for all; and why it may never end."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ...programs import Hang, ProgramRun, list_hangs
from ...programs.program_entry import program
from ...rank_engine.start import MPICH_EAGER_LIMIT
from ...registry import schedule
from ...schedule import Schedule
from ...simulate import Trace
from ...topology import Topology
from ...viz.program.program_image import ProgramPicture
from ..lesson import Lesson, LessonFacts, Section, build_facts, format_ratio, simulate_schedule

_RANKS, _SIZE, _SMALL = 4, "1MiB", "1KiB"
_FEW, _MANY = "4KiB", "64KiB"


@cache
def _run_ring() -> ProgramRun:
    """The ring of whole buffers."""
    return list_hangs()["send_first"].run_fixed(_RANKS)


def _simulate_ring(nbytes: str) -> tuple[Trace, Trace]:
    """The program's schedule and the library's ring on the same network."""
    run = _run_ring()
    assert isinstance(run.schedule, Schedule)
    network: Topology = run.topology
    return (
        simulate_schedule(run.schedule, network, nbytes),
        simulate_schedule(schedule("allreduce_ring", ranks=_RANKS), network, nbytes),
    )


def _build_program_facts() -> LessonFacts:
    trace, ring = _simulate_ring(_SIZE)
    small, small_ring = _simulate_ring(_SMALL)
    return build_facts(
        trace,
        program=trace,
        ring=ring,
        small=small,
        small_ring=small_ring,
        ranks=_RANKS,
        ratio=format_ratio(trace, ring),
    )


@cache
def _run_hang() -> ProgramRun:
    return list_hangs()["send_first"].run(_RANKS)


def _ends(hang: Hang, nbytes: str) -> bool:
    return program(hang.source, _RANKS, hang.collective, nbytes=nbytes, allow_unsandboxed=True).is_right


def _build_hang_facts() -> LessonFacts:
    run = _run_hang()
    assert run.cycle is not None
    lucky = list_hangs()["large_messages"]
    assert (_ends(lucky, _FEW), _ends(lucky, _MANY)) == (True, False)
    trace, _ = _simulate_ring(_SIZE)
    return build_facts(
        trace,
        lanes_after=(ProgramPicture(replace(run, rerun=None)),),  # without it a picture can be pickled: pages cache it
        line=run.waits[0].line,
        cycle=" → ".join(map(str, (*run.cycle, run.cycle[0]))),
        last=_RANKS - 1,
        limit=f"{MPICH_EAGER_LIMIT:,} B",
        few=_FEW.replace("KiB", " KiB"),
        many=_MANY.replace("KiB", " KiB"),
        count=len(list_hangs()),
    )


_PROGRAM = Section("program", _build_program_facts, right=1)

_HANG = Section("hang", _build_hang_facts, right=2)

LESSON = Lesson(
    notebook="18-programs-and-hangs",
    exercises=("make-it-hang", "make-it-right", "one-and-a-half-buffers"),
    sections=(_PROGRAM, _HANG),
)
