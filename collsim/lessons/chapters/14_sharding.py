"""Sharding: what ZeRO and FSDP keep on a GPU, what they send for it, and when the weights are there."""

from __future__ import annotations

from functools import cache

from ...simulate import Trace
from ...topology import machine
from ...train import ParallelStrategy, StepTrace, fsdp, model, training_step, zero
from ...units import format_bytes, format_time
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, simulate_algorithm

_MODEL, _TYPE, _NODES = "llama2-7b", "bfloat16", 4


@cache
def _simulate_step(parallel: ParallelStrategy) -> StepTrace:
    """On one DGX A100, a sample on each GPU."""
    return training_step(_MODEL, machine("dgx-a100"), parallel=parallel, micro_batch=1, dtype=_TYPE)


@cache
def _simulate_slow_network(parallel: ParallelStrategy) -> StepTrace:
    """On several, whose InfiniBand has an eighth of its bandwidth."""
    boxes = machine("dgx-a100", nodes=_NODES).scaled(kind="infiniband", by=1 / 8)
    return training_step(_MODEL, boxes, parallel=parallel, micro_batch=1, dtype=_TYPE, recompute="full")


def _simulate_gather() -> Trace:
    """The allgather of one block's weights."""
    tasks = _simulate_step(fsdp()).step.tasks
    nbytes = next(task.nbytes for task in tasks if task.kind == "allgather" and task.name != "gather root")
    return simulate_algorithm("allgather_ring", machine("dgx-a100"), f"{nbytes}B")


def _count_sent_bytes(step: StepTrace) -> int:
    return max(step.sent_bytes.values())


def _format_peak(step: StepTrace, kind: str = "") -> str:
    """The most that a GPU holds, of a kind or in all."""
    peak = step.memory.peak()
    return format_bytes(peak[kind] if kind else sum(peak.values()))


def _build_byte_facts() -> RunFacts:
    ways = {"zero(1)": zero(1), "zero(2)": zero(2), "fsdp(False)": fsdp(False), "fsdp()": fsdp()}
    steps = [_simulate_step(way) for way in ways.values()]
    count, gpus = model(_MODEL).parameters, steps[0].step.ranks
    rows = tuple(
        (name, format_bytes(_count_sent_bytes(s)), _format_peak(s), format_time(s.time))
        for name, s in zip(ways, steps, strict=True)
    )
    gather = _simulate_gather()
    return build_facts(
        gather,
        rows,
        gather=gather,
        model=_MODEL,
        gpus=gpus,
        each=f"{zero(1).count_state_bytes(count, 1) / count:g}",
        alone=format_bytes(zero(1).count_state_bytes(count, 1)),
        shared=format_bytes(zero(3).count_state_bytes(count, gpus)),
        sent=format_bytes(_count_sent_bytes(steps[-1])),
        allreduce=format_bytes(_count_sent_bytes(steps[0])),
        more=f"{_count_sent_bytes(steps[-1]) / _count_sent_bytes(steps[0]):.3g}",
        most=f"{zero(3).count_sent_bytes(count, gpus) / zero(1).count_sent_bytes(count, gpus):g}",
    )


def _build_level_facts() -> RunFacts:
    on_, off, keep = (_simulate_step(way) for way in (fsdp(), fsdp(prefetch=False), fsdp(False)))
    flat, hybrid = (_simulate_slow_network(way) for way in (fsdp(), fsdp(replicate=_NODES)))
    gather = _simulate_gather()
    return build_facts(
        gather,
        gather=gather,
        model=_MODEL,
        nodes=_NODES,
        on=format_time(on_.time),
        off=format_time(off.time),
        on_level=_format_peak(on_, "gathered"),
        off_level=_format_peak(off, "gathered"),
        keep_level=_format_peak(keep, "gathered"),
        on_waits=format_time(on_.exposed),
        off_waits=format_time(off.exposed),
        flat=format_time(flat.time),
        hybrid=format_time(hybrid.time),
        flat_most=_format_peak(flat),
        hybrid_most=_format_peak(hybrid),
    )


