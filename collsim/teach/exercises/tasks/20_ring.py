"""The ring: its two halves, the whole, a sketch to fix, and both directions."""

from __future__ import annotations

from ....topology import ring
from ..kinds.task import NEIGHBOURS, RIGHT_NEIGHBOUR, Task

#: Written anew with the mistakes that sketches of the ring in circulation make: a rank adds up its own blocks instead
#: of its neighbours', one step too many, and the second half sends the rank's own block again and again instead of
#: passing on what came.
SKETCH = '''def fix_the_sketch(n):
    """Meant to be reduce-scatter, then allgather. It runs, and it is wrong."""
    r = np.arange(n)
    for k in range(n):                                   # "every rank adds up the blocks"
        other = (r + k + 1) % n
        away = other != r
        yield cs.reduce(r[away], r[away], chunk=other[away], into=r[away])
    for k in range(n - 1):                               # "then the blocks are exchanged"
        yield cs.copy(r, (r + 1) % n, chunk=r)
'''

TASKS = (
    Task(
        name="ring-reduce-scatter",
        collective="reduce_scatter",
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: n - 1,
        sent=lambda n: (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
    ),
    Task(
        name="ring-allgather",
        collective="allgather",
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: n - 1,
        sent=lambda n: (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
    ),
    Task(
        name="ring-allreduce",
        collective="allreduce",
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: 2 * (n - 1),
        sent=lambda n: 2 * (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
    ),
    Task(
        name="fix-the-sketch",
        collective="allreduce",
        partners=RIGHT_NEIGHBOUR,
        steps=lambda n: 2 * (n - 1),
        sent=lambda n: 2 * (n - 1) / n,
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
        starter=SKETCH,
    ),
    Task(
        name="both-directions",
        collective="allreduce",
        ranks=(3, 4, 5, 6, 7, 8, 12),
        partners=NEIGHBOURS,
        steps=lambda n: 2 * (n - 1),
        network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"),
        within=1.1,
    ),
)
