"""The verdict on a rank program: right, wrong, hanging, or right by luck only.

Every program is executed in several modes (see `RunMode`); where they differ, the program depends on what MPI and torch
leave open: when the bytes of a message are read, which message a receive from any source takes, and how large a message
is buffered.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..collective import get_collective
from ..errors import CollsimError, Sentence, Words, join_words
from ..errors.dependencies import pandas as pd
from ..rank_engine.engine import (
    MAIN,
    MAX_BYTES,
    MAX_CALLS,
    MAX_ENGINE_STEPS,
    MAX_MESSAGES,
    MAX_STEPS,
    MAX_THREADS,
    Message,
    RunMode,
    SilentFault,
)
from ..rank_engine.execute import MISSING_ARGUMENT, Execution, RankError, RankWait
from ..rank_engine.expected import is_close
from ..rank_engine.modes import UNLIMITED
from ..rank_engine.pasted_source import RestoredSource
from ..rank_engine.record import strip_addresses
from ..sandbox.run_program import MAX_SECONDS
from ..schedule import Schedule
from ..simulate import FlowTrace, Trace, simulate, simulate_flows
from ..simulate.trace import views
from ..topology import Topology
from ..topology.parts.rank_selection import select_ranks
from ..units import format_numbers
from .collective_calls import tabulate_collectives
from .fixes import Fix, Rerun, find_fixes
from .job_records.analysis import analyze_record
from .job_records.flight_recorder import write_dump
from .job_records.hang_report import HangReport
from .job_records.recorded_run import record_run
from .job_records.records import JobRecord
from .job_records.timeouts import DEFAULT_TIMEOUT, TimeoutLog, write_mpi_logs, write_torch_logs
from .job_records.wait_graph import find_cycles
from .library_comparison import LibraryComparison, compare_with_library
from .message_schedule import build_message_schedule
from .program_timing import ProgramTimeline, build_plain_network, time_events
from .sum_fault import SumFault

Verdict = Literal["right", "ends", "wrong", "hangs", "error", "race"]
_LONGEST_VALUE, _LONGEST_ERROR = 60, 200  # characters of a result, and of an error, in a sentence
_SCHEDULED = ("allreduce", "reduce", "broadcast")
_MAX_SHOWN = 8  # waits in a sentence


@dataclass(frozen=True)
class ProgramRun:
    """What came of a rank program.

    Attributes:
        verdict: `right`: every rank has the expected result, whatever timing does; `ends`: nothing was expected of it;
            `wrong`: some rank has another result, or a buffer is changed while it is under way; `hangs`; `error`: an
            exception ended a rank; `race`: the result depends on which message comes first.
        reason: why, in a sentence.
        ranks: how many ranks ran.
        results: what each rank returned, left in its output buffer, or last called `result`.
        waits: ranks that cannot go on, with call, line and peers; empty unless it hangs.
        cycle: the ranks of the shortest cycle of waits, or None; `cycles` has all that share no rank. -1 is the main
            thread of a program that starts threads or processes itself, which is no rank.
        errors: exceptions that ended ranks.
        printed: what each rank printed.
        leftover: messages that nobody received.
        execution: the calls and messages of every rank, as the engine recorded them.
        machine: the network that gives the times.
        late: seconds by which ranks begin later.
        collective: what the program should do, or None.
        nbytes: bytes of each rank's array.
        dtype: of its elements.
        source: the program, as it was run.
        restored: what was put back in it that a web page had lost; None where it was Python.
        rerun: runs another source on a number of ranks in the same way.
        timeout: s after which a library gives up.
        library: what its messages are sent with: `torch`, `mpi4py`, or nothing where neither is imported.
        needs_buffering: it ends by luck: where each send waits for its receive, it does not.
        sum_fault: where a wrong sum goes wrong, where that is known.
        array_fixes: changes after which a function of one process does what its name says.

    Examples:
        >>> import collsim as cs
        >>> hang = cs.programs.list_hangs()["send_first"]
        >>> run = cs.program(hang.source, ranks=2)
        >>> run.verdict, run.cycle
        ('hangs', (0, 1))
    """

    verdict: Verdict
    reason: Sentence
    ranks: int
    results: tuple[object, ...]
    waits: tuple[RankWait, ...]
    cycle: tuple[int, ...] | None
    errors: tuple[RankError, ...]
    printed: tuple[str, ...]
    leftover: tuple[Message, ...]
    execution: Execution = field(repr=False)
    machine: Topology | None = None
    late: Mapping[int, float] = field(default_factory=dict)
    collective: str | None = None
    nbytes: int = 0
    dtype: str = "float32"
    source: str = field(default="", repr=False)
    restored: RestoredSource | None = field(default=None, repr=False)
    rerun: Rerun | None = field(default=None, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    library: str = ""
    needs_buffering: bool = False
    sum_fault: SumFault | None = None
    array_fixes: tuple[Fix, ...] = ()

    @property
    def output(self) -> tuple[object, ...]:
        """Each rank's buffer, as the program left it, where a collective was expected; None for the others."""
        if self.collective is None:
            return (None,) * len(self.results)
        return self.results

    @property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """The cycles of waits that share no rank, the shortest first."""
        return tuple(find_cycles(self.waits))

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.verdict in ("right", "ends")

    @property
    def sent(self) -> tuple[int, ...]:
        """Bytes that each rank sent in messages of its own."""
        return self._sum_bytes("src")

    @property
    def received(self) -> tuple[int, ...]:
        """Bytes that each rank received in messages of its own."""
        return self._sum_bytes("dst")

    def _sum_bytes(self, end: str) -> tuple[int, ...]:
        totals = [0] * self.ranks
        for message in self.execution.messages:
            if end == "src" or message.matched is not None:
                totals[getattr(message, end)] += message.nbytes
        return tuple(totals)

    @property
    def messages(self) -> pd.DataFrame:
        """The messages, a row for each in the order of the sends: `src`, `dst`, `tag`, `nbytes`; `posted`, `matched`
        and `arrived` in seconds (when the send was called, when both ends had been, when the last byte was there; empty
        for what never happened); `send_line` and `recv_line`."""
        names = ["src", "dst", "tag", "nbytes", "posted", "matched", "arrived", "send_line", "recv_line"]
        rows = [
            [m.src, m.dst, m.tag, m.nbytes, t.posted, t.matched, t.arrived, m.send_line, m.recv_line]
            for m, t in zip(self.execution.messages, self.timeline.messages, strict=True)
        ]
        frame = pd.DataFrame(rows, columns=names)
        return frame.astype({"matched": float, "arrived": float, "recv_line": "Int64"})

    @property
    def collectives(self) -> pd.DataFrame:
        """The collectives of its library that ended, a row for equal calls in the order of their first: `line`, `call`,
        `ranks` that take part, `nbytes` and `dtype` of the buffer of the group's first rank, and `calls`."""
        return tabulate_collectives(self.execution)

    @cached_property
    def timeline(self) -> ProgramTimeline:
        """When each message moved, and when each rank waited. Computing takes no time."""
        return time_events(self.execution.events, self.execution.groups, self.ranks, self.topology, self.late)

    @cached_property
    def topology(self) -> Topology:
        """The network that gives the times."""
        return self.machine or build_plain_network(self.ranks)

    @property
    def time(self) -> float:
        """Seconds until the last rank has ended; in a hang, until nothing moves any more."""
        return self.timeline.time

    @cached_property
    def schedule(self) -> Schedule | Sentence:
        """The schedule that the messages make: right, with chunks as the program cuts its data; or why there is none.

        A program has one where it is said what it should do (`collective=`), its messages hold sums of its inputs, and
        which messages it sends does not depend on the numbers.
        """
        if self.collective is None or self.verdict != "right" or self.execution.provenance is None:
            return Sentence("only the messages of a program that is right make a schedule; say collective=")
        if self.collective not in _SCHEDULED:
            return Sentence("schedules are built of the messages of {known}", known=", ".join(_SCHEDULED))
        kind = get_collective(self.collective)
        return build_message_schedule(self.execution, self.execution.provenance, kind, self.ranks)

    @cached_property
    def trace(self) -> Trace | FlowTrace:
        """The schedule, simulated without barriers with the same late ranks; where there is none, the messages alone,
        each beginning when it began in `timeline`."""
        schedule = self.schedule
        if isinstance(schedule, Schedule):
            return simulate(
                schedule, self.topology, self.nbytes, self.dtype, "event", late=self.late, eager=self._is_eager
            )
        moved = [
            (message, times.begin)
            for message, times in zip(self.execution.messages, self.timeline.messages, strict=True)
            if times.begin is not None and message.src != message.dst
        ]
        hosts = select_ranks(self.topology, self.ranks)
        src, dst = ([int(hosts[getattr(message, end)]) for message, _ in moved] for end in ("src", "dst"))
        nbytes, begins = [message.nbytes for message, _ in moved], [begin for _, begin in moved]
        return simulate_flows(self.topology, src, dst, nbytes, begins)

    def animate(self, language: str = "en", **options: object) -> object:
        """Play the schedule of the program.

        Args:
            language: `en` or `zh`.
            options: the other options of `Trace.animate`.

        Returns:
            The player.

        Raises:
            CollsimError: where the messages make no schedule, with the reason.
        """
        trace = self.trace
        if not isinstance(trace, Trace):
            raise CollsimError("this program cannot be played as a schedule: {reason}", reason=self.schedule)
        return trace.animate(language, **options)

    @cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """Changed programs, each of them run: they do not hang, or their function of one process does what its name
        says. Empty where nothing has to be changed, or no change is known."""
        if self.array_fixes:
            return self.array_fixes
        if self.verdict != "hangs" or self.rerun is None:
            return ()
        lines = sorted({wait.line for wait in self.waits})
        return find_fixes(self.source, lines, self.ranks, self.rerun)

    @property
    def fix(self) -> Fix | None:
        """The first of `fixes`."""
        return next(iter(self.fixes), None)

    @cached_property
    def library_comparison(self) -> LibraryComparison | None:
        """How a program that is right compares with what the library runs for the same collective, on the same machine:
        `.sentence` says how many times as long it takes, because of what. None for other programs."""
        if self.verdict != "right" or self.collective is None:
            return None
        ran = self.execution.events, self.execution.groups, self.ranks, self.topology, self.late
        return compare_with_library(self.collective, *ran, self.nbytes, self.dtype, self.time, max(self.sent))

    @cached_property
    def record(self) -> JobRecord:
        """What each rank called, in its order."""
        return record_run(self.execution.events, self.execution.groups, self.ranks)

    @cached_property
    def hang(self) -> HangReport:
        """Which rank is behind, at which call, and who never called: the report that `cs.programs.load_hang` makes of
        the files of a real job."""
        return analyze_record(self.record, "simulation")

    def flight_recorder(self) -> dict[int, bytes]:
        """Write what each rank called as PyTorch's Flight Recorder does with NCCL.

        Returns:
            By rank the bytes of a file. Saved as `trace_0`, `trace_1` ... in a folder, `torchfrtrace FOLDER -p trace_`
            reads them, and so does `cs.programs.load_hang(FOLDER)`.

        Raises:
            CollsimError: for a program without torch.
        """
        if self.library != "torch":
            raise CollsimError("a Flight Recorder dump is of torch.distributed, and this program does not import it")
        return {rank: write_dump(self.record, rank, self.timeout) for rank in range(self.ranks)}

    @property
    def timeout_logs(self) -> tuple[TimeoutLog, ...]:
        """What libraries print after `timeout` in a run that hangs: NCCL's watchdog and gloo by rank, or the launchers
        of MPI; nothing for a run that ends, and for programs without a library."""
        if self.verdict != "hangs" or not self.library:
            return ()
        if self.library == "torch":
            return write_torch_logs(self.record, self.waits, self.timeout)
        return write_mpi_logs(self.timeout)

    @property
    def _is_eager(self) -> bool:
        """Whether no send waits for its receive."""
        return all(event.is_eager for event in self.execution.events if event.kind == "send")

    def explanation(self, language: str = "en") -> str:
        """Say what came of it.

        Args:
            language: `en` or `zh`.

        Returns:
            A few sentences.
        """
        return self._full_reason.text(language)

    def __str__(self) -> str:
        return f"{self.verdict}: {self._full_reason}"

    @property
    def _full_reason(self) -> Sentence:
        if self.restored is None:
            return self.reason
        return Sentence("{restored} {reason}", restored=self.restored.describe(), reason=self.reason)

    def _repr_html_(self) -> str:
        html: str = views["program_html"](self)
        return html


