"""In-network: every rank sends its buffer to the switch once; the switch adds and multicasts the sum (SHARP)."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce


@algorithm(
    "allreduce",
    steps=lambda n, chunks: 1 + chunks,
    sent=lambda n: n,  # the switch, one copy per port; a rank sends 1
    cost=lambda n, K, alpha, beta, chunks: (1 + chunks) * (alpha + K / chunks * beta),
    source="Graham et al. 2016 (SHARP, COMHPC); NCCL src/transport/coll_net.cc",
    chunks=lambda n, chunks: chunks,
    helpers=lambda n: 1,
    helpers_on="fabric",
    most_ranks=2**20,
    phases=("reduce", "broadcast"),
)
def allreduce_sharp(n, chunks=1):
    r = np.arange(n)
    yield from pipeline_chunks([reduce(r, n, chunk=0), copy(n, r, chunk=0)], chunks)
