"""The two schedules in which a rank holds two stages, first and last of a V.

zbv: Qi et al. 2024 (arXiv 2405.15362), as torch 2.13 has it (ScheduleZBVZeroBubble). dualpipe_v: DeepSeek's DualPipe
cut in half (deepseek-ai/DualPipe, dualpipe/dualpipev.py), as torch has it (ScheduleDualPipeV).
"""

from __future__ import annotations

from collections import deque

from .passes import BACKWARD, FORWARD, INPUT, WEIGHT, Action, PassOrder


class _Ends:
    """Passes of a rank's two stages; each kind of a stage counts its microbatches by itself."""

    def __init__(self, ranks: int, rank: int):
        self.stages = rank, 2 * ranks - 1 - rank
        self.count = {(kind, end): 0 for kind in (FORWARD, INPUT, WEIGHT) for end in (0, 1)}
        self.out: PassOrder = []

    def next(self, kind: str, end: int) -> Action:
        """The next pass of a kind; a whole backward pass counts as both of its halves."""
        key = (INPUT if kind == BACKWARD else kind), end
        action = Action(kind, self.stages[end], self.count[key])
        self.count[key] += 1
        if kind == BACKWARD:
            self.count[WEIGHT, end] += 1
        return action

    def add_passes(self, *kinds: tuple[str, int]) -> None:
        """Add the next pass of each of these kinds, none overlapped with another."""
        self.out += [(self.next(kind, end),) for kind, end in kinds]


def build_zbv_order(ranks: int, rank: int, micros: int) -> PassOrder:
    """Build the order of a rank as torch does, for at least 2·ranks − 1 microbatches, of which those that are too many
    are left out.

    Args:
        ranks: Ranks of the pipeline.
        rank: The rank.
        micros: Microbatches of the step.

    Returns:
        What the rank runs, in order.
    """
    many, ends = max(2 * ranks - 1, micros), _Ends(ranks, rank)
    back = [((INPUT, end), (WEIGHT, end)) for end in (0, 1)]
    # Down the V: so many microbatches leave before the first one comes back up to this rank.
    for _ in range(2 * (ranks - rank) - 1):
        ends.add_passes((FORWARD, 0))
    # Up the V: the two stages in turn, until the first gradient comes down again.
    for _ in range(rank):
        ends.add_passes((FORWARD, 1), (FORWARD, 0))
    for _ in range(ranks - rank):
        ends.add_passes((FORWARD, 1), *back[1])
    # Steady: a forward pass and both halves of a backward pass on either stage.
    count = ends.count
    while count[FORWARD, 1] < count[FORWARD, 0] or count[FORWARD, 0] < many:
        if count[FORWARD, 0] < many:
            ends.add_passes((FORWARD, 0))
        ends.add_passes(*back[0], (FORWARD, 1), *back[1])
    # Nothing comes in any more. Input halves go first, as other ranks wait for them; weight halves, for which nobody
    # waits, fill the gaps that would be the bubble.
    for _ in range(rank):
        ends.add_passes((INPUT, 0), (INPUT, 1))
    for _ in range(ranks - rank):
        ends.add_passes((INPUT, 0), (WEIGHT, 0))
    for end in (1, 0):
        while count[WEIGHT, end] < count[INPUT, end]:
            ends.add_passes((WEIGHT, end))
    return [entry for entry in ends.out if entry[0].microbatch < micros]


def build_dualpipe_order(ranks: int, rank: int, micros: int) -> PassOrder:
    """Build the order of a rank in eight phases, named as in dualpipev.py.

    Args:
        ranks: Ranks of the pipeline.
        rank: The rank.
        micros: Microbatches of the step, at least 2·ranks.

    Returns:
        What the rank runs, in order.
    """
    ends, later = _Ends(ranks, rank), deque[Action]()

    def add_input_half(end: int) -> None:
        action = ends.next(BACKWARD, end)
        ends.out.append((action._replace(kind=INPUT),))
        later.append(action._replace(kind=WEIGHT))

    def add_weight_half() -> None:
        ends.out.append((later.popleft(),))

    def add_overlapped(forward: int, backward: int) -> None:
        ends.out.append((ends.next(FORWARD, forward), ends.next(BACKWARD, backward)))

    for _ in range(2 * (ranks - rank - 1)):  # nF0
        ends.add_passes((FORWARD, 0))
    for _ in range(rank + 1):  # nF0F1
        ends.add_passes((FORWARD, 0), (FORWARD, 1))
    for _ in range(ranks - rank - 1):  # nB1W1F1
        add_input_half(1)
        add_weight_half()
        ends.add_passes((FORWARD, 1))
    for i in range(micros - 2 * ranks + rank + 1):  # nF0B1F1B0
        # The last rank holds the bottom of the V: its first backward pass is of what its own forward pass just made, so
        # the two cannot overlap.
        if i == 0 and rank == ranks - 1:
            ends.add_passes((FORWARD, 0), (BACKWARD, 1))
        else:
            add_overlapped(0, 1)
        add_overlapped(1, 0)
    for _ in range(ranks - rank - 1):  # nB1F1B0
        ends.add_passes((BACKWARD, 1))
        add_overlapped(1, 0)
    for i in range(2 * (rank + 1)):  # nB1B0, the second half in halves
        end = 1 - i % 2
        if i >= 2 * ((rank + 1) // 2) + (1 - rank % 2):
            add_input_half(end)
        else:
            ends.add_passes((BACKWARD, end))
    for _ in range(ranks - rank - 1):  # nWB0
        add_weight_half()
        add_input_half(0)
    for _ in range(rank + 1):  # nW
        add_weight_half()
    return ends.out
