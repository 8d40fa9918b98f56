"""Steps of training: which bucket, how often to synchronise, what GPU 0 sends, when DataParallel is good enough.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....errors import CollsimError
from ....locale import Text, build_text
from ....topology import Topology, machine, switch
from ....train import ParallelStrategy, StepTrace, data_parallel, ddp, training_step
from ....units import format_bytes, format_percent, format_time, parse_bytes, parse_count
from ..kinds.setting_task import SettingTask, judge_edge

_CLOSE = 1.02  # times the best that was tried
_WAITING, _SLOWER = 0.25, 1.2  # of the time; times as long as DDP
#: Sizes that stand for all: every other power of two, and half of the way to the next.
_SIZES = tuple(f"{n}KiB" for n in (256, 1024, 4096, 10240, 25600, 32768, 40960, 51200, 65536, 81920, 102400, 524288))


def _text(key: str, **values: object) -> Text:
    """A text of this module in every language."""
    return build_text("exercises", f"60_training.{key}", **values)


@cache
def _build_network() -> Topology:
    return switch(16, bandwidth="3GB/s", alpha="50us")


@cache
def _build_server() -> Topology:
    return machine("dgx-1v")


def _simulate_step(model: str, topology: Topology, parallel: ParallelStrategy, samples: int) -> StepTrace:
    gpu = "A100" if topology is _build_network() else None
    return training_step(model, topology, parallel=parallel, micro_batch=samples, compute=gpu)


# ---- which bucket --------------------------------------------------------------------------------------------------


@cache
def _find_best_bucket() -> StepTrace:
    steps = (_simulate_step("resnet50", _build_network(), ddp(bucket=size), 32) for size in _SIZES)
    return min(steps, key=lambda step: step.time)


def _judge_bucket(value: Any) -> tuple[bool, Text, StepTrace]:
    step, best = _simulate_step("resnet50", _build_network(), ddp(bucket=value), 32), _find_best_bucket()
    count = sum(task.bucket >= 0 and not task.is_compute for task in step.step.tasks)
    step_time, waits, least = format_time(step.time), format_time(step.exposed), format_time(best.time)
    reason = _text("bucket_gpus_wait_network", took=step_time, count=count, waits=waits, sizes=len(_SIZES), least=least)
    return step.time <= _CLOSE * best.time, reason, step


# ---- how often to synchronise ----------------------------------------------------------------------------------------


def _simulate_accumulation(count: int) -> StepTrace:
    return _simulate_step("bert-base", _build_network(), ddp(accumulate=count), 4)


@cache
def _find_fewest() -> int:
    return next(n for n in range(1, 100) if (step := _simulate_accumulation(n)).exposed < _WAITING * step.time)


def _judge_accumulation(value: object) -> tuple[bool, Text, StepTrace]:
    count = parse_count(value, "accumulate")
    step, fewest = _simulate_accumulation(count), _find_fewest()
    share = format_percent(step.exposed / step.time)
    right, reason = judge_edge(
        count >= fewest,
        count > fewest,
        _text("gpus_wait_step", share=share),
        _text("still_too_much"),
        _text("enough_but_fewer_would"),
        _text("one_less_more"),
    )
    return right, reason, step


# ---- what GPU 0 sends ------------------------------------------------------------------------------------------------


@cache
def _simulate_hub() -> StepTrace:
    return _simulate_step("resnet50", _build_server(), data_parallel(nccl=False), 32)


def _judge_hub_bytes(value: object) -> tuple[bool, Text, StepTrace]:
    nbytes, step = parse_bytes(value, "bytes"), _simulate_hub()
    sent = step.sent_bytes[0]
    size, copies = format_bytes(nbytes), nbytes / step.step.model.nbytes
    if abs(nbytes - sent) <= 0.01 * sent:
        most = format_bytes(sent)
        return True, _text("gpu_0_sends", most=most), step
    return (False, _text("would_be_copies_parameters", size=size, copies=f"{copies:.3g}"), step)


# ---- when it is good enough ------------------------------------------------------------------------------------------


def _compare_hub(samples: int) -> tuple[float, StepTrace]:
    hub, ring = (
        _simulate_step("resnet18", _build_server(), parallel, samples) for parallel in (data_parallel(), ddp())
    )
    return hub.time / ring.time, hub


@cache
def _find_smallest() -> int:
    low, high = 1, 1024  # the ratio falls as there is more to compute
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _compare_hub(middle)[0] <= _SLOWER else (middle + 1, high)
    return low


def _judge_samples(value: object) -> tuple[bool, Text, StepTrace]:
    samples = parse_count(value, "samples")
    if samples > 1024:
        raise CollsimError("samples={samples}: more than 1,024 a GPU are not tried here", samples=samples)
    ratio, step = _compare_hub(samples)
    more = format_percent(ratio - 1)
    right, reason = judge_edge(
        samples >= _find_smallest(),
        samples > _find_smallest(),
        _text("dataparallel_takes_longer_than", more=more),
        _text("too_much"),
        _text("good_enough_but_fewer"),
        _text("one_sample_less_too"),
    )
    return right, reason, step


# ---- the tasks -------------------------------------------------------------------------------------------------------

TASKS = (
    SettingTask("bucket-size", judge=_judge_bucket),
    SettingTask("synchronise-less", judge=_judge_accumulation),
    SettingTask("hub-bytes", judge=_judge_hub_bytes),
    SettingTask("hub-is-enough", judge=_judge_samples),
)