# ---- the verdict ---------------------------------------------------------------------------------------------------


def judge(
    ranks: int,
    executions: Sequence[Execution],
    expect: Callable[[int], object] | None,
    limit: float,
) -> ProgramRun:
    """Say what the executions of a program mean.

    Args:
        ranks: how many ranks ran.
        executions: what `execute_modes` returned.
        expect: the result that each rank should have; None: nothing is expected.
        limit: messages up to so many bytes are buffered; -1: none.

    Returns:
        The verdict and its reason.
    """
    first, by_mode = executions[0], {execution.mode: execution for execution in executions}
    # The order of the tests is the order of what a reader has to repair first: errors, hangs, wrong data, races.
    if first.errors:
        return _conclude(ranks, first, "error", _describe_error(first))
    if first.hangs:
        reason: Words = _describe_hang(first)
        buffered = by_mode.get(RunMode(UNLIMITED), first)
        if not buffered.hangs and not buffered.errors:
            reason = Sentence("{hang} It ends where every message is buffered.", hang=reason)
        elif any(not execution.hangs and not execution.errors for execution in executions if execution.mode.choices):
            reason = Sentence("{hang} It ends where another message comes first.", hang=reason)
        return _conclude(ranks, first, "hangs", reason)
    if first.faults:
        return _conclude(ranks, first, "wrong", _describe_faults(first.faults))
    # What a buffer holds when its bytes are read as late as allowed must be the same, or it was changed too early.
    late = by_mode.get(RunMode(limit, is_late=True), first)
    has_result = expect is not None  # else what is printed is the result of a script as well
    if not _agree(first, late, has_result):
        return _conclude(ranks, first, "wrong", _describe_late(first, late))
    # Only runs that served a wildcard otherwise can show a race.
    orders = [execution for execution in executions if execution.mode.choices]
    others = [execution for execution in orders if not _agree(first, execution, has_result)]
    if others:
        return _conclude(ranks, first, "race", _describe_race(first, others, len(orders)))
    if wrong := _find_wrong(first, expect):
        return _conclude(ranks, first, "wrong", _add_unawaited(wrong, first))
    # A program may be right only because its messages are buffered; the strict run tells.
    strict = by_mode.get(RunMode(), first)
    if strict.hangs and _are_mismatched(strict):
        return _conclude(ranks, first, "wrong", _describe_passing_mismatch(strict))
    verdict: Verdict = "right"
    if expect is None:
        verdict = "ends"
    run = _conclude(ranks, first, verdict, _describe_end(first, strict, expect, limit))
    return replace(run, needs_buffering=strict.hangs or bool(strict.errors))


