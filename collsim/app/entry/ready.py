"""What is prepared at the start, so that nobody waits for it in class: the pages, the first page's picture, the event
engine, the first program."""

from __future__ import annotations

import time
from importlib import import_module

from ..jobs.engine_warmup import ENGINE
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
    import_module("collsim.app.entry.first_program").judge()
