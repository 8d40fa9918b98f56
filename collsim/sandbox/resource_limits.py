"""What a stranger's function may use."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PRINTED = 2_000  # characters
MAX_SLOTS = 1_000_000  # of all endpoints together
MAX_FRAMES = 1_000  # of one attempt; an exercise tries about ten numbers of ranks
OPEN_FILES = 64


@dataclass(frozen=True)
class Limits:
    """What a learner's function may use: seconds, bytes, steps and transfers for one attempt, all its numbers of ranks
    together.

    Attributes:
        seconds: by the clock, and of processor time.
        memory: bytes beyond what the process has before the function is called.
        steps: that the function may yield.
        transfers: in these steps.
        output: bytes of the tables of one attempt, 24 for each transfer.
        asks_for_line: whether a process that is late is asked where it is before it is ended: by SIGXCPU, which its
            Python may answer, then by SIGQUIT, at which its stack is written as text (`faulthandler`).
    """

    seconds: float = 10.0
    memory: int = 1 << 30
    steps: int = 20_000
    transfers: int = 2_000_000
    output: int = 100_000_000
    asks_for_line: bool = False
