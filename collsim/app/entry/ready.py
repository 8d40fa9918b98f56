"""What is made beside the start, so that nobody waits for it in class: the first page's picture, the event engine."""

from __future__ import annotations

import time

from ..jobs.engine import ENGINE
from . import first_frame

_LONG = 3.0  # seconds of which something is said


def get_ready() -> None:
    """Make both; say so where the engine had to be compiled."""
    first_frame.make()
    began = time.monotonic()
    ENGINE.prepare()
    if time.monotonic() - began > _LONG:
        print("  The event engine is compiled; after this it only has to be loaded.\n", flush=True)