def describe_single(reason: Sentence, verdict: Verdict) -> Sentence:
    """The reason of a verdict on a program of one process, which holds what ranks would.

    Args:
        reason: Of the verdict.
        verdict: Of the program.
    """
    if verdict == "error":
        reason = Sentence("{error}.", error=reason)
    return Sentence(
        "{reason} One process holds all arrays: there are no ranks in it, and nothing is sent, so it shows neither "
        "a ring nor any other way that data take between ranks.",
        reason=reason,
    )


def _conclude(ranks: int, execution: Execution, verdict: Verdict, reason: Words) -> ProgramRun:
    cycles = find_cycles(execution.waits)
    return ProgramRun(
        verdict,
        Sentence.from_words(reason).capitalize(),
        ranks,
        execution.results,
        execution.waits,
        cycles[0] if cycles else None,
        execution.errors,
        execution.printed,
        tuple(message for message in execution.messages if message.matched is None),
        execution,
    )


def _agree(first: Execution, second: Execution, has_result: bool) -> bool:
    """Whether two executions ended alike."""
    return not (second.hangs or second.errors or _list_differing_ranks(first, second, has_result))


def _list_differing_ranks(first: Execution, second: Execution, has_result: bool = False) -> list[int]:
    """The ranks that ended otherwise; of a program without an expected result also those that printed otherwise."""
    return [
        rank
        for rank, (result, printed) in enumerate(zip(first.results, first.printed, strict=True))
        if not _is_equal(result, second.results[rank])
        or (not has_result and strip_addresses(printed) != strip_addresses(second.printed[rank]))
    ]


