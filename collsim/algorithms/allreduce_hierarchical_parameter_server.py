"""BytePS: nodes reduce-scatter inside, every GPU pushes its block to the servers and pulls the sum, nodes allgather inside."""

import numpy as np

from collsim.registry import algorithm
from collsim.schedule import copy, reduce
from collsim.trees import nodes_of


def _shape(n, per_node, topology):
    nodes = nodes_of(n, per_node, topology)
    return nodes, n // nodes


def _buffers(n, servers, per_node, topology):
    """Buffers through the busiest port: (inside a node, one way), (to or from the servers, one way)."""
    nodes, g = _shape(n, per_node, topology)
    return (g - 1) / g, max(1 / g, nodes / servers)


@algorithm(
    "allreduce",
    steps=lambda n, per_node, topology: 4 if _shape(n, per_node, topology)[1] > 1 else 2,
    sent=lambda n, servers, per_node, topology: max(
        2 * _buffers(n, servers, per_node, topology)[0] + 1 / _shape(n, per_node, topology)[1], _shape(n, per_node, topology)[0] / servers
    ),
    cost=lambda n, S, alpha, beta, servers, per_node, topology: (
        (4 if _shape(n, per_node, topology)[1] > 1 else 2) * alpha + 2 * sum(_buffers(n, servers, per_node, topology)) * S * beta
    ),
    formula="4α + 2(g−1)/g·Sβ + 2·max(1/g, N/k)Sβ, N nodes of g ranks, k servers",
    source="Jiang et al. 2020 (OSDI; BytePS)",
    says=(
        "Sums inside each node first; then every GPU pushes its block to the servers or pulls it back; then the node shares.",
        "先在节点内求和；然后每个 GPU 把自己的块推给服务器或取回；最后在节点内共享。",
    ),
    when=(
        "Spare hosts next to the GPU nodes: with as many servers as nodes a node's NICs carry S each way instead of the ring's 2S.",
        "GPU 节点旁有闲置主机时：服务器数等于节点数，节点网卡每方向只传 S，而 ring 为 2S。",
    ),
    helpers=lambda n, servers: servers,
)
def allreduce_hierarchical_parameter_server(n, servers=1, per_node=8, topology=None):
    nodes, g = _shape(n, per_node, topology)
    node, me, peer, server = (a.ravel() for a in np.indices((nodes, g, g, servers)))
    away = me != peer
    there, here, block = node[away] * g + peer[away], node[away] * g + me[away], servers * np.array([me[away], peer[away]]) + server[away]
    yield reduce(here, there, chunk=block[1])
    rank, server = (a.ravel() for a in np.indices((n, servers)))
    yield reduce(rank, n + server, chunk=rank % g * servers + server)
    yield copy(n + server, rank, chunk=rank % g * servers + server)
    yield copy(here, there, chunk=block[0])
