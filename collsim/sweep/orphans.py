"""A worker does not outlive the sweep that started it, however that ended (`kill -9` tells nobody)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

_LOOK = 1.0  # s between two looks, where the system does not tell
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def begin_worker(parent: int) -> None:
    """What each worker process does first: not hear Ctrl-C, which a terminal sends to all, and end with `parent`.

    Args:
        parent: Its process id.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not _request_kill_signal():
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it ended before this was asked for
        os._exit(1)


def _request_kill_signal() -> bool:
    """Ask the kernel for SIGKILL when the parent ends; False where it is another kernel, or refuses."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