def _is_equal(first: object, second: object) -> bool:
    try:
        return bool(np.array_equal(np.asarray(first), np.asarray(second)))
    except ValueError:  # nested lists of unequal lengths
        return bool(first == second)


def _find_wrong(execution: Execution, expect: Callable[[int], object] | None) -> Words | None:
    """The sentence about the first rank whose result is not the expected one."""
    if expect is None:
        return None
    compared: tuple[object, object] | None = None  # the ranks of an allreduce share both arrays (`share_arrays`)
    for rank, result in enumerate(execution.results):
        expected = expect(rank)
        if compared is not None and result is compared[0] and expected is compared[1]:
            continue
        if not is_close(result, expected):
            return _describe_wrong(rank, result, expected)
        compared = (result, expected)
    return None


# ---- sentences -----------------------------------------------------------------------------------------------------


def _describe_wrong(rank: int, result: object, expected: object) -> Words:
    try:
        values, wanted = np.asarray(result, float), np.asarray(expected, float)
    except (TypeError, ValueError):
        values = wanted = np.zeros(0)
    if values.shape == wanted.shape and values.size:
        element = int(np.argmax(~np.isclose(values.reshape(-1), wanted.reshape(-1), rtol=1e-6)))
        value, expected_value = (float(numbers.reshape(-1)[element]) for numbers in (values, wanted))
        message = "Rank {rank} holds {value:g} in element {element}; {expected:g} is expected."
        return Sentence(message, rank=rank, value=value, element=element, expected=expected_value)
    if values.shape != wanted.shape and max(values.size, wanted.size) > _MAX_SHOWN:
        message = "Rank {rank} holds an array of shape {shape}; one of shape {expected} is expected."
        return Sentence(message, rank=rank, shape=str(values.shape), expected=str(wanted.shape))
    message = "Rank {rank} holds {value}; {expected} is expected."
    return Sentence(message, rank=rank, value=_shorten(result), expected=_shorten(expected))


