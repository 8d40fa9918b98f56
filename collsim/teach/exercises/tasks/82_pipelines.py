"""Pipelines: how many microbatches make a small bubble, and which order fits into memory.

Every number that decides an answer comes from running the passes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....errors import CollsimError, require_word
from ....locale import Text
from ....train import PipelineTiming, pipeline
from ....train.pipelines import SCHEDULES
from ....units import parse_count
from .setting import SettingTask, judge_edge

_STAGES, _MOST = 8, 1000
_BUBBLE, _SMALLER = 0.12, 0.05  # of the step
_MICROBATCHES = 32


@cache
def _time_passes(schedule: str, microbatches: int) -> PipelineTiming:
    return pipeline(_STAGES, schedule).time_passes(microbatches, forward=1, backward=2)


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _judge_microbatches(value: Any) -> tuple[bool, Text, PipelineTiming]:
    count = parse_count(value, "microbatches")
    if count > _MOST:
        raise CollsimError("microbatches={count}: more than {most:,} are not tried here", count=count, most=_MOST)
    timing = _time_passes("1f1b", count)
    share = _format_percent(timing.bubble)
    right, reason = judge_edge(
        timing.bubble < _BUBBLE,
        count > 1 and _time_passes("1f1b", count - 1).bubble < _BUBBLE,
        (f"The bubble is {share} of the step", f"气泡占一步的 {share}"),
        (": still too much.", "：还是太多。"),
        (": enough, but fewer microbatches would do.", "：够了，但微批更少也行。"),
        ("; with one microbatch less it is too much.", "；再少一个微批就太多了。"),
    )
    return right, reason, timing


def _judge_order(value: Any) -> tuple[bool, Text, PipelineTiming]:
    name = require_word("schedule of a pipeline", value, SCHEDULES)
    timing = _time_passes(name, _MICROBATCHES)
    share, most_held = _format_percent(timing.bubble), f"{timing.peak_activations.max():g}"
    fits, small = timing.peak_activations.max() <= _STAGES, timing.bubble < _SMALLER
    reason = (
        f"The bubble is {share} of the step{'' if small else ', which is too much'}; a GPU holds up to {most_held} "
        f"microbatches{'' if fits else ', which is too many'}.",
        f"气泡占一步的 {share}{'' if small else '，太多了'}；GPU 最多持有 {most_held} 个微批"
        f"{'' if fits else '，太多了'}。",
    )
    return bool(fits and small), reason, timing


TASKS = (
    SettingTask(
        "small-bubble",
        title=("A small bubble", "小气泡"),
        ask=(
            "A pipeline of 8 stages, 1F1B; a backward pass takes two forward passes. Which is the smallest number of "
            "microbatches at which less than 12 % of the step is bubble?",
            "8 个阶段的流水线，1F1B；反向的时间是前向的两倍。要让气泡少于一步的 12 %，最少要多少个微批？",
        ),
        hints=(
            (
                "What is idle does not depend on the number of microbatches; what is computed does.",
                "空闲的时间与微批的个数无关；计算的时间有关。",
            ),
            (
                "A GPU is idle for (p − 1)(F + B) in a step of (m + p − 1)(F + B).",
                "一步为 (m + p − 1)(F + B)，其中 GPU 空闲 (p − 1)(F + B)。",
            ),
            (
                "Solve 7 / (m + 7) < 0.12 for m; it is a whole number.",
                "解 7 / (m + 7) < 0.12；m 是整数。",
            ),
        ),
        judge=_judge_microbatches,
    ),
    SettingTask(
        "order-that-fits",
        title=("An order that fits", "放得下的次序"),
        ask=(
            "8 stages, 32 microbatches, a backward pass of two forward passes. A GPU has room for the activations of 8 "
            "microbatches, and at most 5 % of the step may be bubble. Which schedule will do: gpipe, 1f1b, "
            "interleaved, zero-bubble, zbv or dualpipe-v?",
            "8 个阶段、32 个微批，反向的时间是前向的两倍。每块 GPU 放得下 8 个微批的激活值，气泡最多占一步的 5 %。哪种"
            "调度可行：gpipe、1f1b、interleaved、zero-bubble、zbv 还是 dualpipe-v？",
        ),
        hints=(
            (
                "Two of them hold all microbatches or wait at both ends; leave these out first.",
                "其中两种要么持有全部微批，要么两端都要等；先排除它们。",
            ),
            (
                "Who splits the backward pass in two can fill its waits with the half that nobody waits for.",
                "把反向切成两半的调度，可以用没有人等的那一半填补等待。",
            ),
            (
                "for name, (pipe, t) in cs.train.time_schedules(8, 32, forward=1, backward=2).items(): print(name, "
                "t.bubble, t.peak_activations.max())",
                "for name, (pipe, t) in cs.train.time_schedules(8, 32, forward=1, backward=2).items(): print(name, "
                "t.bubble, t.peak_activations.max())",
            ),
        ),
        judge=_judge_order,
    ),
)
