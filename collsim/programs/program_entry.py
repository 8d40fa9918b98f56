"""`program`: a rank program of the user, executed in the sandbox and judged here."""

from __future__ import annotations

import inspect
import os
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..collective import translate_collective
from ..errors import CollsimError, Sentence, require_flags
from ..errors.arguments import check_arguments
from ..files import read_source
from ..rank_engine.execute import StartPlan
from ..rank_engine.expected import ProgramCollective
from ..rank_engine.pasted_source import restore_source
from ..rank_engine.start import build_plan, expect_collective, find_eager_limit
from ..sandbox.rank_programs import ProgramRequest
from ..sandbox.run_program import execute_for_requests, execute_program
from ..simulate.conditions import parse_moment
from ..topology import Topology
from ..topology.parts.rank_selection import select_ranks
from ..topology_names import TopologyLike, resolve_topology
from ..units import ByteSize, Duration, parse_bytes
from .array_functions import find_array_function, report_array_function
from .job_records.timeouts import DEFAULT_TIMEOUT
from .judge import ProgramRun, Verdict, describe_single, judge
from .sum_fault import find_sum_fault

LONGEST_PROGRAM = 100_000  # characters
#: Modules of programs that start their ranks in one process.
_CONCURRENT = frozenset(("asyncio", "multiprocessing", "threading"))
_KNOWN_MODULES = ("numpy", "torch", "torch.distributed", "mpi4py", "mpi4py.MPI")


@check_arguments
def program(
    source: str | os.PathLike[str] | Callable[..., object],
    ranks: int = 4,
    collective: ProgramCollective | None = None,
    *,
    expect: Callable[[int], object] | None = None,
    entry: str | None = None,
    nbytes: ByteSize = "96B",
    eager_limit: ByteSize | None = None,
    arguments: Mapping[str, object] | None = None,
    machine: TopologyLike | None = None,
    late: Mapping[int, Duration] | None = None,
    timeout: Duration = DEFAULT_TIMEOUT,
    allow_unsandboxed: bool = False,
) -> ProgramRun:
    """Run a rank program, written with `torch.distributed`, mpi4py, threads and queues, `asyncio` or plain numpy.

    It runs on simulated ranks, without torch or MPI, in the sandbox and several times, so that what depends on timing,
    on buffering or on when a buffer is read shows.

    Args:
        source: Python source, a function, or a file as a `pathlib.Path` (a text is never read as the name of a file).
            Line breaks and indentation that a web page has lost are put back where the grammar says where they belong.
        ranks: how many ranks run it, 1 to 64; some faults show only with 3 or more.
        collective: what it should do: `allreduce`, `reduce`, `broadcast`, `allgather`, `gather`, `scatter`,
            `reduce_scatter` or `alltoall` (to and from rank 0). The entry gets an array that it changes in place (and
            returns its result where that has another length), or an array to send and one to fill: `allgather` and
            `gather` fill in the arrays of all ranks one after another, `scatter` and `reduce_scatter` one part of so
            many as there are ranks, and `alltoall` part r of each rank's array on rank r. Arrays that are cut are
            rounded up to whole parts. Where the entry takes no array, its numbers are its own and are not compared.
        expect: instead, the result that each rank should have, as a function of the rank; None from it: anything.
        entry: the function that every rank calls. Where it is not given: the function itself, one called as the
            collective, `run`, `main` or `program`, or the only one; else the whole file is run by every rank.
        nbytes: bytes of the array that each rank sends, a number or text such as `"1MiB"`; rounded down to whole
            elements (float32 where the program uses torch, else float64).
        eager_limit: messages up to so many bytes, a number or text, are buffered: their send returns at once. The
            library's by default: none for torch (gloo waits at every size), 8,112 bytes for mpi4py (MPICH 5.0.2 in
            shared memory, measured).
        arguments: more arguments of the entry, by name: numbers, texts and lists.
        machine: the network that gives the times, which has at least as many ranks; computers with Ethernet of
            10 Gbit/s on one switch unless given.
        late: how much later a rank begins, by rank: seconds, or text such as `"50ms"`.
        timeout: seconds, or text, after which a library gives up, more than 0. A hang is found without it; it is the
            time in what NCCL's watchdog, gloo and the launchers of MPI would print (`timeout_logs`).
        allow_unsandboxed: run it also where this system has no sandbox.

    Returns:
        The run: its `verdict` (right, ends, wrong, hangs, error or race), `explanation()`, `messages`, who waits for
        whom (`cycle`), what each rank has at the end (`results`), and `time` in s.

    Raises:
        CollsimError: for source that is not Python, a construct that is not run, an unknown entry or collective, and a
            program that takes more time, memory, messages or bytes than it may.

    Examples:
        >>> import collsim as cs
        >>> run = cs.program('''
        ... import torch.distributed as dist
        ... def swap(send, recv):
        ...     other = 1 - dist.get_rank()
        ...     dist.send(send, other)
        ...     dist.recv(recv, other)
        ... ''', ranks=2, entry="swap")
        >>> run.verdict, run.cycle
        ('hangs', (0, 1))
    """
    arguments = _require_call(entry, arguments, allow_unsandboxed)
    topology, delays = _read_machine(machine, ranks), _read_delays({} if late is None else late, ranks)
    _require_function(expect)
    seconds = _read_timeout(timeout)
    text, default = _read_source(source)
    restored = restore_source(text)  # a paste that has lost its line breaks; the run says so
    if restored is not None:
        text = restored.text
    plan = build_plan(text, ranks, entry or default, _translate(collective), nbytes, arguments)
    has_own_numbers = plan.collective is not None and expect is None and not plan.takes_array
    collective, expect = _choose_expected(plan, expect)
    limit = find_eager_limit(plan.program, eager_limit)
    request = ProgramRequest(ranks, plan.entry, collective, parse_bytes(nbytes), limit, dict(arguments))
    run = judge(ranks, execute_program(text, request, allow_unsandboxed), expect, limit)
    run_again = partial(
        program,
        collective=collective,
        entry=plan.entry,
        nbytes=nbytes,
        eager_limit=eager_limit,
        arguments=arguments,
        timeout=seconds,
        allow_unsandboxed=allow_unsandboxed,
    )

    def rerun(changed: str, count: int) -> ProgramRun:
        # A change of the number of ranks leaves nothing that `late`, `expect` and the machine could refer to.
        if count == ranks:  # these three are of so many ranks
            return run_again(changed, count, expect=expect, machine=topology, late=delays)
        return run_again(changed, count)

    run_source = partial(program, entry="", allow_unsandboxed=allow_unsandboxed)
    return replace(
        _complete_reason(run, plan, has_own_numbers, text, run_source),
        machine=topology,
        late=delays,
        collective=collective,
        nbytes=plan.elements * plan.dtype.itemsize,
        dtype=plan.dtype.name,
        source=text,
        restored=restored,
        rerun=rerun,
        timeout=seconds,
        library=plan.program.library,
    )