def _shorten(value: object, longest: int = _LONGEST_VALUE) -> str:
    text = " ".join(str(value).split())
    if len(text) > longest:
        return f"{text[: longest - 3]}..."
    return text


def _describe_error(execution: Execution) -> Words:
    error = execution.errors[0]
    if error.limit is not None:
        return _describe_limit(error)
    if error.missing_argument is not None:
        entry, name = (_shorten(word) for word in error.missing_argument)
        return Sentence("No rank begins: {message}", message=Sentence(MISSING_ARGUMENT, entry=entry, name=name))
    values: dict[str, object] = {"rank": max(error.rank, 0), "kind": error.kind, "line": error.line}
    sentence = Sentence("Rank {rank} ends in {kind} in line {line}", **values)
    if error.text:  # a MemoryError has none
        message = _shorten(error.text, _LONGEST_ERROR)
        sentence = Sentence("Rank {rank} ends in {kind} in line {line}: {message}", **values, message=message)
    if not execution.waits:
        return sentence
    waits = join_words(_describe_calls(execution.waits))
    return Sentence("{error}. Others then wait for it: {waits}.", error=sentence, waits=waits)


def _describe_limit(error: RankError) -> Words:
    """Where a run was stopped, and the limit that it reached."""
    # Each limit has its own sentence, since each has its own remedy.
    stop = Sentence("Rank {rank} is stopped in line {line}", rank=max(error.rank, 0), line=error.line)
    if error.limit == "messages":
        message = "{stop}: it has sent more than {messages:,} messages or {nbytes:,} bytes, with all ranks together"
        return Sentence(message, stop=stop, messages=MAX_MESSAGES, nbytes=MAX_BYTES)
    if error.limit == "calls":
        return Sentence("{stop}: the ranks have made more than {most:,} calls together", stop=stop, most=MAX_CALLS)
    if error.limit == "threads":
        return Sentence("{stop}: more than {most:,} threads or coroutines are begun", stop=stop, most=MAX_THREADS)
    if error.limit == "turns":
        return Sentence("{stop}: the ranks took {most:,} turns and have not ended", stop=stop, most=MAX_ENGINE_STEPS)
    if error.limit == "steps":
        return Sentence(
            "{stop} after {most:,} steps, a turn of a loop counted as one and each call as ten more: the loop or the "
            "function there does not seem to end",
            stop=stop,
            most=MAX_STEPS,
        )
    message = "{stop} after {seconds:g} s: the loop or the function there does not seem to end"
    return Sentence(message, stop=stop, seconds=MAX_SECONDS)


