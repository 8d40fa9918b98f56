"""Sharding: what a GPU sends under FSDP, and how many replicas are the fastest where the network is slow.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache

from ....locale import Text, build_text
from ....topology import machine
from ....train import StepTrace, fsdp, training_step
from ....units import format_bytes, format_time, parse_bytes, parse_count
from ..kinds.setting_task import SettingTask

_TYPE, _NODES = "bfloat16", 8
_CLOSE = 0.005  # of the bytes; a root that is gathered twice makes 1.5 %


# ---- what a GPU sends ------------------------------------------------------------------------------------------------


@cache
def _simulate_two_nodes() -> StepTrace:
    return training_step("llama2-13b", machine("dgx-a100", nodes=2), parallel=fsdp(), micro_batch=1, dtype=_TYPE)


def _judge_bytes(value: object) -> tuple[bool, Text, StepTrace]:
    nbytes, step = parse_bytes(value, "bytes"), _simulate_two_nodes()
    sent = max(step.sent_bytes.values())
    weights = 2 * step.step.model.parameters
    size, times = format_bytes(nbytes), f"{nbytes / weights:.3g}"
    if abs(nbytes - sent) <= _CLOSE * sent:
        return True, build_text("exercises", "80_sharding.times_weights", size=size, times=times), step
    return False, build_text("exercises", "80_sharding.would_be_times_weights", size=size, times=times), step


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


def _judge_replicas(value: object) -> tuple[bool, Text, StepTrace]:
    count = parse_count(value, "replicate")
    step, best = _simulate_replicas(count), _find_fastest()
    step_time, memory, waits = format_time(step.time), format_bytes(step.memory.max()), format_time(step.exposed)
    values = {"took": step_time, "memory": memory, "waits": waits}
    if count == best:
        return True, build_text("exercises", "80_sharding.no_other_number_faster", **values), step
    least = format_time(_simulate_replicas(best).time)
    return False, build_text("exercises", "80_sharding.can_be_had", least=least, **values), step


TASKS = (SettingTask("fsdp-bytes", judge=_judge_bytes), SettingTask("how-many-replicas", judge=_judge_replicas))
