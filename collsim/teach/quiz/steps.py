"""What can be asked about a step of training. Every number is read from the step, or from the step with something
changed; wrong choices are what the common mistakes come to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import CollsimError
from ...locale import Text
from ...train import DDP, StepTrace
from ...train.memory import MEMORY_KINDS
from ...units import format_bytes, format_time
from .kinds import Random, _build_choice
from .question import Alternative, Question

_ACCUMULATED = 4
_SMALL = 2**20  # bytes of a bucket that is asked about


@dataclass(frozen=True, eq=False)
class QuestionStep:
    """A step and what several questions need of it."""

    trace: StepTrace

    @property
    def ddp(self) -> bool:
        """Is it DDP, with allreduces beside the backward pass, after the first step?"""
        parallel = self.trace.request.parallel
        return parallel.name == "ddp" and parallel.overlap and self.trace.request.step > 1

    @cached_property
    def buckets(self) -> list[int]:
        """Numbers of the tasks that are buckets, of the last microbatch."""
        tasks = self.trace.step.tasks
        last = max((task.microbatch for task in tasks if task.bucket >= 0), default=0)
        return [i for i in self.trace.step.collectives if tasks[i].bucket >= 0 and tasks[i].microbatch == last]

    def changed(self, **changes: object) -> StepTrace | None:
        """The step with something changed; None where that cannot be (memory, say)."""
        try:
            return self.trace.what_if(**changes)
        except CollsimError:
            return None


def _format_time(seconds: float) -> Text:
    return format_time(seconds), format_time(seconds)


def _format_size(nbytes: float) -> Text:
    return format_bytes(round(nbytes)), format_bytes(round(nbytes))


def _format_count(many: int) -> Text:
    return f"{many} allreduce{'s' * (many > 1)}", f"{many} 个 allreduce"


def _build_wrong(*ideas: tuple[Text, str, str]) -> list[Alternative]:
    return [Alternative(text, (en, zh)) for text, en, zh in ideas]


def _ask_buckets(run: QuestionStep, random: Random) -> Question | None:
    """How many allreduces with buckets of 1 MiB: tensors are not split."""
    parallel, model = run.trace.request.parallel, run.trace.step.model
    if not isinstance(parallel, DDP) or (small := run.changed(bucket=_SMALL)) is None:
        return None
    count = len(small.request.parallel.list_bucket_bytes(model))  # type: ignore[attr-defined]
    even = math.ceil(model.nbytes / _SMALL)
    size = format_bytes(model.nbytes)
    ask = (
        f"{model.name} has {len(model.tensors)} gradient tensors, {size} in all. With buckets of 1 MiB, how many "
        "allreduces are there in a step?",
        f"{model.name} 有 {len(model.tensors)} 个梯度张量，共 {size}。桶为 1 MiB 时，一步有多少个 allreduce？",
    )
    explanation = (
        f"A bucket closes as soon as it holds 1 MiB, and a tensor is never split: {count} buckets.",
        f"桶一装满 1 MiB 就关闭，张量从不拆开：共 {count} 个桶。",
    )
    right = Alternative(_format_count(count), ("bucket_cap_mb is a lower edge.", "bucket_cap_mb 是下限。"))
    wrong = _build_wrong(
        (_format_count(even), "That would split tensors at every 1 MiB.", "那样就要在每 1 MiB 处拆开张量。"),
        (
            _format_count(len(model.tensors)),
            "That is one for each tensor: small ones share a bucket.",
            "那是每个张量一个：小张量合用一个桶。",
        ),
        (_format_count(1), "One bucket is what the first step has.", "只有一个桶是第一步的情形。"),
    )
    return _build_choice("buckets", ask, explanation, right, wrong, random)


def _ask_exposed_collective(run: QuestionStep, random: Random) -> Question | None:
    """Which bucket is exposed longest."""
    if not run.ddp or len(run.buckets) < 2:
        return None
    trace = run.trace
    beside = [float(trace.waits[i]) for i in run.buckets]
    most = int(np.argmax(beside))
    if beside[most] <= 0.001 * trace.time:
        return None
    sizes = [format_bytes(trace.step.tasks[i].nbytes) for i in run.buckets]
    names = [(f"bucket {k} ({size})", f"桶 {k}（{size}）") for k, size in enumerate(sizes)]
    ask = (
        "Buckets go out in the order in which gradients become ready. For which one do GPUs wait longest?",
        "桶按梯度就绪的顺序发送。GPU 等待最久的是哪一个？",
    )
    explanation = (
        f"For it GPUs wait {format_time(beside[most])}; the others run beside computing.",
        f"为它 GPU 等待 {format_time(beside[most])}；其余的与计算同时进行。",
    )
    right = Alternative(names[most], ("Nothing is left to compute beside it.", "旁边已没有可计算的了。"))
    largest = max(range(len(names)), key=lambda k: trace.step.tasks[run.buckets[k]].nbytes)
    others = [k for k in dict.fromkeys((largest, 0, len(names) - 1, *range(len(names)))) if k != most]
    wrong = [
        Alternative(
            names[k],
            (
                f"GPUs wait only {format_time(beside[k])} for it.",
                f"为它 GPU 只等待 {format_time(beside[k])}。",
            ),
        )
        for k in others
    ]
    return _build_choice("exposed", ask, explanation, right, wrong, random)


def _ask_exposed_time(run: QuestionStep, random: Random) -> Question | None:
    """How long GPUs wait for the network."""
    t = run.trace
    if not t.communication:
        return None
    last = t.end[run.buckets[-1]] - t.begin[run.buckets[-1]] if run.buckets else t.communication / 2
    ask = (
        f"All collectives of the step take {format_time(t.communication)}. For how long do GPUs wait for the network?",
        f"一步里所有集合通信共 {format_time(t.communication)}。GPU 等待网络多久？",
    )
    explanation = (
        f"{100 * t.overlapped:.3g} % of the communication runs beside computing; the rest is exposed.",
        f"通信的 {100 * t.overlapped:.3g} % 与计算同时进行，其余是暴露的。",
    )
    right = Alternative(_format_time(t.exposed), ("Communication without computing beside it.", "旁边没有计算的通信。"))
    wrong = _build_wrong(
        (
            _format_time(t.communication),
            "As if nothing ran beside computing.",
            "好像没有任何通信与计算同时进行。",
        ),
        (_format_time(0.0), "As if all of it were hidden.", "好像全部都被掩盖了。"),
        (_format_time(float(last)), "That is all of the last bucket.", "那是最后一个桶的全部时间。"),
        (_format_time(t.communication / 2), "Half is nobody's rule.", "没有“一半”这种规律。"),
    )
    return _build_choice("waits", ask, explanation, right, wrong, random)


def _ask_first_step(run: QuestionStep, random: Random) -> Question | None:
    """What the first step takes."""
    if not run.ddp or (first := run.changed(first_step=True)) is None:
        return None
    t = run.trace
    ask = (
        f"The steady step takes {format_time(t.time)}. How long does the first step of the run take?",
        f"稳定后的一步需要 {format_time(t.time)}。这次训练的第一步需要多久？",
    )
    explanation = (
        "The order of gradients is not known yet: all are in one bucket, which starts when the backward pass has "
        "ended.",
        "梯度的就绪顺序还不知道：全部放在一个桶里，等反向传播结束才开始发送。",
    )
    right = Alternative(_format_time(first.time), ("Nothing overlaps in it.", "其中没有任何重叠。"))
    wrong = _build_wrong(
        (_format_time(t.time), "As if buckets were there from the start.", "好像一开始就有这些桶。"),
        (
            _format_time(t.time + t.communication),
            "That adds all communication to the whole step once more.",
            "那是把全部通信又加了一遍。",
        ),
        (_format_time(t.computing), "That is computing alone.", "那只是计算。"),
    )
    return _build_choice("first", ask, explanation, right, wrong, random)


def _ask_doubled_network(run: QuestionStep, random: Random) -> Question | None:
    """What links twice as fast buy."""
    if not run.trace.communication or (fast := run.changed(network=2)) is None:
        return None
    t = run.trace
    ask = (
        f"The step takes {format_time(t.time)}. All links become twice as fast: how long does it take then?",
        f"一步需要 {format_time(t.time)}。所有链路快一倍后需要多久？",
    )
    explanation = (
        f"GPUs waited {format_time(t.exposed)} for the network, and now {format_time(fast.exposed)}; latencies stay.",
        f"GPU 原来等待网络 {format_time(t.exposed)}，现在 {format_time(fast.exposed)}；延迟不变。",
    )
    right = Alternative(_format_time(fast.time), ("Only what was exposed can be saved.", "能省下的只有暴露的部分。"))
    wrong = _build_wrong(
        (_format_time(t.time / 2), "Computing does not get faster.", "计算并不会变快。"),
        (
            _format_time(t.time - t.communication / 2),
            "Most of the communication was hidden: to halve it saves nothing.",
            "大部分通信本来就被掩盖：减半也省不下。",
        ),
        (_format_time(t.time - t.exposed), "That would be a network that takes no time.", "那是不花时间的网络。"),
        (_format_time(t.time), "That would be so if nothing were exposed.", "只有完全没有暴露时才会这样。"),
    )
    return _build_choice("network", ask, explanation, right, wrong, random)


def _ask_no_sync(run: QuestionStep, random: Random) -> Question | None:
    """What a GPU sends in a step of several microbatches, with no_sync."""
    if not run.ddp:
        return None
    quiet = run.changed(accumulate=_ACCUMULATED, no_sync=True)
    loud = run.changed(accumulate=_ACCUMULATED, no_sync=False)
    if quiet is None or loud is None:
        return None
    rank = run.trace.step.lanes[0][0]
    sent, all_ = quiet.sent_bytes[rank], loud.sent_bytes[rank]
    ask = (
        f"A step of {_ACCUMULATED} microbatches, with no_sync in all but the last: how many bytes does GPU {rank} "
        "send?",
        f"一步含 {_ACCUMULATED} 个微批，除最后一个外都用 no_sync：GPU {rank} 发送多少字节？",
    )
    explanation = (
        f"Gradients are added up on the GPU and reduced once; without no_sync it would be {format_bytes(all_)}.",
        f"梯度先在 GPU 上累加，只归约一次；不用 no_sync 则要 {format_bytes(all_)}。",
    )
    right = Alternative(_format_size(sent), ("One allreduce of every bucket.", "每个桶只 allreduce 一次。"))
    wrong = _build_wrong(
        (_format_size(all_), "That is what it sends without no_sync.", "那是不用 no_sync 时发送的量。"),
        (_format_size(sent / _ACCUMULATED), "Sums are as large as what is added.", "求和之后并不会变小。"),
        (
            _format_size(run.trace.step.model.nbytes),
            "That is one copy of the gradients; a ring sends nearly two.",
            "那是一份梯度；ring 要发送将近两份。",
        ),
    )
    return _build_choice("no_sync", ask, explanation, right, wrong, random)


def _ask_hub(run: QuestionStep, random: Random) -> Question | None:
    """What GPU 0 sends in DataParallel, against a rank of DDP."""
    t = run.trace
    if not t.request.parallel.is_one_process or t.step.ranks < 3:
        return None
    root, other = t.step.lanes[0][0], t.step.lanes[1][0]
    sent, n = t.sent_bytes[root], t.step.ranks
    ask = (
        f"DataParallel on {n} GPUs: how many bytes does GPU {root}, the hub, send in a step?",
        f"{n} 块 GPU 上的 DataParallel：作为中心的 GPU {root} 在一步中发送多少字节？",
    )
    by = "NCCL's chain" if t.request.parallel.uses_nccl else "copies"
    explanation = (
        f"It broadcasts {format_bytes(t.step.model.nbytes)} of parameters by {by}, and scatters the inputs.",
        f"它{'逐个拷贝' if by == 'copies' else '用 NCCL 的链'}广播 {format_bytes(t.step.model.nbytes)} 的参数，"
        "并分发输入。",
    )
    right = Alternative(
        _format_size(sent), ("Parameters out, and its share of all else.", "发出参数，以及其他数据中属于它的部分。")
    )
    whole = t.step.model.nbytes
    wrong = _build_wrong(
        (
            _format_size(2 * (n - 1) / n * whole),
            "That is a rank of DDP in a ring.",
            "那是 DDP 的 ring 中一个 rank 的量。",
        ),
        (
            _format_size((n - 1) * whole),
            "That counts parameters to each of the others, and no inputs.",
            "那是给其余每块一份参数，没有算输入。",
        ),
        (_format_size(whole), "That is the parameters once, and no inputs.", "那是一份参数，没有算输入。"),
        (_format_size(t.sent_bytes[other]), f"That is what GPU {other} sends.", f"那是 GPU {other} 发送的量。"),
    )
    return _build_choice("hub", ask, explanation, right, wrong, random)


def _ask_largest_memory(run: QuestionStep, random: Random) -> Question | None:
    """Which kind of memory is the largest on the fullest GPU."""
    sizes = {kind: size for kind, size in run.trace.memory.peak().items() if size}
    order = sorted(sizes, key=lambda kind: -sizes[kind])
    if len(order) < 3 or sizes[order[0]] == sizes[order[1]]:
        return None

    def name_kind(kind: str) -> Text:
        return kind, MEMORY_KINDS[kind].text("zh")

    ask = (
        f"The fullest GPU holds {format_bytes(sum(sizes.values()))}. What is most of that?",
        f"占用最多的 GPU 持有 {format_bytes(sum(sizes.values()))}。其中最多的是什么？",
    )
    parts = [f"{kind} {format_bytes(sizes[kind])}" for kind in order[:3]]
    parts_zh = [f"{name_kind(kind)[1]} {format_bytes(sizes[kind])}" for kind in order[:3]]
    explanation = (f"{', '.join(parts)}.", f"{'，'.join(parts_zh)}。")
    grows = (
        ("It grows with the samples of a GPU.", "它随每块 GPU 的样本数增长。")
        if order[0] == "activations"
        else ("It grows with the model.", "它随模型增长。")
    )
    right = Alternative(name_kind(order[0]), grows)
    wrong = [
        Alternative(name_kind(kind), (f"Only {format_bytes(sizes[kind])}.", f"只有 {format_bytes(sizes[kind])}。"))
        for kind in order[1:]
    ]
    return _build_choice("memory", ask, explanation, right, wrong, random)


def _ask_straggling_worker(run: QuestionStep, random: Random) -> Question | None:
    """Seconds of a step without overlap, as a number."""
    if not run.ddp or (plain := run.changed(overlap=False)) is None:
        return None
    t = run.trace
    ask = (
        f"All allreduces of the step take {format_time(plain.communication)}; what GPUs do by themselves takes "
        f"{format_time(plain.computing)}, and no allreduce begins before the backward pass has ended. How long is the "
        "step then?",
        f"一步的全部 allreduce 需要 {format_time(plain.communication)}，GPU 自己的工作需要 "
        f"{format_time(plain.computing)}，而反向传播结束前不开始任何 allreduce。这样一步多久？",
    )
    explanation = (
        f"{format_time(plain.computing)} and {format_time(plain.exposed)} that stay exposed: "
        f"{format_time(plain.time)}; with overlap {format_time(t.time)}.",
        f"{format_time(plain.computing)} 加上暴露的 {format_time(plain.exposed)}：{format_time(plain.time)}；有重叠时 "
        f"{format_time(t.time)}。",
    )
    return Question("number", "overlap", ask, explanation, plain.time, "time", 0.05)


STEP_ASKERS: tuple[Callable[[QuestionStep, Random], Question | None], ...] = (
    _ask_exposed_time,
    _ask_buckets,
    _ask_straggling_worker,
    _ask_exposed_collective,
    _ask_hub,
    _ask_doubled_network,
    _ask_first_step,
    _ask_no_sync,
    _ask_largest_memory,
)
