"""The ring: its two halves, the whole, a sketch to fix, and both directions."""

from __future__ import annotations

from functools import partial

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

_build_task = partial(Task, partners=RIGHT_NEIGHBOUR, network=lambda n: ring(n, bandwidth="25GB/s", alpha="1us"))
_build_allreduce = partial(_build_task, collective="allreduce", steps=lambda n: 2 * (n - 1))
_build_half = partial(_build_task, steps=lambda n: n - 1, sent=lambda n: (n - 1) / n)

TASKS = (
    _build_half(name="ring-reduce-scatter", collective="reduce_scatter"),
    _build_half(name="ring-allgather", collective="allgather"),
    _build_allreduce(name="ring-allreduce", sent=lambda n: 2 * (n - 1) / n),
    _build_allreduce(name="fix-the-sketch", sent=lambda n: 2 * (n - 1) / n, starter=SKETCH),
    _build_allreduce(name="both-directions", ranks=(3, 4, 5, 6, 7, 8, 12), partners=NEIGHBOURS, within=1.1),
)
