"""A thousand GPUs: which ranks share a layer, a pipeline and the batch, what that sends where, and one slow GPU."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ...simulate import Trace
from ...topology import machine
from ...train import Split, StepTrace, measure_scaling, model, pipeline, tensor, training_step, zero
from ...units import format_bytes, format_time
from ...viz.splits.still import build_pipeline_picture
from ..lesson import Lesson, RunFacts, Section, build_facts, choice, simulate_algorithm

if TYPE_CHECKING:
    import pandas as pd

_MODEL, _SMALLER, _NODES, _SLOWER = "gpt3-175b", "gpt3-13b", 128, 1.5
_TENSOR, _PIPELINE, _BATCH = 8, 16, 256
#: Ranks of a node are neighbours in a tensor group, as Megatron-LM counts them, or in a data parallel group.
_INSIDE, _ACROSS = "tp-cp-ep-dp-pp", "dp-tp-cp-ep-pp"


@cache
def _simulate_step(order: str) -> StepTrace:
    split = Split((tensor(_TENSOR, sequence=True), pipeline(_PIPELINE), zero(1)), order)
    options: dict[str, Any] = {"batch": _BATCH, "micro_batch": 1, "dtype": "bfloat16", "recompute": "selective"}
    return training_step(_MODEL, machine("dgx-a100", nodes=_NODES), parallel=split, **options)


def _simulate_gather() -> Trace:
    """One allgather of a tensor group, inside a node."""
    tasks = _simulate_step(_INSIDE).step.tasks
    nbytes = next(task.nbytes for task in tasks if task.kind == "allgather")
    return simulate_algorithm("allgather_ring", machine("dgx-a100"), f"{nbytes}B")


def _describe_crossing(rows: pd.DataFrame, way: str) -> list[str]:
    """What a GPU of the first stage sends for a way of splitting, and how long that takes, by
    `StepTrace.count_crossing_bytes`."""
    row = rows[(rows["lane"] == 0) & (rows["way"] == way)].sort_values("nbytes").iloc[-1]
    return [format_bytes(row["nbytes"]), format_time(row["time"])]


def _compare_rates(rows: pd.DataFrame) -> float:
    """How many times as fast a GPU sends over NVLink as over its InfiniBand card."""
    rates = rows.groupby("link")["bandwidth"].max()
    return float(rates["nvlink"] / rates["infiniband"])


def _build_placement_facts() -> RunFacts:
    inside, across = _simulate_step(_INSIDE), _simulate_step(_ACROSS)
    near, far = inside.count_crossing_bytes(), across.count_crossing_bytes()
    gather, gpus = _simulate_gather(), inside.step.ranks
    return build_facts(
        gather,
        lanes=(build_pipeline_picture(pipeline(_PIPELINE), _BATCH // (gpus // _TENSOR // _PIPELINE)),),
        gather=gather,
        model=_MODEL,
        gpus=f"{gpus:,}",
        states=format_bytes(zero(1).count_state_bytes(model(_MODEL).parameters, 1)),
        most=format_bytes(inside.memory.max()),
        tensor=_TENSOR,
        stages=_PIPELINE,
        replicas=gpus // _TENSOR // _PIPELINE,
        by_tensor=_describe_crossing(near, "tensor"),
        by_stage=_describe_crossing(near, "pipeline"),
        by_data=_describe_crossing(near, "data"),
        over_cards=_describe_crossing(far, "tensor"),
        time=format_time(inside.time),
        slow=format_time(across.time),
        factor=f"{_compare_rates(near):g}",
        all_slower=format_time(_compare_rates(near) * inside.time),
    )


def _build_straggler_facts() -> RunFacts:
    step = _simulate_step(_INSIDE)
    late = step.what_if(slow={3: _SLOWER})
    table = _measure_scaling()
    rows = tuple(
        (f"{int(gpus):,}", format_time(time), f"{100 * share:.3g} %")
        for gpus, time, share in table[["gpus", "time", "efficiency_node"]].to_numpy().tolist()
    )
    gather = _simulate_gather()
    return build_facts(
        gather,
        rows,
        gather=gather,
        gpus=f"{step.step.ranks:,}",
        tensor=_TENSOR,
        smaller=_SMALLER,
        time=format_time(step.time),
        late=format_time(late.time),
        idle=format_time(step.bubble),
        longer=format_time(late.bubble),
        own=format_time(_sum_compute_time(late) - _sum_compute_time(step)),
        more=format_time(late.time - step.time),
        slower=f"{100 * (_SLOWER - 1):g}",
        share=f"{100 * (_SLOWER - 1) / step.step.ranks:.2g}",
        lost=f"{100 * (late.time / step.time - 1):.3g}",
    )


def _sum_compute_time(step: StepTrace) -> float:
    """Seconds in which a GPU of the first stage computes."""
    spent = zip(step.step.tasks, step.begin.tolist(), step.end.tolist(), strict=True)
    return float(sum(end - begin for task, begin, end in spent if task.is_compute and 0 in task.lanes))


@cache
def _measure_scaling() -> pd.DataFrame:
    """The same batch on more and more nodes."""
    split = tensor(_TENSOR) * zero(1)
    options: dict[str, Any] = {
        "nodes": (1, 2, 4, 8, 16),
        "batch": 64,
        "micro_batch": 1,
        "kind": "strong",
        "dtype": "bfloat16",
    }
    return measure_scaling(_SMALLER, "dgx-a100", parallel=split, **options)


_PLACEMENT = Section(
    "placement",
    _build_placement_facts,
    title=("Who stands where", "谁站在哪里"),
    before=(
        (
            "{model} has {states} of weights, gradients and optimizer. {gpus} A100 share it: {tensor} share every "
            "layer, {stages} stages follow one another, and {replicas} replicas share the batch. On the fullest GPU "
            "that leaves {most}, with what else a step needs.",
            "{model} 的权重、梯度和优化器共 {states}。{gpus} 块 A100 一起分担：{tensor} 块共享每一层，{stages} 个阶段前"
            "后相接，{replicas} 个副本分担一批样本。连同一步所需的其他内容，占用最多的 GPU 上只有 {most}。",
        ),
        (
            "In a step a GPU of the first stage sends {by_tensor[0]} for the layers it shares, {by_stage[0]} to the "
            "next stage, {by_data[0]} of gradients and weights. Megatron-LM counts ranks so that those who share a "
            "layer are in one node: over NVLink one gather of a layer takes {gather.time} (played below), the step "
            "{time}. The rows are the {stages} stages of one replica, by their passes alone.",
            "一步中，第一个阶段的一块 GPU 为共享的层发送 {by_tensor[0]}，给下一阶段发送 {by_stage[0]}，为梯度和权重发"
            "送 {by_data[0]}。Megatron-LM 的编号让共享一层的 rank 位于同一节点：经 NVLink，一层的一次收集需 "
            "{gather.time}（在下面播放），一步需 {time}。各行是一个副本的 {stages} 个阶段，只画前向和反向。",
        ),
    ),
    ask=(
        "Count the other way: the replicas of a stage in one node, those who share a layer in {tensor} nodes. Same "
        "bytes. How long is the step?",
        "换一种编号：同一阶段的各副本放在同一节点，共享一层的放到 {tensor} 个节点。字节不变。一步需要多久？",
    ),
    choices=(
        choice(
            "{time}",
            (
                "The bytes are the same, the cables are not.",
                "字节一样，线缆不一样。",
            ),
        ),
        choice(
            "{slow}",
            (
                "Most bytes now go through the network cards, with no computing beside them.",
                "现在大部分字节要经过网卡，而且没有计算与之同时进行。",
            ),
        ),
        choice(
            "{all_slower}",
            (
                "NVLink is {factor} times as fast as a card, but most of the step is computing.",
                "NVLink 的速度是网卡的 {factor} 倍，但一步的大部分时间是计算。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "What the layers need takes {over_cards[1]} over the cards instead of {by_tensor[1]} over NVLink; for "
        "gradients NVLink would save less than that, {by_data[1]} at most.",
        "层所需的通信经网卡要 {over_cards[1]}，经 NVLink 只要 {by_tensor[1]}；而梯度改走 NVLink 最多只能省 "
        "{by_data[1]}。",
    ),
    after=(
        (
            "So the way that sends most and cannot be hidden gets the fastest links: tensor parallelism inside a node, "
            "then data parallelism, whose bytes come once in a step, and the pipeline, which sends least.",
            "所以发送最多、又无法被掩盖的那一种用最快的链路：张量并行放在节点内；然后是数据并行，它的字节每步只来一次；"
            "最后是发送最少的流水线。",
        ),
        (
            "best_parallel tries every legal split of a machine, and says what makes the others slower. On the page "
            "Splits it is a map that one click opens.",
            "best_parallel 会尝试一台机器上所有合法的划分，并说明其他划分为什么更慢。在应用的“划分”页上是一张图，点一下"
            "即可打开。",
        ),
    ),
    view="logical",
)

_STRAGGLER = Section(
    "straggler",
    _build_straggler_facts,
    title=("One slow GPU", "一块慢的 GPU"),
    before=(
        (
            "The same step on {gpus} GPUs, {time}; a GPU is idle in {idle} of it, its bubble. Now one single GPU gets "
            "hot, and all it computes takes {slower} % longer. The picture shows a gather of its tensor group, "
            "{gather.time}: it begins when the last of the {tensor} is ready.",
            "仍是 {gpus} 块 GPU 上的那一步，{time}；其中气泡占 {idle}，GPU 空闲。现在有一块 GPU 过热，它的所有计算都多"
            "用 {slower} % 的时间。图中是它所在张量组的一次收集，{gather.time}：{tensor} 块中最后一块就绪后才能开始。",
        ),
    ),
    ask=("How much longer does the whole step take?", "整个一步会多用多少时间？"),
    choices=(
        choice(
            "{share} %",
            (
                "That would be so if the others took over its work; they wait for it.",
                "只有其他 GPU 替它干活才会这样；而它们是在等它。",
            ),
        ),
        choice(
            "{lost} %",
            (
                "Everybody waits for it, but some of what it loses was idle anyway.",
                "所有 GPU 都在等它，但它损失的时间里有一部分本来就空闲。",
            ),
        ),
        choice(
            "{slower} %",
            (
                "So it would be if the step were computing alone, without a bubble.",
                "只有一步里全是计算、没有气泡时才会这样。",
            ),
        ),
    ),
    right=1,
    explanation=(
        "{late} instead of {time}. The slow GPU computes {own} longer, and {more} of that come through: the rest "
        "fills its own bubble. All others wait: a GPU is idle {longer} on average.",
        "{late}，而不是 {time}。慢的 GPU 多计算 {own}，其中 {more} 影响到整个一步，其余填进了它自己的气泡。其他 GPU 都"
        "在等：平均空闲 {longer}。",
    ),
    after=(
        (
            "More GPUs for the same batch wait more, too. The table: {smaller}, {tensor} GPUs to a layer, efficiency "
            "against the first row.",
            "同样的批量用更多 GPU，等待也会变多。表中是 {smaller}，每层 {tensor} 块 GPU，效率以第一行为准。",
        ),
    ),
    table=(
        (
            ("GPUs", "GPU 数"),
            ("step", "一步"),
            ("efficiency", "效率"),
        ),
    ),
    view="logical",
)

LESSON = Lesson(
    title=("A thousand GPUs: choosing a split", "上千块 GPU：选择划分"),
    notebook="16-a-thousand-gpus",
    exercises=("choose-the-split",),
    sections=(_PLACEMENT, _STRAGGLER),
)
