"""Everybody sends the whole buffer to everybody, and adds what arrives: one step.

Every rank begins with its own data, so sums of floats may differ between ranks in the last bit (a kernel that reads all
buffers in rank order avoids that).
"""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import reduce


@algorithm(
    "allreduce",
    steps=lambda n: int(n > 1),
    sent=lambda n: n - 1,
    cost=lambda n, K, alpha, beta, gamma: alpha + (n - 1) * K * (beta + gamma) if n > 1 else 0,
    formula="α + (n−1)K(β + γ)",
    source="NVIDIA TensorRT-LLM customAllReduceKernels.cu oneShotAllReduceKernel; NCCL 2.27 symmetric kernel "
    "AllReduce_AGxLL_R; Chan et al. 2007 (short vectors)",
    chunks=lambda n: 1,
)
def allreduce_direct_one_shot(n):
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    yield reduce(src, dst, chunk=0)
