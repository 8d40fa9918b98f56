"""The buffer is cut into shards, one per server; everybody pushes every shard to its server and pulls the sum."""

from typing import Literal

import numpy as np

from collsim.errors import CollsimError
from collsim.registry import algorithm
from collsim.steps import copy, reduce


def _count_sent(n, servers, server):
    k = servers or n
    if server == "helper":
        return max(1, n / k)
    return (n + k - 2) / k


@algorithm(
    "allreduce",
    steps=lambda n, server: 2 if n > 1 or server == "helper" else 0,
    sent=_count_sent,
    cost=lambda n, K, alpha, beta, servers, server: (
        2 * (alpha + (max(1, n / (servers or n)) if server == "helper" else (n - 1) / (servers or n)) * K * beta)
        if n > 1 or server == "helper"
        else 0
    ),
    source="Li et al. 2014 (OSDI), section Architecture; Jiang et al. 2020 (OSDI; BytePS)",
    chunks=lambda n, servers: servers or n,
    helpers=lambda n, servers, server: (servers or n) if server == "helper" else 0,
    phases=("push", "pull"),
)
def allreduce_sharded_parameter_server(n, servers: int | None = None, server: Literal["rank", "helper"] = "rank"):
    """The buffer is cut into shards, one per server; everybody pushes every shard to its server and pulls the sum.

    Args:
        n: number of ranks.
        servers: number of shards; None: one per rank.
        server: where they live: on `rank` 0, 1, ..., or each is a `helper`, a host of its own.
    """
    shards = np.arange(servers or n)
    if server == "rank" and len(shards) > n:
        message = (
            "servers={servers} do not fit on {n} ranks; use at most {n}, or server='helper' for hosts of their own"
        )
        raise CollsimError(message, servers=servers, n=n)
    if server == "helper":
        home = shards + n
    else:
        home = shards
    worker, shard = (a.ravel() for a in np.meshgrid(np.arange(n), shards, indexing="ij"))
    # A rank that is itself a server already has its own shard; only the others push and pull it.
    away = worker != home[shard]
    worker, shard = worker[away], shard[away]
    yield reduce(worker, home[shard], chunk=shard)
    yield copy(home[shard], worker, chunk=shard)
