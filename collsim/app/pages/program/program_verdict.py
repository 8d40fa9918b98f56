"""All that the page shows of a program that was run. Nothing here knows Streamlit."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import collsim as cs
from collsim.errors import CollsimError, Sentence
from collsim.programs import ProgramRun
from collsim.programs.hangs.stacks import format_logs
from collsim.programs.program_entry import find_verdicts
from collsim.schedule import Schedule
from collsim.units import format_bytes, format_time, parse_bytes
from collsim.viz.program import Playback, build_counters, build_playback, draw_program_lanes, list_moments
from collsim.viz.program.playback import Counter
from collsim.viz.program.program_moments import Moment
from collsim.viz.timeline.timeline_document import build_encoded_timeline

from ...jobs.job_spec import has_no_estimate, is_compiled, job
from ...synthesis.synthesis_result import Synthesized, close_gap, estimate_synthesis
from .program_drafts import DELAY, ProgramDraft, build_topology

#: Pixels of the column for pictures on a laptop, and on a telephone of 360 less its margins.
WIDE, NARROW = 580, 330
#: Code for one number of ranks often breaks at an odd one. These runs move little, so that all take no longer than one.
OTHER_RANKS, SMALL = range(2, 9), "4KiB"
_LONGEST_OUTPUT = 1_200  # characters of what a rank printed
_MAX_ROWS = 100  # messages and collectives that are listed as text


@dataclass(frozen=True)
class FixedProgram:
    """A change of a program that was run.

    Attributes:
        label: What the change is.
        source: The changed source.
        time: Its time, in s.
        ranks: The numbers of ranks that it was run with.
    """

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
        sent: bytes by rank.
        needs_buffering: it ends only because small messages are sent at once.
        messages: how many there are.
        largest: bytes of the largest message that nobody has received, or 0.
        rows: the messages as text: ends, bytes, lines, when sent, when there.
        collectives: of the library, as text: line, call, ranks, bytes, type, how many calls.
        line: where the first rank waits or failed.
        pictures: SVG for a wide and for a narrow screen.
        printed: what ranks printed, by rank.
        results: what ranks returned, shortened, where nothing was expected.
        no_schedule: why its messages make no schedule, or None.
        steps, transfers: of the schedule that they make; copies inside of a rank are no transfers.
        timeline: of that schedule, for the player.
        comparison: with what the library runs, where the program is right.
        fixes: changed programs that do not hang.
        other_ranks: verdicts with other numbers of ranks, where it is right.
        msccl, schedule: the schedule as MSCCL XML, or empty, and as the JSON that loses nothing.
        network: YAML of what it ran on.
        moments: what the ranks do from each moment on.
        playback: waits and messages for the cursor over the lanes.
        counters: what each rank sent, received and waited, with the units in which they are shown; none for a hang.
        logs: what libraries print after the timeout, where it hangs.
        dump: a zip of the Flight Recorder's file of each rank, where it hangs and imports torch.
        restored: what was put back in a source that a web page had damaged, and the source that was run; or None.
    """

    error: CollsimError | None = None
    verdict: str = ""
    reason: Sentence | None = None
    time: float = 0.0
    sent: tuple[int, ...] = ()
    needs_buffering: bool = False
    messages: int = 0
    largest: int = 0
    rows: tuple[tuple[str, ...], ...] = ()
    line: int | None = None
    pictures: tuple[str, str] = ("", "")
    printed: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    no_schedule: Sentence | None = None
    steps: int = 0
    transfers: int = 0
    timeline: dict[str, object] | None = None
    comparison: Sentence | None = None
    fixes: tuple[FixedProgram, ...] = ()
    other_ranks: tuple[tuple[int, str], ...] = ()
    msccl: str = ""
    schedule: str = ""
    network: str = ""
    moments: tuple[Moment, ...] = ()
    playback: Playback = field(default_factory=lambda: Playback(ranks=0, begin=0.0, spans=[], messages=[]))
    counters: tuple[Counter, ...] = ()
    logs: str = ""
    dump: bytes = b""
    restored: tuple[Sentence, str] | None = None
    collectives: tuple[tuple[str, ...], ...] = ()


def run_draft(draft: ProgramDraft) -> ProgramRun:
    """Run a program as the page says.

    Args:
        draft: The program and how it is run.

    Raises:
        CollsimError: for what cannot be run.
    """
    late = {}
    if draft.late_rank is not None:
        late = {draft.late_rank: DELAY}
    return cs.program(
        draft.code,
        draft.ranks,
        draft.expected_collective,
        nbytes=draft.nbytes,
        eager_limit=draft.eager_limit,
        machine=build_topology(draft),
        late=late,
        timeout=draft.timeout,
        allow_unsandboxed=draft.allow_unsandboxed,
    )


@job(has_no_estimate, in_worker=True)
def judge_program(draft: ProgramDraft) -> ProgramVerdict:
    """Run a program, and draw what came of it.

    Args:
        draft: The program and how it is run.
    """
    try:
        run = run_draft(draft)
        verdict = describe_run(run)
        if verdict.verdict != "right":
            return verdict
        return replace(verdict, other_ranks=_find_other_ranks(draft))
    except CollsimError as error:
        return ProgramVerdict(error=error)


