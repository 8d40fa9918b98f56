"""Try a learner's code: read it, run it in a process of its own, check what it yields, and say where it goes wrong.

Nothing here knows Streamlit. What is returned is plain: sentences as keys and values, a schedule, a Trace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import collsim as cs
from collsim.errors import CollsimError, Sentence
from collsim.sandbox import Attempt, Limits, NoIsolation
from collsim.sandbox.allowlist import Code, Forbidden, check_code
from collsim.sandbox.attempt import Ended, read_attempt
from collsim.sandbox.handins import File
from collsim.sandbox.jobs import SandboxTask
from collsim.sandbox.learner_tables import FunctionRequest
from collsim.sandbox.sandbox_launcher import run_sandboxed
from collsim.schedule import Schedule

#: What one trial may use, for all numbers of ranks together.
LIMITS = Limits(seconds=4.0, memory=512 * 2**20, steps=2_000, transfers=50_000, output=16_000_000)
#: Numbers of ranks that code is tried with besides the chosen one: what is right for powers of two alone is seen.
OTHERS = (2, 3, 4, 5, 6, 7, 8)
_FILE = "editor"


@dataclass(frozen=True, eq=False)
class Trial:
    """What became of a piece of code.

    Attributes:
        ranks: the number of ranks that was asked for; `failed`: the one at which it went wrong, or None.
        schedule: the steps for `failed`, else for `ranks`; None where it did not come to steps.
        refused: why the code was not run at all.
        error: what is wrong, in every language.
        step, rank, chunk: where it went wrong; the step counts from 0. `line` of the code, from 1.
        right_for: numbers of ranks for which it is right.
        printed: what the code printed.
        stopped: the code did not come to its end for `failed` ranks, by a limit or an error; its result is unknown.
    """

    ranks: int
    schedule: Schedule | None = None
    refused: Forbidden | None = None
    failed: int | None = None
    error: Sentence | None = None
    step: int | None = None
    rank: int | None = None
    chunk: int | None = None
    line: int | None = None
    right_for: tuple[int, ...] = ()
    printed: str = ""
    stopped: bool = False

    @property
    def passed(self) -> bool:
        """Right for the number of ranks that was asked for."""
        return self.ranks in self.right_for

    def describe(self, language: str) -> str:
        """The sentence of the error; "" where the code has none.

        Args:
            language: `en` or `zh`.
        """
        if self.error is None:
            return ""
        return self.error.text(language)


def try_code(text: str, collective: str, ranks: int, *, allow_unsandboxed: bool = False) -> Trial:
    """Run the code for `ranks` ranks, then for 2 to 8, and check every result.

    Args:
        text: The code.
        collective: Name of the collective that it is for.
        ranks: Number of ranks.
        allow_unsandboxed: Whether the code may run where no sandbox is available.
    """
    try:
        code = check_code(text)
    except Forbidden as refused:
        return Trial(ranks, refused=refused, line=refused.line)
    request = (ranks, *(n for n in OTHERS if n != ranks))
    try:
        attempt = run_code(code, FunctionRequest(collective, request), allow_unsandboxed=allow_unsandboxed)
    except NoIsolation:
        return Trial(ranks, refused=Forbidden("write.unsandboxed"))
    right: list[int] = []
    failed: int = attempt.failed or ranks
    error: CollsimError | None = attempt.error
    schedule = attempt.schedules.get(ranks)
    for n, tried in attempt.schedules.items():
        try:
            cs.verify(tried)
        except CollsimError as wrong:
            failed, error = n, wrong
            if ranks not in right:
                schedule = tried
            break
        right.append(n)
    trial = Trial(ranks, schedule, right_for=tuple(right), printed=attempt.printed)
    if error is None:
        return trial
    position: dict[str, Any] = {key: getattr(error, key, None) for key in ("step", "rank", "chunk")}
    begin = getattr(error, "origin", None)
    if getattr(error, "from_start", False) or (begin is not None and begin.kind == "never"):
        position["step"] = None
    line = re.search(rf" at line (\d+) of {_FILE}\.py", str(error))
    stopped = error is attempt.error
    return replace(trial, failed=failed, error=error.sentence, line=line and int(line[1]), stopped=stopped, **position)


def run_code(code: Code, request: FunctionRequest, *, allow_unsandboxed: bool = False) -> Attempt:
    """Run the code in the sandbox.

    Args:
        code: The code and the name of its function.
        request: The collective and the numbers of ranks.
        allow_unsandboxed: Whether the code may run where no sandbox is available.

    Raises:
        NoIsolation: No sandbox is available, and `allow_unsandboxed` is False.
    """
    files, tasks = [File(f"{_FILE}.py", code.text.encode())], [SandboxTask("write", request, code.function)]
    results = dict(run_sandboxed(files, tasks, LIMITS, allow_unsandboxed=allow_unsandboxed))
    return read_attempt(results.get(0, Ended()), request, LIMITS)
