"""The NVSwitch adds all ranks' copies of a block and hands the sum to its owner."""

import numpy as np

from collsim.registry import algorithm
from collsim.steps import copy, pipeline_chunks, reduce


@algorithm(
    "reduce_scatter",
    steps=lambda n, chunks: 1 + chunks,
    sent=lambda n: 1,
    cost=lambda n, S, alpha, beta, chunks: (1 + chunks) * alpha + (1 + 1 / (n * chunks)) * S * beta,
    formula="2α + (1+1/n)Sβ: S up, S/n down",
    source="NCCL src/device/reduce_scatter.h (NVLS: multimem load-reduce), src/transport/nvls.cc",
    says=(
        "The switch reads everybody's copy of a block, adds them, and hands the sum to the owner.",
        "交换机读取每个 rank 的同一块并相加，把和交给该块的所有者。",
    ),
    when=(
        "One NVSwitch node: two steps whatever n, and a rank receives S/n only; it sends no byte less than with a "
        "ring.",
        "单个 NVSwitch 节点：步数恒为两步，每个 rank 只接收 S/n；发送量与 ring 相同。",
    ),
    chunks=lambda n, chunks: n * chunks,
    helpers=lambda n: 1,
    helpers_on="nvswitch",
)
def reduce_scatter_nvls(n, chunks=1):
    owner, (rank, block) = np.arange(n), (a.ravel() for a in np.indices((n, n)))
    rounds = [reduce(rank, n, chunk=block * chunks), copy(n, owner, chunk=owner * chunks)]
    yield from pipeline_chunks(rounds, chunks, stride=1)
