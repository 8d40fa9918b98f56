"""Mixtures of experts: how many GPUs share the experts of a layer.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache

from ....locale import Text, build_text
from ....topology import machine
from ....train import StepTrace, expert, training_step, zero
from ....units import format_bytes, format_time, parse_count
from ..kinds.setting_task import SettingTask

_SIZES = (4, 8, 16)  # that fit
_CLOSE = 1.01  # times the best


@cache
def _simulate_step(share: int) -> StepTrace:
    """Raises CollsimError for a number that does not fit into memory or does not divide the ranks."""
    split = expert(share) * zero(1)
    network = machine("dgx-h100", nodes=2)
    return training_step("qwen3-30b-a3b", network, parallel=split, batch=64, micro_batch=1, dtype="bfloat16")


def _judge_share(value: object) -> tuple[bool, Text, StepTrace]:
    step = _simulate_step(parse_count(value, "expert"))
    least = min(_simulate_step(share).time for share in _SIZES)
    reason = build_text(
        "exercises",
        "86_experts.step",
        took=format_time(step.time),
        waits=format_time(step.exposed),
        memory=format_bytes(step.memory.max()),
        least=format_time(least),
    )
    return step.time <= _CLOSE * least, reason, step


TASKS = (SettingTask("spread-the-experts", judge=_judge_share),)
