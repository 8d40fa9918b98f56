"""Progress report of a run: how far it is, and that the engine is being compiled."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

from ..display.progress import ProgressBar, open_progress
from .conditions import Progress

COUNTED = "transfers done", "in all"
_COMPILING = "compiling the event engine (once on this computer, about 10 s)"


@contextmanager
def report_waiting(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """The function that a run calls with (transfers done, in all).

    Args:
        progress: As in `simulate`: True for a bar, a function, or None.

    Yields:
        None where nobody wants to know.
    """
    with open_progress(progress, "transfers", *COUNTED) as report, ExitStack() as listening:
        if not isinstance(report, ProgressBar):
            yield report
            return
        bar = report

        def count(done: int, total: int) -> None:
            if not done:  # numba is loaded only by runs that need it, and those begin by saying 0
                _listen(bar, listening)
            bar(done, total)

        yield count


def _listen(bar: ProgressBar, until: ExitStack) -> None:
    """Say so on the bar when numba compiles, rather than loads what an earlier process has compiled."""
    if find_spec("numba") is None:
        return
    with defer_interrupt():
        from numba.core import event

    class Compilation(event.Listener):
        def on_start(self, event: object) -> None:
            bar.note(_COMPILING)

        def on_end(self, event: object) -> None:
            """The words stay until the next transfers are done: many functions are compiled one after another."""

    until.enter_context(event.install_listener("numba:compile", Compilation()))


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Ctrl-C waits until the end: numba interrupted while it is imported fails in every later run of the process, and
    an interrupt that comes while it loads or compiles, or while processes fork, may be lost."""
    # Signal handlers exist in the main thread only; None means that one was set outside Python and cannot be
    # restored.
    if (
        threading.current_thread() is not threading.main_thread()
        or (previous_handler := signal.getsignal(signal.SIGINT)) is None
    ):
        yield
        return
    pressed = []
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if pressed:
        # Only now, with the import or fork over, is it safe to deliver it.
        signal.raise_signal(signal.SIGINT)
