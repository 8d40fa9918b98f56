"""The event engine, compiled at the start of the server."""

from __future__ import annotations

import gc
import threading

from .computation import Tab
from .worker import compile_engine
from .worker_pool import get_worker_pool

#: Seconds that it takes to compile the engine (docs/performance.md); to load what was compiled takes 0.6.
COMPILE_SECONDS = 10.0
#: Waits for what is computed before any page is open.
SERVER = Tab("the server")


class EngineLoader:
    """Loads the event engine into this process, once it is compiled.

    Attributes:
        is_ready: set when it is loaded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.is_ready = threading.Event()

    def prepare(self) -> None:
        """Let a worker compile the engine, so that this process only has to load it, and load it. Returns when it is
        loaded."""
        with self._lock:
            if self.is_ready.is_set():
                return
            get_worker_pool().wait_for(SERVER, compile_engine, (), COMPILE_SECONDS)
            self.load()

    def load(self) -> None:
        """Load the engine here, or compile it where that was not done before."""
        compile_engine()
        # Streamlit collects garbage after every rerun. What is loaded by now stays to the end: looking through all of
        # it each time took a third of a second, under the lock that all pages share.
        gc.collect()
        gc.freeze()
        self.is_ready.set()


ENGINE = EngineLoader()
