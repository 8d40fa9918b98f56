"""BytePS: nodes reduce-scatter inside, every GPU pushes its block to the servers and pulls the sum, nodes allgather
inside."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce
from collsim.trees import count_nodes


def _count_steps(n, per_node, topology):
    return 4 if count_nodes(n, per_node, topology) < n else 2  # nothing to do inside nodes of one rank


def _count_volumes(n, servers, per_node, topology):
    """Buffers through a rank's port inside its node, from it to the servers, and through a server's port: each one
    way."""
    nodes = count_nodes(n, per_node, topology)
    g = n // nodes
    return (g - 1) / g, 1 / g, nodes / servers


def _count_sent(n, servers, per_node, topology):
    inside, away, server = _count_volumes(n, servers, per_node, topology)
    return max(2 * inside + away, server)


def _estimate_cost(n, K, alpha, beta, servers, per_node, topology):
    inside, away, server = _count_volumes(n, servers, per_node, topology)
    return _count_steps(n, per_node, topology) * alpha + 2 * (inside + max(away, server)) * K * beta


@algorithm(
    "allreduce",
    steps=_count_steps,
    sent=_count_sent,
    cost=_estimate_cost,
    source="Jiang et al. 2020 (OSDI; BytePS)",
    helpers=lambda n, servers: servers,
    phases=("push", "pull"),
)
def allreduce_hierarchical_parameter_server(n, servers=1, per_node=8, topology=None):
    """BytePS: nodes reduce-scatter inside, every GPU pushes its block to the servers and pulls the sum, nodes allgather
    inside.

    Args:
        n: number of ranks.
        servers: hosts of their own, each with its share of every block.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    nodes = count_nodes(n, per_node, topology)
    g = n // nodes
    node, me, peer, server = (a.ravel() for a in np.indices((nodes, g, g, servers)))
    here, there = node * g + me, node * g + peer
    away = here != there
    rank, to = (a.ravel() for a in np.indices((n, servers)))
    own_chunk = rank % g * servers + to  # block of a rank, one chunk of it for each server
    yield reduce(here[away], there[away], chunk=(peer * servers + server)[away])
    yield reduce(rank, n + to, chunk=own_chunk)
    yield copy(n + to, rank, chunk=own_chunk)
    yield copy(here[away], there[away], chunk=(me * servers + server)[away])
