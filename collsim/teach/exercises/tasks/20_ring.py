"""The ring: its two halves, the whole, a sketch to fix, and both directions."""

from __future__ import annotations

from functools import partial

from ....package_data import read_texts
from ....topology import ring
from ..kinds.task import NEIGHBOURS, RIGHT_NEIGHBOUR, Task

_STARTERS = read_texts(__file__, "starters.toml")
_build_task = partial(Task, partners=RIGHT_NEIGHBOUR, network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"))
_build_allreduce = partial(_build_task, collective="allreduce", steps=lambda n: 2 * (n - 1))
_build_half = partial(_build_task, steps=lambda n: n - 1, sent=lambda n: (n - 1) / n)

TASKS = (
    _build_half(name="ring-reduce-scatter", collective="reduce_scatter"),
    _build_half(name="ring-allgather", collective="allgather"),
    _build_allreduce(name="ring-allreduce", sent=lambda n: 2 * (n - 1) / n),
    _build_allreduce(name="fix-the-sketch", sent=lambda n: 2 * (n - 1) / n, starter=_STARTERS["fix-the-sketch"]),
    _build_allreduce(name="both-directions", ranks=(3, 4, 5, 6, 7, 8, 12), partners=NEIGHBOURS, within=1.1),
)
