"""The passes of a pipeline: what a rank runs of one microbatch in one stage."""

from __future__ import annotations

from typing import NamedTuple

FORWARD, BACKWARD, INPUT, WEIGHT = "F", "B", "I", "W"


class Action(NamedTuple):
    """One pass: kind (F forward, B backward, I and W its halves: gradients of the input, of the weights), the stage of
    the model, the microbatch."""

    kind: str
    stage: int
    microbatch: int


#: What a rank runs, in order; passes in one entry run as one (DualPipe's overlapped forward and backward).
PassOrder = list[tuple[Action, ...]]
