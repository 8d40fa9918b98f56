"""PyTorch DataParallel without NCCL: GPU 0 fetches and adds one gradient after another, then copies the sum to one GPU
after another."""

from collsim.registry import algorithm
from collsim.steps import copy, reduce


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n - 1),
    sent=lambda n: n - 1,
    cost=lambda n, S, alpha, beta, gamma: (n - 1) * (2 * alpha + 2 * S * beta + S * gamma),
    formula="2(n−1)(α + Sβ) + (n−1)Sγ",
    source="PyTorch torch/nn/parallel/{data_parallel,replicate,comm}.py (reduce_add, broadcast without NCCL)",
    says=(
        "GPU 0 takes one more GPU's gradients and adds them, or sends the result to one more GPU; all others wait.",
        "GPU 0 取来下一个 GPU 的梯度并累加，或把结果发给下一个 GPU；其余都在等待。",
    ),
    when=(
        "Never for speed: it is the baseline of which DistributedDataParallel is the cure.",
        "从不为速度而用：它是 DistributedDataParallel 所要替代的基准。",
    ),
    chunks=lambda n: 1,
    phases=("reduce", "broadcast"),
)
def allreduce_data_parallel(n):
    for r in range(1, n):
        yield reduce(r, 0, chunk=0)
    for r in range(1, n):
        yield copy(0, r, chunk=0)
