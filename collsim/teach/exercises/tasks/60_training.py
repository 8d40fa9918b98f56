"""Steps of training: which bucket, how often to synchronise, what GPU 0 sends, when DataParallel is good enough.

Every number that decides an answer comes from running the step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....errors import CollsimError
from ....locale import Text
from ....topology import Topology, machine, switch
from ....train import ParallelStrategy, StepTrace, data_parallel, ddp, training_step
from ....units import format_bytes, format_time, parse_bytes, parse_count
from .setting import SettingTask, judge_edge

_CLOSE = 1.02  # times the best that was tried
_WAITING, _SLOWER = 0.25, 1.2  # of the time; times as long as DDP
#: Sizes that stand for all: every other power of two, and half of the way to the next.
_SIZES = tuple(f"{n}KiB" for n in (256, 1024, 4096, 10240, 25600, 32768, 40960, 51200, 65536, 81920, 102400, 524288))


@cache
def _build_network() -> Topology:
    return switch(16, bandwidth="3GB/s", alpha="50us")


@cache
def _build_server() -> Topology:
    return machine("dgx-1v")


def _simulate_step(model: str, topology: Topology, parallel: ParallelStrategy, samples: int) -> StepTrace:
    gpu = "A100" if topology is _build_network() else None
    return training_step(model, topology, parallel=parallel, micro_batch=samples, compute=gpu)


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} %"


# ---- which bucket --------------------------------------------------------------------------------------------------


@cache
def _find_best_bucket() -> StepTrace:
    steps = (_simulate_step("resnet50", _build_network(), ddp(bucket=size), 32) for size in _SIZES)
    return min(steps, key=lambda step: step.time)


def _judge_bucket(value: Any) -> tuple[bool, Text, StepTrace]:
    step, best = _simulate_step("resnet50", _build_network(), ddp(bucket=value), 32), _find_best_bucket()
    count = sum(task.bucket >= 0 and not task.is_compute for task in step.step.tasks)
    took, waits, least = format_time(step.time), format_time(step.exposed), format_time(best.time)
    reason = (
        f"{took} with {count} bucket{'s' * (count > 1)}; GPUs wait for the network for {waits} of that. The best of "
        f"{len(_SIZES)} sizes that were tried takes {least}.",
        f"共 {count} 个桶，需要 {took}，其中 GPU 等待网络 {waits}。试过的 {len(_SIZES)} 种大小里最好的需要 {least}。",
    )
    return step.time <= _CLOSE * best.time, reason, step


# ---- how often to synchronise ----------------------------------------------------------------------------------------


def _simulate_accumulation(count: int) -> StepTrace:
    return _simulate_step("bert-base", _build_network(), ddp(accumulate=count), 4)


@cache
def _find_fewest() -> int:
    return next(n for n in range(1, 100) if (step := _simulate_accumulation(n)).exposed < _WAITING * step.time)


def _judge_accumulation(value: Any) -> tuple[bool, Text, StepTrace]:
    count = parse_count(value, "accumulate")
    step, fewest = _simulate_accumulation(count), _find_fewest()
    share = _format_percent(step.exposed / step.time)
    right, reason = judge_edge(
        count >= fewest,
        count > fewest,
        (f"GPUs wait for {share} of the step", f"GPU 有 {share} 的时间在等待"),
        (": still too much.", "：还是太多。"),
        (": enough, but fewer would do.", "：够了，但更少也行。"),
        (", and with one less for more.", "，再少一个就超过了。"),
    )
    return right, reason, step


# ---- what GPU 0 sends ------------------------------------------------------------------------------------------------


@cache
def _simulate_hub() -> StepTrace:
    return _simulate_step("resnet50", _build_server(), data_parallel(nccl=False), 32)


def _judge_hub_bytes(value: Any) -> tuple[bool, Text, StepTrace]:
    nbytes, step = parse_bytes(value, "bytes"), _simulate_hub()
    sent = step.sent_bytes[0]
    size, copies = format_bytes(nbytes), nbytes / step.step.model.nbytes
    if abs(nbytes - sent) <= 0.01 * sent:
        most = format_bytes(sent)
        return True, (f"GPU 0 sends {most}.", f"GPU 0 发送 {most}。"), step
    return (
        False,
        (
            f"{size} would be {copies:.3g} copies of the parameters.",
            f"{size} 相当于 {copies:.3g} 份参数。",
        ),
        step,
    )


# ---- when it is good enough ------------------------------------------------------------------------------------------


def _compare_hub(samples: int) -> tuple[float, StepTrace]:
    hub, ring = (_simulate_step("resnet18", _build_server(), way, samples) for way in (data_parallel(), ddp()))
    return hub.time / ring.time, hub


@cache
def _find_smallest() -> int:
    low, high = 1, 1024  # the ratio falls as there is more to compute
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _compare_hub(middle)[0] <= _SLOWER else (middle + 1, high)
    return low


def _judge_samples(value: Any) -> tuple[bool, Text, StepTrace]:
    samples = parse_count(value, "samples")
    if samples > 1024:
        raise CollsimError("samples={samples}: more than 1,024 a GPU are not tried here", samples=samples)
    ratio, step = _compare_hub(samples)
    more = _format_percent(ratio - 1)
    right, reason = judge_edge(
        samples >= _find_smallest(),
        samples > _find_smallest(),
        (f"DataParallel takes {more} longer than DDP", f"DataParallel 比 DDP 多用 {more} 的时间"),
        (": too much.", "：太多。"),
        (": good enough, but fewer samples would do.", "：够了，但样本更少也行。"),
        ("; with one sample less it is too much.", "；再少一个样本就太多了。"),
    )
    return right, reason, step


# ---- the tasks -------------------------------------------------------------------------------------------------------

TASKS = (
    SettingTask(
        "bucket-size",
        judge=_judge_bucket,
    ),
    SettingTask(
        "synchronise-less",
        judge=_judge_accumulation,
    ),
    SettingTask(
        "hub-bytes",
        judge=_judge_hub_bytes,
    ),
    SettingTask(
        "hub-is-enough",
        judge=_judge_samples,
    ),
)
