"""CollNet chain: a chain inside each node to the GPU at its NIC, the network's switch adds over the nodes, and the
chain back."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce
from collsim.trees import count_nodes


@algorithm(
    "allreduce",
    steps=lambda n, chunks, per_node, topology: 2 * (n // count_nodes(n, per_node, topology)) + chunks - 1,
    sent=lambda n, per_node, topology: max(
        count_nodes(n, per_node, topology), 1 + (n > count_nodes(n, per_node, topology))
    ),
    cost=lambda n, K, alpha, beta, per_node, topology, chunks: (
        2 * (n // count_nodes(n, per_node, topology)) * (alpha + K * beta) if chunks == 1 else None
    ),
    source="NCCL src/device/all_reduce.h (COLLNET_CHAIN), src/transport/coll_net.cc",
    chunks=lambda n, chunks: chunks,
    helpers=lambda n: 1,
    helpers_on="fabric",
    phases=("reduce", "broadcast"),
)
def allreduce_collnet_chain(n, chunks=1, per_node=8, topology=None):
    """CollNet chain: a chain inside each node to the GPU at its NIC, the network's switch adds over the nodes, and the
    chain back.

    Args:
        n: number of ranks.
        chunks: pieces of the buffer that follow one another in a pipeline.
        per_node: ranks of a node, where no topology says it.
        topology: machine whose nodes say `per_node`; None: `per_node` counts.
    """
    member = np.arange(n).reshape(count_nodes(n, per_node, topology), -1)
    head, last = member[:, 0], member.shape[1] - 1
    # One transfer of every node in each step, all nodes at once; the head is the GPU next to the NIC.
    there = [reduce(member[:, i], member[:, i - 1], chunk=0) for i in range(last, 0, -1)]
    back = [copy(member[:, i - 1], member[:, i], chunk=0) for i in range(1, last + 1)]
    yield from pipeline_chunks([*there, reduce(head, n, chunk=0), copy(n, head, chunk=0), *back], chunks)