def _choose_expected(
    plan: StartPlan, expect: Callable[[int], object] | None
) -> tuple[ProgramCollective | None, Callable[[int], object] | None]:
    """The collective that a program is held to, and what it gives each rank; a program whose entry takes no array has
    numbers of its own, which no collective expects."""
    if plan.collective is None or expect is not None:
        return plan.collective, expect
    if not plan.takes_array:
        return None, None
    return plan.collective, expect_collective(plan, plan.collective)


def _complete_reason(
    run: ProgramRun,
    plan: StartPlan,
    has_own_numbers: bool,
    source: str,
    run_source: Callable[[str, int], ProgramRun],
) -> ProgramRun:
    """A run whose reason names the fault of its sums, where one is found, and says where there are no ranks, and where
    its numbers are compared with none."""
    if has_own_numbers and run.verdict == "ends":
        run = replace(run, reason=_describe_own_numbers(run.reason, plan.collective))
    if run.ranks > 1 and plan.is_single and not plan.program.imports & _CONCURRENT:
        return _describe_arrays(run, plan, source, run_source)
    fault = None
    if run.verdict == "wrong":
        fault = find_sum_fault(run.execution, run.ranks, plan.collective)
    if fault is None:
        return run
    return replace(run, reason=Sentence("{reason} {fault}", reason=run.reason, fault=fault.sentence), sum_fault=fault)


def _describe_arrays(
    run: ProgramRun, plan: StartPlan, source: str, run_source: Callable[[str, int], ProgramRun]
) -> ProgramRun:
    """A run of one process, whose reason says what its function does in place of what its name says."""
    run = replace(run, reason=describe_single(run.reason, run.verdict))
    function = find_array_function(plan.program.functions)
    if function is None:
        return run
    report = report_array_function(function, source, run_source)
    if report is None:
        return run
    reason = Sentence("{reason} {fault}", reason=run.reason, fault=report.sentence)
    return replace(run, reason=reason, array_fixes=report.fixes)


def _describe_own_numbers(reason: Sentence, collective: str | None) -> Sentence:
    """The reason of a program whose entry takes no array, where a collective was expected of it."""
    return Sentence(
        "{reason} The program brings numbers of its own, so they are not compared with those of {collective}; a "
        "function that takes an array to send and one to fill is compared.",
        reason=reason,
        collective=collective,
    )


