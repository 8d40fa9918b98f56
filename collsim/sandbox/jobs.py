"""What is run for a stranger's files: one job for each function, before it one that looks which functions there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from .attempt import Ended
from .frames import Kind, read_numbers, split_frames
from .handins import File, load_from_text, load_function, send_found_exercises
from .learner_tables import FunctionRequest, Send, send_tables
from .rank_programs import ProgramRequest, send_answer, send_executions
from .resource_limits import Limits

Job = Callable[[Send], None]
FINDING = -1  # the position of the job that looks


@dataclass(frozen=True)
class SandboxTask:
    """What is to run in the sandbox: a function, or a file that is a rank program.

    Attributes:
        exercise: whose function it is; empty for a rank program that answers none.
        request: what the function is called for.
        function: its name in the file; empty: the one that answers the exercise.
        file: number of the file, from 0.
        program: how the rank program is run; None for a function.
    """

    exercise: str
    request: FunctionRequest
    function: str = ""
    file: int = 0
    program: ProgramRequest | None = None


def run_tasks(
    files: Sequence[File], tasks: Sequence[SandboxTask], finds: bool, limits: Limits, run_job: Callable[[Job], Ended]
) -> Iterator[tuple[int, Ended]]:
    """Run the tasks, or those that a file answers.

    Args:
        files: as they were handed in.
        tasks: functions to call.
        finds: whether to look first which tasks the files answer.
        limits: of each task.
        run_job: runs a job in a process of its own.

    Returns:
        Positions of tasks with how these ended.
    """
    pending = dict(enumerate(tasks))
    if finds:
        exercises = [task.exercise for task in tasks]
        ended = run_job(lambda send: send_found_exercises(files, exercises, send))
        yield FINDING, ended
        pending = _select_tasks(ended, len(files), tasks)
    for number, task in pending.items():
        yield number, run_job(lambda send, task=task: _run(files, task, limits, send))  # type: ignore[misc]


def _select_tasks(ended: Ended, files: int, tasks: Sequence[SandboxTask]) -> dict[int, SandboxTask]:
    """The tasks that a file answers, by position; a later file goes before an earlier one."""
    file_of: dict[int, int] = {}
    for kind, body in split_frames(ended.data):
        (file, exercise), _ = read_numbers(body, 2)
        if kind == Kind.FOUND and 0 <= file < files and 0 <= exercise < len(tasks):
            file_of[exercise] = file
    return {number: replace(tasks[number], file=file_of[number]) for number in sorted(file_of)}


def _run(files: Sequence[File], task: SandboxTask, limits: Limits, send: Send) -> None:
    file = files[task.file]
    if task.program is not None and task.exercise:
        send_answer(file, task.exercise, task.program, task.request.ranks, send)
    elif task.program is not None:
        send_executions(file.data.decode(), task.program, send)
    elif task.function:
        send_tables(lambda: load_from_text(file.data.decode(), task.function, file.name), task.request, limits, send)
    else:
        send_tables(lambda: load_function(file, task.exercise), task.request, limits, send)
