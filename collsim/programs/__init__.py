"""Rank programs: run what one rank runs, on simulated ranks, and say whether it is right or who waits for whom.

- `rewrite`: functions of a program become generators, so that a rank can be suspended in the middle of a call.
- `engine`: ranks take turns; messages, collectives and groups are matched.
- `calls`: what the rewritten code calls.
- `tensors`, `torch_dialect`, `mpi_dialect`, `process_dialect`: the libraries that programs import.
- `execute`: one execution in one mode; `wait_graph`: cycles of ranks that wait; `expected`: results of collectives.
- `start`: the entry of a program and its arguments; `judge`: the verdict of all modes; `record`: executions as JSON.
"""

from __future__ import annotations

from .engine import Message
from .execute import RankError, RankWait
from .judge import ProgramRun

__all__ = ["Message", "ProgramRun", "RankError", "RankWait"]