def _require_call(
    entry: object, arguments: Mapping[str, object] | None, allow_unsandboxed: object
) -> Mapping[str, object]:
    """Check the name of a function, how it may run and the arguments that it gets; none are an empty table."""
    require_flags(allow_unsandboxed=allow_unsandboxed)
    if not isinstance(entry, str | None):
        raise CollsimError("entry={entry!r} must be the name of a function", entry=entry)
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        message = "arguments={arguments!r} must be values by name, as {{'steps': 3}}"
        raise CollsimError(message, arguments=arguments)
    return arguments


def _require_function(expect: object) -> None:
    if expect is not None and not callable(expect):
        raise CollsimError("expect={expect!r} must be a function of the rank, as lambda rank: 6.0", expect=expect)


def _read_timeout(timeout: Duration) -> float:
    seconds = parse_moment("timeout", timeout)
    if seconds <= 0:
        raise CollsimError("timeout={timeout!r} must be more than 0 seconds", timeout=timeout)
    return seconds


def find_verdicts(
    source: str,
    counts: Sequence[int],
    collective: str | None = None,
    *,
    nbytes: ByteSize = "96B",
    eager_limit: ByteSize | None = None,
    allow_unsandboxed: bool = False,
) -> dict[int, Verdict]:
    """Run a program with several numbers of ranks, in one sandbox.

    Args:
        source: Python source.
        counts: the numbers of ranks.
        collective: what it should do; None: anything.
        nbytes: bytes of each rank's array.
        eager_limit: messages up to so many bytes are buffered; the library's limit unless given.
        allow_unsandboxed: run it also where this system has no sandbox.

    Returns:
        The verdict for each number of ranks with which it can be run.
    """
    collective = _translate(collective)
    plans = {count: build_plan(source, count, None, collective, nbytes, {}) for count in counts}
    limits = {count: find_eager_limit(plan.program, eager_limit) for count, plan in plans.items()}
    requests = [
        ProgramRequest(count, plan.entry, collective, parse_bytes(nbytes), limits[count])
        for count, plan in plans.items()
    ]
    verdicts: dict[int, Verdict] = {}
    results = execute_for_requests(source, requests, allow_unsandboxed)
    for (count, plan), executions in zip(plans.items(), results, strict=False):
        if isinstance(executions, CollsimError):
            continue
        expect = None
        if collective is not None:
            expect = expect_collective(plan, collective)
        verdicts[count] = judge(count, executions, expect, limits[count]).verdict
    return verdicts


def _translate(collective: str | None) -> str | None:
    """The collective by collsim's name."""
    if collective is None:
        return None
    return translate_collective(collective)


def _read_machine(machine: TopologyLike | None, ranks: int) -> Topology | None:
    if machine is None:
        return None
    topology = resolve_topology(machine, "program")
    select_ranks(topology, ranks)  # refuses more ranks than there are
    return topology


def _read_delays(late: Mapping[int, Duration], ranks: int) -> dict[int, float]:
    if not isinstance(late, Mapping):
        raise CollsimError("late={late!r} must be times by rank, as {{2: '300us'}}", late=late)
    for rank in late:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < ranks:
            message = "late={rank!r} is no rank of the program; its ranks are 0 to {last}"
            raise CollsimError(message, rank=rank, last=ranks - 1)
    return {rank: parse_moment(f"late[{rank}]", delay) for rank, delay in late.items()}


def _read_source(source: str | os.PathLike[str] | Callable[..., object]) -> tuple[str, str | None]:
    """The text of a program, and the name of the function that it was given as."""
    if isinstance(source, (str, os.PathLike)):
        source = read_source(source)
        if len(source) > LONGEST_PROGRAM:
            message = "a program of {characters:,} characters is too long; {most:,} is the most"
            raise CollsimError(message, characters=len(source), most=LONGEST_PROGRAM)
        if not source.strip():
            raise CollsimError("the program is empty; give what one rank does, as def run(rank, size): ...")
        return source, None
    try:
        lines, first = inspect.getsourcelines(source)
    except (OSError, TypeError):
        raise CollsimError("a program is Python source, or a function whose source can be read") from None
    names = getattr(source, "__globals__", {})
    modules = {name: value.__name__ for name, value in names.items() if isinstance(value, types.ModuleType)}
    imports = [f"import {module} as {name}" for name, module in modules.items() if module in _KNOWN_MODULES]
    blank = "\n" * max(0, first - 2)  # the lines of a function keep the numbers that they have in its file
    return f"{blank}{'; '.join(imports)}\n{textwrap.dedent(''.join(lines))}", source.__name__
