"""What each rank of a pipeline runs, in order, as the libraries publish it.

A stage is a part of the model; a rank holds `interleave` of them. Sources, torch 2.13: torch/distributed/pipelining/
schedules.py (ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B); Megatron-LM, megatron/core/pipeline_parallel/
schedules.py, which has the same orders for 1F1B and the interleaved one where the microbatches are a multiple of the
ranks. Empty slots, with which torch's tables line their ranks up, are left out: a rank waits for what it needs.
"""

from __future__ import annotations

from ...errors import CollsimError
from ...limits import MAX_TASKS, require_few
from .passes import BACKWARD, FORWARD, INPUT, WEIGHT, Action, PassOrder
from .zero_bubble import build_dualpipe_order, build_zbv_order

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipe-v")


def assign_stages(schedule: str, ranks: int, interleave: int) -> list[int]:
    """Assign the stages of the model to ranks: around and around, or (zbv, dualpipe-v) there and back, as a V.

    Args:
        schedule: Name of the schedule.
        ranks: Ranks of the pipeline.
        interleave: Stages of a rank.

    Returns:
        The rank of each stage.
    """
    first_pass = list(range(ranks))
    if schedule in ("zbv", "dualpipe-v"):
        return first_pass + first_pass[::-1]
    return first_pass * interleave


def build_orders(schedule: str, ranks: int, micros: int, interleave: int) -> list[PassOrder]:
    """Build the order of every rank.

    Args:
        schedule: Name of the schedule.
        ranks: Ranks of the pipeline.
        micros: Microbatches of the step.
        interleave: Stages of a rank.

    Returns:
        The orders, by rank.

    Raises:
        CollsimError: The schedule cannot take so many microbatches, or there are more passes than a step may have
            tasks.
    """
    runs = micros
    if schedule == "zbv":
        runs = max(micros, 2 * ranks - 1)
    require_few("passes of a pipeline", 2 * ranks * interleave * runs, MAX_TASKS, "use fewer microbatches or stages")
    return [build_rank_order(schedule, ranks, rank, micros, interleave) for rank in range(ranks)]


def build_rank_order(schedule: str, ranks: int, rank: int, micros: int, interleave: int) -> PassOrder:
    """Build the order of one rank.

    Args:
        schedule: Name of the schedule.
        ranks: Ranks of the pipeline.
        rank: The rank.
        micros: Microbatches of the step.
        interleave: Stages of a rank.

    Returns:
        What the rank runs, in order.

    Raises:
        CollsimError: The schedule cannot take so many microbatches.
    """
    if schedule == "gpipe":
        return [(Action(kind, rank, micro),) for kind in (FORWARD, BACKWARD) for micro in range(micros)]
    if schedule == "1f1b":
        return _build_1f1b_order(ranks, rank, micros)
    if schedule in ("interleaved", "zero-bubble"):
        return _build_interleaved_order(ranks, rank, micros, interleave, schedule == "zero-bubble")
    if schedule == "zbv":
        return build_zbv_order(ranks, rank, micros)
    if micros < 2 * ranks:
        message = "dualpipe-v on {ranks} ranks needs at least {least} microbatches, got {micros}; zbv takes any number"
        raise CollsimError(message, ranks=ranks, least=2 * ranks, micros=micros)
    return build_dualpipe_order(ranks, rank, micros)


def _build_1f1b_order(ranks: int, rank: int, micros: int) -> PassOrder:
    """ranks - rank - 1 forward passes ahead, then one of each in turn (Megatron's schedules.py,
    forward_backward_pipelining_without_interleaving)."""
    # A microbatch is back after it went through the ranks behind this one: with so many ahead the rank never waits, and
    # it holds no more activations than that.
    ahead = min(ranks - rank - 1, micros)
    out = [Action(FORWARD, rank, micro) for micro in range(ahead)]
    for micro in range(micros - ahead):
        out += [Action(FORWARD, rank, ahead + micro), Action(BACKWARD, rank, micro)]
    out += [Action(BACKWARD, rank, micro) for micro in range(micros - ahead, micros)]
    return [(action,) for action in out]


def count_round_microbatches(ranks: int, micros: int) -> int:
    """Count the microbatches that go through a stage before the next stage of the rank: as many as ranks, or all where
    there are fewer (torch's number_of_rounds).

    Args:
        ranks: Ranks of the pipeline.
        micros: Microbatches of the step.

    Returns:
        Microbatches of a round.

    Raises:
        CollsimError: Rounds would differ.
    """
    rounds = max(1, micros // ranks)
    if micros % rounds:
        fits = micros // ranks * ranks
        raise CollsimError(
            "{micros} microbatches do not make {rounds} equal rounds on {ranks} ranks, which interleaved stages go "
            "in; use a multiple of {ranks}: {fits} or {more}",
            micros=micros,
            rounds=rounds,
            ranks=ranks,
            fits=fits,
            more=fits + ranks,
        )
    return micros // rounds


def _build_interleaved_order(ranks: int, rank: int, micros: int, interleave: int, split: bool) -> PassOrder:
    """Stages around and around; with `split` backward passes in halves (torch's _get_1f1b_rank_ops)."""
    group, total = count_round_microbatches(ranks, micros), interleave * micros
    backward, hops = BACKWARD, 2 * (ranks - 1 - rank)
    if split:
        backward, hops = INPUT, ranks - 1 - rank
    # Before the first backward pass: all rounds of the rank's earlier stages, and as many passes as the last stage
    # takes to answer. A backward pass in one piece waits for the way there and back, one in halves is answered after
    # one way.
    ahead = min((interleave - 1) * group + hops, total)
    passes = _Passes(ranks, rank, group, interleave)
    for op in range(ahead):
        passes.add_pass(FORWARD, op)
    for op in range(total):
        if ahead + op < total:
            passes.add_pass(FORWARD, ahead + op)
        passes.add_pass(backward, op)
        # Weights' gradients are computed where the rank would wait otherwise, `rank` passes later.
        if split and op >= rank:
            passes.add_pass(WEIGHT, op - rank)
    if split:
        for op in range(max(0, total - rank), total):
            passes.add_pass(WEIGHT, op)
    return passes.out


class _Passes:
    """Passes of a rank's stages, numbered in the order in which each kind runs."""

    def __init__(self, ranks: int, rank: int, group: int, interleave: int):
        self.ranks, self.rank, self.group, self.interleave = ranks, rank, group, interleave
        self.out: PassOrder = []

    def add_pass(self, kind: str, number: int) -> None:
        # A round is `group` microbatches through each stage of the rank: all of one stage, then all of the next.
        round_number, within_round = divmod(number, self.group * self.interleave)
        stage_turn, micro = divmod(within_round, self.group)
        if kind == FORWARD:
            local_stage = stage_turn
        else:
            # Backward passes go through the rank's stages from the last to the first.
            local_stage = self.interleave - 1 - stage_turn
        self.out.append((Action(kind, local_stage * self.ranks + self.rank, round_number * self.group + micro),))
