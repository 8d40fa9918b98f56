"""Splits: how many GPUs share a layer, and how many stages there are, where memory is short.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

from ....errors import CollsimError
from ....locale import Text
from ....topology import machine
from ....train import StepTrace, pipeline, tensor, training_step, zero
from ....units import format_bytes, format_time, parse_count
from .setting import SettingTask

_SIZES = (1, 2, 4, 8)
_CLOSE = 1.01  # times the best
_ROOM = 40e9  # bytes of a GPU


@cache
def _simulate_step(by_tensor: int, stages: int) -> StepTrace:
    """On the machine with GPUs of 80 GB, which has room for all of them."""
    split = tensor(by_tensor, sequence=True) * pipeline(stages) * zero(1)
    options: dict[str, Any] = {"batch": 64, "micro_batch": 1, "dtype": "bfloat16"}
    return training_step("gpt3-13b", machine("dgx-a100", nodes=8), parallel=split, **options)


@cache
def _find_best() -> StepTrace:
    """Of all that fit."""
    steps = (_simulate_step(*pair) for pair in product(_SIZES, _SIZES))
    return min((step for step in steps if step.memory.max() <= _ROOM), key=lambda step: step.time)


def _parse_pair(value: Any) -> tuple[int, int]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise CollsimError("split={value!r}: give how many share a layer and how many stages: (2, 2)", value=value)
    return parse_count(value[0], "tensor"), parse_count(value[1], "pipeline")


def _judge_split(value: Any) -> tuple[bool, Text, StepTrace]:
    step, best = _simulate_step(*_parse_pair(value)), _find_best()
    fits, memory = step.memory.max() <= _ROOM, format_bytes(step.memory.max())
    if not fits:
        room = format_bytes(_ROOM)
        return (
            False,
            (f"{memory} on the fullest GPU, which has {room}.", f"最满的 GPU 需 {memory}，而只有 {room}。"),
            step,
        )
    took, least, waits = (format_time(seconds) for seconds in (step.time, best.time, step.exposed))
    idle = f"{100 * step.bubble / step.time:.1f} %"
    reason = (
        f"{took}, {memory} on the fullest GPU; GPUs wait for the network for {waits} and are idle for {idle} of the "
        f"step. The best that fits takes {least}.",
        f"{took}，占用最多的 GPU 为 {memory}；GPU 等待网络 {waits}，空闲占一步的 {idle}。放得下的最好结果是 {least}。",
    )
    return step.time <= _CLOSE * best.time, reason, step


TASKS = (
    SettingTask(
        "choose-the-split",
        title=("Choose the split", "选择划分"),
        ask=(
            "GPT-3 with 13 billion parameters on 8 DGX A100 whose GPUs have 40 GB, batch 64, microbatches of one "
            "sample, bfloat16, tensor(t, sequence=True) * pipeline(p) * zero(1). Which (t, p) takes at most 1 % more "
            "than the best that fits? check((2, 2)) tries one.",
            "在 8 台 DGX A100（GPU 显存 40 GB）上训练 130 亿参数的 GPT-3，批量 64，微批为一个样本，bfloat16，"
            "tensor(t, sequence=True) * pipeline(p) * zero(1)。哪一个 (t, p) 的时间最多比放得下的最佳值多 1 %？"
            "用 check((2, 2)) 来试。",
        ),
        hints=(
            (
                "What does more of t cost, and what more of p? And what do both save?",
                "t 变大的代价是什么？p 变大呢？两者又都省了什么？",
            ),
            (
                "A batch of 64 over 64/(t·p) replicas leaves each t·p microbatches: the bubble is "
                "(p − 1)/(t·p + p − 1) of the step.",
                "批量 64 分给 64/(t·p) 个副本，每个有 t·p 个微批：气泡占 (p − 1)/(t·p + p − 1)。",
            ),
            (
                "Without a pipeline there is no bubble: the smallest t that fits.",
                "没有流水线就没有气泡：取放得下的最小的 t。",
            ),
        ),
        judge=_judge_split,
    ),
)
