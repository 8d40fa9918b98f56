"""Algorithms as a textbook writes them: one line a step, for the line that runs while a schedule plays.

The registry's own functions write many steps in one pattern, which is fast and hard to read. What stands here is shown
in their place only where it makes the same transfers (`running.makes_same_transfers`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...steps import Step, copy, reduce


def allreduce_ring(n: int) -> Iterator[Step]:
    r = np.arange(n)
    for k in range(n - 1):
        yield reduce(r, (r + 1) % n, chunk=(r - k) % n)
    for k in range(n - 1):
        yield copy(r, (r + 1) % n, chunk=(r + 1 - k) % n)


def reduce_scatter_ring(n: int) -> Iterator[Step]:
    r = np.arange(n)
    for k in range(n - 1):
        yield reduce(r, (r + 1) % n, chunk=(r - 1 - k) % n)


def allgather_ring(n: int) -> Iterator[Step]:
    r = np.arange(n)
    for k in range(n - 1):
        yield copy(r, (r + 1) % n, chunk=(r - k) % n)


def broadcast_chain(n: int) -> Iterator[Step]:
    for k in range(n - 1):
        yield copy(k, k + 1, chunk=0)


def allreduce_parameter_server(n: int) -> Iterator[Step]:
    workers = np.arange(1, n)
    yield reduce(workers, 0, chunk=0)
    yield copy(0, workers, chunk=0)


TEXTBOOK = {
    function.__name__: function
    for function in (allreduce_ring, reduce_scatter_ring, allgather_ring, broadcast_chain, allreduce_parameter_server)
}
