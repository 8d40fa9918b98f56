"""Sharding: what a GPU sends under FSDP, and how many replicas are the fastest where the network is slow.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....locale import Text
from ....topology import machine
from ....train import StepTrace, fsdp, training_step
from ....units import format_bytes, format_time, parse_bytes, parse_count
from .setting import SettingTask

_TYPE, _NODES = "bfloat16", 8
_CLOSE = 0.005  # of the bytes; a root that is gathered twice makes 1.5 %


# ---- what a GPU sends ------------------------------------------------------------------------------------------------


@cache
def _simulate_two_nodes() -> StepTrace:
    return training_step("llama2-13b", machine("dgx-a100", nodes=2), parallel=fsdp(), micro_batch=1, dtype=_TYPE)


def _judge_bytes(value: Any) -> tuple[bool, Text, StepTrace]:
    nbytes, step = parse_bytes(value, "bytes"), _simulate_two_nodes()
    sent = max(step.sent_bytes.values())
    weights = 2 * step.step.model.parameters
    size, times = format_bytes(nbytes), f"{nbytes / weights:.3g}"
    if abs(nbytes - sent) <= _CLOSE * sent:
        return True, (f"{size}: {times} times the weights.", f"{size}：是权重的 {times} 倍。"), step
    return False, (f"{size} would be {times} times the weights.", f"{size} 相当于权重的 {times} 倍。"), step


# ---- how many replicas -----------------------------------------------------------------------------------------------


@cache
def _simulate_replicas(count: int) -> StepTrace:
    boxes = machine("dgx-a100", nodes=_NODES).scaled(kind="infiniband", by=1 / 4)
    return training_step(
        "llama2-7b", boxes, parallel=fsdp(replicate=count), micro_batch=1, dtype=_TYPE, recompute="full"
    )


@cache
def _find_fastest() -> int:
    """More replicas have no room."""
    return min((1, 2, 4, 8, 16), key=lambda count: _simulate_replicas(count).time)


def _judge_replicas(value: Any) -> tuple[bool, Text, StepTrace]:
    count = parse_count(value, "replicate")
    step, best = _simulate_replicas(count), _find_fastest()
    took, memory, waits = format_time(step.time), format_bytes(step.memory.max()), format_time(step.exposed)
    en = f"{took}, {memory} on a GPU; GPUs wait for the network for {waits}"
    zh = f"{took}，每块 GPU 占用 {memory}；GPU 等待网络 {waits}"
    if count == best:
        return True, (f"{en}. No other number is faster.", f"{zh}。没有更快的了。"), step
    least = format_time(_simulate_replicas(best).time)
    return False, (f"{en}. {least} can be had.", f"{zh}。可以做到 {least}。"), step


TASKS = (
    SettingTask(
        "fsdp-bytes",
        title=("What a GPU sends under FSDP", "FSDP 中一块 GPU 发送多少"),
        ask=(
            "Llama 2 with 13 billion parameters on 2 DGX A100 (16 GPUs) under fsdp(), bfloat16, one microbatch. How "
            "many "
            'bytes does a GPU send in a step? (0.5 % is close enough.) The model is cs.model("llama2-13b"); its root, '
            "which stays gathered from forward to backward, is every layer of it whose name does not begin with h.",
            "在 2 台 DGX A100（16 块 GPU）上用 fsdp() 训练 130 亿参数的 Llama 2，bfloat16，一个微批。每块 GPU 在一步中"
            "发送多"
            '少字节？（误差 0.5 % 以内即可。）模型是 cs.model("llama2-13b")；名字不以 h. 开头的各层是根，从前向到反向'
            "一直"
            "保持收集。",
        ),
        hints=(
            (
                "How often is a block gathered, how often the root, and how often are gradients reduced?",
                "每个块收集几次？根收集几次？梯度归约几次？",
            ),
            (
                "In a ring of n ranks each sends (n − 1)/n of what is gathered or reduce-scattered.",
                "n 个 rank 的 ring 中，每个发送被收集或 reduce-scatter 的数据的 (n − 1)/n。",
            ),
            (
                "15/16 · (2·(P − r) + r + P) · 2 bytes, with P all parameters and r those of the root.",
                "15/16 · (2·(P − r) + r + P) · 2 字节，P 是全部参数，r 是根的参数。",
            ),
        ),
        judge=_judge_bytes,
    ),
    SettingTask(
        "how-many-replicas",
        title=("How many replicas", "几份副本"),
        ask=(
            "Llama 2 with 7 billion parameters on 8 DGX A100 whose InfiniBand has a quarter of its bandwidth, "
            'recompute="full". With fsdp(replicate=k) k replicas are each sharded over 64/k GPUs: gathers stay inside '
            "a "
            "replica. Which k makes the fastest step?",
            '8 台 DGX A100 训练 70 亿参数的 Llama 2，InfiniBand 只有四分之一的带宽，recompute="full"。'
            "fsdp(replicate=k) 时有 k 份副本，每份分片到 64/k 块 GPU：收集只在副本内进行。哪个 k 的一步最快？",
        ),
        hints=(
            (
                "Which links does a gather cross, and how often in a step? Which does the reduction of gradients?",
                "收集经过哪些链路，一步里几次？梯度归约呢？",
            ),
            (
                "A replica that fits in a node gathers over NVLink. More replicas than that send more gradients.",
                "放得进一个节点的副本只经 NVLink 收集。副本再多，发送的梯度就更多。",
            ),
            (
                'for k in (1, 2, 4, 8, 16): print(k, exercise("how-many-replicas").check(k).reason)',
                'for k in (1, 2, 4, 8, 16): print(k, exercise("how-many-replicas").check(k).reason)',
            ),
        ),
        judge=_judge_replicas,
    ),
)
