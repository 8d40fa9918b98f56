"""Rank programs: run what one rank runs, on simulated ranks, and say whether it is right or who waits for whom.

- `program`: a program is executed in the sandbox (`collsim.rank_engine`); `judge`: the verdict of all modes.
- `timing`: when each message moved on a network; `message_schedule`: the schedule that the messages make.
- `fixes`: changes after which a program does not hang.
- `hangs`: a catalogue of programs that hang.
- `job_records`: what a job called before it hung; cycles of ranks that wait.
"""

from __future__ import annotations

from ..rank_engine.engine import Message
from ..rank_engine.execute import RankError, RankWait
from .hangs import Hang, list_hangs
from .job_records.record_files import load_hang
from .judge import ProgramRun

__all__ = ["Hang", "Message", "ProgramRun", "RankError", "RankWait", "list_hangs", "load_hang"]


def __dir__() -> list[str]:
    return sorted(__all__)