_BYTES = Section(
    "sharding",
    _build_byte_facts,
    title=("Who keeps what", "谁保存什么"),
    before=(
        (
            "Weights and gradients of {model} in bfloat16 and Adam's state are {each} bytes a parameter: {alone}. With "
            "DDP every GPU holds all of it, more than an A100 has room for. ZeRO and FSDP share it: each of {gpus} "
            "GPUs keeps a part, {shared}.",
            "{model} 的 bfloat16 权重、梯度加上 Adam 的状态，每个参数 {each} 字节：共 {alone}。用 DDP 时每块 GPU 都要"
            "全部保存，A100 放不下。ZeRO 和 FSDP 把它分片：{gpus} 块 GPU 各存一部分，{shared}。",
        ),
        (
            "So before a block of layers can compute, its weights have to be gathered. The picture shows that for one "
            "block: an allgather of {gather.size}, {gather.time}. After the forward pass they are given back; the "
            "backward pass gathers them again, and its gradients are reduce-scattered.",
            "所以一个块（若干层）计算之前，必须先把它的权重收集起来。图中就是一个块的 allgather：{gather.size}，"
            "{gather.time}。前向之后释放；反向再收集一次，梯度则做 reduce-scatter。",
        ),
    ),
    ask=(
        "How much does a GPU send in a step of FSDP, against DDP's allreduce of the gradients?",
        "与 DDP 对梯度做的 allreduce 相比，FSDP 的一步里每块 GPU 发送多少？",
    ),
    choices=(
        choice(
            ("as much", "一样多"),
            (
                "So it is where weights are gathered once: an allreduce is a reduce-scatter and an allgather.",
                "只收集一次权重时才是这样：allreduce 就是 reduce-scatter 加 allgather。",
            ),
        ),
        choice(
            ("{more} times as much", "{more} 倍"),
            (
                "Two gathers and a reduction, where an allreduce has one of each.",
                "两次收集加一次归约，而 allreduce 各只有一次。",
            ),
        ),
        choice(
            ("{gpus} times as much", "{gpus} 倍"),
            (
                "Every weight comes to every GPU, but only once in a gather, however many GPUs there are.",
                "每个权重都要到每块 GPU，但一次收集里只到一次，与 GPU 数无关。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "{sent} instead of {allreduce}. Blocks alone would make it {most} times; embedding and head, the root, stay "
        "gathered from forward to backward.",
        "{sent}，而不是 {allreduce}。如果只有块，就是 {most} 倍；嵌入层和输出层（根）从前向到反向一直保持收集。",
    ),
    after=(
        (
            "ZeRO shares the optimizer in its stage 1, gradients too in 2, weights too in the last. In PyTorch it is "
            "fully_shard on every block, then on the model; fsdp(False), reshard_after_forward=False, keeps what was "
            "gathered. The page Sharding plays these steps.",
            "ZeRO 的第 1 级分片优化器状态，第 2 级再加梯度，最后一级再加权重。在 PyTorch 中是对每个块、再对整个模型调"
            "用 fully_shard；fsdp(False) 即 reshard_after_forward=False，保留已收集的权重。“分片”页会播放这几种一步。",
        ),
    ),
    table=(
        (
            ("split", "划分"),
            ("a GPU sends", "每块 GPU 发送"),
            ("it holds", "占用显存"),
            ("step", "一步"),
        ),
    ),
    view="logical",
)

_LEVEL = Section(
    "prefetch",
    _build_level_facts,
    title=("The water level", "水位"),
    before=(
        (
            "Gathered weights come and go, block by block, as the water in locks. A gather of {gather.size} takes "
            "{gather.time} on a ring. With prefetch the next block is gathered while this one computes: a step of "
            "{model} takes {on}, and at most {on_level} are gathered at a time.",
            "收集来的权重一块一块地来，一块一块地去，像船闸里的水。{gather.size} 的收集在 ring 上需 {gather.time}。"
            "有预取时，计算这个块的同时收集下一个块：{model} 的一步需要 {on}，同一时刻最多收集着 {on_level}。",
        ),
    ),
    ask=(
        "Without prefetch a block is gathered only when it is needed. What becomes of the step, and of the level?",
        "不预取，需要时才收集一个块。一步的时间和水位会怎样？",
    ),
    choices=(
        choice(
            ("still {on}, and a lower level", "仍是 {on}，水位降低"),
            (
                "Then gathers would still have computing beside them; now {off_waits} are waited for.",
                "那样的话收集仍与计算同时进行；而现在要等 {off_waits}。",
            ),
        ),
        choice(
            ("{off}, and at most {off_level}", "{off}，最多 {off_level}"),
            (
                "One block less is there at a time, and nobody computes while it comes.",
                "同一时刻少一个块，而它到来时没有人在计算。",
            ),
        ),
        choice(
            ("{off}, and still {on_level}", "{off}，仍是 {on_level}"),
            (
                "The block that was gathered ahead is not there any more.",
                "提前收集的那个块已经不在了。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "GPUs wait {off_waits} for the network instead of {on_waits}. Prefetch pays memory for time.",
        "GPU 等待网络 {off_waits}，而不是 {on_waits}。预取是用显存换时间。",
    ),
    after=(
        (
            "Weights that are not given back after the forward pass rise to {keep_level}.",
            "前向之后不释放权重，水位会升到 {keep_level}。",
        ),
        (
            "Over {nodes} DGX A100 with slow InfiniBand every gather waits for the network: {flat} a step. Hybrid "
            "sharding (HSDP) keeps a replica in every node and gathers over NVLink alone: {hybrid}, for {hybrid_most} "
            "on a GPU instead of {flat_most}.",
            "{nodes} 台 DGX A100 之间的 InfiniBand 很慢时，每次收集都要等网络：一步 {flat}。混合分片（HSDP）在每个节点"
            "内保存一份副本，只经 NVLink 收集：{hybrid}，代价是每块 GPU 占用 {hybrid_most}，而不是 {flat_most}。",
        ),
    ),
    view="logical",
)

LESSON = Lesson(
    title=("Sharding: ZeRO and FSDP", "分片：ZeRO 与 FSDP"),
    notebook="14-sharding",
    exercises=("fsdp-bytes", "how-many-replicas"),
    sections=(_BYTES, _LEVEL),
)