def _describe_hang(execution: Execution) -> Words:
    """Who waits for whom: calls that do not match, a cycle if there is one, or a rank that waits for one that has
    ended."""
    if all(wait.is_collective for wait in execution.waits) and not any(wait.ended for wait in execution.waits):
        return _describe_crossed_groups(execution) or _describe_mismatch(execution.waits)
    # A cycle is shown alone: what waits behind it follows from it.
    by_rank = {wait.rank: wait for wait in execution.waits}
    cycles = find_cycles(execution.waits)
    stuck = [rank for cycle in cycles for rank in cycle] or sorted(by_rank)
    waiting = [by_rank[rank] for rank in stuck[:_MAX_SHOWN]]
    waits = join_words([_describe_wait(wait) for wait in waiting], "{first}; {then}")
    # Ranks behind the cycle are counted, not listed.
    rest = len(execution.waits) - len(waiting)
    if rest:
        waits = Sentence("{waits}, and {count} more wait behind them", waits=waits, count=rest)
    if len(cycles) > 1:
        ranks = join_words(
            [
                " → ".join("main" if rank == MAIN else str(rank) for rank in (*cycle, cycle[0]))
                for cycle in cycles[:_MAX_SHOWN]
            ]
        )
        waits = Sentence(
            "{waits}. These are {count} separate cycles: {ranks}", waits=waits, count=len(cycles), ranks=ranks
        )
    calls = {by_rank[rank].call.lower() for rank in stuck}
    if cycles and calls <= {"send", "ssend"}:
        return Sentence("{waits}. All of them send, and none has called a receive.", waits=waits)
    if cycles and calls == {"recv"}:
        return Sentence("{waits}. All of them receive, and none has sent.", waits=waits)
    return Sentence("{waits}.", waits=waits)


def _are_mismatched(execution: Execution) -> bool:
    """Whether ranks wait only because their collectives are not the same in the same order."""
    if any(not wait.is_collective or wait.ended for wait in execution.waits):
        return False
    return _describe_crossed_groups(execution) is None


def _describe_faults(faults: Sequence[SilentFault]) -> Words:
    """The first of what a library does not notice, with where else that is."""
    fault = faults[0]
    same = [other for other in faults if (other.kind, other.call) == (fault.kind, fault.call)][:_MAX_SHOWN]
    calls = join_words(
        [
            Sentence("rank {ranks} in {call} (line {line})", ranks=other.rank, call=other.call, line=other.line)
            for other in same
        ]
    )
    if fault.kind == "dropped":
        return Sentence(
            "Nobody keeps the handle and waits: {calls}. gloo forgets a message with its handle, unless its other end "
            "has been called before; the other rank may then wait forever. Keep what {call} returns, and call wait().",
            calls=calls,
            call=fault.call,
        )
    if fault.kind == "gaps":
        return Sentence(
            "The elements of a tensor do not lie one after another: {calls}. gloo takes as many as there are from the "
            "first one on, and these are others. Give it a copy: t.contiguous().",
            calls=calls,
        )
    details = join_words([Sentence("{text} on rank {rank}", text=other.detail, rank=other.rank) for other in same])
    return Sentence(
        "Ranks differ in what no library compares: {calls}: {details}. The program goes on with wrong numbers.",
        calls=calls,
        details=details,
    )


