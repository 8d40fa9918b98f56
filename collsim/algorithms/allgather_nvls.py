"""Every rank sends its block to the NVSwitch once, which multicasts it to the others."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy


@algorithm(
    "allgather",
    steps=lambda n: 2 if n > 1 else 1,
    sent=lambda n: max(n - 1, 1 / n),  # the switch, all ports; a rank sends 1/n
    cost=lambda n, K, alpha, beta: (2 if n > 1 else 1) * alpha + K * beta,
    source="NCCL src/device/all_gather.h (NVLS: multimem store), src/transport/nvls.cc; symmetric kernel "
    "AllGather_STMC, copy engines in src/ce_coll.cc with multicast",
    chunks=lambda n: n,
    helpers=lambda n: 1,
    helpers_on="nvswitch",
)
def allgather_nvls(n):
    r = np.arange(n)
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    yield copy(r, n, chunk=r)
    yield copy(n, dst, chunk=src)