def _find_other_ranks(draft: ProgramDraft) -> tuple[tuple[int, str], ...]:
    """Verdicts with 2 to 8 ranks; of small arrays, as only the result is looked at."""
    counts = [count for count in OTHER_RANKS if count != draft.ranks]
    try:
        verdicts = find_verdicts(
            draft.code,
            counts,
            draft.expected_collective,
            nbytes=min(draft.nbytes, SMALL, key=parse_bytes),
            eager_limit=draft.eager_limit,
            allow_unsandboxed=draft.allow_unsandboxed,
        )
    except CollsimError:
        return ()
    return tuple(verdicts.items())


@job(lambda draft: estimate_synthesis(draft.ranks), compiled=is_compiled, in_worker=True)
def race_program(draft: ProgramDraft) -> Synthesized:
    """The schedule of a program in a race with known ones and a synthesized one.

    Args:
        draft: The program and how it is run; its messages make a schedule.
    """
    run = run_draft(draft)
    if not isinstance(run.schedule, Schedule):
        raise CollsimError("this program cannot be played as a schedule: {reason}", reason=run.schedule)
    return close_gap(cs.simulate(run.schedule, run.topology, run.nbytes, run.dtype), False)


def _write_file(content: Schedule | cs.Topology, suffix: str) -> str:
    """A schedule or a topology as a file; empty where the format cannot say what it has."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"program{suffix}")
        try:
            cs.save(content, path)
        except CollsimError:
            return ""
        return path.read_text(encoding="utf-8")


def _zip_dumps(run: ProgramRun) -> bytes:
    """The Flight Recorder's files of a run that hangs; empty for programs without torch."""
    if run.verdict != "hangs" or run.library != "torch":
        return b""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        for rank, data in run.flight_recorder().items():
            files.writestr(zipfile.ZipInfo(f"trace_{rank}"), data)  # without a date: equal runs are equal files
    return archive.getvalue()


def describe_run(run: ProgramRun, *, with_fixes: bool = True) -> ProgramVerdict:
    """What the page shows of a run.

    Args:
        run: Of a program.
        with_fixes: Also look for changes that help, each of which is run.
    """
    lines = [wait.line for wait in run.waits] + [error.line for error in run.errors]
    comparison = None
    if run.verdict == "right" and run.library_comparison is not None and any(run.sent):
        comparison = run.library_comparison.sentence
    results: tuple[str, ...] = ()
    if run.collective is None:
        results = tuple(" ".join(str(result).split())[:80] for result in run.results)
    restored = None
    if run.restored is not None:
        restored = run.restored.describe(), run.source
    counters: tuple[Counter, ...] = ()
    if run.verdict != "hangs":
        counters = build_counters(run)
    fixes: tuple[FixedProgram, ...] = ()
    if with_fixes:
        fixes = tuple(FixedProgram(fix.label, fix.source, fix.run.time, fix.ranks) for fix in run.fixes)
    verdict = ProgramVerdict(
        None,
        run.verdict,
        run.reason,
        run.time,
        run.sent,
        run.needs_buffering,
        len(run.execution.messages),
        max((message.nbytes for message in run.leftover), default=0),
        _list_rows(run),
        next((line for line in lines if line), None),
        (draw_program_lanes(run, WIDE, has_counters=True), draw_program_lanes(run, NARROW)),
        tuple(text[:_LONGEST_OUTPUT] for text in run.printed),
        results,
        comparison=comparison,
        collectives=_list_collectives(run),
        fixes=fixes,
        moments=list_moments(run),
        playback=build_playback(run, _find_fault_time(run)),
        counters=counters,
        logs=format_logs(run),
        dump=_zip_dumps(run),
        restored=restored,
    )
    return _add_schedule(verdict, run)


def _add_schedule(verdict: ProgramVerdict, run: ProgramRun) -> ProgramVerdict:
    """The verdict with the schedule that the messages of the run make, and its files; or with why they make none."""
    schedule = run.schedule
    if not isinstance(schedule, Schedule):
        return replace(verdict, no_schedule=schedule if run.verdict == "right" else None)
    rows = schedule.transfers
    msccl, schedule_file = (_write_file(schedule, suffix) for suffix in (".xml", ".json"))
    return replace(
        verdict,
        steps=schedule.steps,
        transfers=int((rows["src"] != rows["dst"]).sum()),
        timeline=build_encoded_timeline(cs.simulate(schedule, run.topology, run.nbytes, run.dtype)),
        msccl=msccl,
        schedule=schedule_file,
        network=_write_file(run.topology, ".yaml"),
    )


def _find_fault_time(run: ProgramRun) -> float:
    """When the message arrives after which a sum is wrong, in s; 0 where that is not known."""
    if run.sum_fault is None:
        return 0.0
    return run.timeline.messages[run.sum_fault.message].arrived or 0.0


def _list_collectives(run: ProgramRun) -> tuple[tuple[str, ...], ...]:
    """The first collectives as text."""
    rows = run.collectives.head(_MAX_ROWS)
    cells = rows.assign(nbytes=rows["nbytes"].map(format_bytes)).astype(str)
    return tuple(cells.itertuples(index=False, name=None))


def _list_rows(run: ProgramRun) -> tuple[tuple[str, ...], ...]:
    """The first messages as text."""
    rows = []
    for message, times in zip(run.execution.messages[:_MAX_ROWS], run.timeline.messages, strict=False):
        lines, arrived = str(message.send_line), "–"
        if message.recv_line is not None:
            lines += f" → {message.recv_line}"
        if times.arrived is not None:
            arrived = format_time(times.arrived)
        ends = f"{message.src} → {message.dst}"
        rows.append((ends, format_bytes(message.nbytes), lines, format_time(times.posted), arrived))
    return tuple(rows)
