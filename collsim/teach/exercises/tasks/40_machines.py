"""Real wiring: six links per GPU on a DGX-1, and two machines joined by one NIC per GPU."""

from __future__ import annotations

from ....topology import machine
from ..kinds.task import Task

TASKS = (
    Task(
        name="dgx-1-allgather",
        collective="allgather",
        ranks=(8,),
        network=lambda n: machine("dgx-1v"),
        nbytes="64MiB",
        within=1.15,
    ),
    Task(
        name="hierarchical-2x8",
        collective="allreduce",
        ranks=(16,),
        network=lambda n: machine("dgx-a100", nodes=2),
        compared_ranks=16,
        nbytes="1GiB",
        within=1.1,
    ),
)
