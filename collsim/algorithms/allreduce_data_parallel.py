"""PyTorch DataParallel without NCCL: GPU 0 fetches and adds one gradient after another, then copies the sum to one GPU
after another."""

from collsim.registry import algorithm
from collsim.steps import copy, reduce


@algorithm(
    "allreduce",
    steps=lambda n: 2 * (n - 1),
    sent=lambda n: n - 1,
    cost=lambda n, K, alpha, beta, gamma: (n - 1) * (2 * alpha + 2 * K * beta + K * gamma),
    formula="2(n−1)(α + Kβ) + (n−1)Kγ",
    source="PyTorch torch/nn/parallel/{data_parallel,replicate,comm}.py (reduce_add, broadcast without NCCL)",
    chunks=lambda n: 1,
    phases=("reduce", "broadcast"),
)
def allreduce_data_parallel(n):
    for r in range(1, n):
        yield reduce(r, 0, chunk=0)
    for r in range(1, n):
        yield copy(0, r, chunk=0)
