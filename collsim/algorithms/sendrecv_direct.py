"""NCCL's point-to-point test: every rank sends its buffer to the next and receives that of the one before."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "sendrecv",
    steps=lambda n: 1,
    sent=lambda n: min(n - 1, 1),
    cost=lambda n, K, alpha, beta: alpha + K * beta if n > 1 else 0,
    formula="α + Kβ",
    source="nccl-tests src/sendrecv.cu; Hockney 1994 (the model)",
    chunks=lambda n: 1,
    most_ranks=2**20,
)
def sendrecv_direct(n):
    r = np.arange(n)
    yield copy(r, (r + 1) % n, chunk=0, into=1)
