"""First steps: send, share, collect."""

from __future__ import annotations

from ..kinds.task import SERVER, Task

TASKS = (
    Task(
        name="send-one-chunk",
        collective="broadcast",
        ranks=(2,),
        steps=lambda n: 1,
        compared_ranks=2,
        starter="def send_one_chunk(n):\n    yield cs.copy(src, dst, chunk)   # fill in\n",
    ),
    Task(name="broadcast-to-all", collective="broadcast"),
    Task(name="reduce-to-root", collective="reduce"),
    Task(name="scatter-blocks", collective="scatter", sent=lambda n: (n - 1) / n),
    Task(name="parameter-server", collective="allreduce", partners=SERVER, steps=lambda n: 2),
    Task(name="sharded-server", collective="allreduce", steps=lambda n: 2, sent=lambda n: 2 * (n - 1) / n),
)