def _describe_passing_mismatch(strict: Execution) -> Words:
    """A program that ends, as small messages of a root are buffered, although its collectives do not match."""
    return Sentence(
        "{mismatch} A library may let small messages of a root pass: what it then does is not defined, and MPICH ends "
        "in an error or with wrong numbers.",
        mismatch=_describe_hang(strict),
    )


def _describe_crossed_groups(execution: Execution) -> Words | None:
    """Ranks in collectives of several groups, each of which waits for a rank that is in another; None for one group."""
    groups = {
        event.rank: execution.groups[event.group]
        for event in execution.events
        if event.kind == "collective" and not event.is_complete
    }
    cycles = find_cycles(execution.waits)
    # One group cannot be crossed; the cycle has other reasons then.
    if not cycles or len({groups.get(rank) for rank in cycles[0]}) == 1:
        return None
    by_rank = {wait.rank: wait for wait in execution.waits}
    calls = []
    for wait in (by_rank[rank] for rank in cycles[0][:_MAX_SHOWN]):
        ranks = {"members": format_numbers(groups.get(wait.rank, ())), "peers": format_numbers(wait.peers)}
        message = "rank {rank} waits in {call} (line {line}) of the group of ranks {members} for rank {peers}"
        calls.append(Sentence(message, rank=wait.rank, call=wait.call, line=wait.line, **ranks))
    message = "{calls}: ranks that are in several groups have to call them in one order."
    return Sentence(message, calls=join_words(list(calls), "{first}; {then}"))


def _describe_mismatch(waits: Sequence[RankWait]) -> Words:
    """Ranks in collectives that do not match."""
    message = "{calls}: all ranks have to make the same collective calls in the same order, with the same sizes."
    return Sentence(message, calls=join_words(_describe_calls(waits)))


def _describe_calls(waits: Sequence[RankWait]) -> list[Words]:
    """Where ranks wait, those of one call and line together."""
    by_call: dict[tuple[str, int], list[int]] = {}
    for wait in waits:
        by_call.setdefault((wait.call, wait.line), []).append(wait.rank)
    return [
        Sentence("rank {ranks} in {call} (line {line})", ranks=format_numbers(ranks), call=call, line=line)
        for (call, line), ranks in by_call.items()
    ]


def _describe_wait(wait: RankWait) -> Words:
    values: dict[str, object] = {"waiter": _name_ranks((wait.rank,)), "call": wait.call, "line": wait.line}
    if wait.ended:
        peers = _name_ranks(wait.ended)
        return Sentence("{waiter} waits in {call} (line {line}) for {peers}, which has ended", **values, peers=peers)
    if not wait.peers:
        return Sentence("{waiter} waits in {call} (line {line})", **values)
    message = "{waiter} waits in {call} (line {line}) for {peers}"
    return Sentence(message, **values, peers=_name_ranks(wait.peers[:_MAX_SHOWN]))


def _name_ranks(ranks: Sequence[int]) -> Words:
    """`rank 0, 2`, or the process that starts threads, which is no rank."""
    if MAIN in ranks:
        return Sentence("the main thread")
    return Sentence("rank {ranks}", ranks=", ".join(map(str, ranks)))


def _describe_late(first: Execution, late: Execution) -> Words:
    if late.hangs or late.errors:
        return Sentence("It ends otherwise where the bytes of a message are read as late as they may be.")
    ranks = _list_differing_ranks(first, late)
    calls = dict.fromkeys(
        (event.call, event.line)
        for event in first.events
        if event.kind in ("send", "receive") and event.call.lower().startswith("i")  # isend, Irecv: they do not wait
    )
    return Sentence(
        "A buffer is changed or read while a message is under way: where the bytes are moved as late as they may be, "
        "rank {rank} ends with another result. Call wait() of {calls} before the buffer is used.",
        rank=ranks[0],
        calls=join_words(
            [Sentence("{call} (line {line})", call=call, line=line) for call, line in list(calls)[:_MAX_SHOWN]]
        ),
    )


