"""Everybody sends block j to rank j, which adds and sends the sum to everybody: a reduce-scatter and an allgather of
one step each."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, reduce


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n > 1),
    sent=lambda n: 2 * (n - 1) / n,
    cost=lambda n, K, alpha, beta, gamma: 2 * alpha + (n - 1) / n * K * (2 * beta + gamma) if n > 1 else 0,
    formula="2α + 2(n−1)/n·Kβ + (n−1)/n·Kγ",
    source="NVIDIA TensorRT-LLM customAllReduceKernels.cu twoShotAllReduceKernel; NCCL 2.27 symmetric kernel "
    "AllReduce_RSxLD_AGxST; Jiang et al. 2020 (OSDI; BytePS, co-located servers)",
    chunks=lambda n: n,
    phases=("reduce-scatter", "allgather"),
)
def allreduce_direct_two_shot(n):
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    yield reduce(src, dst, chunk=dst)
    yield copy(src, dst, chunk=src)
