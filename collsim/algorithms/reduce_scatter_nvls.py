"""The NVSwitch adds all ranks' copies of a block and hands the sum to its owner."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce


@algorithm(
    "reduce_scatter",
    steps=lambda n, chunks: 1 + chunks,
    sent=lambda n: 1,
    cost=lambda n, K, alpha, beta, chunks: (1 + chunks) * alpha + (1 + 1 / (n * chunks)) * K * beta,
    source="NCCL src/device/reduce_scatter.h (NVLS: multimem load-reduce), src/transport/nvls.cc; symmetric kernel "
    "ReduceScatter_LDMC",
    chunks=lambda n, chunks: n * chunks,
    helpers=lambda n: 1,
    helpers_on="nvswitch",
)
def reduce_scatter_nvls(n, chunks=1):
    owner, (rank, block) = np.arange(n), (a.ravel() for a in np.indices((n, n)))
    rounds = [reduce(rank, n, chunk=block * chunks), copy(n, owner, chunk=owner * chunks)]
    yield from pipeline_chunks(rounds, chunks, stride=1)
