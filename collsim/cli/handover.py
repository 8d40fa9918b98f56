"""Give this process to another program."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NoReturn

import typer


def hand_over(command: list[str]) -> NoReturn:
    """Run a command in place of this process, so that a signal to it (SIGTERM of a class server's service) reaches the
    command; on Windows beside it, with its exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # exec there starts another process and returns to the shell at once
        raise typer.Exit(subprocess.call(command))
    os.execv(command[0], command)
