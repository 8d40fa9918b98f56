"""Rank programs: run what one rank runs, on simulated ranks, and say whether it is right or who waits for whom.

- `program`: a program is executed in the sandbox (`collsim.rank_engine`); `judge`: the verdict of all modes.
- `timing`: when each message moved on a network; `message_schedule`: the schedule that the messages make.
- `fixes`: changes after which a program does not hang.
- `hangs`: a catalogue of programs that hang.
- `job_records`: what a job called before it hung; cycles of ranks that wait.
"""

from typing import TYPE_CHECKING

from ..errors.attributes import answer_for_package

if TYPE_CHECKING:
    from ..rank_engine.engine import Message
    from ..rank_engine.execute import RankError, RankWait
    from .hangs.catalogue import Hang, list_hangs
    from .job_records.record_files import load_hang
    from .judge import ProgramRun

__all__ = ["Hang", "Message", "ProgramRun", "RankError", "RankWait", "list_hangs", "load_hang"]

if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__, __dir__ = answer_for_package(
        __name__,
        __all__,
        {
            ".rank_engine.engine": ("Message",),
            ".rank_engine.execute": ("RankError", "RankWait"),
            "hangs.catalogue": ("Hang", "list_hangs"),
            "job_records.record_files": ("load_hang",),
            "judge": ("ProgramRun",),
        },
    )
