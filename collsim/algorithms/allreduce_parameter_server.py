"""Everybody pushes the whole buffer to one server, which adds and hands the sum back to everybody."""

from typing import Literal

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce


@algorithm(
    "allreduce",
    steps=lambda n, chunks, server: 1 + chunks if n > 1 or server == "helper" else 0,
    sent=lambda n, server: n if server == "helper" else n - 1,
    cost=lambda n, K, alpha, beta, chunks, server: (
        (1 + chunks) * (alpha + (n if server == "helper" else n - 1) * K / chunks * beta)
        if n > 1 or server == "helper"
        else 0
    ),
    source="Li et al. 2014 (OSDI), section Architecture; Jiang et al. 2020 (OSDI; BytePS)",
    chunks=lambda n, chunks: chunks,
    helpers=lambda n, server: int(server == "helper"),
    most_ranks=2**20,
    phases=("push", "pull"),
)
def allreduce_parameter_server(n, server: Literal["rank", "helper"] = "rank", chunks=1):
    """Everybody pushes the whole buffer to one server, which adds and hands the sum back to everybody.

    Args:
        n: number of ranks.
        server: where it is: on `rank` 0, or a `helper`, a host of its own.
        chunks: pieces of the buffer that follow one another in a pipeline.
    """
    home = 0
    if server == "helper":
        home = n
    workers = np.arange(n)[np.arange(n) != home]
    if len(workers):
        yield from pipeline_chunks([reduce(workers, home, chunk=0), copy(home, workers, chunk=0)], chunks)