def _describe_race(first: Execution, others: Sequence[Execution], orders: int) -> Words:
    """What differs in the first of other orders of arrival, in which receive it begins, and in how many it differs."""
    second, receive = others[0], _find_choice(first, others[0])
    # The other order may not even end.
    if second.errors or second.hangs:
        end = _describe_hang(second)
        if second.errors:
            end = Sentence("{error}.", error=_describe_error(second))
        sentence = Sentence("It depends on timing. Where another message comes first: {end}", end=end)
    else:
        sentence = _describe_difference(first, second)
    if receive is not None:
        sentence = Sentence(
            "{sentence} Rank {rank} takes what comes first in line {line}.",
            sentence=sentence,
            rank=receive[0],
            line=receive[1],
        )
    message = "{sentence} Other orders of arrival that were run: {orders}; it ends otherwise in {count} of them."
    return Sentence(message, sentence=sentence, orders=orders, count=len(others))


def _describe_difference(first: Execution, second: Execution) -> Sentence:
    """What a rank ends with or prints in two orders of arrival."""
    if ranks := _list_differing_ranks(first, second, has_result=True):
        return Sentence(
            "It depends on timing: rank {rank} ends with {result} or {second}, depending on which message comes first.",
            rank=ranks[0],
            result=_shorten(first.results[ranks[0]]),
            second=_shorten(second.results[ranks[0]]),
        )
    rank = _list_differing_ranks(first, second)[0]
    lines = itertools.zip_longest(first.printed[rank].splitlines(), second.printed[rank].splitlines(), fillvalue="")
    result, other = next(pair for pair in lines if pair[0] != pair[1])
    message = "It depends on timing: rank {rank} prints {result} or {second}, depending on which message comes first."
    return Sentence(message, rank=rank, result=repr(_shorten(result)), second=repr(_shorten(other)))


def _find_choice(first: Execution, second: Execution) -> tuple[int, int] | None:
    """Rank and line of the first receive that takes a message of another rank in a second execution."""
    takes = []
    for execution in (first, second):
        matched = [message for message in execution.messages if message.matched is not None]
        matched.sort(key=lambda message: message.matched or 0)
        by_rank: dict[int, list[tuple[int, int | None]]] = {}
        for message in matched:
            by_rank.setdefault(message.dst, []).append((message.src, message.recv_line))
        takes.append(by_rank)
    for rank in sorted(takes[0]):
        for (src, line), (other_src, _) in zip(takes[0][rank], takes[1].get(rank, ()), strict=False):
            if src != other_src and line is not None:
                return rank, line
    return None


def _add_unawaited(reason: Words, execution: Execution) -> Words:
    """The reason, with the calls that return at once and that nobody waits for."""
    if not execution.unawaited:
        return reason
    calls = [Sentence("{call} (line {line})", call=call, line=line) for call, line in execution.unawaited[:_MAX_SHOWN]]
    return Sentence(
        "{reason} No rank waits for {calls}: before wait() a buffer may still be read, and it need not hold the "
        "result.",
        reason=reason,
        calls=join_words(calls),
    )


def _describe_end(first: Execution, strict: Execution, expect: Callable[[int], object] | None, limit: float) -> Words:
    reason: Words = Sentence("All ranks end.")
    if expect is not None:
        reason = Sentence("Every rank has the expected result.")
    if count := sum(message.matched is None for message in first.messages):
        reason = Sentence("{reason} Messages that nobody received: {count}.", reason=reason, count=count)
    reason = _add_unawaited(reason, first)
    if strict.hangs or strict.errors:
        reason = Sentence(
            "{reason} By luck: it needs messages up to {limit:,.0f} bytes to be buffered; where each send waits for "
            "its receive, it does not end.",
            reason=reason,
            limit=limit,
        )
    return reason
