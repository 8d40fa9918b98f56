"""When the passes of a pipeline run: each rank takes them in its order, each as soon as what it reads is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...dtypes import Floats
from ...errors import CollsimError
from .passes import BACKWARD, FORWARD, WEIGHT, Action, PassOrder
from .pipeline_formulas import PipelineFormulas


@dataclass(frozen=True, eq=False)
class PipelineTiming:
    """When a pipeline's passes run.

    Attributes:
        time: s from the first forward pass to the end of the last backward pass.
        idle: (ranks,) s in which a rank computes nothing.
        peak_activations: (ranks,) most microbatches whose activations a rank keeps at once; an activation of one of its
            v stages counts 1/v. It is kept from the begin of its forward pass to the end of the backward pass (of the
            weights' half, where it is split).
        passes: (action, rank, begin, end) of every pass, by rank and time.
        stage_count: stages of the model.
        formulas: what formulas give for the same; None where they do not hold.

    Examples:
        >>> import collsim as cs
        >>> cs.pipeline(4).time_passes(microbatches=8).idle.tolist()
        [9.0, 9.0, 9.0, 9.0]
    """

    time: float
    idle: Floats
    peak_activations: Floats
    passes: tuple[tuple[Action, int, float, float], ...] = field(repr=False)
    stage_count: int = 0
    formulas: PipelineFormulas | None = None

    @property
    def bubble(self) -> float:
        """Share of the time of all ranks in which they compute nothing."""
        if self.time:
            return float(self.idle.mean()) / self.time
        return 0.0

    def list_activations(self, rank: int) -> list[tuple[float, float]]:
        """List how many activations a rank keeps over time.

        Args:
            rank: The rank.

        Returns:
            (moment in s, microbatches kept from then on).
        """
        share, changes = len(self.idle) / self.stage_count, dict[float, int]()
        for action, pass_rank, begin, end in self.passes:
            if pass_rank == rank and action.kind == FORWARD:
                changes[begin] = changes.get(begin, 0) + 1
            elif pass_rank == rank and action.kind in (BACKWARD, WEIGHT):
                changes[end] = changes.get(end, 0) - 1
        now, out = 0, []
        for moment in sorted(changes):
            now += changes[moment]
            out.append((moment, share * now))
        return out


def list_inputs(entry: tuple[Action, ...], last: int) -> list[tuple[bool, int, int]]:
    """List the results that an entry reads beyond what its own rank has run anyway. A backward pass reads the gradient
    that the next stage gives, of the last stage the loss.

    Args:
        entry: Passes that run as one.
        last: Number of the last stage.

    Returns:
        (whether it is of a forward pass, stage, microbatch) of each.
    """
    entry_results = (
        {(action.kind == FORWARD, action.stage, action.microbatch) for action in entry} if len(entry) > 1 else ()
    )
    out = []
    for kind, stage, micro in entry:
        if kind == FORWARD:
            read = (True, stage - 1, micro)
        elif kind == WEIGHT or stage == last:
            continue  # after its other half, after its forward pass: both are before it in the order of the rank
        else:
            read = (False, stage + 1, micro)
        if read[1] >= 0 and read not in entry_results:
            out.append(read)
    return out


def iterate_passes(
    orders: Sequence[PassOrder], last: int
) -> Iterator[tuple[int, tuple[Action, ...], list[tuple[bool, int, int]]]]:
    """Iterate over the passes of all ranks, each behind all that it reads.

    Args:
        orders: The order of each rank.
        last: Number of the last stage.

    Returns:
        (rank, entry, what it reads) of each entry.

    Raises:
        CollsimError: Ranks wait for one another forever.
    """
    done: set[tuple[bool, int, int]] = set()
    positions, left = [0] * len(orders), sum(map(len, orders))
    while left:
        before = left
        for rank, order in enumerate(orders):
            while positions[rank] < len(order):
                entry = order[positions[rank]]
                read = list_inputs(entry, last)
                if not done.issuperset(read):
                    break
                for kind, stage, micro in entry:
                    if kind != WEIGHT:
                        done.add((kind == FORWARD, stage, micro))
                positions[rank] += 1
                left -= 1
                yield rank, entry, read
        if left == before:
            stuck = next(rank for rank, order in enumerate(orders) if positions[rank] < len(order))
            message = "rank {stuck} of the pipeline waits forever for what {order} reads"
            raise CollsimError(message, stuck=stuck, order=orders[stuck][positions[stuck]])


def time_passes(
    orders: Sequence[PassOrder], stage_rank: Sequence[int], seconds: dict[str, float], hop: float = 0.0
) -> PipelineTiming:
    """Run the orders of all ranks.

    Args:
        orders: The order of each rank.
        stage_rank: The rank that holds each stage.
        seconds: Seconds of one pass of a stage, by kind.
        hop: Seconds from the end of a pass to the begin of one that reads its result on another rank.

    Returns:
        When each pass runs, idle times and activations.
    """
    last, share = len(stage_rank) - 1, len(orders) / len(stage_rank)
    free, end = [0.0] * len(orders), dict[tuple[bool, int, int], float]()
    passes = []
    for rank, entry, read in iterate_passes(orders, last):
        begin = free[rank]
        for result in read:
            begin = max(begin, end[result] + (hop if stage_rank[result[1]] != rank else 0.0))
        free[rank] = begin + sum([seconds[action[0]] for action in entry])
        for action in entry:
            if action[0] != WEIGHT:
                end[action[0] == FORWARD, action[1], action[2]] = free[rank]
            passes.append((action, rank, begin, free[rank]))
    time = max(free)
    work = [sum(seconds[action[0]] for entry in order for action in entry) for order in orders]
    passes.sort(key=lambda row: row[1:3])
    peaks = np.array([share * count_peak_activations(order) for order in orders])
    return PipelineTiming(time, time - np.array(work), peaks, tuple(passes), len(stage_rank))


def count_peak_activations(order: PassOrder) -> int:
    """Count the most activations (of a stage and microbatch) that a rank keeps while it runs an order.

    Args:
        order: The order.

    Returns:
        Their number.
    """
    now = most = 0
    for entry in order:
        for action in entry:
            now += action[0] == FORWARD
            most = max(most, now)
        for action in entry:
            now -= action[0] in (BACKWARD, WEIGHT)
    return most
