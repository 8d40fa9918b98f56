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
        title=("The best bucket", "最佳的桶大小"),
        ask=(
            "ResNet-50 with DDP on 16 A100, 32 samples each, on one switch with cables of 3 GB/s and 50 µs. Which "
            'bucket makes the step at most 2 % longer than the best? check("25MiB") tries one.',
            "在 16 块 A100 上用 DDP 训练 ResNet-50，每块 32 个样本；一台交换机，线缆 3 GB/s、50 µs。多大的桶能让一步的"
            '时间不超过最佳值的 1.02 倍？用 check("25MiB") 来试。',
        ),
        hints=(
            (
                "Every bucket pays the latency of a ring; the last bucket cannot be hidden.",
                "每个桶都要付一次 ring 的延迟；最后一个桶无法被掩盖。",
            ),
            (
                "Latency is 30 steps of two cables each: many small buckets pay more than the bytes do. One bucket for "
                "all starts only when the backward pass has ended.",
                "延迟是 30 步，每步两条线缆：小桶太多，延迟比字节更贵。只有一个桶，则要等反向传播结束才开始。",
            ),
            (
                'for size in (1, 5, 10, 25, 50, 100): print(size, exercise("bucket-size").check(f"{size}MiB").reason)',
                'for size in (1, 5, 10, 25, 50, 100): print(size, exercise("bucket-size").check(f"{size}MiB").reason)',
            ),
        ),
        judge=_judge_bucket,
    ),
    SettingTask(
        "synchronise-less",
        title=("Synchronise less often", "少同步几次"),
        ask=(
            "BERT-base with DDP on the same network, microbatches of 4. With no_sync only the last of accumulate=k "
            "microbatches sends its gradients. Which is the smallest k at which GPUs wait for the network for less "
            "than 25 % of the step?",
            "在同一网络上用 DDP 训练 BERT-base，微批大小为 4。用 no_sync 时，accumulate=k 个微批中只有最后一个发送"
            "梯度。要让 GPU 等待网络的时间少于一步的 25 %，最小的 k 是多少？",
        ),
        hints=(
            (
                "What is exposed once in a step is shared by all its microbatches.",
                "一步只暴露一次的通信，由所有微批分摊。",
            ),
            (
                "If a microbatch computes for c and w is exposed, the share is w / (k·c + w).",
                "若一个微批计算 c，暴露的等待为 w，则占比为 w / (k·c + w)。",
            ),
            (
                "Take c and w from t = cs.training_step(...): t.computing and t.exposed at k = 1; then solve for k.",
                "从 t = cs.training_step(...) 取 k = 1 时的 t.computing 和 t.exposed，再解出 k。",
            ),
        ),
        judge=_judge_accumulation,
    ),
    SettingTask(
        "hub-bytes",
        title=("What the hub sends", "中心发送多少"),
        ask=(
            "ResNet-50 with DataParallel on a DGX-1 (8 V100), 32 samples each, without NCCL: copies go from GPU 0 one "
            "by one. How many bytes does GPU 0 send in a step? (1 % is close enough.)",
            "在一台 DGX-1（8 块 V100）上用 DataParallel 训练 ResNet-50，每块 32 个样本，不用 NCCL：由 GPU 0 逐个拷贝。"
            "GPU 0 在一步中发送多少字节？（误差 1 % 以内即可。）",
        ),
        hints=(
            ("Who needs the parameters? And what else goes out?", "谁需要参数？还有什么要发出去？"),
            (
                "Parameters and buffers go to each of the other GPUs; inputs are scattered too.",
                "参数和 buffer 要发给其余每块 GPU；输入也要分发。",
            ),
            (
                'm = cs.model("resnet50"): 7 · (m.nbytes + m.buffer_bytes) + 7 · 32 · m.input_bytes, and a little for '
                "the gradients of the outputs.",
                'm = cs.model("resnet50")：7 · (m.nbytes + m.buffer_bytes) + 7 · 32 · m.input_bytes，'
                "再加一点输出的梯度。",
            ),
        ),
        judge=_judge_hub_bytes,
    ),
    SettingTask(
        "hub-is-enough",
        title=("When DataParallel will do", "什么时候 DataParallel 够用"),
        ask=(
            "ResNet-18 on a DGX-1. Which is the smallest number of samples a GPU at which a step of DataParallel (with "
            "NCCL) takes at most 20 % longer than one of DDP?",
            "在 DGX-1 上训练 ResNet-18。每块 GPU 最少要多少样本，DataParallel（用 NCCL）的一步才最多比 DDP 多用 20 % "
            "的时间？",
        ),
        hints=(
            (
                "What the hub moves hardly grows with the samples; what GPUs compute does.",
                "中心搬运的量几乎不随样本数增长；GPU 的计算量会。",
            ),
            (
                "Halve the range: check one value, then go to the side that is left.",
                "二分：先试一个值，再到剩下的一侧。",
            ),
            (
                'exercise("hub-is-enough").check(64).reason says how much longer it takes with 64.',
                'exercise("hub-is-enough").check(64).reason 会说 64 个样本时多用多少时间。',
            ),
        ),
        judge=_judge_samples,
    ),
)
