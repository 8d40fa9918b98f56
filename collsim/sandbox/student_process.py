"""The process around a student's code: told over stdin what to run, it runs each function in a child of its own, and
answers with what these sent and how they ended.

It is isolated as well (see `isolation`), but its memory is not the students': an endless loop in one exercise costs
only that one. Nothing here judges.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import sys
from typing import Any

from ..plugins import disable
from . import system
from .frames import build_ending
from .handins import File
from .isolation import Isolation
from .jobs import SandboxTask, run_tasks
from .learner_tables import FunctionRequest
from .rank_programs import ProgramRequest
from .resource_limits import Limits
from .sandbox_launcher import run_in_child


def main() -> None:
    """Read the job, answer on what was stdout; students' code finds stdout closed."""
    disable()
    if system.get_machine():
        system.call_prctl(system.DEATH_SIGNAL, signal.SIGKILL)
        # A task runs as the same user: without this it could trace this process, or read its memory in /proc.
        system.call_prctl(system.DUMPABLE, 0)
        if _has_lost_reader(1):  # it ended while this Python started, which the signal does not tell afterwards
            return
    if hasattr(os, "nice"):
        os.nice(5)  # a class that clicks about goes before code that computes
    job = json.load(sys.stdin)
    answers_to = os.dup(1)
    # stdin has been read to its end, so what a library prints goes nowhere, and not between the answers.
    os.dup2(0, 1)
    files = [File(name, base64.b64decode(data)) for name, data in job["files"]]
    limits, isolation = Limits(**job["limits"]), Isolation(job["isolation"])
    tasks = [_read_task(task) for task in job["tasks"]]
    for number, ended in run_tasks(
        files, tasks, job["find"], limits, lambda run: run_in_child(run, limits, isolation, job["places"])
    ):
        left = memoryview(build_ending(number, ended.how, ended.data))
        while left:
            left = left[os.write(answers_to, left) :]


def _has_lost_reader(pipe: int) -> bool:
    """Whether nobody can read any longer what is written into a pipe."""
    watched = select.poll()
    watched.register(pipe, 0)  # an error is reported unasked
    return any(event & select.POLLERR for _, event in watched.poll(0))


def _read_task(task: dict[str, Any]) -> SandboxTask:
    conditions = task.pop("request")
    function_request = FunctionRequest(
        conditions["collective"], tuple(conditions["ranks"]), conditions["helpers"], conditions["is_new"]
    )
    if (request := task.pop("program")) is not None:
        task["program"] = ProgramRequest(**request)
    return SandboxTask(request=function_request, **task)
