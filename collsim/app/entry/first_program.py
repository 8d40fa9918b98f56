"""The first program of the page Bring your program, judged at the start: so the process that judges programs has
loaded all that it needs, and nobody waits for it in class."""

from __future__ import annotations

from collsim.sandbox import Isolation, detect_isolation

from ..jobs.computation import Tab, TooManyJobs
from ..jobs.worker_pool import get_worker_pool
from ..pages.program.program_drafts import ProgramDraft
from ..pages.program.program_verdict import judge_program

_SERVER = Tab("the server")


def judge() -> None:
    """Judge it where the system has a sandbox; elsewhere nothing runs before somebody has agreed."""
    if detect_isolation() is Isolation.NONE:
        return
    pool = get_worker_pool()
    try:
        job = pool.submit(_SERVER, judge_program, (ProgramDraft(),), 0.0)
    except TooManyJobs:
        return
    while not job.over.wait(1.0):
        pool.refresh(_SERVER, job)
