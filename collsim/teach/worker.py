"""The process in which one student's code runs: told over stdin what to run, it answers with tables of transfers, a
line per exercise.

Every exercise runs in a child of this process (see `guard`), so that an endless loop in one costs only that one.
Nothing here judges.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from ..registry import Algorithm
from . import confine
from .guard import Limits, apart, produce


def main() -> None:
    """Read the job, answer on what was stdout; students' code finds stdout closed."""
    confine.adopt_orphans()
    job = json.load(sys.stdin)
    limits = Limits(**job["limits"])
    answers_to = os.dup(1)
    for task in job["tasks"]:
        frames, ending = apart(lambda send, task=task: _run(task, limits, answers_to, send), limits)  # type: ignore[misc]
        confine.end_children()
        line = json.dumps(
            {"exercise": task["exercise"], "ending": ending, "frames": [base64.b64encode(f).decode() for f in frames]}
        )
        data = line.encode() + b"\n"
        while data:
            data = data[os.write(answers_to, data) :]


def _run(task: dict[str, Any], limits: Limits, answers_to: int, send: Callable[[bytes], None]) -> None:
    if hasattr(os, "fork"):  # in a child: what it writes must not look like an answer
        os.close(answers_to)
    produce(lambda: _function(task), task["collective"], task["ranks"], limits, task["helpers"], send)


def _function(task: dict[str, Any]) -> Any:
    """The student's function, from their code, under a module of its own."""
    import linecache
    import types

    name = f"{task['student']}.py"
    module = types.ModuleType("handed_in")
    sys.modules["handed_in"] = module
    code = task["code"]
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    exec(compile(code, name, "exec"), module.__dict__)
    found = getattr(module, task["function"])
    return found.function if isinstance(found, Algorithm) else found
