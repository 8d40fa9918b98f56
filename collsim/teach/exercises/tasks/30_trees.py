"""Fewer steps: trees, halving and doubling, and pipelines."""

from __future__ import annotations

from ..kinds.task import NEXT, POWER_OF_TWO, Task


def round_up_log2(n: int) -> int:
    """The smallest k with 2^k >= n."""
    return (n - 1).bit_length()


_POWERS = (2, 4, 8, 16, 32)

TASKS = (
    Task(name="broadcast-tree", collective="broadcast", steps=round_up_log2, one_peer=True),
    Task(
        name="recursive-doubling",
        collective="allreduce",
        ranks=_POWERS,
        partners=POWER_OF_TWO,
        steps=round_up_log2,
        nbytes="1KiB",
    ),
    Task(
        name="halving-doubling",
        collective="allreduce",
        ranks=_POWERS,
        partners=POWER_OF_TWO,
        steps=lambda n: 2 * round_up_log2(n),
        sent=lambda n: 2 * (n - 1) / n,
    ),
    Task(name="pipelined-chain", collective="broadcast", partners=NEXT, within=1.2),
    Task(
        name="alltoall-pairwise",
        collective="alltoall",
        sent=lambda n: (n - 1) / n,
        steps=lambda n: n,
        one_peer=True,
        within=1.1,
    ),
)
