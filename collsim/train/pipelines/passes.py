"""The passes of a pipeline: what a rank runs of one microbatch in one stage."""

from __future__ import annotations

from typing import NamedTuple

FORWARD, BACKWARD, INPUT, WEIGHT = "F", "B", "I", "W"


class Action(NamedTuple):
    """One pass of a pipeline.

    Attributes:
        kind: `F` forward, `B` backward, or its halves: `I` gradients of the input, `W` gradients of the weights.
        stage: of the model, from 0.
        microbatch: from 0.
    """

    kind: str
    stage: int
    microbatch: int


#: What a rank runs, in order; passes in one entry run as one (DualPipe's overlapped forward and backward).
PassOrder = list[tuple[Action, ...]]
