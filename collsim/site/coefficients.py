"""Coefficients from which a page computes the time of any run on one switch, exactly as the lockstep engine does.

Every rank has a cable to the switch, so each transfer takes two latencies. A step lasts these, and as long as its
busiest cable needs for its bytes. So a step is the chunks that each of its cables carries; the sizes of chunks follow
from the size of the buffer. The cable of rank 0, which is the server and the root, is counted separately: its rate is a
choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from ..collective import get_collective
from ..errors import CollsimError
from ..registry import algorithms, schedule
from ..schedule import Schedule
from ..topology import switch

COLLECTIVES = ("allreduce", "broadcast")
RANKS = range(2, 17)

#: Chunks that a cable carries in a step; a chunk that it carries twice is there twice.
Load = tuple[int, ...]


class StepCoefficients(TypedDict):
    """Steps that take equally long: how many, and the loads of their cables, each once."""

    times: int
    first: list[Load]
    others: list[Load]


class RunCoefficients(TypedDict):
    """A schedule: its chunks, steps that move data, and what busbw is over algbw."""

    chunks: int
    factor: float
    steps: list[StepCoefficients]


def build_coefficients() -> dict[str, dict[str, dict[int, RunCoefficients]]]:
    """Coefficients by collective, algorithm and number of ranks, of all algorithms that need nothing but the ranks."""
    coefficients: dict[str, dict[str, dict[int, RunCoefficients]]] = {}
    for collective in COLLECTIVES:
        runs = {name: dict(_list_runs(name)) for name in algorithms(collective)}
        coefficients[collective] = {name: by_ranks for name, by_ranks in runs.items() if by_ranks}
    return coefficients


def _list_runs(name: str) -> Iterator[tuple[int, RunCoefficients]]:
    for ranks in RANKS:
        try:
            plan = schedule(name, ranks=ranks, topology=switch(ranks))
        except CollsimError:  # the algorithm wants another number of ranks, or helpers
            continue
        if plan.endpoints == ranks and len(plan):
            yield ranks, _describe_schedule(plan)


def _describe_schedule(plan: Schedule) -> RunCoefficients:
    transfers = plan.transfers
    steps: Counter[tuple[tuple[Load, ...], tuple[Load, ...]]] = Counter()
    for step in range(plan.steps):
        rows = transfers[transfers["step"] == step]
        rows = rows[rows["src"] != rows["dst"]]  # a copy within a rank costs nothing
        if not len(rows):
            continue
        chunks = rows["chunk"] % plan.chunks  # scratch is as large as the chunk that it stands for
        loads: list[set[Load]] = [set(), set()]
        for side in ("src", "dst"):
            for rank in np.unique(rows[side]):
                loads[int(rank != 0)].add(tuple(sorted(chunks[rows[side] == rank].tolist())))
        steps[tuple(sorted(loads[0])), tuple(sorted(loads[1]))] += 1
    return {
        "chunks": plan.chunks,
        "factor": get_collective(plan.collective).busbw(plan.ranks),
        "steps": [
            {"times": times, "first": list(first), "others": list(others)} for (first, others), times in steps.items()
        ],
    }
