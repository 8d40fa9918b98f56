"""What is prepared at the start, so that nobody waits for it in class: the pages, the first page's picture, the event
engine, the first program."""

from __future__ import annotations

import time
from contextlib import suppress
from importlib import import_module

from collsim.sandbox import Isolation, detect_isolation

from ..jobs.computation import TooManyJobs
from ..jobs.engine_warmup import ENGINE, SERVER
from ..jobs.worker_pool import get_worker_pool
from . import first_frame

_LONG = 3.0  # seconds after which the terminal says what took them


def get_ready() -> None:
    """Prepare all of it; say so where the engine had to be compiled."""
    # The script of a page imports this, too. Two threads that import modules of one circle, each from another one,
    # would wait for each other; those that import the same module first do not.
    import_module("collsim.app.main")
    first_frame.make()
    began = time.monotonic()
    ENGINE.prepare()
    if time.monotonic() - began > _LONG:
        print("  The event engine is compiled; after this it only has to be loaded.\n", flush=True)
    judge_first_program()


def judge_first_program() -> None:
    """Judge the first program of the page Bring your program, so that the process that judges programs has loaded all
    that it needs. Where the system has no sandbox, nothing runs before somebody has agreed."""
    from ..pages.program.program_drafts import ProgramDraft
    from ..pages.program.program_verdict import judge_program

    if detect_isolation() is not Isolation.NONE:
        with suppress(TooManyJobs):
            get_worker_pool().wait_for(SERVER, judge_program, (ProgramDraft(),), 0.0)
