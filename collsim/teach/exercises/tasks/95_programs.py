"""Rank programs: make one hang, make one right, and make one that sends no more than a ring has to."""

from __future__ import annotations

from ....package_data import read_texts
from ..kinds.program_task import ProgramTask

_STARTERS = read_texts(__file__, "starters.toml")
TASKS = (
    ProgramTask("make-it-hang", starter=_STARTERS["make-it-hang"], verdict="hangs"),
    ProgramTask("make-it-right", starter=_STARTERS["make-it-right"]),
    ProgramTask("one-and-a-half-buffers", starter=_STARTERS["one-and-a-half-buffers"], sent=lambda n: 2 * (n - 1) / n),
)
