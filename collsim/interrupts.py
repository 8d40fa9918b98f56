"""Ctrl-C while the command line loads or leaves: it ends at once, with exit code 130 and without a traceback.

The package imports this module before any other. Where it is the command that runs, an interrupt from now on ends the
process; in any other program, a notebook or a script, nothing changes. While a command works, `collsim.cli` lets
KeyboardInterrupt through, so that files and processes are put away.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

#: The exit code after Ctrl-C: 128 + SIGINT, as shells count.
STOPPED = 130


def end_process(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """End this process with exit code 130, without cleaning up. A signal handler.

    Args:
        number: Of the signal; not used.
        frame: Not used.
    """
    try:
        os.write(2, b"collsim: stopped\n")
    except OSError:
        pass
    finally:
        os._exit(STOPPED)


def is_command() -> bool:
    """Whether this process is `collsim ...` or `python -m collsim ...`."""
    words = sys.orig_argv
    if sys.argv[:1] == ["-m"]:  # while Python imports the package that it is going to run
        if "-m" in words:
            return words[words.index("-m") + 1 :][:1] == ["collsim"]
        return False
    return os.path.basename(sys.argv[0] if sys.argv else "") in ("collsim", "collsim.exe")


def raise_at_interrupt() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is end_process:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it is ignored after `nohup`
    signal.signal(signal.SIGINT, end_process)
