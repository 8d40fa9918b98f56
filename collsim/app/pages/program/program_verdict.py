"""All that the page shows of a program that was run. Nothing here knows Streamlit."""

from __future__ import annotations

from dataclasses import dataclass

import collsim as cs
from collsim.errors import CollsimError, Sentence
from collsim.programs import ProgramRun
from collsim.schedule import Schedule
from collsim.viz.program import draw_program_lanes
from collsim.viz.timeline.document import build_encoded_timeline

from ...jobs.worker import ReportProgress
from ...scenario.outcome import ignore_progress
from .program_drafts import DELAY, ProgramDraft, build_topology

WIDE, NARROW = 640, 330
_LONGEST_OUTPUT = 1_200  # characters of what a rank printed


@dataclass(frozen=True)
class MendedProgram:
    """A change that was run: what it is, the changed source, its time in s, and the ranks that it was run on."""

    label: Sentence
    source: str
    time: float
    ranks: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ProgramVerdict:
    """What became of a program.

    Attributes:
        error: why it could not be run; nothing else is set then.
        verdict, reason: of the run.
        time: s.
        sent, received: bytes by rank. waited: s by rank, None where it waits for ever.
        messages: how many there are.
        line: where the first rank waits or failed.
        pictures: SVG for a wide and for a narrow screen.
        printed: what ranks printed, by rank.
        results: what ranks returned, shortened, where nothing was expected.
        no_schedule: why its messages make no schedule, or None.
        steps, transfers: of the schedule that they make; copies inside of a rank are no transfers.
        timeline: of that schedule, for the player.
        comparison: with what the library runs, where the program is right.
        mends: changed programs that do not hang.
    """

    error: CollsimError | None = None
    verdict: str = ""
    reason: Sentence | None = None
    time: float = 0.0
    sent: tuple[int, ...] = ()
    received: tuple[int, ...] = ()
    waited: tuple[float | None, ...] = ()
    messages: int = 0
    line: int | None = None
    pictures: tuple[str, str] = ("", "")
    printed: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    no_schedule: Sentence | None = None
    steps: int = 0
    transfers: int = 0
    timeline: dict[str, object] | None = None
    comparison: Sentence | None = None
    mends: tuple[MendedProgram, ...] = ()


def estimate_program(draft: ProgramDraft) -> float:
    """Nobody knows how long a stranger's program takes.

    Args:
        draft: The program and how it is run.
    """
    return 0.0


def judge_program(draft: ProgramDraft, report_progress: ReportProgress = ignore_progress) -> ProgramVerdict:
    """Run a program, and draw what came of it.

    Args:
        draft: The program and how it is run.
        report_progress: Called with the stage and the share that is done, 0 to 1.
    """
    late, limit, collective = {}, None, None
    if draft.late_rank is not None:
        late = {draft.late_rank: DELAY}
    if draft.buffered != "library":
        limit = draft.buffered
    if draft.collective != "none":
        collective = draft.collective
    try:
        run = cs.program(
            draft.code,
            draft.ranks,
            collective,
            nbytes=draft.nbytes,
            eager_limit=limit,
            machine=build_topology(draft),
            late=late,
            allow_unsandboxed=draft.allow_unsandboxed,
        )
        return describe_run(run)
    except CollsimError as error:
        return ProgramVerdict(error=error)


def describe_run(run: ProgramRun, *, with_mends: bool = True) -> ProgramVerdict:
    """What the page shows of a run.

    Args:
        run: Of a program.
        with_mends: Also look for changes that help, each of which is run.
    """
    lines = [wait.line for wait in run.waits] + [error.line for error in run.errors]
    schedule, timeline, comparison, reason = run.schedule, None, None, None
    steps = transfers = 0
    if isinstance(schedule, Schedule):
        rows = schedule.transfers
        steps, transfers = schedule.steps, int((rows["src"] != rows["dst"]).sum())
        timeline = build_encoded_timeline(cs.simulate(schedule, run.topology, run.nbytes, run.dtype))
    elif run.verdict == "right":
        reason = schedule
    results: tuple[str, ...] = ()
    if run.collective is None:
        results = tuple(" ".join(str(result).split())[:80] for result in run.results)
    mends: tuple[MendedProgram, ...] = ()
    if with_mends:
        mends = tuple(MendedProgram(mend.label, mend.source, mend.run.time, mend.ranks) for mend in run.mends)
    return ProgramVerdict(
        None,
        run.verdict,
        run.reason,
        run.time,
        run.sent,
        run.received,
        _sum_waits(run),
        len(run.execution.messages),
        next((line for line in lines if line), None),
        (draw_program_lanes(run, WIDE), draw_program_lanes(run, NARROW)),
        tuple(text[:_LONGEST_OUTPUT] for text in run.printed),
        results,
        reason,
        steps,
        transfers,
        timeline,
        comparison,
        mends,
    )


def _sum_waits(run: ProgramRun) -> tuple[float | None, ...]:
    """Seconds that each rank waited; None where it waits for ever."""
    waits: list[float | None] = [0.0] * run.ranks
    for span in run.timeline.spans:
        before = waits[span.rank]
        if span.end is None or before is None:
            waits[span.rank] = None
        else:
            waits[span.rank] = before + span.end - span.begin
    return tuple(waits)
