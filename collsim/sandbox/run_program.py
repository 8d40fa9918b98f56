"""A stranger's rank program, executed in the sandbox: what comes back is what each execution left, and no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import CollsimError, ScheduleError
from ..rank_engine.execute import Execution
from ..rank_engine.record import unpack_executions
from .attempt import Ended, describe_ending, read_failure
from .frames import Ending, Kind, split_frames
from .handins import File
from .jobs import SandboxTask
from .learner_tables import FunctionRequest
from .rank_programs import ProgramRequest
from .resource_limits import Limits
from .sandbox_launcher import run_sandboxed

MAX_SECONDS = 20.0
_LIMITS = Limits(seconds=MAX_SECONDS, output=160_000_000, asks_for_line=True)
#: A line of the program in the stack of a process that did not even answer a signal: it computes below Python.
_LINE = re.compile(rb'File "<program>", line (\d{1,7})\b')


def execute_program(text: str, request: ProgramRequest, allow_unsandboxed: bool) -> list[Execution]:
    """Execute a program in the sandbox in all modes.

    Args:
        text: Python source.
        request: how it is started.
        allow_unsandboxed: run it also where this system has no sandbox.

    Returns:
        What each execution left; the first as the library does it.

    Raises:
        CollsimError: for a program that cannot be executed or takes more than it may.
    """
    for result in execute_for_requests(text, [request], allow_unsandboxed):
        if isinstance(result, CollsimError):
            raise result
        return result
    raise _describe_ending(Ended())


def execute_for_requests(
    text: str, requests: Sequence[ProgramRequest], allow_unsandboxed: bool
) -> Iterator[list[Execution] | CollsimError]:
    """Execute a program in one sandbox in several ways, each in a process of its own.

    Args:
        text: Python source.
        requests: how it is started.
        allow_unsandboxed: run it also where this system has no sandbox.

    Yields:
        For each request what the executions left, or why there are none.
    """
    tasks = [
        SandboxTask("", FunctionRequest(request.collective or "", (request.ranks,)), program=request)
        for request in requests
    ]
    files = [File("program.py", text.encode("utf-8", "replace"))]
    for _, ended in run_sandboxed(files, tasks, _LIMITS, allow_unsandboxed=allow_unsandboxed):
        yield _read_executions(ended)


def _read_executions(ended: Ended) -> list[Execution] | CollsimError:
    for kind, body in split_frames(ended.data):
        if kind == Kind.EXECUTIONS:
            try:
                return unpack_executions(bytes(body))
            except CollsimError as error:
                return error
        if kind == Kind.FAILED:
            return CollsimError(read_failure(body))
    return _describe_ending(ended)


def _describe_ending(ended: Ended) -> CollsimError:
    line = _LINE.search(ended.data)
    if ended.how == Ending.LATE and line is not None:
        return ScheduleError(
            "the program did not end within {seconds:g} seconds; it is in line {line}",
            seconds=_LIMITS.seconds,
            line=int(line[1]),
        )
    return ScheduleError(describe_ending(ended.how, _LIMITS))
