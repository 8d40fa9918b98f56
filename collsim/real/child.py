"""What the processes of ranks run, and what one that ended said last."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ..errors import Sentence

_PACKAGE = str(Path(__file__).resolve().parents[1])
_PROGRAM = """
import sys, types
for name, folder in (("collsim", {root!r}), ("collsim.real", {root!r} + "/real")):
    sys.modules[name] = types.ModuleType(name); sys.modules[name].__path__ = [folder]
from collsim.real.ranks.{module} import main; main()
"""


def program_of(module: str) -> str:
    """The Python of `main` of a module of `ranks`: it imports that module and those it needs, not the package around
    them, which loads tables and takes a second of a processor."""
    return _PROGRAM.format(root=_PACKAGE, module=module)


def last_line(process: subprocess.Popen[bytes]) -> Sentence | str:
    """`: ` and the last line that a process which has ended wrote to stderr; empty where it wrote none."""
    assert process.stderr is not None
    last = process.stderr.read().decode(errors="replace").strip().splitlines()[-1:]
    return Sentence(": {last}", last=last[0]) if last else ""
