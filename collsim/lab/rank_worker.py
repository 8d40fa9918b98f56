"""What the processes of ranks run, and what one that ended said last."""

from __future__ import annotations

import subprocess
from itertools import dropwhile, takewhile
from pathlib import Path

from ..errors import Sentence

_PACKAGE = str(Path(__file__).resolve().parents[1])
_PROGRAM = """
import sys, types
for name, folder in (("collsim", {root!r}), ("collsim.lab", {root!r} + "/lab")):
    sys.modules[name] = types.ModuleType(name); sys.modules[name].__path__ = [folder]
from collsim.lab.ranks.{module} import main; main()
"""


def build_program(module: str) -> str:
    """The Python of `main` of a module of `ranks`: it imports that module and those it needs, not the package around
    them, which loads tables and takes a second of a processor.

    Args:
        module: Of the package `ranks`, without its name: "by_mpi".
    """
    return _PROGRAM.format(root=_PACKAGE, module=module)


def read_last_line(process: subprocess.Popen[bytes]) -> Sentence | str:
    """`: ` and the last line that a process which has ended wrote to stderr, or the first paragraph where that line is
    one of the dashes with which Open MPI frames what it says; empty where it wrote nothing.

    Args:
        process: Ended, with stderr as a pipe.
    """
    assert process.stderr is not None
    lines = process.stderr.read().decode(errors="replace").strip().splitlines()
    last = " ".join(_select_framed(lines) if lines and _is_frame(lines[-1]) else lines[-1:]).strip()
    return Sentence(": {last}", last=last) if last else ""


def _is_frame(line: str) -> bool:
    return set(line.strip()) == {"-"}


def _select_framed(lines: list[str]) -> list[str]:
    """The lines of the first paragraph."""
    inner = dropwhile(lambda line: not line.strip() or _is_frame(line), lines)
    return list(takewhile(str.strip, inner))
