"""DataParallel: GPU 0 is the hub, and nothing of what it sends is hidden."""

from __future__ import annotations

from ...topology import machine
from ...train import ParallelStrategy, StepTrace, data_parallel, ddp, training_step
from ...units import format_bytes, format_time
from ..lesson import Lesson, RunFacts, Section, build_facts, build_switch, choice, format_ratio, simulate_algorithm


def _simulate_step(way: ParallelStrategy) -> StepTrace:
    return training_step("resnet50", machine("dgx-1v"), parallel=way, micro_batch=32)


def _build_parallel_facts() -> RunFacts:
    hub = _simulate_step(data_parallel())
    copies = _simulate_step(data_parallel(nccl=False))
    ring = _simulate_step(ddp())
    through, around = (
        simulate_algorithm(name, build_switch()) for name in ("allreduce_data_parallel", "allreduce_ring")
    )
    return build_facts(
        through,
        through=through,
        around=around,
        slower=format_ratio(through, around),
        gpus=hub.step.ranks,
        hub=format_time(hub.time),
        copies=format_time(copies.time),
        ring=format_time(ring.time),
        waits=format_time(hub.exposed),
        waits_ring=format_time(ring.exposed),
        sent=format_bytes(hub.sent_bytes[1]),
        sent_ring=format_bytes(ring.sent_bytes[1]),
        sent_copies=format_bytes(copies.sent_bytes[0]),
        full=format_bytes(sum(hub.memory.peak(0).values())),
        less=format_bytes(sum(hub.memory.peak(1).values())),
    )


LESSON = Lesson(
    title=("DataParallel and why not", "DataParallel 以及为什么不用它"),
    notebook="12-data-parallel",
    exercises=("hub-bytes", "hub-is-enough"),
    sources={"0": "of GPU 0: its number", "1": "of DGX-1 and GPU 1: a name, a number"},
    sections=(
        Section(
            "hub",
            _build_parallel_facts,
            before=(
                (
                    "DataParallel is one process with GPU 0 as its hub: in each step it scatters inputs, broadcasts "
                    "the parameters, gathers outputs and takes in the gradients of all. The picture shows parameters "
                    "and gradients of {through.size} going through rank 0 on one switch, {through.time}; a ring takes "
                    "{around.time}, {slower} times less.",
                    "DataParallel 只有一个进程，GPU 0 是中心：每一步由它分发输入、广播参数、收集输出，再汇总所有 GPU 的"
                    "梯度。图中 {through.size} 的参数和梯度在一台交换机上经过 rank 0，需要 {through.time}；ring 只需 "
                    "{around.time}，速度是前者的 {slower} 倍。",
                ),
                (
                    "On a DGX-1 with {gpus} V100 a step of ResNet-50 takes {hub} with DataParallel and {ring} with "
                    "DistributedDataParallel.",
                    "在有 {gpus} 块 V100 的 DGX-1 上，ResNet-50 的一步用 DataParallel 需要 {hub}，用 "
                    "DistributedDataParallel 需要 {ring}。",
                ),
            ),
            ask=(
                "With NCCL on both sides: why is DataParallel slower?",
                "两边都用 NCCL：DataParallel 为什么更慢？",
            ),
            choices=(
                choice(
                    ("It sends many more bytes", "它发送的字节多得多"),
                    (
                        "GPU 1 sends {sent}, in DDP's rings {sent_ring}: NCCL forwards along a chain.",
                        "GPU 1 发送 {sent}，DDP 的 ring 中是 {sent_ring}：NCCL 沿着链转发。",
                    ),
                ),
                choice(
                    ("Nothing of what it sends runs beside computing", "它的通信完全不与计算同时进行"),
                    (
                        "Parameters come before the forward pass, gradients after the backward pass.",
                        "参数在前向传播之前，梯度在反向传播之后。",
                    ),
                ),
                choice(
                    ("GPU 0 computes for all", "GPU 0 替所有 GPU 计算"),
                    (
                        "Every GPU computes on its own samples; only the optimizer runs on GPU 0 alone.",
                        "每块 GPU 都计算自己的样本；只有优化器单独在 GPU 0 上运行。",
                    ),
                ),
            ),
            right=1,
            explanation=(
                "The bytes hardly differ, the moments do: GPUs wait {waits} for the network, with DDP {waits_ring}.",
                "字节差不多，时机不同：GPU 等待网络 {waits}，用 DDP 时是 {waits_ring}。",
            ),
            after=(
                (
                    "Without NCCL GPU 0 sends a copy to each of the others, {sent_copies}, and the step takes "
                    "{copies}. GPU 0 is fuller, too: {full}, GPU 1 {less}.",
                    "不用 NCCL 时 GPU 0 要给其余每块各发一份，共 {sent_copies}，一步需要 {copies}。GPU 0 的占用也更多："
                    "{full}，GPU 1 是 {less}。",
                ),
            ),
            view="logical",
        ),
    ),
)
