"""Splits: how many GPUs share a layer, and how many stages there are, where memory is short.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

from ....errors import CollsimError
from ....locale import Text, build_text
from ....topology import machine
from ....train import StepTrace, pipeline, tensor, training_step, zero
from ....units import format_bytes, format_time, parse_count
from ..kinds.setting_task import SettingTask

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


def _parse_pair(value: object) -> tuple[int, int]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise CollsimError("split={value!r}: give how many share a layer and how many stages: (2, 2)", value=value)
    return parse_count(value[0], "tensor"), parse_count(value[1], "pipeline")


def _judge_split(value: object) -> tuple[bool, Text, StepTrace]:
    step, best = _simulate_step(*_parse_pair(value)), _find_best()
    fits, memory = step.memory.max() <= _ROOM, format_bytes(step.memory.max())
    if not fits:
        room = format_bytes(_ROOM)
        return (False, build_text("exercises", "84_splits.on_fullest_gpu_which", memory=memory, room=room), step)
    step_time, least, waits = (format_time(seconds) for seconds in (step.time, best.time, step.exposed))
    idle = f"{100 * step.bubble / step.time:.1f} %"
    reason = build_text(
        "exercises", "84_splits.on_fullest_gpu_gpus", took=step_time, memory=memory, waits=waits, idle=idle, least=least
    )
    return step.time <= _CLOSE * best.time, reason, step


TASKS = (SettingTask("choose-the-split", judge=_judge_split),)
